"""The Taylor-expanded log-likelihood of softmax of one Gaussian latent function, and its gradient, row by row.

``log softmax(phi)_y + sum_k C_k softmax(phi)_k (softmax(phi)_k - 1) / 2`` for latent means phi and variances C.
"""

import numpy as np

from caltest._basics.jit import jit
from caltest._basics.numerics import FloatArray, IntArray


@jit
def row_terms(mean: FloatArray, variance: FloatArray, label: int, d_mean: FloatArray, d_variance: FloatArray) -> float:
    """The term of one row of k classes; its derivatives are written to the last two arguments."""
    largest, total = mean.max(), 0.0
    for k in range(mean.shape[0]):
        d_mean[k] = np.exp(mean[k] - largest)
        total += d_mean[k]
    correction, average = 0.0, 0.0
    for k in range(mean.shape[0]):
        share = d_mean[k] / total
        d_mean[k] = share
        d_variance[k] = 0.5 * share * (share - 1.0)
        correction += variance[k] * d_variance[k]
        average += variance[k] * (2.0 * share - 1.0) * share
    for k in range(mean.shape[0]):
        share = d_mean[k]
        d_mean[k] = share * (0.5 * (variance[k] * (2.0 * share - 1.0) - average) - 1.0)
    d_mean[label] += 1.0
    return float(mean[label] - largest - np.log(total) + correction)


Latent = tuple[FloatArray, FloatArray]
"""Deviations from the prior mean and variances, or the derivatives by these."""


@jit
def at_inputs(prior: FloatArray, labels: IntArray, latent: Latent, slopes: Latent) -> float:
    """Sum of the rows' terms for latent means ``prior + deviation`` (n, k); derivatives are written to (n, k)."""
    (deviation, variance), (d_deviation, d_variance) = latent, slopes
    mean, total = np.empty(prior.shape[1]), 0.0
    for i in range(prior.shape[0]):
        for k in range(prior.shape[1]):
            mean[k] = prior[i, k] + deviation[i, k]
        total += row_terms(mean, variance[i], labels[i], d_deviation[i], d_variance[i])
    return total


@jit
def cubic_weights(t: float, weights: FloatArray) -> None:
    """Weights of the nodes -1, 0, 1, 2 in the cubic polynomial through them at t in [0, 1]."""
    weights[0] = -t * (t - 1.0) * (t - 2.0) / 6.0
    weights[1] = (t + 1.0) * (t - 1.0) * (t - 2.0) / 2.0
    weights[2] = -(t + 1.0) * t * (t - 2.0) / 2.0
    weights[3] = (t + 1.0) * t * (t - 1.0) / 6.0


@jit
def on_grid(
    prior: FloatArray, labels: IntArray, cells: IntArray, places: FloatArray, latent: Latent, slopes: Latent
) -> float:
    """The same with the latent function given at nodes, interpolated at ``cells`` (n, k) and ``places`` in them.

    Derivatives by the values at the nodes are added to the slopes.
    """
    (deviation, variance), (d_deviation, d_variance) = latent, slopes
    n_classes = prior.shape[1]
    weights = np.empty((n_classes, 4))
    mean, spread, d_mean, d_spread = np.empty((4, n_classes))
    total = 0.0
    for i in range(prior.shape[0]):
        for k in range(n_classes):
            cubic_weights(places[i, k], weights[k])
            first = cells[i, k]
            mean[k], spread[k] = prior[i, k], 0.0
            for node in range(4):
                mean[k] += weights[k, node] * deviation[first + node]
                spread[k] += weights[k, node] * variance[first + node]
        total += row_terms(mean, spread, labels[i], d_mean, d_spread)
        for k in range(n_classes):
            first = cells[i, k]
            for node in range(4):
                d_deviation[first + node] += weights[k, node] * d_mean[k]
                d_variance[first + node] += weights[k, node] * d_spread[k]
    return total
