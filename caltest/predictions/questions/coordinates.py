"""Coordinates of vectors that look as if they were those of other columns, or in another unit than predicted."""

import numpy as np
import scipy

from caltest._basics.numerics import Array, FloatArray
from caltest.predictions.base import Predictions

MOST = 32
"""Coordinates that are looked at, all or none."""

LARGEST = 16.0
"""Squares of scores count as at most this, so that few of them do not decide."""

WRONG, RIGHT, BETTER, LEAST_ROWS = 2.0, 1.5, 0.25, 20
"""Mean squares of scores from which on a column does not fit a coordinate, and up to which another does, or this share
of it; and the fewest rows."""


def in_another_order(coordinates: list[Predictions], targets: Array) -> tuple[str, ...]:
    """Whether columns of targets (n, d) do not fit their coordinates, and would fit others."""
    each = np.arange(targets.shape[1])
    if each.size > MOST or len(targets) < LEAST_ROWS or not coordinates:
        return ()
    if max(_misfit(one, targets[:, [t]])[0] for t, one in enumerate(coordinates)) <= WRONG:
        return ()
    misfit = np.stack([_misfit(one, targets) for one in coordinates])
    columns = scipy.optimize.linear_sum_assignment(misfit)[1]
    moved = np.flatnonzero(columns != each)
    if not moved.size or (own := misfit[moved, moved].min()) <= WRONG:
        return ()
    if misfit[moved, columns[moved]].max() >= max(RIGHT, BETTER * own):
        return ()
    found = ", ".join(f"coordinate {t}: column {columns[t]}" for t in moved.tolist())
    return (f"columns of the outcomes in another order would fit ({found}): is theirs that of the predictions?",)


def _misfit(law: Predictions, targets: Array) -> FloatArray:
    """Mean squares of scores of columns of targets."""
    return np.asarray(np.minimum(np.square(law.standard_scores(targets.T)), LARGEST).mean(axis=1))


def coordinates_of(law: Predictions, d: int) -> list[Predictions]:
    """The laws of all coordinates; none where these are not known."""
    found = [law.coordinate(t) for t in range(d)]
    return [one for one in found if one is not None]
