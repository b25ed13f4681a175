"""Flexible calibration curves: risk as a smooth function of the predicted risk, for many outcomes at once."""

from dataclasses import dataclass

import numpy as np
import scipy

from caltest._basics.numerics import Array, BoolArray, FloatArray
from caltest._loops.statistics.logistic import maximise

STEPS, TOLERANCE = 15, 1e-5
"""Of Newton's method: how many full steps there are at most, and how long the last one is in standard errors if
calibrated; its square is about what is still missing then."""

QUANTILES = {5: (0.05, 0.275, 0.5, 0.725, 0.95), 4: (0.05, 0.35, 0.65, 0.95), 3: (0.1, 0.5, 0.9)}
"""Of the predictions, where the knots of a spline are: Harrell's."""

EVENTS = {5: 100.0, 4: 50.0}
"""Expected events, and expected cases without, that so many knots take; fewer have three."""

SPAN, DEGREE, POINTS = 0.75, 2, 200
"""Of loess: share of the data in a neighbourhood, degree, and between how many points curves are joined by lines."""


def logistic_fits(design: FloatArray, outcomes: Array, start: FloatArray) -> FloatArray:
    """Coefficients (B, q) of logistic regressions of outcomes (B, n) on one design (n, q), by Newton's method.

    They begin at ``start`` (q,), and stay there where outcomes are all alike, which have no maximum of the likelihood.
    Where full steps do not settle, shorter ones follow; where outcomes are separated, coefficients are large, not
    infinite.
    """
    p = 1.0 / (1.0 + np.exp(-(design @ start)))
    triangle = np.asarray(np.linalg.qr(np.sqrt(p * (1.0 - p) + 1e-12)[:, None] * design, mode="r"))
    x = np.ascontiguousarray(np.linalg.solve(triangle.T, design.T).T)
    products = (x[:, :, None] * x[:, None, :]).reshape(len(x), -1)
    b, q = outcomes.shape[0], x.shape[1]
    coefficients, rest = np.tile(triangle @ start, (b, 1)), np.flatnonzero((outcomes != outcomes[:, :1]).any(axis=1))
    # The information is the identity matrix at the start.
    coefficients[rest] += (outcomes[rest] - p) @ x
    for _ in range(STEPS):
        mean = 0.5 + 0.5 * np.tanh(0.5 * (coefficients[rest] @ x.T))
        information = ((mean * (1.0 - mean)) @ products).reshape(-1, q, q) + 1e-9 * np.eye(q)
        steps = np.linalg.solve(information, ((outcomes[rest] - mean) @ x)[..., None])[..., 0]
        coefficients[rest] += steps
        rest = rest[~(np.linalg.norm(steps, axis=1) <= TOLERANCE)]
        if not rest.size:
            break
    for one in rest:
        coefficients[one] = triangle @ start
        maximise(x, outcomes[one].astype(np.int8), coefficients[one], q)
    return np.asarray(np.linalg.solve(triangle, coefficients.T).T)


def spline_basis(x: FloatArray, knots: FloatArray) -> FloatArray:
    """Columns 1, x and the terms of restricted cubic splines, which are linear beyond the outer knots (n, k).

    With ``c_i = (x - t_i)_+^3`` and the widths ``w_i = t_k - t_i``, they are
    ``(c_j - c_{k-1} w_j / w_{k-1} + c_k (t_{k-1} - t_j) / w_{k-1}) / w_1^2`` for the first k - 2 knots t_j, as in
    Harrell's ``rcs``.
    """
    columns = [np.ones_like(x), x]
    last, before = (knots[-1], knots[-2]) if knots.size > 1 else (0.0, 0.0)
    for t in knots[:-2]:
        cubes = [np.maximum(x - one, 0.0) ** 3 for one in (t, before, last)]
        term = cubes[0] + (cubes[2] * (before - t) - cubes[1] * (last - t)) / (last - before)
        columns.append(term / (last - knots[0]) ** 2)
    return np.column_stack(columns)


@dataclass(frozen=True)
class SplineCurve:
    """Logistic regression on restricted cubic splines of the log-odds, with knots that the predictions choose."""

    kept: BoolArray
    design: FloatArray
    at: FloatArray
    """The design of the grid."""

    @classmethod
    def of(cls, p: FloatArray, grid: FloatArray) -> "SplineCurve":
        """For predictions (n,) and a grid between 0 and 1; predictions of 0 and 1 keep their values."""
        kept = (p > 0.0) & (p < 1.0)
        x, at = scipy.special.logit(p[kept]), scipy.special.logit(grid)
        expected = float(min(p.sum(), (1.0 - p).sum()))
        number = next((k for k, least in EVENTS.items() if expected >= least), 3)
        knots = np.unique(np.quantile(x, QUANTILES[number])) if x.size else np.empty(0)
        knots = knots if knots.size > 2 else np.empty(0)
        columns = np.unique(x).size
        return cls(kept, spline_basis(x, knots)[:, :columns], spline_basis(at, knots)[:, :columns])

    def __call__(self, p: FloatArray, outcomes: Array) -> tuple[FloatArray, FloatArray]:
        """Curves at the predictions (B, n) and on the grid (B, m) for outcomes (B, n)."""
        inner = outcomes if self.kept.all() else outcomes[:, self.kept]
        x, q = scipy.special.logit(p[self.kept]), self.design.shape[1]
        if not x.size:
            return np.tile(p, (len(outcomes), 1)), np.tile(np.nan, (len(outcomes), len(self.at)))
        start = np.zeros(q)
        start[0 if q == 1 else 1] = x[0] if q == 1 else 1.0
        coefficients = logistic_fits(self.design, inner, start)
        inside, line = (scipy.special.expit(coefficients @ one.T) for one in (self.design, self.at))
        # The maximum of the likelihood is at infinity there.
        alike = (inner == inner[:, :1]).all(axis=1)
        inside[alike] = line[alike] = inner[alike, :1]
        values = np.tile(p, (len(outcomes), 1))
        values[:, self.kept] = inside
        return values, line


@dataclass(frozen=True)
class LoessCurve:
    """Local regression of the outcomes on the predictions, as R's ``loess(y ~ p, surface = "direct")``.

    Quadratic, with tricube weights over the nearest 75 % of the predictions; of more than 200, values are joined by
    lines between 100 quantiles of the predictions and 100 places at equal distances. Kept between 0 and 1.
    """

    places: FloatArray
    weights: FloatArray
    grid: FloatArray

    @classmethod
    def of(cls, p: FloatArray, grid: FloatArray) -> "LoessCurve":
        """For predictions (n,) and a grid."""
        places = np.unique(p)
        if places.size > POINTS:
            # Quantiles alone are far apart where predictions are few and the curve bends most.
            shares = np.linspace(0.0, 1.0, POINTS // 2)
            places = np.unique(np.append(np.quantile(places, shares), places[0] + (places[-1] - places[0]) * shares))
        return cls(places, loess_weights(p, places), grid)

    def __call__(self, p: FloatArray, outcomes: Array) -> tuple[FloatArray, FloatArray]:
        """Curves at the predictions (B, n) and on the grid (B, m) for outcomes (B, n)."""
        values = np.clip(outcomes @ self.weights.T, 0.0, 1.0)
        return _joined(p, self.places, values), _joined(self.grid, self.places, values)


def loess_weights(x: FloatArray, at: FloatArray) -> FloatArray:
    """What each of the observations (n,) counts for local regressions at m places, (m, n).

    ``w(d) = (1 - (d / h)^3)^3`` with the distance h of the ``floor(n SPAN)``-th nearest observation, polynomials of
    the degree ``DEGREE``. Source: Cleveland 1979, without robustness iterations.
    """
    distances = np.abs(at[:, None] - x)
    rank = max(1, min(x.size, int(np.floor(x.size * SPAN + 1e-5))))
    widths = np.maximum(np.partition(distances, rank - 1, axis=1)[:, rank - 1], 1e-12)[:, None]
    kernel = (1.0 - np.minimum(distances / widths, 1.0) ** 3) ** 3
    rows = np.empty_like(kernel)
    for i, place in enumerate(at):
        roots = np.sqrt(kernel[i])
        powers = np.vander((x - place) / widths[i, 0], DEGREE + 1, increasing=True)
        rows[i] = np.linalg.pinv(roots[:, None] * powers)[0] * roots
    return np.asarray(rows)


def _joined(x: FloatArray, places: FloatArray, values: FloatArray) -> FloatArray:
    """Values (B, m) at places between which lines go, at other points (B, n)."""
    if places.size == 1:
        return np.repeat(values, x.size, axis=1)
    left = np.clip(np.searchsorted(places, x, side="right") - 1, 0, places.size - 2)
    share = np.clip((x - places[left]) / (places[left + 1] - places[left]), 0.0, 1.0)
    return np.asarray(values[:, left] * (1.0 - share) + values[:, left + 1] * share)
