"""Errors and coverage of ``risk.squared_error_interval``, beside those of the choice among estimators.

``python -m tests.statistical.squared_error_coverage 40`` takes 40 data sets for each model, ``... 40 choice`` the
choice too, ``... 40 best`` the estimate of whoever knows the deviations, ``... 12 variational`` variational errors of
the second order, whose intervals have a lower end only, by ridge regression and by vector scaling or, for binary
outcomes, beta calibration, and ``... 12 first`` those of the first order alone; ``... 100 rare`` takes rare events, and
few, and ``... 100 many`` many classes and few rows.
"""

import sys

import numpy as np

import caltest as ct
from tests.statistical.test_calibration_errors import tempered


def wave(n, rng):
    """Errors of the second and third class that depend on the first, up and down."""
    p = rng.dirichlet(np.full(5, 0.5), n)
    moved = 0.9 * np.sin(6 * p[:, 0]) * np.minimum(p[:, 1], p[:, 2])
    law = p + moved[:, None] * np.array([0.0, 1.0, -1.0, 0.0, 0.0])
    return p, law, ct.Categorical(law).sample(rng)


def squared(n, rng):
    """A binary outcome with P(Y = 1 | p) = p**2."""
    p = rng.uniform(size=n)
    return p, p**2, (rng.random(n) < p**2).astype(int)


MODELS = {
    "5 classes, Dir(0.5), P**0.6": (tempered(5, 0.5, 0.6), 1500),
    "5 classes, Dir(0.5), P**0.3": (tempered(5, 0.5, 0.3), 1500),
    "5 classes, Dir(1), P**0.6": (tempered(5, 1.0, 0.6), 1500),
    "5 classes, Dir(0.5), P**2": (tempered(5, 0.5, 2.0), 1500),
    "5 classes, Dir(0.5), wave": (wave, 1500),
    "5 classes, Dir(0.5), calibrated": (tempered(5, 0.5, 1.0), 1500),
    "5 classes, Dir(0.5), P**0.6, n = 400": (tempered(5, 0.5, 0.6), 400),
    "10 classes, Dir(0.2), P**0.5": (tempered(10, 0.2, 0.5), 1500),
    "binary, p**2": (squared, 1500),
    "binary, p**2, n = 200": (squared, 200),
}


def times(a, b, factor):
    """Binary outcomes of predictions Beta(a, b) that occur so many times as often."""

    def draw(n, rng):
        p = rng.beta(a, b, n)
        law = np.clip(factor * p, 0.0, 1.0)
        return p, law, (rng.random(n) < law).astype(int)

    return draw


RARE = {
    f"Beta({a:g}, {b:g}), n = {n}, {factor:g} times as frequent": (times(a, b, factor), n)
    for a, b, n in ((0.3, 12, 100), (0.3, 12, 400), (0.3, 40, 400), (0.3, 40, 2000), (0.5, 0.5, 25), (0.5, 0.5, 60))
    for factor in (0.3, 2.0)
}


def wrong_classes(k, a, spread):
    """Classes that occur ``exp(w)`` times as often, w of N(0, spread**2), before rows are divided by their sums."""

    def draw(n, rng):
        p = rng.dirichlet(np.full(k, a), n)
        law = p * np.exp(rng.normal(0.0, spread, k))
        law /= law.sum(axis=1, keepdims=True)
        return p, law, ct.Categorical(law).sample(rng)

    return draw


MANY = {
    f"{k} classes, Dir({a:g}), P**{power:g}, n = {n}": (tempered(k, a, power), n)
    for k, a, n in ((10, 0.2, 30), (10, 0.2, 100), (50, 0.1, 30), (50, 0.1, 100), (50, 0.1, 300))
    for power in (1.0, 0.5, 2.0)
}
MANY |= {f"50 classes, Dir(0.1), wrong classes, n = {n}": (wrong_classes(50, 0.1, 0.7), n) for n in (30, 100, 300)}


def interval(p, y, rng):
    found = ct.risk.squared_error_interval(p, y)
    return found.estimate, found.low, found.high


def choice(p, y, rng):
    found = ct.estimate_calibration_error(p, y, rng=rng)
    reach = 1.96 * found.standard_error
    return found.squared_error, found.squared_error - reach, found.squared_error + reach


def best(p, y, law):
    """Of whoever knows the deviations d: the mean of ``2 D.d - |d|^2`` over residuals D."""
    classes = np.eye(p.shape[1])[y] if p.ndim == 2 else y
    residual, deviation = (np.reshape(one - p, (len(y), -1)) for one in (classes, law))
    terms = 2.0 * (residual * deviation).sum(axis=1) - np.square(deviation).sum(axis=1)
    reach = 1.96 * terms.std(ddof=1) / np.sqrt(len(y))
    return terms.mean(), terms.mean() - reach, terms.mean() + reach


def ridge(p, y, rng, calibrator=None, order=2):
    found = ct.risk.variational_error(p, y, order, calibrator=calibrator, rng=rng)
    return found.estimate, found.low, found.high


def scaling(p, y, rng, order=2):
    method = ct.recalibration.VectorScaling() if p.ndim == 2 else ct.recalibration.BetaCalibration()
    return ridge(p, y, rng, method, order)


def first(p, y, rng):
    return ridge(p, y, rng, order=1)


def first_scaling(p, y, rng):
    return scaling(p, y, rng, order=1)


def main(n_sets, kinds, models, order=2):
    print("model | estimate by | mean error | mean |relative error| | bias | interval covers")
    for name, (draw, n) in models.items():
        for kind in kinds:
            rows = []
            for number in range(n_sets):
                rng = np.random.default_rng([2031, number])
                p, law, y = draw(n, rng)
                truth = (np.abs(p - law) ** order).sum() / n
                rows.append((truth, *(kind(p, y, law) if kind is best else kind(p, y, rng))))
            truth, estimate, low, high = np.array(rows).T
            relative = (estimate - truth) / (truth.mean() if truth.mean() > 1e-12 else 1.0)
            covered = np.mean((low <= truth) & (truth <= high))
            of_all = f"{100 * np.abs(relative).mean():.1f} % | {100 * relative.mean():+.1f} % | {100 * covered:.0f} %"
            print(f"{name} | {kind.__name__} | {truth.mean():.4f} | {of_all}", flush=True)


if __name__ == "__main__":
    ways = (interval, choice) if "choice" in sys.argv else (interval,)
    ways = (best,) if "best" in sys.argv else ways
    ways = (interval, ridge, scaling) if "variational" in sys.argv else ways
    ways = (first, first_scaling) if "first" in sys.argv else ways
    some = next((models for name, models in {"rare": RARE, "many": MANY}.items() if name in sys.argv), MODELS)
    main(int(sys.argv[1]), ways, some, 1 if "first" in sys.argv else 2)
