"""Predicted beta distributions of a target between 0 and 1."""

from typing import Self

import numpy as np
import scipy

from caltest._basics.numerics import Array, ArrayLike, FloatArray
from caltest._validation import positive_number
from caltest.predictions.base import Parameter
from caltest.predictions.numbers.univariate import Univariate, check_shape, of_distinct

LARGE = 1e8
"""A shape from which a Gamma variable is normal up to 1e-4."""


class Beta(Univariate):
    """n beta distributions, with densities proportional to ``z**(a - 1) (1 - z)**(b - 1)`` on the unit interval.

    The mean is ``a / (a + b)``; the larger ``a + b`` is, the narrower is the distribution.

    Expectations of kernels of targets come from 32 quantiles of each distribution; see ``Continuous``.

    Parameters
    ----------
    a, b
        Numbers from 1e-300 to 1e300: (n,) array-like or one number for all. ``ValueError`` for others, and for targets
        outside of [0, 1].

    Notes
    -----
    The 2-Wasserstein distance is that of 32 quantiles. ``Euclidean()`` and ``Cityblock()`` are distances of (mean,
    standard deviation).

    Examples
    --------
    >>> import caltest as ct
    >>> ct.Beta(a=[2.0, 0.5], b=3.0)
    <Beta, n = 2>
    """

    family = "Beta"
    parameter_names = ("a", "b")
    support = (0.0, 1.0)
    largest_shift = 20.0
    spread_keeps_mean = True
    a = Parameter(0, "First parameters (..., n).")
    b = Parameter(1, "Second parameters (..., n).")

    def __init__(self, a: ArrayLike, b: ArrayLike) -> None:
        super().__init__(a, b)

    def _check(self) -> None:
        check_shape(self.a, "a")
        check_shape(self.b, "b")

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
        return rng.beta(self.a, self.b, shape)

    def cdf(self, targets: Array) -> FloatArray:
        return _tail(self.a, self.b, np.clip(targets, 0.0, 1.0), is_upper=False)

    def survival(self, targets: Array) -> FloatArray:
        return _tail(self.a, self.b, np.clip(targets, 0.0, 1.0), is_upper=True)

    def log_density(self, targets: Array) -> FloatArray:
        return np.asarray(scipy.stats.beta.logpdf(targets, self.a, self.b))

    def _quantile(self, level: FloatArray) -> FloatArray:
        return of_distinct(_quantiles, level, self.a, self.b)

    def moments(self) -> tuple[FloatArray, FloatArray]:
        total = self.a + self.b
        return self.a / total, self.a / total * (self.b / total) / (total + 1.0)

    def moved(self, shift: FloatArray | float, factor: FloatArray | float) -> Self:
        """The odds of the mean times ``exp(shift)``, and ``a + b`` divided by the square of the factor."""
        total, log_odds = (self.a + self.b) / np.square(factor), np.log(self.a) - np.log(self.b) + shift
        return self._like(total * scipy.special.expit(log_odds), total * scipy.special.expit(-log_odds))

    def at_temperature(self, temperature: float) -> Self:
        """(a / T, b / T), which keep the mean (with respect to the measure dz / (z (1 - z)))."""
        t = positive_number("temperature", temperature)
        return self._tempered(t, self.a / t, self.b / t)


def _tail(a: FloatArray, b: FloatArray, y: FloatArray, *, is_upper: bool) -> FloatArray:
    """SciPy's ``P(Z > y)`` or ``P(Z <= y)``.

    Where it finds none, that of a Gamma variable divided by the larger parameter, of a normal one if both are large.
    """
    special = scipy.special
    found = np.asarray((special.betaincc if is_upper else special.betainc)(a, b, y))
    missing = np.isnan(found)
    if missing.any():
        a, b, y = (np.broadcast_to(values, found.shape)[missing] for values in (a, b, y))
        of_a, of_b = (special.gammaincc, special.gammainc) if is_upper else (special.gammainc, special.gammaincc)
        total = a + b
        z = (y - a / total) / np.sqrt(a / total * (b / total) / total)
        both = special.ndtr(-z if is_upper else z)
        one = np.where(a < b, of_a(a, b * y), of_b(b, a * (1.0 - y)))
        found[missing] = np.where(np.minimum(a, b) > LARGE, both, one)
    return found


def _quantiles(a: FloatArray, b: FloatArray, levels: FloatArray) -> FloatArray:
    """SciPy's; where it finds none, a parameter is so large that a Gamma variable divided by it has the same law."""
    found = np.asarray(scipy.special.betaincinv(a, b, levels))
    missing = np.isnan(found)
    if missing.any():
        a, b, levels = (np.broadcast_to(values, found.shape)[missing] for values in (a, b, levels))
        low, high = scipy.special.gammaincinv(a, levels) / b, 1.0 - scipy.special.gammainccinv(b, levels) / a
        found[missing] = np.where(a < b, low, high)
    return found
