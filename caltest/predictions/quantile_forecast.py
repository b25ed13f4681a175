"""Forecasts given by quantiles at a few levels, tested for what they say and no more."""

from typing import Any, Self

import numpy as np
import scipy

from caltest._basics.arrays import to_array
from caltest._basics.numerics import Array, ArrayLike, BoolArray, FloatArray, generator_of
from caltest._validation import finite_array, increasing_numbers, real_array, real_targets, refuse_rows
from caltest._validation.column_names import levels_named, names_of_columns
from caltest.kernels import LaplacianKernel, Metric
from caltest.predictions.base import Parameter, Predictions, require_family
from caltest.predictions.claims import Checks, Claim, Wrong, by_spread
from caltest.predictions.classes.finite import FinitePredictions
from caltest.predictions.faults import Faults
from caltest.predictions.numbers.claims import DEVIATION, SHIFTED
from caltest.predictions.numbers.normal import Normal

LARGEST = np.finfo(np.float64).max


class QuantileForecast(FinitePredictions):
    """n forecasts of a real target by its quantiles q_1 < ... < q_K at the levels l_1 < ... < l_K.

    Quantiles do not determine a distribution. What they say is how probable each interval between them is, whatever the
    forecast: with l_0 = 0, l_{K+1} = 1, and J the number of quantiles below the outcome Y::

        P(J = j | q) = l_{j+1} - l_j,    j = 0, ..., K,    for every forecast q

    That is what is tested: it is calibration of predictions with the K + 1 outcomes J, so every test for classes is as
    exact as it is there. Errors inside an interval and in the tails beyond q_1 and q_K go unseen.

    Parameters
    ----------
    levels
        (K,) array-like of increasing numbers between 0 and 1.
    values
        (n, K) array-like of the quantiles, which increase along each row, in units of the target.

    Raises
    ------
    ValueError
        For levels outside (0, 1) or not increasing, values that are not finite, quantiles that cross or are equal, and
        columns that are named after other levels, such as ``0.1``, ``q0.1`` or ``10 %``.

    Notes
    -----
    Targets are real numbers. One that equals a quantile counts as below it, ``J = #{k: y > q_k}``, because a quantile
    q_k is right if P(Y <= q_k) = l_k. The distribution of Y must have no jump at a quantile, or this cannot hold for
    other levels; forecasts of discrete quantities often have equal quantiles, and are refused for that reason.

    Forecasts are compared by ``Wasserstein()``, the distance of distributions with the quantiles as their points and
    the levels nearest to each as its probability; intervals by ``DeltaKernel()``, ``MatrixKernel(A)`` or a kernel of
    the middles of their levels, the numbers ``(l_j + l_{j+1}) / 2``, so that its bandwidth is a probability.

    ``sample`` draws an interval and then a target in it: uniform between two quantiles, and beyond the outermost ones
    exponential with the width of the next interval as mean distance (1 for a single quantile).

    Cost: as ``Categorical`` with K + 1 classes.

    Examples
    --------
    >>> import caltest as ct
    >>> forecast = ct.QuantileForecast([0.1, 0.5, 0.9], [[-1.0, 0.0, 1.0], [1.0, 3.0, 4.0]])
    >>> forecast
    <QuantileForecast, n = 2, 3 levels>
    >>> forecast.check_targets([0.2, 5.0])
    array([2, 3])
    >>> ct.calibration_test(forecast, [0.2, 5.0], n_resamples=99, rng=1).pvalue
    0.06
    """

    family = "QuantileForecast"
    probabilities_differ = False
    known_metrics = "Wasserstein(): the probabilities of all forecasts are the same"
    _default_target_kernel = LaplacianKernel()
    notion = "intervals between quantiles"
    hypothesis = "P(outcome between two quantiles | all quantiles) = difference of their levels"

    values = Parameter(0, "Quantiles (..., n, K).")
    _row_dimensions = 1

    def __init__(self, levels: ArrayLike, values: ArrayLike) -> None:
        self._levels = _checked_levels(levels)
        _check_names(values, self._levels)
        self._parameters = (_checked_values(values, self._levels.shape[0]),)
        self._levels.flags.writeable = self.values.flags.writeable = False

    @property
    def levels(self) -> FloatArray:
        return self._levels

    @property
    def _edges(self) -> FloatArray:
        return np.concatenate([[0.0], self._levels, [1.0]])

    @property
    def probabilities(self) -> FloatArray:
        return np.broadcast_to(np.diff(self._edges), (*self.shape, self.n_classes)).copy()

    @property
    def positions(self) -> FloatArray:
        """Middles of the levels of the intervals, (K + 1,)."""
        return np.asarray((self._edges[1:] + self._edges[:-1]) / 2.0)

    def occurrence(self, c: int) -> str:
        quantiles = [f"the {100.0 * level:g} % quantile" for level in self.levels[max(c - 1, 0) : c + 1]]
        side = "below " if c == 0 else "above " if c == self.n_classes - 1 else "between "
        return f"an outcome {side}{' and '.join(quantiles)} occurs"

    def errors_on_a_line(self, targets: Array) -> tuple[FloatArray, FloatArray]:
        return self.positions[targets] - 0.5, self.values[:, self.values.shape[1] // 2]

    @property
    def n_classes(self) -> int:
        return int(self._levels.shape[0]) + 1

    def observed(self, labels: Array, rng: np.random.Generator) -> FloatArray:
        """Targets (..., n) in the intervals of these numbers; nothing that is tested depends on where in them."""
        q, rows, last = self.values, np.arange(len(self)), self.values.shape[1]
        with np.errstate(over="ignore"):
            widths = np.minimum(np.diff(q, axis=1), LARGEST / 64.0) if last > 1 else np.ones_like(q)
        low, high = q[rows, np.maximum(labels - 1, 0)], q[rows, np.minimum(labels, last - 1)]
        u = rng.random(labels.shape)
        tail = -np.log1p(-u)
        inside = low * u + high * (1.0 - u)
        values = np.where(labels == last, high + widths[:, -1] * tail, inside)
        values = np.where(labels == 0, low - widths[:, 0] * tail, values)
        least = np.where(labels == 0, -LARGEST, np.nextafter(low, np.inf))
        return np.asarray(np.clip(values, least, np.where(labels == last, LARGEST, high)))

    def check_targets(self, targets: ArrayLike, name: str = "targets") -> Array:
        """Real targets as the numbers of quantiles below them, an (n,) integer array."""
        values = real_targets(targets, len(self), name)
        return np.asarray((values[:, None] > self.values).sum(axis=1, dtype=np.intp))

    def as_read(self, targets: ArrayLike, checked: Array) -> Array:
        return real_targets(targets, len(self), "targets")

    @property
    def nearest_normal(self) -> Normal | None:
        """Normal laws with the middle quantile, and as far between the outermost ones; None for a single level."""
        z, q = scipy.special.ndtri(self.levels), self.values
        if z.size < 2:
            return None
        scales = (q[:, -1] - q[:, 0]) / (z[-1] - z[0])
        middle = int(np.argmin(np.abs(z)))
        return Normal(q[:, middle] - z[middle] * scales, scales)

    loss_name = "quantile loss"

    def losses(self, targets: Array) -> FloatArray:
        """``2 (1[y <= q] - l) (q - y)`` of real targets (n,), on average over the levels l with their quantiles q."""
        above = self.values - targets[:, None]
        return np.asarray(2.0 * (((above >= 0.0) - self.levels) * above).mean(axis=-1))

    def moved(self, shift: FloatArray | float, factor: FloatArray | float) -> Self:
        """As of numbers, with the mean and the standard deviation of the nearest normal law; of one level shifted only.

        A single quantile has no spread: it is moved by the shift itself.
        """
        mean, scale = self.values[:, :1], np.ones((len(self), 1))
        if (normal := self.nearest_normal) is not None:
            mean, scale = normal.mean[:, None], normal.scale[:, None]
        return self._like(mean + scale * shift + factor * (self.values - mean))

    def best_move(self, targets: Array) -> tuple[float, float]:
        """As of others; of a single level the shift is the quantile of the errors."""
        if self.levels.size > 1:
            return super().best_move(targets)
        return float(np.quantile(targets - self.values[:, 0], self.levels[0], method="inverted_cdf")), 1.0

    def faults(self, weights: FloatArray | None = None, among: Self | None = None) -> Faults | None:
        from caltest.predictions.faults.classes.ordered import QuantileFaults

        return QuantileFaults(self, weights, among=among)

    def claims(self, targets: Array) -> Checks:
        """Coverage between quantiles of levels u and 1 - u; outcomes up to each where there are no such pairs."""
        levels, order = (
            self.levels,
            by_spread(self.values[:, -1] - self.values[:, 0], self.values[:, self.levels.size // 2]),
        )
        mirrored = np.isclose(levels[:, None], 1.0 - levels, atol=1e-9)
        pairs = [(i, j) for i, j in np.argwhere(mirrored).tolist() if i < j]

        def claim(name: str, probability: float, occurred: BoolArray) -> Claim:
            return Claim(name, np.full(len(self), probability), occurred, order)

        claims = []
        for i, j in reversed(pairs):
            width = float(levels[j] - levels[i])
            claims.append(claim(f"inside the {100 * width:.3g} % interval", width, (targets > i) & (targets <= j)))
        for i, level in enumerate(levels.tolist()):
            if not pairs or abs(level - 0.5) < 1e-9:
                claims.append(claim(f"up to the {100 * level:.3g} % quantile", level, targets <= i))
        return claims, []

    def slightly_wrong(self, rng: Any, size: int) -> Wrong:
        """The intervals of normal outcomes that are moved."""
        z = generator_of(rng).normal(DEVIATION, 1.0, (size, len(self)))
        return Wrong(SHIFTED, np.searchsorted(scipy.special.ndtri(self.levels), z, side="left"))

    def check_compatible(self, other: Predictions, name: str) -> None:
        other = require_family(other, QuantileForecast, name)
        if not np.array_equal(other._levels, self._levels):
            raise ValueError(
                f"{name}: got quantiles at the levels {other._levels.tolist()}, wanted {self._levels.tolist()} as in "
                "the predictions"
            )

    def transport_vectors(self) -> FloatArray:
        """Quantiles times the roots of the widths of the cells around their levels, which are 1 together."""
        middles = (self._levels[1:] + self._levels[:-1]) / 2.0
        return np.asarray(self.values * np.sqrt(np.diff(middles, prepend=0.0, append=1.0)))

    def distance(self, metric: Metric, other: Any) -> FloatArray:
        """Distances (..., r, c) of these predictions (..., r) to others (..., c), those of vectors only."""
        metric.vectors_of(self)
        return super().distance(metric, other)

    def describe(self, n: int | None = None) -> str:
        levels = self._levels.shape[0]
        return f"QuantileForecast, n = {len(self) if n is None else n}, {levels} level{'s' if levels > 1 else ''}"


def _check_names(values: Any, levels: FloatArray) -> None:
    """Raise ``ValueError`` for columns of a data frame, or coordinates, that are named after other levels."""
    names = names_of_columns(values)
    said = levels_named(names)
    if said is not None and len(said) == levels.size and not np.allclose(said, levels, rtol=1e-4):
        wanted = ", ".join(f"{level:g}" for level in levels)
        raise ValueError(
            f"values: got columns named {', '.join(names)}, wanted those of the levels {wanted}; pass the levels of "
            "the columns, and both in increasing order"
        )


def _checked_levels(levels: ArrayLike) -> FloatArray:
    array = to_array(levels, "levels")
    if array.ndim == 2:
        raise ValueError(f"levels: got shape {array.shape}, wanted 1 dimension; levels come first, then values (n, K)")
    values = real_array(array, "levels", ndim=1)
    advice = "; if these are percentages, divide them by 100" if values.max() > 1.0 else ""
    refuse_rows((values <= 0.0) | (values >= 1.0), values, "levels", f"numbers between 0 and 1{advice}")
    return increasing_numbers(values, "levels", "the columns of the values into the same order")


def _checked_values(values: ArrayLike, n_levels: int) -> FloatArray:
    array = to_array(values, "values")
    if array.ndim != 2 or array.shape[1] != n_levels or array.shape[0] == 0:
        raise ValueError(
            f"values: got shape {array.shape}, wanted (n, {n_levels}), a row for each forecast and a column for each "
            "level"
        )
    quantiles = finite_array(array, "values")
    wrong = quantiles[:, 1:] <= quantiles[:, :-1]
    if wrong.any():
        i, k = (int(place) for place in np.argwhere(wrong)[0])
        low, high = quantiles[i, k], quantiles[i, k + 1]
        if low > high:
            raise ValueError(
                f"values: got {low:.6g} and then {high:.6g} at row {i}, wanted quantiles that increase along the row; "
                "if they cross, numpy.sort(values, axis=1) is at least as good a forecast"
            )
        raise ValueError(
            f"values: got {low:.6g} twice at row {i}, columns {k} and {k + 1}, wanted quantiles that differ: no "
            "outcome lies between equal ones, whatever the levels say; leave out one of these levels for all forecasts"
        )
    return quantiles
