"""Predicted probabilities of two classes, and of several."""

from abc import abstractmethod
from collections.abc import Sequence
from copy import copy
from typing import Any, ClassVar, Self

import numpy as np
import scipy

from caltest._basics.arrays import Table, column, to_array
from caltest._basics.numerics import Array, ArrayLike, FloatArray, IntArray, check_memory, normalised
from caltest._validation import (
    RENORMALISED_TOLERANCE,
    SUM_TOLERANCE,
    class_labels,
    class_names,
    positive_number,
    probability_matrix,
    probability_vector,
    same_length,
)
from caltest._validation.labels import classes_of, in_order_of_columns, require_order_of
from caltest.kernels import DeltaKernel, TargetKernel, TotalVariation, VectorMetric
from caltest.predictions.base import Parameter, Predictions, require_family
from caltest.predictions.classes.finite import FinitePredictions
from caltest.predictions.inputs.labelled import require_same_classes

DENSE = 2**24
"""Numbers up to which rows that are taken become an array of all numbers."""


class SparseRows:
    """(n, k) numbers of which few are not 0: read in blocks of rows, or at given rows and classes, as an array is."""

    ndim = 2

    def __init__(self, matrix: Any) -> None:
        self._matrix = matrix
        self.shape: tuple[int, int] = matrix.shape
        self.dtype: np.dtype[Any] = matrix.dtype
        self.size = matrix.shape[0] * matrix.shape[1]

    @classmethod
    def of(cls, data: Any) -> tuple["SparseRows", str]:
        """Probabilities, and a note if they were renormalised; ``ValueError`` for rows that are none."""
        matrix = data.tocsr()
        matrix = matrix.astype(matrix.dtype if matrix.dtype == np.float32 else np.float64, copy=data.format == "csr")
        matrix.sum_duplicates()
        values = matrix.data
        sums = np.asarray(matrix.sum(axis=1, dtype=np.float64)).ravel()
        deviation = np.abs(sums - 1.0)
        wrong = ~np.isfinite(sums) | (deviation > RENORMALISED_TOLERANCE)
        negative = np.flatnonzero(values < 0.0)
        if negative.size:
            row = int(np.searchsorted(matrix.indptr, negative[0], side="right")) - 1
            got = f"{values[negative[0]]:.6g} at row {row}, column {matrix.indices[negative[0]]}"
            raise ValueError(f"probabilities: got {got}, wanted probabilities of at least 0")
        if wrong.any():
            row = int(wrong.argmax())
            raise ValueError(
                f"probabilities: got row {row} that sums to {sums[row]:.6g}, wanted rows that sum to 1 (within "
                f"{RENORMALISED_TOLERANCE:g}); check that every class has its column"
            )
        if deviation.max() <= SUM_TOLERANCE:
            return cls(matrix), ""
        values /= np.repeat(sums, np.diff(matrix.indptr)).astype(values.dtype)
        note = f"rows of the probabilities summed to 1 only within {deviation.max():.1g}; they were renormalised"
        return cls(matrix), note

    def __getitem__(self, index: Any) -> Array:
        found = self._matrix[index]
        return found.toarray() if hasattr(found, "toarray") else np.asarray(found).reshape(np.shape(index[0]))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        n_bytes = self.size * np.dtype(dtype or self.dtype).itemsize
        check_memory(n_bytes, "predictions as an array that is not sparse", (self.shape[0], "rows"))
        return np.asarray(self._matrix.toarray(), dtype=dtype)

    def take(self, index: slice | IntArray) -> Any:
        """Some of the rows: an array of all numbers if these are few."""
        rows = self._matrix[index]
        return rows.toarray() if rows.shape[0] * rows.shape[1] <= DENSE else SparseRows(rows)

    def at(self, labels: IntArray) -> FloatArray:
        """The number of one class of each row, (n,)."""
        return self[np.arange(self.shape[0]), labels]

    def argmax(self, axis: int = -1) -> IntArray:
        """The class of the largest number of each row, the first one among equals."""
        return np.asarray(self._matrix.argmax(axis=1)).ravel()

    def sum(self, axis: int, dtype: Any = None) -> FloatArray:
        """Sums of rows, or of columns."""
        return np.asarray(self._matrix.sum(axis=axis, dtype=dtype)).ravel()


class ClassProbabilities(FinitePredictions):
    """Distributions on the classes 0..k-1, given by an array of probabilities."""

    _array = Parameter(0, "Probabilities.")
    _default_metric: VectorMetric = TotalVariation()
    _default_target_kernel: ClassVar[TargetKernel] = DeltaKernel()
    """They make the kernel of the 2019 paper."""

    def __init__(self, probabilities: ArrayLike, *, classes: Sequence[Any] | None = None) -> None:
        self._fill(probabilities, classes, copy=True)

    @classmethod
    def borrowed(cls, probabilities: ArrayLike, classes: Sequence[Any] | None) -> Self:
        """The same for the duration of a call: the array is not copied where its values can be read as they are."""
        new = object.__new__(cls)
        new._fill(probabilities, classes, copy=False)
        return new

    def _fill(self, probabilities: ArrayLike, classes: Sequence[Any] | None, copy: bool) -> None:
        table = Table.of(probabilities, "probabilities")
        array, note = self._checked(table, copy)
        self._parameters, self._columns = (array,), table.names
        self.classes = class_names(in_order_of_columns(table.names, classes), self.n_classes)
        self.notes = (note,) if note else ()

    @staticmethod
    @abstractmethod
    def _checked(probabilities: ArrayLike, copy: bool) -> tuple[FloatArray, str]:
        """The array, and a note on what was done to it."""

    def to_array(self) -> FloatArray:
        return self._array

    def with_probabilities(self, probabilities: FloatArray) -> Self:
        checked, _ = self._checked(probabilities, True)
        if checked.shape != self._array.shape:
            raise ValueError(f"probabilities: got shape {checked.shape}, wanted {self._array.shape}")
        return self._like(checked)._labelled(self.index)

    def check_targets(self, targets: ArrayLike, name: str = "targets") -> Array:
        """Labels 0..k-1, booleans or words such as yes and no for two, or names of ``classes``, as integers (n,)."""
        names: Sequence[Any] | None = self.classes
        if names is None and self._columns is not None:
            names = classes_of(self._columns, column(to_array(targets, name)), None)
        labels = class_labels(targets, self.n_classes, names, name, one_column=self._array.ndim == 1)
        same_length(len(self), labels.shape[0], name)
        return labels

    def followed_by(self, other: Self) -> Self:
        joined = super().followed_by(other)
        joined.classes = other.classes if self.classes is None else self.classes
        return joined


class Categorical(ClassProbabilities):
    """n probability vectors on k unordered classes.

    Parameters
    ----------
    probabilities
        (n, k) array-like, one row per observation. Rows that sum to 1 within 1e-6 are taken as they are, within
        1e-2 they are renormalised (``notes`` and the results say so), beyond that they are refused.
    classes
        Names of the classes in the order of the columns; labels are these, or 0..k-1 if they are words.

    Raises
    ------
    ValueError
        For values that are not finite, negative probabilities, logits, rows that do not sum to 1, one column.

    Examples
    --------
    >>> import caltest as ct
    >>> ct.Categorical([[0.2, 0.8], [0.5, 0.5]])
    <Categorical, n = 2, 2 classes>
    >>> p = ct.Categorical([[0.2, 0.8], [0.5, 0.5], [0.9, 0.1]], classes=["cat", "dog"])
    >>> ct.calibration_test(p, ["dog", "cat", "cat"], n_resamples=99, rng=1).pvalue
    1.0
    """

    family = "Categorical"
    known_metrics = "TotalVariation(), Cityblock(), Euclidean(), because classes have no order"
    notion = "canonical"
    _row_dimensions = 1

    @staticmethod
    def _checked(probabilities: ArrayLike, copy: bool) -> tuple[FloatArray, str]:
        return probability_matrix(probabilities, copy=copy)

    @classmethod
    def of_sparse(cls, matrix: Any, *, classes: Sequence[Any] | None = None) -> Self:
        """Those of a matrix of scipy.sparse, whose rows become arrays of all numbers when they are read."""
        new = object.__new__(cls)
        rows, note = SparseRows.of(matrix)
        new._parameters, new.notes = (rows,), (note,) if note else ()
        new.classes = class_names(classes, new.n_classes)
        return new

    @property
    def probabilities(self) -> FloatArray:
        return np.asarray(self._array, dtype=np.float64)

    @property
    def stored(self) -> Array:
        return self._array

    def to_array(self) -> FloatArray:
        return self.probabilities

    def with_rows(self, p: FloatArray) -> Self:
        return self._like(p)

    @property
    def n_classes(self) -> int:
        return int(self._array.shape[-1])

    def check_compatible(self, other: Predictions, name: str) -> None:
        _refuse_two_columns(self, other, name)
        other = require_family(other, type(self), name)
        if not isinstance(self, type(other)):
            raise TypeError(f"{name}: got {other.family} predictions, wanted {self.family} predictions")
        if other.n_classes != self.n_classes:
            raise ValueError(f"{name}: got {other.n_classes} classes, wanted {self.n_classes} as in the predictions")
        require_same_classes(other.classes, self.classes, name)
        require_order_of(self._names, other._names, name)

    def probability_vectors(self) -> FloatArray:
        return self.probabilities

    def parameter_vectors(self) -> FloatArray:
        return self.probabilities

    def describe(self, n: int | None = None) -> str:
        return f"{self.family}, n = {len(self) if n is None else n}, {self.n_classes} classes"

    def of_event(self) -> Predictions:
        if self.n_classes != 2:
            return self
        event = Bernoulli(self.probabilities[:, 1], classes=self._names or None).of_event()
        event.notes = self.notes
        return event

    def at_temperature(self, temperature: float) -> Self:
        """Predictions with probabilities proportional to ``p**(1/T)``: temperature scaling (Guo et al. 2017).

        The powers are those of densities with respect to the counting measure (Widmann et al. 2021, Definition F.1).
        The order of the classes by probability stays, and so do zeros.
        """
        with np.errstate(divide="ignore"):
            logs = np.log(self.probabilities)
        logs -= logs.max(axis=-1, keepdims=True)
        powers = np.exp(logs / positive_number("temperature", temperature))
        return self._like(normalised(powers))._labelled(self.index)


class Bernoulli(ClassProbabilities):
    """n probabilities that a binary outcome is 1.

    The total variation distance is ``|p - q|``, as for the vectors (1 - p, p). The Euclidean and the cityblock
    distance are those of the numbers p, as in the Julia reference: ``|p - q|``, not sqrt(2) or 2 times it.

    Parameters
    ----------
    probabilities
        (n,) array-like with values in [0, 1] (``ValueError`` otherwise). Values that exceed 1 by at most 1e-6, as
        maxima of float32 rows can, are taken as 1 (``notes`` and the results say so).
    classes
        Names of the outcomes 0 and 1, if the targets are not 0/1, booleans, or yes and no, true and false, positive and
        negative in words.

    Examples
    --------
    >>> import caltest as ct
    >>> p = ct.Bernoulli([0.2, 0.5, 1.0], classes=["no", "yes"])
    >>> p
    <Bernoulli, n = 3>
    >>> ct.calibration_test(p, ["no", "no", "yes"], n_resamples=99, rng=1).pvalue
    0.61
    """

    family = "Bernoulli"
    known_metrics = "TotalVariation(), Cityblock(), Euclidean()"
    brier_factor = 0.5
    _notion = "binary"
    n_classes = 2
    probability = Parameter(0, "Probabilities of the outcome 1, (..., n).")

    @staticmethod
    def _checked(probabilities: ArrayLike, copy: bool) -> tuple[FloatArray, str]:
        return probability_vector(probabilities, copy=copy)

    @classmethod
    def reduced(cls, p: FloatArray, notion: str, notes: tuple[str, ...]) -> Self:
        """Binary predictions that keep an array made from those for k classes; ``notion`` says how."""
        new = cls.borrowed(p, None)
        new._notion, new.are_learned = notion, notion != "top label"
        new.notes = (*notes, *new.notes)
        return new

    @property
    def probabilities(self) -> FloatArray:
        return np.stack([1.0 - self._array, self._array], axis=-1)

    def with_rows(self, p: FloatArray) -> Self:
        return self._like(np.ascontiguousarray(p[:, 1]))

    @property
    def hypothesis(self) -> str:
        of_event = "P(Y = 1 | p) = p"
        question = {
            "binary": of_event,
            "event": of_event,
            "top label": "P(top label is right | confidence) = confidence",
        }
        return question.get(self._notion, f"P(Y = 1 | p) = p for {self._notion}")

    def of_event(self) -> Self:
        new = copy(self)
        new._notion = "event" if self.notion == "binary" and self.classes is None else self.notion
        return new

    @property
    def notion(self) -> str:
        """``"binary"``, ``"event"``, ``"top label"``, ``"class c against the rest"`` or ``"label l"``."""
        return self._notion

    def occurrence(self, c: int) -> str:
        if self._notion == "top label":
            return f"the top label is {('wrong', 'right')[c]}"
        if self._notion == "event":
            return f"{('no', 'the')[c]} event occurs"
        if self._notion.startswith("label "):
            return f"{self._notion} occurs" if c == 1 else f"the absence of {self._notion} occurs"
        one_class = self._notion.removesuffix(" against the rest")
        if one_class == self._notion:
            return super().occurrence(c)
        return f"{one_class} occurs" if c == 1 else f"another class than {one_class.removeprefix('class ')} occurs"

    def check_compatible(self, other: Predictions, name: str) -> None:
        _refuse_two_columns(other, self, name)
        require_same_classes(require_family(other, Bernoulli, name).classes, self.classes, name)

    def probability_vectors(self) -> FloatArray:
        """The numbers 2 p, as the total variation distance is half the distance of vectors (1 - p, p)."""
        return 2.0 * self._array[..., None]

    def parameter_vectors(self) -> FloatArray:
        return self._array[..., None]

    def describe(self, n: int | None = None) -> str:
        reduction = "" if self._notion in ("binary", "event") else f" ({self._notion})"
        return f"Bernoulli{reduction}, n = {len(self) if n is None else n}"

    def cdf(self, targets: Array) -> FloatArray:
        return np.where(targets >= 1, 1.0, 1.0 - self._array)

    def at_temperature(self, temperature: float) -> Self:
        """Predictions with odds ``(p / (1 - p))**(1/T)``: temperature scaling (Guo et al. 2017).

        The powers are those of densities with respect to the counting measure (Widmann et al. 2021, Definition F.1);
        0, 1/2 and 1 stay.
        """
        logit = scipy.special.logit(self._array)
        tempered = self._like(scipy.special.expit(logit / positive_number("temperature", temperature)))
        return tempered._labelled(self.index)


def _refuse_two_columns(several: Predictions, one: Predictions, name: str) -> None:
    """``TypeError`` for two columns of probabilities beside one."""
    if isinstance(several, Categorical) and several.n_classes == 2 and isinstance(one, Bernoulli):
        raise TypeError(
            f"{name}: got two columns of probabilities in one place and one in another, wanted one in all: p[:, 1]"
        )
