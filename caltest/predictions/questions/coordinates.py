"""Coordinates of vectors that look as if they were those of other columns, or in another unit than predicted."""

import numpy as np
import scipy

from caltest._basics.numerics import Array, evenly_spaced
from caltest.predictions.base import Predictions

MOST = 32
"""Coordinates that are looked at, all or none."""

SOME, LARGEST = 1000, 16.0
"""Rows that are looked at; squares of scores count as at most this, so that few of them do not decide."""

WRONG, RIGHT, BETTER, LEAST_ROWS = 2.0, 1.5, 0.25, 20
"""Mean squares of scores from which on a column does not fit a coordinate, and up to which another does, or this share
of it; and the fewest rows."""


def in_another_order(law: Predictions, targets: Array) -> tuple[str, ...]:
    """Whether columns of targets (n, d) do not fit their coordinates, and would fit others."""
    rows, each = evenly_spaced(len(law), SOME), np.arange(targets.shape[1])
    if each.size > MOST or rows.size < LEAST_ROWS or not (some := coordinates_of(law.take(rows), each.size)):
        return ()
    squares = (np.square(one.standard_scores(targets[rows].T)) for one in some)
    misfit = np.stack([np.minimum(one, LARGEST).mean(axis=1) for one in squares])
    if misfit.diagonal().max() <= WRONG:
        return ()
    columns = scipy.optimize.linear_sum_assignment(misfit)[1]
    moved = np.flatnonzero(columns != each)
    if not moved.size or (own := misfit[moved, moved].min()) <= WRONG:
        return ()
    if misfit[moved, columns[moved]].max() >= max(RIGHT, BETTER * own):
        return ()
    found = ", ".join(f"coordinate {t}: column {columns[t]}" for t in moved.tolist())
    return (f"columns of the outcomes in another order would fit ({found}): is theirs that of the predictions?",)


def coordinates_of(law: Predictions, d: int) -> list[Predictions]:
    """The laws of all coordinates; none where these are not known."""
    found = [law.coordinate(t) for t in range(d)]
    return [one for one in found if one is not None]
