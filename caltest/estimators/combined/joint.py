"""Estimators of several numbers that only together are a test statistic."""

from abc import abstractmethod
from typing import ClassVar

import numpy as np

from caltest._basics.numerics import Array, FloatArray, ranges
from caltest._laws import pearson3_exponents
from caltest._results.calibration_test_result import ComponentResult
from caltest._results.values import Finding
from caltest.estimators.base import Estimator
from caltest.predictions import Predictions, Sample

ROWS = 64
"""Rows that are standardised together."""

COMMON = 0.01
"""Share of values that are as large from which on it says more of the tail than a fitted distribution."""


class JointEstimator(Estimator):
    """Several numbers for the observed targets and for each redraw of them, which are combined when all are known.

    The combination may use all columns, as long as it treats them alike: then the combined values are exchangeable
    under the null hypothesis, as the columns are, and a Monte Carlo p-value is exact.
    """

    impossible_excluded: ClassVar[bool] = False
    """Whether the p-value is 0 if an outcome occurred that its prediction excludes."""

    @abstractmethod
    def values(self, predictions: Predictions, targets: Array) -> FloatArray:
        """The numbers for many targets (B, n), (J, B); the estimate is the first."""

    def drawn(
        self, predictions: Predictions, observed: Array | None, n_redraws: int, rng: np.random.Generator
    ) -> FloatArray | None:
        """The numbers (J, B) for observed targets, if given, and redraws that it makes itself; None if it does not."""
        return None

    @abstractmethod
    def combined(self, values: FloatArray) -> FloatArray:
        """The statistic (B,) of columns (J, B); large values speak against calibration."""

    def found(self, sample: Sample, values: FloatArray) -> tuple[ComponentResult, ...]:
        """What each component found, from the numbers (J, B), of which the first column is that of the sample."""
        return ()

    def findings(self, sample: Sample, pvalue: float) -> tuple[Finding, ...]:
        """What is wrong with the predictions, the clearest first."""
        return ()

    @property
    @abstractmethod
    def statistic_name(self) -> str:
        """What the statistic is."""

    def estimate(self, sample: Sample) -> float:
        """The estimate that is reported."""
        return self.reported(sample, self.values(sample.predictions, np.asarray(sample.targets)[None]))

    def reported(self, sample: Sample, values: FloatArray) -> float:
        """The estimate from the numbers (J, B), of which the first column is that of the sample: the first of them."""
        return float(values[0, 0])


def standardised(values: FloatArray) -> FloatArray:
    """Rows (J, B) in units of the standard deviations of the other columns around their means.

    Each column is compared with all others, so that none is treated unlike another and one that is far out does not
    hide itself. Rows that do not vary are 0.
    """
    n, ratios = values.shape[1] - 1, np.empty(values.shape)
    for rows in ranges(len(values), ROWS):
        x = _scaled(values[rows])
        first, second = ((sums.sum(axis=1, keepdims=True) - sums) / n for sums in (x, x * x))
        ratios[rows] = _in_deviations(x - first, second - first**2)[0]
    return ratios


def leave_one_out(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Values (J, B) standardised by the mean and the standard deviation of the others, and skewness of the others."""
    n, x = values.shape[1] - 1, _scaled(values)
    first, second, third = ((np.sum(x**power, axis=1, keepdims=True) - x**power) / n for power in (1, 2, 3))
    z, deviation = _in_deviations(x - first, second - first**2)
    cubes = third - 3.0 * first * second + 2.0 * first**3
    skewness = np.divide(cubes, deviation**3, out=np.zeros_like(x), where=deviation > 0.0)
    return z, skewness


def _scaled(values: FloatArray) -> FloatArray:
    """Rows (J, B) around medians of a few values, with 1 as the largest distance; 0 if that is rounding."""
    middle = np.median(values[:, :15], axis=1, keepdims=True)
    size = np.abs(values - middle).max(axis=1, keepdims=True)
    scaled: FloatArray = np.divide(
        values - middle, size, out=np.zeros_like(values), where=size > 1e-13 * np.abs(middle)
    )
    return scaled


def _in_deviations(differences: FloatArray, variances: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Differences to the mean of the others in their standard deviations, and these."""
    deviation = np.sqrt(np.where(variances > 1e-24, variances, 0.0))
    # Where all others are equal any difference is as large as it can be.
    largest = 1e6 * np.sign(np.round(differences, 12))
    return np.divide(differences, deviation, out=largest, where=deviation > 0.0), deviation


def tail_exponents(column: FloatArray) -> FloatArray:
    """``-log P(Z >= z)`` for values (B,) standardised by the others, with Z of Pearson type III of their skewness.

    The tail is at least half of the share of values that are as large, where this is 1 % or more: where nearly all
    values are equal and one is far out, the fitted distribution does not say how common they are.
    """
    z, skewness = leave_one_out(column[None])
    exponents = pearson3_exponents(z[0], skewness[0])
    ordered = np.sort(column)
    rounding = 1e-10 * max(abs(ordered[0]), abs(ordered[-1]))
    shares = 1.0 - np.searchsorted(ordered, column - rounding, side="left") / column.size
    return np.where(shares >= COMMON, np.minimum(exponents, -np.log(shares / 2.0)), exponents)
