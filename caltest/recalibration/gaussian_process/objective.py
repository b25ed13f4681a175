"""The evidence lower bound of the latent process with a Taylor-expanded likelihood, and its gradient."""

from dataclasses import dataclass

import numpy as np

from caltest._basics.types import FloatArray
from caltest.recalibration.gaussian_process.parameters import LatentProcess, slope_of_softplus
from caltest.recalibration.gaussian_process.rows import Rows


@dataclass(frozen=True)
class KernelDerivatives:
    """Derivatives by what sets the kernel."""

    inducing: FloatArray
    lengthscale: float
    variance: float
    noise: float


def pull_back(
    process: LatentProcess,
    d_weights: FloatArray,
    d_reduction: FloatArray,
    d_kernel: KernelDerivatives,
    divergence: bool = True,
) -> FloatArray:
    """Derivatives by inducing inputs, means and positive parameters, from those by w, W (symmetric) and the kernel.

    With ``divergence`` that of -KL is added. Time O(M^3).
    """
    inverse, scale = process.inverse_factor, process.scale
    d_mean = inverse @ d_weights
    d_scale = -2.0 * scale * np.einsum("ij,jk,ik->i", inverse, d_reduction, inverse)
    d_factor = -np.outer(process.weights, d_mean) - 2.0 * process.reduction @ d_reduction @ inverse.T
    # The derivative of a Cholesky factor, backwards: the lower triangle with half the diagonal, between inverses.
    lower = np.tril(process.factor.T @ d_factor)
    lower[np.diag_indices_from(lower)] /= 2.0
    d_covariance = inverse.T @ lower @ inverse
    d_covariance = (d_covariance + d_covariance.T) / 2.0
    rows = d_covariance * process.covariance
    steps = (process.inducing[:, None] - process.inducing) / process.lengthscale
    # Each inducing input moves its row and its column, hence 2.
    d_inducing = d_kernel.inducing - 2.0 * (rows * steps).sum(axis=1) / process.lengthscale
    d_lengthscale = d_kernel.lengthscale + (rows * steps**2).sum() / process.lengthscale
    d_variance = d_kernel.variance + rows.sum() / process.variance
    d_noise = d_kernel.noise + np.trace(d_covariance)
    if divergence:
        d_mean, d_scale = d_mean - process.mean, d_scale - scale + 1.0 / scale
    return np.concatenate([d_inducing, d_mean, d_scale, [d_lengthscale, d_variance, d_noise]])


def evidence_bound(vector: FloatArray, rows: Rows) -> tuple[float, FloatArray]:
    """``sum_i E[ln softmax(g(x_i))_{y_i}] - KL`` and its gradient (3 M + 3,).

    With means phi, variances C and ``s = softmax(phi)`` the expectation is, to second order,
    ``ln s_y + (sum C s^2 - sum C s) / 2``. Time O(g M^2 + n k) for g nodes.
    """
    process = LatentProcess.from_vector(vector)
    nodes, kernel = rows.nodes, process.kernel(rows.nodes)
    reduced = kernel @ process.reduction
    variance = process.variance + process.noise - np.einsum("gm,gm->g", reduced, kernel)
    value, d_mean, d_variance = rows.likelihood(kernel @ process.weights, variance)
    d_values = d_mean[:, None] * process.weights - 2.0 * d_variance[:, None] * reduced
    gradient = pull_back(
        process,
        kernel.T @ d_mean,
        -(kernel.T * d_variance) @ kernel,
        by_kernel(process, nodes, d_values * kernel, float(d_variance.sum())),
    )
    return value - process.divergence, gradient * slope_of_softplus(vector)


def by_kernel(
    process: LatentProcess, nodes: FloatArray, products: FloatArray, by_variances: float
) -> KernelDerivatives:
    """From ``products[g, m]``, the kernel times the derivative by it, and the derivative by all variances at once."""
    steps = (nodes[:, None] - process.inducing) / process.lengthscale
    by_step = products * steps
    return KernelDerivatives(
        inducing=by_step.sum(axis=0) / process.lengthscale,
        lengthscale=float(np.vdot(by_step, steps)) / process.lengthscale,
        variance=float(products.sum()) / process.variance + by_variances,
        noise=by_variances,
    )
