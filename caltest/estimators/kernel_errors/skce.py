"""Squared kernel calibration error: the mean of h over pairs of observations, over all of them or over blocks."""

from dataclasses import dataclass
from math import exp, inf, sqrt

import numpy as np

from caltest._basics.numerics import Array, FloatArray
from caltest._validation import at_least, switch, whole_number
from caltest.estimators.kernel_errors.kernel_estimator import FAMILY_KERNEL, KernelEstimator
from caltest.hstatistics.bound import h_bound
from caltest.hstatistics.redraws.of_all_families import redrawn_block_means, redrawn_means
from caltest.hstatistics.sums.pairs import block_means, mean_of_pairs
from caltest.kernels import PairKernel
from caltest.predictions import Predictions, Sample


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
        at_least(len(predictions), 2 if self.unbiased else 1, self._name())

    def estimate(self, sample: Sample) -> float:
        return mean_of_pairs(self.kernel, sample, self.unbiased)

    def estimates(self, predictions: Predictions, targets: Array) -> FloatArray:
        estimates: FloatArray = redrawn_means([self.kernel], predictions, targets, unbiased=self.unbiased)[0]
        return estimates

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
        return f"{self._name()}, k = {self.kernel.describe()}"

    def _name(self) -> str:
        return f"SKCE ({'unbiased' if self.unbiased else 'biased'}, all pairs)"


@dataclass(frozen=True)
class BlockSKCE(KernelEstimator):
    """Mean of the SKCE estimates of consecutive blocks of ``block_size`` observations.

    ``floor(n/B)**-1 sum_b eta_b`` with eta_b the (un)biased estimate in block b; the incomplete rest is dropped.
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

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "unbiased", switch("unbiased", self.unbiased))
        object.__setattr__(
            self, "block_size", whole_number("block_size", self.block_size, 2 if self.unbiased else 1, inf)
        )

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
        bias = "unbiased" if self.unbiased else "biased"
        return f"SKCE ({bias}, blocks of {self.block_size}), k = {self.kernel.describe()}"


def hoeffding_bound(estimate: float, bound: float, n_pairs: int) -> float:
    """``exp(-n_pairs t**2 / (2 bound**2))`` for t > 0, else 1: a mean of n_pairs variables in [-bound, bound]."""
    if estimate <= 0.0:
        return 1.0
    return exp(-n_pairs * estimate**2 / (2.0 * bound**2))
