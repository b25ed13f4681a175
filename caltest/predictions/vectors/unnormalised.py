"""Predictions that are known by their scores, the gradients of log densities, alone: energy-based models."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from caltest._basics.arrays import to_array
from caltest._basics.numerics import Array, ArrayLike, FloatArray, generator_of
from caltest._validation import finite_array, real_array, real_targets
from caltest.kernels import GaussianKernel, Metric, ProductKernel, TargetKernel
from caltest.kernels.metrics.vector_metrics import Euclidean
from caltest.predictions.base import ClosedFormMissing, Parameter, Predictions, Unbounded, require_family, weighted_sum

Score = Callable[[Array, FloatArray], ArrayLike]
Sampler = Callable[[Array, np.random.Generator], ArrayLike]


class Unnormalised(Predictions):
    """Densities on R or R**d up to constants: only their scores ``s_p(y) = grad_y log p(y)`` are known.

    The features of targets are those of Stein's identity, ``E [s_p(Z) l(Z, y') + grad_Z l(Z, y')] = 0`` for Z ~ p. With
    a target kernel l the SKCE becomes the kernel calibration-conditional Stein discrepancy, with

        h = k_P(p, p') [l s.s' + s.grad_{y'} l + s'.grad_y l + tr grad_y grad_{y'} l],   s = s_p(y), s' = s_p'(y')

    and k_P a kernel of the distance ``(mean_j |s_p(z_j) - s_p'(z_j)|**2)**(1/2)`` at points z_j (``Euclidean``).

    Parameters
    ----------
    score
        Function of parameters (b, ...) and outcomes (b,) or (b, d), one for each, that returns scores of their shape.
    parameters
        Whatever the function needs to know of each prediction, (n, ...).
    points
        Outcomes z_j at which predictions are compared, (m,) or (m, d), for example outcomes of the training data. They
        should cover the range of outcomes, and must not depend on the targets that are tested. Their standard deviation
        is the default bandwidth of the target kernel.
    sampler
        Function of the parameters (n, ...) and a ``numpy.random.Generator`` that draws an outcome for each, if there is
        a way to draw, for exact Monte Carlo tests.

    Raises
    ------
    ValueError
        For data or scores of another shape, or not finite.
    TypeError
        For functions that are none; where targets would have to be drawn without a sampler; for target kernels other
        than ``GaussianKernel`` and ``RationalQuadraticKernel``; for estimators and nulls that need more than scores.

    Notes
    -----
    Assumes densities that are smooth and vanish at infinity, and no bounds of the outcomes. Use ``SKCE`` with
    ``AsymptoticSKCETest``, which needs no draws, or ``MonteCarloTest`` with a sampler. ``BlockSKCE``
    with its normal limit applies too. Time O(n**2 d) for h and O(n**2 m d) for k_P; memory O(n m d).

    Source: Glaser, Widmann, Lindsten and Gretton 2025, Fast and scalable score-based kernel calibration tests.

    Examples
    --------
    >>> import caltest as ct
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> centre = rng.normal(size=200)
    >>> p = ct.Unnormalised(lambda centre, y: -((y - centre) ** 3), centre, points=np.linspace(-4.0, 4.0, 9))
    >>> test = ct.AsymptoticSKCETest(p.default_kernel(), n_resamples=199)
    >>> test(p, centre + 2.0 * rng.normal(size=200), rng=1).pvalue
    0.005
    """

    family = "Unnormalised"
    has_scale = False
    centred_directly = True
    known_metrics = "Euclidean(), the distance of the scores"
    _vectors = Parameter(1, "Scores at the points, which are compared, (..., n, m d).")

    def __init__(
        self, score: Score, parameters: ArrayLike, points: ArrayLike, *, sampler: Sampler | None = None
    ) -> None:
        for name, function in (("score", score), ("sampler", sampler)):
            if not callable(function) and not (name == "sampler" and function is None):
                raise TypeError(f"{name}: got {function!r}, wanted a function")
        self._score, self._sampler = score, sampler
        given = to_array(parameters, "parameters")
        if given.ndim == 0 or len(given) == 0:
            raise ValueError(f"parameters: got shape {given.shape}, wanted a row for each prediction")
        array = to_array(points, "points")
        self._points = real_array(array, "points", ndim=2 if array.ndim == 2 else 1)
        n, self._row_dimensions = len(given), given.ndim - 1
        self._parameters = given, np.empty((n, 0))
        # Scores at all points, side by side, so that the distance of two rows is that of the predictions.
        columns = [self.score(np.broadcast_to(z, (n, *z.shape))).reshape(n, -1) for z in self._points]
        self._parameters = given, np.concatenate(columns, axis=1) / np.sqrt(len(self._points))

    def score(self, targets: Array) -> FloatArray:
        """``grad log p(y)`` for the target y of each prediction, (..., n) or (..., n, d), of that shape."""
        given = self._parameters[0]
        flat = given.reshape(-1, *given.shape[len(self.shape) :])
        y = np.asarray(targets, dtype=np.float64).reshape(-1, *self._points.shape[1:])
        scores = to_array(self._score(flat, y.copy()), "score")
        if scores.shape != y.shape:
            raise ValueError(f"score: got scores of shape {scores.shape} for outcomes {y.shape}, wanted the same shape")
        return np.asarray(finite_array(scores, "score").reshape(np.shape(targets)))

    @property
    def dimension(self) -> int:
        """Dimension d of the outcomes."""
        return 1 if self._points.ndim == 1 else int(self._points.shape[1])

    def check_compatible(self, other: Predictions, name: str) -> None:
        other = require_family(other, Unnormalised, name)
        if other._score is not self._score or not np.array_equal(other._points, self._points):
            raise ValueError(f"{name}: got another score function or other points, wanted the same for all predictions")

    def sample(self, rng: Any = None, size: int | None = None) -> Array:
        if self._sampler is None:
            raise TypeError(
                "predictions: got Unnormalised predictions without a sampler, from which no targets can be drawn; use "
                "AsymptoticSKCETest(kernel), or name a function that draws: Unnormalised(..., sampler=function)"
            )
        sampler, generator = self._sampler, generator_of(rng)

        def draw() -> Array:
            return self.check_targets(sampler(self._parameters[0], generator))

        return draw() if size is None else np.stack([draw() for _ in range(size)])

    @property
    def can_be_drawn(self) -> bool:
        return self._sampler is not None

    def check_targets(self, targets: ArrayLike, name: str = "targets") -> Array:
        return real_targets(targets, len(self), name, self.dimension if self._points.ndim == 2 else None)

    def embedding(self, metric: Metric) -> FloatArray:
        if metric != Euclidean():
            raise self.no_metric(metric)
        return self._vectors

    def target_scale(self) -> float:
        """Standard deviation of the points; for vectors the root of the sum over the coordinates."""
        scale = float(np.sqrt(self._points.var(axis=0).sum()))
        if scale == 0.0:
            raise ValueError("points: got points that are all equal, wanted some that differ, or a named bandwidth")
        return scale

    def default_kernel(self) -> ProductKernel:
        """Gaussian kernels of the distance of the scores and of the targets, with median and standard deviation."""
        return ProductKernel(GaussianKernel(Euclidean(), "median"), GaussianKernel(bandwidth=self.target_scale()))

    def centred_kernel(self, kernel: TargetKernel, targets: Array, other: Self, other_targets: Array) -> FloatArray:
        """The kernel of Stein's identity, (..., r, c)."""
        y, z = self._vectors_of(targets), self._vectors_of(other_targets)
        s, t = self._vectors_of(self.score(targets)), self._vectors_of(other.score(other_targets))
        difference = y[..., :, None, :] - z[..., None, :, :]
        squares = np.einsum("...d,...d->...", difference, difference)
        product = np.einsum("...id,...jd->...ij", s, t)
        across = np.einsum("...id,...ijd->...ij", s, difference) - np.einsum("...jd,...ijd->...ij", t, difference)

        def stein(term: TargetKernel) -> FloatArray:
            value, first, second = term.derivatives(squares)
            return np.asarray(
                value * product - 2.0 * first * across - 2.0 * self.dimension * first - 4.0 * second * squares
            )

        return weighted_sum(kernel, stein)

    def _vectors_of(self, values: Array) -> FloatArray:
        return values[..., None] if self._points.ndim == 1 else values

    def squared_diameter(self, kernel: TargetKernel) -> float:
        """There is none: scores have no bound."""
        raise Unbounded("predictions: got Unnormalised predictions, for which h has no bound; use AsymptoticSKCETest")

    def _expected_kernel(self, kernel: TargetKernel, targets: Array) -> FloatArray:
        raise ClosedFormMissing(
            "predictions: got Unnormalised predictions, of which only scores are known, not expectations of kernels; "
            "wanted SKCE, BlockSKCE or CrossSKCE as the estimator"
        )

    def _expected_kernel2(self, kernel: TargetKernel, other: Self) -> FloatArray:
        return self._expected_kernel(kernel, np.empty(0))

    def describe(self, n: int | None = None) -> str:
        d = f", dimension {self.dimension}" if self.dimension > 1 else ""
        return f"Unnormalised, n = {len(self) if n is None else n}{d}, compared at {len(self._points)} points"
