"""Outcomes that go with the predictions of other rows: some rows before or after, in reverse order, or of any rows."""

from dataclasses import dataclass
from functools import cached_property
from math import inf, sqrt
from typing import Self

import numpy as np
import scipy

from caltest._basics.numerics import Array, FloatArray, evenly_spaced
from caltest.predictions.base import Predictions
from caltest.predictions.reductions.standard_scores import in_units

MOST, LEAST = 1000, 50
"""Rows that are looked at, the first ones, and rows from which on one asks."""

SHIFTS = (1, 2, 3, 4, 6, 7, 12, 24, 48)
"""Numbers of rows by which outcomes may be shifted."""

UNLIKE, WEAK, NEAR = 2.0, 0.5, 0.25
"""Mean square of errors and slope from which on rows do not fit each other, and distance from 1 up to which they do."""

BY_CHANCE = 4.0
"""Over the root of the number of rows: the share by which a mean square of errors is lower elsewhere by chance."""

LARGEST = 16.0
"""Squares of errors count as at most this, so that few of them do not decide."""

ALL = slice(None)
QUESTION = "are both in the same order?"

TELLING, UNTOLD, UNTOLD_OF_MANY = 0.15, 2.0, 4.0
"""Largest standard error of a slope that tells something, and standard errors up to which one of them, and each of
several, says nothing."""

ALIKE, AS_SPREAD = 3.0, 1.3
"""Standard errors between the means of outcomes and predictions, and ratio of their variances, up to which outcomes may
be those of the predictions in another order."""


def misplaced(predictions: Predictions, targets: Array, what: str = "outcomes") -> tuple[str, ...]:
    """A question about the order of rows if outcomes fit the predictions of other rows, or any as well as their own.

    For numbers the fit is the mean square of errors in predicted standard deviations, for classes the slope of what
    occurred on its probability: both are 1 if calibrated.
    """
    n = min(len(predictions), MOST)
    if n < LEAST:
        return ()
    some = predictions if n == len(predictions) else predictions.take(slice(n))
    if predictions.finite is None:
        scores = some.standard_scores(np.asarray(targets[:n], dtype=np.float64)[None])
        if np.minimum(np.square(scores), LARGEST).mean() <= UNLIKE:
            return ()
    first = Rows.of(some, targets[:n])
    if predictions.finite is not None and (first.fit(ALL, first.outcomes) > WEAK or first.slope_error > TELLING):
        return ()
    last = _outcomes(predictions, targets[::-1][:n])
    others = {"in reverse order": first.fit(ALL, last)}
    for step in (one for one in SHIFTS if 4 * one <= n):
        distance = f"{step} row{'s' * (step > 1)}"
        others[f"{distance} below"] = first.fit(slice(n - step), first.outcomes[step:])
        others[f"{distance} above"] = first.fit(slice(step, None), first.outcomes[: n - step])
    words = min(others, key=lambda one: abs(others[one] - 1.0))
    # Of many shifts of few rows some fit better by chance.
    most = inf if first.are_classes else first.fit(ALL, first.outcomes) * (1.0 - BY_CHANCE / sqrt(n))
    if abs(others[words] - 1.0) < NEAR + 2.0 / sqrt(n) and others[words] < most:
        return (f"{what} {words} would fit the predictions: {QUESTION}",)
    rows = evenly_spaced(len(predictions), MOST)
    if Rows.of(predictions.take(rows), targets[rows]).are_unrelated:
        return (f"{what} fit the predictions of other rows as well as their own: {QUESTION}",)
    return ()


@dataclass(frozen=True)
class Rows:
    """Middles of laws (n, d), variances summed over d (n,), and outcomes; of classes probabilities and indicators."""

    means: FloatArray
    variances: FloatArray
    outcomes: FloatArray
    are_classes: bool

    @classmethod
    def of(cls, predictions: Predictions, targets: Array) -> Self:
        """Those of the predictions."""
        finite, y = predictions.finite, _outcomes(predictions, targets)
        if finite is not None:
            p = finite.probabilities
            return cls(p, 1.0 - np.square(p).sum(axis=1), y, True)
        if y.shape[1] == 1 and predictions.is_continuous:  # Moments of some laws take long.
            low, means, high = predictions.quantile(scipy.special.ndtr([[-1.0], [0.0], [1.0]]))
            variances = np.square(0.5 * (high - low))
        else:
            means, variances = predictions.moments()
        return cls(means.reshape(y.shape), variances, y, False)

    def fit(self, rows: slice, outcomes: FloatArray) -> float:
        """How well outcomes fit the predictions of some rows."""
        return _slope(self.means[rows], outcomes) if self.are_classes else float(self.squares(rows, outcomes).mean())

    def squares(self, rows: slice, outcomes: FloatArray) -> FloatArray:
        """Squares of errors in predicted variances."""
        errors = np.square(outcomes - self.means[rows]).sum(axis=1)
        return np.minimum(in_units(errors, self.variances[rows]), LARGEST)

    @cached_property
    def moved(self) -> FloatArray:
        """Middles or probabilities beside their means."""
        return _centred(self.means)

    @cached_property
    def slope_error(self) -> float:
        """The standard error of the slope of independent outcomes."""
        moved = self.moved
        squares, covariance = float(np.square(moved).sum()), np.atleast_2d(np.cov(self.outcomes.T, bias=True))
        error = sqrt(max(float(np.einsum("ic,cd,id->", moved, covariance, moved, optimize=True)), 0.0))
        return error / squares if squares > 0.0 else inf

    @property
    def are_unrelated(self) -> bool:
        """Whether outcomes do not depend on what is predicted for them, but are as predicted overall."""
        m, y = self.moved, _centred(self.outcomes)
        spread, expected = y.var(axis=0), m.var(axis=0).sum() + self.variances.mean()
        apart = np.abs(self.means.mean(axis=0) - self.outcomes.mean(axis=0))
        if (apart > ALIKE * np.sqrt((spread + m.var(axis=0)) / len(y))).any():
            return False
        if not 1.0 / AS_SPREAD < spread.sum() / expected < AS_SPREAD or self.slope_error > TELLING:
            return False
        related = in_units(np.abs(m.T @ y), np.sqrt(np.outer(np.square(m).sum(axis=0), spread)))
        return abs(_slope(m, y)) < UNTOLD * self.slope_error and bool((related < UNTOLD_OF_MANY).all())


def _outcomes(predictions: Predictions, targets: Array) -> FloatArray:
    """Outcomes (n, d), or whether each class occurred (n, k)."""
    finite = predictions.finite
    if finite is None:
        return np.asarray(targets, dtype=np.float64).reshape(len(targets), -1)
    return np.asarray(targets[:, None] == np.arange(finite.n_classes), dtype=np.float64)


def _centred(values: FloatArray) -> FloatArray:
    return np.asarray(values - values.mean(axis=0))


def _slope(means: FloatArray, outcomes: FloatArray) -> float:
    """The slope of outcomes (n, d) on their expected values; 0 where these do not vary."""
    moved = _centred(means)
    squares = np.square(moved).sum()
    return float((moved * outcomes).sum() / squares) if squares > 0.0 else 0.0
