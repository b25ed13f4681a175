"""Faults of predicted vectors, on the scale of their standard scores."""

from collections.abc import Sequence
from functools import partial
from math import inf, sqrt

import numpy as np

from caltest._basics.numerics import Array, FloatArray
from caltest.predictions.base import Predictions
from caltest.predictions.faults.fault import (
    Faults,
    Fit,
    OfPatterns,
    Pattern,
    Rows,
    RowsOf,
    about,
    cosines,
    halves,
    sized,
    weights_or_ones,
)
from caltest.predictions.faults.numbers import OfResiduals, Scale, Shift, by_features
from caltest.predictions.faults.scores import Scores

MOST_FEATURES = 8
"""Coordinates whose predicted means are features."""

MOST_PAIRED = 32
"""Coordinates that are compared in pairs."""

MOST_HALVED = 5
"""Coordinates whose predicted means have halves."""

LARGEST_CORRELATION = 0.97


class VectorFaults(Faults):
    """Means and spreads of coordinates, correlations that are not predicted, and shapes.

    Features of the predictions are the means of the first eight coordinates and the total variance, by their ranks
    among all predictions, or among some of them.
    """

    def __init__(
        self, predictions: Predictions, weights: FloatArray | None = None, among: Predictions | None = None
    ) -> None:
        self._law = predictions.law
        self.weights = w = weights_or_ones(weights, len(predictions))
        mean, variance = predictions.moments()
        dimension = mean.shape[1]
        one = np.ones((1, len(predictions)))
        means, variances = (None, None) if among is None else among.moments()
        cos = [
            cosines(mean[:, t], 1, among=None if means is None else means[:, t])
            for t in range(min(dimension, MOST_FEATURES))
        ]
        features = np.concatenate([*cos, cosines(variance, 1, among=variances)]) * w
        paired = min(dimension, MOST_PAIRED)
        pairs = [(a, b) for a in range(paired) for b in range(a + 1, paired)]
        places = [Pattern(one[0])]
        for t in range(min(dimension, MOST_HALVED)):
            places += halves(mean[:, t], f"predicted means of coordinate {t}")
        coordinates = [Pattern(one[0], above=f"in coordinate {t}") for t in range(dimension)]
        n_rows = len(features) * dimension
        members: list[Rows[Scores]] = [
            CoordinateShift(coordinates, one * w),
            CoordinateScale(coordinates, one * w),
            TotalScale(places[:1], one * w),
            RowsOf("shifts by prediction", n_rows, partial(_scores, features)),
            RowsOf("scales by prediction", n_rows, partial(_squares, features)),
            RowsOf("radius and cubes", 2, radius_and_cubes),
        ]
        if pairs:
            n_rows = len(features) * len(pairs)
            members.append(RowsOf("correlations by prediction", n_rows, partial(products, features)))
            if self._law.has_normal_scores:
                members.append(Correlation(pairs, places[:1], one * w))
            else:
                members.append(RowsOf("correlation", len(pairs), partial(products, one * w)))
            if places[1:] and self._law.has_normal_scores:
                members.append(Correlation(pairs, places[1:], kind="local correlation"))
        self.members = tuple(members)

    def seen(self, targets: Array) -> Scores:
        return Scores(self._law, targets, self.weights)


def _scores(features: FloatArray, seen: Scores) -> FloatArray:
    return by_features(features, seen.clipped)


def _squares(features: FloatArray, seen: Scores) -> FloatArray:
    return by_features(features, np.square(seen.clipped))


class OfCoordinates(OfResiduals):
    """A fault with a sibling for each coordinate."""

    def __init__(self, patterns: Sequence[Pattern], features: FloatArray) -> None:
        super().__init__(patterns, features)
        self.n_rows = len(features) * len(patterns)

    def own(self, seen: Scores, sibling: int) -> FloatArray:
        return seen.residuals[:, [sibling]].T

    def promising(self, seen: Scores) -> FloatArray:
        """How far mean squares of residuals are from 1; minus infinity where a coordinate has no spread."""
        squares = seen.weights @ seen.squares / seen.weights.sum()
        return np.where(squares > 0.0, np.abs(np.log(np.maximum(squares, 1e-300))), -inf)


class CoordinateShift(OfCoordinates, Shift):
    """``z_a ~ N(t, 1)`` for a coordinate."""


class CoordinateScale(OfCoordinates, Scale):
    """``z_a ~ N(0, exp(2 t))`` for a coordinate."""


class TotalScale(Scale):
    """``z ~ N(0, exp(2 t) I)``."""

    kind = "common scale"
    weight = 1.0
    rows_name = "total spread"

    def own(self, seen: Scores, sibling: int) -> FloatArray:
        return seen.residuals.T

    def rows(self, seen: Scores) -> FloatArray:
        """Sums of all squared scores."""
        return by_features(self.features, np.square(seen.clipped).sum(axis=2))


def radius_and_cubes(seen: Scores) -> FloatArray:
    """Squares of the radius, and cubes of the scores."""
    z = seen.clipped
    radius = (np.square(z).sum(axis=2) - z.shape[2]) / sqrt(2.0 * z.shape[2])
    return np.stack([np.square(radius) @ seen.weights, (z * z * z).sum(axis=2) @ seen.weights])


def products(features: FloatArray, seen: Scores) -> FloatArray:
    """``sum_i f_i z_ia z_ib`` for features (J, n) and a < b: (J pairs, B)."""
    z = np.ascontiguousarray(seen.clipped[:, :, :MOST_PAIRED].swapaxes(1, 2))
    pairs = np.concatenate([z[:, [a]] * z[:, a + 1 :] for a in range(z.shape[1] - 1)], axis=1)
    return np.ascontiguousarray((pairs @ features.T).transpose(2, 1, 0).reshape(-1, len(z)))


class Correlation(OfPatterns[Scores]):
    """A correlation t s of two coordinates, with the signs s of a pattern."""

    kind = "correlation"
    weight = 1.0
    range = (-LARGEST_CORRELATION, LARGEST_CORRELATION)

    def __init__(
        self,
        pairs: list[tuple[int, int]],
        patterns: Sequence[Pattern],
        features: FloatArray | None = None,
        kind: str = "",
    ) -> None:
        super().__init__(patterns, features, kind)
        self._pairs = pairs
        self.n_siblings, self.n_rows = len(pairs) * len(patterns), len(pairs) * self.n_rows

    def _of(self, sibling: int) -> tuple[tuple[int, int], Pattern]:
        return self._pairs[sibling % len(self._pairs)], self.patterns[sibling // len(self._pairs)]

    def rows(self, seen: Scores) -> FloatArray:
        """Products of the scores of two coordinates."""
        return products(self.features, seen)

    def promising(self, seen: Scores) -> FloatArray:
        scores = np.empty(self.n_siblings)
        for sibling in range(self.n_siblings):
            (a, b), pattern = self._of(sibling)
            products = seen.weights * pattern.signs * seen.residuals[:, a] * seen.residuals[:, b]
            scores[sibling] = products.sum() ** 2 / max(float(np.square(seen.weights * pattern.signs).sum()), 1e-300)
        return scores

    def log_ratio(self, seen: Scores, sibling: int, t: float) -> float:
        (a, b), pattern = self._of(sibling)
        r = t * pattern.signs
        za, zb = seen.residuals[:, a], seen.residuals[:, b]
        rest = 1.0 - r * r
        quadratic = r * r * (za * za + zb * zb) - 2.0 * r * za * zb
        return float(seen.weights @ (-0.5 * np.log(rest) - 0.5 * quadratic / rest))

    def size(self, seen: Scores, sibling: int, t: float) -> float:
        """The correlation at the place that is named."""
        return self._of(sibling)[1].sign * t

    def place(self, sibling: int) -> str:
        (a, b), pattern = self._of(sibling)
        return f"coordinates {a} and {b}{pattern.where}"

    def words(self, seen: Scores, sibling: int, fit: Fit) -> str:
        (a, b), pattern = self._of(sibling)
        size = self.size(seen, sibling, fit.t)
        rest = pattern.opposite(f"of {about(-size)} elsewhere")
        much = f"{sized(fit, lambda t: self.size(seen, sibling, t))}{pattern.where}{rest}"
        return f"errors of coordinates {a} and {b} have a correlation that is not predicted, of {much}"
