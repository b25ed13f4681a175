"""The parameters of the largest evidence bound, by L-BFGS from inducing inputs that k-means finds."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax

from caltest._basics.numerics import FloatArray, IntArray, ranges
from caltest._basics.threads import one_blas_thread
from caltest.recalibration.classes.temperature import best_inverse_temperature
from caltest.recalibration.gaussian_process.objective import (
    PART,
    AllInputs,
    LatentProcess,
    OnGrid,
    OnScale,
    evidence_bound,
    inverse_softplus,
    prior_of,
)
from caltest.recalibration.gaussian_process.order import COARSE, FINE, Order

TOLERANCE = 1e-8
"""The search ends when a step raises the bound by less than this fraction of itself."""

INPUTS_WITHOUT_GRID = 4000
"""Up to so many the function is evaluated at all of them."""

GRIDS = (2000, 8000, 32000)
GRID_ERROR = 1e-2
"""Error of the bound, in nats, above which the search goes on with a finer grid."""

MISLEADING = 1.0
"""Error of the bound, in nats, above which it starts again, since it went where the interpolation is wrong."""

WIDEST = 50.0
"""Range beyond which a start looks no further: probabilities of exp(-50), or 0, are outliers on their logarithm."""

FLAT = 1e-3
"""A latent function that differs from the prior by less than this, up to a constant, has collapsed."""

POOR = 0.1
"""Nats per observation below the likelihood of temperature scaling from which a fit is a bad local maximum."""

SHORTER = 0.2
"""Length scale of the start that is tried then, in units of the first one."""


class Scale(NamedTuple):
    """Where the kernel sees the scores: its first length scale and the largest length scale and variance."""

    lengthscale: float
    largest_lengthscale: float
    largest_variance: float


SCALES = {"probability": Scale(0.5, 10.0, 5.0), "log": Scale(10.0, 1e4, 1e4), "logit": Scale(10.0, 1e4, 1e4)}
SMALLEST_LENGTHSCALE, LARGEST_NOISE, LARGEST_SCALE = 1e-3, 1e2, 1e3


@dataclass(frozen=True)
class LatentFit:
    """A process fitted to data, its evidence bound and whether the search ended by itself."""

    process: LatentProcess
    data: OnScale
    bound: float
    converged: bool


def best_of_scales(
    scores: FloatArray,
    labels: IntArray,
    scales: tuple[str, ...],
    n_inducing: int,
    max_iterations: int,
    keep_class: bool,
) -> LatentFit:
    """The process with the largest bound on any scale; from shorter length scales too if temperature scaling is better.

    The process can be close to temperature scaling, and pays a few nats for it. Where one that keeps the class is far
    worse, the prior is temperature scaling.
    """
    with one_blas_thread:
        found = [best_fit(OnScale.of(scores, labels, scale), n_inducing, max_iterations) for scale in scales]
        logits = found[-1].data.prior
        inverse_temperature = best_inverse_temperature(logits, labels)
        least = tempered_likelihood(inverse_temperature * logits, labels) - POOR * labels.size
        if max(fit.bound for fit in found) < least:
            for data in [fit.data for fit in found]:
                start = first_process(data.inputs, n_inducing, SHORTER * SCALES[data.scale].lengthscale)
                found.append(_search(start, data, max_iterations))
        best, *others = sorted(found, key=lambda fit: -fit.bound)
        if keep_class:
            best = with_class_kept(best, max_iterations)
            for fit in others:
                if fit.bound > best.bound:
                    best = max(best, with_class_kept(fit, max_iterations), key=lambda fit: fit.bound)
            if best.bound < least:
                for scale in scales:
                    data = OnScale.of(scores, labels, scale, inverse_temperature)
                    kept = with_class_kept(best_fit(data, n_inducing, max_iterations), max_iterations)
                    best = max(best, kept, key=lambda fit: fit.bound)
    return best


def with_class_kept(fit: LatentFit, max_iterations: int) -> LatentFit:
    """The fit itself if the most probable class of every row stays; else one nearby for which it does.

    A search with a penalty comes close to it; what is left is the share of the deviation from the prior that is kept.
    """
    data = fit.data
    if Order.of(data, FINE, fit.process.lengthscale).share(fit.process) == 1.0:
        return fit
    fit = _search(fit.process, data, max_iterations, Order.of(data, COARSE))
    share = Order.of(data, FINE, fit.process.lengthscale).share(fit.process)
    process = replace(fit.process, mean=share * fit.process.mean)
    return replace(fit, process=process, bound=bound_at(process, data))


def tempered_likelihood(logits: FloatArray, labels: IntArray) -> float:
    """Log-likelihood of ``softmax(logits)``."""
    return float(log_softmax(logits, axis=1)[np.arange(labels.size), labels].sum())


def best_fit(data: OnScale, n_inducing: int, max_iterations: int) -> LatentFit:
    """The process on a scale with the largest bound; one that collapsed is searched for once more from elsewhere."""
    starts = [first_process(data.inputs, n_inducing, SCALES[data.scale].lengthscale)]
    starts.append(tempered_process(starts[0], data.scale, best_inverse_temperature(data.prior, data.labels)))
    if data.scale != "probability":
        starts.reverse()
    found: list[LatentFit] = []
    for start in starts:
        found.append(_search(start, data, max_iterations))
        if not has_collapsed(found[-1].process, data.inputs):
            break
    return max(found, key=lambda fit: fit.bound)


def first_process(inputs: FloatArray, n_inducing: int, lengthscale: float) -> LatentProcess:
    """The prior, with inducing inputs at the centres of k-means: where the paper starts."""
    inducing = centres(inputs, n_inducing)
    return LatentProcess(inducing, np.zeros(inducing.size), np.ones(inducing.size), lengthscale, 1.0, 0.01)


def tempered_process(first: LatentProcess, scale: str, inverse_temperature: float) -> LatentProcess:
    """A start near temperature scaling; on unbounded scales the length scale is half the range.

    On those it ends higher than the paper's start more often than not, and sooner.
    """
    lengthscale, variance = first.lengthscale, first.variance
    if scale != "probability":
        lengthscale, variance = float(np.clip(np.ptp(first.inducing), 1.0, WIDEST)) / 2.0, 25.0
    start = replace(first, lengthscale=lengthscale, variance=variance, scales=np.full(first.mean.size, 0.1))
    prior = prior_of(first.inducing, "probability" if scale == "probability" else "logit")
    below = np.maximum(prior - prior.max(), -WIDEST)
    return replace(start, mean=start.inverse_factor @ ((inverse_temperature - 1.0) * below))


def has_collapsed(process: LatentProcess, inputs: FloatArray) -> bool:
    """Whether the map is the identity: the function less the prior is the same number at all inputs."""
    deviations = process.moments(np.linspace(inputs.min(), inputs.max(), 200))[0]
    return bool(np.ptp(deviations) < FLAT)


def _search(start: LatentProcess, data: OnScale, max_iterations: int, order: Order | None = None) -> LatentFit:
    vector, left = start.to_vector(), max_iterations
    bounds = _bounds(SCALES[data.scale], start.mean.size)
    without_grid = data.inputs.size <= INPUTS_WITHOUT_GRID or data.inputs.min() == data.inputs.max()
    for n_cells in (None,) if without_grid else GRIDS:
        rows = data if n_cells is None else OnGrid(data.inputs, data.prior, data.labels, n_cells)
        # Each grid is searched to the end; the next, finer one is needed only where the length scale is short.
        found = minimize(
            _negative_mean,
            np.clip(vector, bounds[:, 0], bounds[:, 1]),
            args=(rows, order),
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options={"maxiter": max(left, 1), "maxfun": 10 * max_iterations, "ftol": TOLERANCE, "gtol": 1e-7},
        )
        vector, left = found.x, left - found.nit
        process = LatentProcess.from_vector(vector)
        bound = -float(found.fun) * data.labels.size + (0.0 if order is None else order.penalty(vector)[0])
        if without_grid:
            break
        exact = bound_at(process, data)
        error, bound = abs(exact - bound), exact
        if error <= GRID_ERROR:
            break
        if error > MISLEADING:
            vector, left = start.to_vector(), max_iterations
    return LatentFit(process, data, bound, bool(found.success))


def bound_at(process: LatentProcess, data: AllInputs) -> float:
    """The evidence bound without a grid, in parts that bound the memory."""
    total = -process.divergence
    for rows in ranges(data.labels.size, PART // data.inputs.shape[1]):
        part = AllInputs(data.inputs[rows], data.prior[rows], data.labels[rows])
        total += part.likelihood(*process.moments(part.nodes))[0]
    return total


def _negative_mean(vector: FloatArray, rows: AllInputs, order: Order | None) -> tuple[float, FloatArray]:
    value, gradient = evidence_bound(vector, rows)
    if order is not None:
        penalty, slopes = order.penalty(vector)
        value, gradient = value - penalty, gradient - slopes
    return -value / rows.labels.size, -gradient / rows.labels.size


def _bounds(scale: Scale, m: int) -> FloatArray:
    """Finite ranges for positive parameters: separated labels would send the variance to infinity."""
    largest = [LARGEST_SCALE] * m + [scale.largest_lengthscale, scale.largest_variance, LARGEST_NOISE]
    smallest = [-np.inf] * m + [float(inverse_softplus(np.array(SMALLEST_LENGTHSCALE))), -np.inf, -np.inf]
    free = np.full(2 * m, np.inf)
    return np.stack([np.append(-free, smallest), np.append(free, inverse_softplus(np.array(largest)))], axis=1)


def centres(inputs: FloatArray, n_centres: int) -> FloatArray:
    """At most so many centres of k-means of numbers of any shape, started at quantiles of the different numbers.

    Sorted numbers fall into clusters that are intervals, so that a step takes O(M log n) after O(n log n).
    """
    ordered = np.sort(inputs, axis=None)
    different = ordered[np.append(True, np.diff(ordered) > 0.0)]
    if different.size <= n_centres:
        return np.asarray(different)
    found = np.quantile(different, (np.arange(n_centres) + 0.5) / n_centres)
    sums = np.append(0.0, np.cumsum(ordered))
    for _ in range(100):
        inner = np.searchsorted(ordered, (found[1:] + found[:-1]) / 2.0)
        bounds = np.concatenate([[0], inner, [ordered.size]])
        sizes = np.diff(bounds)
        means = np.where(sizes > 0, np.diff(sums[bounds]) / np.maximum(sizes, 1), found)
        if np.array_equal(means, found):
            break
        found = means
    return np.asarray(found)
