"""Predicted distributions of counts: every expectation is a sum over a window of counts."""

from typing import TYPE_CHECKING, Self

import numpy as np

from caltest._basics.numerics import ranges
from caltest._basics.types import Array, FloatArray, IntArray
from caltest._loops.pair_sums.tiles import PRODUCT, sum_over_coordinates
from caltest.kernels import Euclidean, ExponentialKernel, GaussianKernel, ProductKernel, SquaredEuclidean, TargetKernel
from caltest.predictions.counts.law import PART, CountLaw, CountTable
from caltest.predictions.outcomes import Outcomes, OutcomeTraces, Traces

if TYPE_CHECKING:
    from caltest.predictions.alternatives import Alternatives
from caltest._loops.formulas.recursion import TINY

VALUES = 2**20
"""Kernel values that are computed together."""

LONG = 2048
"""Windows beyond which functions of a difference are summed by fast Fourier transforms."""


def looked_up(table: FloatArray, places: IntArray) -> FloatArray:
    """Entries ``table[..., i, places[..., j]]`` of a table (..., r, U), (..., r, c)."""
    if table.ndim == 2 and places.ndim == 1:
        return np.take(table, places, axis=1)
    batch = np.broadcast_shapes(table.shape[:-2], places.shape[:-1])
    index = np.broadcast_to(places[..., None, :], (*batch, table.shape[-2], places.shape[-1]))
    return np.take_along_axis(np.broadcast_to(table, (*batch, *table.shape[-2:])), index, axis=-1)


def means_of_counts(kernel: TargetKernel, probabilities: FloatArray, first: int, counts: Array) -> FloatArray:
    """``sum_u p(u) k(u, y)`` for counts y (m,): (..., n, m)."""
    window = np.arange(first, first + probabilities.shape[-1])
    flat = probabilities.reshape(-1, window.size)
    means = np.empty((flat.shape[0], counts.size))
    for part in ranges(counts.size, max(1, VALUES // window.size)):
        np.matmul(flat, without_tiny(kernel.target_tile(window, counts[part])), out=means[:, part])
    return without_tiny(means).reshape(*probabilities.shape[:-1], counts.size)


def means_of_range(kernel: TargetKernel, probabilities: FloatArray, first: int, start: int, stop: int) -> FloatArray:
    """``means_of_counts`` for the counts from start to stop - 1."""
    if kernel.is_identity and (first, probabilities.shape[-1]) == (start, stop - start):
        return probabilities
    terms = [term for _, term in kernel.weighted_terms]
    if max(probabilities.shape[-1], stop - start) < LONG or not all(term.of_difference for term in terms):
        return means_of_counts(kernel, probabilities, first, np.arange(start, stop))
    return _convolved(kernel, probabilities, first, start, stop)


def _convolved(kernel: TargetKernel, probabilities: FloatArray, first: int, start: int, stop: int) -> FloatArray:
    """``means_of_range`` for a function of y - y'."""
    from scipy.fft import irfft, next_fast_len, rfft

    size = probabilities.shape[-1]
    differences = np.arange(start - first - size + 1, stop - first)
    length = next_fast_len(differences.size, real=True)
    values = rfft(kernel.target_tile(np.zeros(1), differences)[0], length)
    flat = probabilities.reshape(-1, size)
    means = np.empty((flat.shape[0], stop - start))
    for part in ranges(flat.shape[0], max(1, VALUES // length)):
        means[part] = irfft(rfft(flat[part], length) * values, length)[:, size - 1 : differences.size]
    return without_tiny(means).reshape(*probabilities.shape[:-1], stop - start)


def without_tiny(values: FloatArray) -> FloatArray:
    """Numbers below 1e-150 replaced by 0, in place."""
    values[np.abs(values) < TINY] = 0.0
    return values


LARGEST_TABLE = 2**31
"""Bytes of probabilities and expectations that are kept together."""

MOST_OUTCOMES = 4096
"""Counts up to which the kernel of all pairs of them is kept, 128 MB."""


class CountPredictions(CountLaw):
    """Distributions of whole numbers from 0 on.

    With the probabilities p(u) of the counts u = 0, 1, ..., as in appendix G of Widmann et al. 2021::

        E k(Z, y)  = sum_u p(u) k(u, y)
        E k(Z, Z') = sum_u sum_v p(u) p'(v) k(u, v)

    for every kernel of numbers. The sums run over one window of counts for all predictions, outside of which each of
    them has a probability below 2e-18, so the error is rounding: below 1e-13 of the bound of the kernel. Targets can
    lie anywhere.
    """

    has_jumps = True
    discrete = True

    def cdf_below(self, targets: Array) -> FloatArray:
        return self.cdf(targets - 1.0)

    def default_kernel(self) -> ProductKernel:
        """``exp(-d / median) x Gaussian`` with d the Euclidean distance of the parameter vectors.

        A Gaussian of the median predicted standard deviation sees neighbouring counts as similar, so that few
        observations of each count are enough; ``DeltaKernel`` would compare the counts one by one.
        """
        return ProductKernel(ExponentialKernel(Euclidean(), "median"), GaussianKernel(bandwidth="median"))

    def energy_distances(self, other: Self) -> FloatArray:
        """``2 sum_u (F(u) - F'(u))**2`` with the distribution functions of each and of each other one, (..., r, c)."""
        one, two = self.with_common_outcomes(other)
        squares = SquaredEuclidean().tile(one.cumulative_vectors(), two.cumulative_vectors())
        squares *= 2.0
        return squares

    def width(self, kernel: TargetKernel) -> int:
        first, stop = self._window()
        return 2 * (stop - first)

    def prepared(self, kernel: TargetKernel) -> Self:
        """The same predictions with a table of expectations; time O(n U**2), memory O(n U) for a window of U counts.

        Tables that would be larger than 2 GB are left to the parts that are taken of the predictions.
        """
        self._check_kernel(kernel)
        if self._table is not None and self._table.kernel == kernel:
            return self
        first, stop = self._window()
        if 8 * self.width(kernel) * len(self) > LARGEST_TABLE:
            return self
        probabilities = self._probabilities(first, stop)
        means = means_of_range(kernel, probabilities, first, first, stop)
        counts = np.arange(first, stop)
        is_short = counts.size <= min(len(self), MOST_OUTCOMES)
        gram = without_tiny(kernel.target_tile(counts, counts)) if is_short else None
        return self._with(self._parameters, CountTable(kernel, first, probabilities, means, gram))

    @property
    def table(self) -> CountTable:
        """The table of prepared predictions."""
        if self._table is None:
            raise AttributeError("table: call prepared(kernel) first")
        return self._table

    def outcomes(self, kernel: TargetKernel, targets: Array) -> Outcomes | None:
        """The counts of the window and those that occur outside of it; None if they are too many to look up pairs."""
        self._check_kernel(kernel)
        first, stop = self._window()
        parts = list(ranges(targets.shape[0], max(1, PART // len(self))))
        outside = np.unique(np.concatenate([_outside(targets[part], first, stop) for part in parts]))
        if stop - first + outside.size > MOST_OUTCOMES:
            return None
        counts = np.concatenate([np.arange(first, stop), outside])
        labels = np.empty(targets.shape, dtype=np.min_scalar_type(counts.size - 1))
        for part in parts:
            some = targets[part].astype(np.intp)
            inside = (some >= first) & (some < stop)
            labels[part] = np.where(inside, some - first, stop - first + np.searchsorted(outside, some))
        probabilities = np.zeros((len(self), counts.size))
        probabilities[:, : stop - first] = self._probabilities(first, stop)
        gram = without_tiny(kernel.target_tile(counts, counts))
        return Outcomes(probabilities, gram, labels, np.full(len(self), -1))

    def alternatives(self, weights: FloatArray | None = None) -> "Alternatives | None":
        """Other means and dispersions, where the family knows them."""
        from caltest.predictions.alternatives.counts import CountAlternatives

        return None if self.with_mean(self.mean) is None else CountAlternatives(self, weights)

    def traces(self, kernel: TargetKernel) -> Traces | None:
        outcomes = self.outcomes(kernel, np.full((1, len(self)), self._window()[0]))
        return None if outcomes is None else OutcomeTraces(outcomes.probabilities, outcomes.gram)

    def has_traces(self, kernel: TargetKernel) -> bool:
        first, stop = self._window()
        return stop - first <= MOST_OUTCOMES

    def target_tile(self, kernel: TargetKernel, rows: Array, columns: Array) -> FloatArray:
        self._check_kernel(kernel)
        return kernel.target_tile(rows, columns)

    def centred_kernel(self, kernel: TargetKernel, targets: Array, other: Self, other_targets: Array) -> FloatArray:
        """``(e_y - p)' A (e_y' - p')`` with the counts of the window as outcomes, where tables are there."""
        one, two = self._table, other._table
        if one is None or two is None or one.gram is None or one.kernel != kernel or one.gram is not two.gram:
            return super().centred_kernel(kernel, targets, other, other_targets)
        if targets.ndim > 1 or not (one.contains(targets) and two.contains(other_targets)):
            return super().centred_kernel(kernel, targets, other, other_targets)
        vectors = one.gram[targets.astype(np.intp) - one.first]
        vectors -= one.means
        residuals = -two.probabilities
        residuals[np.arange(len(other)), other_targets.astype(np.intp) - two.first] += 1.0
        return np.asarray(vectors @ residuals.T)

    def expected_kernel(self, kernel: TargetKernel, targets: Array) -> FloatArray:
        return self._expected_kernel(kernel, targets)

    def expected_kernel2(self, kernel: TargetKernel, other: Self) -> FloatArray:
        return self._expected_kernel2(kernel, other)

    def _expected_kernel(self, kernel: TargetKernel, targets: Array) -> FloatArray:
        """From the table where all counts lie in its window, else from the sums for the counts that occur."""
        self._check_kernel(kernel)
        table = self._table
        if table is not None and table.kernel == kernel and table.contains(targets):
            return looked_up(table.means, targets.astype(np.intp) - table.first)
        first, stop = self._window()
        rows = max(1, PART // (stop - first))
        if table is None and len(self.shape) == targets.ndim == 1 and len(self) > rows:
            parts = [self.take(part) for part in ranges(len(self), rows)]
            return np.concatenate([part._expected_kernel(kernel, targets) for part in parts])
        counts, places = np.unique(targets, return_inverse=True)
        means = means_of_counts(kernel, self._probabilities(first, stop), first, counts)
        return looked_up(means, places.reshape(targets.shape))

    def _expected_kernel2(self, kernel: TargetKernel, other: Self) -> FloatArray:
        """Means of one side, summed with the probabilities of the other."""
        self._check_kernel(kernel)
        mine, theirs = self._window(), other._window()
        if other._has_means(kernel, *mine) and not self._has_means(kernel, *theirs):
            one, two = self._probabilities(*mine), other._means_of_range(kernel, *mine)
        else:
            one, two = self._means_of_range(kernel, *theirs), other._probabilities(*theirs)
        return sum_over_coordinates(PRODUCT, one, two)

    def self_kernel(self, kernel: TargetKernel) -> FloatArray:
        self._check_kernel(kernel)
        first, stop = self._window()
        means = self._means_of_range(kernel, first, stop)
        return np.asarray(np.einsum("...u,...u->...", means, self._probabilities(first, stop)))

    def _means_of_range(self, kernel: TargetKernel, first: int, stop: int) -> FloatArray:
        """``E k(Z, u)`` for the counts of a window, (..., n, stop - first)."""
        if self._table is not None and self._has_means(kernel, first, stop):
            return self._table.means[..., first - self._table.first : stop - self._table.first]
        mine = self._window()
        return means_of_range(kernel, self._probabilities(*mine), mine[0], first, stop)

    def _has_means(self, kernel: TargetKernel, first: int, stop: int) -> bool:
        """Whether the table has them."""
        table = self._table
        return table is not None and table.kernel == kernel and table.first <= first and stop <= table.stop

    def _check_kernel(self, kernel: TargetKernel) -> None:
        for _, term in kernel.weighted_terms:
            if term.of_classes:
                raise TypeError(
                    f"target_kernel: got {term.describe_for_targets()} for {self.family} predictions, wanted a kernel "
                    "of numbers such as GaussianKernel(bandwidth=2.0): a matrix is for classes only"
                )


def _outside(counts: Array, first: int, stop: int) -> IntArray:
    """The counts that are not from first to stop - 1."""
    # As signed numbers: numpy 2.0 can crash where small unsigned ones are compared with larger Python integers.
    signed = counts.astype(np.intp)
    return signed[(signed < first) | (signed >= stop)]
