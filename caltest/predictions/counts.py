"""Predicted distributions of counts: every expectation is a sum over a window of counts."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Self

import numpy as np

from caltest._jobs import Stream
from caltest._loops.recursion import STEP, probabilities_between
from caltest._loops.tiles import PRODUCT, sum_over_coordinates
from caltest._numerics import check_memory, ranges
from caltest._threads import threaded
from caltest._types import Array, ArrayLike, BoolArray, FloatArray, IntArray
from caltest._validation import same_length, whole_counts
from caltest.kernels import (
    MMD,
    Cityblock,
    Euclidean,
    ExponentialKernel,
    GaussianKernel,
    MatrixKernel,
    Metric,
    ProductKernel,
    SquaredEuclidean,
    TargetKernel,
    TotalVariation,
    VectorMetric,
    Wasserstein1,
)
from caltest.predictions.base import Predictions, median_standard_deviation, require_family
from caltest.predictions.count_sums import looked_up, means_of_counts, means_of_range, without_tiny

TAIL = 42.0
"""Minus the logarithm of the probability that is left out on either side of a window: exp(-42) = 6e-19."""

MOST_COUNTS = 2**17
"""The longest window."""

PART = 2**20
"""Probabilities or kernel values that are computed together."""


WAYS_OUT = "use BlockSKCE, Normal(mean, standard_deviation), or draws: predictions.to_ensemble(n_members, rng)"

LARGEST_TABLE = 2**31
"""Bytes of probabilities and expectations that are kept together."""

MOST_OUTCOMES = 4096
"""Counts up to which the kernel of all pairs of them is kept, 128 MB."""


@dataclass(frozen=True, eq=False)
class CountTable:
    """What the expectations of a kernel share: probabilities of the counts of a window, and ``E k(Z, .)`` there."""

    kernel: TargetKernel
    first: int
    probabilities: FloatArray
    means: FloatArray
    gram: FloatArray | None
    """The kernel between counts of the window, or None if it is longer than there are predictions, or too long."""

    def take(self, index: Any) -> "CountTable":
        """The rows of some of the predictions."""
        return CountTable(self.kernel, self.first, self.probabilities[index], self.means[index], self.gram)

    def contains(self, counts: Array) -> bool:
        """Whether all counts are in the window."""
        return bool(self.first <= counts.min() <= counts.max() < self.stop)

    @property
    def stop(self) -> int:
        """The count behind the last one."""
        return self.first + int(self.probabilities.shape[-1])


class CountPredictions(Predictions):
    """Distributions of whole numbers from 0 on.

    With the probabilities p(u) of the counts u = 0, 1, ..., as in appendix G of Widmann et al. 2021::

        E k(Z, y)  = sum_u p(u) k(u, y)
        E k(Z, Z') = sum_u sum_v p(u) p'(v) k(u, v)

    for every kernel of numbers. The sums run over one window of counts for all predictions, outside of which each of
    them has a probability below 2e-18, so the error is rounding: below 1e-13 of the bound of the kernel. Targets can
    lie anywhere.
    """

    _parameters: tuple[FloatArray, ...]
    _table: CountTable | None = None
    _known_window: tuple[int, int] | None = None

    def _with(self, parameters: tuple[FloatArray, ...], table: CountTable | None = None) -> Self:
        new = object.__new__(type(self))
        new._parameters, new._table = parameters, table
        return new

    @property
    @abstractmethod
    def mean(self) -> FloatArray:
        """Means (..., n)."""

    @property
    @abstractmethod
    def variance(self) -> FloatArray:
        """Variances (..., n)."""

    @abstractmethod
    def _tail_exponent(self, counts: FloatArray) -> FloatArray:
        """Chernoff's bound: ``P(Z >= u) <= exp(-result)`` above the mean, and P(Z <= u) below it.

        For counts u (..., n, m) or (m,): (..., n, m).
        """

    @abstractmethod
    def _log_factor(self, counts: FloatArray) -> FloatArray:
        """``log p(u)`` plus the exponent of the tail, which does not depend on the mean; for counts u >= 1, (m,)."""

    @abstractmethod
    def _recursion(self) -> tuple[FloatArray, FloatArray]:
        """Slopes and constants of ``p(u + 1) (u + 1) / p(u) = constant + slope u``, (..., n)."""

    @abstractmethod
    def _parameter_vectors(self) -> FloatArray:
        """What Euclidean and cityblock distances compare, (..., n, d)."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape (..., n) of the stack."""
        return self._parameters[0].shape

    def take(self, index: Any) -> Self:
        """The predictions at a slice or an integer array of any shape."""
        table = None if self._table is None else self._table.take(index)
        return self._with(tuple(parameter[index] for parameter in self._parameters), table)

    def with_redraws(self, targets: Array | None, streams: Sequence[Stream]) -> Array:
        """Observed counts (n,), if given, and those drawn by each stream, in the smallest type that holds them."""
        total = sum(size for _, size in streams) * len(self)
        parts = [] if targets is None else [_smallest(targets[None])]
        draws = threaded(
            lambda stream: _smallest(self.sample(*stream)), streams, len(streams), "counts", work=100.0 * total
        )
        return np.concatenate([*parts, *draws])

    @property
    def target_bytes(self) -> int:
        """Bytes of a redrawn count."""
        return np.min_scalar_type(self._window()[1] - 1).itemsize

    def check_targets(self, targets: ArrayLike, name: str = "targets") -> Array:
        """Counts as an (n,) integer array."""
        counts = whole_counts(targets, name)
        same_length(len(self), counts.shape[0], name)
        return counts

    def impossible(self, targets: Array) -> BoolArray:
        """Which of the counts are above 0 where 0 is certain."""
        excluded: BoolArray = (self.mean == 0.0) & (targets > 0)
        return excluded

    def check_compatible(self, other: Predictions, name: str) -> None:
        """Raise unless ``other`` is of the same family."""
        require_family(other, type(self), name)

    def followed_by(self, other: Self) -> Self:
        """These predictions and others, in this order."""
        self.check_compatible(other, "predictions")
        pairs = zip(self._parameters, other._parameters, strict=True)
        return self._with(tuple(np.concatenate(pair) for pair in pairs))

    def moments(self) -> tuple[FloatArray, FloatArray]:
        """Means and variances (..., n)."""
        return self.mean, self.variance

    def target_scale(self) -> float:
        """Median of the standard deviations."""
        return median_standard_deviation(np.sqrt(self.variance))

    def default_kernel(self) -> ProductKernel:
        """``exp(-d / median) x Gaussian`` with d the Euclidean distance of the parameter vectors.

        A Gaussian of the median predicted standard deviation sees neighbouring counts as similar, so that few
        observations of each count are enough; ``DeltaKernel`` would compare the counts one by one.
        """
        return ProductKernel(ExponentialKernel(Euclidean(), "median"), GaussianKernel(bandwidth="median"))

    def describe(self, n: int | None = None) -> str:
        """Family and dimensions in a few words."""
        return f"{self.family}, n = {len(self) if n is None else n}"

    def _found_window(self) -> tuple[int, int]:
        """First count, and the one behind the last, outside of which every prediction has a probability below 2e-18.

        ``ValueError`` if they are too many to sum over.
        """
        mean, spread = self.mean.ravel(), np.sqrt(self.variance.ravel())
        flat = self._with(tuple(parameter.ravel() for parameter in self._parameters))

        def is_far(counts: FloatArray) -> BoolArray:
            return np.asarray(flat._tail_exponent(counts[:, None])[:, 0] >= TAIL)

        above = mean + 8.0 * spread + TAIL
        while not (far := is_far(above)).all():
            above = np.where(far, above, mean + 2.0 * (above - mean))
        below = np.zeros(mean.shape)
        lower = np.where(is_far(below), _bisected(is_far, mean, below), 0.0)
        first, stop = int(lower.min()), int(np.ceil(_bisected(is_far, mean, above).max())) + 1
        # Windows that begin at 0 contain each other, so that tables of different predictions go together.
        first = 0 if first <= stop - first else first
        if stop - first > MOST_COUNTS:
            raise ValueError(
                f"predictions: got {self.family} predictions that spread over the counts {first}..{stop - 1}, more "
                f"than the {MOST_COUNTS} that sums are taken over; for counts as large as these use "
                "Normal(mean, standard_deviation), or draws: predictions.to_ensemble(n_members, rng)"
            )
        return first, stop

    def _pmf(self, first: int, stop: int) -> FloatArray:
        """Probabilities of the counts from first to stop - 1, (..., n, stop - first); those below 1e-150 are 0."""
        size, n_all = stop - first, prod(self.shape)
        check_memory(8 * n_all * size, "probabilities of all counts", WAYS_OUT)
        flat = self._with(tuple(parameter.ravel() for parameter in self._parameters))
        start = first // STEP * STEP
        counts = np.arange(start, stop + STEP, STEP, dtype=np.float64)
        out = np.empty((n_all, size))
        for part in ranges(n_all, max(1, PART // size)):
            some = flat.take(part)
            probabilities_between(some._exact_pmf(counts), *some._recursion(), start, first, out[part])
        return out.reshape(*self.shape, size)

    def log_probabilities(self, counts: FloatArray) -> FloatArray:
        """Logarithms of the probabilities of increasing counts (m,), (..., n, m); -inf for impossible ones."""
        logs = -self._tail_exponent(counts)
        positive = slice(1 if counts[0] == 0.0 else 0, None)
        logs[..., positive] += self._log_factor(counts[positive])
        return logs

    def _exact_pmf(self, counts: FloatArray) -> FloatArray:
        """Probabilities of counts (m,) by their logarithms, (n, m)."""
        logs = self.log_probabilities(counts)
        with np.errstate(under="ignore"):
            return np.exp(logs, out=logs)

    def embedding(self, metric: Metric) -> FloatArray:
        """Parameters for ``Euclidean`` and ``Cityblock``, probabilities or distribution functions on a window."""
        if isinstance(metric, (Euclidean, Cityblock)):
            return self._parameter_vectors()
        if isinstance(metric, (TotalVariation, Wasserstein1)):
            return self._functions(metric, *self._window())
        raise self._no_metric(
            metric, "Euclidean(), Cityblock(), TotalVariation(), Wasserstein1(), EnergyDistance(), MMD(kernel)"
        )

    def distance(self, metric: Metric, other: Any) -> FloatArray:
        """Distances (..., r, c) of these predictions (..., r) to others (..., c) of the same family."""
        if isinstance(metric, (TotalVariation, Wasserstein1)):
            self.check_compatible(other, "other")
            window = self._common_window(other)
            return metric.tile(self._functions(metric, *window), other._functions(metric, *window))
        if isinstance(metric, MMD):
            self.check_compatible(other, "other")
            return metric.between(self.prepared(metric.kernel), other.prepared(metric.kernel))
        return super().distance(metric, other)

    def energy_distances(self, other: Self) -> FloatArray:
        """``2 sum_u (F(u) - F'(u))**2`` with the distribution functions of each and of each other one, (..., r, c)."""
        window = self._common_window(other)
        squares = SquaredEuclidean().tile(self._functions(None, *window), other._functions(None, *window))
        squares *= 2.0
        return squares

    def _common_window(self, other: Self) -> tuple[int, int]:
        (first, stop), (other_first, other_stop) = self._window(), other._window()
        return min(first, other_first), max(stop, other_stop)

    @property
    def window(self) -> tuple[int, int]:
        """First count and the one behind the last, outside of which no prediction has a probability above 2e-18."""
        return self._window()

    def _window(self) -> tuple[int, int]:
        if self._table is not None:
            return self._table.first, self._table.stop
        if self._known_window is None:
            self._known_window = self._found_window()
        return self._known_window

    def width(self, kernel: TargetKernel) -> int:
        """Probabilities and expectations of the counts of the window."""
        first, stop = self._window()
        return 2 * (stop - first)

    def _functions(self, metric: VectorMetric | None, first: int, stop: int) -> FloatArray:
        """Probabilities for the total variation distance, else distribution functions."""
        probabilities = self._probabilities(first, stop)
        if isinstance(metric, TotalVariation):
            return probabilities
        sums = np.cumsum(probabilities, axis=-1)
        # Where nothing is left they are exactly 1, so that no rounding adds up over the tails.
        sums /= sums[..., -1:]
        return sums

    def _probabilities(self, first: int, stop: int) -> FloatArray:
        """The same, from the table if it is there."""
        table = self._table
        if table is not None and (table.first, table.stop) == (first, stop):
            return table.probabilities
        return self._pmf(first, stop)

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

    def outcomes(self, kernel: TargetKernel, targets: Array) -> tuple[FloatArray, FloatArray, Array] | None:
        """The counts that matter as finitely many outcomes, or None if they are too many to look up pairs of them.

        They are those of the window and those that occur outside of it: their probabilities (n, U), the matrix (U, U)
        of the kernel between them, and which of them the targets (B, n) are.
        """
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
        return probabilities, without_tiny(kernel.target_tile(counts, counts)), labels

    def target_tile(self, kernel: TargetKernel, rows: Array, columns: Array) -> FloatArray:
        """``k(y, y')`` for all counts in rows and in columns, (..., r, c)."""
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
        """``E k(Z, y)`` with Z drawn from each prediction (..., r) and y each count (..., c): (..., r, c)."""
        return self._expected_kernel(kernel, targets)

    def expected_kernel2(self, kernel: TargetKernel, other: Self) -> FloatArray:
        """``E k(Z, Z')`` with Z from each prediction (..., r) and Z' from each other one (..., c): (..., r, c)."""
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
        """``E k(Z, Z~)`` with two independent draws from each prediction, (..., n)."""
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
            if isinstance(term, MatrixKernel):
                raise TypeError(
                    f"target_kernel: got {term.describe_for_targets()} for {self.family} predictions, wanted a kernel "
                    "of numbers such as GaussianKernel(bandwidth=2.0): a matrix is for classes only"
                )


def _smallest(counts: Array) -> Array:
    """Counts in the smallest unsigned type that holds them."""
    return counts.astype(np.min_scalar_type(int(counts.max())))


def _outside(counts: Array, first: int, stop: int) -> IntArray:
    """The counts that are not from first to stop - 1."""
    # As signed numbers: numpy 2.0 can crash where small unsigned ones are compared with larger Python integers.
    signed = counts.astype(np.intp)
    return signed[(signed < first) | (signed >= stop)]


def _bisected(is_far: Any, near: FloatArray, far: FloatArray) -> FloatArray:
    """Points that are far, close to where that begins between points that are near and points that are far."""
    for _ in range(12):
        middle = 0.5 * (near + far)
        beyond = is_far(middle)
        near, far = np.where(beyond, near, middle), np.where(beyond, middle, far)
    return far
