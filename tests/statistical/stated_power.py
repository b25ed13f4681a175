"""The power that a result states for errors that just matter, beside the rate of whole tests that reject.

``python -m tests.statistical.stated_power`` prints the table of ``docs/validity.md``; about an hour.
``python -m tests.statistical.stated_power noise`` prints how much statements vary with the redraws; about five minutes.
``python -m tests.statistical.stated_power censored`` prints the table of censored times; about ten minutes.
"""

import sys

import numpy as np

import caltest as ct
from caltest._basics.calls import pvalues_only
from caltest._basics.numerics import resampling_pvalue
from caltest.estimators.combined.detectable import detectable
from caltest.predictions import Sample

SETS, STATED, SIZES = 400, 3, (100, 400, 1600)
LAWS = {
    "two classes": lambda rng, n: ct.Bernoulli(rng.beta(0.5, 0.5, n)),
    "rare events": lambda rng, n: ct.Bernoulli(rng.beta(1, 30, n)),
    "4 classes": lambda rng, n: ct.Categorical(rng.dirichlet(np.full(4, 0.4), n)),
    "5 ordered classes": lambda rng, n: ct.Ordinal(rng.dirichlet(np.full(5, 0.8), n)),
    "normal": lambda rng, n: ct.Normal(rng.normal(size=n), rng.uniform(0.5, 1.5, n)),
    "gamma": lambda rng, n: ct.Gamma(rng.uniform(1, 5, n), rng.uniform(0.5, 2, n)),
    "Poisson": lambda rng, n: ct.Poisson(rng.gamma(3, 2, n)),
    "vectors of 2": lambda rng, n: ct.MvNormal(rng.normal(size=(n, 2)), np.ones((n, 2))),
}


def stated(law):
    """The power at the 5 % level by a few results for calibrated data, those that reject nothing."""
    results = (ct.calibration_test(law, law.sample(seed), rng=seed) for seed in range(STATED + 3))
    return [one.detectable.power(0.05) for one in results if one.detectable is not None][:STATED]


def simulated(law, sets=SETS):
    """The rate of whole tests with p-values of at most 0.05 for outcomes of the same error."""
    wrong = law.slightly_wrong(12345, sets).targets
    with pvalues_only():
        return np.mean([ct.OmnibusTest()(law, y, rng=i).pvalue <= 0.05 for i, y in enumerate(wrong)])


NOISY = (
    *(("5 ordered classes", 1600), ("4 classes", 1600), ("two classes", 1600), ("two classes", 400)),
    *(("normal", 400), ("gamma", 400), ("vectors of 2", 400), ("Poisson", 400)),
)
"""Predictions whose power is neither small nor large, and how many."""


def noise():
    """How much statements vary for some predictions."""
    for name, n in NOISY:
        noise_of(name, n)


def noise_of(name, n, redraws=20_000, statements=40):
    """Statements, each from redraws and data sets of its own, and whole tests, each with some of many redraws."""
    law, rng = LAWS[name](np.random.default_rng(7), n), np.random.default_rng(0)
    omnibus = ct.OmnibusTest().estimator.resolve(law, 1)
    null = omnibus.values(law, law.redraw(np.random.default_rng(5), redraws))
    wrong = omnibus.values(law, law.slightly_wrong(12345, 1600).targets)
    for number in (199, 999):
        whole = []
        for one in wrong.T:
            some = null[:, rng.choice(redraws, number, replace=False)]
            statistics = omnibus.combined(np.column_stack([one, some]))
            whole.append(resampling_pvalue(statistics[0], statistics[1:]) <= 0.05)
        rate = np.mean(whole)
        drawn = (law.redraw(np.random.default_rng([6, i]), number + 1) for i in range(statements))
        found = [detectable(omnibus, Sample(law, one[0]), omnibus.values(law, one), rng) for one in drawn]
        powers = np.array([one.power(0.05) for one in found])
        numbers = f"{100 * powers.mean():.1f} | {100 * powers.std(ddof=1):.1f} | {100 * rate:.1f}"
        inside = f"{np.sum(np.abs(powers - rate) <= 0.05)} of {statements}"
        print(f"| {name} | {n} | {number} | {numbers} | {inside} |", flush=True)


def times(n, mean_end, grid, ratio, seed):
    """Exponential times at a ratio of the predicted rates, censored at others, and their predictions."""
    rng = np.random.default_rng([7, n, seed])
    rate, end = rng.uniform(0.4, 1.2, n), rng.exponential(mean_end, n)
    time = rng.exponential(1.0 / (ratio * rate))
    laws = ct.Gamma(np.ones(n), 1.0 / rate)
    if grid is not None:
        laws = ct.predictions.SurvivalCurve(grid, np.exp(-rate[:, None] * grid))
    return laws, ct.Censored(np.minimum(time, end), time <= end)


def censored(sets=100):
    """Statements of results for calibrated times, and whole tests of new ones."""
    forms = {"distributions": None, "curves at 40 times": np.linspace(0.25, 12.0, 40), "curves at one time": np.ones(1)}
    for name, grid in forms.items():
        for n in SIZES[1:]:
            for share, mean_end in (("20 %", 6.0), ("70 %", 0.65)):
                results = [ct.calibration_test(*times(n, mean_end, grid, 1.0, i), rng=i) for i in range(STATED + 3)]
                some = [one.detectable.power(0.05) for one in results if one.detectable is not None][:STATED]
                with pvalues_only():
                    found = [
                        ct.calibration_test(*times(n, mean_end, grid, 0.9, i), n_resamples=199, rng=i).pvalue <= 0.05
                        for i in range(sets)
                    ]
                powers = ", ".join(f"{100 * one:.0f}" for one in some)
                print(f"| {name} | {n} | {share} | {powers} | {100 * np.mean(found):.0f} |", flush=True)


def main():
    """Print the table."""
    rng = np.random.default_rng(7)
    for name, make in LAWS.items():
        for n in SIZES:
            law = make(rng, n)
            powers = ", ".join(f"{100 * one:.0f}" for one in stated(law))
            print(f"| {name} | {n} | {powers} | {100 * simulated(law):.1f} |", flush=True)


if __name__ == "__main__":
    {"noise": noise, "censored": censored}.get("".join(sys.argv[1:]), main)()
