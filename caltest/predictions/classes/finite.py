"""Predictions with finitely many outcomes: every expectation is a finite sum, so every target kernel works."""

from abc import abstractmethod
from collections.abc import Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from caltest._basics.numerics import Array, BoolArray, FloatArray, IntArray, generator_of, ranges
from caltest._basics.threads import Stream, in_parts, threaded
from caltest._loops.pair_sums.tiles import PRODUCT, sum_over_coordinates
from caltest._loops.rows import FEW_CLASSES, classes_from_uniforms
from caltest._validation import class_in_words, class_names
from caltest._validation.labels import in_order_of_columns
from caltest.kernels import TargetKernel
from caltest.kernels.matrix import squared_diameter
from caltest.predictions.base import Drawer, Predictions, Uniforms, median_standard_deviation, weighted_sum
from caltest.predictions.claims import Checks, Claim, Wrong
from caltest.predictions.classes.claims import of_classes as claims_of_classes, of_named_classes, overconfident
from caltest.predictions.inputs.labelled import require_same_classes
from caltest.predictions.outcomes import Outcomes, Traces, looked_up, outcome_traces

if TYPE_CHECKING:
    from caltest.predictions.alternatives import Alternatives
    from caltest.predictions.faults import Faults

MEDIANS_OF_MANY = ((32, 2000), (500, 1000))
"""More classes than the first numbers have default bandwidths that are medians of as many predictions."""

UNIFORMS_AT_ONCE = 2**18
"""Random numbers drawn together by each thread; the draws do not depend on it."""

UNIFORMS_OF_MANY = 2**22
"""The same for labels of many classes, by all threads."""


class FinitePredictions(Predictions):
    """Distributions on the outcomes 0..k-1.

    With the k x k matrix A of the target kernel and residuals ``delta = e_y - p`` the target part of h is the
    bilinear form ``delta' A delta'``, which is how it is computed.
    """

    discrete = True
    probabilities_differ: ClassVar[bool] = True
    """Whether predictions are compared, and can be put into bins, by their probabilities."""
    are_learned: bool = True
    """Whether outcomes are classes that a model learns from, and not ranks of these, or whether it was right."""
    brier_factor: ClassVar[float] = 1.0
    """What the Brier score ``|e_y - p|**2`` is multiplied by, as is usual."""

    @property
    def finite(self) -> "FinitePredictions":
        return self

    @property
    @abstractmethod
    def probabilities(self) -> FloatArray:
        """Probability vectors (..., n, k)."""

    @property
    def stored(self) -> Array:
        """The same as they are stored, perhaps in single precision."""
        return self.probabilities

    def with_rows(self, p: FloatArray) -> Self:
        """Predictions of the same kind with other probability vectors (m, k), perhaps of another number."""
        raise TypeError(f"predictions: got {self.family} predictions, which have more than probabilities")

    @property
    @abstractmethod
    def n_classes(self) -> int:
        """Number k of outcomes."""

    def with_classes(self, classes: Sequence[Any]) -> Self:
        names = class_names(in_order_of_columns(self._columns, classes), self.n_classes)
        require_same_classes(names, self.classes, "classes")
        named = copy(self)
        named.classes = names
        return named

    def width(self, kernel: TargetKernel) -> int:
        return self.n_classes

    @property
    def positions(self) -> FloatArray:
        """Outcomes as points on a line, (k,): 0..k-1, or what ordered classes stand for."""
        return np.arange(self.n_classes, dtype=np.float64)

    def errors_on_a_line(self, targets: Array) -> tuple[FloatArray, FloatArray] | None:
        """Of ordered outcomes (n,) how far they are from those expected, and what predictions say; None of others."""
        return None

    @property
    @abstractmethod
    def notion(self) -> str:
        """Which calibration these predictions are about: canonical, binary, top label, one class."""

    def occurrence(self, c: int) -> str:
        """In words, that outcome c occurs."""
        return f"{class_in_words(c if self.classes is None else self.classes[c])} occurs"

    def outcome_in_words(self, outcome: Any) -> str:
        return self.occurrence(int(outcome)).removesuffix(" occurs")

    def up_to_in_words(self, c: int) -> str:
        """What an outcome in an ordered class, or one below, is called."""
        return f"{self.outcome_in_words(c)} or below"

    @property
    def default_median_of(self) -> int:
        return min([super().default_median_of, *(n for k, n in MEDIANS_OF_MANY if self.n_classes > k)])

    @property
    def bases(self) -> IntArray:
        """The class that most redraws of an observation have, (n,): of probability above 1/2, or -1 for none."""
        likely = self.probabilities.argmax(axis=-1)
        highest = np.take_along_axis(self.probabilities, likely[..., None], axis=-1)[..., 0]
        return np.where(highest > 0.5, likely, -1)

    def hits(self, targets: Array) -> BoolArray:
        """Where the most probable outcome, the first one among equals, occurred, (..., n)."""
        return np.asarray(self.stored.argmax(axis=-1) == targets)

    def residuals(self, targets: Array) -> FloatArray:
        """``e_y - p``, of shape (..., n, k)."""
        residuals = -self.probabilities
        y = targets[..., None]
        np.put_along_axis(residuals, y, np.take_along_axis(residuals, y, axis=-1) + 1.0, axis=-1)
        return residuals

    def impossible(self, targets: Array) -> BoolArray:
        return np.asarray(at_labels(self.stored, targets) == 0.0)

    def log_density(self, targets: Array) -> FloatArray:
        """``log p_y``, (..., n); minus infinity for probabilities of 0."""
        with np.errstate(divide="ignore"):
            return np.log(at_labels(self.stored, targets), dtype=np.float64)

    def target_tile(self, kernel: TargetKernel, rows: Array, columns: Array) -> FloatArray:
        def of_term(term: TargetKernel) -> FloatArray:
            places = (rows, columns) if term.of_classes else (self.positions[rows], self.positions[columns])
            return term.target_tile(*places)

        return weighted_sum(kernel, of_term)

    def gram(self, kernel: TargetKernel) -> FloatArray:
        """Matrix (k, k) of the target kernel between outcomes."""
        for _, term in kernel.weighted_terms:
            term.check_classes(self.n_classes, self._names)
        outcomes = np.arange(self.n_classes)
        return self.target_tile(kernel, outcomes, outcomes)

    def outcomes(self, kernel: TargetKernel, targets: Array) -> Outcomes:
        if targets.dtype.kind == "f":
            raise TypeError("targets: got real numbers, wanted numbers of classes as check_targets returns them")
        labels = np.ascontiguousarray(targets, dtype=self.label_type)
        return Outcomes(self.probabilities, self.gram(kernel), labels, self.bases)

    def traces(self, kernel: TargetKernel) -> Traces:
        return outcome_traces(self.probabilities, self.gram(kernel))

    def alternatives(self, weights: FloatArray | None = None) -> "Alternatives":
        from caltest.predictions.alternatives import ClassAlternatives

        return ClassAlternatives(self, weights)

    def faults(self, weights: FloatArray | None = None, among: Self | None = None) -> "Faults | None":
        from caltest.predictions.faults.classes.claims import BinaryFaults
        from caltest.predictions.faults.classes.several import ClassFaults

        return BinaryFaults(self, weights) if self.n_classes == 2 else ClassFaults(self, weights)

    def claims(self, targets: Array) -> Checks:
        return claims_of_classes(self, targets)

    def claims_at(self, kind: str, place: str, targets: Array) -> tuple[list[Claim], int]:
        return of_named_classes(self, place, targets), self.n_classes

    def slightly_wrong(self, rng: Any, size: int) -> Wrong | None:
        return overconfident(self, rng, size)

    def squared_diameter(self, kernel: TargetKernel) -> float:
        """That of the matrix, and no less than what is left of kernels that are equal for all outcomes to rounding."""
        if kernel.is_identity:
            return 2.0
        gram = self.gram(kernel)
        return max(squared_diameter(gram), 1e-12 * float(np.diag(gram).max()))

    def times_gram(self, vectors: FloatArray, kernel: TargetKernel) -> FloatArray:
        """Vectors (..., k) times the matrix of the target kernel."""
        return vectors if kernel.is_identity else vectors @ self.gram(kernel)

    def centred_kernel(self, kernel: TargetKernel, targets: Array, other: Self, other_targets: Array) -> FloatArray:
        """``(e_y - p)' A (e_y' - p')``, of shape (..., r, c)."""
        left = self.times_gram(self.residuals(targets), kernel)
        return sum_over_coordinates(PRODUCT, left, other.residuals(other_targets))

    def _expected_kernel(self, kernel: TargetKernel, targets: Array) -> FloatArray:
        """``(p' A)_y``, of shape (..., r, c)."""
        return looked_up(self.times_gram(self.probabilities, kernel), targets)

    def _expected_kernel2(self, kernel: TargetKernel, other: Self) -> FloatArray:
        """``p' A p'``, of shape (..., r, c)."""
        return self.times_gram(self.probabilities, kernel) @ other.probabilities.swapaxes(-1, -2)

    def sample(self, rng: Any = None, size: int | None = None) -> Array:
        generator = generator_of(rng)
        return self.observed(self.redraw(generator, size), generator)

    def observed(self, labels: Array, rng: np.random.Generator) -> Array:
        """Outcomes (..., n) with these labels, as users give them."""
        return labels if self.classes is None else np.array(self.classes)[labels]

    def redraw(self, rng: Any = None, size: int | None = None) -> Array:
        """Labels (n,), or (size, n), drawn by inversion; probabilities are used in proportion to their sum."""
        out = np.empty((1 if size is None else size, len(self)), dtype=np.intp)
        _draw(np.cumsum(self.probabilities, axis=-1), generator_of(rng), out)
        return out[0] if size is None else out

    def drawer(self) -> Drawer:
        """The first class whose cumulative probability exceeds the number."""
        cumulative = np.cumsum(self.stored, axis=-1, dtype=np.float64)

        def draw(uniforms: Uniforms) -> Array:
            u = uniforms(0)
            labels = np.empty(u.shape, dtype=self.label_type)
            classes_from_uniforms(cumulative, u, labels)
            return labels

        return draw

    def with_redraws(self, targets: Array | None, streams: Sequence[Stream]) -> Array:
        """Observed labels (n,), if given, and those drawn by each stream, of one byte each for up to 256 classes."""
        ends = np.cumsum([size for _, size in streams]) + (0 if targets is None else 1)
        out = np.empty((ends[-1], len(self)), dtype=self.label_type)
        if targets is not None:
            out[0] = targets
        if self.n_classes > FEW_CLASSES:
            self._draw_by_rows(streams, out[ends[0] - streams[0][1] :])
            return out
        cumulative = np.cumsum(self.probabilities, axis=-1)

        def draw(i: int) -> None:
            generator, size = streams[i]
            _draw(cumulative, generator, out[ends[i] - size : ends[i]])

        for _ in threaded(draw, range(len(streams)), len(streams), "labels", work=5.0 * out.size):
            pass
        return out

    def _draw_by_rows(self, streams: Sequence[Stream], out: Array) -> None:
        """The same labels (B, n) of many classes, for all redraws of a row at once: what is known of it is shared."""
        n, p = len(self), self.stored
        at_once = in_parts(streams, max(1, UNIFORMS_OF_MANY // (n * streams[0][1])))
        first = 0
        for some in at_once:
            uniforms = np.empty((sum(size for _, size in some), n))
            lines = np.split(uniforms, np.cumsum([size for _, size in some])[:-1])

            def fill(i: int, some: Sequence[Stream] = some, lines: list[FloatArray] = lines) -> None:
                some[i][0].random(out=lines[i])

            drawn = out[first : first + len(uniforms)]
            first += len(uniforms)

            def search(rows: slice, uniforms: FloatArray = uniforms, drawn: Array = drawn) -> None:
                cumulative = np.cumsum(p[rows], axis=-1, dtype=np.float64)
                classes_from_uniforms(cumulative, uniforms, drawn, rows.start)

            parts = list(ranges(n, UNIFORMS_AT_ONCE // self.n_classes))
            for function, items in ((fill, range(len(some))), (search, parts)):
                for _ in threaded(function, items, len(items), "labels", work=10.0 * uniforms.size):  # type: ignore[arg-type]
                    pass

    @property
    def label_type(self) -> type[np.integer[Any]]:
        """The smallest type that holds all labels."""
        return np.uint8 if self.n_classes <= 2**8 else np.uint16 if self.n_classes <= 2**16 else np.int32

    def target_scale(self) -> float:
        """Median standard deviation of the position of the outcome."""
        differences = self.positions - (self.probabilities @ self.positions)[:, None]
        variance = np.einsum("ik,ik,ik->i", self.probabilities, differences, differences)
        return median_standard_deviation(np.sqrt(variance))


def as_classes(predictions: Predictions, wanted: str = "Categorical or Bernoulli ones") -> FinitePredictions:
    """The predictions, if they are probabilities of classes that can differ; ``TypeError`` otherwise."""
    classes = predictions.finite
    if classes is None or not classes.probabilities_differ:
        raise TypeError(f"predictions: got {predictions.family} predictions, wanted {wanted}")
    return classes


def at_labels(values: Array, labels: Array) -> Array:
    """One of the values (..., n, k) for each label (..., n), which draws from classes have as a real number."""
    if hasattr(values, "at") and labels.ndim == 1:
        return np.asarray(values.at(labels.astype(np.intp, copy=False)))
    return np.asarray(np.take_along_axis(values, labels[..., None].astype(np.intp, copy=False), axis=-1)[..., 0])


def _draw(cumulative: FloatArray, generator: np.random.Generator, out: Array) -> None:
    for rows in ranges(out.shape[0], UNIFORMS_AT_ONCE // out.shape[1]):
        classes_from_uniforms(cumulative, generator.random(out[rows].shape), out[rows])


Score = Literal["brier", "log"]

SMALLEST = 5e-324
"""Probabilities of 0 count as this in the log losses of all outcomes."""


def outcome_scores(p: FloatArray, score: Score) -> FloatArray:
    """``|e_y - p|**2`` or ``-log p_y`` for each outcome y, (..., k) as p is."""
    if score == "brier":
        return np.asarray(1.0 - 2.0 * p + np.square(p).sum(axis=-1, keepdims=True))
    return np.asarray(-np.log(np.maximum(p, SMALLEST)))
