"""Faults of predicted vectors, on the scale of their standard scores."""

from collections.abc import Sequence
from functools import partial
from math import log, sqrt
from typing import Any

import numpy as np
import scipy

from caltest._basics.numerics import Array, FloatArray
from caltest.predictions.base import Predictions
from caltest.predictions.faults.fault import Fault, Faults, Mixed, Products, Rows, cosines, varies
from caltest.predictions.faults.numbers.errors import Scale, Shift, ShiftInUnits, SlopeInUnits, following_waves
from caltest.predictions.faults.numbers.ranks import InCoordinates, shapes_in_coordinates
from caltest.predictions.faults.numbers.scores import SCORES, SQUARES, Scores
from caltest.predictions.faults.numbers.shapes import WIDE, HeavyTails, Outliers, Skew, log_ratio_of_t, outlier_scale
from caltest.predictions.faults.patterns import OfPatterns, Pattern, halves
from caltest.predictions.faults.values import CutOff, SameValue, TooOften
from caltest.predictions.faults.vectors.scores import HARDLY, MOST_PAIRED, VectorScores
from caltest.predictions.faults.waves import FASTEST, SLOW, WEIGHT_OF_WAVES
from caltest.predictions.faults.words import Fit, about, percent

MOST_FEATURES, MOST_HALVED = 8, 5
"""Coordinates whose predicted means are features, and have halves."""

LEAST_POOL = 6
"""Members and outcome from which on correlations of errors are looked at."""

LARGEST_CORRELATION, LARGEST_CHANGE = 0.97, 4.0
"""Of pairs of coordinates, and the largest difference of inverse hyperbolic tangents of two."""

FEW_EXCHANGED = 0.1
"""Share of outcomes with exchanged coordinates for which pairs of them are compared."""

OUTER, FARTHEST = 0.01, 6.0
"""Probability outside of a region, and where errors are cut that promise a fault."""


class VectorFaults(Faults):
    """Means and spreads of coordinates, correlations that are not predicted, and shapes.

    Features of the predictions are the means of the first eight coordinates and the total variance, by their ranks
    among all predictions, or among some of them. Halves are those of the means of the first five, and correlations of
    ensembles are looked at from five members on, shapes in each of their coordinates by ranks.
    """

    def __init__(
        self, predictions: Predictions, weights: FloatArray | None = None, among: Predictions | None = None
    ) -> None:
        super().__init__(len(predictions), weights)
        self._law, w = predictions.law, self.weights
        mean, variance = predictions.moments()
        d = mean.shape[1]
        one = np.ones((1, len(predictions)))
        means, variances = (None, None) if among is None else among.moments()
        first = range(min(d, MOST_FEATURES))
        cos = [cosines(mean[:, t], FASTEST, among=None if means is None else means[:, t]) * w for t in first]
        features = np.concatenate([*(one[:1] for one in cos), cosines(variance, 1, among=variances) * w])
        bent, slow, fast = ([one[some] for one in cos] for some in (slice(1, None), slice(1, SLOW), slice(SLOW, None)))
        self._named = [(mean[:, t], f"predicted means of coordinate {t}") for t in first]
        everywhere, coordinates = [Pattern(one[0])], [Pattern(one[0], above=f"in coordinate {t}") for t in range(d)]
        kinds: list[Fault[Any]] = [
            Shift(coordinates, coordinates=range(d)),
            Scale(coordinates, coordinates=range(d)),
            Scale(everywhere, "common scale"),
        ]
        deviations: FloatArray | None = getattr(self._law, "deviations", None)
        if deviations is not None and any(varies(one) for one in deviations.T):
            kinds.append(ShiftInUnits(coordinates, list(deviations.T), coordinates=range(d)))
        if deviations is not None and (rising := [t for t in first if varies(mean[:, t])]):
            kinds.append(SlopeInUnits(list(mean.T[rising]), list(deviations.T[rising]), rising))
        compared: list[Rows[Any]] = [
            Products("shift", one * w, SCORES, 2.0, d),
            Products("scale", one * w, SQUARES, 2.0, d),
            Products("total spread", one * w, total_squares),
            Products("shifts by prediction", features, SCORES, d=d),
            Products("scales by prediction", features, SQUARES, d=d),
            Rows("waves of shifts", sum(map(len, bent)), partial(sums_by_own, bent, 1), WEIGHT_OF_WAVES),
            Rows("waves of scales", sum(map(len, slow)), partial(sums_by_own, slow, 2), WEIGHT_OF_WAVES / 2.0),
            Rows("fast waves of scales", sum(map(len, fast)), partial(sums_by_own, fast, 2), WEIGHT_OF_WAVES / 2.0),
            Rows("radius and cubes", 2, radius_and_cubes),
        ]
        paired = range(min(d, MOST_PAIRED))
        pairs = [(a, b) for a in paired for b in paired if a < b]
        if pairs:
            n_rows, both = len(features) * len(pairs), np.concatenate([features, one * w])
            compared.append(Rows("correlations by prediction", n_rows, partial(products, both, slice(-1))))
            compared.append(Rows("correlation", len(pairs), partial(products, both, slice(-1, None))))
            if self._law.pool_size is not None and self._law.pool_size >= LEAST_POOL:
                kinds.append(PoolCorrelation(pairs))
        if (own := self._law.coordinate(0)) is not None and (own.is_continuous or (own.pool_size or 0) >= LEAST_POOL):
            kinds += [RecordedInCoordinate(min(d, MOST_PAIRED) * [one(len(w))]) for one in (SameValue, CutOff)]
        if pairs and self._law.has_normal_scores:
            places: list[Pattern] = []
            for t in range(min(d, MOST_HALVED)):
                places += halves(mean[:, t], f"predicted means of coordinate {t}")
            kinds.append(Correlation(pairs, everywhere))
            if places:
                some = [(t, _in_coordinate(t, one)) for t in range(d) for one in places]
                of, patterns = [t for t, _ in some], [one for _, one in some]
                kinds.append(Shift(patterns, "local shift", coordinates=of))
                kinds.append(Scale(patterns, "local scale", coordinates=of))
                kinds.append(Scale(places, "local common scale"))
                kinds.append(Correlation(pairs, places, "local correlation"))
            kinds += [CommonCorrelation()] if d > 2 else []
            kinds.append(Exchanged(d))
            kinds += [
                RadialTails(),
                RadialOutliers(w.sum()),
                *(OfCoordinate(d * [one]) for one in (Skew(), HeavyTails(), Outliers(w.sum()))),
            ]
        self.kinds, self.compared = tuple(kinds), tuple(compared)

    def seen(self, targets: Array) -> Scores:
        return VectorScores(self._law, targets, self.weights)

    def following(self, targets: Array) -> Sequence[Fault[Any]]:
        """Waves that the errors of each coordinate follow over its mean, or shapes of the ranks of ensembles in it."""
        seen = VectorScores(self._law, targets[None], self.weights)
        if self._law.pool_size is not None:
            return shapes_in_coordinates(seen)
        return following_waves(seen, self._named, 2, of_vectors=True)


def sums_by_own(features: list[FloatArray], power: int, seen: Scores) -> FloatArray:
    """Powers of the scores of each of the first coordinates times functions of its mean."""
    return np.concatenate([one @ (seen.clipped[:, :, t] ** power).T for t, one in enumerate(features)])


def _in_coordinate(t: int, pattern: Pattern) -> Pattern:
    """The same for errors of one coordinate."""
    above, below = (where and f"in coordinate {t} {where}" for where in (pattern.above, pattern.below))
    return Pattern(pattern.signs, above, below)


def total_squares(seen: Scores) -> FloatArray:
    """Sums of the squared scores of each outcome, (B, n)."""
    return np.asarray(np.einsum("bid,bid->bi", seen.clipped, seen.clipped))


def radius_and_cubes(seen: Scores) -> FloatArray:
    """Squares of the radius, and cubes of the scores."""
    z = seen.clipped
    radius = (total_squares(seen) - z.shape[2]) / sqrt(2.0 * z.shape[2])
    return np.stack([np.square(radius) @ seen.weights, np.einsum("bid,bid,bid->bi", z, z, z) @ seen.weights])


def products(features: FloatArray, which: slice, seen: VectorScores) -> FloatArray:
    """``sum_i f_i z_ia z_ib`` for some of the features (J, n) and a < b, one below the other for each feature."""
    return np.ascontiguousarray(seen.product_sums(features)[which].reshape(-1, len(seen.targets)))


class OfPairs(OfPatterns[VectorScores]):
    """A wrong correlation of the errors of two coordinates, with a sibling for each pair and each of some patterns."""

    kind = "correlation"

    def __init__(self, pairs: list[tuple[int, int]], patterns: Sequence[Pattern], kind: str = "") -> None:
        super().__init__(patterns, kind)
        self._pairs, self.n_siblings = pairs, len(pairs) * len(patterns)

    def _of(self, sibling: int) -> tuple[tuple[int, int], Pattern]:
        return self._pairs[sibling % len(self._pairs)], self.patterns[sibling // len(self._pairs)]

    def apart(self, seen: VectorScores, sibling: int, other: int) -> bool:
        return self._of(sibling)[0] != self._of(other)[0]

    def place(self, sibling: int) -> str:
        (a, b), pattern = self._of(sibling)
        return f"coordinates {a} and {b}{pattern.where}"

    def words(self, seen: VectorScores, sibling: int, fit: Fit) -> str:
        (a, b), pattern = self._of(sibling)
        much, predicted = self.sized(seen, sibling, fit), self.size(seen, sibling, 0.0)
        rest = pattern.opposite(f"of {about(self.size(seen, sibling, -fit.t))} elsewhere")
        if abs(predicted) < HARDLY:
            much = f"that is not predicted, of {much}{pattern.where}{rest}"
        else:
            much = f"of {much} instead of {about(predicted)} as predicted{pattern.where}{rest}"
        return f"errors of coordinates {a} and {b} have a correlation {much}"


class Correlation(OfPairs):
    """Correlations of two coordinates of which the inverse hyperbolic tangent is larger by t s, with a pattern s."""

    range = (-LARGEST_CHANGE, LARGEST_CHANGE)

    def _changes(self, seen: VectorScores, sibling: int, t: float) -> FloatArray:
        """Of the correlations, (n,)."""
        (a, b), pattern = self._of(sibling)
        predicted = seen.correlation(a, b)
        return np.asarray(np.tanh(np.arctanh(predicted) + t * pattern.signs) - predicted)

    def promising(self, seen: VectorScores) -> FloatArray:
        scores = np.empty(self.n_siblings)
        for sibling in range(self.n_siblings):
            (a, b), pattern = self._of(sibling)
            w, own = seen.weights * pattern.signs, seen.precision(a, b)
            terms = seen.drifts[:, a] * seen.drifts[:, b] - own
            variances = seen.precision(a, a) * seen.precision(b, b) + np.square(own)
            scores[sibling] = (w @ terms) ** 2 / max(float(np.square(w) @ variances), 1e-300)
        return scores

    def log_ratio(self, seen: VectorScores, sibling: int, t: float) -> float:
        """With ``R_t = R + c (e_a e_b' + e_b e_a')``, the inverse K of R and ``v = K e``.

        ``det R_t / det R = (1 + c K_ab)**2 - c**2 K_aa K_bb``, and the quadratic forms differ by a form of v_a and v_b.
        """
        (a, b), _ = self._of(sibling)
        c, va, vb = self._changes(seen, sibling, t), seen.drifts[:, a], seen.drifts[:, b]
        kaa, kbb, off = seen.precision(a, a), seen.precision(b, b), 1.0 + c * seen.precision(a, b)
        determinant = off * off - c * c * kaa * kbb
        if (determinant <= 0.0).any() or (off <= 0.0).any():
            return -np.inf
        quadratic = c * (c * (kbb * va * va + kaa * vb * vb) - 2.0 * off * va * vb) / determinant
        return float(seen.weights @ (-0.5 * np.log(determinant) - 0.5 * quadratic))

    def corrected(self, seen: VectorScores, sibling: int, t: float) -> FloatArray:
        (a, b), _ = self._of(sibling)
        d = seen.errors.shape[1]
        was = np.array(np.broadcast_to(np.eye(d), (len(seen.errors), d, d)))
        pairs = [(one, other) for one in range(d) for other in range(one)]
        for one, other in pairs:
            was[:, one, other] = was[:, other, one] = seen.correlation(one, other)
        now = was.copy()
        now[:, a, b] += self._changes(seen, sibling, t)
        now[:, b, a] = now[:, a, b]
        roots = np.linalg.cholesky(was), np.linalg.cholesky(now)
        return np.asarray((roots[0] @ np.linalg.solve(roots[1], seen.errors[..., None]))[..., 0])

    def size(self, seen: VectorScores, sibling: int, t: float) -> float:
        """The mean correlation at the place that is named."""
        (a, b), pattern = self._of(sibling)
        at = seen.weights * (np.sign(pattern.signs) == pattern.sign)
        return float(at @ (seen.correlation(a, b) + self._changes(seen, sibling, t)) / at.sum())


class CommonCorrelation(Fault[VectorScores]):
    """A correlation t of each two scores, as of errors that have a part in common."""

    kind = "correlation of all"
    range = (0.0, 0.99)

    def log_ratio(self, seen: VectorScores, sibling: int, t: float) -> float:
        z, d, total = seen.residuals, seen.residuals.shape[1], float(seen.weights.sum())
        whole, squares = 1.0 + (d - 1) * t, np.square(z).sum(axis=1)
        quadratic = (squares - t * np.square(z.sum(axis=1)) / whole) / (1.0 - t)
        determinant = (d - 1) * log(1.0 - t) + log(whole)
        return float(0.5 * (seen.weights @ (squares - quadratic) - determinant * total))

    def corrected(self, seen: VectorScores, sibling: int, t: float) -> FloatArray:
        z, d = seen.residuals, seen.residuals.shape[1]
        common = z.mean(axis=1, keepdims=True)
        return seen.errors_of((z - common) / sqrt(1.0 - t) + common / sqrt(1.0 + (d - 1) * t))

    def words(self, seen: VectorScores, sibling: int, fit: Fit) -> str:
        much = f"a correlation that is not predicted, of {self.sized(seen, sibling, fit)}"
        return f"errors of all coordinates have a part in common: each two have {much}"


class RadialTails(HeavyTails):
    """Student's t of variance 1 with 1 / t degrees of freedom for all coordinates together."""

    kind = "heavy tails of all"

    def promising(self, seen: Scores) -> FloatArray:
        """Not where most errors are beyond what is predicted, which have another spread."""
        d = seen.residuals.shape[1]
        widest = scipy.special.chdtri(d, 0.5) * WIDE**2 / scipy.special.chdtri(1, 0.5)
        return np.array([0.0 if seen.share_of(seen.squared_radius <= widest) >= 0.5 else -np.inf])

    def log_ratio(self, seen: Scores, sibling: int, t: float) -> float:
        squares, d = seen.squared_radius, seen.residuals.shape[1]
        return seen.total(log_ratio_of_t(squares, d, t))

    def corrected(self, seen: Scores, sibling: int, t: float) -> FloatArray:
        """With the radius that has the same probability beyond it."""
        d, df = seen.residuals.shape[1], self.size(seen, sibling, t)
        return _with_radius_beyond(seen, scipy.special.fdtrc(d, df, seen.squared_radius * df / ((df - 2.0) * d)))

    def words(self, seen: Scores, sibling: int, fit: Fit) -> str:
        farthest = scipy.special.chdtri(seen.residuals.shape[1], OUTER)
        found = percent(seen.share_of(seen.squared_radius > farthest))
        return (
            "errors have heavier tails than predicted at the same spread, in all coordinates together, like Student's "
            f"t with {self.sized(seen, sibling, fit)} degrees of freedom: {found} of them are outside of the region "
            f"for {percent(1.0 - OUTER)}"
        )


class RadialOutliers(Outliers):
    """A share t of outcomes with errors of all coordinates that are several times as large."""

    kind = "outliers of all"

    def promising(self, seen: Scores) -> FloatArray:
        return RadialTails().promising(seen)

    def corrected(self, seen: Scores, sibling: int, t: float) -> FloatArray:
        """With the radius that has the same probability beyond it."""
        squares, d, scale = seen.squared_radius, seen.residuals.shape[1], outlier_scale(seen)
        beyond = (1.0 - t) * scipy.special.chdtrc(d, squares) + t * scipy.special.chdtrc(d, squares / scale**2)
        return _with_radius_beyond(seen, beyond)

    def words(self, seen: Scores, sibling: int, fit: Fit) -> str:
        return f"{super().words(seen, sibling, fit)}, in all coordinates together"


def _with_radius_beyond(seen: Scores, probability: FloatArray) -> FloatArray:
    """Errors in the same direction, of the radius of normal ones that has this probability beyond it."""
    squares, d = seen.squared_radius, seen.residuals.shape[1]
    factors = np.sqrt(scipy.special.chdtri(d, np.maximum(probability, 1e-300)) / np.maximum(squares, 1e-300))
    return np.asarray(seen.errors * factors[:, None])


class OfCoordinate(InCoordinates):
    """A fault of numbers in the errors of one coordinate, given which the others are as predicted."""

    def corrected(self, seen: VectorScores, sibling: int, t: float) -> FloatArray:
        """The others move as much as is predicted of them given this one."""
        step = self._faults[sibling].corrected(seen.in_coordinate(sibling), 0, t) - seen.errors[:, sibling]
        shares = [seen.correlation(sibling, b) if b != sibling else 1.0 for b in range(seen.errors.shape[1])]
        return np.asarray(seen.errors + np.stack([share * step for share in shares], axis=1))

    def promising(self, seen: VectorScores) -> FloatArray:
        """How far the fourth moments, and squares of the third ones, are from those of normal errors."""
        e, w = np.clip(seen.errors, -FARTHEST, FARTHEST), seen.weights / seen.weights.sum()
        moments = np.abs(w @ (e**4 - 6.0 * e * e + 3.0)) / 24.0 + np.square(w @ (e**3 - 3.0 * e)) / 6.0
        return np.asarray(np.where(w @ (np.abs(e) <= WIDE) >= 0.5, moments, -np.inf))


class RecordedInCoordinate(InCoordinates):
    """Single values that too many outcomes have in one coordinate, whatever the others are."""

    of_targets = says_what_happened = True
    _faults: Sequence[TooOften]

    def in_coordinate(self, seen: VectorScores, t: int) -> Scores:
        return seen.recorded(t)

    def promising(self, seen: VectorScores) -> FloatArray:
        return np.concatenate([one.promising(seen.recorded(t)) for t, one in enumerate(self._faults)])

    def apart(self, seen: VectorScores, sibling: int, other: int) -> bool:
        return False


class Exchanged(Mixed[VectorScores]):
    """``Q = (1 - t) P + t P'`` with P' of outcomes of which two of the first coordinates are exchanged."""

    kind = "exchanged"
    of_targets = True

    def __init__(self, d: int) -> None:
        self._pairs = [(a, b) for b in range(min(d, MOST_FEATURES)) for a in range(b)]
        self.n_siblings = len(self._pairs)

    def promising(self, seen: VectorScores) -> FloatArray:
        """The likelihood of a few outcomes with exchanged coordinates."""
        return np.array([self.log_ratio(seen, sibling, FEW_EXCHANGED) for sibling in range(self.n_siblings)])

    def log_ratios(self, seen: VectorScores, sibling: int) -> FloatArray:
        return seen.log_exchanged(*self._pairs[sibling])

    def place(self, sibling: int) -> str:
        return "coordinates {} and {}".format(*self._pairs[sibling])

    def words(self, seen: VectorScores, sibling: int, fit: Fit) -> str:
        return f"{self.place(sibling)} are exchanged in about {self.sized(seen, sibling, fit, percent)} of the outcomes"


class PoolCorrelation(OfPairs):
    """A correlation t of the errors of ensembles in two coordinates, beside that of each member among all others.

    Errors of each are nearly Student's t of as many degrees of freedom as their spread has. If the outcome is
    exchangeable with the members its errors have the same law as theirs, whatever that is, so that the correlation that
    is most likely for them is the one that is predicted.
    """

    range = (-LARGEST_CORRELATION, LARGEST_CORRELATION)

    def __init__(self, pairs: list[tuple[int, int]]) -> None:
        super().__init__(pairs, [Pattern(np.ones(1))])

    def bounds(self, seen: VectorScores, sibling: int) -> tuple[float, float]:
        predicted = self._predicted(seen, sibling)
        return self.range[0] - predicted, self.range[1] - predicted

    def _predicted(self, seen: VectorScores, sibling: int) -> float:
        (a, b), _ = self._of(sibling)
        return seen.correlation_of_members(a, b)

    def promising(self, seen: VectorScores) -> FloatArray:
        weights, e = seen.weights / seen.weights.sum(), np.clip(seen.errors, -FARTHEST, FARTHEST)
        products = np.array([weights @ (e[:, a] * e[:, b]) for a, b in self._pairs])
        members = np.clip(seen.errors_of_members, -FARTHEST, FARTHEST)
        return np.asarray(np.abs(products - [(members[:, a] * members[:, b]).mean() for a, b in self._pairs]))

    def log_ratio(self, seen: VectorScores, sibling: int, t: float) -> float:
        (a, b), _ = self._of(sibling)
        predicted, errors = self._predicted(seen, sibling), seen.errors[:, [a, b]]
        logs = seen.log_of_correlation(errors, predicted + t) - seen.log_of_correlation(errors, predicted)
        return seen.total(logs)

    def size(self, seen: VectorScores, sibling: int, t: float) -> float:
        return self._predicted(seen, sibling) + t
