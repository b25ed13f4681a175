"""Faults in the shape of predicted distributions of numbers, with their mean and variance as predicted."""

from functools import lru_cache
from math import exp, lgamma, log, pi, sqrt
from typing import TYPE_CHECKING

import numpy as np

from caltest._basics.types import FloatArray
from caltest.predictions.faults.fault import Fault, Fit
from caltest.predictions.faults.wording import percent, sized

if TYPE_CHECKING:
    from caltest.predictions.faults.scores import Scores

LEAST_RECIPROCAL = 1e-4
"""Of the degrees of freedom of Student's t, below which it is the normal distribution."""

OUTLIER_SCALE = 5.0
"""Standard deviation of the outliers, in units of that predicted."""

NODES, NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(101)
NODE_WEIGHTS = NODE_WEIGHTS / NODE_WEIGHTS.sum()


def sinh_arcsinh(z: FloatArray, skew: float, tails: float) -> FloatArray:
    """``log f(z) - log phi(z)`` with f of sinh((arcsinh(Z) + skew) / tails), standardised (Jones and Pewsey 2009)."""
    mean, deviation = _moments(skew, tails)
    v = mean + deviation * z
    w = tails * np.arcsinh(v) - skew
    x = np.sinh(w)
    densities = np.log(np.cosh(w)) - 0.5 * np.log1p(v * v)
    return np.asarray(0.5 * (z * z - x * x) + densities + log(tails * deviation))


@lru_cache(maxsize=256)
def _moments(skew: float, tails: float) -> tuple[float, float]:
    values = np.sinh((np.arcsinh(NODES) + skew) / tails)
    mean = float(NODE_WEIGHTS @ values)
    return mean, sqrt(float(NODE_WEIGHTS @ np.square(values - mean)))


class Skew(Fault["Scores"]):
    """Sinh-arcsinh laws with a skew t, standardised."""

    kind = "skew"
    weight = 1.0
    range = (-2.0, 2.0)

    def __init__(self, features: FloatArray) -> None:
        self._features, self.n_rows = features, 2 * len(features)

    def rows(self, seen: "Scores") -> FloatArray:
        """The third Hermite polynomial of the scores and the third Legendre polynomial of their levels."""
        z, u = seen.clipped, seen.centred_levels
        return np.concatenate([self._features @ (z * (z * z - 3.0)).T, self._features @ (u * (5.0 * u * u - 3.0)).T])

    def log_ratio(self, seen: "Scores", sibling: int, t: float) -> float:
        return float(seen.weights @ sinh_arcsinh(seen.residuals, t, 1.0))

    def words(self, seen: "Scores", sibling: int, fit: Fit) -> str:
        above, below = seen.share_of(seen.residuals > 2.0), seen.share_of(seen.residuals < -2.0)
        longer = "above" if fit.t > 0.0 else "below"
        return (
            f"errors are skewed, with the longer tail {longer}: {percent(above)} of the outcomes are more than 2 "
            f"standard deviations above and {percent(below)} below, instead of 2.3 % each"
        )


class HeavyTails(Fault["Scores"]):
    """Student's t of variance 1 with 1 / t degrees of freedom."""

    kind = "heavy tails"
    weight = 1.0
    range = (0.0, 0.49)

    def __init__(self, features: FloatArray) -> None:
        self._features, self.n_rows = features, 2 * len(features)

    def rows(self, seen: "Scores") -> FloatArray:
        """The fourth Hermite polynomial of the scores and the fourth Legendre polynomial of their levels."""
        z2, u2 = np.square(seen.clipped), np.square(seen.centred_levels)
        rows = [self._features @ (z2 * (z2 - 6.0)).T, self._features @ (u2 * (35.0 * u2 - 30.0)).T]
        return np.concatenate(rows)

    def log_ratio(self, seen: "Scores", sibling: int, t: float) -> float:
        if t < LEAST_RECIPROCAL:
            return 0.0
        df = 1.0 / t
        constant = lgamma((df + 1.0) / 2.0) - lgamma(df / 2.0) - 0.5 * log(pi * (df - 2.0)) + 0.5 * log(2.0 * pi)
        logs = constant - 0.5 * (df + 1.0) * np.log1p(seen.squares / (df - 2.0)) + 0.5 * seen.squares
        return float(seen.weights @ logs)

    def size(self, seen: "Scores", sibling: int, t: float) -> float:
        """Degrees of freedom."""
        return 1.0 / max(t, LEAST_RECIPROCAL)

    def words(self, seen: "Scores", sibling: int, fit: Fit) -> str:
        far = percent(seen.share_of(np.abs(seen.residuals) > 3.0))
        freedom = f"{sized(fit, lambda t: self.size(seen, 0, t))} degrees of freedom"
        return (
            "errors have heavier tails than predicted at the same spread, like Student's t with "
            f"{freedom}: {far} of them are beyond 3 standard deviations instead of 0.27 %"
        )


class LightTails(Fault["Scores"]):
    """Sinh-arcsinh laws with lighter tails exp(t), standardised."""

    kind = "light tails"
    range = (0.0, 2.0)

    def log_ratio(self, seen: "Scores", sibling: int, t: float) -> float:
        return float(seen.weights @ sinh_arcsinh(seen.residuals, 0.0, exp(t)))

    def words(self, seen: "Scores", sibling: int, fit: Fit) -> str:
        far = percent(seen.share_of(np.abs(seen.residuals) > 2.0))
        return (
            "errors have lighter tails than predicted at the same spread: "
            f"{far} of them are beyond 2 standard deviations instead of 4.6 %"
        )


class Outliers(Fault["Scores"]):
    """A share t of errors that are five times as large."""

    kind = "outliers"
    range = (0.0, 0.5)

    def log_ratio(self, seen: "Scores", sibling: int, t: float) -> float:
        far = 0.5 * seen.squares * (1.0 - OUTLIER_SCALE**-2) - log(OUTLIER_SCALE)
        return float(seen.weights @ np.logaddexp(log(1.0 - t), far + log(t))) if t > 0.0 else 0.0

    def words(self, seen: "Scores", sibling: int, fit: Fit) -> str:
        much = f"about {sized(fit, lambda t: t, percent)} of the outcomes are outliers"
        return f"{much}, with errors {OUTLIER_SCALE:g} times as large as predicted"


class Factor(Fault["Scores"]):
    """Positive outcomes that are all exp(t) times as large."""

    kind = "factor"
    range = (-12.0, 12.0)

    def log_ratio(self, seen: "Scores", sibling: int, t: float) -> float:
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = seen.law.log_density(seen.targets[0] * exp(-t)) - t - seen.law.log_density(seen.targets[0])
        return float(seen.weights @ np.where(np.isnan(logs), -np.inf, logs))

    def size(self, seen: "Scores", sibling: int, t: float) -> float:
        """The factor."""
        return exp(t)

    def words(self, seen: "Scores", sibling: int, fit: Fit) -> str:
        return f"outcomes are {sized(fit, exp)} times as large as predicted"
