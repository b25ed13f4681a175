"""GPcalib: the map of a latent Gaussian process, probabilities averaged over draws of the function, and settings."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.special import softmax

from caltest._basics.numerics import ArrayLike, FloatArray, IntArray, generator_of, normalised, ranges
from caltest._validation import switch, whole, whole_number
from caltest.recalibration.base import ProbabilityCalibrator, ProbabilityMap
from caltest.recalibration.classes.temperature import LARGEST as LARGEST_SLOPE, SMALLEST
from caltest.recalibration.gaussian_process.fit import best_of_scales
from caltest.recalibration.gaussian_process.objective import FLOOR, PART, LatentProcess, inputs_of, prior_of
from caltest.recalibration.shared.storage import LARGEST, require


@dataclass(frozen=True, eq=False, repr=False)
class GPMap(ProbabilityMap):
    """``softmax(phi(z_1)..phi(z_k))`` with the mean phi of one latent function of all classes.

    Attributes
    ----------
    scale
        What the kernel sees: ``"probability"`` p, ``"log"`` its logarithm, ``"logit"`` the logits.
    inducing, mean, scales
        Inducing inputs w (M,), and means m and standard deviations s of the whitened inducing variables.
    lengthscale, variance, noise
        Of the kernel.
    evidence_bound
        Taylor-expanded lower bound of the logarithm of the evidence, in nats.
    converged
        Whether the search ended before its largest number of iterations.
    lowest, highest
        Range of the inputs of the fit on the scale.
    slope
        Of the mean of the prior, ``slope * ln p`` or ``slope * z``.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> fitted = ct.recalibration.GPCalibrator().fit(p, y)
    >>> prior, mean, deviation = fitted.latent_function([0.1, 0.5, 0.9])
    >>> bool(mean[2] - mean[0] > prior[2] - prior[0])
    True
    """

    scale: str
    inducing: FloatArray
    mean: FloatArray
    scales: FloatArray
    lengthscale: float
    variance: float
    noise: float
    evidence_bound: float
    converged: bool
    lowest: float
    highest: float
    slope: float = 1.0

    # No wider than what the search allows, so that the covariance of the inducing variables has a factor.
    ranges = {
        "mean": (-LARGEST, LARGEST),
        "scales": (FLOOR / 2.0, 1e3 * (1.0 + 1e-6)),
        "lengthscale": (FLOOR / 2.0, 1e4 * (1.0 + 1e-6)),
        "variance": (FLOOR / 2.0, 1e4 * (1.0 + 1e-6)),
        "noise": (FLOOR / 2.0, 1e2 * (1.0 + 1e-6)),
        "slope": (SMALLEST, LARGEST_SLOPE),
    }

    def _check(self) -> None:
        super()._check()
        scales = ("logit",) if self.input == "logits" else ("probability", "log")
        require(self.scale in scales, "scale", self.scale, " or ".join(map(repr, scales)))
        m = (self.inducing.size,)
        require(self.inducing.shape == m and m != (0,), "inducing", self.inducing.shape, "shape (M,), M at least 1")
        for name in ("mean", "scales"):
            require(getattr(self, name).shape == m, name, getattr(self, name).shape, f"shape {m} as inducing")
        require(self.lowest <= self.highest, "lowest, highest", (self.lowest, self.highest), "an increasing pair")

    def marginal(self, predictions: ArrayLike, *, n_draws: int = 100, rng: Any = None) -> Any:
        """Mean of the recalibrated probabilities over draws of the latent function, of the kind that is given.

        Predictions and errors as those of the map itself; the standard error of the mean of Q ``n_draws`` falls like
        1 / sqrt(Q).

        Notes
        -----
        One draw of the inducing variables serves all classes and rows. What they leave open is independent between
        classes. Time O(Q n k M); memory does not grow with n beyond the result.
        """
        draws, generator = whole_number("n_draws", n_draws, 1), generator_of(rng)

        def averaged(matrix: FloatArray) -> FloatArray:
            inputs, prior = inputs_of(matrix, self.scale), prior_of(matrix, self.scale, self.slope)
            return marginal_probabilities(self.process, inputs, prior, draws, generator)

        return self._mapped(predictions, None, averaged)

    def _latent(self, inputs: FloatArray, prior: FloatArray) -> tuple[FloatArray, FloatArray]:
        deviation, variance = self.process.moments(inputs_of(inputs, self.scale))
        return self.slope * prior + deviation, np.sqrt(np.maximum(variance, 0.0))

    @property
    def process(self) -> LatentProcess:
        """The process with its factors."""
        return LatentProcess(self.inducing, self.mean, self.scales, self.lengthscale, self.variance, self.noise)

    def _apply(self, scores: FloatArray) -> FloatArray:
        means, process = prior_of(scores, self.scale, self.slope), self.process
        for rows in ranges(scores.shape[0], PART // scores.shape[1]):
            inputs = inputs_of(scores[rows], self.scale)
            # Unlike those of a matrix product, sums for equal inputs are equal to the last bit, and ties stay ties.
            sums = np.einsum("gm,m->g", process.kernel(inputs.ravel()), process.weights)
            means[rows] += sums.reshape(inputs.shape)
        return np.asarray(softmax(means, axis=1))


NUMBERS = 2_000_000
"""Numbers in memory at once."""


def marginal_probabilities(
    process: LatentProcess, inputs: FloatArray, prior: FloatArray, n_draws: int, rng: np.random.Generator
) -> FloatArray:
    """Mean over draws of ``softmax(g(x_1)..g(x_k))`` for rows of inputs (n, k)."""
    k, m = inputs.shape[1], process.mean.size
    variables = process.mean + process.scales * rng.standard_normal((n_draws, m))
    weights = process.inverse_factor.T @ variables.T
    size = k * max(n_draws, m)
    averages = np.empty(inputs.shape)
    for rows in ranges(inputs.shape[0], NUMBERS // size):
        kernel = process.kernel(inputs[rows].ravel()).reshape(-1, k, m)
        noise = rng.standard_normal((kernel.shape[0], k, n_draws))
        explained = kernel @ process.inverse_factor.T
        variances = process.variance + process.noise - (explained**2).sum(axis=2)
        rest = np.sqrt(np.maximum(variances, 0.0))[..., None] * noise
        values = prior[rows][..., None] + kernel @ weights + rest
        averages[rows] = softmax(values, axis=1).mean(axis=2)
    return normalised(averages)


@dataclass(frozen=True, kw_only=True)
class GPCalibrator(ProbabilityCalibrator):
    """GPcalib: ``softmax(g(z_1)..g(z_k))`` with one latent function g of all classes, a Gaussian process.

    Its prior mean is ``ln p`` of probabilities, or the logits z themselves: the model is taken to be calibrated unless
    the data say otherwise. The kernel is ``variance exp(-(x - x')^2 / (2 l^2)) + noise 1[x = x']``. The process has M
    inducing inputs w and ``g(w) = prior(w) + L v`` with ``L L' = K(w, w)`` and ``v ~ N(m, diag(s^2))``; w, m, s and the
    kernel maximise ``sum_i E[ln softmax(g(x_i))_{y_i}] - KL``, the expectation to second order in the variance of g.
    Of probabilities the kernel sees p in one fit and ln p in another; the one with the larger bound is the result.

    Parameters
    ----------
    n_inducing
        Number M of inducing inputs, fewer if there are fewer different inputs.
    max_iterations
        Of each search.
    keep_class
        Whether the most probable class of every prediction stays, and so does the accuracy. False: the paper's fit,
        whose likelihood does not see which class is largest.

    Notes
    -----
    The fit uses no random numbers: inducing inputs start at the centres of k-means, which starts at quantiles.
    On p the search starts at the prior, on ln p and logits near temperature scaling; one that ends at the prior is
    repeated from the other start, and if it ends there again, the map is the identity. Where temperature scaling is far
    better than what is found, searches from shorter length scales follow.

    The most probable class stays since ``g(p) > g(q)`` wherever q < p can lie beside a largest probability p, thus for
    q <= 1 - p; of logits g increases. A fit that breaks this is searched for again with a penalty, which takes about as
    long again, and its deviation from the prior is shortened by the few percent that are missing then. Where this is
    worse than temperature scaling by 0.1 nats a row, the prior is ``ln p / T``. Averages of
    ``GPMap.marginal`` can change the class. The expansion of the likelihood makes the bound approximate. Classes
    without labels in the calibration data get the same g as all others. If the predictions are constant over the
    classes and rows, the map returns them; if the most probable class is always right (separated labels), it makes the
    predictions sharper, by a finite amount since parameters are bounded. Probability 0 counts as 2.2e-308.

    Time of a step of the search O(n k + M^2 min(n k, 2000) + M^3): beyond 4000 inputs g is tabulated and interpolated
    by cubic polynomials, on finer grids where that would change the bound by more than 0.01. Source: Wenger, Kjellstrom
    and Triebel 2020, section 3; the kernel and its start are those of supplement S3. Differs from the paper in the
    choice between p and ln p, in the start on ln p and logits, in keeping the class, and in drawing the inducing
    variables jointly for all classes in ``GPMap.marginal``; the map itself is the paper's mean approximation. The
    linear prior that the paper mentions, ``a ln p``, is that of the logits ``z = a ln p`` with ``input="logits"``, for
    instance with the a = 1 / T of ``TemperatureScaling``.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> fitted = ct.recalibration.GPCalibrator().fit(p.take(slice(450)), y[:450])
    >>> fitted(p.take(slice(450, None)))
    <Categorical, n = 449, 10 classes>
    >>> fitted.marginal(p.take(slice(450, None)), rng=1)
    <Categorical, n = 449, 10 classes>
    """

    citations = ("wenger2020",)
    n_inducing: int = 10
    max_iterations: int = 1000
    keep_class: bool = True
    _checks = {"n_inducing": whole(1), "max_iterations": whole(1), "keep_class": switch}

    def _fit(self, scores: FloatArray, labels: IntArray) -> GPMap:
        scales = ("logit",) if self.input == "logits" else ("probability", "log")
        best = best_of_scales(scores, labels, scales, self.n_inducing, self.max_iterations, self.keep_class)
        return GPMap(
            self.input,
            scores.shape[1],
            best.data.scale,
            **asdict(best.process),
            evidence_bound=best.bound,
            converged=best.converged,
            lowest=float(best.data.inputs.min()),
            highest=float(best.data.inputs.max()),
            slope=best.data.slope,
        )
