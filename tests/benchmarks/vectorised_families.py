"""SKCE of many families in a few lines of NumPy, with arrays of all pairs."""

import numpy as np

from .families import BANDWIDTH, STRIP, WIDTH, parameters


def skce(predictions, labels, family):
    """Mean of h over all pairs: ``K * (k - E - E' + EE)``."""
    arrays = parameters(family, len(labels))
    return lambda: {"estimate": FORMULAS[family](*arrays)}


def strip_of_skce(predictions, labels, family):
    """The first ``STRIP`` rows of it."""
    arrays = parameters(family, len(labels))
    rows = slice(0, min(STRIP, len(labels)))

    def call():
        STRIPS[family.partition(",")[0]](rows, *arrays)
        return {}

    return call


def _mean_of_pairs(h):
    n = len(h)
    return float((h.sum() - np.trace(h)) / (n * (n - 1)))


def _distances(vectors):
    from scipy.spatial.distance import cdist

    return cdist(vectors, vectors)


def _smoothed(difference, variance):
    """A Gaussian kernel of bandwidth WIDTH, averaged over normal noise."""
    square = WIDTH**2 + variance
    return WIDTH / np.sqrt(square) * np.exp(-(difference**2) / (2.0 * square))


def _normal(mean, scale, y):
    k_p = np.exp(-_distances(np.stack([mean, scale], axis=1)) / BANDWIDTH)
    v = scale**2
    mixed = _smoothed(mean[:, None] - y, v[:, None])
    both = _smoothed(mean[:, None] - mean, v[:, None] + v)
    return _mean_of_pairs(k_p * (_smoothed(y[:, None] - y, 0.0) - mixed - mixed.T + both))


def _laplace(mean, scale, y):
    """The formulas of Widmann et al. 2021, appendix D.2, for scales that all differ."""
    k_p = np.exp(-_distances(np.stack([mean, np.sqrt(2.0) * scale], axis=1)) / BANDWIDTH)
    b, s, t = WIDTH, scale[:, None], scale[None, :]
    x = np.abs(mean[:, None] - y)
    mixed = b * (b * np.exp(-x / b) - s * np.exp(-x / s)) / (b**2 - s**2)
    x = np.abs(mean[:, None] - mean)
    with np.errstate(divide="ignore", invalid="ignore"):
        both = b**3 * np.exp(-x / b) / ((b**2 - s**2) * (b**2 - t**2))
        both += s**3 * np.exp(-x / s) / ((s**2 - b**2) * (s**2 - t**2))
        both += t**3 * np.exp(-x / t) / ((t**2 - b**2) * (t**2 - s**2))
    h = k_p * (np.exp(-np.abs(y[:, None] - y) / b) - mixed - mixed.T + b * both)
    np.fill_diagonal(h, 0.0)
    return _mean_of_pairs(h)


def _diagonal(mean, variance, y):
    k_p = np.exp(-_distances(np.concatenate([mean, np.sqrt(variance)], axis=1)) / BANDWIDTH)
    kernel, mixed, both = np.ones((3, len(y), len(y)))
    for m, v, z in zip(mean.T, variance.T, y.T, strict=True):
        kernel *= _smoothed(z[:, None] - z, 0.0)
        mixed *= _smoothed(m[:, None] - z, v[:, None])
        both *= _smoothed(m[:, None] - m, v[:, None] + v)
    return _mean_of_pairs(k_p * (kernel - mixed - mixed.T + both))


def _full(mean, covariance, y):
    n, d = mean.shape
    values, vectors = np.linalg.eigh(covariance)
    roots = (vectors * np.sqrt(values)[:, None, :]) @ vectors.swapaxes(1, 2)
    k_p = np.exp(-_distances(np.concatenate([mean, roots.reshape(n, -1)], axis=1)) / BANDWIDTH)
    unit = WIDTH**2 * np.eye(d)
    kernel = np.exp(-(_distances(y) ** 2) / (2.0 * WIDTH**2))
    mixed, both = np.empty((2, n, n))
    for i in range(n):
        mixed[i] = _average(mean[i] - y, unit + covariance[i][None])
        both[i] = _average(mean[i] - mean, unit + covariance[i] + covariance)
    return _mean_of_pairs(k_p * (kernel - mixed - mixed.T + both))


def _average(difference, square):
    n, d = difference.shape
    inverse = np.broadcast_to(np.linalg.inv(square), (n, d, d))
    forms = np.einsum("ja,jab,jb->j", difference, inverse, difference)
    return np.exp(-forms / 2.0) / np.sqrt(np.linalg.det(square / WIDTH**2))


def _mixture(means, scales, y):
    """With the MMD of the kernel of targets as the distance of two mixtures."""
    n, m = means.shape
    mixed, both = np.zeros((2, n, n))
    for a in range(m):
        mixed += _smoothed(means[:, a, None] - y, scales[:, a, None] ** 2) / m
        for b in range(m):
            variance = scales[:, a, None] ** 2 + scales[:, b] ** 2
            both += _smoothed(means[:, a, None] - means[:, b], variance) / m**2
    squares = np.diag(both)[:, None] + np.diag(both) - 2.0 * both
    k_p = np.exp(-np.sqrt(np.maximum(squares, 0.0)) / BANDWIDTH)
    return _mean_of_pairs(k_p * (_smoothed(y[:, None] - y, 0.0) - mixed - mixed.T + both))


def _ordinal(probabilities, y):
    k_p = np.exp(-_ordinal_distances(probabilities) / BANDWIDTH)
    residuals = -probabilities
    residuals[np.arange(len(y)), y] += 1.0
    points = np.arange(probabilities.shape[1])
    gram = _smoothed(points[:, None] - points, 0.0)
    return _mean_of_pairs(k_p * (residuals @ gram @ residuals.T))


def _ordinal_distances(probabilities):
    from scipy.spatial.distance import cdist

    steps = np.cumsum(probabilities, axis=1)[:, :-1]
    return cdist(steps, steps, "cityblock")


def _counts(distribution, y, vectors):
    k_p = np.exp(-_distances(vectors) / BANDWIDTH)
    counts = np.arange(max(int(distribution.isf(1e-15).max()), y.max()) + 1)
    probabilities = distribution.pmf(counts[:, None]).T
    residuals = -probabilities
    residuals[np.arange(len(y)), y] += 1.0
    return _mean_of_pairs(k_p * (residuals @ _smoothed(counts[:, None] - counts, 0.0) @ residuals.T))


def _poisson(rate, y):
    from scipy.stats import poisson

    return _counts(poisson(rate), y, np.sqrt(rate)[:, None])


def _negative_binomial(size, probability, y):
    from scipy.stats import nbinom

    distribution = nbinom(size, probability)
    return _counts(
        distribution, y, np.sqrt(np.stack([distribution.mean(), distribution.mean() / np.sqrt(size)], axis=1))
    )


def _members_strip(rows, members, y):
    """E k(Z, y) and E k(Z, Z') of some ensembles with all."""
    n, m = members.shape
    here = members[rows]
    np.exp(-((here[:, :, None] - y) ** 2) / (2.0 * WIDTH**2)).mean(axis=1)
    for one in here:
        pairs = one[:, None] - members.reshape(-1)
        np.exp(-(pairs**2) / (2.0 * WIDTH**2)).mean(axis=0).reshape(n, m).mean(axis=1)


def _quantiles_strip(distribution):
    """The same with 32 quantiles at Gauss-Legendre levels as the members."""
    levels = (1.0 + np.polynomial.legendre.leggauss(32)[0]) / 2.0

    def strip(rows, *arrays):
        nodes = distribution(*arrays[:-1]).ppf(levels[:, None]).T
        _members_strip(rows, nodes, arrays[-1])

    return strip


def _student(df, location, scale):
    from scipy.stats import t

    return t(df, location, scale)


def _gamma(shape, scale):
    from scipy.stats import gamma

    return gamma(shape, scale=scale)


def _lognormal(log_mean, log_scale):
    from scipy.stats import lognorm

    return lognorm(log_scale, scale=np.exp(log_mean))


def _beta(a, b):
    from scipy.stats import beta

    return beta(a, b)


FORMULAS = {
    "normal": _normal,
    "laplace": _laplace,
    "diagonal": _diagonal,
    "full": _full,
    "mixture": _mixture,
    "ordinal": _ordinal,
    "poisson": _poisson,
    "negative binomial": _negative_binomial,
}
STRIPS = {
    "ensemble": _members_strip,
    "student": _quantiles_strip(_student),
    "gamma": _quantiles_strip(_gamma),
    "lognormal": _quantiles_strip(_lognormal),
    "beta": _quantiles_strip(_beta),
}
