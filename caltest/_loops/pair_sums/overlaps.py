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

GROUP = 16
"""Classes whose probabilities stay in the cache while all rows of a tile use them."""


@jit
def overlaps(rows: Array, columns: Array, out: Array) -> None:
    """``out[i, j] = sum_c min(rows[i, c], columns[c, j])`` for rows (r, k) and columns (k, w), in single precision.

    ``out`` has as many rows as r, rounded up to a multiple of four.
    """
    r, k = rows.shape
    w = columns.shape[1]
    out[:] = np.float32(0.0)
    for begin in range(0, k, GROUP):
        end = min(begin + GROUP, k)
        for i in range(0, r, FOUR):
            o0, o1, o2, o3 = out[i], out[i + 1], out[i + 2], out[i + 3]
            a0, a1, a2, a3 = rows[i], rows[min(i + 1, r - 1)], rows[min(i + 2, r - 1)], rows[min(i + 3, r - 1)]
            c = begin
            while c + 2 < end + 1:
                p0, p1, p2, p3 = a0[c], a1[c], a2[c], a3[c]
                q0, q1, q2, q3 = a0[c + 1], a1[c + 1], a2[c + 1], a3[c + 1]
                for j in range(w):
                    u, v = columns[c, j], columns[c + 1, j]
                    o0[j] += (p0 if p0 < u else u) + (q0 if q0 < v else v)
                    o1[j] += (p1 if p1 < u else u) + (q1 if q1 < v else v)
                    o2[j] += (p2 if p2 < u else u) + (q2 if q2 < v else v)
                    o3[j] += (p3 if p3 < u else u) + (q3 if q3 < v else v)
                c += 2
            if c < end:
                p0, p1, p2, p3 = a0[c], a1[c], a2[c], a3[c]
                for j in range(w):
                    u = columns[c, j]
                    o0[j] += p0 if p0 < u else u
                    o1[j] += p1 if p1 < u else u
                    o2[j] += p2 if p2 < u else u
                    o3[j] += p3 if p3 < u else u


@jit_sums
def add_smoothed(tile: Array, columns: Array, starts: IntArray, classes: Array, out: Array) -> None:
    """Add ``sum_j t_ij**(2**l) columns[c, j]`` to ``out[e, l]``, for the entries e of each row and their classes c.

    The tile (r, w) and the columns (k, w) have single precision; the entries of row i are those from ``starts[i]`` to
    ``starts[i + 1]``.
    """
    r, w = tile.shape
    zero = np.float32(0.0)
    for i in range(r):
        line = tile[i]
        for e in range(starts[i], starts[i + 1], 2):
            other = min(e + 1, starts[i + 1] - 1)
            p, q = columns[classes[e]], columns[classes[other]]
            a0 = a1 = a2 = a3 = a4 = b0 = b1 = b2 = b3 = b4 = zero
            for j in range(w):
                t, u, v = line[j], p[j], q[j]
                t2 = t * t
                t4 = t2 * t2
                t8 = t4 * t4
                t16 = t8 * t8
                a0 += t * u
                a1 += t2 * u
                a2 += t4 * u
                a3 += t8 * u
                a4 += t16 * u
                b0 += t * v
                b1 += t2 * v
                b2 += t4 * v
                b3 += t8 * v
                b4 += t16 * v
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


@jit
def sort_labels(labels: Array, begin: int, end: int, starts: Array, members: Array) -> None:
    """Columns ``begin`` to ``end`` of each redraw of labels (B, n) in the order of their labels, counted from 0.

    Those of bucket c are ``members[b, starts[b, c] : starts[b, c + 1]]``; the width of ``starts`` is the number of
    buckets and one more, that of ``members`` the number of columns and four more.
    """
    place = np.empty(starts.shape[1] - 1, dtype=np.int64)
    for b in range(labels.shape[0]):
        place[:] = 0
        for j in range(begin, end):
            place[int(labels[b, j]) & (BUCKETS - 1)] += 1
        total = 0
        for c in range(place.size):
            starts[b, c] = total
            total += int(place[c])
            place[c] = starts[b, c]
        starts[b, place.size] = total
        for j in range(begin, end):
            c = int(labels[b, j]) & (BUCKETS - 1)
            members[b, place[c]] = j - begin
            place[c] += 1
        for j in range(FOUR):
            members[b, end - begin + j] = 0


@jit
def _pairs_that_agree(
    row: Array, first: int, r: int, second: int, w: int, start: Array, member: Array, pairs: Array, checked: bool
) -> int:
    """Write the places i w + j in a tile of pairs with the same label, and return how many there are."""
    n = 0
    for i in range(r):
        c, top = int(row[first + i]) & (BUCKETS - 1), i * w
        s, count = int(start[c]), int(start[c + 1]) - int(start[c])
        for q in range(FOUR):
            pairs[n + q] = top + int(member[s + q])
        for q in range(FOUR, count):
            pairs[n + q] = top + int(member[s + q])
        n += count
    if not checked:
        return n
    kept = 0
    for e in range(n):
        at = pairs[e]
        pairs[kept] = at
        kept += 1 if row[first + at // w] == row[second + at % w] else 0
    return kept


@jit_sums
def _powers_at(values: Array, pairs: Array, n: int, sums: FloatArray) -> None:
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
    sums[0] += s0
    sums[1] += s1
    sums[2] += s2
    sums[3] += s3
    sums[4] += s4
    sums[5] += n


@jit
def add_agreeing(
    tile: Array, labels: Array, first: int, second: int, starts: Array, members: Array, n_classes: int, sums: FloatArray
) -> None:
    """Add the sums of t, t**2, t**4, t**8, t**16 and 1 over the pairs of a tile with equal labels to ``sums`` (B, 6).

    The tile (r, w) begins at row ``first`` and column ``second`` of labels (B, n); the columns are sorted.
    """
    r, w = tile.shape
    values, pairs = tile.reshape(r * w), np.empty(r * w + FOUR, dtype=np.int32)
    for b in range(labels.shape[0]):
        n = _pairs_that_agree(
            labels[b], first, r, second, w, starts[b], members[b], pairs, n_classes > starts.shape[1] - 1
        )
        _powers_at(values, pairs, n, sums[b])
