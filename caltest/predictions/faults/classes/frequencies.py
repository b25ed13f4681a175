"""A fault of predicted probabilities of several classes: shares of all classes that are others than predicted."""

from dataclasses import dataclass
from math import exp, inf, log, sqrt

import numpy as np

from caltest._basics.numerics import FloatArray
from caltest.predictions.classes.finite import FinitePredictions
from caltest.predictions.faults.classes.labels import FLOOR, ClassFault, ClassView, Labels
from caltest.predictions.faults.search import FEWEST
from caltest.predictions.faults.words import Fit, percents

SPREAD = 3.0
"""Standard deviation of the prior law of the log factors, which keeps those of classes without outcomes finite."""

STEPS, LONGEST, CLOSE = 50, 2.0, 1e-9
"""Newton's steps to the most likely factors at most, how far one goes, and how small the last one is."""

REACH = 8.0
"""Standard errors on either side in which the likelihood is looked at."""

NAMED, CLEAR = 3, 2.0
"""Classes whose shares are named at most, and how many standard errors these are off at least."""

MORE = 2.0
"""What is added to the penalty of a factor."""


def likely_cause(law: FinitePredictions) -> str:
    """What makes odds of classes wrong by factors most often, after a comma."""
    return ", as after training on other shares of classes (class weights, resampling)" if law.are_learned else ""


@dataclass(frozen=True)
class Factors:
    """The most likely logarithms (k,) of factors, and how they change with the difference t of those of two classes."""

    logs: FloatArray
    along: FloatArray
    error: float
    t: float
    classes: tuple[int, int]

    def at(self, t: float) -> FloatArray:
        """Near ``self.t`` those that are most likely for another difference, to first order; 0 for none."""
        curve = t * (t - self.t) / self.t
        return np.asarray(t / self.t * self.logs + curve * (self.along - self.logs / self.t))


class Frequencies(ClassFault):
    """``Q_c ~ p_c exp(b_c)`` with the most likely b of all whose ``b_a - b_c`` is t, for the classes most off.

    That is what class weights in training leave, or training on data where classes are more or less frequent.
    """

    kind = "frequencies"
    is_factor = True
    range = (-12.0, 12.0)
    has_simpler = True

    def __init__(self, view: ClassView) -> None:
        super().__init__(view)
        # The k - 2 factors beside t have the penalty of t, and more, as shares of few classes are said more plainly.
        self._penalty = (view.k - 2) * (0.5 * log(max(float(view.weights.sum()), FEWEST)) + MORE)
        self.n_choices = exp(self._penalty)
        self._fitted: Factors | None = None

    def promising(self, seen: Labels) -> FloatArray:
        """No place where counts of classes are too near those expected to outweigh the penalty."""
        squares = float(np.square(seen.excess).sum())
        return np.array([squares if squares > self._penalty else -inf])

    def bounds(self, seen: Labels, sibling: int) -> tuple[float, float]:
        factors = self._factors(seen)
        return factors.t - REACH * factors.error, factors.t + REACH * factors.error

    def log_ratio(self, seen: Labels, sibling: int, t: float) -> float:
        view, logs = self.view, self._factors(seen).at(t)
        norms = (view.weights[part] @ np.log(view.rows(part) @ np.exp(logs)) for part in view.parts)
        return float(seen.counts @ logs) - float(sum(norms))

    def law(self, seen: Labels, sibling: int, t: float) -> FloatArray:
        return np.asarray(self.view.p * np.exp(self._factors(seen).at(t)))

    def place(self, sibling: int) -> str:
        """The two classes most off, once they are known."""
        return ", ".join(self.view.named(c) for c in self._fitted.classes) if self._fitted else ""

    def words(self, seen: Labels, sibling: int, fit: Fit) -> str:
        view, scores = self.view, np.abs(seen.excess)
        a, b = self._pair(seen)
        others = [c for c in np.argsort(-scores) if scores[c] > CLEAR and c not in (a, b)]
        said = []
        for c in (a, b, *others[: NAMED - 2]):
            found, expected = percents(*(one[c] / view.weights.sum() for one in (seen.counts, view.expected)))
            said.append(f"{view.named(c)} in {found} instead of {expected}")
        factor = self.sized(seen, sibling, fit)
        odds = f"the odds of {view.named(a)} against {view.named(b).removeprefix('class ')}"
        shares = f"classes occur in other shares than predicted ({', '.join(said)})"
        return f"{shares}: {odds} are {factor} times those predicted{likely_cause(view.law)}"

    def _pair(self, seen: Labels) -> tuple[int, int]:
        """The classes that are too rare and too frequent most clearly in the predictions."""
        return int(seen.excess.argmax()), int(seen.excess.argmin())

    def _factors(self, seen: Labels) -> Factors:
        """The most likely ones by Newton's method."""
        if self._fitted is None:
            logs = np.zeros(self.view.k)
            for _ in range(STEPS):
                expected, information = self._moments(np.exp(logs))
                step = np.linalg.solve(information, seen.counts - expected - logs / SPREAD**2)
                longest = float(np.abs(step).max())
                logs = logs + step * min(1.0, LONGEST / max(longest, FLOOR))
                if longest < CLOSE:
                    break
            a, b = self._pair(seen)
            covariance = np.linalg.inv(information)
            along = covariance[:, a] - covariance[:, b]
            variance = float(along[a] - along[b])
            self._fitted = Factors(logs, along / variance, sqrt(variance), float(logs[a] - logs[b]), (a, b))
        return self._fitted

    def _moments(self, factors: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Expected counts (k,) with such factors, and the information (k, k) on their logarithms, with the prior's."""
        view = self.view
        expected, products = np.zeros(view.k), np.zeros((view.k, view.k))
        for part in view.parts:
            q = view.rows(part) * factors
            q /= q.sum(axis=1, keepdims=True)
            w = view.weights[part]
            expected += w @ q
            products += (q * w[:, None]).T @ q
        return expected, np.diag(expected) - products + np.eye(view.k) / SPREAD**2
