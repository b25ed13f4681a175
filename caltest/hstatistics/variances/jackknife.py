"""The jackknife of the unbiased SKCE: its variance from the sums of h over the rows, without leaving rows out."""

from dataclasses import dataclass
from math import sqrt

import numpy as np

from caltest._basics.numerics import FloatArray
from caltest._validation import at_least
from caltest.hstatistics.sums.pairs import h_diagonal, weighted_sums
from caltest.hstatistics.tiles import h_bound
from caltest.hstatistics.variances.null_variance import variance_if_calibrated
from caltest.kernels import PairKernel
from caltest.predictions import Sample

LARGEST_GROWTH = 1.5
"""Of the standard error for errors larger than the estimate, of the part that shrinks with the spread of the terms."""

STEPS = 100
"""Of the iteration for upper ends, each of which leaves at most 3/4 of the way."""

SURPRISE = 2.5
"""Times ``sqrt(B) v**1.5 / n``: the variance of the estimate of an error v that is made of rare surprises. 4 for the
largest ones, with which ``EquivalenceTest`` hardly ever rejects at its margin; with 2 it does in up to 5.7 %."""


@dataclass(frozen=True)
class Jackknife:
    """A U-statistic and its standard error.

    Attributes
    ----------
    estimate
        ``U = sum_{i != j} h_ij / (n (n - 1))``.
    standard_error
        Root of the jackknife variance, or of what that is expected to be if calibrated, if that is known and larger; 0
        if all rows have the same sum up to rounding and nothing is known.
    surprise
        The number c of the standard error ``c v**0.75`` of an error v that is made of rare surprises.
    """

    estimate: float
    standard_error: float
    surprise: float = 0.0

    def error_at(self, value: float) -> float:
        """The standard error if the SKCE is ``value``, at least that of the estimate.

        The larger of two. Where U is not degenerate, its variance is ``4 / n`` times that of the product of an
        observation's embedding with the mean embedding, whose squared length is the SKCE: it grows in proportion to
        the SKCE. Small estimates come with small standard errors, and upper bounds from them alone would be too low.
        The growth counts up to ``LARGEST_GROWTH``, because the variance has a part that does not grow.

        Where an error is made of rare surprises, their number decides, so that the variance of the product grows too:
        the standard error as the power 3/4 of the SKCE, counted from one standard error below U, and up to that of
        an error of which nothing has been seen yet.
        """
        if value <= self.estimate:
            return self.standard_error
        growth = sqrt(value / self.estimate) if self.estimate > 0.0 else LARGEST_GROWTH
        return max(self.standard_error * min(growth, LARGEST_GROWTH), self._rate * sqrt(value) * sqrt(sqrt(value)))

    @property
    def _rate(self) -> float:
        """The number c of the standard error ``c v**0.75`` for values v above the estimate."""
        least = self.estimate - self.standard_error
        if least <= 0.0:
            return self.surprise
        return min(self.surprise, self.standard_error / (sqrt(least) * sqrt(sqrt(least))))

    def low(self, z: float) -> float:
        """The value that is z standard errors below the estimate."""
        return self.estimate - z * self.standard_error

    def high(self, z: float) -> float:
        """The value v above the estimate with ``v = estimate + z error_at(v)``, for z >= 0."""
        return max(self._high(z), self._high_of_surprises(z * self._rate))

    def _high(self, z: float) -> float:
        """With the first of the two standard errors."""
        farthest = self.estimate + LARGEST_GROWTH * z * self.standard_error
        if self.estimate <= 0.0:
            return farthest
        slope = z * self.standard_error / sqrt(self.estimate)
        return min(farthest, ((slope + sqrt(slope**2 + 4.0 * self.estimate)) / 2.0) ** 2)

    def _high_of_surprises(self, rate: float) -> float:
        """The largest v with ``v = estimate + rate v**0.75``, or the estimate: from above, each step comes closer."""
        value = 16.0 * rate**4 + 2.0 * abs(self.estimate)
        for _ in range(STEPS):
            value = max(0.0, self.estimate + rate * sqrt(value) * sqrt(sqrt(value)))
        return value if value > 0.0 else self.estimate


def row_sums(kernel: PairKernel, sample: Sample) -> FloatArray:
    """``r_i = sum_{j != i} h_ij``, (n,). Time O(n**2 k), memory O(n k)."""
    sums = weighted_sums(kernel, sample, np.ones((len(sample), 1)))[1]
    return np.asarray(sums - h_diagonal(kernel, sample))


def jackknife_of(kernel: PairKernel, sample: Sample, rng: np.random.Generator) -> Jackknife:
    """U, its standard error, which is at least what the predictions say, and that of rare surprises."""
    least, found = error_if_calibrated(kernel, sample, rng), jackknife(row_sums(kernel, sample))
    surprise = sqrt(SURPRISE * sqrt(h_bound(kernel, sample.predictions)) / len(sample))
    return Jackknife(found.estimate, max(found.standard_error, least), surprise)


def error_if_calibrated(kernel: PairKernel, sample: Sample, rng: np.random.Generator) -> float:
    """Jackknife standard error of U on average if the predictions are calibrated; 0 without a formula for it."""
    n = len(sample)
    variance = None if n < 3 else variance_if_calibrated(kernel, sample.predictions, rng)
    # On average the jackknife variance of a degenerate U is so many times its variance.
    return 0.0 if variance is None else sqrt(2.0 * (n - 1) / (n - 2) * variance)


def jackknife(sums: FloatArray) -> Jackknife:
    """U and its jackknife standard error from the row sums (n,) of a symmetric kernel.

    On average the variance is at least that of U of n - 1 observations (Efron and Stein 1981), also where U is
    degenerate.
    """
    n = sums.size
    at_least(n, 3, "the jackknife of the SKCE")
    means = sums / (n - 1)
    estimate, error = float(means.mean()), jackknife_error(means)
    # Equal sums leave deviations of the size of their rounding errors.
    rounding = 1e-13 * float(np.sqrt(means @ means)) * 2.0 * sqrt((n - 1) / n) / (n - 2)
    return Jackknife(estimate, error if error > rounding else 0.0)


def jackknife_error(means: FloatArray) -> float:
    """Jackknife standard error of the mean U of row means r_i (n,) of a symmetric kernel: a U-statistic of order two.

    Without observation i the U-statistic is ``(n U - 2 r_i) / (n - 2)``, so the jackknife variance is
    ``4 (n - 1) / (n (n - 2)**2) sum_i (r_i - U)**2`` (Arvesen 1969).
    """
    n = means.size
    return float(2.0 / (n - 2) * np.sqrt((n - 1) / n * np.sum((means - means.mean()) ** 2)))
