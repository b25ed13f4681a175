"""The statistic of Hosmer and Lemeshow."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from caltest._basics.numerics import Array, FloatArray, IntArray
from caltest._results.values import EffectSize
from caltest._validation import whole
from caltest.binning import QuantileBinning
from caltest.estimators.base import TextbookTail
from caltest.estimators.classical.base import BinaryStatistic, chi_squared_tail, root_per_observation
from caltest.predictions import Predictions, Sample

EXPECTED = 5.0
"""Groups in which less events or non-events are expected make the chi-squared law doubtful."""


@dataclass(frozen=True)
class HosmerLemeshow(BinaryStatistic):
    """``sum_g (O_g - E_g)**2 / (E_g (1 - E_g / n_g))`` over groups g of predictions of equal size.

    O_g is the number of events among the n_g observations of a group, and E_g the sum of their predictions.

    Parameters
    ----------
    n_bins
        Number G >= 1 of groups. Group g has the predictions in (x_(ceil(n (g-1)/G)), x_(ceil(n g/G))] with the sorted
        predictions x_(1) <= ... <= x_(n), as in ``QuantileBinning``: equal predictions are in the same group, so that
        there can be fewer groups than G.

    Notes
    -----
    ``HosmerLemeshowTest()`` compares the statistic with the chi-squared law with one degree of freedom for each group.
    Software often takes two fewer. That is close for a logistic regression and the data it was fitted to; here the
    outcomes are others, which the model has not seen. In wide groups the law is conservative for every n.

    The chi-squared law is rough where a group is expected to have fewer than 5 events, or fewer than 5 observations
    without one, as a note of the result then says. ``MonteCarloTest(HosmerLemeshow())`` is exact in any case. Groups
    with E_g = 0 or E_g = n_g cannot vary: they add nothing and have no degree of freedom. Time O(n log n), and O(n) for
    each redraw.

    Source: Hosmer and Lemeshow 1980.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> result = ct.HosmerLemeshowTest()(*ct.top_label(p, y))
    >>> round(result.statistic, 2), result.df
    (326.68, (10.0,))
    """

    citations = ("hosmer1980",)

    n_bins: int = 10
    _checks = {"n_bins": whole(1)}

    textbook_statistic = "chi-squared if calibrated"

    def statistic_of(self, p: FloatArray) -> Callable[[Array], FloatArray]:
        groups = self._groups(p)
        weights = np.divide(1.0, groups.variances, out=np.zeros(groups.starts.size), where=groups.variances > 0.0)

        def of(outcomes: Array) -> FloatArray:
            events = np.add.reduceat(outcomes[:, groups.order], groups.starts, axis=1, dtype=np.intp)
            return np.asarray(np.square(events - groups.expected) @ weights)

        return of

    def _groups(self, p: FloatArray) -> "_Groups":
        numbers = QuantileBinning(self.n_bins).assign(p[:, None])
        sizes = np.bincount(numbers)
        expected = np.asarray(np.bincount(numbers, p), dtype=np.float64)
        # Of 1 - p, so that groups of certain events have no rounding errors for a variance.
        unexpected = np.asarray(np.bincount(numbers, 1.0 - p), dtype=np.float64)
        order = np.argsort(numbers, kind="stable")
        return _Groups(order, np.cumsum(sizes) - sizes, expected, unexpected, expected * unexpected / sizes)

    def textbook_tail(self, estimate: float, sample: Sample) -> TextbookTail:
        """The chi-squared tail."""
        groups = self._groups(self.probabilities(sample.predictions))
        least = float(np.minimum(groups.expected, groups.unexpected).min())
        note = (
            f"only {least:.2g} events or non-events are expected in a group; below 5 the p-value can be too small (in "
            "simulations the test rejected up to 8 % of calibrated data sets at the 5 % level, and 36 % where events "
            "were rare and predictions nearly equal; at the 1 % level up to 4 % and 31 %); "
            "MonteCarloTest(HosmerLemeshow()) is exact"
        )
        return chi_squared_tail(estimate, int(np.count_nonzero(groups.variances)), note if least < EXPECTED else "")

    def effect_size(self, estimate: float, predictions: Predictions, mean: float | None) -> EffectSize:
        """The root of the mean square of the deviations of groups, each in standard deviations of an outcome.

        The statistic is n times that mean square, and about the number of groups more by chance.
        """
        if mean is None:
            mean = float(np.count_nonzero(self._groups(self.probabilities(predictions)).variances))
        unit = "deviation of the groups, in standard deviations of an outcome"
        return root_per_observation(estimate - mean, len(predictions), unit)

    def describe(self, predictions: Predictions) -> str:
        return f"Hosmer-Lemeshow statistic, {self.n_bins} groups of equal size"


class _Groups(NamedTuple):
    """The observations in the order of their groups, where each group starts, E, n - E and ``E (1 - E / n)`` of it."""

    order: IntArray
    starts: IntArray
    expected: FloatArray
    unexpected: FloatArray
    variances: FloatArray
