"""Squared kernel calibration errors of pairs, blocks and halves, and the witness function at a few locations."""

from dataclasses import dataclass, field
from math import exp, inf, sqrt
from typing import Any

import numpy as np

from caltest._basics.arrays import to_array
from caltest._basics.numerics import Array, ArrayLike, FloatArray, IntArray, check_memory, normalised, ranges
from caltest._basics.threads import threaded
from caltest._results.values import EffectSize
from caltest._validation import at_least, switch, whole_number
from caltest.estimators.base import Estimator
from caltest.estimators.kernel_errors.kernel_estimator import FAMILY_KERNEL, KernelEstimator
from caltest.hstatistics.redraws.of_all_families import redrawn_block_means, redrawn_deviation_means, redrawn_means
from caltest.hstatistics.sums.pairs import block_means, deviations, mean_of_pairs
from caltest.hstatistics.tiles import Place, h_bound, tiles_of
from caltest.kernels import PairKernel
from caltest.predictions import Predictions, Sample
from caltest.predictions.inputs.convert import as_sample


@dataclass(frozen=True)
class SKCE(KernelEstimator):
    """Squared kernel calibration error from all pairs of observations.

    Unbiased: ``2 / (n (n - 1)) sum_{i<j} h_ij``, a U-statistic, the minimum-variance unbiased estimator; it can be
    negative. Biased: ``n**-2 sum_{i,j} h_ij``, the squared norm of a mean embedding, hence at least 0.

    Parameters
    ----------
    kernel
        Product of a kernel of predictions and a kernel of targets; by default that of the family.
    unbiased
        Leave out the diagonal.

    Notes
    -----
    Call with predictions and targets; n >= 2 observations, or n >= 1 if biased and with bandwidths that are numbers
    (``ValueError`` otherwise). Assumes independent observations. Time O(n**2 k), or O(n log n) for binary predictions
    with an exponential kernel; memory O(n k).

    Sources: Widmann et al. 2019, Table 1 and Lemmas F.1, F.2; Widmann et al. 2021, Lemmas 1 and 2.

    Examples
    --------
    >>> import caltest as ct
    >>> kernel = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), bandwidth=1.0), ct.DeltaKernel())
    >>> p, y = [[0.1, 0.8, 0.1], [0.2, 0.5, 0.3]], [1, 2]
    >>> round(ct.SKCE(kernel)(p, y), 6), round(ct.SKCE(kernel, unbiased=False)(p, y), 6)
    (-0.111123, 0.154439)
    """

    citations = ("widmann2019", "widmann2021")

    kernel: PairKernel = FAMILY_KERNEL
    unbiased: bool = True
    _checks = {"unbiased": switch}

    def check(self, predictions: Predictions) -> None:
        at_least(len(predictions), 2 if self.unbiased else 1, self._name("all pairs"))

    def estimate(self, sample: Sample) -> float:
        return mean_of_pairs(self.kernel, sample, self.unbiased)

    def estimates(self, predictions: Predictions, targets: Array) -> FloatArray:
        return np.asarray(redrawn_means([self.kernel], predictions, targets, unbiased=self.unbiased)[0])

    def given_features(self, features: Any) -> Estimator:
        if not self.unbiased:
            raise TypeError("features: got some for SKCE(kernel, unbiased=False), wanted the unbiased SKCE(kernel)")
        from caltest.estimators.kernel_errors.groups import FeatureSKCE

        return FeatureSKCE(self.kernel, features)

    def tail_bound(self, estimate: float, predictions: Predictions) -> float:
        """Bound of P(estimator >= estimate | calibrated), Lemma 2 of Widmann et al. 2019.

        With B = ``sup |h|``: ``exp(-floor(n/2) t**2 / (2 B**2))`` for the unbiased estimator (Theorem H.3) and
        ``exp(-max(0, sqrt(n t / B) - 1)**2 / 2)`` for the biased one (Theorem H.2); 1 for t <= 0. The proofs use
        nothing else of B; that for the biased one takes the kernel to be positive definite.
        """
        n, bound = len(predictions), h_bound(self.kernel, predictions)
        if self.unbiased:
            return hoeffding_bound(estimate, bound, n // 2)
        return exp(-(max(0.0, sqrt(max(0.0, n * estimate / bound)) - 1.0) ** 2) / 2.0)

    def describe(self, predictions: Predictions) -> str:
        return self._described("all pairs")


@dataclass(frozen=True)
class BlockSKCE(KernelEstimator):
    """Mean of the SKCE estimates of consecutive blocks of ``block_size`` observations.

    ``floor(n/B)**-1 sum_b eta_b`` with eta_b the (un)biased estimate in block b; an incomplete last block is dropped.
    ``block_size=2`` is the linear estimator of the 2019 paper.

    Parameters
    ----------
    kernel, unbiased
        As in ``SKCE``.
    block_size
        B >= 2 observations, B >= 1 if biased.

    Notes
    -----
    Call with predictions and targets; n >= B (``ValueError`` otherwise). Assumes independent observations in an
    order that does not depend on the targets. Time O(n B k), memory a few MB for
    each thread.

    Sources: Widmann et al. 2021, Lemma 2; Widmann et al. 2019, Lemma F.3.

    Examples
    --------
    >>> import caltest as ct
    >>> kernel = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), bandwidth=1.0), ct.DeltaKernel())
    >>> p, y = [[0.1, 0.8, 0.1], [0.2, 0.5, 0.3], [1.0, 0.0, 0.0]], [1, 2, 0]
    >>> round(ct.BlockSKCE(kernel, block_size=2)(p, y), 6)
    -0.111123
    """

    citations = ("widmann2019", "widmann2021")

    kernel: PairKernel = FAMILY_KERNEL
    block_size: int = 2
    unbiased: bool = True
    _checks = {"unbiased": switch}

    def __post_init__(self) -> None:
        super().__post_init__()
        size = whole_number("block_size", self.block_size, 2 if self.unbiased else 1, inf)
        object.__setattr__(self, "block_size", size)

    def check(self, predictions: Predictions) -> None:
        at_least(len(predictions), self.block_size, f"one block of size {self.block_size}")

    def terms(self, sample: Sample) -> FloatArray:
        """Estimates of the blocks, (floor(n / block_size),)."""
        return block_means(self.kernel, sample, self.block_size, self.unbiased)

    def n_terms(self, n: int) -> int:
        """Number of whole blocks."""
        return n // self.block_size

    def estimate(self, sample: Sample) -> float:
        return float(np.mean(self.terms(sample)))

    def estimates(self, predictions: Predictions, targets: Array) -> FloatArray:
        return redrawn_block_means(self.kernel, predictions, targets, self.block_size, self.unbiased)

    def n_used(self, n: int) -> int:
        return n // self.block_size * self.block_size

    def tail_bound(self, estimate: float, predictions: Predictions) -> float:
        """Bound of P(estimator >= estimate | calibrated) for unbiased blocks.

        ``exp(-N t**2 / (2 B**2))`` with B = ``sup |h|`` and N = floor(n/b) floor(b/2) independent pairs in blocks of
        size b (Theorems H.3 and H.4 of Widmann et al. 2019; Hoeffding 1963). The Julia reference uses floor(n/2) for
        every b, which is too many when b is odd or does not divide n.
        """
        n_pairs = len(predictions) // self.block_size * (self.block_size // 2)
        return hoeffding_bound(estimate, h_bound(self.kernel, predictions), n_pairs)

    def describe(self, predictions: Predictions) -> str:
        return self._described(f"blocks of {self.block_size}")


def hoeffding_bound(estimate: float, bound: float, n_pairs: int) -> float:
    """``exp(-n_pairs t**2 / (2 bound**2))`` for t > 0, else 1: a mean of n_pairs variables in [-bound, bound]."""
    if estimate <= 0.0:
        return 1.0
    return exp(-n_pairs * estimate**2 / (2.0 * bound**2))


@dataclass(frozen=True, eq=False)
class UCME(KernelEstimator):
    """Unnormalised calibration mean embedding: the mean of its squares at test locations.

    ``J**-1 sum_j (n**-1 sum_i D_ij)**2`` with ``D_ij = k(T_j, (p_i, y_i)) - E k(T_j, (p_i, Z))``.

    Parameters
    ----------
    kernel
        Product of a kernel of predictions and a kernel of targets.
    test_predictions, test_targets
        The J test locations T_j, pairs of a prediction and a target. Choose them without looking at the targets
        that are tested, for example at random or from other data.

    Notes
    -----
    The plug-in estimator: at least 0, biased upwards. ``"median"`` bandwidths come from the tested predictions.
    Time O(n J k), memory O(n J).

    Source: Widmann et al. 2021, Definition C.1 and appendix C.2.

    Raises
    ------
    ValueError, TypeError
        For bad test locations, and at the call for predictions of another family or number of classes.

    Examples
    --------
    >>> import caltest as ct
    >>> kernel = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), bandwidth=1.0), ct.DeltaKernel())
    >>> ucme = ct.UCME(kernel, test_predictions=[[0.5, 0.5]], test_targets=[0])
    >>> round(ucme([[0.1, 0.9], [0.8, 0.2]], [0, 1]), 6)
    2.8e-05
    """

    citations = ("widmann2021",)

    kernel: PairKernel
    test_predictions: ArrayLike = field(repr=False)
    test_targets: ArrayLike = field(repr=False)
    locations: Sample = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        locations = as_sample(self.test_predictions, self.test_targets, prefix="test_", copy=True, pooled=False)
        object.__setattr__(self, "locations", locations)
        object.__setattr__(self, "test_predictions", locations.predictions)
        object.__setattr__(self, "test_targets", to_array(self.test_targets, "test_targets").copy())

    def check(self, predictions: Predictions) -> None:
        at_least(len(predictions), 1, "UCME")
        predictions.check_compatible(self.locations.predictions, "test_predictions")

    def deviations(self, sample: Sample) -> FloatArray:
        """``D``, (n, J): mean 0 under the null hypothesis."""
        number = len(self.locations)
        check_memory(24 * len(sample) * number, "deviations at all locations", (number, "test locations"))
        return deviations(self.kernel, sample, self.locations)

    def estimate(self, sample: Sample) -> float:
        return float(np.mean(self.deviations(sample).mean(axis=0) ** 2))

    def estimates(self, predictions: Predictions, targets: Array) -> FloatArray:
        means = redrawn_deviation_means(self.kernel, predictions, targets, self.locations)
        return np.asarray(np.mean(means**2, axis=1))

    def effect_size(self, estimate: float, predictions: Predictions, mean: float | None) -> EffectSize:
        unit = "root mean square of the witness function at the test locations"
        return EffectSize(sqrt(max(0.0, estimate - (mean or 0.0))), unit)

    def describe(self, predictions: Predictions) -> str:
        return f"UCME, {len(self.locations)} test locations, k = {self.kernel.describe()}"


ROWS, COLUMNS = 256, 2048
"""Shape of the tiles of h."""


@dataclass(frozen=True)
class CrossSKCE(KernelEstimator):
    """``mean h_ij`` over the pairs of an observation i of one half of the data and j of the other half.

    It is the mean of ``f_i = mean_j h_ij``. Given all predictions and the targets of the other half, the terms f_i are
    independent functions of one target each and, if the predictions are calibrated, of mean 0.

    Parameters
    ----------
    kernel
        Product of a kernel of predictions and a kernel of targets; by default that of the family.

    Notes
    -----
    Call with predictions and targets; n >= 2 observations (``ValueError`` otherwise). Rows 0, 2, 4, ... are the first
    half and rows 1, 3, 5, ... the other one; put the rows in another order for another split. Unbiased. It uses half of
    the pairs, which costs power, and its law is simpler than that of ``SKCE``. Time O(n**2 k), memory O(n k).

    Source: Shekhar, Kim and Ramdas 2022, who call it the cross U-statistic.

    Examples
    --------
    >>> import caltest as ct
    >>> kernel = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), bandwidth=1.0), ct.DeltaKernel())
    >>> round(ct.estimators.CrossSKCE(kernel)([[0.1, 0.8, 0.1], [0.2, 0.5, 0.3]], [1, 2]), 6)
    -0.111123
    """

    citations = ("shekhar2022", "widmann2021")

    kernel: PairKernel = FAMILY_KERNEL

    def check(self, predictions: Predictions) -> None:
        at_least(len(predictions), 2, "CrossSKCE")

    def halves(self, n: int) -> tuple[IntArray, IntArray]:
        """Rows of the two halves, ceil(n / 2) and floor(n / 2) of them."""
        return np.arange(0, n, 2), np.arange(1, n, 2)

    def terms(self, sample: Sample) -> FloatArray:
        """``f_i = mean_j h_ij`` over the rows j of the other half, for each row i of the first one, (ceil(n / 2),)."""
        first, other = self.halves(len(sample))
        n, tiles = first.size, tiles_of(self.kernel, sample.take(np.concatenate([first, other])))

        def row_sums(place: Place) -> tuple[slice, FloatArray]:
            return place[0], tiles.tile(place).sum(axis=1)

        places = [
            (rows, slice(n + columns.start, n + columns.stop))
            for columns in ranges(other.size, COLUMNS)
            for rows in ranges(n, ROWS)
        ]
        terms, work = np.zeros(n), 4.0 * n * other.size
        for rows, sums in threaded(row_sums, places, len(places), "pairs", work=work, products=tiles.products):
            terms[rows] += sums
        return terms / other.size

    def estimate(self, sample: Sample) -> float:
        return float(np.mean(self.terms(sample)))

    def outcome_terms(self, sample: Sample) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Terms of all outcomes (n_1, k), if these are finitely many, their probabilities, and the observed terms.

        They are ``w_i(c) = mean_j sum_l k_l(p_i, p_j) (A_l (e_{y_j} - p_j))_c`` less their means, over the products l
        of the kernel, with the matrices A_l of the target kernels. Time O(n**2 k), memory O(n k).
        """
        first, other = (sample.take(half) for half in self.halves(len(sample)))
        ours, theirs = first.predictions.law.finite, other.predictions.law.finite
        assert ours is not None
        assert theirs is not None
        residuals = theirs.residuals(other.targets)
        values = np.zeros((len(first), ours.n_classes))
        for one in self.kernel.products:
            weighted = theirs.times_gram(residuals, one.target_kernel) / len(other)
            for rows in ranges(len(first), ROWS):
                left = first.predictions.take(rows)
                for columns in ranges(len(other), COLUMNS):
                    tile = one.prediction_kernel.tile(left, other.predictions.take(columns))
                    values[rows] += tile @ weighted[columns]
        probabilities = normalised(ours.probabilities)
        values -= np.einsum("ik,ik->i", probabilities, values)[:, None]
        return values, probabilities, values[np.arange(len(first)), first.targets]

    def describe(self, predictions: Predictions) -> str:
        return self._described("pairs between alternate rows")
