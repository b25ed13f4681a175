"""Estimators of several numbers that only together are a test statistic."""

from abc import abstractmethod

import numpy as np

from caltest._basics.numerics import Array, FloatArray, ranges
from caltest._laws import pearson3_exponents
from caltest.estimators.base import Estimator
from caltest.predictions import Predictions, Sample

ROWS = 16
"""Rows that are standardised together: of a thousand numbers in memory that is used again, which fresh one is not."""

SMALL = 1e-24
"""Variances, where the largest distance is 1, up to which all values are equal."""

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
    ratios, middle = np.empty(values.shape), _middle(values, null)
    for rows in ranges(len(values), ROWS):
        some = values[rows], None if null is None else null[rows], middle[rows]
        x, (first, second) = _means_of_others(*some, 2)
        ratios[rows] = _in_deviations(x, first, second)[0]
    return ratios


def leave_one_out(values: FloatArray, null: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
    """Values (J, B) standardised as ``standardised`` does, and skewness of those that each is compared with."""
    x, (first, second, third) = _means_of_others(values, null, _middle(values, null), 3)
    z, deviation = _in_deviations(x, first, second)
    cubes = third - 3.0 * first * second + 2.0 * first * first * first
    skewness = np.divide(cubes, deviation * deviation * deviation, out=np.zeros_like(cubes), where=deviation > 0.0)
    return z, np.broadcast_to(skewness, z.shape)


def _middle(values: FloatArray, null: FloatArray | None) -> FloatArray:
    """Medians (J, 1) of a few values of each row."""
    return np.asarray(np.median((values if null is None else null)[:, :15], axis=1, keepdims=True))


def _means_of_others(
    values: FloatArray, null: FloatArray | None, middle: FloatArray, powers: int
) -> tuple[FloatArray, list[FloatArray]]:
    """Rows around medians of a few values, with 1 as the largest distance; and means of powers of the other columns.

    All of these for the columns of the null hypothesis, if they are given. Rows that vary by rounding only are 0.
    """
    size = _farthest(values, middle)
    if null is not None:
        size = np.maximum(size, _farthest(null, middle))
    x = _scaled(values, middle, size)
    y = x if null is None else _scaled(null, middle, size)
    raised = [y]
    while len(raised) < powers:
        raised.append(raised[-1] * y)
    if null is not None:
        return x, [one.mean(axis=1, keepdims=True) for one in raised]
    return x, [(one.sum(axis=1, keepdims=True) - one) / (y.shape[1] - 1.0) for one in raised]


def _farthest(values: FloatArray, middle: FloatArray) -> FloatArray:
    above, below = values.max(axis=1, keepdims=True) - middle, middle - values.min(axis=1, keepdims=True)
    return np.asarray(np.maximum(above, below))


def _scaled(values: FloatArray, middle: FloatArray, size: FloatArray) -> FloatArray:
    return np.asarray((values - middle) / np.where(size > 1e-13 * np.abs(middle), size, np.inf))


def _in_deviations(x: FloatArray, first: FloatArray, second: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Distances to the mean of the others in their standard deviations, from their first moments; and these."""
    differences, variances = x - first, second - first * first
    if (variances > SMALL).all():
        deviation = np.sqrt(variances)
        return differences / deviation, deviation
    deviation = np.sqrt(np.where(variances > SMALL, variances, 0.0))
    # Where all others are equal any difference is as large as it can be.
    largest = 1e6 * np.sign(np.round(differences, 12))
    return np.divide(differences, deviation, out=largest, where=deviation > 0.0), deviation


def tail_exponents(columns: FloatArray, null: FloatArray | None = None) -> FloatArray:
    """``-log P(Z >= z)`` for rows (J, B) standardised by the others, with Z of Pearson type III of their skewness.

    Or standardised by values of the null hypothesis, (J, N), and with their skewness.

    The tail is at least half of the share of values that are as large, where these are two or more and at least 1 %:
    where nearly all values are equal and some are far out, the fitted distribution does not say how common they are.
    """
    exponents = pearson3_exponents(*leave_one_out(columns, null))
    ordered = np.sort(columns if null is None else null, axis=1)
    rounding = 1e-10 * np.abs(ordered[:, [0, -1]]).max(axis=1)
    # Among other values each counts as one more, as it is one of them without: equal outcomes have equal tails.
    size = ordered.shape[1] + (null is not None)
    smaller = np.empty(columns.shape)
    for row, known, asked, order in zip(
        smaller, ordered, columns - rounding[:, None], columns.argsort(axis=1), strict=True
    ):
        # Searches for ascending numbers are several times as fast.
        row[order] = np.searchsorted(known, asked[order])
    shares = 1.0 - smaller / size
    are_common = shares >= max(COMMON, 1.5 / size)
    return np.where(are_common, np.minimum(exponents, -np.log(np.where(are_common, shares, 1.0) / 2.0)), exponents)
