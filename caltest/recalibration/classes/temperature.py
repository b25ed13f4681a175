"""Temperature scaling of probabilities of classes, and no recalibration, to compare methods with."""

from dataclasses import dataclass

import numpy as np
from scipy.special import softmax

from caltest._basics.numerics import FloatArray, IntArray
from caltest._validation import positive_number
from caltest.recalibration.base import ProbabilityCalibrator, ProbabilityMap
from caltest.recalibration.shared.inputs import log_probabilities, probabilities_of

SMALLEST, LARGEST = 1e-3, 1e3
"""Range of temperatures and of their inverses."""

SMALLEST_CLIP, LARGEST_CLIP = np.finfo(np.float64).tiny, 1e-3
"""Range of the smallest probability."""


@dataclass(frozen=True, eq=False, repr=False)
class TemperatureMap(ProbabilityMap):
    """``softmax(z / T)`` with the logits, or logarithms of probabilities, z."""

    temperature: float
    clip: float

    ranges = {"temperature": (1.0 / LARGEST, 1.0 / SMALLEST), "clip": (SMALLEST_CLIP, LARGEST_CLIP)}

    def _apply(self, scores: FloatArray) -> FloatArray:
        logits = log_probabilities(scores, self.input, self.clip)
        return np.asarray(softmax((logits - logits.max(axis=1, keepdims=True)) / self.temperature, axis=1))

    def _latent(self, inputs: FloatArray, prior: FloatArray) -> tuple[FloatArray, FloatArray]:
        return log_probabilities(inputs, self.input, self.clip) / self.temperature, np.zeros_like(prior)


@dataclass(frozen=True)
class TemperatureScaling(ProbabilityCalibrator):
    """Temperature scaling: ``softmax(z / T)`` with the T of the largest likelihood of the labels.

    The logits z are those given, or ``z = log p``, never the probabilities themselves. The order of the classes stays,
    and so does the accuracy. The mean negative log-likelihood is convex in ``b = 1/T``, with gradient
    ``mean(E_s[z] - z_y)`` where ``s = softmax(b z)``; its minimum on [1e-3, 1e3] is the root of that (Brent).

    Parameters
    ----------
    clip
        Probabilities below this count as this before logarithms, between 2.2e-308 and 1e-3. Methods such as random
        forests predict 0 for labels that occur; their number of nats decides the temperature then. For a forest of 100
        trees and seven classes (KITTI, four splits) the log loss is 0.435 with 1e-12 and 0.289 with 1e-3.

    Raises
    ------
    TypeError
        For predictions of other families; ``FamilyTemperatureScaling`` is for continuous ones.

    Notes
    -----
    Time O(n k) a step, about 15 steps. If the most probable class is always right (separated labels), T is 0.001; if
    the labels say the opposite of the predictions, or the predictions are constant over the classes, T is 1000 or 1.
    Source: Guo et al. 2017, section 4.2.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> fitted = ct.recalibration.TemperatureScaling().fit(p.take(slice(450)), y[:450])
    >>> print(f"T = {fitted.temperature:.2f}")
    T = 0.22
    """

    citations = ("guo2017",)
    clip: float = 1e-12

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "clip", positive_number("clip", self.clip))
        if not SMALLEST_CLIP <= self.clip <= LARGEST_CLIP:
            raise ValueError(f"clip: got {self.clip!r}, wanted a number between 2.2e-308 and 1e-3")

    def _fit(self, scores: FloatArray, labels: IntArray) -> TemperatureMap:
        inverse = best_inverse_temperature(log_probabilities(scores, self.input, self.clip), labels)
        return TemperatureMap(self.input, scores.shape[1], 1.0 / inverse, self.clip)


@dataclass(frozen=True, eq=False, repr=False)
class IdentityMap(ProbabilityMap):
    """Probabilities as they are, the softmax of logits."""

    def _apply(self, scores: FloatArray) -> FloatArray:
        return probabilities_of(scores, self.input)

    def _latent(self, inputs: FloatArray, prior: FloatArray) -> tuple[FloatArray, FloatArray]:
        return prior, np.zeros_like(prior)


@dataclass(frozen=True)
class Identity(ProbabilityCalibrator):
    """No recalibration: probabilities stay, logits become ``softmax(z)``. A method for ``fit_best`` to compare with.

    Notes
    -----
    Time O(n k).

    Examples
    --------
    >>> import caltest as ct
    >>> ct.recalibration.Identity().fit([[0.2, 0.8]], [1])([[0.5, 0.5]]).tolist()
    [[0.5, 0.5]]
    """

    def _fit(self, scores: FloatArray, labels: IntArray) -> IdentityMap:
        return IdentityMap(self.input, scores.shape[1])


def best_inverse_temperature(logits: FloatArray, labels: IntArray) -> float:
    """The b in [1e-3, 1e3] with the largest likelihood of labels (n,) for ``softmax(b z)``, z (n, k)."""
    from scipy.optimize import brentq

    shifted = logits - logits.max(axis=1, keepdims=True)
    observed = shifted[np.arange(labels.size), labels].mean()

    def slope(log_b: float) -> float:
        """Derivative of the mean negative log-likelihood in b."""
        weights = np.exp(np.exp(log_b) * shifted)
        return float(np.mean(np.einsum("ij,ij->i", weights, shifted) / weights.sum(axis=1)) - observed)

    low, high = np.log(SMALLEST), np.log(LARGEST)
    if not shifted.any():
        return 1.0
    if slope(low) >= 0.0:
        return SMALLEST
    if slope(high) <= 0.0:
        return LARGEST
    return float(np.exp(brentq(slope, low, high, xtol=1e-13, rtol=1e-14)))
