"""Targets in units of what was predicted for them: standardised residuals and probability integral transforms."""

from math import inf, pi, sqrt
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import scipy

from caltest._basics.calls import own_errstate
from caltest._basics.numerics import Array, ArrayLike, BoolArray, FloatArray, check_rng, generator_apart, generator_of
from caltest._validation import real_targets, refuse_rows
from caltest.kernels import GaussianKernel, Metric, ProductKernel, TargetKernel
from caltest.kernels.base import Exponential
from caltest.predictions.base import Drawer, Predictions, require_family
from caltest.predictions.claims import TINY, Checks, Claim, HazardClaim, Wrong
from caltest.predictions.inputs.convert import as_sample

if TYPE_CHECKING:
    from caltest.predictions.faults.fault import Faults

PANELS, NODES = 24, 14
"""Panels of the quadrature rule, each half as wide as the one before, and nodes in each of them."""

RATE = 0.9
"""Times the predicted rate at which events just matter: 3.6 points more are later than the median."""


def _graded_rule() -> tuple[FloatArray, FloatArray]:
    """Nodes and weights on the unit interval that resolve a kernel around 0 at every scale down to 2**-PANELS."""
    points, weights = np.polynomial.legendre.leggauss(NODES)
    ends = np.append(0.0, 0.5 ** np.arange(PANELS, -1, -1))
    widths = np.diff(ends)[:, None]
    return (ends[:-1, None] + widths * (points + 1.0) / 2.0).ravel(), (widths * weights / 2.0).ravel()


POINTS, WEIGHTS = _graded_rule()


class StandardUniform(Predictions):
    """n uniform distributions on [0, 1].

    With the integral ``K(x)`` of the kernel from distance 0 to x, ``E k(Z, u) = K(u) + K(1 - u)``, and
    ``E k(Z, Z') = 2 int_0^1 (1 - t) k(t) dt``. K has a closed form for Gaussian, Laplacian and Matern kernels; the
    rest is Gauss quadrature on panels that narrow towards 0: exact to 1e-12 for bandwidths of at least 1e-5.
    """

    family = "uniform"
    has_scale = False
    known_metrics = "none: all uniform distributions are equal"

    def __init__(self, shape: tuple[int, ...], ends: tuple[FloatArray, ...] | None = None) -> None:
        """With ends (n,) between which targets are known to be that were drawn there, and perhaps times (n,)."""
        self._parameters = (np.empty(shape, dtype=np.bool_),) if ends is None else ends

    @property
    def ends(self) -> tuple[FloatArray, FloatArray] | None:
        """Those between which targets are known to be that were drawn there."""
        if len(self._parameters) == 1:
            return None
        return self._parameters[0], self._parameters[1]

    @property
    def times(self) -> FloatArray | None:
        """Those of which targets are the levels, if predictions of each row are known."""
        return self._parameters[2] if len(self._parameters) > 2 else None

    def sample(self, rng: Any = None, size: int | None = None) -> Array:
        return generator_of(rng).random(self.shape if size is None else (size, *self.shape))

    def faults_seen(self, targets: Array, weights: FloatArray | None = None) -> "tuple[Faults, Any] | None":
        """Those of times of events, if targets are levels of such with ends."""
        if self.ends is None:
            return super().faults_seen(targets, weights)
        return self.faults_of_events(targets, None, weights)

    def faults_of_events(
        self, targets: Array, predictions: Predictions | None, weights: FloatArray | None = None
    ) -> "tuple[Faults, Any]":
        """Those of levels with ends, and of the predictions of events that they are levels of, if these are known."""
        from caltest.predictions.faults.numbers.intervals import faults_in_intervals
        from caltest.predictions.faults.numbers.risks import Risks

        assert self.ends is not None
        w, risks = np.ones(len(self)) if weights is None else weights, None
        if predictions is not None and self.times is not None:
            risks = Risks.of(predictions, self.times, self.ends, w)
        return faults_in_intervals(self, targets, self.ends, w, risks)

    def slightly_wrong(self, rng: Any, size: int) -> Wrong | None:
        """Levels of events at a rate that just matters, censored as these are; None without ends.

        Rows with an event get the limit of a later row, which makes limits those of Kaplan and Meier. Where levels are
        known up to intervals, new ones are too, all of the mean width.
        """
        if self.ends is None:
            return None
        generator, (low, high) = generator_of(rng), self.ends
        is_censored, n = high >= 1.0, len(self)
        limits, order = np.where(is_censored, low, 1.0), np.argsort(np.where(is_censored, low, high), kind="stable")
        for i in range(n - 2, -1, -1):
            if not is_censored[order[i]]:
                limits[order[i]] = limits[order[generator.integers(i + 1, n)]]
        u, again = 1.0 - generator.random((size, n)) ** (1.0 / RATE), generator.random((size, n))
        u = np.where(u <= limits, u, limits + (1.0 - limits) * again)
        if (width := float((high - low)[~is_censored].mean()) if not is_censored.all() else 0.0) > 0.0:
            start = np.floor(u / width) * width
            u = start + (np.minimum(start + width, 1.0) - start) * generator.random(u.shape)
        return Wrong(f"events at {RATE:g} times the predicted rate", u)

    def check_targets(self, targets: ArrayLike, name: str = "targets") -> Array:
        values = real_targets(targets, len(self), name)
        refuse_rows((values < 0.0) | (values > 1.0), values, name, "numbers between 0 and 1")
        return values

    def impossible(self, targets: Array) -> BoolArray:
        """Levels that are known to be 0 or 1: survival curves excluded an event then, or one that is later."""
        if self.ends is None:
            return super().impossible(targets)
        low, high = self.ends
        return np.asarray((high <= 0.0) | (low >= 1.0))

    def outcome_in_words(self, outcome: Any) -> str:
        if self.ends is None or 0.0 < outcome < 1.0:
            return super().outcome_in_words(outcome)
        return "an event while the curve is 1" if outcome <= 0.0 else "no event until the curve is 0"

    def target_scale(self) -> float:
        return float(1.0 / np.sqrt(12.0))

    def moments(self) -> tuple[FloatArray, FloatArray]:
        return np.full(self.shape, 0.5), np.full(self.shape, 1.0 / 12.0)

    def check_continuous(self) -> None:
        """All of them are."""

    def _quantile(self, level: FloatArray) -> FloatArray:
        return np.broadcast_to(level, np.broadcast_shapes(level.shape, self.shape)).copy()

    def cdf(self, targets: Array) -> FloatArray:
        return np.clip(targets, 0.0, 1.0)

    def log_density(self, targets: Array) -> FloatArray:
        return np.where((targets >= 0.0) & (targets <= 1.0), 0.0, -np.inf)

    def expectation_sums(self, kernel: TargetKernel, weights: FloatArray, targets: Array) -> FloatArray:
        means = self.take([0]).expected_kernel(kernel, targets)[:, 0]
        return np.asarray(weights.sum(axis=1) @ means.T)

    def _expected_kernel(self, kernel: TargetKernel, targets: Array) -> FloatArray:
        means = _integral(kernel, targets) + _integral(kernel, 1.0 - targets)
        batch = np.broadcast_shapes(self.shape[:-1], targets.shape[:-1])
        return np.broadcast_to(means[..., None, :], (*batch, len(self), targets.shape[-1])).copy()

    def _expected_kernel2(self, kernel: TargetKernel, other: Self) -> FloatArray:
        mean = 2.0 * float(WEIGHTS @ ((1.0 - POINTS) * _of_distance(kernel, POINTS)))
        batch = np.broadcast_shapes(self.shape[:-1], other.shape[:-1])
        return np.full((*batch, len(self), len(other)), mean)


def _integral(kernel: TargetKernel, ends: FloatArray) -> FloatArray:
    if kernel.gaussian is not None:
        width = kernel.gaussian.width
        return np.asarray(width * sqrt(pi / 2.0) * scipy.special.erf(ends / (sqrt(2.0) * width)))
    if kernel.exponential is not None:
        return _integral_of_exponential(kernel.exponential, ends)
    return np.asarray(ends * (_of_distance(kernel, ends[..., None] * POINTS) @ WEIGHTS))


def _integral_of_exponential(kernel: Exponential, ends: FloatArray) -> FloatArray:
    """``(2 - (2 + x) exp(-x)) / rate`` with ``x = rate d`` for the linear factor 1 + x, and alike for others."""
    x = kernel.rate * ends
    linear = kernel.linear + 2.0 * kernel.square
    return np.asarray((-(1.0 + linear) * np.expm1(-x) - x * (linear + kernel.square * x) * np.exp(-x)) / kernel.rate)


def _of_distance(kernel: TargetKernel, distances: FloatArray) -> FloatArray:
    return kernel.target_tile(np.zeros(1), distances.reshape(-1)).reshape(distances.shape)


def of_events(laws: Predictions, u: FloatArray, ends: tuple[FloatArray, FloatArray]) -> Checks:
    """Whether as many events are seen as predicted while rows are observed, in all and in both halves of that time.

    Of levels u (n,) of times, between ends, the upper one 1 where censored. Events less cumulative predicted hazards up
    to the last time are a martingale: a row is expected to have ``-log(1 - u)`` of them. Those that are known to be
    beyond the last time of a curve, or all members of an ensemble, count as censored there.
    """
    low, high = ends
    seen = high < 1.0
    hazard = -np.log1p(-np.minimum(np.where(seen, u, low), 1.0 - TINY))
    middle, order = float(np.median(hazard)), _places(laws)
    early, is_late = np.minimum(hazard, middle), hazard > middle
    level = f"{-100.0 * np.expm1(-middle):.3g} % quantile"

    def claim(name: str, expected: FloatArray, occurred: BoolArray) -> Claim:
        return HazardClaim(name, expected, occurred, order, event=name)

    claims = [
        claim("events while observed", hazard, seen),
        claim(f"events up to the {level}", early, seen & ~is_late),
        claim(f"events beyond the {level}", hazard - early, seen & is_late),
    ]
    return [one for one in claims if one.probability.any()], []


def _places(laws: Predictions) -> FloatArray:
    """Medians (n,) of predicted times, or their means where quantiles are not known, or mean intervals of curves."""
    if laws.finite is not None:
        p = laws.finite.probabilities
        return np.asarray(p @ np.arange(float(p.shape[1])))
    try:
        return laws.quantile(0.5)
    except TypeError:
        return laws.moments()[0]


class Residuals(Predictions):
    """The known distribution of residuals, given predictions by which they are compared.

    If predictions are calibrated, residuals have a distribution that does not depend on them: standardised ones that of
    the noise, probability integral transforms the uniform one. A test of ``(Residuals, residuals)`` compares residuals
    with that law, and predictions with each other. Made by ``standardised_residuals`` and ``pit_values``.

    Examples
    --------
    >>> import caltest as ct
    >>> residuals, z = ct.standardised_residuals(ct.Normal([1.0, 2.0], [0.5, 2.0]), [1.5, 0.0])
    >>> print(residuals, z)
    <Residuals of Normal, n = 2> [ 1. -1.]
    """

    family = "Residuals"
    hypothesis = ""
    called = ""
    """What they are called if their predictions are not known."""

    def __init__(self, predictions: Predictions, law: Predictions, hypothesis: str) -> None:
        self._parameters = predictions, law
        self.hypothesis = hypothesis
        self.notes = predictions.notes

    @property
    def predictions(self) -> Predictions:
        """The predictions that the residuals are of, (..., n)."""
        predictions: Predictions = self._parameters[0]
        return predictions

    @property
    def law(self) -> Predictions:
        law: Predictions = self._parameters[1]
        return law

    @property
    def assumption(self) -> str:
        return self.depends or self.predictions.assumption

    def sample(self, rng: Any = None, size: int | None = None) -> Array:
        return self.law.sample(rng, size)

    def drawer(self) -> Drawer:
        return self.law.drawer()

    def check_targets(self, targets: ArrayLike, name: str = "targets") -> Array:
        return self.law.check_targets(targets, name)

    def impossible(self, targets: Array) -> BoolArray:
        # Only curves exclude times: elsewhere levels are 0 or 1 by rounding.
        return self.law.impossible(targets) if self.predictions.longest < inf else super().impossible(targets)

    def check_compatible(self, other: Predictions, name: str) -> None:
        other = require_family(other, Residuals, name)
        self.predictions.check_compatible(other.predictions, name)
        self.law.check_compatible(other.law, name)

    def embedding(self, metric: Metric) -> FloatArray:
        return self.predictions.embedding(metric)

    def distance(self, metric: Metric, other: Any) -> FloatArray:
        self.check_compatible(other, "other")
        return self.predictions.distance(metric, other.predictions)

    def resolve_metric(self, metric: Metric) -> Metric:
        return self.predictions.resolve_metric(metric)

    def target_scale(self) -> float:
        return self.law.target_scale()

    def moments(self) -> tuple[FloatArray, FloatArray]:
        return self.law.moments()

    def cdf(self, targets: Array) -> FloatArray:
        return self.law.cdf(targets)

    def log_density(self, targets: Array) -> FloatArray:
        return self.law.log_density(targets)

    def prepared(self, kernel: TargetKernel) -> Self:
        return self._like(self.predictions, self.law.prepared(kernel))

    def target_tile(self, kernel: TargetKernel, rows: Array, columns: Array) -> FloatArray:
        return self.law.target_tile(kernel, rows, columns)

    def _expected_kernel(self, kernel: TargetKernel, targets: Array) -> FloatArray:
        return self.law.expected_kernel(kernel, targets)

    def _expected_kernel2(self, kernel: TargetKernel, other: Self) -> FloatArray:
        return self.law.expected_kernel2(kernel, other.law)

    def default_kernel(self) -> ProductKernel:
        """The default kernel of the predictions, times a sum of Gaussian kernels of several widths.

        They are 1/2, 1 and 2 standard deviations of standardised residuals; 1/4, 1/2 and 1 of integral transforms, the
        law of which has no tails.
        """
        scale = self.law.target_scale() * (0.5 if isinstance(self.law, StandardUniform) else 1.0)
        first, *others = (GaussianKernel(bandwidth=width * scale) for width in (0.5, 1.0, 2.0))
        return ProductKernel(self.predictions.default_kernel().prediction_kernel, sum(others, start=first))

    def slightly_wrong(self, rng: Any, size: int) -> Wrong | None:
        return self.law.slightly_wrong(rng, size)

    def claims(self, targets: Array) -> Checks:
        """Events that are seen of levels with ends, those of times of which some are censored; else nothing."""
        ends = self.law.ends if isinstance(self.law, StandardUniform) else None
        return ([], []) if ends is None else of_events(self.predictions, targets, ends)

    def claims_at(self, kind: str, place: str, targets: Array) -> tuple[list[Claim], int]:
        return [], 1

    def faults_seen(self, targets: Array, weights: FloatArray | None = None) -> "tuple[Faults, Any] | None":
        if isinstance(self.law, StandardUniform) and self.law.times is not None:
            return self.law.faults_of_events(targets, self.predictions, weights)
        return self.law.faults_seen(targets, weights)

    def describe(self, n: int | None = None) -> str:
        if self.called:
            return f"{self.called}, n = {len(self) if n is None else n}"
        return f"Residuals of {self.predictions.describe(n)}"


@own_errstate
def standardised_residuals(predictions: Predictions, targets: ArrayLike) -> tuple[Residuals, Array]:
    """Reduce to the question "are the errors, in units of what was predicted for them, as they should be?".

    ``z = (y - m) / s``, or ``S**-1/2 (y - m)`` for vectors, whose law is known if the predictions are calibrated. A
    kernel of z sees wrong scales that a kernel of y, in which wide and narrow predictions have the same bandwidth,
    does not.

    Parameters
    ----------
    predictions
        Continuous predictions with a location and a scale, such as ``Normal`` or ``MvNormal`` (``TypeError`` for other
        families), all of which have a spread (``ValueError`` otherwise).
    targets
        (n,) or (n, d) array-like of outcomes.

    Returns
    -------
    tuple
        ``(Residuals, z)``, to be passed to any estimator or test: ``test(*standardised_residuals(p, y))``.

    Examples
    --------
    >>> import caltest as ct
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> wide = ct.Normal(rng.random(100), 0.13)
    >>> y = wide.mean + 0.1 * rng.normal(size=100)  # the noise has the standard deviation 0.1, not 0.13
    >>> bool(ct.calibration_test(*ct.standardised_residuals(wide, y), rng=1).pvalue < 0.05)
    True
    """
    sample = as_sample(predictions, targets)
    law, residuals = sample.predictions.standardised(sample.targets)
    return Residuals(sample.predictions, law, "(Y - m) / s has its standard law given P_X"), residuals


def integral_transforms(law: Predictions, targets: Array, ties: FloatArray | None) -> FloatArray:
    """``P(Z < y) + v P(Z = y)`` of targets (..., n) and ties v (n,), uniform if v is; without jumps v is not needed."""
    u = law.cdf(targets)
    if law.has_jumps:
        assert ties is not None
        below = law.cdf_below(targets)
        u = below + ties * (u - below)
    return u


@own_errstate
def pit_values(predictions: Predictions, targets: ArrayLike, *, rng: Any = None) -> tuple[Residuals, Array]:
    """Reduce to the question "are the outcomes spread evenly over the predicted quantiles, whatever was predicted?".

    ``u = F(y)`` with the predicted distribution function F, the probability integral transform (Dawid 1984), which is
    uniform given the prediction if predictions are calibrated. Unlike a histogram of u, a kernel test of
    ``(Residuals, u)`` sees errors that cancel across predictions.

    Parameters
    ----------
    predictions
        Continuous predictions of real targets, counts or ensembles. The transform of a count, and of an outcome among
        its ensemble, is drawn from ``P(Z < y)`` to ``P(Z <= y)``: of an ensemble it is the rank of the outcome in the
        pool of m + 1 values, ties at random, less a random part of 1, over m + 1. ``TypeError`` for families of classes
        or vectors, or without a distribution function; ``ValueError`` for predictions without any spread.
    targets
        (n,) array-like of outcomes.
    rng
        Seed or ``numpy.random.Generator`` of these draws.

    Returns
    -------
    tuple
        ``(Residuals, u)``, to be passed to any estimator or test: ``test(*pit_values(p, y))``.

    Examples
    --------
    >>> import caltest as ct
    >>> _, u = ct.pit_values(ct.Normal([1.0, 2.0], [0.5, 2.0]), [1.0, 4.0])
    >>> u.round(3)
    array([0.5  , 0.841])
    """
    check_rng(rng)
    sample = as_sample(predictions, targets)
    ties = None
    if sample.predictions.has_jumps:
        ties = generator_apart(rng).random(len(sample))
    else:
        sample.predictions.check_continuous()
    u = np.clip(integral_transforms(sample.predictions, sample.targets, ties), 0.0, 1.0)
    law = StandardUniform((len(sample),))
    return Residuals(sample.predictions, law, "F(Y) is uniform given P_X"), u
