"""Exponential kernels, and Matern kernels, summed over points of the line in one pass forth and one back."""

import numpy as np

from caltest._basics.types import FloatArray
from caltest._loops.pair_sums import sweeps
from caltest.kernels.forms import Form
from caltest.predictions.measures.measures import Measures


def sweep_sums(form: Form, rows: Measures, columns: Measures) -> FloatArray:
    """Sums over all pairs of points of rows (B, r) and columns (B, c), (B, r, c).

    Each pair is met once, on the way forth or back, also if its points are equal. Time O(r c) for each point of the
    rows or of the columns, whichever has less, beside that of the sort.
    """
    if columns.n_points > rows.n_points:
        return sweep_sums(form, columns, rows).swapaxes(1, 2)
    batch, r, c = rows.points.shape[0], rows.points.shape[1], columns.points.shape[1]
    points = np.concatenate([one.points.reshape(batch, -1) for one in (rows, columns)], axis=1)
    weights = np.concatenate([np.tile(rows.weights, r), np.tile(columns.weights, c)])
    owners = np.concatenate([np.repeat(np.arange(r), rows.n_points), -1 - np.repeat(np.arange(c), columns.n_points)])
    order = np.argsort(points, axis=1)
    points, owners, weights = np.take_along_axis(points, order, axis=1), owners[order], weights[order]
    factor, out = float(form.factors[0]), np.zeros((batch, c, r))
    sweeps.add_from_the_left(form.kind, factor, points, owners, weights, out)
    points, owners, weights = (np.ascontiguousarray(one[:, ::-1]) for one in (-points, owners, weights))
    sweeps.add_from_the_left(form.kind, factor, points, owners, weights, out)
    return out.swapaxes(1, 2)


def sweep_mixture_sums(form: Form, rows: Measures, weights: FloatArray, targets: FloatArray) -> FloatArray:
    """``sum_ij w_ij sum_a k(x_ia, y_bj) / m`` for rows (r,) of m points, weights (r, c) and targets (B, c): (B,).

    Time O(r c m + B c log(B c)).
    """
    points = np.concatenate([rows.points.ravel(), targets.ravel()])
    owners = np.concatenate([np.repeat(np.arange(weights.shape[0]), rows.n_points), -1 - np.arange(targets.size)])
    order = np.argsort(points)
    points, owners, weights = points[order], owners[order], np.ascontiguousarray(weights)
    factor, out = float(form.factors[0]), np.zeros(targets.shape[0])
    sweeps.add_mixtures_from_the_left(form.kind, factor, points, owners, weights, out)
    points, owners = np.ascontiguousarray(-points[::-1]), np.ascontiguousarray(owners[::-1])
    sweeps.add_mixtures_from_the_left(form.kind, factor, points, owners, weights, out)
    return np.asarray(out / rows.n_points)
