"""How often clinical validation rejects calibrated risks, and how often its intervals hold, for common and rare events.

``python -m tests.statistical.clinical_coverage`` prints the first tables of ``docs/validity.md``, a few minutes, and
``python -m tests.statistical.clinical_coverage rare`` that of all measures for an event rate of 1 %, 20 minutes;
``python -m tests.statistical.clinical_coverage decisions`` those of intervals of net benefits and losses, 10 minutes;
``python -m tests.statistical.clinical_coverage large`` shares for calibration in the large of overconfident risks.
"""

import sys

import numpy as np
from scipy import optimize, special

from caltest._basics.calls import pvalues_only
from caltest.fields import clinical
from caltest.fields.clinical.validation import NAMES, shift

SETTINGS = {"Beta(1, 4)": (1.0, 4.0), "Beta(1, 99)": (1.0, 99.0)}
WRONG = {"calibrated": (0.0, 1.0), "too low": (0.4, 1.0), "overconfident": (0.0, 0.7)}
SETS = 400
SHOWN = [NAMES[0], NAMES[2], *NAMES[4:]]
TOGETHER = "curve", "default test", "ten centres"
RARE = {200: 1000, 20_000: 200}
"""Observations, and how many data sets of calibrated risks Beta(1, 99)."""


def truth(p, wrong):
    """The true risks, whose log-odds are a + b times those that are predicted."""
    a, b = WRONG[wrong]
    return 1.0 / (1.0 + np.exp(-(a + b * np.log(p / (1.0 - p)))))


def true_values(p, risk, slope):
    """What the eight measures estimate; c is the share of pairs of an event and none that are expected in order."""
    odds, order = np.log(p / (1.0 - p)), np.argsort(p)
    intercept = optimize.brentq(lambda a: (risk - 1.0 / (1.0 + np.exp(-(a + odds)))).sum(), -5.0, 5.0)
    none_below = np.cumsum(1.0 - risk[order]) - (1.0 - risk[order])
    concordance = risk[order] @ none_below / (risk.sum() * (1.0 - risk).sum() - risk @ (1.0 - risk))
    errors = np.abs(risk - p)
    sizes = errors.mean(), *np.quantile(errors, [0.5, 0.9]), errors.max()
    return risk.sum() / p.sum(), intercept, slope, concordance, *sizes


def by_centre(p, y):
    """The smallest adjusted p-value of ten centres, the last of which has half of the cases."""
    return clinical.validate_by_group(p, y.astype(int), np.minimum(np.arange(p.size) * 20 // p.size, 9)).pvalue


def covered(n, setting, wrong, sets=SETS):
    """Of data sets that have a measure: shares of intervals that hold what they are for, and of p-values up to 0.05."""
    holds, intervals, small, pvalues = (dict.fromkeys((*NAMES, *TOGETHER), 0) for _ in range(4))
    for seed in range(sets):
        rng = np.random.default_rng([17, n, seed])
        p = np.clip(rng.beta(*SETTINGS[setting], n), 1e-6, 1.0 - 1e-6)
        risk = truth(p, wrong)
        y = rng.random(n) < risk
        with pvalues_only():
            found = clinical.validate(p, y.astype(int), n_resamples=99, rng=rng)
        right = dict(zip(NAMES, true_values(p, risk, WRONG[wrong][1]), strict=True))
        for row in found.rows:
            if row.interval is not None:
                intervals[row.name] += 1
                holds[row.name] += row.interval.low <= right[row.name] <= row.interval.high
        together = zip(TOGETHER, (found.curve.pvalue, found.default_test.pvalue, by_centre(p, y)), strict=True)
        for name, pvalue in [*((row.name, row.pvalue) for row in found.rows), *together]:
            pvalues[name] += 1
            small[name] += pvalue <= 0.05
    return [
        {name: 100.0 * some[name] / all_[name] for name in some if all_[name]}
        for some, all_ in ((holds, intervals), (small, pvalues))
    ]


DECISIONS = (("net benefit", 200, 1000, 19), ("net benefit", 20_000, 400, 19))
DECISIONS += (("loss", 200, 100, 19), ("loss", 500, 100, 199), ("loss", 2000, 40, 199), ("loss", 20_000, 20, 99))
"""What intervals are for, how many risks Beta(1, 99) there are, data sets, and redraws."""

THRESHOLDS = (0.005, 0.01, 0.02, 0.05)


def decisions_covered(what, n, wrong, sets, n_resamples):
    """Whether intervals hold net benefits of the population, or losses by the true risks, (sets that have some, m).

    And the share of p-values up to 0.05 of all sets.
    """
    many = np.random.default_rng(1).beta(*SETTINGS["Beta(1, 99)"], 10**6)
    risks, holds, rejected = truth(many, wrong), [], 0
    population = [((many >= t) * (risks - (1.0 - risks) * t / (1.0 - t))).mean() for t in THRESHOLDS]
    for seed in range(sets):
        rng = np.random.default_rng([19, n, seed])
        p = np.clip(rng.beta(*SETTINGS["Beta(1, 99)"], n), 1e-6, 1.0 - 1e-6)
        risk = truth(p, wrong)
        result = clinical.decision_curve(p, rng.random(n) < risk, THRESHOLDS, n_resamples=n_resamples, rng=rng)
        found, rejected = result.rows, rejected + (result.pvalue <= 0.05)
        lost = [(np.abs(risk - t) * ((risk >= t) != (p >= t))).mean() / (1.0 - t) for t in THRESHOLDS]
        right = population if what == "net benefit" else lost
        intervals = [one.interval if what == "net benefit" else one.loss_interval for one in found]
        if intervals[0] is not None:
            holds.append([not one.excludes(value) for one, value in zip(intervals, right, strict=True)])
    return holds, rejected / sets


def print_decisions():
    """Shares for net benefits and for losses, in percent."""
    for what, n, sets, n_resamples in DECISIONS:
        for wrong in WRONG:
            holds, rejected = decisions_covered(what, n, wrong, sets, n_resamples)
            shares = [f"{100.0 * one:.1f}" for one in np.mean(holds, axis=0)] if holds else [""] * len(THRESHOLDS)
            shown = what, n, wrong, f"{len(holds)} of {sets}", *shares, f"{100.0 * rejected:.1f}"
            print("|", " | ".join(map(str, shown)), "|", flush=True)


def print_large(n=100, sets=300):
    """Shares of intervals of calibration in the large that hold, and of normal limits by the risks, in percent."""
    for factor in (1.0, 2.0, 3.0, 5.0):
        rng, holds = np.random.default_rng(1), np.zeros(2)
        for _ in range(sets):
            odds = rng.normal(0.0, 1.5, n)
            risk, p = special.expit(odds), special.expit(factor * odds)
            found = clinical.validate(p, rng.random(n) < risk, n_resamples=19, rng=1)["calibration in the large"]
            right, moved = shift(p, risk.mean()), special.expit(found.value + factor * odds)
            far = abs(right - found.value) * np.sqrt(moved @ (1.0 - moved))
            holds += not found.interval.excludes(right), far <= special.ndtri(0.975)
        print("true log-odds divided by", factor, 100.0 * holds / sets, flush=True)


def main(which=None):
    """Print the tables."""
    if which == "large":
        with pvalues_only():
            print_large()
        return
    if which == "decisions":
        print_decisions()
        return
    if which == "rare":
        for n, sets in RARE.items():
            holds, small = covered(n, "Beta(1, 99)", "calibrated", sets)
            for what, shares in (("intervals", holds), ("p-values", small)):
                shown = [f"{shares[name]:.1f}" if name in shares else "" for name in (*NAMES, *TOGETHER)]
                print("|", n, "|", sets, "|", what, "|", " | ".join(shown), "|", flush=True)
        return
    for setting in SETTINGS:
        for n in (50, 200, 500, 1000) if setting == "Beta(1, 99)" else (200, 1000):
            for wrong in WRONG:
                holds, small = covered(n, setting, wrong)
                shares = [f"{holds[name]:.0f}" if name in holds else "" for name in SHOWN]
                print("|", setting, "|", n, "|", wrong, "|", " | ".join(shares), "|")
                if wrong == "calibrated":
                    print("| p-values |", " | ".join(f"{one:.1f}" for one in small.values()), "|", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
