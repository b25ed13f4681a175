"""Predicted probabilities of a binary outcome."""

from typing import Self

import numpy as np
import scipy

from caltest._basics.numerics import Array, ArrayLike, FloatArray
from caltest._validation import positive_number, probability_vector
from caltest.predictions.base import Parameter, Predictions, require_family, require_same_classes
from caltest.predictions.classes.categorical import ClassProbabilities


class Bernoulli(ClassProbabilities):
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
        new._notion = notion
        new.notes = (*notes, *new.notes)
        return new

    @property
    def probabilities(self) -> FloatArray:
        """Probability vectors (1 - p, p), (..., n, 2)."""
        return np.stack([1.0 - self._array, self._array], axis=-1)

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

    def check_compatible(self, other: Predictions, name: str) -> None:
        require_family(other, Bernoulli, name)
        if isinstance(other, Bernoulli):
            require_same_classes(other.classes, self.classes, name)

    def probability_vectors(self) -> FloatArray:
        """The numbers 2 p, as the total variation distance is half the distance of vectors (1 - p, p)."""
        return 2.0 * self._array[..., None]

    def parameter_vectors(self) -> FloatArray:
        return self._array[..., None]

    def describe(self, n: int | None = None) -> str:
        reduction = "" if self._notion == "binary" else f" ({self._notion})"
        return f"Bernoulli{reduction}, n = {len(self) if n is None else n}"

    def cdf(self, targets: Array) -> FloatArray:
        """``P(Z <= y)`` for the outcome y of each prediction, (..., n): 1 - p for 0, 1 for 1."""
        return np.where(targets >= 1, 1.0, 1.0 - self._array)

    def at_temperature(self, temperature: float) -> Self:
        """Predictions with odds ``(p / (1 - p))**(1/T)``: temperature scaling (Guo et al. 2017).

        The powers are those of densities with respect to the counting measure (Widmann et al. 2021, Definition F.1);
        0, 1/2 and 1 stay.
        """
        logit = scipy.special.logit(self._array)
        return self._like(scipy.special.expit(logit / positive_number("temperature", temperature)))
