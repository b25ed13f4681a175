"""Counts of 0 that are too many or too few."""

from collections.abc import Sequence

import numpy as np

from caltest._basics.numerics import BoolArray, FloatArray
from caltest.predictions.faults.counts.seen import Counts
from caltest.predictions.faults.fault import Fault, Pattern, Scope
from caltest.predictions.faults.words import Fit, about, percent


class Zeros(Fault[Counts]):
    """``Q = (1 - t) P + t 1{0}``: zeros that come from elsewhere."""

    kind = "zeros"
    range = (0.0, 1.0)

    def log_ratio(self, seen: Counts, sibling: int, t: float) -> float:
        return float(seen.view.weights @ self._added(seen, sibling, t))

    def _added(self, seen: Counts, sibling: int, t: float) -> FloatArray:
        """Log likelihood ratios (n,)."""
        logs = np.log1p(-t) + self._others(seen, t)
        zero = seen.is_zero[0] > 0.0
        logs[zero] = np.logaddexp(logs[zero], np.log(t) - seen.log_probabilities[zero])
        return np.asarray(logs)

    def _others(self, seen: Counts, t: float) -> FloatArray:
        """Log likelihood ratios of the law of the counts that are not 0 for this reason."""
        return np.zeros(len(seen.first))

    def words(self, seen: Counts, sibling: int, fit: Fit) -> str:
        much = f"about {self.sized(seen, sibling, fit, percent)} of the counts are 0 whatever is predicted"
        return f"there are too many zeros: {seen.zeros_in_words()}; {much}"


class LocalZeros(Zeros):
    """The same for half of the predictions."""

    kind = "local zeros"
    scope: Scope = "places"

    def __init__(self, places: Sequence[Pattern]) -> None:
        self._places, self.n_siblings = places, len(places)

    def place(self, sibling: int) -> str:
        return self._places[sibling].where.strip()

    def _at(self, sibling: int) -> BoolArray:
        return np.asarray(self._places[sibling].signs != 0.0)

    def _added(self, seen: Counts, sibling: int, t: float) -> FloatArray:
        return np.where(self._at(sibling), super()._added(seen, sibling, t), 0.0)

    def words(self, seen: Counts, sibling: int, fit: Fit) -> str:
        much = f"about {self.sized(seen, sibling, fit, percent)} of the counts there are 0 whatever is predicted"
        where = self._places[sibling].where
        return f"there are too many zeros{where}: {seen.zeros_in_words(self._at(sibling))}; {much}"


class MeanKept(Zeros):
    """The same with a mean m / (1 - t) of the others, so that the mean is as predicted."""

    kind = "zeros, mean kept"
    range = (0.0, 0.99)

    def promising(self, seen: Counts) -> FloatArray:
        """How many more zeros there are: where these are not too many, only the other counts are larger."""
        more = float(seen.view.weights @ (seen.is_zero[0] - seen.view.zero))
        return np.array([more if more > 0.0 else -np.inf])

    def _others(self, seen: Counts, t: float) -> FloatArray:
        return seen.log_ratio(seen.view.law.with_mean(seen.view.mean / (1.0 - t)))

    def words(self, seen: Counts, sibling: int, fit: Fit) -> str:
        larger = about(1.0 / (1.0 - fit.t))
        return f"{super().words(seen, sibling, fit)}, and the others {larger} times as large"


class FewZeros(Zeros):
    """A share t of the zeros does not occur, and other counts do in their place, in proportion to what is predicted."""

    kind = "few zeros"

    def log_ratio(self, seen: Counts, sibling: int, t: float) -> float:
        view, zero = seen.view, seen.is_zero[0] > 0.0
        p = np.minimum(view.zero, 1.0 - 1e-12)
        logs = np.where(zero, np.log(max(1.0 - t, 1e-300)), np.log1p(t * p / (1.0 - p)))
        return float(view.weights @ logs)

    def words(self, seen: Counts, sibling: int, fit: Fit) -> str:
        much = f"about {self.sized(seen, sibling, fit, percent)} of those predicted do not occur"
        return f"there are too few zeros: {seen.zeros_in_words()}; {much}"
