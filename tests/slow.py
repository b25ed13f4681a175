"""Slow, obvious versions of the formulas, to compare the package with."""

import numpy as np
from scipy.special import ndtr

from caltest.hstatistics.sums.pairs import deviations
from caltest.predictions import Sample


def h_finite(k_p, gram, p, y, q, z):
    """h of two observations by explicit sums over the outcomes of both."""
    k = len(p)
    first = sum(p[a] * gram[a, z] for a in range(k))
    second = sum(q[b] * gram[y, b] for b in range(k))
    both = sum(p[a] * q[b] * gram[a, b] for a in range(k) for b in range(k))
    return k_p * (gram[y, z] - first - second + both)


def h_matrix_finite(k_p, gram, probabilities, labels):
    """All h; k_p(p, q) is the kernel of the predictions."""
    n = len(labels)
    return np.array(
        [
            [
                h_finite(
                    k_p(probabilities[i], probabilities[j]),
                    gram,
                    probabilities[i],
                    labels[i],
                    probabilities[j],
                    labels[j],
                )
                for j in range(n)
            ]
            for i in range(n)
        ]
    )


def h_matrix_normal(bandwidth, width, mean, scale, y, nodes=100):
    """All h for normal predictions, exp(-W2 / bandwidth) x Gaussian(width), by Gauss-Hermite quadrature."""
    points, weights = np.polynomial.hermite_e.hermegauss(nodes)
    weights = weights / weights.sum()
    z = mean[:, None] + scale[:, None] * points

    def k(a, b):
        return np.exp(-((a - b) ** 2) / (2 * width**2))

    n = len(mean)
    h = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            k_p = np.exp(-np.hypot(mean[i] - mean[j], scale[i] - scale[j]) / bandwidth)
            one, two = weights @ k(z[i], y[j]), weights @ k(z[j], y[i])
            both = weights @ k(z[i][:, None], z[j][None, :]) @ weights
            h[i, j] = k_p * (k(y[i], y[j]) - one - two + both)
    return h


def mean_upper(h):
    """Mean over the pairs i < j."""
    return h[np.triu_indices(len(h), 1)].mean()


def skce_of_classes(p, y, bandwidth, unbiased):
    """SKCE with the kernel exp(-TV / bandwidth) x [y = y'], with arrays of all pairs."""
    n, k = p.shape
    residuals = np.eye(k)[y] - p
    distance = sum(np.abs(p[:, None, c] - p[None, :, c]) for c in range(k)) / 2
    h = np.exp(-distance / bandwidth) * (residuals @ residuals.T)
    return (h.sum() - np.trace(h)) / (n * (n - 1)) if unbiased else h.sum() / n**2


def pair_sums_one_by_one(kernels, target_kernel, predictions, targets, places):
    """``sum_{i<j} h_ij`` over tiles for each of the kernels of predictions and each of the targets (B, n): (L, B)."""
    sums = np.zeros((len(kernels), len(targets)))
    for rows, columns in places:
        left, right = predictions.take(rows), predictions.take(columns)
        weights = np.array([kernel.tile(left, right) for kernel in kernels])
        if rows == columns:
            weights = np.triu(weights, k=1)
        expected2 = left.law.expected_kernel2(target_kernel, right.law)
        for b, y in enumerate(targets):
            tile = left.law.target_tile(target_kernel, y[rows], y[columns])
            tile = tile - left.law.expected_kernel(target_kernel, y[columns])
            tile = tile - right.law.expected_kernel(target_kernel, y[rows]).T
            sums[:, b] += np.sum(weights * (tile + expected2), axis=(1, 2))
    return sums


def pooled(p, y):
    """Isotonic regression by its minimax formula, for values and averages of equal predictions."""
    values = np.unique(p)
    sums, sizes = (np.cumsum([0, *(f(y[p == v]) for v in values)]) for f in (np.sum, np.size))
    fitted = [
        max(np.min((sums[i + 1 :] - sums[a]) / (sizes[i + 1 :] - sizes[a])) for a in range(i + 1))
        for i in range(len(values))
    ]
    return np.array(fitted)[np.searchsorted(values, p)]


def simulated_covariance(kernel, predictions, locations, draws):
    """Sum over i of the mean of D_i D_i' over draws, and its standard error."""
    j = len(locations)
    products = np.zeros((draws, j, j))
    for b, y in enumerate(predictions.redraw(2, draws)):
        d = deviations(kernel, Sample(predictions, y), locations)
        products[b] = d.T @ d
    return products.mean(axis=0), products.std(axis=0) / np.sqrt(draws)


def dense_rule(quantile, step):
    """Points (n, m) and weights (m,): quantiles at equidistant normal quantiles, by the trapezoidal rule."""
    t = np.arange(-8.0, 8.0 + step / 2.0, step)
    weights = np.exp(-0.5 * t**2)
    return quantile(ndtr(t)[:, None]).T, weights / weights.sum()


def h_matrix_continuous(kernel, k_p, quantile, y):
    """All h of continuous predictions with a kernel of targets, given their quantile function and kernels k_p (n, n).

    The inner of two integrals is by a rule so dense that kinks of the kernel do not matter, the outer one is smooth.
    """
    (inner, inner_weights), (outer, outer_weights) = dense_rule(quantile, 0.005), dense_rule(quantile, 0.04)
    n = len(y)
    one, two = np.empty((n, n)), np.empty((n, n))
    for i in range(n):
        one[i] = inner_weights @ kernel.target_tile(inner[i], y)
        for j in range(n):
            two[i, j] = inner_weights @ kernel.target_tile(inner[i], outer[j]) @ outer_weights
    return k_p * (kernel.target_tile(y, y) - one - one.T + (two + two.T) / 2.0)
