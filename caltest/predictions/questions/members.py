"""Members that do not look like others: copies of each other or of the outcome, codes, or another unit."""

import numpy as np

from caltest._basics.numerics import Array, FloatArray, evenly_spaced
from caltest.predictions.ensembles.members import Members
from caltest.predictions.questions.repeated import codes_among

ENOUGH, SOME, FEWEST = 20, 1000, 5
"""Rows from which on one asks, those that are looked at, and the fewest members."""

CONTINUOUS = 0.5
"""Share of different numbers among all members from which on an outcome is no member by chance."""

FAR, NEARLY_ALL = 10.0, 0.95
"""How far members are from all others, in units of the range of these, and in which share of the rows."""


def members_apart(predictions: Members) -> tuple[str, ...]:
    """What to ask about values of members that are codes, and about members far from all others in all rows."""
    members = predictions.members
    if len(members) >= ENOUGH and (codes := codes_among(members)):
        return tuple(
            f"{np.count_nonzero(members == code)} values of members are {code:g}: is that a code for missing ones "
            "(leave those members or rows out)?"
            for code in codes
        )
    some = members[evenly_spaced(len(members), SOME)]
    return () if some.ndim == 3 or len(some) < ENOUGH or some.shape[1] < FEWEST else _far(some)


def _far(members: FloatArray) -> tuple[str, ...]:
    """Of members (n, m) in ascending order, where less than half of them are beyond one gap of all rows."""
    m = members.shape[1]
    for which, ascending in (("below", members), ("above", -members[:, ::-1])):
        for number in range(1, (m + 1) // 2):
            gap, rest = ascending[:, number] - ascending[:, number - 1], ascending[:, -1] - ascending[:, number]
            if ((gap > FAR * rest) & (gap > 0.0)).mean() >= NEARLY_ALL:
                were = f"{number} of {m} members {'are' if number > 1 else 'is'} far {which} all others"
                return (f"in nearly all cases {were}: another unit, or a code for missing ones?",)
    return ()


def copied_members(predictions: Members, targets: Array) -> tuple[str, ...]:
    """What to ask about members that are copies in all rows, or one number, and about outcomes that are members."""
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
    if number := _still(predictions.members, np.asarray(targets, dtype=np.float64)):
        asked.append(
            f"in {number} of {len(predictions)} cases all members are one number, which no other case has: does the "
            "sampler move?"
        )
    return tuple(asked)


def _still(members: FloatArray, y: FloatArray) -> int:
    """In how many cases all members (n, m) or (n, m, d) of a coordinate are one number that no other case has."""
    if members.shape[1] < FEWEST:
        return 0
    members, y = members.reshape(*members.shape[:2], -1), y.reshape(len(y), -1)
    still = (members == members[:, :1]).all(axis=1) & (members[:, 0] != y)
    for j in np.flatnonzero(still.any(axis=0)):
        values, times = np.unique(members[..., j], return_counts=True)
        still[:, j] &= times[np.searchsorted(values, members[:, 0, j])] == members.shape[1]
    return int(still.any(axis=1).sum())


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
