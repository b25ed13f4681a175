"""How often several labels, choices of different numbers and stated confidences are rejected, calibrated and not.

``python -m tests.statistical.labels_and_choices`` prints the table of ``docs/validity.md``; 15 minutes.
"""

import sys

import numpy as np

import caltest as ct

LABELS = [
    # labels, n, L, independent, bad, redraws, sets
    ("dependent", 16, 3, False, 0.0, 999, 1000),
    ("dependent", 50, 3, False, 0.0, 999, 1000),
    ("rare, dependent", 250, 3, False, 0.0, 999, 1000),
    ("constant", 50, 3, False, 0.0, 999, 1000),
    ("independent", 50, 3, True, 0.0, 999, 1000),
    ("dependent", 16, 50, False, 0.0, 499, 200),
    ("rare, dependent", 50, 50, False, 0.0, 499, 200),
    ("independent", 250, 50, False, 0.0, 499, 200),
    ("independent", 250, 20, False, 0.05, 499, 100),
    ("independent", 250, 20, False, 0.1, 499, 100),
    ("independent", 1000, 20, False, 0.05, 499, 100),
    ("independent", 250, 20, True, 0.1, 499, 100),
]
"""Of one label the true probabilities are higher by ``bad``."""


def labels(kind, n, n_labels, bad, seed):
    """Probabilities and outcomes; dependent labels of a row are functions of one uniform number."""
    rng = np.random.default_rng([7, n, n_labels, seed])
    if kind == "constant":
        p = np.tile(np.where(np.arange(n_labels) % 2, 0.03, 0.4), (n, 1))
    else:
        p = rng.beta(0.3, 30.0, (n, n_labels)) if kind.startswith("rare") else rng.beta(1.0, 4.0, (n, n_labels))
    uniform = rng.random((n, 1)) if kind.endswith("dependent") and kind != "independent" else rng.random((n, n_labels))
    return p, uniform < p + bad * (np.arange(n_labels) == 0)


def rates_of_labels(kind, n, n_labels, independent, bad, n_resamples, sets):
    """Shares of data sets that are rejected at the levels of 5 % and 1 %."""

    def pvalue(seed):
        p, y = labels(kind, n, n_labels, bad, seed)
        return ct.calibration_test(ct.MultiLabel(p, independent=independent), y, n_resamples=n_resamples, rng=seed)

    return rates([pvalue(seed).pvalue for seed in range(sets)])


def choices(n, temperature, in_order, seed):
    """Probabilities of 2 to 10 choices, filled up with zeros, and answers at a temperature."""
    rng = np.random.default_rng([5, seed])
    p = np.zeros((n, 10))
    for row, k in zip(p, rng.integers(2, 11, n), strict=True):
        some = rng.dirichlet(np.full(k, 0.7))
        row[:k] = np.sort(some)[::-1] if in_order else some
    truth = np.cumsum(p ** (1.0 / temperature), axis=1)
    return p, (truth <= rng.random((n, 1)) * truth[:, -1:]).sum(axis=1)


def rates_of_choices(n, temperature, in_order, top, sets):
    def pvalue(seed):
        p, y = choices(n, temperature, in_order, seed)
        return ct.calibration_test(*(ct.top_label(p, y) if top else (p, y)), n_resamples=199, rng=seed).pvalue

    return rates([pvalue(seed) for seed in range(sets)])


def rates_of_stated(n, gap, sets):
    """Of confidences of 70, 80 and 90 % that are too high by a gap."""

    def pvalue(seed):
        rng = np.random.default_rng([6, seed])
        p = rng.choice([0.7, 0.8, 0.9], n)
        return ct.calibration_test(p, rng.random(n) < p - gap, n_resamples=199, rng=seed).pvalue

    return rates([pvalue(seed) for seed in range(sets)])


def rates(pvalues):
    return [float(np.mean(np.array(pvalues) <= level)) for level in (0.05, 0.01)]


def show(*cells):
    print("|", " | ".join(str(cell) for cell in cells), "|", flush=True)


def main():
    for kind, n, n_labels, independent, bad, n_resamples, sets in LABELS:
        found = rates_of_labels(kind, n, n_labels, independent, bad, n_resamples, sets)
        method = "step-down maximum" if independent else "Holm"
        wrong = f"one, by {100 * bad:.0f} points" if bad else "none"
        show(kind, n, n_labels, method, wrong, *(f"{100 * rate:.1f}" for rate in found), sets)
    for n, temperature, in_order, top, sets in (
        (50, 1.0, True, False, 1000),
        (50, 1.0, False, False, 1000),
        (300, 1.3, True, False, 100),
        (300, 1.3, False, False, 100),
        (300, 1.3, True, True, 100),
    ):
        found = rates_of_choices(n, temperature, in_order, top, sets)
        what = "top label" if top else "in order of probability" if in_order else "as they are"
        show(f"2 to 10 choices, {what}, temperature {temperature}", n, *(f"{100 * rate:.1f}" for rate in found), sets)
    for n, gap, sets in ((16, 0.0, 1000), (50, 0.0, 1000), (250, 0.0, 600), (250, 0.1, 300)):
        found = rates_of_stated(n, gap, sets)
        show(f"70, 80 or 90 %, {100 * gap:.0f} points too high", n, *(f"{100 * rate:.1f}" for rate in found), sets)


if __name__ == "__main__":
    sys.exit(main())
