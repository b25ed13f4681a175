"""The gradient from what the data see of the process, w and W, back to its parameters."""

from dataclasses import dataclass

import numpy as np

from caltest._types import FloatArray
from caltest.recalibration.gaussian_process.parameters import LatentProcess


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
