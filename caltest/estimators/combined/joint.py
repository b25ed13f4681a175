"""Estimators of several numbers that only together are a test statistic."""

from abc import abstractmethod

import numpy as np

from caltest._basics.numerics import Array, FloatArray, ranges
from caltest._laws import pearson3_exponents
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

    @abstractmethod
    def values(self, predictions: Predictions, targets: Array) -> FloatArray:
        """The numbers for many targets (B, n), (J, B); the estimate is the first."""

    @abstractmethod
    def combined(self, values: FloatArray) -> FloatArray:
        """The statistic (B,) of columns (J, B); large values speak against calibration."""

    @property
    @abstractmethod
    def statistic_name(self) -> str:
        """What the statistic is."""

    def estimate(self, sample: Sample) -> float:
        return self.reported(sample, self.values(sample.predictions, np.asarray(sample.targets)[None]))

    def reported(self, sample: Sample, values: FloatArray) -> float:
        """The estimate from the numbers (J, B), of which the first column is that of the sample: the first of them."""
        return float(values[0, 0])


def standardised(values: FloatArray, null: FloatArray | None = None) -> FloatArray:
    """Rows (J, B) in units of the standard deviations of the other columns around their means.

    Each column is compared with all others, so that none is treated unlike another and one that is far out does not
    hide itself; or with the columns of the null hypothesis, (J, N), if these are given. Rows that do not vary are 0.
    """
    ratios = np.empty(values.shape)
    for rows in ranges(len(values), ROWS):
        x, (first, second) = _means_of_others(values[rows], null if null is None else null[rows], 2)
        ratios[rows] = _in_deviations(x - first, second - first**2)[0]
    return ratios


def leave_one_out(values: FloatArray, null: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
    """Values (J, B) standardised as ``standardised`` does, and skewness of those that each is compared with."""
    x, (first, second, third) = _means_of_others(values, null, 3)
    z, deviation = _in_deviations(x - first, second - first**2)
    cubes = third - 3.0 * first * second + 2.0 * first**3
    skewness = np.divide(cubes, deviation**3, out=np.zeros_like(cubes), where=deviation > 0.0)
    return z, np.broadcast_to(skewness, z.shape)


def _means_of_others(values: FloatArray, null: FloatArray | None, powers: int) -> tuple[FloatArray, list[FloatArray]]:
    """Rows around medians of a few values, with 1 as the largest distance; and means of powers of the other columns.

    All of these for the columns of the null hypothesis, if they are given. Rows that vary by rounding only are 0.
    """
    others = values if null is None else null
    middle = np.median(others[:, :15], axis=1, keepdims=True)
    size = np.abs(others - middle).max(axis=1, keepdims=True)
    if null is not None:
        size = np.maximum(size, np.abs(values - middle).max(axis=1, keepdims=True))
    x = _scaled(values, middle, size)
    y = x if null is None else _scaled(null, middle, size)
    raised = [y**power for power in range(1, powers + 1)]
    if null is not None:
        return x, [one.mean(axis=1, keepdims=True) for one in raised]
    return x, [(one.sum(axis=1, keepdims=True) - one) / (y.shape[1] - 1.0) for one in raised]


def _scaled(values: FloatArray, middle: FloatArray, size: FloatArray) -> FloatArray:
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


def tail_exponents(column: FloatArray, null: FloatArray | None = None) -> FloatArray:
    """``-log P(Z >= z)`` for values (B,) standardised by the others, with Z of Pearson type III of their skewness.

    Or standardised by values of the null hypothesis, (N,), and with their skewness.

    The tail is at least half of the share of values that are as large, where these are two or more and at least 1 %:
    where nearly all values are equal and some are far out, the fitted distribution does not say how common they are.
    """
    z, skewness = leave_one_out(column[None], null if null is None else null[None])
    exponents = pearson3_exponents(z[0], skewness[0])
    ordered = np.sort(column if null is None else null)
    rounding = 1e-10 * max(abs(ordered[0]), abs(ordered[-1]))
    # Among other values each counts as one more, as it is one of them without: equal outcomes have equal tails.
    size = ordered.size + (null is not None)
    shares = 1.0 - np.searchsorted(ordered, column - rounding, side="left") / size
    are_common = shares >= max(COMMON, 1.5 / size)
    return np.where(are_common, np.minimum(exponents, -np.log(shares / 2.0)), exponents)
