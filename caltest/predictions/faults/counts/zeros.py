"""Counts of 0 that are too many or too few."""

from math import log, log1p

import numpy as np

from caltest._basics.numerics import FloatArray
from caltest.predictions.faults.counts.seen import Counts
from caltest.predictions.faults.fault import Mixed
from caltest.predictions.faults.patterns import OfPatterns
from caltest.predictions.faults.words import Fit, about, percent


class Zeros(OfPatterns[Counts], Mixed[Counts]):
    """``Q = (1 - t) P + t 1{0}`` of the predictions of a pattern: zeros that come from elsewhere."""

    kind = "zeros"

    def log_ratios(self, seen: Counts, sibling: int) -> FloatArray:
        ratios = np.where(seen.is_zero[0] > 0.0, -seen.log_probabilities, -np.inf)
        return np.where(self.patterns[sibling].signs > 0.0, ratios, 0.0)

    def words(self, seen: Counts, sibling: int, fit: Fit) -> str:
        one, share = self.patterns[sibling], self.sized(seen, sibling, fit, percent)
        much = f"about {share} of the counts {'there ' if one.where else ''}are 0 whatever is predicted"
        return f"there are too many zeros{one.where}: {seen.zeros_in_words(one.signs > 0.0)}; {much}"


class MeanKept(Zeros):
    """The same with a mean m / (1 - t) of the others, so that the mean is as predicted."""

    kind = "zeros, mean kept"
    range = (0.0, 0.99)

    def promising(self, seen: Counts) -> FloatArray:
        """How many more zeros there are: where these are not too many, only the other counts are larger."""
        more = float(seen.view.weights @ (seen.is_zero[0] - seen.view.zero))
        return np.array([more if more > 0.0 else -np.inf])

    def log_ratio(self, seen: Counts, sibling: int, t: float) -> float:
        if t <= 0.0:
            return 0.0
        others = log1p(-t) + seen.log_ratio(seen.view.law.with_mean(seen.view.mean / (1.0 - t)))
        return seen.total(np.logaddexp(others, log(t) + self.log_ratios(seen, sibling)))

    def words(self, seen: Counts, sibling: int, fit: Fit) -> str:
        larger = about(1.0 / (1.0 - fit.t))
        return f"{super().words(seen, sibling, fit)}, and the others {larger} times as large"


class FewZeros(Mixed[Counts]):
    """A share t of the zeros does not occur, and other counts do in their place, in proportion to what is predicted."""

    kind = "few zeros"

    def log_ratios(self, seen: Counts, sibling: int) -> FloatArray:
        others = -np.log1p(-np.minimum(seen.view.zero, 1.0 - 1e-12))
        return np.where(seen.is_zero[0] > 0.0, -np.inf, others)

    def words(self, seen: Counts, sibling: int, fit: Fit) -> str:
        much = f"about {self.sized(seen, sibling, fit, percent)} of those predicted do not occur"
        return f"there are too few zeros: {seen.zeros_in_words()}; {much}"
