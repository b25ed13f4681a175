"""The parameters of the sparse latent process as one vector that an optimiser may set freely."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.special import expit

from caltest._basics.types import FloatArray

FLOOR = 1e-6
"""Added to all positive parameters and to the diagonal of the covariance of the inducing variables.

Without it the factorisation fails when the noise goes to 0.
"""


def softplus(values: FloatArray) -> FloatArray:
    """``ln(1 + exp(x)) + FLOOR``."""
    return np.logaddexp(0.0, values) + FLOOR


def inverse_softplus(values: FloatArray) -> FloatArray:
    """X of ``softplus(x)``, at least about -50, where it is the floor up to rounding."""
    above = np.maximum(values - FLOOR, 1e-22)
    return above + np.log(-np.expm1(-above))


@dataclass(frozen=True)
class LatentProcess:
    """A latent function ``g`` with M inducing inputs: ``g(w) = prior(w) + L v`` with ``v ~ N(m, diag(s^2))``.

    ``L L' = K(w, w)`` for the kernel ``variance exp(-(x - x')^2 / (2 lengthscale^2)) + noise 1[x = x']``.
    """

    inducing: FloatArray
    mean: FloatArray
    scale: FloatArray
    lengthscale: float
    variance: float
    noise: float

    @classmethod
    def from_vector(cls, vector: FloatArray) -> "LatentProcess":
        """Of a vector of length 3 M + 3: inducing inputs, means, and the rest before the softplus."""
        m = (vector.size - 3) // 3
        positive = softplus(vector[2 * m :])
        lengthscale, variance, noise = (float(value) for value in positive[m:])
        return cls(vector[:m], vector[m : 2 * m], positive[:m], lengthscale, variance, noise)

    def to_vector(self) -> FloatArray:
        """The vector of ``from_vector``."""
        positive = np.append(self.scale, [self.lengthscale, self.variance, self.noise])
        return np.concatenate([self.inducing, self.mean, inverse_softplus(positive)])

    def kernel(self, inputs: FloatArray) -> FloatArray:
        """Covariances (g, M) of the function at inputs (g,) and at the inducing inputs."""
        steps = (inputs[:, None] - self.inducing) / self.lengthscale
        return np.asarray(self.variance * np.exp(-0.5 * steps**2))

    @cached_property
    def covariance(self) -> FloatArray:
        """K(w, w) without noise."""
        return self.kernel(self.inducing)

    @cached_property
    def factor(self) -> FloatArray:
        """Lower triangular L of ``K(w, w) + noise + FLOOR``."""
        nugget = (self.noise + FLOOR) * np.eye(self.mean.size)
        return np.asarray(cholesky(self.covariance + nugget, lower=True, check_finite=False))

    @cached_property
    def inverse_factor(self) -> FloatArray:
        """The inverse of L."""
        identity = np.eye(self.mean.size)
        return np.asarray(solve_triangular(self.factor, identity, lower=True, check_finite=False))

    @cached_property
    def weights(self) -> FloatArray:
        """``w = L^-T m``: the mean of the function is ``prior(x) + k(x) w``."""
        return np.asarray(self.inverse_factor.T @ self.mean)

    @cached_property
    def reduction(self) -> FloatArray:
        """``W = L^-T diag(1 - s^2) L^-1``: the variance of the function is ``variance + noise - k(x) W k(x)'``."""
        return np.asarray((self.inverse_factor.T * (1.0 - self.scale**2)) @ self.inverse_factor)

    @property
    def divergence(self) -> float:
        """The Kullback-Leibler divergence of v from N(0, I)."""
        return float(self.mean @ self.mean + self.scale @ self.scale - self.mean.size) / 2.0 - float(
            np.log(self.scale).sum()
        )

    def moments(self, inputs: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean less the prior, and variance, of the function at inputs (g,)."""
        kernel = self.kernel(inputs)
        reduction = np.einsum("gm,gm->g", kernel @ self.reduction, kernel)
        return kernel @ self.weights, self.variance + self.noise - reduction


def slope_of_softplus(vector: FloatArray) -> FloatArray:
    """Derivatives of the positive parameters by the vector; 1 for the inducing inputs and the means."""
    m = (vector.size - 3) // 3
    return np.concatenate([np.ones(2 * m), expit(vector[2 * m :])])
