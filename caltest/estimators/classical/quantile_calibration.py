"""How often outcomes lie between predicted quantiles."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from caltest._basics.numerics import Array, FloatArray, IntArray
from caltest._results.calibration_test_result import PValueKind
from caltest._results.values import EffectSize
from caltest._validation import at_least, increasing_levels, optional
from caltest.estimators.base import TextbookTail
from caltest.estimators.classical.base import TransformStatistic, chi_squared_tail, root_per_observation, some_at_a_time
from caltest.predictions import Predictions, Sample

EXPECTED = 5.0
"""Expected numbers below which the chi-squared law is rough."""
ROUNDING = 1e-9
"""By so much, relatively, products of numbers and probabilities can be too small."""


@dataclass(frozen=True)
class QuantileCalibration(TransformStatistic):
    """``sum_j (N_j - n w_j)**2 / (n w_j)`` over the intervals between predicted quantiles.

    N_j is the number of outcomes above the quantile at level l_j and not above that at l_{j+1}, with
    ``w_j = l_{j+1} - l_j``, l_0 = 0 and l_{K+1} = 1. For counts and ensembles it is the number of transforms between
    the levels, at random where F has jumps, as in ``PIT``.

    Parameters
    ----------
    levels
        Increasing numbers l_1 < ... < l_K between 0 and 1. Default: 0.1, 0.2, ..., 0.9, and for ``QuantileForecast``
        its own levels, of which others can only be a part.

    Raises
    ------
    ValueError
        For other levels, or predictions without any spread.
    TypeError
        For predictions that are neither ``QuantileForecast`` nor have transforms: classes and vectors.

    Notes
    -----
    ``MonteCarloTest(QuantileCalibration())`` is exact. ``QuantileCalibrationTest()`` takes the chi-squared law with K
    degrees of freedom; its results have a note if less than 5 outcomes are expected in an interval. Blind to errors
    that cancel across predictions, and to those inside of intervals. Time O(n K), for each redraw too.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.generators.GaussianModel(calibrated=False).sample(100, rng=1)
    >>> ct.QuantileCalibrationTest([0.25, 0.5, 0.75])(ct.Normal(p.mean, p.scale), y).df
    (3.0,)
    """

    levels: Any = None
    _checks = {"levels": optional(increasing_levels)}

    textbook_statistic = "chi-squared if calibrated"
    textbook_kind: ClassVar[PValueKind] = "asymptotic"

    def check(self, predictions: Predictions) -> None:
        known = predictions.law.levels
        if known is None:
            super().check(predictions)
            return
        at_least(len(predictions), 1, "QuantileCalibration")
        if not np.isin(self._levels(predictions), known).all():
            raise ValueError(f"levels: got {list(self.levels)}, wanted some of those of the forecast, {known.tolist()}")

    def _levels(self, predictions: Predictions) -> FloatArray:
        if self.levels is not None:
            return np.array(self.levels)
        known = predictions.law.levels
        return np.arange(1, 10) / 10.0 if known is None else known

    def _expected(self, predictions: Predictions) -> FloatArray:
        edges = np.concatenate([[0.0], self._levels(predictions), [1.0]])
        return np.asarray(len(predictions) * np.diff(edges))

    def _intervals(self, predictions: Predictions, targets: Array) -> IntArray:
        """The number of quantiles below each target, of the shape of the targets."""
        known, chosen = predictions.law.levels, self._levels(predictions)
        if known is not None:
            below = np.concatenate([[0], np.cumsum(np.isin(known, chosen))])
            return np.asarray(below[targets])
        return np.searchsorted(chosen, self.transforms(predictions, targets), side="left")

    def estimates(self, predictions: Predictions, targets: Array) -> FloatArray:
        expected = self._expected(predictions)

        def of(some: Array) -> FloatArray:
            intervals = self._intervals(predictions, some)
            counts = np.stack([np.count_nonzero(intervals == j, axis=1) for j in range(expected.size)], axis=1)
            return np.asarray(np.square(counts - expected) @ (1.0 / expected))

        return some_at_a_time(of, targets)

    def textbook_tail(self, estimate: float, sample: Sample) -> TextbookTail:
        """The chi-squared tail."""
        expected = self._expected(sample.predictions)
        least = float(expected.min())
        note = (
            f"only {least:.2g} outcomes are expected in an interval; with fewer than 5 this p-value can be too small "
            "(in simulations the test rejected up to 18 % of calibrated data sets at the 5 % level, up to 10 % at the "
            "1 % level); MonteCarloTest(QuantileCalibration(levels)) is exact"
        )
        return chi_squared_tail(estimate, expected.size - 1, note if least < EXPECTED * (1.0 - ROUNDING) else "")

    def effect_size(self, estimate: float, predictions: Predictions, mean: float | None) -> EffectSize:
        """Cohen's w: the root of ``sum_j (f_j - e_j)**2 / e_j`` of the shares f_j of outcomes, but for chance."""
        excess = estimate - (self._levels(predictions).size if mean is None else mean)
        return root_per_observation(excess, len(predictions), "Cohen's w of the shares between the quantiles")

    def describe(self, predictions: Predictions) -> str:
        return f"chi-squared distance of the outcomes between {self._levels(predictions).size} predicted quantiles"
