"""Covariance of the deviations at test locations, given the predictions."""

from itertools import product

import numpy as np

from caltest._basics.numerics import Array, FloatArray, normalised, ranges
from caltest.hstatistics.sums.features import inverse_root
from caltest.hstatistics.sums.pairs import deviations
from caltest.kernels import GaussianKernel, PairKernel
from caltest.predictions import ClosedFormMissing, Predictions, Sample

DRAWS = 256
"""Targets of each prediction that are drawn where the covariance has no formula."""

PART = 2**20
"""Numbers that are computed together."""

Term = tuple[FloatArray, float, GaussianKernel]
"""Prediction kernel (n, J), weight and kernel of a product ``k_P(p, t) w k_Y(y, u)``."""


def deviation_covariance(
    kernel: PairKernel, predictions: Predictions, locations: Sample, rng: np.random.Generator
) -> FloatArray:
    """``V = sum_i Cov(D_i)``, (J, J), with ``D_ij = k(T_j, (p_i, Z_i)) - E k(T_j, (p_i, Z_i))`` and Z_i ~ p_i.

    A sum over outcomes if they are finitely many. For Gaussian kernels of targets products of kernels are Gaussian
    functions again, ``k(z, u) k'(z, u') = c k''(z, m)``, whose expectations a family of real targets knows. Otherwise,
    and for counts, a mean over 256 draws of the targets. Time O(n J**2) times the cost of an expectation, memory a
    few MB.
    """
    if predictions.law.finite is not None:
        return _finite_covariance(kernel, predictions, locations)
    is_gaussian = all(one.target_kernel.gaussian_terms is not None for one in kernel.products)
    # Between two counts there are no counts, so that expectations of kernels at middles are not defined.
    if is_gaussian and not predictions.law.discrete:
        try:
            return _gaussian_covariance(kernel, predictions, locations)
        except ClosedFormMissing:
            pass
    return _drawn_covariance(kernel, predictions, locations, rng)


def _finite_covariance(kernel: PairKernel, predictions: Predictions, locations: Sample) -> FloatArray:
    """``sum_i sum_c p_i(c) D_i(c) D_i(c)'``."""
    n, j = len(predictions), len(locations)
    total = np.zeros((j, j))
    for part in ranges(n, max(1, PART // (predictions.width(kernel.products[0].target_kernel) * j))):
        here = predictions.take(part)
        law = here.law.finite
        assert law is not None
        p = normalised(law.probabilities)
        possible = np.zeros((len(here), law.n_classes, j))
        for one in kernel.products:
            tile = one.prediction_kernel.tile(here, locations.predictions)
            possible += tile[:, None, :] * law.gram(one.target_kernel)[:, locations.targets]
        possible -= np.einsum("ic,icj->ij", p, possible)[:, None, :]
        possible *= np.sqrt(p)[:, :, None]
        rows = possible.reshape(-1, j)
        total += rows.T @ rows
    return total


def _gaussian_covariance(kernel: PairKernel, predictions: Predictions, locations: Sample) -> FloatArray:
    j = len(locations)
    total = np.zeros((j, j))
    for part in ranges(len(predictions), max(1, PART // (8 * j * j))):
        here = predictions.take(part)
        terms = [
            (one.prediction_kernel.tile(here, locations.predictions), weight, term)
            for one in kernel.products
            for weight, term in one.target_kernel.gaussian_terms or ()
        ]
        for one, other in product(terms, terms):
            total += _gaussian_term(here.law, one, other, locations.targets)
    return (total + total.T) / 2.0


def _gaussian_term(law: Predictions, one: Term, other: Term, locations: Array) -> FloatArray:
    """``sum_i K_ij K'_il (E k(Z_i, u_j) k'(Z_i, u_l) - E k(Z_i, u_j) E k'(Z_i, u_l))``."""
    (left, weight, kernel), (right, other_weight, other_kernel) = one, other
    factor, both, middles = product_of_gaussians(kernel, other_kernel, locations)
    j = len(locations)
    expected = law.prepared(both).expected_kernel(both, middles).reshape(-1, j, j)
    expected *= factor
    first, second = (law.prepared(term).expected_kernel(term, locations) for term in (kernel, other_kernel))
    expected -= first[:, :, None] * second[:, None, :]
    return np.asarray(weight * other_weight * np.einsum("ij,il,ijl->jl", left, right, expected, optimize=True))


def product_of_gaussians(
    kernel: GaussianKernel, other: GaussianKernel, locations: Array
) -> tuple[FloatArray, GaussianKernel, Array]:
    """C (J, J), k'' and m (J**2,) or (J**2, d) with ``k(z, u_j) k'(z, u_l) = c_jl k''(z, m_jl)``.

    With the bandwidths b and b', of each dimension: k'' has the bandwidth ``b b' / sqrt(b**2 + b'**2)``, m is the mean
    of u_j and u_l with weights b**-2 and b'**-2, and ``c = exp(-(u_j - u_l)**2 / (2 (b**2 + b'**2)))``.
    """
    vectors = np.asarray(locations, dtype=np.float64).reshape(len(locations), -1)
    d = vectors.shape[1]
    squares, other_squares = kernel.widths(d) ** 2, other.widths(d) ** 2
    sums = squares + other_squares
    middles = (other_squares * vectors[:, None] + squares * vectors[None, :]) / sums
    factor = np.exp(-0.5 * np.sum((vectors[:, None] - vectors[None, :]) ** 2 / sums, axis=-1))
    widths = np.sqrt(squares * other_squares / sums)
    both = GaussianKernel(bandwidth=float(widths[0]) if np.ptp(widths) == 0.0 else tuple(widths.tolist()))
    return factor, both, middles.reshape(-1, *np.shape(locations)[1:])


def _drawn_covariance(
    kernel: PairKernel, predictions: Predictions, locations: Sample, rng: np.random.Generator
) -> FloatArray:
    total = np.zeros((len(locations), len(locations)))
    for _ in range(DRAWS):
        deviation = deviations(kernel, Sample(predictions, predictions.redraw(rng)), locations)
        total += deviation.T @ deviation
    return total / DRAWS


def whitening(covariance: FloatArray, tolerance: float) -> FloatArray:
    """``W`` (J, r) with ``W W' = V**+`` for a covariance V (J, J) of rank r.

    Eigenvalues of the correlations that are at most the tolerance times the largest one count as 0, and so do variances
    that are rounding.
    """
    variances = np.diag(covariance)
    kept = variances > 1e-14 * variances.max(initial=0.0)
    if not kept.any():
        return np.zeros((len(covariance), 0))
    scale = np.sqrt(variances[kept])
    root = inverse_root(covariance[np.ix_(kept, kept)] / np.outer(scale, scale), tolerance)
    whitener = np.zeros((len(covariance), root.shape[1]))
    whitener[kept] = root / scale[:, None]
    return whitener
