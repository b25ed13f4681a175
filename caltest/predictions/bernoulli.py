"""Predicted probabilities of a binary outcome."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from caltest._types import Array, ArrayLike, FloatArray
from caltest._validation import class_labels, class_names, positive_number, probability_vector, same_length
from caltest.kernels import (
    DeltaKernel,
    ExponentialKernel,
    ProductKernel,
    TotalVariation,
)
from caltest.predictions.base import Predictions, require_family, require_same_classes
from caltest.predictions.finite import FinitePredictions


class Bernoulli(FinitePredictions):
    """n probabilities that a binary outcome is 1.

    The total variation distance is ``|p - q|``, as for the vectors (1 - p, p). The Euclidean and the cityblock
    distance are those of the numbers p, as in the Julia reference: ``|p - q|``, not sqrt(2) or 2 times it.

    Parameters
    ----------
    probabilities
        (n,) array-like with values in [0, 1]. Values that exceed 1 by at most 1e-6, as maxima of float32 rows
        can, are taken as 1 (``notes`` and the results say so).
    classes
        Names of the outcomes 0 and 1, if the targets are not 0/1 or booleans.

    Raises
    ------
    ValueError
        For values that are not finite or not in [0, 1].

    Examples
    --------
    >>> import caltest as ct
    >>> ct.Bernoulli([0.2, 0.5, 1.0])
    <Bernoulli, n = 3>
    """

    family = "Bernoulli"
    known_metrics = "TotalVariation(), Cityblock(), Euclidean()"
    brier_factor = 0.5

    def __init__(self, probabilities: ArrayLike, *, classes: Sequence[Any] | None = None) -> None:
        self._fill(probabilities, classes, copy=True)

    @classmethod
    def borrowed(cls, probabilities: ArrayLike, classes: Sequence[Any] | None) -> Self:
        """The same for the duration of a call: the array is not copied where its values can be read as they are."""
        new = object.__new__(cls)
        new._fill(probabilities, classes, copy=False)
        return new

    def _fill(self, probabilities: ArrayLike, classes: Sequence[Any] | None, copy: bool) -> None:
        self._p, note = probability_vector(probabilities, copy=copy)
        self.classes = class_names(classes, 2)
        self.notes = (note,) if note else ()
        self._notion = "binary"

    def _like(self, p: FloatArray) -> Self:
        new = object.__new__(type(self))
        new._p = p
        new.classes = self.classes
        new.notes = self.notes
        new._notion = self._notion
        return new

    @classmethod
    def reduced(cls, p: FloatArray, notion: str, notes: tuple[str, ...]) -> Self:
        """Binary predictions that keep an array made from those for k classes; ``notion`` says how."""
        new = cls.borrowed(p, None)
        new._notion = notion
        new.notes = (*notes, *new.notes)
        return new

    @property
    def shape(self) -> tuple[int, ...]:
        return self._p.shape

    @property
    def probability(self) -> FloatArray:
        """Probabilities of the outcome 1, (..., n)."""
        return self._p

    @property
    def probabilities(self) -> FloatArray:
        """Probability vectors (1 - p, p), (..., n, 2)."""
        return np.stack([1.0 - self._p, self._p], axis=-1)

    def to_array(self) -> FloatArray:
        """Probabilities of class 1, (n,)."""
        return self._p

    def with_probabilities(self, probabilities: FloatArray) -> Self:
        """Predictions of the same kind, with the same names of outcomes, and other probabilities (n,)."""
        checked, _ = probability_vector(probabilities)
        if checked.shape != self._p.shape:
            raise ValueError(f"probabilities: got shape {checked.shape}, wanted {self._p.shape}")
        return self._like(checked)

    @property
    def n_classes(self) -> int:
        return 2

    @property
    def hypothesis(self) -> str:
        question = {"binary": "P(Y = 1 | p) = p", "top label": "P(top label is right | confidence) = confidence"}
        return question.get(self._notion, f"P(Y = 1 | p) = p for {self._notion}")

    @property
    def notion(self) -> str:
        """``"binary"``, ``"top label"`` or ``"class c against the rest"``."""
        return self._notion

    def occurrence(self, c: int) -> str:
        if self._notion == "top label":
            return f"the top label is {('wrong', 'right')[c]}"
        one_class = self._notion.removesuffix(" against the rest")
        if one_class == self._notion:
            return super().occurrence(c)
        return f"{one_class} occurs" if c == 1 else f"another class than {one_class.removeprefix('class ')} occurs"

    def take(self, index: Any) -> Self:
        return self._like(self._p[index])

    def check_targets(self, targets: ArrayLike, name: str = "targets") -> Array:
        """Outcomes 0/1, booleans, or names of ``classes``, as an (n,) integer array."""
        labels = class_labels(targets, 2, self.classes, name)
        same_length(len(self), labels.shape[0], name)
        return labels

    def check_compatible(self, other: Predictions, name: str) -> None:
        """Raise unless ``other`` is binary too."""
        require_family(other, Bernoulli, name)
        if isinstance(other, Bernoulli):
            require_same_classes(other.classes, self.classes, name)

    def probability_vectors(self) -> FloatArray:
        """The numbers 2 p, as the total variation distance is half the distance of vectors (1 - p, p)."""
        return 2.0 * self._p[..., None]

    def parameter_vectors(self) -> FloatArray:
        """The numbers p."""
        return self._p[..., None]

    def default_kernel(self) -> ProductKernel:
        """``exp(-|p - q| / median) x [y = y']``."""
        return ProductKernel(ExponentialKernel(TotalVariation(), "median"), DeltaKernel())

    def describe(self, n: int | None = None) -> str:
        reduction = "" if self._notion == "binary" else f" ({self._notion})"
        return f"Bernoulli{reduction}, n = {len(self) if n is None else n}"

    def cdf(self, targets: Array) -> FloatArray:
        """``P(Z <= y)`` for the outcome y of each prediction, (..., n): 1 - p for 0, 1 for 1."""
        return np.where(targets >= 1, 1.0, 1.0 - self._p)

    def at_temperature(self, temperature: float) -> Self:
        """Predictions with odds ``(p / (1 - p))**(1/T)``: temperature scaling (Guo et al. 2017).

        The powers are those of densities with respect to the counting measure (Widmann et al. 2021, Definition F.1);
        0, 1/2 and 1 stay.
        """
        from scipy.special import expit, logit

        return self._like(expit(logit(self._p) / positive_number("temperature", temperature)))

    def followed_by(self, other: Self) -> Self:
        self.check_compatible(other, "predictions")
        joined = self._like(np.concatenate([self._p, other._p]))
        joined.classes = other.classes if self.classes is None else self.classes
        joined.notes = tuple(dict.fromkeys((*self.notes, *other.notes)))
        return joined
