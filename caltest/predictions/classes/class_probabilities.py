"""What predictions share that are one array of probabilities of classes: of class 1, or of all of them."""

from abc import abstractmethod
from collections.abc import Sequence
from copy import copy
from typing import Any, Self

import numpy as np

from caltest._basics.types import Array, ArrayLike, FloatArray
from caltest._validation import class_labels, class_names, same_length
from caltest.kernels import DeltaKernel, ExponentialKernel, ProductKernel, TotalVariation
from caltest.predictions.classes.finite import FinitePredictions


class ClassProbabilities(FinitePredictions):
    """Distributions on the classes 0..k-1, given by an array of probabilities."""

    _array: FloatArray

    def __init__(self, probabilities: ArrayLike, *, classes: Sequence[Any] | None = None) -> None:
        self._fill(probabilities, classes, copy=True)

    @classmethod
    def borrowed(cls, probabilities: ArrayLike, classes: Sequence[Any] | None) -> Self:
        """The same for the duration of a call: the array is not copied where its values can be read as they are."""
        new = object.__new__(cls)
        new._fill(probabilities, classes, copy=False)
        return new

    def _fill(self, probabilities: ArrayLike, classes: Sequence[Any] | None, copy: bool) -> None:
        self._array, note = self._checked(probabilities, copy)
        self.classes = class_names(classes, self.n_classes)
        self.notes = (note,) if note else ()

    @staticmethod
    @abstractmethod
    def _checked(probabilities: ArrayLike, copy: bool) -> tuple[FloatArray, str]:
        """The array, and a note on what was done to it."""

    def _like(self, array: FloatArray) -> Self:
        new = copy(self)
        new._array = array
        return new

    def to_array(self) -> FloatArray:
        return self._array

    def with_probabilities(self, probabilities: FloatArray) -> Self:
        checked, _ = self._checked(probabilities, True)
        if checked.shape != self._array.shape:
            raise ValueError(f"probabilities: got shape {checked.shape}, wanted {self._array.shape}")
        return self._like(checked)

    def take(self, index: Any) -> Self:
        return self._like(self._array[index])

    def check_targets(self, targets: ArrayLike, name: str = "targets") -> Array:
        """Labels 0..k-1, booleans for two classes, or names of ``classes``, as an (n,) integer array."""
        labels = class_labels(targets, self.n_classes, self.classes, name)
        same_length(len(self), labels.shape[0], name)
        return labels

    def default_kernel(self) -> ProductKernel:
        """``exp(-TV / median) x [y = y']``, the kernel of the 2019 paper; TV is ``|p - q|`` for two classes."""
        return ProductKernel(ExponentialKernel(TotalVariation(), "median"), DeltaKernel())

    def followed_by(self, other: Self) -> Self:
        self.check_compatible(other, "predictions")
        joined = self._like(np.concatenate([self._array, other._array]))
        joined.classes = other.classes if self.classes is None else self.classes
        joined.notes = tuple(dict.fromkeys((*self.notes, *other.notes)))
        return joined
