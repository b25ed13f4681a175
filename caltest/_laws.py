"""Distributions: limit laws of quadratic statistics, Pearson type III, functionals of Brownian motion, event counts.

Of counts also the intervals.
"""

from math import pi, sqrt

import numpy as np
import scipy

from caltest._basics.numerics import FloatArray


def _probability(value: float) -> float:
    return min(1.0, max(0.0, float(value)))


TIED = 1e-9
"""P-values that differ by less, relatively, are the same but for rounding."""

CERTAIN_ABOVE_0, CERTAIN_RANGE = 0.15, 0.3
"""The largest absolute value, and the range, are larger than this with a probability that differs from 1 by < 1e-16."""

TERMS = 200


def absolute_maximum_tail(x: float) -> float:
    """``P(sup |W(t)| >= x) = 4 sum_{k >= 0} (-1)**k Phi(-(2 k + 1) x)``, by reflection at both sides.

    Terms get smaller, so that nothing cancels in the tail; the usual series in ``exp(-pi**2 / (8 x**2))`` is that of
    one minus this probability.
    """
    if x <= CERTAIN_ABOVE_0:
        return 1.0
    k = np.arange(TERMS)
    return _probability(np.sum(4.0 * (-1.0) ** k * scipy.special.ndtr(-((2.0 * k + 1.0) * x))))


def range_tail(x: float) -> float:
    """``P(sup W(t) - inf W(t) >= x) = 8 sum_{k >= 1} (-1)**(k - 1) k Phi(-k x)`` (Feller 1951)."""
    if x <= CERTAIN_RANGE:
        return 1.0
    k = np.arange(1, TERMS + 1)
    return _probability(np.sum(8.0 * (-1.0) ** (k - 1) * k * scipy.special.ndtr(-(k * x))))


INTERVALS: FloatArray = np.arange(1.0, 61.0)
"""Numbers k of the intervals of the sum, enough for all digits down to the smallest statistics that are not certain."""

NODES = np.cos(pi * (np.arange(256) + 0.5) / 256)
"""Of the Gauss-Chebyshev rule on [-1, 1]: integrands have roots at both ends."""


def cramer_von_mises_tail(x: float) -> float:
    """``P(sum_j C_j / (pi j)**2 >= x)`` with independent chi-squared C_j of 1 degree of freedom."""
    if x < 1e-3:
        return 1.0
    t, widths = _nodes((pi * (2.0 * INTERVALS - 1.0)) ** 2, (pi * 2.0 * INTERVALS) ** 2)
    return _tail(x, t, widths / np.abs(np.sin(np.sqrt(t)) / np.sqrt(t)))


def anderson_darling_tail(x: float) -> float:
    """``P(sum_j C_j / (j (j + 1)) >= x)`` with independent chi-squared C_j of 1 degree of freedom."""
    if x < 0.03:
        return 1.0
    t, widths = _nodes((2.0 * INTERVALS - 1.0) * 2.0 * INTERVALS, 2.0 * INTERVALS * (2.0 * INTERVALS + 1.0))
    return _tail(x, t, widths / np.abs(np.cos(pi / 2.0 * np.sqrt(1.0 + 4.0 * t)) / (pi * t)))


def _nodes(low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Nodes t (K, N) between the ends (K,) of intervals, and ``(t - low) (high - t)``."""
    t = (low + high)[:, None] / 2.0 + (high - low)[:, None] / 2.0 * NODES
    return t, (t - low[:, None]) * (high[:, None] - t)


def _tail(x: float, t: FloatArray, ratios: FloatArray) -> float:
    """``1/pi sum_k (-1)**(k + 1) int exp(-t x / 2) / (t sqrt|D(t)|) dt`` with ``D(t) = prod_j (1 - t w_j)``.

    The formula of Smirnov (1937) for the weights w_1 > w_2 > ... of the sum, with the k-th integral from 1/w_{2k-1} to
    1/w_{2k}; nothing cancels in the tail, which keeps its digits at any size. ``ratios`` are
    ``(t - low) (high - t) / |D(t)|``.
    """
    with np.errstate(under="ignore"):
        terms = np.mean(np.exp(-0.5 * x * t) / t * np.sqrt(ratios), axis=1)
    return _probability(terms[::2].sum() - terms[1::2].sum())


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
    if abs(skewness) < SYMMETRIC:
        return float(scipy.special.ndtr(-z))
    a = 4.0 / skewness**2
    end = a + float(np.sign(skewness)) * z * sqrt(a)
    function = scipy.special.gammaincc if skewness > 0.0 else scipy.special.gammainc
    return float(function(a, max(0.0, end)))


def pearson3_exponents(z: FloatArray, skewness: FloatArray) -> FloatArray:
    """``-log P(X >= z)``, finite and increasing in z however large it is; for a skewness below 0.01 X is normal."""
    exponents, skewed = np.empty(z.shape), skewness > SKEWED
    exponents[~skewed] = -scipy.special.log_ndtr(-z[~skewed])
    a = 4.0 / np.square(skewness[skewed])
    x = np.maximum(a + z[skewed] * np.sqrt(a), 0.0)
    tail = scipy.special.gammaincc(a, x)
    far = tail <= 1e-250
    tail[~far] = -np.log(tail[~far])
    a, x = a[far], x[far]
    tail[far] = x + scipy.special.gammaln(a) - (a - 1.0) * np.log(x) + np.log1p((1.0 - a) / x)
    exponents[skewed] = tail
    return exponents


SMALLEST, LONG = 1e-300, 64
"""Probabilities below which ends of laws are cut off, and from how many numbers on it is faster to do so."""


def law_of_count(probabilities: FloatArray) -> FloatArray:
    """Probabilities (n + 1,) of 0 to n events of n independent ones with probabilities (n,): Poisson-binomial.

    Laws of halves are convolved, sums of positive numbers, so that tails are right in all digits.
    """
    laws = [(0, np.array([1.0 - p, p])) for p in probabilities]
    while len(laws) > 1:
        pairs = [(a + b, np.convolve(f, g)) for (a, f), (b, g) in zip(laws[::2], laws[1::2], strict=False)]
        laws = [_without_ends(*one) for one in pairs] + laws[2 * len(pairs) :]
    start, law = laws[0]
    whole = np.zeros(len(probabilities) + 1)
    whole[start : start + law.size] = law
    return whole


def _without_ends(start: int, law: FloatArray) -> tuple[int, FloatArray]:
    if law.size <= LONG:
        return start, law
    places = np.flatnonzero(law > SMALLEST)
    return start + int(places[0]), law[places[0] : places[-1] + 1]


def two_sided(law: FloatArray) -> FloatArray:
    """P-value of each number of events of a law (n + 1,): how probable those with as small a tail are."""
    tails = np.minimum(np.cumsum(law), np.cumsum(law[::-1])[::-1])
    return share_up_to(tails, tails, law)


def share_up_to(limits: FloatArray, values: FloatArray, law: FloatArray) -> FloatArray:
    """Probability that a value is at most each of some limits."""
    order = np.argsort(values)
    sums = np.append(0.0, np.cumsum(law[order]))
    return np.asarray(np.minimum(1.0, sums[np.searchsorted(values[order], limits * (1.0 + TIED), side="right")]))


def clopper_pearson(count: float, n: float, level: float) -> tuple[float, float]:
    """Interval for the mean of the probabilities of n independent events, of which some occurred.

    The number of events varies less than a binomial one of the same mean (Hoeffding 1956), so that the interval of
    Clopper and Pearson 1934 has its level for probabilities that differ, too.
    """
    tail = (1.0 - level) / 2.0
    low = float(scipy.special.betaincinv(count, n - count + 1.0, tail)) if count else 0.0
    return low, float(scipy.special.betaincinv(count + 1.0, n - count, 1.0 - tail)) if count < n else 1.0


def garwood(count: float, n: float, level: float) -> tuple[float, float]:
    """Interval for the mean of the rates of n rows in which some events were seen, as if of Poisson (Garwood 1936)."""
    tail = (1.0 - level) / 2.0
    low = float(scipy.special.gammaincinv(count, tail)) / n if count else 0.0
    return low, float(scipy.special.gammaincinv(count + 1.0, 1.0 - tail)) / n
