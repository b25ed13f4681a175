"""Counts of which a few are many times as large as predicted."""

from math import log, sqrt

import numpy as np

from caltest._basics.calls import kept
from caltest._basics.numerics import FloatArray
from caltest.predictions.faults.counts.seen import Counts
from caltest.predictions.faults.fault import Mixed, Scope
from caltest.predictions.faults.values import Others
from caltest.predictions.faults.words import Fit, about, percent

SHARE, TIMES, LEAST_TIMES = 0.02, 5.0, 3.0
"""Of outliers, and how many times as large they are, where both are looked for from; and how large at least."""

STEPS, SETTLED = 50, 1e-3
"""Of that search, and the change of the logarithm of the size that ends it."""

TOLD_APART = 0.5
"""Mean probability, at least, that an outlier is none of the others: rare counts of larger means and dispersions look
like a share of larger ones, of which none stands out."""

DISPERSION = 0.25
"""Of outliers: most are between a third and twice their mean."""

FAR = 4.0
"""Predicted standard deviations above its mean of the largest count from which on outliers are looked for."""


class Outliers(Mixed[Counts]):
    """``Q = (1 - t) P + t R``: a share t of counts that are f times as large, by the most likely f of at least 3.

    R are negative binomial laws of the means ``f m`` and the dispersion 0.25.
    """

    kind = "outliers"
    scope: Scope = "shape"
    range = (0.0, 0.5)

    def __init__(self, total: float) -> None:
        self.n_choices = max(1, int(sqrt(total)))

    def promising(self, seen: Counts) -> FloatArray:
        is_far = float(seen.residuals[0].max(initial=0.0)) > FAR
        return np.array([0.0 if is_far and _likeliest(seen)[2] > TOLD_APART else -np.inf])

    def log_ratios(self, seen: Counts, sibling: int) -> FloatArray:
        return _likeliest(seen)[0]

    def corrected(self, seen: Counts, sibling: int, t: float) -> Others:
        """The counts that are more likely none."""
        return Others(np.flatnonzero(_likeliest(seen)[0] + log(max(t, 1e-300)) <= log(1.0 - t)))

    def words(self, seen: Counts, sibling: int, fit: Fit) -> str:
        much = f"about {self.sized(seen, sibling, fit, percent)} of the counts are outliers"
        return f"{much}, about {about(_likeliest(seen)[1])} times as large as predicted"


def _ratios(seen: Counts, times: float) -> FloatArray:
    """Log likelihood ratios (n,) of outliers that are so many times as large."""
    mean = seen.view.mean
    law = seen.view.law.with_mean(times * np.maximum(mean, 1e-300))
    assert law is not None
    return seen.log_ratio(law.with_dispersion(np.full(mean.size, DISPERSION)))


@kept
def _likeliest(seen: Counts) -> tuple[FloatArray, float, float]:
    """Log likelihood ratios (n,) of the most likely outliers, how many times as large these are, and how clearly.

    By the EM method; what is clear is the mean probability of outliers that they are some.

    From outliers that are a few times as large, and from one that is as large as the farthest count.
    """
    mean, y, weights = np.maximum(seen.view.mean, 1e-300), seen.first, seen.view.weights
    found = []
    for times in (TIMES, float(y[(seen.differences[0] / np.sqrt(mean)).argmax()] / mean.max())):
        share, size = SHARE, max(times, LEAST_TIMES)
        for _ in range(STEPS):
            ratios = _ratios(seen, size)
            both = np.logaddexp(log(1.0 - share), ratios + log(share))
            outlying = weights * np.exp(ratios + log(share) - both)
            share = min(max(float(outlying.sum() / weights.sum()), 1e-12), 0.5)
            known, size = size, max(LEAST_TIMES, float(outlying @ y / max(float(outlying @ mean), 1e-300)))
            if abs(log(size / known)) < SETTLED:
                break
        clear = float(outlying @ (outlying / np.maximum(weights, 1e-300))) / max(float(outlying.sum()), 1e-300)
        found.append((float(weights @ both), known, ratios, clear))
    _, size, ratios, clear = max(found, key=lambda one: one[0])
    return ratios, size, clear
