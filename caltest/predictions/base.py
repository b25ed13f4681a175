"""What a family of predictive distributions has to know."""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import numpy as np
import scipy

from caltest._basics.calls import OwnErrstate
from caltest._basics.chunks import ChunkedPredictions, have_chunks
from caltest._basics.numerics import Array, ArrayLike, BoolArray, FloatArray, IntArray, evenly_spaced
from caltest._basics.threads import Stream, threaded
from caltest._results.report import once
from caltest._validation import levels
from caltest.kernels import ExponentialKernel, GaussianKernel, Metric, ProductKernel, TargetKernel, Wasserstein
from caltest.predictions.bandwidth import MEDIAN_OF, ZeroBandwidth, median_distance, median_positive_distance
from caltest.predictions.claims import FAR_OFF, Checks, Claim, Wrong, of_half
from caltest.predictions.inputs.labelled import Labelled, indices_of
from caltest.predictions.numbers.claims import of_numbers, of_outliers, shifted
from caltest.predictions.outcomes import Outcomes, Traces
from caltest.predictions.reductions.standard_scores import FARTHEST, SMALLEST, UPPER, in_units, mean_square
from caltest.predictions.repairable import Repairable

if TYPE_CHECKING:
    from caltest.predictions.alternatives import Alternatives, Odds
    from caltest.predictions.classes.finite import FinitePredictions
    from caltest.predictions.faults import Faults
    from caltest.predictions.levels import Levels

F = TypeVar("F", bound="Predictions")

DRAW = 10.0
"""Nanoseconds that a redrawn target takes, at least."""


Uniforms = Callable[[int], FloatArray]
"""The first, second, ... set of independent uniform numbers in (0, 1), (B, n)."""

Drawer = Callable[[Uniforms], Array]
"""Targets (B, n) or (B, n, d) as functions of such numbers, those of a prediction of its own numbers only."""


class Unbounded(TypeError):
    """Kernel errors of these predictions can be arbitrarily large."""


class ClosedFormMissing(TypeError):
    """No formula is known for the expectation of a target kernel under a family of predictions."""


class Parameter(property):
    """One of the arrays of ``_parameters``, read-only: ``scale = Parameter(1, "Scales (..., n).")``."""

    def __init__(self, place: int, doc: str) -> None:
        super().__init__(lambda predictions: predictions._parameters[place], doc=doc)

    if TYPE_CHECKING:

        def __get__(self, instance: Any, owner: type | None = None) -> FloatArray: ...  # type: ignore[override]


class Predictions(Labelled, Repairable, OwnErrstate, ABC):
    """n predicted distributions of one family, stored as a structure of arrays.

    Arrays have the shape (..., n), or more dimensions behind these: leading dimensions make a stack of samples, so one
    formula serves strips of the full matrix of pairs, all blocks at once, test locations and single pairs. Public
    constructors check their data and make stacks of depth one; ``take`` makes the others.
    """

    family: ClassVar[str]
    _parameters: tuple[Any, ...]
    """The arrays, and predictions that these are made of."""
    _row_dimensions: int = 0
    """Those of a row of the first array."""
    notes: tuple[str, ...] = ()
    redraws: ClassVar[str] = "targets redrawn from the predictions"
    """What the redraws of a test are, in words."""
    known_metrics: ClassVar[str] = "MMD(kernel)"
    """The metrics of the family, in words."""
    inverts_quickly: ClassVar[bool] = False
    """Whether a ``drawer`` takes about as long as ``sample``."""
    has_jumps: ClassVar[bool] = False
    """Whether single targets have positive probabilities, although the targets are numbers."""
    discrete: ClassVar[bool] = False
    """Whether targets are classes or counts, of which finitely many matter."""
    has_scale: ClassVar[bool] = True
    """Whether predictions say where targets that are numbers lie, in their unit."""
    longest: float = float("inf")
    """Time up to which the distribution of a time is known."""
    depends: str = ""
    """How targets depend on each other given the predictions, in words, if they do, so that no p-value is exact."""
    centred_directly: ClassVar[bool] = False
    """Whether ``centred_kernel`` has a formula of its own, and expectations of kernels have none."""

    def __new__(cls, *arguments: Any, **named: Any) -> Any:
        """Predictions; of dask arrays what tests make predictions of, chunk by chunk."""
        if have_chunks((*arguments, *named.values())):
            return ChunkedPredictions(cls, arguments, named)
        new = super().__new__(cls)
        new._indices = indices_of(cls, arguments, named)
        return new

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape (..., n) of the stack."""
        shape: tuple[int, ...] = self._parameters[0].shape
        return shape[: len(shape) - self._row_dimensions]

    def _like(self, *parameters: Any) -> Self:
        """The same predictions with other parameters, and nothing that was computed from these."""
        kind = type(self)
        new = object.__new__(kind)
        kept = (one for one in vars(self).items() if not isinstance(getattr(kind, one[0], None), cached_property))
        vars(new).update(kept, _parameters=parameters, _indices=())
        return new

    def __len__(self) -> int:
        return self.shape[-1]

    @property
    def finite(self) -> "FinitePredictions | None":
        """The predictions as probabilities of finitely many outcomes, if they are that."""
        return None

    @property
    def of_classes(self) -> "FinitePredictions | None":
        """The same, unless the outcomes are intervals between quantiles."""
        return self.finite if self.levels is None else None

    @property
    def law(self) -> "Predictions":
        """The distributions that the targets have if the predictions are right: themselves, but for residuals."""
        return self

    @property
    def assumption(self) -> str:
        """What tests assume of such predictions, but not of others, that data do not show."""
        return ""

    @property
    def weight(self) -> float:
        """Factor of kernels of such predictions, for each of the two that are compared."""
        return 1.0

    def pooled(self, targets: ArrayLike) -> "Predictions":
        """The predictions as tests of these targets take them: themselves, or ensembles together with the targets."""
        return self

    def without(self, targets: Array) -> "Predictions":
        """What ``pooled`` was given."""
        return self

    @property
    def nearest_normal(self) -> "Predictions | None":
        """Normal laws that stand for predictions which do not say where targets lie; None for others."""
        return None

    @property
    def source(self) -> "Predictions | None":
        """The predictions from which ``to_ensemble`` drew these."""
        return None

    @property
    def levels(self) -> FloatArray | None:
        """Levels (K,) at which quantiles are all that is known; None for predictions of whole distributions."""
        return None

    def to_array(self) -> FloatArray:
        """Probabilities of class 1 (n,), or of all classes (n, k), of which ``as_predictions`` makes these."""
        raise TypeError(
            f"predictions: got {self.family} predictions, wanted Categorical or Bernoulli ones or an array of "
            "probabilities"
        )

    def with_probabilities(self, probabilities: FloatArray) -> "Predictions":
        """Predictions of the same kind, with the same names of classes and other probabilities, (n,) or (n, k)."""
        raise TypeError(f"predictions: got {self.family} predictions, wanted probabilities of classes")

    @property
    def redrawable(self) -> "Predictions":
        """The predictions as tests take them where targets are only redrawn: themselves, or members as pools."""
        return self

    def held_out(self, rng: Any = None) -> "Predictions":
        """Predictions from which targets can be drawn: themselves, or ensembles without a member, the target."""
        return self

    @property
    def hypothesis(self) -> str:
        """What calibration means for these predictions."""
        return "P(Y | P_X) = P_X"

    def __repr__(self) -> str:
        return f"<{self.describe()}>"

    def with_classes(self, classes: Sequence[Any]) -> "Predictions":
        """The same predictions with names of their classes; ``TypeError`` for other outcomes than classes."""
        raise TypeError(f"classes: got {classes!r} for {self.family} predictions, which are not of classes")

    def take(self, index: Any) -> Self:
        """The predictions at an index of the last dimension: a slice or an integer array of any shape."""
        parts = (one[index] if isinstance(one, np.ndarray) else one.take(index) for one in self._parameters)
        return self._like(*parts)._labelled(self.index, index)

    def of_event(self) -> "Predictions":
        """Probabilities of two outcomes as those of outcome 1, called the event where it has no name; others as is."""
        return self

    @abstractmethod
    def sample(self, rng: Any = None, size: int | None = None) -> Array:
        """Targets drawn from the predictions, as they are observed: (n,), or (size, n) for ``size`` redraws."""

    def redraw(self, rng: Any = None, size: int | None = None) -> Array:
        """The same as ``check_targets`` returns them: numbers of classes instead of their names, say."""
        return self.sample(rng, size)

    def width(self, kernel: TargetKernel) -> int:
        """About how many numbers each prediction takes in sums over pairs, which says how many are taken at once."""
        return 8

    def drawer(self) -> Drawer:
        """What redraws targets from uniform numbers, as data in chunks need it; by default by quantiles.

        ``TypeError`` for families that do not know it, ``ValueError`` for predictions without spread.
        """
        self.check_continuous()
        return lambda uniforms: self._quantile(uniforms(0))

    @property
    def can_be_drawn(self) -> bool:
        """Whether targets can be drawn from the predictions alone."""
        return True

    def with_redraws(self, targets: Array | None, streams: Sequence[Stream]) -> Array:
        """Observed targets (n,), if given, and those drawn by each of the streams: (B + 1, n) or (B, n)."""
        n, at = len(self), 0 if targets is None else 1
        ends = at + np.cumsum([0, *(size for _, size in streams)])

        def redrawn(stream: Stream) -> Array:
            draws, size = self.redraw(*stream), stream[1]
            if draws.shape[:2] != (size, n):
                wanted = f"({size}, {n}) for {size} redraws of {n} predictions"
                raise ValueError(f"{type(self).__name__}.sample: got the shape {draws.shape}, wanted {wanted}")
            return draws

        first = redrawn(streams[0])
        kind = first.dtype if targets is None else np.result_type(first, targets)
        out = np.empty((ends[-1], *first.shape[1:]), dtype=kind)
        if targets is not None:
            out[0] = targets
        out[at : ends[1]] = first

        def fill(place: int) -> None:
            out[ends[place] : ends[place + 1]] = redrawn(streams[place])

        for _ in threaded(fill, range(1, len(streams)), len(streams) - 1, "redraws", work=DRAW * n * int(ends[-1])):
            pass
        return out

    @abstractmethod
    def check_targets(self, targets: ArrayLike, name: str = "targets") -> Array:
        """Observed targets as an (n,) array; ``ValueError`` if they are not possible outcomes of the family."""

    def as_read(self, targets: ArrayLike, checked: Array) -> Array:
        """Targets in the form in which one can ask about them: as they are checked, if that keeps all they say."""
        return checked

    def impossible(self, targets: Array) -> BoolArray:
        """Which of the targets (n,) are outcomes that the predictions exclude."""
        return np.zeros(len(self), dtype=np.bool_)

    def hits(self, targets: Array) -> BoolArray | None:
        """Where the most probable outcome occurred, (..., n); None if outcomes have no probabilities."""
        return None

    def outcome_in_words(self, outcome: Any) -> str:
        """What a report calls an outcome: a number, or the first coordinates of a vector."""
        numbers = ", ".join(f"{number:.6g}" for number in np.atleast_1d(outcome)[:5])
        return numbers if np.ndim(outcome) == 0 else f"({numbers}{', ...' if len(outcome) > 5 else ''})"

    def check_compatible(self, other: "Predictions", name: str) -> None:
        """Raise unless kernels can compare these predictions with others."""
        require_family(other, type(self), name)

    def embedding(self, metric: Metric) -> FloatArray:
        """Vectors (..., n, d) whose distances are the metric; ``TypeError`` if the family does not have it."""
        return metric.vectors_of(self)

    def parameter_vectors(self) -> FloatArray | None:
        """What the Euclidean and the cityblock distance compare, (..., n, d): parameters, or probabilities."""
        return None

    def probability_vectors(self) -> FloatArray | None:
        """Probabilities of outcomes for the total variation distance, (..., n, d)."""
        return None

    def cumulative_vectors(self) -> FloatArray | None:
        """Vectors (..., n, d) whose cityblock distance is the 1-Wasserstein distance."""
        return None

    def with_common_outcomes(self, other: Self) -> tuple[Self, Self]:
        """These predictions and others, whose probabilities are those of the same outcomes."""
        return self, other

    def transport_vectors(self) -> FloatArray | None:
        """Vectors (..., n, d) whose Euclidean distance is the 2-Wasserstein distance."""
        return None

    def transport_distances(self, other: Self) -> FloatArray | None:
        """2-Wasserstein distances (..., r, c) to others where they are not those of ``transport_vectors``."""
        return None

    def resolve_metric(self, metric: Metric) -> Metric:
        """The metric with every setting that depends on the predictions replaced by its value."""
        return metric.resolve(self)

    def warn_of_transport(self) -> None:
        """Warn if functions of 2-Wasserstein distances of these predictions need not be positive definite."""

    def moments(self) -> tuple[FloatArray, FloatArray]:
        """Means (..., n), or (..., n, d) for vectors, and variances, summed over the dimensions, (..., n)."""
        raise TypeError(f"predictions: got {self.family} predictions, whose means and variances are not known here")

    def target_scale(self) -> float:
        """Median standard deviation of the predicted distributions; of vectors the root of the sum of variances."""
        return median_standard_deviation(np.sqrt(self.moments()[1]))

    @property
    def _default_metric(self) -> Metric:
        """The distance d of ``default_kernel``."""
        return Wasserstein()

    _default_target_kernel: ClassVar[TargetKernel] = GaussianKernel()
    """The kernel k of targets of ``default_kernel``."""

    def default_kernel(self) -> ProductKernel:
        """``exp(-d / median) x k``, the kernel used when none is named."""
        return ProductKernel(ExponentialKernel(self._default_metric, "median"), self._default_target_kernel)

    def describe(self, n: int | None = None) -> str:
        """Family and dimensions in a few words, for n such predictions if there are more than these."""
        return f"{self.family}, n = {len(self) if n is None else n}"

    def coordinate(self, t: int) -> "Predictions | None":
        """The laws (n,) of a coordinate of vectors; None where these are not known."""
        return None

    def followed_by(self, other: Self) -> Self:
        """These predictions and others of the same kind, in this order."""
        self.check_compatible(other, "predictions")
        pairs = zip(self._parameters, other._parameters, strict=True)
        joined = self._like(
            *(np.concatenate([a, b]) if isinstance(a, np.ndarray) else a.followed_by(b) for a, b in pairs)
        )
        joined.notes = once(*self.notes, *other.notes)
        return joined

    def prepared(self, kernel: TargetKernel) -> Self:
        """The same predictions with what the expectations of a kernel can share; ``take`` keeps it."""
        return self

    def target_tile(self, kernel: TargetKernel, rows: Array, columns: Array) -> FloatArray:
        """``k(y, y')`` for all targets in rows and in columns, (..., r, c)."""
        return kernel.target_tile(rows, columns)

    def has_formulas(self, kernel: TargetKernel) -> bool:
        """Whether expectations of a kernel take about as long as the kernel itself, for every pair of predictions."""
        return True

    def expected_kernel(self, kernel: TargetKernel, targets: Array) -> FloatArray:
        """``E k(Z, y)`` with Z drawn from each prediction (..., r) and y each target (..., c): (..., r, c).

        ``ClosedFormMissing`` if the family has no way to compute it.
        """
        return weighted_sum(kernel, lambda term: self._expected_kernel(term, targets))

    def expected_at_few(self, kernel: TargetKernel, targets: Array) -> FloatArray:
        """``expected_kernel`` at targets (c,) or (c, d) that are the same for all predictions, and asked for once."""
        return self.prepared(kernel).expected_kernel(kernel, targets)

    def expected_kernel2(self, kernel: TargetKernel, other: Self) -> FloatArray:
        """``E k(Z, Z')`` with Z from each prediction (..., r) and Z' from each other one (..., c), likewise."""
        return weighted_sum(kernel, lambda term: self._expected_kernel2(term, other))

    @abstractmethod
    def _expected_kernel(self, kernel: TargetKernel, targets: Array) -> FloatArray:
        """``expected_kernel`` for a kernel that is no sum."""

    @abstractmethod
    def _expected_kernel2(self, kernel: TargetKernel, other: Self) -> FloatArray:
        """``expected_kernel2`` for a kernel that is no sum."""

    def outcomes(self, kernel: TargetKernel, targets: Array) -> Outcomes | None:
        """Targets (B, n) as labels of the outcomes that matter; None if these are not finitely many, or too many."""
        return None

    def traces(self, kernel: TargetKernel) -> Traces | None:
        """``tr(C_i C_j)`` of the covariance operators of pairs of predictions, None where there is no closed form."""
        return None

    def has_traces(self, kernel: TargetKernel) -> bool:
        """Whether there are ``traces`` of all predictions and of some of them."""
        return self.take(slice(0, 1)).traces(kernel) is not None

    @property
    def normal(self) -> tuple[FloatArray, FloatArray] | None:
        """Means and standard deviations (..., n), if the predictions are normal distributions of numbers."""
        return None

    def squared_diameter(self, kernel: TargetKernel) -> float:
        """Supremum of ``k(y, y) - 2 k(y, y') + k(y', y')`` over the targets that the family allows."""
        return kernel.squared_diameter

    def self_kernel(self, kernel: TargetKernel) -> FloatArray:
        """``E k(Z, Z~)`` with two independent draws from each prediction, (..., n)."""
        if len(self.shape) > 1:
            return np.diagonal(self.expected_kernel2(kernel, self), axis1=-2, axis2=-1).copy()
        single = self.take(np.arange(len(self))[:, None])
        return single.expected_kernel2(kernel, single)[:, 0, 0]

    def expectation_sums(self, kernel: TargetKernel, weights: FloatArray, targets: Array) -> FloatArray:
        """``sum_ij w_lij E k(Z_i, y_bj)`` for weights (L, n, c) and targets (B, c), or (B, c, d): (L, B)."""
        return weighted_sum(kernel, lambda term: self._expectation_sums(term, weights, targets))

    def _expectation_sums(self, kernel: TargetKernel, weights: FloatArray, targets: Array) -> FloatArray:
        return np.stack([np.einsum("lij,ij->l", weights, self.expected_kernel(kernel, y)) for y in targets], axis=1)

    def energy_distances(self, other: Self) -> FloatArray:
        """``2 E|Z - Z'| - E|Z - Z~| - E|Z' - Z'~|`` for each prediction (..., r) and each other one (..., c).

        Differences that are rounding are 0.
        """
        raise TypeError(f"metric: got EnergyDistance() for {self.family} predictions, wanted MMD(kernel)")

    def centred_kernel(self, kernel: TargetKernel, targets: Array, other: Self, other_targets: Array) -> FloatArray:
        """``k(y, y') - E k(Z, y') - E k(y, Z') + E k(Z, Z')``: the target part of h, of shape (..., r, c)."""
        tile = self.target_tile(kernel, targets, other_targets)
        tile -= self.expected_kernel(kernel, other_targets)
        tile -= other.expected_kernel(kernel, targets).swapaxes(-1, -2)
        tile += self.expected_kernel2(kernel, other)
        return tile

    def distance(self, metric: Metric, other: Any) -> FloatArray:
        """Distances (..., r, c) of these predictions (..., r) to others (..., c) of the same family."""
        self.check_compatible(other, "other")
        return metric.between(self, other)

    def to_ensemble(self, n_members: int, rng: Any = None) -> "Predictions":
        """An ``Ensemble`` of draws from each prediction, for kernels without closed forms.

        Expectations are those over the draws; targets are still drawn from these predictions, so that Monte Carlo
        tests are exact for any number of members.
        """
        from caltest.predictions.ensembles.ensemble import DrawnEnsemble

        return DrawnEnsemble(self, n_members, rng)

    def median_distance(self, metric: Metric) -> float:
        """Median distance of pairs of at most 10 000 predictions; ``ValueError`` if it is 0, useless as a bandwidth."""
        if metric not in self._medians:
            self._medians[metric] = median_distance(self.evenly_spaced(MEDIAN_OF), metric)
        return self._medians[metric]

    @cached_property
    def _medians(self) -> dict[Metric, float]:
        """Median distances that were asked for, which several tests of the same predictions share."""
        return {}

    def median_positive_distance(self, metric: Metric) -> float:
        """Median distance of the pairs that differ; ``ValueError`` if none does."""
        return median_positive_distance(self.evenly_spaced(MEDIAN_OF), metric)

    @property
    def default_median_of(self) -> int:
        """Evenly spaced predictions of which a default bandwidth is the median, if there are more."""
        return MEDIAN_OF

    @cached_property
    def of_default_median(self) -> Self:
        """The predictions that a default bandwidth is the median of, which keep it for other tests."""
        return self.evenly_spaced(self.default_median_of)

    def evenly_spaced(self, n: int) -> Self:
        """The predictions themselves, or n of them at equal distances in their order if there are more."""
        return self if len(self) <= n else self.take(evenly_spaced(len(self), n))

    def cdf(self, targets: Array) -> FloatArray:
        """``P(Z <= y)`` for the target y of each prediction, (..., n).

        ``TypeError`` for vectors and unordered classes.
        """
        raise TypeError(f"predictions: got {self.family} predictions, which have no distribution function")

    def transforms(self, times: FloatArray, seen: BoolArray) -> "Levels | None":
        """What ``F(T)`` (n,) can be, given that the event was at the time, or only that it was not up to then.

        None if that follows from the distribution function, or there is none.
        """
        return None

    def cdf_below(self, targets: Array) -> FloatArray:
        """``P(Z < y)``, where it can differ from ``P(Z <= y)``."""
        return self.cdf(targets)

    def survival(self, targets: Array) -> FloatArray:
        """``P(Z > y)`` for the target y of each prediction, (..., n): with all digits where families know it."""
        return 1.0 - self.cdf(targets)

    def log_density(self, targets: Array) -> FloatArray:
        """``log p(y)`` for the target y of each prediction, (..., n): of a density, or the probability of an outcome.

        Densities are with respect to the Lebesgue measure. ``TypeError`` for families that have none, ``ValueError``
        for predictions without spread.
        """
        raise TypeError(f"predictions: got {self.family} predictions, which have no density or none that is known here")

    def check_continuous(self) -> None:
        """Raise ``TypeError`` unless the family is continuous, ``ValueError`` if a prediction has no spread."""
        raise TypeError(
            f"predictions: got {self.family} predictions, which are not continuous distributions of a real target, "
            "wanted such as Normal or Gamma; calibration_test takes all"
        )

    @property
    def is_continuous(self) -> bool:
        """Whether all predictions are continuous distributions of a number, with a distribution function."""
        try:
            self.check_continuous()
            self.cdf(np.zeros((0, len(self))))
        except (TypeError, ValueError):
            return False
        return True

    @property
    def has_normal_scores(self) -> bool:
        """Whether standard scores are standard normal given calibrated predictions."""
        return self.is_continuous

    def standard_scores(self, targets: Array) -> FloatArray:
        """Scores of targets (B, n) or (B, n, d), of the same shape: of mean 0 and variance 1, as far as possible.

        Of continuous distributions of numbers the normal quantile of ``F(y)``. Of others the difference to the mean, in
        units of the standard deviation, for vectors of that of a coordinate on average. Predictions without spread have
        the score 0. ``TypeError`` for classes.
        """
        if self.is_continuous:
            u = self.cdf(targets)
            z = np.asarray(scipy.special.ndtri(np.maximum(u, SMALLEST)))
            # In the upper tail from 1 - F(y), which has digits there.
            far = np.nonzero(u > 1.0 - UPPER)
            z[far] = -scipy.special.ndtri(np.maximum(self.take(far[-1]).survival(targets[far]), SMALLEST))
            return z
        mean, variance = self.moments()
        if targets.ndim == 3:
            return in_units(targets - mean, np.sqrt(variance / mean.shape[-1])[:, None])
        return in_units(targets - mean, np.sqrt(variance))

    def of_standard_scores(self, scores: FloatArray) -> Array:
        """Targets with these scores, which are normal ones."""
        return self.quantile(np.clip(scipy.special.ndtr(scores), FARTHEST, 1.0 - FARTHEST))

    @property
    def has_spread(self) -> bool:
        """Whether residuals can be too large or too small."""
        return True

    def spread_shares(self, squares: FloatArray) -> FloatArray:
        """Predicted variances as a share of those that scores of mean squares (B,) are in units of."""
        return np.ones_like(squares)

    @property
    def pool_size(self) -> int | None:
        """How many equally likely values the target of each prediction is one of; None for other predictions."""
        return None

    def pool_residuals(self, targets: Array) -> FloatArray:
        """Of targets (n,) or (n, d): differences to the mean of the other values, in their standard errors."""
        raise NotImplementedError

    def excess_spread(self, targets: Array, weights: FloatArray | None) -> FloatArray:
        """Mean square of the standard scores of targets (B, n) or (B, n, d), less 1: (B,)."""
        return mean_square(self.standard_scores(targets), weights) - 1.0

    def alternatives(self, weights: FloatArray | None = None) -> "Alternatives | None":
        """Ways in which the predictions can be wrong, or None if likelihood ratios are not known.

        Weights (n,) are those of the observations.
        """
        from caltest.predictions.alternatives import NormalAlternatives

        return NormalAlternatives(self, weights) if self.is_continuous else None

    def odds(self) -> "Odds | None":
        """On what one can bet against the predictions, or None if that is not known."""
        return self.alternatives()

    def faults(self, weights: FloatArray | None = None, among: Self | None = None) -> "Faults | None":
        """The ways in which the predictions can be wrong that tests look for and name, or None if there are none.

        Weights (n,) are those of the observations; ranks of features can be those among other predictions.
        """
        from caltest.predictions.faults.numbers.faults import NumberFaults
        from caltest.predictions.faults.vectors.faults import VectorFaults

        try:
            mean, _ = self.moments()
        except TypeError:
            return NumberFaults(self, weights, among) if self.law.is_continuous else None
        kind = VectorFaults if mean.ndim == 2 and mean.shape[1] > 1 else NumberFaults
        return kind(self, weights, among)

    def faults_seen(self, targets: Array, weights: FloatArray | None = None) -> "tuple[Faults, Any] | None":
        """Those that are looked for in targets (n,) or (n, d), to name them, and what they see of these."""
        if (known := self.faults(weights)) is None:
            return None
        faults = known.to_name(targets)
        return faults, faults.seen(targets[None])

    def claims(self, targets: Array) -> Checks:
        """What the predictions say of outcomes that everyone can check, and what happened; nothing of residuals."""
        return of_numbers(self, targets) if self.law is self and self.is_continuous else ([], [])

    def claims_at(self, kind: str, place: str, targets: Array) -> tuple[list[Claim], int]:
        """Claims about what a finding names, if ``claims`` may not show it, and how many all such places have."""
        if kind in FAR_OFF:
            return of_outliers(self, targets), 8
        if not (found := re.search(r"predicted (mean|variance)s are (above|at most)", place)):
            return [], 8

        def of_rows(rows: IntArray) -> list[Claim]:
            claims = self.take(rows).claims(targets[rows])[0]
            return [*claims[1:2], *claims[-1:]]

        return of_half(self.moments()[int(found[1] == "variance")], found[2], f"{found[1]}s", of_rows), 8

    def slightly_wrong(self, rng: Any, size: int) -> Wrong | None:
        """Outcomes (size, n) if the predictions are wrong by what just matters, and how, in words."""
        return shifted(self, rng, size) if self.law is self and self.has_normal_scores else None

    def standardised(self, targets: Array) -> "tuple[Predictions, Array]":
        """The law of residuals ``(Z - m) / s`` of each prediction, and those of the targets."""
        raise TypeError(
            f"predictions: got {self.family} predictions, which have no location and scale, for standardised "
            "residuals; wanted Normal, Laplace or MvNormal ones, say, or pit_values(predictions, targets)"
        )

    def quantile(self, level: ArrayLike) -> FloatArray:
        """The smallest y with ``P(Z <= y) >= level`` for each prediction, (..., n).

        Levels are numbers between 0 and 1: one, or an array that broadcasts against (..., n), such as a column of
        several levels. ``TypeError`` for vectors, classes and families without a quantile function.
        """
        return self._quantile(levels("level", level))

    def _quantile(self, level: FloatArray) -> FloatArray:
        raise TypeError(
            f"predictions: got {self.family} predictions, whose quantiles are not known here, wanted a family of "
            "numbers with a quantile function, such as Normal or Gamma"
        )

    def _no_closed_form(self, kernel: TargetKernel, known: str) -> ClosedFormMissing:
        return ClosedFormMissing(
            f"target_kernel: got {kernel!r} for {self.family} predictions, for which E k(Z, y) has no formula here; "
            f"use {known}, or draws instead of the distributions: predictions.to_ensemble(n_members, rng)"
        )

    def no_metric(self, metric: Metric) -> TypeError:
        """What to raise for a metric that the family does not have."""
        return TypeError(f"metric: got {metric!r} for {self.family} predictions, wanted one of {self.known_metrics}")


def weighted_sum(kernel: TargetKernel, function: Callable[[TargetKernel], FloatArray]) -> FloatArray:
    """A function that is linear in the kernel."""
    (weight, term), *rest = kernel.weighted_terms
    total = function(term)
    if weight != 1.0:
        total *= weight
    for weight, term in rest:
        total += weight * function(term)
    return total


def assumed(predictions: Predictions) -> tuple[str, ...]:
    """Notes of predictions, with what tests assume of them, for results that state what all tests assume."""
    assumption = predictions.assumption
    return (*predictions.notes, f"assumes {assumption}") if assumption else predictions.notes


def require_family(predictions: Predictions, family: type[F], name: str) -> F:
    """The predictions; ``TypeError`` unless they belong to a family."""
    if not isinstance(predictions, family):
        raise TypeError(f"{name}: got {predictions.family} predictions, wanted {family.__name__} predictions")
    return predictions


def median_standard_deviation(standard_deviations: FloatArray) -> float:
    """Median over predictions, refused where it is 0."""
    scale = float(np.median(standard_deviations))
    if scale == 0.0:
        raise ZeroBandwidth(
            'bandwidth: got "median" for targets of which more than half are predicted with certainty '
            "(median standard deviation 0); give the bandwidth as a number in units of the targets"
        )
    return scale
