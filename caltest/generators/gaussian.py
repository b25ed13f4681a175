"""The Gaussian models of Widmann et al. 2021."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from caltest._basics.numerics import Array, FloatArray, generator_of
from caltest._validation import number_of_observations, switch, whole_number
from caltest.generators.base import Generator
from caltest.kernels import ProductKernel
from caltest.predictions import MvNormal, Normal, Predictions


@dataclass(frozen=True)
class GaussianModel(Generator):
    """Predictions ``N(c 1, 0.1**2 I)`` in d dimensions with c uniform on [0, 1], and normal targets.

    Calibrated: the targets are drawn from the predictions. Uncalibrated: the first coordinate of the targets is drawn
    from N(0.1, 0.1**2) whatever the prediction, the others from the predictions.

    Parameters
    ----------
    dimension
        d >= 1. Predictions are ``Normal`` for d = 1, else ``MvNormal``.
    calibrated
        Which of the two.

    Notes
    -----
    Source: Widmann et al. 2021, appendix A.2.

    Examples
    --------
    >>> import caltest as ct
    >>> predictions, targets = ct.generators.GaussianModel(calibrated=False).sample(100, rng=1)
    >>> ct.calibration_test(predictions, targets, rng=1).pvalue
    0.001
    """

    dimension: int = 1
    calibrated: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "dimension", whole_number("dimension", self.dimension, 1))
        object.__setattr__(self, "calibrated", switch("calibrated", self.calibrated))

    @property
    def is_calibrated(self) -> bool:
        return self.calibrated

    @property
    def description(self) -> str:
        return f"{'calibrated' if self.calibrated else 'uncalibrated'} Gaussian model, d = {self.dimension}"

    def sample(self, n: int, rng: Any = None) -> tuple[Predictions, Array]:
        """N predictions, and targets of shape (n,) for d = 1, else (n, d)."""
        generator = generator_of(rng)
        centres = generator.random(number_of_observations(n))
        return self._predictions(centres), self._laws(centres).sample(generator)

    def skce(self, kernel: ProductKernel) -> float:
        """The squared kernel calibration error of the model, by quadrature; 0 if it is calibrated.

        With the law Q of the targets of a prediction P (Widmann et al. 2021, Lemma B.2)::

            E k_P(P, P') [E k_Y(Y, Y') - E k_Y(Z, Y') - E k_Y(Y, Z') + E k_Y(Z, Z')],    Y ~ Q, Z ~ P

        over independent pairs (P, Q), (P', Q'). Gauss-Legendre rule with 48 x 48 points on the triangle c' < c, on
        which exponential and Gaussian kernels of the predictions are smooth: accurate to 1e-12 for bandwidths of at
        least 0.2. ``TypeError`` for kernels without closed forms.
        """
        if self.calibrated:
            return 0.0
        nodes, weights = np.polynomial.legendre.leggauss(48)
        nodes, weights = (nodes + 1.0) / 2.0, weights / 2.0
        large = np.repeat(nodes, nodes.size)[:, None]
        small = large * np.tile(nodes, nodes.size)[:, None]
        p, q, other_p, other_q = (f(c) for c in (large, small) for f in (self._predictions, self._laws))
        target_kernel = kernel.target_kernel
        terms = q.expected_kernel2(target_kernel, other_q) + p.expected_kernel2(target_kernel, other_p)
        terms -= p.expected_kernel2(target_kernel, other_q) + q.expected_kernel2(target_kernel, other_p)
        terms *= kernel.prediction_kernel.tile(p, other_p)
        return float(2.0 * np.sum(np.outer(weights * nodes, weights).ravel() * terms.ravel()))

    def _predictions(self, centres: FloatArray) -> Predictions:
        """``N(c 1, 0.1**2 I)`` for centres of any shape (..., n)."""
        return self._normal(np.repeat(centres[..., None], self.dimension, axis=-1))

    def _laws(self, centres: FloatArray) -> Predictions:
        """The distributions of the targets for centres of any shape (..., n)."""
        means = np.repeat(centres[..., None], self.dimension, axis=-1)
        if not self.calibrated:
            means[..., 0] = 0.1
        return self._normal(means)

    def _normal(self, means: FloatArray) -> Predictions:
        flat = means.reshape(-1, self.dimension)
        index = np.arange(flat.shape[0]).reshape(means.shape[:-1])
        one: Predictions = Normal(flat[:, 0], 0.1) if self.dimension == 1 else MvNormal(flat, 0.1**2)
        return one.take(index)
