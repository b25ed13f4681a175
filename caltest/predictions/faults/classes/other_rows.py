"""Predictions of classes that are those of other rows."""

import numpy as np

from caltest._basics.numerics import FloatArray
from caltest.predictions.faults.classes.labels import ClassFault, ClassView, Labels
from caltest.predictions.faults.words import Fit, percent

INSTEAD_OF_RANDOM = 16.0
"""By how much larger the likelihood of labels of other rows has to be than that of random ones, to be named instead."""


class OtherRows(ClassFault):
    """``Q = (1 - t) p + t m`` with the mean m of all predictions, as where rows are mixed up, or inputs are missing."""

    kind = "other rows"
    range = (0.0, 1.0)

    def __init__(self, view: ClassView, n_choices: float = 1.0) -> None:
        super().__init__(view)
        self._mean, self.n_choices = view.expected / view.expected.sum(), n_choices

    def log_ratio(self, seen: Labels, sibling: int, t: float) -> float:
        return float(self.view.weights @ np.log1p(t * (self._mean[seen.first] / seen.probabilities - 1.0)))

    def law(self, seen: Labels, sibling: int, t: float) -> FloatArray:
        return np.asarray((1.0 - t) * self.view.p + t * self._mean)

    def words(self, seen: Labels, sibling: int, fit: Fit) -> str:
        share = self.sized(seen, sibling, fit, percent)
        return f"predictions are overconfident, as if about {share} of them were those of other rows"
