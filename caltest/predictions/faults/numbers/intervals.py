"""Faults of times of events, and what they see of scores that are only known to be in intervals, if censored."""

from typing import Any

import numpy as np
import scipy

from caltest._basics.numerics import BoolArray, FloatArray
from caltest.predictions.base import Predictions
from caltest.predictions.faults.fault import Fault, Faults
from caltest.predictions.faults.numbers.errors import Shift
from caltest.predictions.faults.numbers.faults import INSTEAD_OF_FACTOR, NumberFaults
from caltest.predictions.faults.numbers.rates import TimeFactor, faults_of_events
from caltest.predictions.faults.numbers.risks import Risks
from caltest.predictions.faults.numbers.scores import Scores
from caltest.predictions.faults.patterns import Pattern
from caltest.predictions.faults.words import Fit, percent, sized_shift
from caltest.predictions.reductions.standard_scores import FARTHEST as LEAST, SMALLEST

ALIKE = 0.02
"""Ends of intervals that differ by less are taken together, as their mean: a likelihood hardly sees that."""

PLACES, SHARES = np.polynomial.legendre.leggauss(24)
"""Of nodes in an interval, between -1 and 1, with weights that sum to 2."""

LEAST_EVENTS = 0.02
"""Share of rows with an event from which on rows without one are looked for."""

FARTHEST, SMALLEST_FALL = 8.0, 1e-15
"""Scores beyond which an interval is not followed, and the least fall of the logarithm of what is left within one."""


def faults_in_intervals(
    law: Predictions,
    levels: FloatArray,
    ends: tuple[FloatArray, FloatArray],
    weights: FloatArray,
    risks: Risks | None = None,
) -> tuple[NumberFaults, "IntervalScores"]:
    """Faults of levels (n,), some of which are only known to be between their ends (n,), and what they see.

    And those of what is predicted for each row, if that is known.
    """
    # Where F is 1 up to rounding, a row that is censored has no room for its event, and looks like one with it.
    is_known = (ends[0] >= ends[1]) & (ends[1] < 1.0)
    known = scipy.special.ndtri(np.clip(levels[is_known], SMALLEST, 1.0 - LEAST))
    both = np.clip(scipy.special.ndtri(np.stack(ends)[:, ~is_known]), -FARTHEST, FARTHEST)
    _, groups = np.unique(np.round(both / ALIKE), axis=1, return_inverse=True)
    groups, of_rows = groups.ravel(), weights[~is_known]
    totals = np.bincount(groups, of_rows)
    low, high = (np.bincount(groups, of_rows * one) / totals for one in both)
    seen = IntervalScores(law, known, low, high, np.concatenate([weights[is_known], totals]), risks)
    faults = TimeFaults(law.take(np.zeros(seen.residuals.size, dtype=np.intp)), seen.given_weights)
    others = () if risks is None else faults_of_events(risks)
    later = Later([Pattern(np.ones(seen.residuals.size))])
    if others:
        # A factor of times or of rates is said where a shift of scores is nearly the same.
        later.n_choices = TimeFactor.n_choices * INSTEAD_OF_FACTOR
    faults.kinds = (Hazard(), Never(), later, *faults.kinds[1:], *others)
    return faults, seen


class TimeFaults(NumberFaults):
    """Those of numbers, of their rates, and of rows, as long as it is known what is predicted for each."""

    def after(self, seen: Scores, correction: Any) -> tuple[Faults, Scores]:
        if isinstance(correction, Risks):
            ends = correction.levels
            return faults_in_intervals(seen.law, ends[0], ends, correction.weights, correction)
        assert isinstance(seen, IntervalScores)
        if seen.risks is not None and isinstance(correction, np.ndarray):
            return self.after(seen, seen.risks.moved(seen.errors, correction))
        return super().after(seen, correction)


class Later(Shift):
    """A shift of all scores, in words that suit times."""

    def words(self, seen: Scores, sibling: int, fit: Fit) -> str:
        much = f"{sized_shift(fit, lambda t: self.size(seen, sibling, t))} {self.unit}"
        return f"events come {'later' if fit.t > 0.0 else 'earlier'} than predicted, by {much}"


class Hazard(Fault["IntervalScores"]):
    """Events at exp(t) times the predicted rate at any time: levels u of which ``1 - (1 - u)**exp(t)`` is uniform."""

    kind = "hazard"
    is_factor = True
    range = (-7.0, 7.0)

    def promising(self, seen: "IntervalScores") -> FloatArray:
        """Not where no event was seen."""
        return np.array([0.0 if seen.share_of_events > 0.0 else -np.inf])

    def log_ratio(self, seen: "IntervalScores", sibling: int, t: float) -> float:
        return seen.total_of_hazards(t)

    def corrected(self, seen: "IntervalScores", sibling: int, t: float) -> Any:
        if seen.risks is not None:
            return seen.risks.after(lambda h: h * np.exp(t))
        left = np.exp(np.exp(t) * scipy.special.log_ndtr(-seen.errors))
        return seen.with_errors(np.clip(-scipy.special.ndtri(left), -FARTHEST, FARTHEST))

    def words(self, seen: "IntervalScores", sibling: int, fit: Fit) -> str:
        return f"events come at {self.sized(seen, sibling, fit)} times the predicted rate"


class Never(Fault["IntervalScores"]):
    """A share t of the rows have no event, however long they are watched."""

    kind = "never"
    range = (0.0, 1.0)

    def promising(self, seen: "IntervalScores") -> FloatArray:
        """Not where hardly any event was seen, which says nothing on rows that have one."""
        return np.array([0.0 if seen.share_of_events > LEAST_EVENTS else -np.inf])

    def log_ratio(self, seen: "IntervalScores", sibling: int, t: float) -> float:
        return seen.total_of_never(t)

    def words(self, seen: "IntervalScores", sibling: int, fit: Fit) -> str:
        return f"about {self.sized(seen, sibling, fit, percent)} of the rows never have the event, however late"


class IntervalScores(Scores):
    """Residuals that are known (k,), then nodes in the intervals of c others, then their lower and their upper ends.

    The likelihood ratio of a fault is that of an interval: the mean of the ratio of densities over the normal law
    within it. Scores that were drawn there would look as predicted, whatever the fault.
    """

    def __init__(
        self,
        law: Predictions,
        known: FloatArray,
        low: FloatArray,
        high: FloatArray,
        weights: FloatArray,
        risks: Risks | None = None,
    ) -> None:
        """From known scores (k,), ends (c,) of others, weights (k + c,), and perhaps what is predicted for each row."""
        self.risks = risks
        low = np.clip(low, -FARTHEST, FARTHEST - 1.0)
        high = np.clip(high, low + 1e-6, FARTHEST)
        half = (high - low)[:, None] / 2.0
        nodes = low[:, None] + half * (1.0 + PLACES)
        logs = np.log(SHARES) - 0.5 * np.square(nodes)
        logs -= scipy.special.logsumexp(logs, axis=1, keepdims=True)
        self._n_known, self._weights, self._log_shares, self._ends = known.size, weights, logs, np.stack([low, high])
        shares = weights[known.size :, None] * np.exp(logs)
        expanded = np.concatenate([weights[: known.size], shares.ravel(), np.zeros(2 * low.size)])
        residuals = np.concatenate([known, nodes.ravel(), low, high])
        super().__init__(law, residuals[None], expanded, corrected=residuals)

    def after(self, correction: FloatArray | Scores) -> "IntervalScores":
        assert not isinstance(correction, Scores)
        ends = correction[correction.size - 2 * (self._weights.size - self._n_known) :].reshape(2, -1)
        # What is not bounded stays so.
        low, high = np.where(np.abs(self._ends) < FARTHEST, ends, self._ends)
        return IntervalScores(self.law, correction[: self._n_known], low, high, self._weights)

    def total(self, logs: FloatArray) -> float:
        k, shares = self._n_known, self._log_shares
        within = scipy.special.logsumexp(logs[k : k + shares.size].reshape(shares.shape) + shares, axis=1)
        return float(self._weights @ np.concatenate([logs[:k], within]))

    def total_of_hazards(self, t: float) -> float:
        """That of events at exp(t) times the rate: slow ones come after all nodes, but those after the ends are known.

        With ``S(a)`` left at the lower end, the ratio of an interval is ``(S(a)**e - S(b)**e) / (S(a) - S(b))``.
        """
        known, factor = scipy.special.log_ndtr(-self.errors[: self._n_known]), np.exp(t)
        start, end = np.where(self._ends < FARTHEST, scipy.special.log_ndtr(-self._ends), -np.inf)
        fall = np.minimum(end - start, -SMALLEST_FALL)
        within = (factor - 1.0) * start + np.log(np.expm1(factor * fall) / np.expm1(fall))
        return float(self._weights @ np.concatenate([t + (factor - 1.0) * known, within]))

    def total_of_never(self, t: float) -> float:
        """That of a share t without an event, as rows have that were watched until S was hardly anything."""
        logs = np.full(self._weights.size, np.log1p(-min(t, 1.0 - LEAST)))
        is_open = self._are_open
        left = -scipy.special.log_ndtr(-self._ends[0, is_open])
        logs[self._n_known :][is_open] = np.logaddexp(logs[0], np.log(max(t, SMALLEST)) + left)
        return float(self._weights @ logs)

    @property
    def _are_open(self) -> BoolArray:
        """Which intervals are those of censored rows, whose ends are means of equal ones, up to rounding."""
        return np.asarray(self._ends[1] > FARTHEST - ALIKE)

    @property
    def share_of_events(self) -> float:
        """Of the weight that is of rows with an event."""
        return 1.0 - float(self._weights[self._n_known :] @ self._are_open) / float(self._weights.sum())

    @property
    def of_rows(self) -> Risks:
        """What is predicted for each row."""
        assert self.risks is not None
        return self.risks

    @property
    def known_share(self) -> float:
        return float(self._weights[: self._n_known].sum() / self._weights.sum())

    def shifted_back(self, signs: FloatArray, location: FloatArray) -> None:
        """None: the units of the targets are not known of scores."""
