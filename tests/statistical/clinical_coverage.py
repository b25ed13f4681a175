"""How often clinical validation rejects calibrated risks, and how often its intervals hold, for common and rare events.

``python -m tests.statistical.clinical_coverage`` prints the tables of ``docs/validity.md``; a few minutes.
"""

import numpy as np

from caltest.estimators.combined.findings import pvalues_only
from caltest.fields import clinical
from caltest.fields.clinical.validation import NAMES

SETTINGS = {"Beta(1, 4)": (1.0, 4.0), "Beta(1, 99)": (1.0, 99.0)}
WRONG = {"calibrated": (0.0, 1.0), "too low": (0.4, 1.0), "overconfident": (0.0, 0.7)}
SETS = 400
SHOWN = [NAMES[0], NAMES[2], *NAMES[4:]]
"""Whose true values are known."""


def truth(p, wrong):
    """The true risks, whose log-odds are a + b times those that are predicted."""
    a, b = WRONG[wrong]
    return 1.0 / (1.0 + np.exp(-(a + b * np.log(p / (1.0 - p)))))


def covered(n, setting, wrong, sets=SETS):
    """Of data sets that have a measure: shares of intervals that hold what they are for, and of p-values up to 0.05."""
    holds, intervals, small, pvalues = (dict.fromkeys((*NAMES, "curve"), 0) for _ in range(4))
    for seed in range(sets):
        rng = np.random.default_rng([17, n, seed])
        p = np.clip(rng.beta(*SETTINGS[setting], n), 1e-6, 1.0 - 1e-6)
        risk = truth(p, wrong)
        y = rng.random(n) < risk
        with pvalues_only():
            found = clinical.validate(p, y.astype(int), n_resamples=99, rng=rng)
        errors = np.abs(risk - p)
        right = dict(zip(NAMES[4:], (errors.mean(), *np.quantile(errors, [0.5, 0.9]), errors.max()), strict=True))
        right |= {"O:E ratio": risk.sum() / p.sum(), "calibration slope": WRONG[wrong][1]}
        for row in found.rows:
            if row.interval is not None and row.name in right:
                intervals[row.name] += 1
                holds[row.name] += row.interval.low <= right[row.name] <= row.interval.high
        for name, pvalue in [*((row.name, row.pvalue) for row in found.rows), ("curve", found.curve.pvalue)]:
            pvalues[name] += 1
            small[name] += pvalue <= 0.05
    return [
        {name: 100.0 * some[name] / all_[name] for name in some if all_[name]}
        for some, all_ in ((holds, intervals), (small, pvalues))
    ]


def main():
    """Print the tables."""
    for setting in SETTINGS:
        for n in (50, 200, 1000) if setting == "Beta(1, 99)" else (200, 1000):
            for wrong in WRONG:
                holds, small = covered(n, setting, wrong)
                shares = [f"{holds[name]:.0f}" if name in holds else "" for name in SHOWN]
                print("|", setting, "|", n, "|", wrong, "|", " | ".join(shares), "|")
                if wrong == "calibrated":
                    print("| p-values |", " | ".join(f"{one:.1f}" for one in small.values()), "|", flush=True)


if __name__ == "__main__":
    main()
