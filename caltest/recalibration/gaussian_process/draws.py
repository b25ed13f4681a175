"""Probabilities averaged over draws of the latent function."""

import numpy as np
from scipy.special import softmax

from caltest._numerics import ranges
from caltest._types import FloatArray
from caltest.recalibration.gaussian_process.parameters import FLOOR, LatentProcess

NUMBERS = 2_000_000
"""Numbers in memory at once."""


def marginal_probabilities(
    process: LatentProcess,
    inputs: FloatArray,
    prior: FloatArray,
    covariance: str,
    n_draws: int,
    rng: np.random.Generator,
) -> FloatArray:
    """Mean over draws of ``softmax(g(x_1)..g(x_k))`` for rows of inputs (n, k).

    One draw of the inducing variables serves all classes and rows. What they leave open is drawn for each row, for
    each input by itself if the covariance is diagonal.
    """
    k, m = inputs.shape[1], process.mean.size
    variables = process.mean + process.scale * rng.standard_normal((n_draws, m))
    weights = process.inverse_factor.T @ variables.T
    size = k * max(n_draws, m, k if covariance == "full" else 1)
    averages = np.empty(inputs.shape)
    for rows in ranges(inputs.shape[0], max(1, NUMBERS // size)):
        kernel = process.kernel(inputs[rows].ravel()).reshape(-1, k, m)
        noise = rng.standard_normal((kernel.shape[0], k, n_draws))
        values = prior[rows][..., None] + kernel @ weights + _rest(process, inputs[rows], kernel, covariance, noise)
        averages[rows] = softmax(values, axis=1).mean(axis=2)
    return np.asarray(averages / averages.sum(axis=1, keepdims=True))


def _rest(
    process: LatentProcess, inputs: FloatArray, kernel: FloatArray, covariance: str, noise: FloatArray
) -> FloatArray:
    """Draws (n, k, Q) of the function given the inducing variables, less its mean."""
    explained = kernel @ process.inverse_factor.T
    if covariance == "diagonal":
        variances = process.variance + process.noise - (explained**2).sum(axis=2)
        return np.asarray(np.sqrt(np.maximum(variances, 0.0))[..., None] * noise)
    steps = (inputs[:, :, None] - inputs[:, None, :]) / process.lengthscale
    covariances = process.variance * np.exp(-0.5 * steps**2) - explained @ explained.transpose(0, 2, 1)
    covariances += (process.noise + FLOOR) * np.eye(inputs.shape[1])
    return np.asarray(np.linalg.cholesky(covariances) @ noise)
