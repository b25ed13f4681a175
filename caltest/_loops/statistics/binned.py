"""Errors of bins, of cells, on both sides of thresholds, and counts of groups with their isotonic regression.

The deviation of a bin is the sum of its vectors (n, d), one coordinate a class, minus the numbers of its labels.
Vectors of fewer coordinates than there are classes leave out the ``first`` classes.
"""

import numpy as np

from caltest._basics.jit import jit
from caltest._basics.numerics import Array, BoolArray, FloatArray, IntArray
from caltest._loops.stacks import assign

Norm = tuple[int, bool, bool, float]
"""The first class, whether coordinates are squared, whether the root of their sum is taken, and the power."""


@jit
def sums_of_bins(vectors: FloatArray, bins: IntArray, n_bins: int) -> FloatArray:
    """Sums (n_bins, d) of the vectors, as exact as if added up in twice the precision.

    What rounding takes off each addition is summed by itself (Ogita, Rump and Oishi 2005, Sum2), since the counts
    subtracted later nearly cancel the sums.
    """
    sums = np.zeros((n_bins, vectors.shape[1]))
    lost = np.zeros_like(sums)
    for i in range(vectors.shape[0]):
        for j in range(vectors.shape[1]):
            value, before = vectors[i, j], sums[bins[i], j]
            after = before + value
            added = after - before
            sums[bins[i], j] = after
            lost[bins[i], j] += (before - (after - added)) + (value - added)
    return sums + lost


@jit
def add_norms(deviations: FloatArray, norm: Norm, weight: float, norms: FloatArray, out: FloatArray) -> None:
    """``out[b] += (weight norm_b)**order``, or their maximum for an infinite order; norms is overwritten.

    ``norm_b = sum_c |deviations[c, b]|``, or of their squares, or the root of that.
    """
    first, squared, root, order = norm
    norms[:] = 0.0
    for c in range(first, deviations.shape[0]):
        line = deviations[c]
        for b in range(norms.shape[0]):
            norms[b] += line[b] * line[b] if squared else abs(line[b])
    for b in range(norms.shape[0]):
        distance = weight * (np.sqrt(norms[b]) if root else norms[b])
        if order == 1.0:
            out[b] += distance
        elif order == np.inf:
            out[b] = max(out[b], distance)
        else:
            out[b] += distance**order


@jit
def errors(
    sums: FloatArray, weights: FloatArray, bounds: IntArray, order: IntArray, labels: Array, norm: Norm
) -> FloatArray:
    """Sums over the bins of the powers of the weighted norm of the deviation, or their maximum, (B,).

    For labels (n, B), one column a redraw, where bin m has the rows ``order[bounds[m]:bounds[m + 1]]``.
    The innermost loops run over the redraws: they write to different places, so none waits for another.
    """
    first = norm[0]
    deviations = np.zeros((first + sums.shape[1], labels.shape[1]))
    norms, totals = np.empty(labels.shape[1]), np.zeros(labels.shape[1])
    for m in range(sums.shape[0]):
        for c in range(sums.shape[1]):
            deviations[first + c] = sums[m, c]
        for i in order[bounds[m] : bounds[m + 1]]:
            row = labels[i]
            for b in range(row.shape[0]):
                deviations[row[b], b] -= 1.0
        add_norms(deviations, norm, weights[m], norms, totals)
    return totals


@jit
def debiased_errors(sums: FloatArray, bounds: IntArray, order: IntArray, labels: Array, first: int) -> FloatArray:
    """Sums over the bins of ``n_b (|deviation / n_b|**2 - sum_c f_c (1 - f_c) / (n_b - 1))`` for labels (n, B).

    f are the frequencies of the classes from ``first`` on in a bin of n_b >= 2 rows; smaller bins add nothing.
    """
    n_classes = first + sums.shape[1]
    counts, totals = np.zeros((n_classes, labels.shape[1])), np.zeros(labels.shape[1])
    for m in range(sums.shape[0]):
        size = bounds[m + 1] - bounds[m]
        if size < 2:
            continue
        counts[:] = 0.0
        for i in order[bounds[m] : bounds[m + 1]]:
            row = labels[i]
            for b in range(row.shape[0]):
                counts[row[b], b] += 1.0
        for c in range(first, n_classes):
            line = counts[c]
            for b in range(line.shape[0]):
                deviation = sums[m, c - first] - line[b]
                totals[b] += (deviation * deviation - line[b] * (size - line[b]) / (size - 1)) / size
    return totals


@jit
def debiased_squares(
    labels: Array, cells: IntArray, sums: FloatArray, squares: FloatArray, weights: FloatArray, out: FloatArray
) -> None:
    """``out[b] = sum_c weights[c] (|sum_i delta_i|**2 - sum_i |delta_i|**2)`` over i in cell c, for labels (B, n).

    With residuals ``delta_i = e_y - p_i``: ``sums`` (C, k) are those of the predictions of each cell, and ``squares``
    (n, k) has ``|e_y - p_i|**2`` for all outcomes y.
    """
    deviations, own = np.empty_like(sums), np.empty(sums.shape[0])
    for b in range(labels.shape[0]):
        for c in range(sums.shape[0]):
            assign(-sums[c], deviations[c])
        own[:] = 0.0
        for i in range(labels.shape[1]):
            y = labels[b, i]
            deviations[cells[i], y] += 1.0
            own[cells[i]] += squares[i, y]
        total = 0.0
        for c in range(sums.shape[0]):
            square = 0.0
            for j in range(sums.shape[1]):
                square += deviations[c, j] ** 2
            total += weights[c] * (square - own[c])
        out[b] = total


@jit
def raise_to_two_sides(p: FloatArray, order: IntArray, ends: BoolArray, labels: Array, largest: FloatArray) -> None:
    """Raise ``largest[b]`` to ``|R_j| + |R_n - R_j|`` for all j at which ``ends`` is true, of labels (B, n).

    ``R_j`` is the sum (k,) of the residuals ``e_y - p`` of the first j + 1 rows in the order.
    """
    n_classes = p.shape[1]
    for b in range(labels.shape[0]):
        total, below = np.zeros(n_classes), np.zeros(n_classes)
        for i in order:
            total -= p[i]
            total[labels[b, i]] += 1.0
        for j in range(order.size):
            i = order[j]
            below -= p[i]
            below[labels[b, i]] += 1.0
            if ends[j]:
                inside, outside = 0.0, 0.0
                for c in range(n_classes):
                    inside += below[c] ** 2
                    outside += (total[c] - below[c]) ** 2
                largest[b] = max(largest[b], np.sqrt(inside) + np.sqrt(outside))


@jit
def class_counts(labels: Array, numbers: IntArray, n_groups: int, n_classes: int) -> FloatArray:
    """How often each class occurs in each group (B, g, k), for labels (B, n) and the numbers of their groups (n,)."""
    counts = np.zeros((labels.shape[0], n_groups, n_classes))
    for b in range(labels.shape[0]):
        for i in range(labels.shape[1]):
            counts[b, numbers[i], labels[b, i]] += 1.0
    return counts


@jit
def pooled_means(sums: FloatArray, sizes: FloatArray) -> FloatArray:
    """The increasing sequences (B, g) closest to ``sums / sizes`` with the weights ``sizes`` (g,), for sums (B, g).

    Pools adjacent violators: a block is joined to the one before it as long as its mean is not larger.
    """
    n_groups = sizes.shape[0]
    means = np.empty_like(sums)
    totals, weights, ends = np.empty(n_groups), np.empty(n_groups), np.empty(n_groups, dtype=np.int64)
    for b in range(sums.shape[0]):
        last = -1
        for g in range(n_groups):
            last += 1
            totals[last], weights[last], ends[last] = sums[b, g], sizes[g], g + 1
            while last > 0 and totals[last - 1] * weights[last] >= totals[last] * weights[last - 1]:
                totals[last - 1] += totals[last]
                weights[last - 1] += weights[last]
                ends[last - 1] = ends[last]
                last -= 1
        start = 0
        for block in range(last + 1):
            for g in range(start, ends[block]):
                means[b, g] = totals[block] / weights[block]
            start = ends[block]
    return means
