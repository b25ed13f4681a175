"""Kernels of the total variation distance of many classes, in single precision, summed over pairs for many redraws.

The distance of probability vectors is ``1 - sum_c min(p_c, q_c)``. With ``t = exp(-TV / (4 b))`` the kernels of the
bandwidths 4b, 2b, b, b/2 and b/4 are t, t**2, t**4, t**8 and t**16: no more than squares of one exponential.
"""

import numpy as np

from caltest._basics.jit import jit, jit_sums
from caltest._basics.numerics import Array, FloatArray, IntArray

BUCKETS = 2**13
"""Lists of equal labels; those of more classes share lists, and are told apart when pairs are known."""

FOUR = 4
"""Members of a list that are written at once, whether there are so many or not: no branch has to be predicted."""

Begin = tuple[int, int]
"""Of rows and of columns."""

Lists = tuple[Array, Array, Array]
"""Where the list of each label starts, its members, and room for the places of pairs."""

GROUP = 16
"""Classes whose probabilities stay in the cache while all rows of a tile use them."""


@jit
def overlaps(rows: Array, columns: Array, out: Array) -> None:
    """``out[i, j] = sum_c min(rows[i, c], columns[c, j])`` for rows (r, k) and columns (k, w), in single precision.

    ``out`` has as many rows as r, rounded up to a multiple of four.
    """
    r, k = rows.shape
    w = columns.shape[1]
    for i in range(out.shape[0]):
        for j in range(w):
            out[i, j] = np.float32(0.0)
    for begin in range(0, k, GROUP):
        end = begin + GROUP if begin + GROUP < k else k
        for i in range(0, r, FOUR):
            i1 = i + 1 if i + 1 < r else r - 1
            i2 = i + 2 if i + 2 < r else r - 1
            i3 = i + 3 if i + 3 < r else r - 1
            for c in range(begin, end, 2):
                # Of an odd number of classes the last one has a partner of probability 0.
                d, weight = (c + 1, np.float32(1.0)) if c + 1 < end else (c, np.float32(0.0))
                p0, p1, p2, p3 = rows[i, c], rows[i1, c], rows[i2, c], rows[i3, c]
                q0, q1, q2, q3 = weight * rows[i, d], weight * rows[i1, d], weight * rows[i2, d], weight * rows[i3, d]
                for j in range(w):
                    u, v = columns[c, j], columns[d, j]
                    out[i, j] += (p0 if p0 < u else u) + (q0 if q0 < v else v)
                    out[i + 1, j] += (p1 if p1 < u else u) + (q1 if q1 < v else v)
                    out[i + 2, j] += (p2 if p2 < u else u) + (q2 if q2 < v else v)
                    out[i + 3, j] += (p3 if p3 < u else u) + (q3 if q3 < v else v)


@jit_sums
def add_smoothed(tile: Array, columns: Array, starts: IntArray, classes: Array, out: Array) -> None:
    """Add ``sum_j t_ij**(2**l) columns[c, j]`` to ``out[e, l]``, for the entries e of each row and their classes c.

    The tile (r, w) and the columns (k, w) have single precision; the entries of row i are those from ``starts[i]`` to
    ``starts[i + 1]``.
    """
    r, w = tile.shape
    zero = np.float32(0.0)
    powers = np.empty((5, w), dtype=np.float32)
    t, t2, t4, t8, t16 = powers[0], powers[1], powers[2], powers[3], powers[4]
    for i in range(r):
        for j in range(w):
            t[j] = tile[i, j]
            t2[j] = t[j] * t[j]
            t4[j] = t2[j] * t2[j]
            t8[j] = t4[j] * t4[j]
            t16[j] = t8[j] * t8[j]
        for e in range(starts[i], starts[i + 1], 2):
            other = min(e + 1, starts[i + 1] - 1)
            p, q = columns[classes[e]], columns[classes[other]]
            a0 = a1 = a2 = a3 = a4 = b0 = b1 = b2 = b3 = b4 = zero
            for j in range(w):
                u, v = p[j], q[j]
                a0 += t[j] * u
                a1 += t2[j] * u
                a2 += t4[j] * u
                a3 += t8[j] * u
                a4 += t16[j] * u
                b0 += t[j] * v
                b1 += t2[j] * v
                b2 += t4[j] * v
                b3 += t8[j] * v
                b4 += t16[j] * v
            out[e, 0] += a0
            out[e, 1] += a1
            out[e, 2] += a2
            out[e, 3] += a3
            out[e, 4] += a4
            if other > e:
                out[other, 0] += b0
                out[other, 1] += b1
                out[other, 2] += b2
                out[other, 3] += b3
                out[other, 4] += b4


def sort_labels(labels: Array, begin: int, end: int, starts: Array, members: Array) -> None:
    """Columns ``begin`` to ``end`` of each redraw of labels (B, n) in the order of their labels, counted from 0.

    Those of bucket c are ``members[b, starts[b, c] : starts[b, c + 1]]``; the width of ``starts`` is the number of
    buckets and one more, that of ``members`` the number of columns and four more.
    """
    _sort_labels(labels, begin, end, np.empty(starts.shape[1] - 1, dtype=np.int64), starts, members)


@jit
def _sort_labels(labels: Array, begin: int, end: int, place: IntArray, starts: Array, members: Array) -> None:
    n_buckets = place.shape[0]
    for b in range(labels.shape[0]):
        for c in range(n_buckets):
            place[c] = 0
        for j in range(begin, end):
            place[int(labels[b, j]) & (BUCKETS - 1)] += 1
        total = 0
        for c in range(n_buckets):
            starts[b, c] = total
            total += int(place[c])
            place[c] = starts[b, c]
        starts[b, n_buckets] = total
        for j in range(begin, end):
            c = int(labels[b, j]) & (BUCKETS - 1)
            members[b, place[c]] = j - begin
            place[c] += 1
        for j in range(FOUR):
            members[b, end - begin + j] = 0


@jit
def _pairs_that_agree(labels: Array, b: int, begin: Begin, shape: Begin, lists: Lists, checked: bool) -> int:
    """Write the places i w + j in a tile of pairs with the same label, and return how many there are."""
    (first, second), (r, w), (starts, members, pairs), n = begin, shape, lists, 0
    for i in range(r):
        c, top = int(labels[b, first + i]) & (BUCKETS - 1), i * w
        s = int(starts[b, c])
        count = int(starts[b, c + 1]) - s
        for q in range(FOUR):
            pairs[n + q] = top + int(members[b, s + q])
        for q in range(FOUR, count):
            pairs[n + q] = top + int(members[b, s + q])
        n += count
    if not checked:
        return n
    kept = 0
    for e in range(n):
        at = pairs[e]
        pairs[kept] = at
        kept += 1 if labels[b, first + at // w] == labels[b, second + at % w] else 0
    return kept


@jit_sums
def _powers_at(values: Array, pairs: Array, n: int, sums: FloatArray, b: int) -> None:
    s0 = s1 = s2 = s3 = s4 = np.float32(0.0)
    for e in range(n):
        t = values[pairs[e]]
        t2 = t * t
        t4 = t2 * t2
        t8 = t4 * t4
        s0 += t
        s1 += t2
        s2 += t4
        s3 += t8
        s4 += t8 * t8
    sums[b, 0] += s0
    sums[b, 1] += s1
    sums[b, 2] += s2
    sums[b, 3] += s3
    sums[b, 4] += s4
    sums[b, 5] += n


def add_agreeing(
    tile: Array, labels: Array, first: int, second: int, starts: Array, members: Array, n_classes: int, sums: FloatArray
) -> None:
    """Add the sums of t, t**2, t**4, t**8, t**16 and 1 over the pairs of a tile with equal labels to ``sums`` (B, 6).

    The tile (r, w) begins at row ``first`` and column ``second`` of labels (B, n); the columns are sorted.
    """
    checked, pairs = n_classes > starts.shape[1] - 1, np.empty(tile.size + FOUR, dtype=np.int32)
    _add_agreeing(tile.reshape(-1), labels, (first, second), tile.shape, (starts, members, pairs), checked, sums)


@jit
def _add_agreeing(
    values: Array, labels: Array, begin: Begin, shape: Begin, lists: Lists, checked: bool, sums: FloatArray
) -> None:
    for b in range(labels.shape[0]):
        n = _pairs_that_agree(labels, b, begin, shape, lists, checked)
        _powers_at(values, lists[2], n, sums, b)
