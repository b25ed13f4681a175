"""The boundary of recalibration: what is given becomes checked probabilities or logits, and answers the same kind."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy.special import expit, softmax

from caltest._basics.arrays import index_of, is_data_array, to_array
from caltest._basics.numerics import Array, ArrayLike, FloatArray, IntArray, normalised
from caltest._validation import (
    RENORMALISED_TOLERANCE,
    class_labels,
    class_names,
    finite_array,
    not_swapped,
    same_length,
)
from caltest.predictions import Predictions
from caltest.predictions.inputs.convert import as_predictions, observed_targets

SCALES = ("probabilities", "logits")

SUSPICIOUS = 20
"""So many numbers that are all between 0 and 1 are taken for probabilities even where a map is only applied."""

SMALLEST = np.finfo(np.float64).tiny
"""Probabilities below this are taken as this before logarithms."""


@dataclass(frozen=True, eq=False)
class Scores:
    """Probabilities or logits (n,) or (n, k) in float64, their classes, and the predictions they came from."""

    values: FloatArray
    scale: str
    source: Predictions | None
    classes: tuple[Any, ...] | None

    @property
    def n_columns(self) -> int:
        """1 for (n,), else k."""
        return self.values.shape[1] if self.values.ndim == 2 else 1

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return max(self.n_columns, 2)

    def matrix(self) -> FloatArray:
        """The numbers (n, k) of all classes."""
        if self.values.ndim == 2:
            return self.values
        other = 1.0 - self.values if self.scale == "probabilities" else np.zeros_like(self.values)
        return np.stack([other, self.values], axis=1)

    @property
    def rows(self) -> FloatArray:
        """The numbers as (n, c)."""
        return self.values.reshape(self.values.shape[0], -1)

    def reordered(self, order: IntArray | None) -> Self:
        """The same numbers with the classes in another order."""
        if order is None:
            return self
        if self.values.ndim == 2:
            return replace(self, values=np.ascontiguousarray(self.values[:, order]))
        return replace(self, values=1.0 - self.values if self.scale == "probabilities" else -self.values)

    def answer(self, probabilities: FloatArray) -> Any:
        """Probabilities in the form of what was given."""
        if self.values.ndim == 1 and probabilities.ndim == 2:
            probabilities = probabilities[:, 1].copy()
        return probabilities if self.source is None else self.source.with_probabilities(probabilities)


def labelled_like(data: Any, probabilities: FloatArray) -> Any:
    """Probabilities with the labels of rows and columns of what they were made of: of pandas, polars or xarray."""
    if type(data).__module__.startswith("polars."):
        if np.ndim(data) == 1:
            return type(data)(data.name, probabilities)
        return type(data)(probabilities, schema=data.columns)
    if is_data_array(data):
        return data.copy(data=probabilities) if data.shape == probabilities.shape else probabilities
    if index_of(data) is None:
        return probabilities
    columns = {"name": data.name} if np.ndim(data) == 1 else {"columns": data.columns}
    return type(data)(probabilities, index=data.index, **columns)


def read_scores(data: ArrayLike, scale: str, classes: Sequence[Any] | None = None, *, fitting: bool = False) -> Scores:
    """Checked numbers on a scale; ``ValueError`` for logits in the place of probabilities and the reverse."""
    if scale == "logits":
        values = _logits(data, fitting)
        return Scores(values, scale, None, class_names(classes, values.shape[1] if values.ndim == 2 else 2))
    predictions = as_predictions(data, classes)
    given = predictions if isinstance(data, Predictions) else None
    array = np.asarray(predictions.to_array(), dtype=np.float64)
    return Scores(array if array.ndim == 1 else normalised(array), scale, given, predictions.classes)


def class_numbers(scores: Scores, targets: ArrayLike, classes: Sequence[Any] | None) -> IntArray:
    """Labels 0..k-1 of the observations."""
    array = observed_targets(targets)
    if scores.source is not None:
        return scores.source.check_targets(array)
    not_swapped(scores.values, array)
    labels = class_labels(array, scores.n_classes, classes, one_column=scores.values.ndim == 1)
    same_length(scores.values.shape[0], labels.shape[0])
    return labels


def log_probabilities(scores: FloatArray, scale: str, clip: float = SMALLEST) -> FloatArray:
    """Logits (n, k) as they are, logarithms of probabilities (n, k), of at least ``clip``."""
    return scores if scale == "logits" else np.log(np.maximum(scores, clip))


def probabilities_of(scores: FloatArray, scale: str) -> FloatArray:
    """Probabilities as they are, those of log-odds (n,) or logits (n, k)."""
    if scale == "probabilities":
        return scores
    return np.asarray(expit(scores) if scores.ndim == 1 else softmax(scores, axis=1))


def _logits(data: ArrayLike, fitting: bool) -> FloatArray:
    if isinstance(data, Predictions):
        raise TypeError(f"predictions: got {data.family} predictions, which are no logits; use input='probabilities'")
    array = to_array(data, "predictions")
    if array.ndim not in (1, 2) or array.size == 0:
        raise ValueError(f"predictions: got shape {array.shape}, wanted (n, k) logits or (n,) log-odds of class 1")
    if array.ndim == 2 and array.shape[1] == 1:
        raise ValueError(f"predictions: got shape {array.shape}, wanted one column per class, or log-odds (n,)")
    values = finite_array(array, "predictions")
    if _look_like_probabilities(values, fitting):
        raise ValueError(
            "predictions: got numbers between 0 and 1"
            + (" in rows that sum to 1" if values.ndim == 2 else "")
            + ", which look like probabilities, wanted logits; use input='probabilities'"
        )
    return values


def _look_like_probabilities(values: Array, fitting: bool) -> bool:
    if values.min() < 0.0 or values.max() > 1.0:
        return False
    if values.ndim == 2:
        return bool(np.all(np.abs(values.sum(axis=1) - 1.0) <= RENORMALISED_TOLERANCE))
    return fitting or values.size >= SUSPICIOUS
