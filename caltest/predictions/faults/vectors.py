"""Faults of predicted vectors, on the scale of their standard scores."""

from math import exp, inf, log, sqrt
from typing import TYPE_CHECKING

import numpy as np

from caltest._basics.types import Array, FloatArray
from caltest.predictions.faults.fault import Fault, Faults, Fit, Rows, weights_or_ones
from caltest.predictions.faults.features import Pattern, cosines, halves
from caltest.predictions.faults.numbers import deviations_in_words, scale_in_words
from caltest.predictions.faults.scores import Scores
from caltest.predictions.faults.wording import about, sized

if TYPE_CHECKING:
    from caltest.predictions.base import Predictions

MOST_FEATURES = 8
"""Coordinates whose predicted means are features."""

MOST_PAIRED = 32
"""Coordinates that are compared in pairs."""

MOST_HALVED = 5
"""Coordinates whose predicted means have halves."""

LARGEST_CORRELATION = 0.97


class VectorScores(Scores):
    """Targets (B, n, d), with scores of independent coordinates if the family knows correlations."""

    def products(self, features: FloatArray) -> FloatArray:
        """``sum_i f_i z_ia z_ib`` for features (J, n) and a < b: (J pairs, B)."""
        z = self.clipped[:, :, :MOST_PAIRED]
        a, b = np.triu_indices(z.shape[2], 1)
        sums = [(z * feature[:, None]).swapaxes(1, 2) @ z for feature in features]
        return np.concatenate([some[:, a, b].T for some in sums]) if a.size else np.empty((0, len(z)))


class VectorFaults(Faults):
    """Means and spreads of coordinates, correlations that are not predicted, and shapes.

    Features of the predictions are the means of the first eight coordinates and the total variance.
    """

    def __init__(self, predictions: "Predictions", weights: FloatArray | None = None) -> None:
        self._law = predictions.law
        self.weights = w = weights_or_ones(weights, len(predictions))
        mean, variance = predictions.moments()
        dimension = mean.shape[1]
        one = np.ones((1, len(predictions)))
        cos = [cosines(mean[:, t], 1) for t in range(min(dimension, MOST_FEATURES))]
        features = np.concatenate([*cos, cosines(variance, 1)]) * w
        paired = min(dimension, MOST_PAIRED)
        pairs = [(a, b) for a in range(paired) for b in range(a + 1, paired)]
        places = [Pattern(one[0])]
        for t in range(min(dimension, MOST_HALVED)):
            places += halves(mean[:, t], f"predicted means of coordinate {t}")
        members: list[Rows[VectorScores]] = [
            Shift(dimension, one * w),
            Scale(dimension, one * w),
            TotalScale(dimension, one * w),
            ShiftBy(features, dimension),
            ScaleBy(features, dimension),
            Shape(dimension, w),
        ]
        if pairs:
            members.append(ProductsBy(features, len(pairs)))
            correlations = Products if not self._law.has_normal_scores else Correlation
            members.append(correlations(pairs, places[:1], one * w))
            if places[1:] and self._law.has_normal_scores:
                members.append(LocalCorrelation(pairs, places[1:], one[:0] * w))
        self.members = tuple(members)

    def seen(self, targets: Array) -> VectorScores:
        return VectorScores(self._law, targets, self.weights)


class Shift(Fault[VectorScores]):
    """``z_a ~ N(t, 1)`` for a coordinate."""

    kind = "shift"
    weight = 2.0
    range = (-inf, inf)

    def __init__(self, dimension: int, features: FloatArray) -> None:
        self._features = features
        self.n_siblings, self.n_rows = dimension, dimension

    def rows(self, seen: VectorScores) -> FloatArray:
        """Sums of the scores."""
        return by_features(self._features, seen.clipped)

    def promising(self, seen: VectorScores) -> FloatArray:
        return varying(seen)

    def bounds(self, seen: VectorScores, sibling: int) -> tuple[float, float]:
        total = float(seen.weights.sum())
        most = float(seen.weights @ seen.residuals[:, sibling]) / total
        return most - 10.0 / sqrt(total), most + 10.0 / sqrt(total)

    def log_ratio(self, seen: VectorScores, sibling: int, t: float) -> float:
        own = seen.residuals[:, sibling]
        return float(seen.weights @ (seen.log_kernel(own - t) - seen.log_kernel(own)))

    def size(self, seen: VectorScores, sibling: int, t: float) -> float:
        """In predicted standard deviations, with its direction."""
        return seen.unit * t

    def place(self, sibling: int) -> str:
        return f"coordinate {sibling}"

    def words(self, seen: VectorScores, sibling: int, fit: Fit) -> str:
        side = "above" if fit.t > 0.0 else "below"
        return (
            f"outcomes are {side} what was predicted in {self.place(sibling)}, by {deviations_in_words(fit, seen.unit)}"
        )


class Scale(Fault[VectorScores]):
    """``z_a ~ N(0, exp(2 t))`` for a coordinate."""

    kind = "scale"
    weight = 2.0
    range = (-inf, inf)

    def __init__(self, dimension: int, features: FloatArray) -> None:
        self._features = features
        self.n_siblings, self.n_rows = dimension, dimension

    def rows(self, seen: VectorScores) -> FloatArray:
        """Sums of the squared scores."""
        return np.asarray(
            np.einsum("ji,bia->jab", self._features, np.square(seen.clipped)).reshape(-1, len(seen.targets))
        )

    def promising(self, seen: VectorScores) -> FloatArray:
        return varying(seen)

    def _own(self, seen: VectorScores, sibling: int) -> FloatArray:
        """The residuals that are scaled, (n, c)."""
        return seen.residuals[:, [sibling]]

    def bounds(self, seen: VectorScores, sibling: int) -> tuple[float, float]:
        squares = np.square(self._own(seen, sibling)).mean(axis=1)
        most = 0.5 * log(max(float(seen.weights @ squares / seen.weights.sum()), 1e-300))
        return min(most, 0.0) - 1.0, max(most, 0.0) + 1.0

    def log_ratio(self, seen: VectorScores, sibling: int, t: float) -> float:
        own = self._own(seen, sibling)
        terms = seen.log_kernel(own * exp(-t)) - seen.log_kernel(own) - t
        return float(seen.weights @ terms.sum(axis=1))

    def size(self, seen: VectorScores, sibling: int, t: float) -> float:
        """The ratio of errors to those predicted."""
        return seen.ratio(t)

    def place(self, sibling: int) -> str:
        return f"coordinate {sibling}"

    def words(self, seen: VectorScores, sibling: int, fit: Fit) -> str:
        return scale_in_words(Pattern(seen.weights, above=f"in {self.place(sibling)}"), fit, seen.ratio)


class TotalScale(Scale):
    """``z ~ N(0, exp(2 t) I)``."""

    kind = "common scale"
    weight = 1.0
    rows_name = "total spread"

    def __init__(self, dimension: int, features: FloatArray) -> None:
        super().__init__(dimension, features)
        self._dimension, self.n_siblings, self.n_rows = dimension, 1, 1

    def rows(self, seen: VectorScores) -> FloatArray:
        return np.asarray(self._features @ np.square(seen.clipped).sum(axis=2).T)

    def promising(self, seen: VectorScores) -> FloatArray:
        return np.zeros(1)

    def _own(self, seen: VectorScores, sibling: int) -> FloatArray:
        return seen.residuals

    def place(self, sibling: int) -> str:
        return ""

    def words(self, seen: VectorScores, sibling: int, fit: Fit) -> str:
        return scale_in_words(Pattern(seen.weights), fit, seen.ratio)


class ShiftBy(Rows[VectorScores]):
    """Scores times features."""

    rows_name = "shifts by prediction"
    weight = 1.0

    def __init__(self, features: FloatArray, dimension: int) -> None:
        self._features, self.n_rows = features, len(features) * dimension

    def rows(self, seen: VectorScores) -> FloatArray:
        return np.asarray(
            np.einsum("ji,bia->jab", self._features, seen.clipped, optimize=True).reshape(-1, len(seen.targets))
        )


class ScaleBy(ShiftBy):
    """Squared scores times features."""

    rows_name = "scales by prediction"

    def rows(self, seen: VectorScores) -> FloatArray:
        squares = np.square(seen.clipped)
        return np.asarray(
            np.einsum("ji,bia->jab", self._features, squares, optimize=True).reshape(-1, len(seen.targets))
        )


class Products(Rows[VectorScores]):
    """Products of the scores of two coordinates."""

    rows_name = "correlation"
    weight = 1.0

    def __init__(self, pairs: list[tuple[int, int]], patterns: list[Pattern], features: FloatArray) -> None:
        self._features, self.n_rows = features, len(features) * len(pairs)

    def rows(self, seen: VectorScores) -> FloatArray:
        return seen.products(self._features)


class ProductsBy(Products):
    """Products of the scores of two coordinates, times features."""

    rows_name = "correlations by prediction"

    def __init__(self, features: FloatArray, n_pairs: int) -> None:
        self._features, self.n_rows = features, len(features) * n_pairs


class Shape(Rows[VectorScores]):
    """Squares of the radius, and cubes of the scores."""

    rows_name = "radius and cubes"
    weight = 1.0
    n_rows = 2

    def __init__(self, dimension: int, weights: FloatArray) -> None:
        self._dimension, self._weights = dimension, weights

    def rows(self, seen: VectorScores) -> FloatArray:
        z = seen.clipped
        radius = (np.square(z).sum(axis=2) - self._dimension) / sqrt(2.0 * self._dimension)
        return np.stack([np.square(radius) @ self._weights, (z**3).sum(axis=2) @ self._weights])


class Correlation(Fault[VectorScores]):
    """A correlation t s of two coordinates, with the signs s of a pattern."""

    kind = "correlation"
    weight = 1.0
    range = (-LARGEST_CORRELATION, LARGEST_CORRELATION)

    def __init__(self, pairs: list[tuple[int, int]], patterns: list[Pattern], features: FloatArray) -> None:
        self._pairs, self._patterns, self._features = pairs, patterns, features
        self.n_siblings, self.n_rows = len(pairs) * len(patterns), len(features) * len(pairs)

    def _of(self, sibling: int) -> tuple[tuple[int, int], Pattern]:
        return self._pairs[sibling % len(self._pairs)], self._patterns[sibling // len(self._pairs)]

    def rows(self, seen: VectorScores) -> FloatArray:
        """Products of the scores of two coordinates."""
        return seen.products(self._features)

    def promising(self, seen: VectorScores) -> FloatArray:
        scores = np.empty(self.n_siblings)
        for sibling in range(self.n_siblings):
            (a, b), pattern = self._of(sibling)
            products = seen.weights * pattern.signs * seen.residuals[:, a] * seen.residuals[:, b]
            scores[sibling] = products.sum() ** 2 / max(float(np.square(seen.weights * pattern.signs).sum()), 1e-300)
        return scores

    def log_ratio(self, seen: VectorScores, sibling: int, t: float) -> float:
        (a, b), pattern = self._of(sibling)
        r = t * pattern.signs
        za, zb = seen.residuals[:, a], seen.residuals[:, b]
        rest = 1.0 - r * r
        quadratic = r * r * (za * za + zb * zb) - 2.0 * r * za * zb
        return float(seen.weights @ (-0.5 * np.log(rest) - 0.5 * quadratic / rest))

    def size(self, seen: VectorScores, sibling: int, t: float) -> float:
        """The correlation at the place that is named."""
        return self._of(sibling)[1].sign * t

    def place(self, sibling: int) -> str:
        (a, b), pattern = self._of(sibling)
        return f"coordinates {a} and {b}{pattern.where}"

    def words(self, seen: VectorScores, sibling: int, fit: Fit) -> str:
        (a, b), pattern = self._of(sibling)
        size = self.size(seen, sibling, fit.t)
        rest = pattern.opposite(f"of {about(-size)} elsewhere")
        much = f"{sized(fit, lambda t: self.size(seen, sibling, t))}{pattern.where}{rest}"
        return f"errors of coordinates {a} and {b} have a correlation that is not predicted, of {much}"


class LocalCorrelation(Correlation):
    """The same in halves of the predictions."""

    kind = "local correlation"
    weight = 0.0


def varying(seen: VectorScores) -> FloatArray:
    """Mean squares of the residuals of each coordinate, minus infinity where it is predicted without spread."""
    squares = seen.weights @ seen.squares / seen.weights.sum()
    return np.where(squares > 0.0, np.abs(np.log(np.maximum(squares, 1e-300))), -np.inf)


def by_features(features: FloatArray, scores: FloatArray) -> FloatArray:
    """``sum_i f_ji z_bia`` for features (J, n) and scores (B, n, d): (J d, B)."""
    return np.concatenate((features @ scores).transpose(1, 2, 0))
