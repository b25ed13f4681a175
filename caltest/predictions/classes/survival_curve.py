"""Predicted survival curves: the probability of no event up to each of some times."""

from typing import Any, Literal, get_args

import numpy as np

from caltest._basics.arrays import to_array
from caltest._basics.numerics import Array, ArrayLike, BoolArray, FloatArray
from caltest._validation import finite_array, increasing_numbers, one_of, real_array, real_targets, refuse_rows
from caltest.predictions.classes.ordinal import Ordinal
from caltest.predictions.levels import Levels, between

Between = Literal["linear", "steps"]

ROUNDING = 1e-6
"""By so much a curve may rise, or leave [0, 1]: single precision."""


class SurvivalCurve(Ordinal):
    """n survival curves ``S(t) = P(T > t)`` at times t_1 < ... < t_m, the same for all rows.

    A curve at some times says how probable it is that the event is between two of them: the probabilities of the m + 1
    intervals ``(0, t_1], (t_1, t_2], ..., (t_m, inf)`` are differences of S. That is what is tested for times that are
    all known: predictions are ``Ordinal`` ones of these intervals, at the times where they begin, so that ``W1`` is the
    area between two curves up to t_m. With ``ct.Censored`` times the test is that of ``F(T) = 1 - S(T)``.

    Parameters
    ----------
    times
        (m,) array-like of increasing times above 0, in the unit of the targets; a first time 0, at which S is 1, is
        left out.
    probabilities
        (n, m) array-like of ``S(t_j)``, one row per subject, which do not increase along the row.
    between
        What a curve is at a censored time between two of its times: on the line that joins them, or, for ``"steps"``,
        what it is at the earlier, where events happen at the times only.

    Raises
    ------
    ValueError
        For times that do not increase or are negative, other shapes, numbers outside [0, 1], curves that rise.

    Notes
    -----
    Where an event is between two times is not used. Where a row is censored between few times, the line that joins
    them is part of what is tested, and rejected a little too often where curves are not straight ("Survival curves" in
    ``docs/validity.md``). A note says so.

    After t_m nothing is known but the probability S(t_m): a row that is under observation then has its event beyond,
    whenever that is. An event before the end of the first interval in which a curve falls, or a row under observation
    after it is 0, is impossible: tests then have p = 0, beside the p-value of the other rows.

    Examples
    --------
    >>> import caltest as ct
    >>> curves = ct.predictions.SurvivalCurve([1.0, 2.0, 5.0], [[0.9, 0.5, 0.2], [0.6, 0.3, 0.1]])
    >>> curves
    <SurvivalCurve, n = 2, 3 times up to 5>
    >>> curves.check_targets([1.5, 7.0])
    array([1, 3])
    """

    family = "SurvivalCurve"
    hypothesis = "P(event between two times | curve) = difference of the curve"

    def __init__(self, times: ArrayLike, probabilities: ArrayLike, *, between: Between = "linear") -> None:
        grid, curves = _checked(times, probabilities)
        one_of("between", between, get_args(Between))
        self._times, self._between, self.longest = grid, between, float(grid[-1])
        ends = np.ones((len(curves), 1))
        jumps = np.maximum(-np.diff(np.concatenate([ends, curves, 0.0 * ends], axis=1), axis=1), 0.0)
        super().__init__(jumps, positions=np.concatenate([[0.0], grid]))
        self._times.flags.writeable = False

    @property
    def times(self) -> FloatArray:
        """The times (m,)."""
        return self._times

    def occurrence(self, c: int) -> str:
        if c == self.times.size:
            return f"no event occurs up to {self.longest:g}"
        return f"the event occurs {f'after {self.times[c - 1]:g} ' if c else ''}up to {self.times[c]:g}"

    def outcome_in_words(self, outcome: Any) -> str:
        c = int(outcome)
        if c == self.times.size:
            return f"no event up to {self.longest:g}"
        return f"an event {f'after {self.times[c - 1]:g} ' if c else ''}up to {self.times[c]:g}"

    def up_to_in_words(self, c: int) -> str:
        return f"an event up to {self.times[c]:g}"

    def observed(self, labels: Array, rng: np.random.Generator) -> FloatArray:
        """Times (..., n) in these intervals; nothing that is tested of known times depends on where in them."""
        ends = np.append(self.times, np.inf)
        u, starts = rng.random(labels.shape), self.positions[labels]
        if self._between == "steps":
            inside = ends[labels]
        else:
            inside = np.maximum(ends[labels] - u * (ends[labels] - starts), np.nextafter(starts, np.inf))
        beyond = self.longest * (1.0 - np.log1p(-u)) + np.finfo(np.float64).tiny
        return np.where(labels == self.times.size, np.maximum(beyond, np.nextafter(self.longest, np.inf)), inside)

    def check_targets(self, targets: ArrayLike, name: str = "targets") -> Array:
        """Positive times as the numbers of their intervals, an (n,) integer array."""
        values = real_targets(targets, len(self), name)
        refuse_rows(values <= 0.0, values, name, "positive times")
        return np.searchsorted(self.times, values, side="left")

    def transforms(self, times: FloatArray, seen: BoolArray) -> Levels:
        interval, rows, last = np.searchsorted(self.times, times, side="left"), np.arange(len(self)), self.times.size
        at = np.concatenate([np.zeros((len(self), 1)), self._cumulative()], axis=1)
        start, end = at[rows, interval], at[rows, interval + 1]
        edges = np.append(self.positions, np.inf)
        is_last = interval == last
        if self._between == "steps":
            reached = ~is_last & (times == edges[interval + 1])
            return between(np.where(seen | ~reached, start, end), np.where(seen, end, 1.0))
        share = np.where(is_last, 0.0, (times - edges[interval]) / np.where(is_last, 1.0, np.diff(edges)[interval]))
        low = start + share * (end - start)
        within = ~is_last & (seen | (low < end))
        edges = np.where(within, (start, end), low)
        return Levels(low, np.where(seen & ~is_last, low, 1.0), *edges)

    def bend(self, times: FloatArray, seen: BoolArray) -> float:
        """How much more probable lines make the intervals in which rows are censored, on average, at constant hazards.

        If S falls by d around S in the middle of an interval, F is about ``d**2 / (8 S)`` above the line there, and the
        event of a row that is censored there less often within the interval by ``(S - d / 2) / S**2`` times that. 0 for
        steps.
        """
        interval, last = np.searchsorted(self.times, times, side="left"), self.times.size
        rows = np.flatnonzero(~seen & (interval < last) & (times < np.append(self.times, np.inf)[interval]))
        if self._between == "steps" or not rows.size:
            return 0.0
        at = np.concatenate([np.zeros((len(self), 1)), self._cumulative()], axis=1)
        start, end = at[rows, interval[rows]], at[rows, interval[rows] + 1]
        fall, middle = end - start, np.maximum(1.0 - (start + end) / 2.0, 1e-12)
        return float((np.square(fall) / 8.0 * (middle - fall / 2.0) / middle**3).sum() / times.size)

    def describe(self, n: int | None = None) -> str:
        number = self.times.size
        times = f"{number} time{'s' if number > 1 else ''} up to {self.longest:g}"
        return f"SurvivalCurve, n = {len(self) if n is None else n}, {times}"


def _checked(times: ArrayLike, probabilities: ArrayLike) -> tuple[FloatArray, FloatArray]:
    grid, array = real_array(times, "times", ndim=1), to_array(probabilities, "probabilities")
    grid = increasing_numbers(grid, "times", "the columns of the probabilities into the same order")
    if array.ndim != 2 or array.shape[1] != grid.size or array.shape[0] == 0:
        turned = array.ndim == 2 and array.shape[0] == grid.size
        raise ValueError(
            f"probabilities: got shape {array.shape}, wanted (n, {grid.size}), a row for each subject and a column for "
            f"each time{'; pass probabilities.T' if turned else ''}"
        )
    curves = finite_array(array, "probabilities")
    wrong = (curves < -ROUNDING) | (curves > 1.0 + ROUNDING)
    if wrong.any():
        i, j = np.argwhere(wrong)[0].tolist()
        advice = "; if these are percentages, divide them by 100" if 2.0 < curves.max() <= 100.0 else ""
        raise ValueError(
            f"probabilities: got {curves[i, j]:.6g} at row {i}, time {grid[j]:g}, wanted probabilities of no event up "
            f"to the time, between 0 and 1{advice}"
        )
    rises = np.diff(curves, axis=1) > ROUNDING
    if rises.any():
        i, j = np.argwhere(rises)[0].tolist()
        advice = "; if these are probabilities of an event, pass 1 - probabilities"
        raise ValueError(
            f"probabilities: got {curves[i, j]:.6g} and then {curves[i, j + 1]:.6g} at row {i}, wanted curves that do "
            f"not rise{advice if (np.diff(curves, axis=1) >= 0.0).all() else ''}"
        )
    if grid[0] < 0.0:
        raise ValueError(f"times: got {grid[0]:g}, wanted times above 0")
    if grid[0] == 0.0:
        if (np.abs(curves[:, 0] - 1.0) > ROUNDING).any():
            raise ValueError("probabilities: got curves below 1 at time 0, wanted 1 there: all events are later")
        grid, curves = grid[1:], curves[:, 1:]
        if grid.size == 0:
            raise ValueError("times: got 0 alone, wanted times above 0")
    return grid.copy(), np.minimum.accumulate(np.clip(curves, 0.0, 1.0), axis=1)
