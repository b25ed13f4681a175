"""Tails of the Pearson type III distribution: shifted gamma variables of mean 0, variance 1 and some skewness."""

from math import sqrt

import numpy as np

from caltest._basics.types import FloatArray

SYMMETRIC = 1e-6
"""Skewness below which the distribution is normal to rounding."""

SKEWED = 1e-2
"""Skewness from which on logarithms of tails are those of a gamma variable."""


def pearson3_tail(z: float, skewness: float) -> float:
    """``P(X >= z)``: ``Q(a, a + z sqrt(a))`` with ``a = 4 / skewness**2``.

    Q is the regularised upper incomplete gamma function; for negative skewness its mirror image.

    >>> round(pearson3_tail(1.959964, 0.0), 6), round(pearson3_tail(2.0, 2.0), 6)
    (0.025, 0.049787)
    """
    from scipy.special import gammainc, gammaincc, ndtr

    if abs(skewness) < SYMMETRIC:
        return float(ndtr(-z))
    a = 4.0 / skewness**2
    end = a + float(np.sign(skewness)) * z * sqrt(a)
    function = gammaincc if skewness > 0.0 else gammainc
    return float(function(a, max(0.0, end)))


def pearson3_exponents(z: FloatArray, skewness: FloatArray) -> FloatArray:
    """``-log P(X >= z)``, finite and increasing in z however large it is; for a skewness below 0.01 X is normal."""
    from scipy.special import gammaincc, gammaln, log_ndtr

    skewed = skewness > SKEWED
    a = 4.0 / np.square(np.where(skewed, skewness, 1.0))
    x = np.maximum(a + z * np.sqrt(a), 0.0)
    tail = gammaincc(a, x)
    with np.errstate(divide="ignore", invalid="ignore"):
        far = x + gammaln(a) - (a - 1.0) * np.log(x) + np.log1p((1.0 - a) / x)
        of_gamma = np.where(tail > 1e-250, -np.log(tail), far)
    return np.asarray(np.where(skewed, of_gamma, -log_ndtr(-z)))
