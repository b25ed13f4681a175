"""Predicted distributions of counts: every expectation is a sum over a window of counts."""

from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from math import log, pi, prod
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import scipy

from caltest._basics.numerics import Array, ArrayLike, BoolArray, FloatArray, IntArray, check_memory, ranges
from caltest._basics.threads import Stream, threaded
from caltest._loops.formulas.counts import STEP, probabilities_between
from caltest._loops.pair_sums.tiles import PRODUCT, sum_over_coordinates
from caltest._loops.rows import look_up
from caltest._validation import same_length, whole_counts
from caltest.kernels import Euclidean, SquaredEuclidean, TargetKernel
from caltest.predictions.alternatives import Alternatives, CountAlternatives
from caltest.predictions.base import Drawer, Predictions, Uniforms
from caltest.predictions.claims import Checks, Wrong
from caltest.predictions.counts.expectations import CountTable, means_of_counts, means_of_range, without_tiny
from caltest.predictions.numbers.claims import of_numbers, shifted
from caltest.predictions.outcomes import Outcomes, Traces, looked_up, outcome_traces

if TYPE_CHECKING:
    from caltest.predictions.faults import Faults

TAIL = 42.0
"""Minus the logarithm of the probability that is left out on either side of a window: exp(-42) = 6e-19."""

MOST_COUNTS = 2**17
"""The longest window."""

PART = 2**20
"""Probabilities or kernel values that are computed together."""

MANY_LEVELS = 16
"""Levels of each prediction from which on quantiles are looked up."""

ROUNDING = 1e-11
"""Distance of a level to a cumulative probability below which the distribution function itself decides."""

NONE = 1e-9
"""A dispersion that makes no difference."""

WAYS_OUT = "use BlockSKCE, Normal(mean, standard_deviation), or draws: predictions.to_ensemble(n_members, rng)"

LARGEST_TABLE = 2**31
"""Bytes of probabilities and expectations that are kept together."""

MOST_OUTCOMES = 4096
"""Counts up to which the kernel of all pairs of them is kept, 128 MB."""

MOST_IN_PAIRS = 1024
"""The longest window over which sums for every pair of predictions take about as long as what else a test does."""


class CountPredictions(Predictions):
    """Distributions of whole numbers from 0 on, by their parameters.

    A family is its ``family`` name, a constructor that fills ``_parameters``, ``mean``, ``variance``, ``sample``,
    ``cdf``, ``_log_factor``, ``_tail_exponent`` and ``parameter_vectors``; ``_recursion`` makes it faster.

    With the probabilities p(u) of the counts u = 0, 1, ..., as in appendix G of Widmann et al. 2021::

        E k(Z, y)  = sum_u p(u) k(u, y)
        E k(Z, Z') = sum_u sum_v p(u) p'(v) k(u, v)

    for every kernel of numbers. The sums run over one window of counts for all predictions, outside of which each of
    them has a probability below 2e-18, so the error is rounding: below 1e-13 of the bound of the kernel. Targets can
    lie anywhere.
    """

    known_metrics = "Euclidean(), Cityblock(), TotalVariation(), Wasserstein1(), EnergyDistance(), MMD(kernel)"
    has_jumps = True
    inverts_quickly = True
    discrete = True
    largest_shift = 20.0
    _default_metric = Euclidean()
    _table: CountTable | None = None

    def _like(self, *parameters: Any) -> Self:
        new = super()._like(*parameters)
        new._table = None
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
    def cdf(self, targets: Array) -> FloatArray:
        """``P(Z <= y)`` for the target y of each prediction, (..., n)."""

    def log_probabilities(self, counts: FloatArray) -> FloatArray:
        """Logarithms of the probabilities of increasing counts (m,), (..., n, m); -inf for impossible ones.

        Or of a count of each prediction, (n, 1): (n, 1).
        """
        logs = -self._tail_exponent(counts)
        logs += np.where(counts > 0.0, self._log_factor(np.maximum(counts, 1.0)), 0.0)
        return logs

    @abstractmethod
    def _log_factor(self, counts: FloatArray) -> FloatArray:
        """What minus the tail exponent lacks to ``log p(u)``, for counts u >= 1."""

    @abstractmethod
    def _tail_exponent(self, counts: FloatArray) -> FloatArray:
        """Chernoff's bound for counts (m,) or (n, m): ``P(Z >= u) <= exp(-result)``, P(Z <= u) below the mean."""

    def _recursion(self) -> tuple[FloatArray, FloatArray] | None:
        """Slopes and constants of ``p(u + 1) (u + 1) / p(u) = constant + slope u``, (..., n), if it is so."""
        return None

    @abstractmethod
    def parameter_vectors(self) -> FloatArray:
        """What Euclidean and cityblock distances compare, (..., n, d)."""

    def take(self, index: Any) -> Self:
        new = self._like(*(one[index] for one in self._parameters))
        new._table = None if self._table is None else self._table.take(index)
        return new._labelled(self.index, index)

    def _flat(self) -> Self:
        return self._like(*(parameter.ravel() for parameter in self._parameters))

    def with_redraws(self, targets: Array | None, streams: Sequence[Stream]) -> Array:
        """Observed counts (n,), if given, and those drawn by each stream, in the smallest type that holds them."""
        total = sum(size for _, size in streams) * len(self)
        parts = [] if targets is None else [_smallest(targets[None])]
        draws = threaded(
            lambda stream: _smallest(self.sample(*stream)), streams, len(streams), "counts", work=100.0 * total
        )
        return np.concatenate([*parts, *draws])

    def drawer(self) -> Drawer:
        """The first count whose cumulative probability exceeds the number."""

        def draw(uniforms: Uniforms) -> Array:
            u, (first, stop) = uniforms(0), self.window
            counts = np.empty(u.shape, dtype=np.int64)
            for part in ranges(len(self), PART // (stop - first)):
                look_up(self.take(part)._probabilities(first, stop).cumsum(axis=-1), u, counts, part.start)
            counts += first
            return counts

        return draw

    def check_targets(self, targets: ArrayLike, name: str = "targets") -> Array:
        counts = whole_counts(targets, name)
        same_length(len(self), counts.shape[0], name)
        return counts

    def impossible(self, targets: Array) -> BoolArray:
        return np.asarray((self.mean == 0.0) & (targets > 0))

    def moments(self) -> tuple[FloatArray, FloatArray]:
        return self.mean, self.variance

    def claims(self, targets: Array) -> Checks:
        return of_numbers(self, targets)

    def slightly_wrong(self, rng: Any, size: int) -> Wrong | None:
        if not self.moments()[0].any():
            return None
        wrong = shifted(self, rng, size)
        return wrong._replace(targets=wrong.targets.astype(np.int64))

    def _quantile(self, level: FloatArray) -> FloatArray:
        """By cumulative probabilities where many levels share them, else by bisection of the distribution function."""
        shape = np.broadcast_shapes(level.shape, self.shape)
        if len(self.shape) > 1 or prod(shape) < MANY_LEVELS * len(self):
            return self._bisected(level)
        try:
            first, stop = self.window
        except ValueError:
            return self._bisected(level)
        levels = np.broadcast_to(level, shape).reshape(-1, len(self))
        counts, is_sure = np.empty(levels.shape), np.empty(levels.shape, dtype=bool)
        for part in ranges(len(self), PART // (stop - first)):
            for i, sums in enumerate(self.take(part)._probabilities(first, stop).cumsum(axis=-1), part.start):
                places = sums.searchsorted(levels[:, i])
                around = np.concatenate([[0.0], sums, [np.inf]])
                gap = np.minimum(levels[:, i] - around[places], around[places + 1] - levels[:, i])
                counts[:, i], is_sure[:, i] = first + places, gap > ROUNDING
        if not is_sure.all():
            rows, columns = np.nonzero(~is_sure)
            counts[rows, columns] = self.take(columns)._bisected(levels[rows, columns])
        return counts.reshape(shape)

    def _bisected(self, level: FloatArray) -> FloatArray:
        shape = np.broadcast_shapes(level.shape, self.shape)
        low, high = np.full(shape, -1.0), np.broadcast_to(np.ceil(self.mean + np.sqrt(self.variance)), shape).copy()
        while (small := self.cdf(high) < level).any():
            low, high = np.where(small, high, low), np.where(small, 2.0 * high + 1.0, high)
        while (high - low > 1.0).any():
            middle = np.floor(0.5 * (low + high))
            reached = self.cdf(middle) >= level
            low, high = np.where(reached, low, middle), np.where(reached, middle, high)
        return high

    @cached_property
    def window(self) -> tuple[int, int]:
        """First count, and the one behind the last, outside of which every prediction has a probability below 2e-18."""
        if self._table is not None:
            return self._table.first, self._table.stop
        flat = self._flat()
        mean, spread = flat.mean, np.sqrt(flat.variance)

        def is_far(counts: FloatArray) -> BoolArray:
            # No number for a mean of 0, or one next to it, to which no count above 0 is near.
            return np.asarray(~(flat._tail_exponent(counts[:, None])[:, 0] < TAIL))

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
        check_memory(8 * n_all * size, "probabilities of all counts", (n_all, "rows"), WAYS_OUT)
        flat = self._flat()
        start = first // STEP * STEP
        counts = np.arange(start, stop + STEP, STEP, dtype=np.float64)
        out = np.empty((n_all, size))
        for part in ranges(n_all, PART // size):
            some = flat.take(part)
            recursion = some._recursion()
            if recursion is None:
                out[part] = some._exact_pmf(np.arange(first, stop, dtype=np.float64))
            else:
                probabilities_between(some._exact_pmf(counts), *recursion, start, first, out[part])
        return out.reshape(*self.shape, size)

    def log_density(self, targets: Array) -> FloatArray:
        return np.asarray(self.log_probabilities(np.asarray(targets, dtype=np.float64)[:, None])[:, 0])

    def natural(self) -> tuple[FloatArray, FloatArray]:
        """Numbers eta and A (..., n) of probabilities ``h(u) exp(eta u - A)``, where h depends on dispersions only."""
        raise NotImplementedError(f"{type(self).__name__}: got with_mean without natural, wanted both in the class")

    def with_mean(self, mean: FloatArray) -> "CountPredictions | None":
        """Counts with other means (n,) and the same dispersions; None for families of which these are not known."""
        return None

    def with_dispersion(self, dispersion: FloatArray) -> "CountPredictions | None":
        """Counts with the same means and the variances ``mean + dispersion mean**2``; None as above."""
        return None

    def moved(self, shift: FloatArray | float, factor: FloatArray | float) -> "Predictions":
        """The mean times ``exp(shift)``, the dispersion times ``factor**2``, or ``factor**2 - 1`` where there is none.

        No negative binomial counts vary less than Poisson ones: of these, factors below 1 change nothing.
        """
        if (moved := self.with_mean(self.mean * np.exp(shift))) is None:
            return super().moved(shift, factor)
        known, square = moved.dispersion, np.square(factor)
        dispersion = np.maximum(square - 1.0, NONE) + np.zeros(self.shape) if known is None else known * square
        return moved.with_dispersion(dispersion) or moved

    @property
    def dispersion(self) -> FloatArray | None:
        """Dispersions (..., n); None for families that have none."""
        return None

    def faults(self, weights: FloatArray | None = None, among: Self | None = None) -> "Faults":
        from caltest.predictions.faults.counts.faults import CountFaults

        return CountFaults(self, weights, among)

    def _exact_pmf(self, counts: FloatArray) -> FloatArray:
        """Probabilities of counts (m,) by their logarithms, (n, m)."""
        logs = self.log_probabilities(counts)
        with np.errstate(under="ignore"):
            return np.exp(logs, out=logs)

    def _probabilities(self, first: int, stop: int) -> FloatArray:
        """The same, from the table if it is there."""
        table = self._table
        if table is not None and (table.first, table.stop) == (first, stop):
            return table.probabilities
        return self._pmf(first, stop)

    def cumulative_vectors(self) -> FloatArray:
        sums = np.cumsum(self._probabilities(*self.window), axis=-1)
        # Where nothing is left they are exactly 1, so that no rounding adds up over the tails.
        sums /= sums[..., -1:]
        return sums

    def with_common_outcomes(self, other: Self) -> tuple[Self, Self]:
        firsts, stops = zip(self.window, other.window, strict=True)
        one, two = self._like(*self._parameters), other._like(*other._parameters)
        one.window = two.window = min(firsts), max(stops)
        return one, two

    def probability_vectors(self) -> FloatArray:
        return self._probabilities(*self.window)

    def cdf_below(self, targets: Array) -> FloatArray:
        return self.cdf(targets - 1.0)

    def energy_distances(self, other: Self) -> FloatArray:
        """``2 sum_u (F(u) - F'(u))**2`` with the distribution functions of each and of each other one, (..., r, c)."""
        one, two = self.with_common_outcomes(other)
        squares = SquaredEuclidean().tile(one.cumulative_vectors(), two.cumulative_vectors())
        squares *= 2.0
        return squares

    def width(self, kernel: TargetKernel) -> int:
        first, stop = self.window
        return 2 * (stop - first)

    def prepared(self, kernel: TargetKernel) -> Self:
        """With a table of expectations; those too large are left to the parts that are taken of the predictions."""
        self._check_kernel(kernel)
        if self._table is not None and self._table.kernel == kernel:
            return self
        first, stop = self.window
        if 8 * self.width(kernel) * len(self) > LARGEST_TABLE:
            return self
        probabilities = self._probabilities(first, stop)
        means = means_of_range(kernel, probabilities, first, first, stop)
        counts = np.arange(first, stop)
        is_short = counts.size <= min(len(self), MOST_OUTCOMES)
        gram = without_tiny(kernel.target_tile(counts, counts)) if is_short else None
        new = self._like(*self._parameters)
        new._table = CountTable(kernel, first, probabilities, means, gram)
        return new

    def outcomes(self, kernel: TargetKernel, targets: Array) -> Outcomes | None:
        """The counts of the window and those that occur outside of it; None if they are too many to look up pairs."""
        self._check_kernel(kernel)
        first, stop = self.window
        parts = list(ranges(targets.shape[0], PART // len(self)))
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

    def alternatives(self, weights: FloatArray | None = None) -> Alternatives | None:
        return None if self.with_mean(self.mean) is None else CountAlternatives(self, weights)

    def has_formulas(self, kernel: TargetKernel) -> bool:
        first, stop = self.window
        return stop - first <= MOST_IN_PAIRS

    def expected_at_few(self, kernel: TargetKernel, targets: Array) -> FloatArray:
        """Sums over the window for each of the targets, which no table of all counts is worth."""
        return self.expected_kernel(kernel, targets)

    def traces(self, kernel: TargetKernel) -> Traces | None:
        outcomes = self.outcomes(kernel, np.full((1, len(self)), self.window[0]))
        return None if outcomes is None else outcome_traces(outcomes.probabilities, outcomes.gram)

    def has_traces(self, kernel: TargetKernel) -> bool:
        first, stop = self.window
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
        first, stop = self.window
        rows = max(1, 4 * PART // (stop - first))
        if table is None and len(self.shape) == targets.ndim == 1 and len(self) > rows:
            parts = [self.take(part) for part in ranges(len(self), rows)]
            return np.concatenate([part._expected_kernel(kernel, targets) for part in parts])
        counts, places = np.unique(targets, return_inverse=True)
        means = means_of_counts(kernel, self._probabilities(first, stop), first, counts)
        return looked_up(means, places.reshape(targets.shape))

    def _expected_kernel2(self, kernel: TargetKernel, other: Self) -> FloatArray:
        """Means of one side, summed with the probabilities of the other."""
        self._check_kernel(kernel)
        mine, theirs = self.window, other.window
        if other._has_means(kernel, *mine) and not self._has_means(kernel, *theirs):
            one, two = self._probabilities(*mine), other._means_of_range(kernel, *mine)
        else:
            one, two = self._means_of_range(kernel, *theirs), other._probabilities(*theirs)
        return sum_over_coordinates(PRODUCT, one, two)

    def self_kernel(self, kernel: TargetKernel) -> FloatArray:
        self._check_kernel(kernel)
        first, stop = self.window
        means = self._means_of_range(kernel, first, stop)
        return np.asarray(np.einsum("...u,...u->...", means, self._probabilities(first, stop)))

    def _means_of_range(self, kernel: TargetKernel, first: int, stop: int) -> FloatArray:
        """``E k(Z, u)`` for the counts of a window, (..., n, stop - first)."""
        if self._table is not None and self._has_means(kernel, first, stop):
            return self._table.means[..., first - self._table.first : stop - self._table.first]
        mine = self.window
        return means_of_range(kernel, self._probabilities(*mine), mine[0], first, stop)

    def _has_means(self, kernel: TargetKernel, first: int, stop: int) -> bool:
        table = self._table
        return table is not None and table.kernel == kernel and table.first <= first and stop <= table.stop

    def _check_kernel(self, kernel: TargetKernel) -> None:
        for _, term in kernel.weighted_terms:
            if term.of_classes:
                raise TypeError(
                    f"target_kernel: got {term.describe_for_targets()} for {self.family} predictions, wanted a kernel "
                    "of numbers such as GaussianKernel(bandwidth=2.0): a matrix is for classes only"
                )


def _smallest(counts: Array) -> Array:
    """Counts in the smallest unsigned type that holds them."""
    return counts.astype(np.min_scalar_type(int(counts.max())))


def _bisected(is_far: Any, near: FloatArray, far: FloatArray) -> FloatArray:
    """Points that are far, close to where that begins between points that are near and points that are far."""
    for _ in range(12):
        middle = 0.5 * (near + far)
        beyond = is_far(middle)
        near, far = np.where(beyond, near, middle), np.where(beyond, middle, far)
    return far


HALF_LOG_2_PI = 0.5 * log(2.0 * pi)


def stirling_error(x: FloatArray) -> FloatArray:
    """``log Gamma(x + 1) - log(sqrt(2 pi x) (x / e)**x)`` for x > 0, to an absolute error of 1e-14.

    From 16 on by its asymptotic series. The logarithms of large factorials themselves are so large that their last
    digits are those of a relative error of the probabilities, which is why they are not used (Loader 2000).
    """
    x = np.asarray(x, dtype=np.float64)
    large = np.maximum(x, 16.0)
    square = np.square(1.0 / large)
    series = 1.0 / 1260.0 - square * (1.0 / 1680.0 - square * (1.0 / 1188.0 - square * (691.0 / 360360.0)))
    errors: FloatArray = (1.0 / 12.0 - square * (1.0 / 360.0 - square * series)) / large
    few = x < 16.0
    small = x[few]
    errors[few] = scipy.special.gammaln(small + 1.0) - (small + 0.5) * np.log(small) + small - HALF_LOG_2_PI
    return errors


def _outside(counts: Array, first: int, stop: int) -> IntArray:
    """The counts that are not from first to stop - 1."""
    # As signed numbers: numpy 2.0 can crash where small unsigned ones are compared with larger Python integers.
    signed = counts.astype(np.intp)
    return signed[(signed < first) | (signed >= stop)]
