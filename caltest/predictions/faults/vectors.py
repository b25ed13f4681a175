"""Faults of predicted vectors, on the scale of their standard scores."""

from collections.abc import Sequence
from functools import partial
from math import sqrt

import numpy as np

from caltest._basics.numerics import Array, FloatArray
from caltest.predictions.base import Predictions
from caltest.predictions.faults.fault import (
    Fault,
    Faults,
    Fit,
    OfPatterns,
    Pattern,
    Rows,
    about,
    cosines,
    halves,
    weights_or_ones,
)
from caltest.predictions.faults.numbers import Scale, Shift, sums_of_scores, sums_of_squares
from caltest.predictions.faults.scores import MOST_PAIRED, Scores

MOST_FEATURES = 8
"""Coordinates whose predicted means are features."""

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
        d = mean.shape[1]
        one = np.ones((1, len(predictions)))
        means, variances = (None, None) if among is None else among.moments()
        cos = [
            cosines(mean[:, t], 1, among=None if means is None else means[:, t]) for t in range(min(d, MOST_FEATURES))
        ]
        features = np.concatenate([*cos, cosines(variance, 1, among=variances)]) * w
        everywhere, coordinates = [Pattern(one[0])], [Pattern(one[0], above=f"in coordinate {t}") for t in range(d)]
        kinds: list[Fault[Scores]] = [
            Shift(coordinates, by_coordinate=True),
            Scale(coordinates, by_coordinate=True),
            Scale(everywhere, "common scale"),
        ]
        compared = [
            Rows("shift", d, partial(sums_of_scores, one * w), 2.0),
            Rows("scale", d, partial(sums_of_squares, one * w), 2.0),
            Rows("total spread", 1, partial(total_squares, one * w)),
            Rows("shifts by prediction", len(features) * d, partial(sums_of_scores, features)),
            Rows("scales by prediction", len(features) * d, partial(sums_of_squares, features)),
            Rows("radius and cubes", 2, radius_and_cubes),
        ]
        paired = range(min(d, MOST_PAIRED))
        if pairs := [(a, b) for a in paired for b in paired if a < b]:
            compared.append(Rows("correlations by prediction", len(features) * len(pairs), partial(products, features)))
            compared.append(Rows("correlation", len(pairs), partial(products, one * w)))
            if self._law.has_normal_scores:
                kinds.append(Correlation(pairs, everywhere))
                places: list[Pattern] = []
                for t in range(min(d, MOST_HALVED)):
                    places += halves(mean[:, t], f"predicted means of coordinate {t}")
                if places:
                    kinds.append(Correlation(pairs, places, "local correlation"))
        self.kinds, self.compared = tuple(kinds), tuple(compared)

    def seen(self, targets: Array) -> Scores:
        return Scores(self._law, targets, self.weights)

    def after(self, seen: Scores, correction: FloatArray) -> tuple[Faults, Scores]:
        return self, seen.after(correction)


def total_squares(features: FloatArray, seen: Scores) -> FloatArray:
    """Sums of all squared scores."""
    return np.asarray(features @ np.square(seen.clipped).sum(axis=2).T)


def radius_and_cubes(seen: Scores) -> FloatArray:
    """Squares of the radius, and cubes of the scores."""
    z = seen.clipped
    radius = (np.square(z).sum(axis=2) - z.shape[2]) / sqrt(2.0 * z.shape[2])
    return np.stack([np.square(radius) @ seen.weights, (z * z * z).sum(axis=2) @ seen.weights])


def products(features: FloatArray, seen: Scores) -> FloatArray:
    """``sum_i f_i z_ia z_ib`` for features (J, n) and a < b: (J pairs, B)."""
    pairs = seen.products
    return np.ascontiguousarray((pairs @ features.T).transpose(2, 1, 0).reshape(-1, len(pairs)))


class Correlation(OfPatterns[Scores]):
    """A correlation t s of two coordinates, with the signs s of a pattern."""

    kind = "correlation"
    range = (-LARGEST_CORRELATION, LARGEST_CORRELATION)

    def __init__(self, pairs: list[tuple[int, int]], patterns: Sequence[Pattern], kind: str = "") -> None:
        super().__init__(patterns, kind)
        self._pairs, self.n_siblings = pairs, len(pairs) * len(patterns)

    def _of(self, sibling: int) -> tuple[tuple[int, int], Pattern]:
        return self._pairs[sibling % len(self._pairs)], self.patterns[sibling // len(self._pairs)]

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

    def corrected(self, seen: Scores, sibling: int, t: float) -> FloatArray:
        """By the symmetric root of the inverse of the correlation matrix of the pair."""
        (a, b), pattern = self._of(sibling)
        both, apart = (0.5 / np.sqrt(1.0 + sign * t * pattern.signs) for sign in (1.0, -1.0))
        za, zb, z = seen.residuals[:, a], seen.residuals[:, b], np.array(seen.residuals)
        z[:, a], z[:, b] = both * (za + zb) + apart * (za - zb), both * (za + zb) - apart * (za - zb)
        return z

    def size(self, seen: Scores, sibling: int, t: float) -> float:
        return self._of(sibling)[1].sign * t

    def apart(self, seen: Scores, sibling: int, other: int) -> bool:
        return self._of(sibling)[0] != self._of(other)[0]

    def place(self, sibling: int) -> str:
        (a, b), pattern = self._of(sibling)
        return f"coordinates {a} and {b}{pattern.where}"

    def words(self, seen: Scores, sibling: int, fit: Fit) -> str:
        (a, b), pattern = self._of(sibling)
        size = self.size(seen, sibling, fit.t)
        rest = pattern.opposite(f"of {about(-size)} elsewhere")
        much = f"{self.sized(seen, sibling, fit)}{pattern.where}{rest}"
        return f"errors of coordinates {a} and {b} have a correlation that is not predicted, of {much}"
