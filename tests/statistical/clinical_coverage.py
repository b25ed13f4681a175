"""How often clinical validation rejects calibrated risks, and how often its intervals hold, for common and rare events.

``python -m tests.statistical.clinical_coverage`` prints the tables of ``docs/validity.md``; a few minutes.
"""

import numpy as np

from caltest.estimators.combined.findings import pvalues_only
from caltest.fields import clinical
from caltest.fields.clinical.validation import NAMES

SETTINGS = {"Beta(1, 4)": (1.0, 4.0), "Beta(1, 99)": (1.0, 99.0)}
WRONG = {"calibrated": (0.0, 1.0), "too low": (0.4, 1.0), "overconfident": (0.0, 0.7)}
LEVEL, SETS = 0.95, 400


def truth(p, wrong):
    """The true risks, whose log-odds are a + b times those that are predicted."""
    a, b = WRONG[wrong]
    return 1.0 / (1.0 + np.exp(-(a + b * np.log(p / (1.0 - p)))))


def covered(n, setting, wrong, sets=SETS):
    """Shares of data sets whose intervals hold what they are for, and of p-values of at most 0.05."""
    holds, small = np.zeros(len(NAMES)), np.zeros(len(NAMES) + 1)
    done = seed = 0
    while done < sets:
        seed += 1
        rng = np.random.default_rng([17, n, seed])
        p = np.clip(rng.beta(*SETTINGS[setting], n), 1e-6, 1.0 - 1e-6)
        risk = truth(p, wrong)
        y = rng.random(n) < risk
        if not 0 < y.sum() < n:
            continue
        done += 1
        with pvalues_only():
            found = clinical.validate(p, y.astype(int), n_resamples=99, rng=rng)
        errors = np.abs(risk - p)
        slope = WRONG[wrong][1]
        right = [risk.sum() / p.sum(), None, slope, None, errors.mean(), *np.quantile(errors, [0.5, 0.9]), errors.max()]
        for i, (row, value) in enumerate(zip(found.rows, right, strict=True)):
            if value is not None and row.interval is not None:
                holds[i] += row.interval.low <= value <= row.interval.high
            small[i] += row.pvalue <= 0.05
        small[-1] += found.curve.pvalue <= 0.05
    return 100.0 * holds / sets, 100.0 * small / sets


def main():
    """Print the tables."""
    kept = [NAMES.index(name) for name in ("O:E ratio", "calibration slope", "ICI", "E50", "E90", "Emax")]
    for setting in SETTINGS:
        for n in (200, 1000):
            for wrong in WRONG:
                holds, small = covered(n, setting, wrong)
                print("|", setting, "|", n, "|", wrong, "|", " | ".join(f"{holds[i]:.0f}" for i in kept), "|")
                if wrong == "calibrated":
                    print("| p-values |", " | ".join(f"{one:.1f}" for one in small), "|", flush=True)


if __name__ == "__main__":
    main()
