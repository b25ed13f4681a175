"""What low rank costs the default test in power: ``python -m tests.statistical.low_rank_powers``.

Predictions are fixed, outcomes are drawn from a fault again and again, and the same outcomes are tested with kernels of
low rank and with all pairs, against the same redraws. With ``few``, waves of few classes; with ``more``, 2,000 further
sets of the fault of classes that loses most; with ``2000``, so many rows of classes.
"""

import sys
from functools import partial
from unittest import mock

import numpy as np
from scipy import stats

import caltest as ct
from caltest._basics.numerics import resampling_pvalues
from caltest.estimators.combined import components
from caltest.estimators.combined.omnibus import Omnibus

from .planted_faults import drawn, leaking, tempered, times_odds
from .settings import dirichlet, spawn

N, NULL, SETS, WRONG = 2000 if sys.argv[1:] == ["2000"] else 10_000, 199, 2, 100

AS_IT_IS = "as it is"
"""Ranks of the default test."""


def of_classes(concentration, change, k=10):
    def make(rng):
        p = dirichlet(rng, N, k, concentration)
        return p, lambda r, s: drawn(r, change(p.probabilities, s))

    return make


def rotated(p, s):
    return (1.0 - s) * p + s * np.roll(p, 1, axis=1)


def waving(p, s, frequency=4.0):
    """Claims of one class are off by a wave, at the cost of the next one."""
    move = s * np.minimum(p[:, 0], p[:, 1]) * np.sin(frequency * np.pi * p[:, 0])
    q = p.copy()
    q[:, 0], q[:, 1] = p[:, 0] + move, p[:, 1] - move
    return q


def of_ordered(change):
    def make(rng):
        p = dirichlet(rng, N, 10, 1.0).probabilities
        return ct.Ordinal(p), lambda r, s: change(drawn(r, p), r, s)

    return make


def one_up(y, r, s):
    return np.where(r.random(len(y)) < s, np.minimum(y + 1, 9), y)


def of_numbers(change):
    def make(rng):
        m, scale = rng.normal(size=N), np.exp(0.3 * rng.normal(size=N))
        return ct.Normal(m, scale), lambda r, s: m + scale * change(r.normal(size=N), m, r, s)

    return make


def of_vectors(change):
    def make(rng):
        m = rng.normal(size=(N, 3))
        return ct.MvNormal(m, np.ones((N, 3))), lambda r, s: m + change(r.normal(size=(N, 3)), m, s)

    return make


def shifted_wave(e, m, s):
    return e + np.column_stack([s * np.sin(3.0 * m[:, 0]), np.zeros((len(m), 2))])


def correlated(e, m, s):
    return np.column_stack([e[:, 0], s * e[:, 0] + np.sqrt(1.0 - s * s) * e[:, 1], e[:, 2]])


def of_counts(change):
    def make(rng):
        rate = rng.gamma(2.0, 2.0, N) + 0.1
        return ct.Poisson(rate), lambda r, s: change(rate, r, s)

    return make


ALTERNATIVES = {
    "classes, Dir(0.1), temperature": (of_classes(0.1, lambda p, s: tempered(p, 1.0 + s)), 0.2),
    "classes, Dir(0.1), odds of class 2": (of_classes(0.1, lambda p, s: times_odds(p, 2, 1.0 + s)), 0.5),
    "classes, Dir(0.1), a share turns out as the next class": (of_classes(0.1, rotated), 0.1),
    "classes, Dir(1), temperature": (of_classes(1.0, lambda p, s: tempered(p, 1.0 + s)), 0.2),
    "classes, Dir(1), a share of class 1 turns out as class 3": (
        of_classes(1.0, lambda p, s: leaking(p, 1, 3, s)),
        0.2,
    ),
    "classes, Dir(1), a wave": (of_classes(1.0, waving), 1.0),
    "Normal, a wave, sin(4 m)": (of_numbers(lambda e, m, r, s: e + s * np.sin(4.0 * m)), 0.3),
    "Normal, a fast wave, sin(12 m)": (of_numbers(lambda e, m, r, s: e + s * np.sin(12.0 * m)), 0.5),
    "Normal, means too low": (of_numbers(lambda e, m, r, s: e + s), 0.1),
    "Normal, errors too large": (of_numbers(lambda e, m, r, s: (1.0 + s) * e), 0.1),
    "Normal, a slope": (of_numbers(lambda e, m, r, s: e + s * m), 0.1),
    "Normal, skew": (
        of_numbers(lambda e, m, r, s: (1.0 - s) * e + s * (stats.expon.ppf(stats.norm.cdf(e)) - 1.0)),
        0.2,
    ),
    "MvNormal, a wave in one coordinate": (of_vectors(shifted_wave), 0.3),
    "MvNormal, a correlation": (of_vectors(correlated), 0.1),
    "Poisson, rates too low": (of_counts(lambda rate, r, s: r.poisson(rate * (1.0 + s))), 0.05),
    "Poisson, a wave": (of_counts(lambda rate, r, s: r.poisson(rate * (1.0 + s * np.sin(2.0 * rate)))), 0.1),
    "ordered classes, a share is one class up": (of_ordered(one_up), 0.1),
}
"""Faults with a strength from which the search for one of middling power begins."""

MOST_LOST = "classes, Dir(0.1), a share turns out as the next class"

FEW = {
    f"{k} classes, Dir({concentration:g}), a wave, sin({frequency:g} pi p)": (
        of_classes(concentration, partial(waving, frequency=frequency), k),
        0.3,
    )
    for k in (3, 4, 5)
    for concentration, frequency in ((1.0, 4.0), (0.3, 8.0), (1.0, 12.0))
}
"""The same for few classes."""


def resolved(predictions, rank):
    """The omnibus with kernels of some rank, or as it is, or of all pairs for None."""
    many, ranks = 10**9 if rank is None else 500, {}
    if rank not in (None, AS_IT_IS):
        ranks = {"RANK": rank, "RANK_OF_NARROW": rank}
    with mock.patch.multiple(components, MANY_CLASSES=many, MANY_NUMBERS=many, MANY_IN_SUMS=10**9, **ranks):
        return Omnibus().resolve(predictions, 1)


def pvalues(estimator, predictions, null, wrong):
    """Of many outcomes against the same redraws."""
    known, found = (estimator.values(predictions, targets) for targets in (null, wrong))
    return resampling_pvalues(*estimator.compared(found, known, 0))


def redraws(predictions, key, number=NULL):
    return np.stack([predictions.sample(rng) for rng in spawn(*key).spawn(number)])


def outcomes(draw, strength, key, number):
    return np.stack([draw(rng, strength) for rng in spawn(*key).spawn(number)])


def middling(make, strength, key):
    """A strength with a power of 45 to 75 % by low rank, found by bisection."""
    predictions, draw = make(spawn(*key, 0))
    estimator, null = resolved(predictions, 64), redraws(predictions, (*key, 1))
    low, high = 0.0, None
    for _ in range(12):
        power = float((pvalues(estimator, predictions, null, outcomes(draw, strength, (*key, 2), 60)) <= 0.05).mean())
        if 0.45 <= power <= 0.75:
            break
        low, high = (strength, high) if power < 0.45 else (low, strength)
        strength = 2.0 * strength if high is None else (low + high) / 2.0
    return strength


def main(alternatives, ranks, parts=range(SETS)):
    """Print a row for each fault."""
    print(
        "| fault | strength | all pairs | "
        + " | ".join(one if one == AS_IT_IS else f"rank {one}" for one in ranks)
        + " |",
        flush=True,
    )
    for name, (make, start) in alternatives.items():
        number = list(FEW if name in FEW else ALTERNATIVES).index(name)
        strength = round(middling(make, start, (31, number)), 4)
        found = {rank: [] for rank in (None, *ranks)}
        for part in parts:
            key = (32, number, part)
            predictions, draw = make(spawn(*key, 0))
            null, wrong = redraws(predictions, (*key, 1)), outcomes(draw, strength, (*key, 2), WRONG)
            for rank, some in found.items():
                some.append(pvalues(resolved(predictions, rank), predictions, null, wrong) <= 0.05)
        powers = (f"{100 * np.mean(some):.1f}" for some in found.values())
        print(f"| {name} | {strength:.3g} | " + " | ".join(powers) + " |", flush=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["few"]:
        main(FEW, [64, AS_IT_IS])
    elif sys.argv[1:] == ["more"]:
        main({MOST_LOST: ALTERNATIVES[MOST_LOST]}, [AS_IT_IS, 256], range(SETS, SETS + 20))
    elif sys.argv[1:] == ["2000"]:
        main({name: one for name, one in ALTERNATIVES.items() if "classes, Dir" in name} | FEW, [AS_IT_IS])
    else:
        main(ALTERNATIVES, [int(one) for one in sys.argv[1:]] or [64, AS_IT_IS])
