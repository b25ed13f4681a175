"""Members that look like copies of each other, or of the outcome."""

import numpy as np

from caltest._basics.numerics import Array, FloatArray, evenly_spaced
from caltest.predictions.ensembles.members import Members

ENOUGH, SOME = 20, 1000
"""Rows from which on one asks, and those that are looked at."""

CONTINUOUS = 0.5
"""Share of different numbers among all members from which on an outcome is no member by chance."""


def of_members(predictions: Members, targets: Array) -> tuple[str, ...]:
    """What to ask about members that occur several times in all rows, and about outcomes that are members."""
    rows = evenly_spaced(len(predictions), SOME)
    members, y = predictions.members[rows], np.asarray(targets[rows], dtype=np.float64)
    if members.ndim == 3:
        members, y = np.sort(members[..., 0], axis=1), y[:, 0]
    if rows.size < ENOUGH or members.shape[1] < 2:
        return ()
    asked = []
    if (different := _different(members)) is not None:
        asked.append(
            f"no case has more than {different} different values among its {members.shape[1]} members: are there "
            "copies, which make predictions look too narrow?"
        )
    if (members == y[:, None]).any(axis=1).all() and np.unique(members).size > CONTINUOUS * members.size:
        asked.append("every outcome is one of its members: are outcomes among them?")
    return tuple(asked)


def _different(members: FloatArray) -> int | None:
    """Different members of each row, (n, m) in ascending order, if some are copies: always as many of each.

    Members are equal for other reasons too, rounding or no rain, but not in all rows and as often.
    """
    is_new = np.diff(members, axis=1) > 0.0
    numbers = 1 + is_new.sum(axis=1)
    most = int(numbers.max())
    full = is_new[numbers == most]
    if most in (1, members.shape[1]) or len(full) < ENOUGH:
        return None
    starts = np.nonzero(np.append(np.ones((len(full), 1), dtype=np.bool_), full, axis=1))[1].reshape(len(full), most)
    times = np.sort(np.diff(starts, axis=1, append=members.shape[1]), axis=1)
    return most if (times == times[0]).all() else None
