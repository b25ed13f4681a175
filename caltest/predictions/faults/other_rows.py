"""Predictions that are those of other rows: outcomes that have nothing to do with them."""

from typing import Any

import numpy as np

from caltest._basics.calls import kept
from caltest._basics.numerics import FloatArray, evenly_spaced
from caltest.predictions.faults.fault import Mixed
from caltest.predictions.faults.values import SeesValues
from caltest.predictions.faults.words import Fit, percent

AMONG, AMONG_COUNTS = 1024, 64
"""Predictions that tell the law of the outcome of any row, of numbers and of counts."""

A_BIN, MOST_BINS = 16, 32
"""Quantiles of these in each bin of a histogram, and the largest number of bins."""

NEARLY = 0.9
"""Of the largest share, at which the likelihood is larger than there if the largest one is of a smaller share."""

GOLDEN = 0.5 * (5.0**0.5 - 1.0)
"""Multiples of which are spread evenly between whole numbers."""


class OtherRows(Mixed[Any]):
    """``Q = (1 - t) P + t M`` with the law M of the outcome of any row: up to half of them are mixed up.

    That of numbers is the histogram of a quantile of each prediction, at levels that are spread evenly.
    """

    kind = "other rows"
    of_targets = True
    range = (0.0, 0.5)
    # Named where they explain outcomes clearly better than outliers.
    n_choices = 16.0

    def promising(self, seen: SeesValues) -> FloatArray:
        """Nothing where more than half of the rows would be mixed up: then outcomes do not follow the means at all."""
        half = self.range[1]
        is_less = self.log_ratio(seen, 0, half) < self.log_ratio(seen, 0, NEARLY * half)
        return np.array([0.0 if is_less else -np.inf])

    def log_ratios(self, seen: SeesValues, sibling: int) -> FloatArray:
        return _log_ratios(seen)

    def words(self, seen: SeesValues, sibling: int, fit: Fit) -> str:
        share = self.sized(seen, sibling, fit, percent)
        return f"about {share} of the outcomes do not follow their predictions, as if these were those of other rows"


@kept
def _log_ratios(seen: SeesValues) -> FloatArray:
    """Of M and P at the outcomes, (n,)."""
    law, y = seen.law, seen.outcomes
    if not law.is_continuous:
        few: Any = law.evenly_spaced(AMONG_COUNTS)
        means = few.probability_vectors().mean(axis=0)
        logs = np.log(np.maximum(np.interp(y, np.arange(*few.window), means, 0.0, 0.0), 1e-300))
    else:
        some = law.take(evenly_spaced(len(law), AMONG))
        drawn = some.quantile((np.arange(1.0, len(some) + 1.0) * GOLDEN) % 1.0)
        logs = _log_histogram(drawn, y, max(3, min(MOST_BINS, len(some) // A_BIN)))
    return np.asarray(logs - law.log_density(y))


def _log_histogram(drawn: FloatArray, y: FloatArray, number: int) -> FloatArray:
    """Log density at y of bins with as many of some numbers each, with exponential tails in place of the outer ones.

    These end where no prediction of another row is near.
    """
    edges = np.quantile(drawn, np.linspace(0.0, 1.0, number + 1)[1:-1])
    outside = (edges[0] - drawn).clip(0.0), (drawn - edges[-1]).clip(0.0)
    tails = [float(one.mean()) * number for one in outside]
    widths = np.array([tails[0], *np.diff(edges), tails[1]])
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = -np.log(number * widths)[np.searchsorted(edges, y)]
        logs -= (edges[0] - y).clip(0.0) / tails[0] + (y - edges[-1]).clip(0.0) / tails[1]
    return np.where(np.abs(y - drawn.mean()) < 2.0 * np.ptp(drawn), logs, -np.inf)
