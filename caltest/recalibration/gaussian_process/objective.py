"""The evidence bound of a latent Gaussian process, its sums over the rows of data, and its gradient."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.special import expit

from caltest._basics.numerics import FloatArray, IntArray, ranges
from caltest._basics.threads import threaded
from caltest._loops.statistics import latent
from caltest.recalibration.shared.inputs import log_probabilities

CELLS = 2000
"""Cells of the grid over the range of the inputs."""

WIDEST_CELL = 0.02
"""Cells of the coarsest grid are not wider where the range is large, as with logarithms of probabilities 0."""

PART = 100_000
"""Inputs in a part of the rows, which are in memory at once."""

NANOSECONDS = 30.0
"""About what an input takes."""


@dataclass(frozen=True)
class AllInputs:
    """Data with a likelihood of a latent function: inputs and means of the prior (n, k), labels (n,)."""

    inputs: FloatArray
    prior: FloatArray
    labels: IntArray

    @property
    def nodes(self) -> FloatArray:
        """Inputs (g,) at which the function is wanted: all of them."""
        return self.inputs.ravel()

    def likelihood(self, deviation: FloatArray, variance: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """Sum over the rows, and its derivatives by mean less prior and variance of the function at the nodes."""
        shape = self.prior.shape
        d_deviation, d_variance = np.empty(shape), np.empty(shape)
        deviation, variance = deviation.reshape(shape), variance.reshape(shape)

        def part(rows: slice) -> float:
            values, slopes = (deviation[rows], variance[rows]), (d_deviation[rows], d_variance[rows])
            return latent.at_inputs(self.prior[rows], self.labels[rows], values, slopes)

        return _summed(part, shape), d_deviation.ravel(), d_variance.ravel()


def inputs_of(scores: FloatArray, scale: str) -> FloatArray:
    """What the kernel sees of probabilities or logits."""
    return log_probabilities(scores, "probabilities") if scale == "log" else scores


def prior_of(scores: FloatArray, scale: str, slope: float = 1.0) -> FloatArray:
    """The mean of the prior: logits as they are, logarithms of probabilities, times the slope."""
    return slope * log_probabilities(scores, "logits" if scale == "logit" else "probabilities")


@dataclass(frozen=True)
class OnScale(AllInputs):
    """Rows as the kernel sees them on a scale, and a prior of a slope."""

    scale: str
    slope: float

    @classmethod
    def of(cls, scores: FloatArray, labels: IntArray, scale: str, slope: float = 1.0) -> Self:
        """From probabilities or logits (n, k)."""
        return cls(inputs_of(scores, scale), prior_of(scores, scale, slope), labels, scale, slope)


@dataclass(frozen=True)
class OnGrid(AllInputs):
    """The nodes are those of a grid; between them the function is interpolated by cubic polynomials."""

    n_cells: int = CELLS

    @cached_property
    def _grid(self) -> tuple[FloatArray, IntArray, FloatArray]:
        lowest, highest = float(self.inputs.min()), float(self.inputs.max())
        width = min((highest - lowest) / self.n_cells, WIDEST_CELL * CELLS / self.n_cells)
        cells = np.minimum((self.inputs - lowest) // width, np.floor((highest - lowest) / width)).astype(np.intp)
        places = (self.inputs - lowest) / width - cells
        used = np.unique(np.unique(cells)[:, None] + np.arange(4))
        # The nodes of a cell follow each other among those that are used too.
        return lowest + (used - 1) * width, np.searchsorted(used, cells), places

    @property
    def nodes(self) -> FloatArray:
        """The nodes of all cells with an input, and the next ones on either side."""
        return self._grid[0]

    def likelihood(self, deviation: FloatArray, variance: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        _, cells, places = self._grid
        slices = list(ranges(self.prior.shape[0], PART // self.prior.shape[1]))
        slopes = np.zeros((len(slices), 2, deviation.size))

        def part(rows: slice) -> float:
            data = self.prior[rows], self.labels[rows], cells[rows], places[rows]
            return latent.on_grid(*data, (deviation, variance), tuple(slopes[slices.index(rows)]))

        value = _summed(part, self.prior.shape)
        d_deviation, d_variance = slopes.sum(axis=0)
        return value, d_deviation, d_variance


def _summed(part: Callable[[slice], float], shape: tuple[int, ...]) -> float:
    slices = list(ranges(shape[0], PART // shape[1]))
    work = shape[0] * shape[1] * NANOSECONDS
    return sum(threaded(part, slices, len(slices), "rows", work=work))


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
    scales: FloatArray
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
        positive = np.append(self.scales, [self.lengthscale, self.variance, self.noise])
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
        return np.asarray((self.inverse_factor.T * (1.0 - self.scales**2)) @ self.inverse_factor)

    @property
    def divergence(self) -> float:
        """The Kullback-Leibler divergence of v from N(0, I)."""
        squares = float(self.mean @ self.mean + self.scales @ self.scales - self.mean.size)
        return squares / 2.0 - float(np.log(self.scales).sum())

    def moments(self, inputs: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean less the prior, and variance, of the function at inputs (g,)."""
        kernel = self.kernel(inputs)
        reduction = np.einsum("gm,gm->g", kernel @ self.reduction, kernel)
        return kernel @ self.weights, self.variance + self.noise - reduction


def slope_of_softplus(vector: FloatArray) -> FloatArray:
    """Derivatives of the positive parameters by the vector; 1 for the inducing inputs and the means."""
    m = (vector.size - 3) // 3
    return np.concatenate([np.ones(2 * m), expit(vector[2 * m :])])


def pull_back(
    process: LatentProcess,
    nodes: FloatArray,
    products: FloatArray,
    d_weights: FloatArray,
    d_reduction: FloatArray,
    by_variances: float = 0.0,
) -> FloatArray:
    """Derivatives by inducing inputs, means and positive parameters, from those by w, W (symmetric) and the kernel.

    ``products[g, m]`` are the kernel at nodes (g,) times the derivative by it, ``by_variances`` is that by all
    variances at once. Time O(M^3).
    """
    inverse, scales = process.inverse_factor, process.scales
    d_mean = inverse @ d_weights
    d_scales = -2.0 * scales * np.einsum("ij,jk,ik->i", inverse, d_reduction, inverse)
    d_factor = -np.outer(process.weights, d_mean) - 2.0 * process.reduction @ d_reduction @ inverse.T
    # The derivative of a Cholesky factor, backwards: the lower triangle with half the diagonal, between inverses.
    lower = np.tril(process.factor.T @ d_factor)
    lower[np.diag_indices_from(lower)] /= 2.0
    d_covariance = inverse.T @ lower @ inverse
    d_covariance = (d_covariance + d_covariance.T) / 2.0
    rows = d_covariance * process.covariance
    steps = (process.inducing[:, None] - process.inducing) / process.lengthscale
    node_steps = (nodes[:, None] - process.inducing) / process.lengthscale
    by_step = products * node_steps
    # Each inducing input moves its row and its column, hence 2.
    d_inducing = by_step.sum(axis=0) / process.lengthscale - 2.0 * (rows * steps).sum(axis=1) / process.lengthscale
    d_lengthscale = float(np.vdot(by_step, node_steps)) / process.lengthscale
    d_lengthscale += (rows * steps**2).sum() / process.lengthscale
    d_variance = float(products.sum()) / process.variance + by_variances + rows.sum() / process.variance
    d_noise = by_variances + np.trace(d_covariance)
    return np.concatenate([d_inducing, d_mean, d_scales, [d_lengthscale, d_variance, d_noise]])


def evidence_bound(vector: FloatArray, rows: AllInputs) -> tuple[float, FloatArray]:
    """``sum_i E[ln softmax(g(x_i))_{y_i}] - KL`` and its gradient (3 M + 3,).

    With means phi, variances C and ``s = softmax(phi)`` the expectation is, to second order,
    ``ln s_y + (sum C s^2 - sum C s) / 2``. Time O(g M^2 + n k) for g nodes.
    """
    process = LatentProcess.from_vector(vector)
    nodes, kernel = rows.nodes, process.kernel(rows.nodes)
    reduced = kernel @ process.reduction
    variance = process.variance + process.noise - np.einsum("gm,gm->g", reduced, kernel)
    value, d_mean, d_variance = rows.likelihood(kernel @ process.weights, variance)
    products = (d_mean[:, None] * process.weights - 2.0 * d_variance[:, None] * reduced) * kernel
    by_weights, by_reduction = kernel.T @ d_mean, -(kernel.T * d_variance) @ kernel
    gradient = pull_back(process, nodes, products, by_weights, by_reduction, float(d_variance.sum()))
    m = process.mean.size
    gradient[m : 3 * m] -= np.append(process.mean, process.scales - 1.0 / process.scales)
    return value - process.divergence, gradient * slope_of_softplus(vector)
