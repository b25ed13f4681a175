"""Errors of predictions in bins: expected, maximal, class-wise, and squared without bias."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from math import inf
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np

from caltest._basics.arrays import read_only
from caltest._basics.numerics import Array, FloatArray, IntArray, Sums, check_memory, ranges
from caltest._loops.statistics import binned
from caltest._validation import at_least, choice, instance_of
from caltest.binning import Binning, QuantileBinning, UniformBinning, a_binning
from caltest.estimators.base import RedrawnEstimator, SummableEstimator
from caltest.kernels import Euclidean, TotalVariation, VectorMetric
from caltest.predictions import Bernoulli, Predictions, Sample
from caltest.predictions.classes.finite import FinitePredictions, as_classes

TARGETS_AT_ONCE = 64
"""Targets counted together, a cache line of one-byte labels an observation; the estimates do not depend on it."""

BYTES = 8
"""Of a count."""

FEWER_BINS = "take wider bins, or top_label(p, y) or pairs of classwise(p, y)"
"""What to do if there are too many."""


def order_of_mean(name: str, order: Any) -> float:
    """An order q of a mean of powers."""
    wanted = "a number of at least 1"
    if isinstance(order, (bool, np.bool_)) or not isinstance(order, (int, float, np.integer, np.floating)):
        raise TypeError(f"{name}: got {order!r}, wanted {wanted}")
    if not order >= 1.0:
        raise ValueError(f"{name}: got {order!r}, wanted {wanted}; math.inf for the largest error of a bin")
    return float(order)


@dataclass(frozen=True)
class ECE(SummableEstimator):
    """Expected calibration error ``(sum_b n_b/n d_b**q)**(1/q)``, where bin b has claims and frequencies d_b apart.

    d_b is the distance of the mean prediction and the class frequencies of the n_b observations in bin b.

    Which ECE it is depends on the predictions. (n, k) probabilities: canonical, over the whole simplex.
    ``top_label(p, y)``: confidence against accuracy. Binary predictions: P(Y = 1) against the frequency of 1, with
    ``|p - y|`` for the total variation distance (the Julia reference has half of it). ``classwise(p, y)``: one class.

    Parameters
    ----------
    binning
        ``UniformBinning``, ``QuantileBinning`` or ``MedianVarianceBinning``.
    metric
        ``TotalVariation()``, ``Euclidean()``, ``SquaredEuclidean()`` or ``Cityblock()``.
    order
        Order q >= 1 of the mean over bins; ``math.inf`` takes the largest d_b of the occupied bins, see ``MCE``.

    Notes
    -----
    Biased: positive for calibrated models too, so read it beside its mean under the null (``MonteCarloTest``).
    Bins weigh n_b/n, and a bin has the mean of its predictions, not its mid-point. The larger q, the larger the error.
    For the top label it is at least ``|mean confidence - accuracy|``, for every binning (Wenger et al. 2020,
    Theorem 1).

    Beside the binning: time O(n k) for one estimate, O(n + k times the occupied bins) for each further one of the same
    predictions; memory O(n + k times the occupied bins), and 64 bytes an observation for many estimates.

    Sources: Widmann et al. 2019, eq. 5 and appendix J.1.1; Guo et al. 2017 for the top label; Wenger et al. 2020, eq.
    9, for the order q, where 1/B is printed in place of the weights.

    Raises
    ------
    TypeError
        For predictions that are not of classes, or settings of another kind.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = [[0.1, 0.9], [0.2, 0.8], [0.85, 0.15]], [1, 0, 0]
    >>> round(ct.ECE(ct.binning.UniformBinning(2))(p, y), 6)
    0.283333
    >>> round(ct.ECE(ct.binning.UniformBinning(2))(*ct.top_label(p, y)), 6)
    0.183333
    """

    citations: ClassVar[tuple[str, ...]] = ("guo2017", "vaicenavicius2019", "widmann2019")
    biased_error = "binned error"

    binning: Binning = field(default_factory=UniformBinning)
    metric: VectorMetric = field(default_factory=TotalVariation)
    order: float = 1.0
    _checks = {
        "order": order_of_mean,
        "binning": a_binning,
        "metric": instance_of(VectorMetric, "a distance of vectors, such as TotalVariation()"),
    }

    def check(self, predictions: Predictions) -> None:
        binned_predictions(predictions).take(slice(1)).embedding(self.metric)
        at_least(len(predictions), 1, type(self).__name__)

    def estimate(self, sample: Sample) -> float:
        bins = self._bins(sample.predictions)
        return self._of_deviations(bins.sums - bins.counts_of(sample.targets), bins.weights, len(sample))

    def check_summable(self) -> None:
        ends_of(self.binning)

    def sums(self, predictions: Predictions, targets: Array) -> "BinSums":
        bins = bins_of(predictions, self.binning)
        b, n_classes = len(bins.sizes), bins.first + bins.sums.shape[1]
        n_bytes = BYTES * b * n_classes * len(targets)
        check_memory(n_bytes, f"counts of {b:,} bins and {n_classes} classes", (len(targets), "redraws"), FEWER_BINS)
        occurred = np.empty((len(targets), b, bins.sums.shape[1]), dtype=np.int64)
        for counts, one in zip(occurred, targets, strict=True):
            counts[:] = bins.counts_of(one)
        first = np.unique(bins.numbers, return_index=True)[1]
        vectors = binned_predictions(predictions).embedding(Euclidean())[first]
        return BinSums(
            len(predictions), np.searchsorted(ends_of(self.binning)[:-1], vectors), bins.sizes, bins.sums, occurred
        )

    def of_sums(self, sums: "BinSums") -> FloatArray:
        weights = self._weights(sums.sizes, sums.claimed.shape[1])
        return np.array([self._of_deviations(sums.claimed - one, weights, sums.n) for one in sums.occurred])

    def _of_deviations(self, deviations: FloatArray, weights: FloatArray, n: int) -> float:
        """The estimate from deviations (b, d) of bins whose distances have weights (b,)."""
        squared, root = self._norm()
        norms = (np.square(deviations) if squared else np.abs(deviations)).sum(axis=1)
        errors = weights * (np.sqrt(norms) if root else norms)
        return float(self._mean(errors.max() if self.order == inf else (errors**self.order).sum(), n))

    def estimates(self, predictions: Predictions, targets: Array) -> FloatArray:
        bins = self._bins(predictions)
        norm = bins.first, *self._norm(), self.order
        errors = partial(binned.errors, bins.sums, bins.weights)
        return np.asarray(self._mean(_totals(errors, norm, bins, predictions, targets), len(predictions)))

    def _mean(self, totals: Any, n: int) -> Any:
        """The estimate from sums of powers of the distances, weighted by the sizes of the bins, or their maximum."""
        if self.order in (1.0, inf):
            return totals if self.order == inf else totals / n
        return (totals / n) ** (1.0 / self.order)

    def _bins(self, predictions: Predictions) -> "Bins":
        bins = bins_of(predictions, self.binning)
        return bins._replace(weights=self._weights(bins.sizes, bins.sums.shape[1]))

    def _weights(self, sizes: IntArray, d: int) -> FloatArray:
        """The deviations of n_b observations are n_b times those of their means, and their squares n_b**2 times."""
        power = 1.0 / self.order - (1.0 if self.metric.is_norm else 2.0)
        # The distance of two binary predictions is that of the numbers p.
        return np.asarray(np.power(sizes.astype(np.float64), power) * (self.metric.scale if d > 1 else 1.0))

    def _norm(self) -> tuple[bool, bool]:
        return self.metric.has_squares, self.metric.root

    def describe(self, predictions: Predictions) -> str:
        name = "MCE" if self.order == inf else "ECE" if self.order == 1.0 else f"ECE of order {self.order:g}"
        settings = f"{self.binning.describe()}, {self.metric.label} distance"
        return f"{name} ({binned_predictions(predictions).notion}), {settings}"


@dataclass(frozen=True, eq=False)
class BinSums(Sums):
    """Bins of n observations: places (b, d) in each coordinate, sizes (b,), sums of claims (b, d), counts (B, b, d)."""

    n: int
    places: IntArray
    sizes: IntArray
    claimed: FloatArray
    occurred: IntArray

    def __add__(self, other: Self) -> Self:
        places, numbers = np.unique(np.concatenate([self.places, other.places]), axis=0, return_inverse=True)
        own, others = np.split(numbers.reshape(-1), [len(self.places)])

        def added(one: Array, more: Array, axis: int) -> Array:
            total = np.zeros((*one.shape[:axis], len(places), *one.shape[axis + 1 :]), dtype=one.dtype)
            for values, at in ((one, own), (more, others)):
                total[(slice(None),) * axis + (at,)] += values
            return total

        n_bytes = BYTES * len(places) * self.occurred.size // len(self.places)
        what = f"counts of {len(places):,} bins and {places.shape[1]} classes"
        check_memory(n_bytes, what, (len(self.occurred), "redraws"), FEWER_BINS)
        return type(self)(
            self.n + other.n,
            places,
            added(self.sizes, other.sizes, 0),
            added(self.claimed, other.claimed, 0),
            added(self.occurred, other.occurred, 1),
        )


@dataclass(frozen=True)
class MCE(ECE):
    """Maximum calibration error: the largest distance of mean prediction and class frequencies of an occupied bin.

    Parameters
    ----------
    binning, metric
        As for ``ECE``.

    Notes
    -----
    Bins of few observations decide it, so it is large for calibrated models: read it beside its mean under the null
    (``MonteCarloTest``), and prefer ``QuantileBinning``.

    Source: Naeini, Cooper and Hauskrecht 2015.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = [[0.1, 0.9], [0.2, 0.8], [0.85, 0.15]], [1, 0, 0]
    >>> round(ct.MCE(ct.binning.UniformBinning(2))(*ct.top_label(p, y)), 6)
    0.183333
    """

    citations: ClassVar[tuple[str, ...]] = ("naeini2015",)

    order: float = field(default=inf, init=False, repr=False)


Aggregate = Literal["mean", "sum"]


@dataclass(frozen=True)
class ClasswiseECE(RedrawnEstimator, SummableEstimator):
    """Mean or sum over the classes c of the ``ECE`` of the probabilities p_c against the indicators of class c.

    Parameters
    ----------
    binning
        Of the probabilities of each class by themselves.
    order
        Order q >= 1 of the mean over bins, as for ``ECE``.
    aggregate
        ``"mean"`` over the k classes or their ``"sum"``: both are called class-wise ECE in the literature.

    Raises
    ------
    ValueError
        For an order below 1, or another aggregate.
    TypeError
        For predictions that are not of classes, or settings of another kind.

    Notes
    -----
    ``[ECE()(*pair) for pair in classwise(p, y)]`` are the errors of the single classes. Time that of k estimates of
    ``ECE`` with two classes. ``ece_interval`` gives an interval, ``noise_floor`` the mean under calibration.

    Sources: Kull et al. 2019 for the mean; Gruber and Bach 2024 for the sum, of squares.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["naive Bayes"]
    >>> round(ct.ClasswiseECE()(p, y), 6), round(ct.ClasswiseECE(aggregate="sum")(p, y), 5)
    (0.03351, 0.3351)
    """

    citations = ("kull2019",)

    binning: Binning = field(default_factory=UniformBinning)
    order: float = 1.0
    aggregate: Aggregate = "mean"
    _checks = {"order": order_of_mean, "binning": a_binning, "aggregate": choice(Aggregate)}

    def check(self, predictions: Predictions) -> None:
        binned_predictions(predictions)
        at_least(len(predictions), 1, "ClasswiseECE")

    def estimates(self, predictions: Predictions, targets: Array) -> FloatArray:
        p = binned_predictions(predictions).probabilities
        return self.in_bins(p, targets, [self.binning] * p.shape[1])

    def in_bins(self, p: FloatArray, targets: Array, binnings: Sequence[Binning]) -> FloatArray:
        """Estimates (B,) of probabilities (n, k) for many targets (B, n), with a binning for each class."""
        estimators = [ECE(binning, order=self.order) for binning in binnings]
        return self._of_classes([one.estimates(Bernoulli(p[:, c]), targets == c) for c, one in enumerate(estimators)])

    def check_summable(self) -> None:
        ends_of(self.binning)

    def sums(self, predictions: Predictions, targets: Array) -> "SumsOfClasses":
        p, error = binned_predictions(predictions).probabilities, ECE(self.binning)
        return SumsOfClasses(tuple(error.sums(Bernoulli(p[:, c]), targets == c) for c in range(p.shape[1])))

    def of_sums(self, sums: "SumsOfClasses") -> FloatArray:
        return self._of_classes([ECE(self.binning, order=self.order).of_sums(one) for one in sums.classes])

    def _of_classes(self, errors: list[FloatArray]) -> FloatArray:
        return np.asarray(np.mean(errors, axis=0) if self.aggregate == "mean" else np.sum(errors, axis=0))

    def describe(self, predictions: Predictions) -> str:
        of = "" if self.order == 1.0 else f" of order {self.order:g}"
        return f"class-wise ECE{of} ({self.aggregate} over classes), {self.binning.describe()}"


@dataclass(frozen=True, eq=False)
class SumsOfClasses(Sums):
    """Those of each class against the rest."""

    classes: tuple[BinSums, ...]

    def __add__(self, other: Self) -> Self:
        return type(self)(tuple(one + more for one, more in zip(self.classes, other.classes, strict=True)))


@dataclass(frozen=True)
class DebiasedSquaredECE(RedrawnEstimator):
    """``sum_b n_b/n (|c_b - f_b|**2 - sum_c f_bc (1 - f_bc) / (n_b - 1))``: the squared binned error, debiased.

    c_b is the mean prediction and f_b the class frequencies in bin b. The second term is an unbiased estimate of what
    chance adds to the first one, so that the mean is that of the squared errors of the bins: 0 for calibrated
    predictions, up to how they vary within a bin. It can be negative.

    Which error it is depends on the predictions, as for ``ECE``: ``top_label(p, y)``, ``classwise(p, y)``, binary
    predictions (one coordinate, P(Y = 1)), or the whole simplex (all coordinates).

    Parameters
    ----------
    binning
        Default: ``QuantileBinning(15)``.

    Raises
    ------
    TypeError
        For predictions that are not of classes, or settings of another kind.

    Notes
    -----
    Bins of one observation add nothing. Time O(n k) for one estimate and O(n + k times the occupied bins) for each
    further one of the same predictions.

    Source: Kumar, Liang and Ma 2019, definition 5.1, for one coordinate.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["naive Bayes"]
    >>> squared = ct.estimators.DebiasedSquaredECE()(*ct.top_label(p, y))
    >>> round(squared, 6), round(ct.ECE(ct.binning.QuantileBinning(15), order=2)(*ct.top_label(p, y)) ** 2, 6)
    (0.038104, 0.039007)
    """

    citations = ("kumar2019",)

    binning: Binning = field(default_factory=QuantileBinning)
    _checks = {"binning": a_binning}

    def check(self, predictions: Predictions) -> None:
        binned_predictions(predictions)
        at_least(len(predictions), 2, "DebiasedSquaredECE")

    def estimates(self, predictions: Predictions, targets: Array) -> FloatArray:
        bins = bins_of(predictions, self.binning)
        errors = partial(binned.debiased_errors, bins.sums)
        return _totals(errors, bins.first, bins, predictions, targets) / len(predictions)

    def describe(self, predictions: Predictions) -> str:
        return f"debiased squared ECE ({binned_predictions(predictions).notion}), {self.binning.describe()}"


class Bins(NamedTuple):
    """Bins of n predictions: the number of that of each, and sizes, sums of vectors and weights of the norms.

    The vectors of binary predictions are the numbers P(Y = 1): they leave out the ``first`` class, 0.
    """

    numbers: IntArray
    sizes: IntArray
    sums: FloatArray
    weights: FloatArray
    first: int

    def counts_of(self, targets: Array) -> IntArray:
        """How often each class occurs in each bin, (b, d)."""
        n_classes = self.first + self.sums.shape[1]
        counts = np.bincount(self.numbers * n_classes + targets, minlength=len(self.sizes) * n_classes)
        return counts.reshape(-1, n_classes)[:, self.first :]


def bins_of(predictions: Predictions, binning: Binning) -> Bins:
    """The bins of predictions, all with the weight 1."""
    classes = binned_predictions(predictions)
    vectors = classes.embedding(Euclidean())
    numbers = binning.assign(vectors)
    sizes = np.bincount(numbers)
    sums = binned.sums_of_bins(read_only(vectors, np.float64), numbers, sizes.size)
    return Bins(numbers, sizes, sums, np.ones(sizes.size), classes.n_classes - vectors.shape[1])


def ends_of(binning: Binning) -> FloatArray:
    """The largest numbers of its bins; ``TypeError`` if they depend on the predictions."""
    if binning.ends is None:
        raise TypeError(
            f"binning: got {binning!r}, whose bins depend on all predictions, wanted UniformBinning(n_bins) "
            "or EdgeBinning(edges) for data that come in chunks"
        )
    return binning.ends


def _totals(errors: Any, last: Any, bins: Bins, predictions: Predictions, targets: Array) -> FloatArray:
    """Sums over the bins (B,) for targets (B, n) by a loop, whose last argument is given."""
    order, bounds = np.argsort(bins.numbers, kind="stable"), np.concatenate([[0], np.cumsum(bins.sizes)])
    kind, totals = binned_predictions(predictions).label_type, np.empty(targets.shape[0])
    for rows in ranges(targets.shape[0], TARGETS_AT_ONCE):
        totals[rows] = errors(bounds, order, np.ascontiguousarray(targets[rows].T, dtype=kind), last)
    return totals


def binned_predictions(predictions: Predictions) -> FinitePredictions:
    """The predictions, if they are of classes; ``TypeError`` otherwise."""
    return as_classes(predictions, "Categorical or Bernoulli ones for binned errors")


def farthest(sizes: FloatArray, claims: FloatArray) -> float:
    """The error of claims (b, d) if only the class that is farthest from them occurs in each bin."""
    if claims.shape[1] == 1:
        farthest = np.square(np.maximum(claims, 1.0 - claims)).max(axis=1)
    else:
        farthest = np.square(claims).sum(axis=1) + 1.0 - 2.0 * claims.min(axis=1)
    return float(sizes @ farthest / sizes.sum())
