"""Rows that follow each other and fit their predictions far worse than the others do, as parts of a file may."""

from collections.abc import Callable
from math import sqrt

import numpy as np

from caltest._basics.numerics import Array, FloatArray, IntArray, evenly_spaced
from caltest.predictions.base import Predictions
from caltest.predictions.questions.classes import CLEAR
from caltest.predictions.questions.order import ALL, UNLIKE, WEAK, Rows

SOME, FEWEST = 2000, 20
"""Rows that are looked at, and how many of them there are in a stretch and outside of it at least."""

TIMES = 2.0
"""How many times as large errors are in a stretch as elsewhere."""

SORTED, CHANGES = 0.95, 0.7
"""Share of steps in one direction from which on rows are sorted, and how often neighbours are on different sides, of
rows in any order, from which on rows do not depend on those before."""

NOWHERE = "were they read in the same way (order of rows and columns, unit), or are they of another time or place?"


def in_a_stretch(
    predictions: Predictions, targets: Array, numbers: IntArray, ask: Callable[[IntArray], tuple[str, ...]]
) -> tuple[str, ...]:
    """A question about a stretch of rows that do not fit their predictions where others do; ``ask`` has what it may be.

    ``numbers`` (n,) are those of the rows as the user counts them.
    Nothing is asked about rows that are sorted, by whatever is predicted or occurred, and about series of errors.
    """
    n = len(predictions)
    rows = evenly_spaced(n, SOME)
    if rows.size < 2 * FEWEST:
        return ()
    found = _stretch(Rows.of(predictions.take(rows), targets[rows]))
    if found is None:
        return ()
    start, end = (int(rows[place]) if place < rows.size else n for place in found)
    asked = ask(np.arange(start, end))
    first, last = numbers[start], numbers[end - 1]
    where = f"up to about {last}" if start == 0 else f"from about {first} " + ("on" if end == n else f"to {last}")
    said = f"rows {where} fit their predictions far worse than the others"
    return (f"{said}; there, {asked[0]}" if asked else f"{said}: {NOWHERE}",)


def _stretch(rows: Rows) -> tuple[int, int] | None:
    """First row of a stretch and the one after its last; that with the largest sum of misfits above their mean."""
    misfits = _misfits(rows)
    n = misfits.size
    sums = np.append(0.0, np.cumsum(misfits - misfits.mean()))
    start, end = int(sums.argmin()), int(sums.argmax())
    if start > end:  # The stretch goes on from the last row to the first, or nearly.
        start, end = max((start, n), (0, end), key=lambda one: one[1] - one[0])
    # Fewer rows before or after it are not told from those in it.
    start, end = start if start >= FEWEST else 0, end if n - end >= FEWEST else n
    inside = np.zeros(n, dtype=np.bool_)
    inside[start:end] = True
    if min(inside.sum(), n - inside.sum()) < FEWEST or not _is_clear(misfits, inside):
        return None
    if not _is_far_worse(rows, misfits, inside) or _is_sorted(rows) or _follows(rows, ~inside):
        return None
    return start, end


def _misfits(rows: Rows) -> FloatArray:
    """Squares of errors in predicted variances, or of classes what is lacking of the squares of centred probabilities.

    The mean of the former is 1 if calibrated, the sum of the latter is 0: it is 1 minus the slope, times these squares.
    """
    if not rows.are_classes:
        return rows.squares(ALL, rows.outcomes)
    return np.asarray((rows.moved * (rows.means - rows.outcomes)).sum(axis=1))


def _is_clear(misfits: FloatArray, inside: Array) -> bool:
    parts = [misfits[inside], misfits[~inside]]
    error = sqrt(sum(float(one.var()) / one.size for one in parts))
    return float(parts[0].mean() - parts[1].mean()) > CLEAR * error


def _is_far_worse(rows: Rows, misfits: FloatArray, inside: Array) -> bool:
    parts = inside, ~inside
    if not rows.are_classes:
        own, other = (float(misfits[part].mean()) for part in parts)
        return own > max(UNLIKE, TIMES * other)
    squares = [float(np.square(rows.moved[part]).sum()) for part in parts]
    if min(squares) <= 0.0:
        return False
    own, other = (1.0 - float(misfits[part].sum()) / one for part, one in zip(parts, squares, strict=True))
    return own < WEAK * min(other, 1.0)


def _is_sorted(rows: Rows) -> bool:
    """Whether rows are in the order of what was predicted or occurred."""
    columns = np.concatenate([rows.means, rows.variances[:, None], rows.outcomes], axis=1)
    steps = np.sign(np.diff(columns, axis=0))
    moved = np.abs(steps).sum(axis=0)
    return bool((np.abs(steps.sum(axis=0)) > (2.0 * SORTED - 1.0) * moved)[moved > 0].any())


def _follows(rows: Rows, part: Array) -> bool:
    """Whether classes, or sides of errors, of some rows are those of the row before too often."""
    if rows.are_classes:
        sides = rows.outcomes[part].argmax(axis=1)[:, None]
    else:
        errors = rows.outcomes[part] - rows.means[part]
        sides = (errors > np.median(errors, axis=0)).astype(np.intp)
    for one in sides.T:
        by_chance = 1.0 - np.square(np.bincount(one) / one.size).sum()
        if (one[1:] != one[:-1]).mean() < CHANGES * by_chance:
            return True
    return False
