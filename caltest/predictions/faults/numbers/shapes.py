"""Faults in the shape of the errors of numbers: skewness, tails, outliers."""

from collections.abc import Callable
from functools import lru_cache
from math import exp, lgamma, log, sqrt

import numpy as np
import scipy

from caltest._basics.calls import kept
from caltest._basics.numerics import FloatArray
from caltest.predictions.faults.fault import Fault, Mixed, Scope
from caltest.predictions.faults.numbers.scores import FARTHEST, LAST_SCORE, STEPS, Scores
from caltest.predictions.faults.words import Fit, about, percent

LEAST_RECIPROCAL = 1e-4
"""Of the degrees of freedom of Student's t, below which it is the normal distribution."""

FAR, NEAR, CLEARLY_MORE = 3.0, 0.5, 1.5
"""Standard deviations beyond which, and within which, laws with heavy tails have more outcomes than normal ones; how
many times as many there are if that is said of the former."""

WIDE = 1.1
"""Standard deviations that half of the errors at least are within if the rest of them has another shape: 0.67 if all is
as predicted. Errors that are larger have another spread."""

CUT = 0.9
"""Share of the largest scores from which on the size of outliers is a smallest one."""

OUTLYING, LEAST_OUTLYING = 5.0, 3.0
"""Scale of outliers, in predicted standard deviations, from which it is looked for, and the smallest one."""

RARE = 0.02
"""Share of outliers from which theirs is looked for."""

NODES, NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(101)
NODE_WEIGHTS = NODE_WEIGHTS / NODE_WEIGHTS.sum()


def sinh_arcsinh(z: FloatArray, skew: float, tails: float) -> FloatArray:
    """``log f(z) - log phi(z)`` with f of sinh((arcsinh(Z) + skew) / tails), standardised (Jones and Pewsey 2009)."""
    mean, deviation = _moments(skew, tails)
    v = mean + deviation * z
    w = _arcsinh_of_normal(z, skew, tails)
    x = np.sinh(w)
    densities = np.log(np.cosh(w)) - 0.5 * np.log1p(v * v)
    return np.asarray(0.5 * (z * z - x * x) + densities + log(tails * deviation))


def _arcsinh_of_normal(z: FloatArray, skew: float, tails: float) -> FloatArray:
    """``arcsinh(Z)`` of the same z."""
    mean, deviation = _moments(skew, tails)
    return np.asarray(tails * np.arcsinh(mean + deviation * z) - skew)


def _normal(z: FloatArray, tail: Callable[[FloatArray], FloatArray]) -> FloatArray:
    """Standard normal scores of numbers with the upper tail of a symmetric law."""
    return np.asarray(-np.sign(z) * scipy.special.ndtri(np.maximum(tail(np.abs(z)), 1e-300)))


@lru_cache(maxsize=256)
def _moments(skew: float, tails: float) -> tuple[float, float]:
    values = np.sinh((np.arcsinh(NODES) + skew) / tails)
    mean = float(NODE_WEIGHTS @ values)
    return mean, sqrt(float(NODE_WEIGHTS @ np.square(values - mean)))


class OfShape(Fault[Scores]):
    """A law of another shape and the spread that was predicted, which most errors are not beyond."""

    scope: Scope = "shape"

    def promising(self, seen: Scores) -> FloatArray:
        return np.array([0.0 if seen.share_of(np.abs(seen.residuals) <= WIDE) >= 0.5 else -np.inf])


class Skew(OfShape):
    """Sinh-arcsinh laws with a skew t, standardised."""

    kind = "skew"
    range = (-2.0, 2.0)

    def log_ratio(self, seen: Scores, sibling: int, t: float) -> float:
        return seen.total(sinh_arcsinh(seen.residuals, t, 1.0))

    def corrected(self, seen: Scores, sibling: int, t: float) -> FloatArray:
        return np.asarray(np.sinh(_arcsinh_of_normal(seen.residuals, t, 1.0)))

    def words(self, seen: Scores, sibling: int, fit: Fit) -> str:
        shares = [seen.share_of(side * seen.residuals > 2.0) for side in (1.0, -1.0)]
        above, below = (percent(share) for share in shares)
        longer = "above" if fit.t > 0.0 else "below"
        if (shares[0] - shares[1]) * fit.t <= 0.0:  # The tails are in too few outcomes to be seen.
            inner, far = ("above", "below")[fit.t > 0.0], percent(seen.share_of(-fit.t * seen.residuals > 0.0))
            return f"errors are skewed, with the longer tail {longer}: {far} of the outcomes are {inner} the middle"
        if not seen.is_normal:
            places = f"{above} of the outcomes are in the upper 2.3 % of what was predicted and {below} in the lower"
            return f"errors are skewed, with the longer tail {longer}: {places} 2.3 %"
        return (
            f"errors are skewed, with the longer tail {longer}: {above} of the outcomes are more than 2 standard "
            f"deviations above and {below} below, instead of 2.3 % each"
        )


def third_moments(features: FloatArray, seen: Scores) -> FloatArray:
    """The third Hermite polynomial of the scores and the third Legendre polynomial of their levels."""
    z, u = seen.clipped, seen.centred_levels
    return np.concatenate([features @ (z * (seen.clipped_squares - 3.0)).T, features @ (u * (5.0 * u * u - 3.0)).T])


def _beyond(seen: Scores, deviations: float) -> tuple[float, str]:
    """How many times as many errors as predicted are so large, and how many of all, in words."""
    found, expected = seen.share_of(np.abs(seen.residuals) > deviations), 2.0 * float(scipy.special.ndtr(-deviations))
    return found / expected, _in_place(seen, found, expected, ("outer", f"beyond {deviations:g}"))


def _in_place(seen: Scores, found: float, expected: float, names: tuple[str, str]) -> str:
    """Shares of the errors in a place of what was predicted, and of normal laws."""
    if not seen.is_normal:
        return f"{percent(found)} of the outcomes are in the {names[0]} {percent(expected)} of what was predicted"
    return f"{percent(found)} of them are {names[1]} standard deviations instead of {percent(expected)}"


def log_ratio_of_t(squares: FloatArray, d: int, t: float) -> FloatArray:
    """Log ratio of Student's density of 1 / t degrees of freedom in d dimensions, of variances 1, to the normal one."""
    if t < LEAST_RECIPROCAL:
        return np.zeros_like(squares)
    if t >= 0.5:  # Where sizes of two faults are tried together, they can leave their range.
        return np.full_like(squares, -np.inf)
    df = 1.0 / t
    constant = lgamma((df + d) / 2.0) - lgamma(df / 2.0) + 0.5 * d * log(2.0 / (df - 2.0))
    return np.asarray(constant - 0.5 * (df + d) * np.log1p(squares / (df - 2.0)) + 0.5 * squares)


class HeavyTails(OfShape):
    """Student's t of variance 1 with 1 / t degrees of freedom."""

    kind = "heavy tails"
    range = (0.0, 0.49)

    def log_ratio(self, seen: Scores, sibling: int, t: float) -> float:
        return seen.total(log_ratio_of_t(seen.squares, 1, t))

    def corrected(self, seen: Scores, sibling: int, t: float) -> FloatArray:
        df = 1.0 / min(max(t, LEAST_RECIPROCAL), self.range[1])
        return _normal(seen.residuals, lambda z: scipy.special.stdtr(df, -z * sqrt(df / (df - 2.0))))

    def size(self, seen: Scores, sibling: int, t: float) -> float:
        return 1.0 / max(t, LEAST_RECIPROCAL)

    def words(self, seen: Scores, sibling: int, fit: Fit) -> str:
        like = f", like Student's t with {self.sized(seen, sibling, fit)} degrees of freedom"
        words = f"errors have heavier tails than predicted at the same spread{like if seen.is_normal else ''}"
        near, expected = seen.share_of(np.abs(seen.residuals) < NEAR), 1.0 - 2.0 * scipy.special.ndtr(-NEAR)
        times, far = _beyond(seen, FAR)
        if times > CLEARLY_MORE:
            return f"{words}: {far}"
        # Too few outcomes are as far away as that; such laws have more in the middle, too.
        middle = _in_place(seen, near, expected, ("inner", f"within {NEAR:g}"))
        return f"{words}: {middle}" if near > expected else words


def fourth_moments(features: FloatArray, seen: Scores) -> FloatArray:
    """The fourth Hermite polynomial of the scores and the fourth Legendre polynomial of their levels."""
    z2, u2 = seen.clipped_squares, np.square(seen.centred_levels)
    return np.concatenate([features @ (z2 * (z2 - 6.0)).T, features @ (u2 * (35.0 * u2 - 30.0)).T])


class LightTails(Fault[Scores]):
    """Sinh-arcsinh laws with lighter tails exp(t), standardised."""

    kind = "light tails"
    scope = "shape"
    range = (0.0, 2.0)

    def __init__(self, *, in_units: bool = False) -> None:
        """Of errors in units of their own; of other laws a change of scale makes the tails of their scores lighter."""
        self.is_law_at_ends = in_units

    def log_ratio(self, seen: Scores, sibling: int, t: float) -> float:
        return seen.total(sinh_arcsinh(seen.residuals, 0.0, exp(t)))

    def corrected(self, seen: Scores, sibling: int, t: float) -> FloatArray:
        return np.asarray(np.sinh(_arcsinh_of_normal(seen.residuals, 0.0, exp(t))))

    def words(self, seen: Scores, sibling: int, fit: Fit) -> str:
        times, far = _beyond(seen, 2.0)
        return f"errors have lighter tails than predicted at the same spread{f': {far}' if times < 1.0 else ''}"


def log_ratio_of_scales(squares: FloatArray, scale: float, d: int = 1) -> FloatArray:
    """Log ratio of the normal density of this scale to that of scale 1, at vectors of d numbers of these squares."""
    return np.asarray(0.5 * squares * (1.0 - scale**-2) - d * log(scale))


@kept
def outlier_scale(seen: Scores) -> float:
    """The scale of outliers among standard normal vectors that is most likely with a share of them, by EM steps."""
    squares, weights, d = seen.squared_radius, seen.weights / seen.weights.sum(), seen.squares[0].size
    share, scale = RARE, OUTLYING
    for _ in range(STEPS):
        logs = log_ratio_of_scales(squares, scale, d) + log(share)
        outlying = weights * np.exp(logs - np.logaddexp(log(1.0 - share), logs))
        share = min(max(float(outlying.sum()), 1e-12), 0.5)
        scale = max(LEAST_OUTLYING, sqrt(float(outlying @ squares) / max(d * float(outlying.sum()), 1e-300)))
    return scale


class Outliers(Mixed[Scores], OfShape):
    """A share t of errors that are several times as large, by the factor that is most likely with its own share.

    The factor is chosen by the outcomes, too, and costs as much as another parameter.
    """

    kind = "outliers"
    range = (0.0, 0.5)

    def __init__(self, total: float) -> None:
        self.n_choices = max(1, int(sqrt(total)))

    def promising(self, seen: Scores) -> FloatArray:
        """Not where the likeliest scale is the smallest that is looked for: there tails are heavy."""
        return np.where(outlier_scale(seen) > LEAST_OUTLYING, super().promising(seen), -np.inf)

    def log_ratios(self, seen: Scores, sibling: int) -> FloatArray:
        return log_ratio_of_scales(seen.squared_radius, outlier_scale(seen), seen.squares[0].size)

    def corrected(self, seen: Scores, sibling: int, t: float) -> FloatArray:
        ndtr, scale = scipy.special.ndtr, outlier_scale(seen)
        return _normal(seen.residuals, lambda z: (1.0 - t) * ndtr(-z) + t * ndtr(-z / scale))

    def words(self, seen: Scores, sibling: int, fit: Fit) -> str:
        much, scale = f"about {self.sized(seen, sibling, fit, percent)} of the outcomes", outlier_scale(seen)
        near = "about" if scale < CUT * (FARTHEST if seen.is_normal else LAST_SCORE) else "at least"
        return f"{much} are outliers, with errors {near} {about(scale)} times as large as predicted"
