"""Members that do not look like others: codes of missing values, or members in another unit."""

import numpy as np

from caltest._basics.numerics import FloatArray, evenly_spaced
from caltest.predictions.ensembles.members import Members
from caltest.predictions.questions.repeated import codes_among

ENOUGH, SOME, FEWEST = 20, 1000, 5
"""Rows from which on one asks, those that are looked at, and the fewest members."""

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
