"""Distributions of counts: their probabilities, and the window of counts outside of which there are none."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log, pi, prod
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from caltest._basics.jobs import Stream
from caltest._basics.numerics import check_memory, ranges
from caltest._basics.threads import threaded
from caltest._basics.types import Array, ArrayLike, BoolArray, FloatArray
from caltest._loops.formulas.recursion import STEP, probabilities_between
from caltest._validation import same_length, whole_counts
from caltest.kernels import TargetKernel
from caltest.predictions.base import Predictions, require_family

if TYPE_CHECKING:
    from caltest.predictions.faults import Faults

TAIL = 42.0
"""Minus the logarithm of the probability that is left out on either side of a window: exp(-42) = 6e-19."""

MOST_COUNTS = 2**17
"""The longest window."""

PART = 2**20
"""Probabilities or kernel values that are computed together."""

WAYS_OUT = "use BlockSKCE, Normal(mean, standard_deviation), or draws: predictions.to_ensemble(n_members, rng)"


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


class CountLaw(Predictions):
    """Distributions of whole numbers from 0 on, by their parameters.

    A family is its ``family`` name, a constructor that fills ``_parameters``, ``mean``, ``variance``, ``sample``,
    ``cdf``, ``log_probabilities``, ``_tail_exponent`` and ``parameter_vectors``; ``_recursion`` makes it faster.

    All sums run over one window of counts for all predictions, outside of which each has a probability below 2e-18.
    """

    known_metrics = "Euclidean(), Cityblock(), TotalVariation(), Wasserstein1(), EnergyDistance(), MMD(kernel)"
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
    def cdf(self, targets: Array) -> FloatArray:
        """``P(Z <= y)`` for the target y of each prediction, (..., n)."""

    @abstractmethod
    def log_probabilities(self, counts: FloatArray) -> FloatArray:
        """Logarithms of the probabilities of increasing counts (m,), (..., n, m); -inf for impossible ones."""

    @abstractmethod
    def _tail_exponent(self, counts: FloatArray) -> FloatArray:
        """A bound like Chernoff's: ``P(Z >= u) <= exp(-result)`` above the mean, and P(Z <= u) below it.

        For counts u (..., n, m) or (m,): (..., n, m).
        """

    def _recursion(self) -> tuple[FloatArray, FloatArray] | None:
        """Slopes and constants of ``p(u + 1) (u + 1) / p(u) = constant + slope u``, (..., n), if it is so."""
        return None

    @abstractmethod
    def parameter_vectors(self) -> FloatArray:
        """What Euclidean and cityblock distances compare, (..., n, d)."""

    @property
    def shape(self) -> tuple[int, ...]:
        return self._parameters[0].shape

    def take(self, index: Any) -> Self:
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
        require_family(other, type(self), name)

    def followed_by(self, other: Self) -> Self:
        self.check_compatible(other, "predictions")
        pairs = zip(self._parameters, other._parameters, strict=True)
        return self._with(tuple(np.concatenate(pair) for pair in pairs))

    def moments(self) -> tuple[FloatArray, FloatArray]:
        return self.mean, self.variance

    def describe(self, n: int | None = None) -> str:
        return f"{self.family}, n = {len(self) if n is None else n}"

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

    def _found_window(self) -> tuple[int, int]:
        """First count, and the one behind the last, outside of which every prediction has a probability below 2e-18.

        ``ValueError`` if they are too many to sum over.
        """
        mean, spread = self.mean.ravel(), np.sqrt(self.variance.ravel())
        flat = self._with(tuple(parameter.ravel() for parameter in self._parameters))

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
        check_memory(8 * n_all * size, "probabilities of all counts", WAYS_OUT)
        flat = self._with(tuple(parameter.ravel() for parameter in self._parameters))
        start = first // STEP * STEP
        counts = np.arange(start, stop + STEP, STEP, dtype=np.float64)
        out = np.empty((n_all, size))
        for part in ranges(n_all, max(1, PART // size)):
            some = flat.take(part)
            recursion = some._recursion()
            if recursion is None:
                out[part] = some._exact_pmf(np.arange(first, stop, dtype=np.float64))
            else:
                probabilities_between(some._exact_pmf(counts), *recursion, start, first, out[part])
        return out.reshape(*self.shape, size)

    def log_density(self, targets: Array) -> FloatArray:
        order = np.argsort(targets, kind="stable")
        counts, starts = np.unique(targets[order], return_index=True)
        logs = np.empty(len(self))
        for count, rows in zip(counts, np.split(order, starts[1:]), strict=True):
            logs[rows] = self.take(rows).log_probabilities(np.array([count], dtype=np.float64))[:, 0]
        return logs

    def with_mean(self, mean: FloatArray) -> "CountLaw | None":
        """Counts with other means (n,) and the same dispersions; None for families of which these are not known."""
        return None

    def with_dispersion(self, dispersion: FloatArray) -> "CountLaw | None":
        """Counts with the same means and the variances ``mean + dispersion mean**2``; None as above."""
        return None

    @property
    def dispersion(self) -> FloatArray | None:
        """Dispersions (..., n); None for families that have none."""
        return None

    def faults(self, weights: FloatArray | None = None) -> "Faults":
        from caltest.predictions.faults.counts import CountFaults

        return CountFaults(self, weights)

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
        sums = np.cumsum(self._probabilities(*self._window()), axis=-1)
        # Where nothing is left they are exactly 1, so that no rounding adds up over the tails.
        sums /= sums[..., -1:]
        return sums

    def with_common_outcomes(self, other: Self) -> tuple[Self, Self]:
        """Both with the window that covers those of both."""
        windows = self._window(), other._window()
        window = min(first for first, _ in windows), max(stop for _, stop in windows)
        one, two = (law if law._window() == window else law._at(window) for law in (self, other))
        return one, two

    def _at(self, window: tuple[int, int]) -> Self:
        """The same predictions with another window."""
        new = self._with(self._parameters)
        new._known_window = window
        return new

    def probability_vectors(self) -> FloatArray:
        return self._probabilities(*self._window())


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


def logs_from_tail(exponents: FloatArray, counts: FloatArray, log_factor: Callable[..., FloatArray]) -> FloatArray:
    """``log p(u)`` as minus the exponents of Chernoff's bound plus, for u >= 1, a factor.

    For increasing counts (m,), or one of each prediction, (n, 1).
    """
    logs = -exponents
    if counts.ndim > 1:
        logs += np.where(counts > 0.0, log_factor(np.maximum(counts, 1.0)), 0.0)
        return logs
    positive = slice(1 if counts[0] == 0.0 else 0, None)
    logs[..., positive] += log_factor(counts[positive])
    return logs


HALF_LOG_2_PI = 0.5 * log(2.0 * pi)


def stirling_error(x: FloatArray) -> FloatArray:
    """``log Gamma(x + 1) - log(sqrt(2 pi x) (x / e)**x)`` for x > 0, to an absolute error of 1e-14.

    From 16 on by its asymptotic series. The logarithms of large factorials themselves are so large that their last
    digits are those of a relative error of the probabilities, which is why they are not used (Loader 2000).
    """
    from scipy.special import gammaln

    x = np.asarray(x, dtype=np.float64)
    large = np.maximum(x, 16.0)
    square = np.square(1.0 / large)
    series = 1.0 / 1260.0 - square * (1.0 / 1680.0 - square * (1.0 / 1188.0 - square * (691.0 / 360360.0)))
    errors: FloatArray = (1.0 / 12.0 - square * (1.0 / 360.0 - square * series)) / large
    few = x < 16.0
    small = x[few]
    errors[few] = gammaln(small + 1.0) - (small + 0.5) * np.log(small) + small - HALF_LOG_2_PI
    return errors
