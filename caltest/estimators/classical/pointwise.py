"""P-values of single transforms, of their order statistics and of pairs of these, combined by the law of Cauchy."""

from collections.abc import Callable
from math import log
from typing import Any

import numpy as np
import scipy

from caltest._basics.numerics import FloatArray, IntArray

SMALLEST = 1e-300
"""P-values below it count as this one."""


def _scores(low: Any, high: Any) -> FloatArray:
    """Scores ``tan(pi (1/2 - p))`` of p-values ``p = 2 min(low, high)`` of both tails; Cauchy for uniform p."""
    p = np.maximum(2.0 * np.minimum(low, high), SMALLEST)
    # The tangent of the complement has no rounding errors for small p.
    return np.asarray(np.where(p < 0.25, 1.0 / np.tan(np.pi * p), np.tan(np.pi * (0.5 - np.minimum(p, 1.0)))))


def _positive(scores: FloatArray) -> FloatArray:
    """Means of scores, of p-values below a half alone: the truncated combination."""
    return np.asarray(np.maximum(scores, 0.0).mean(axis=1))


def orders(u: FloatArray) -> FloatArray:
    """POT: each order statistic ``u_(i)`` against its law Beta(i, n + 1 - i)."""
    i = np.arange(1.0, u.shape[1] + 1.0)
    return _positive(_scores(*_tails(u, i, i[::-1])))


def ranks(u: FloatArray) -> FloatArray:
    """PRIT: how many transforms are at most u_i against Binomial(n, u_i), half of whose probability there counts."""
    n = u.shape[1]
    counts = np.array([np.searchsorted(one, one, side="right") for one in u], dtype=np.float64)
    logs = scipy.special.xlog1py(n - counts, -u) + scipy.special.xlogy(counts, u)
    logs -= scipy.special.gammaln(counts + 1.0) + scipy.special.gammaln(n - counts + 1.0)
    half = 0.5 * np.exp(logs + scipy.special.gammaln(n + 1.0))
    return _positive(_scores(scipy.special.bdtr(counts - 1.0, n, u) + half, scipy.special.bdtrc(counts, n, u) + half))


def values(u: FloatArray) -> FloatArray:
    """PIET: each u_i against the uniform law."""
    return np.asarray(_scores(u, 1.0 - u).mean(axis=1))


def pairs(u: FloatArray) -> FloatArray:
    """PITOS: order statistics given others, of all single ones and about ``10 n log n`` pairs of a Halton sequence."""
    n = u.shape[1]
    start, end = _places(n)
    # The others above the start, and below it, are uniform there.
    before, after = start < end, start > end
    at = u[:, end]
    share = at.copy()
    share[:, before] = (at[:, before] - u[:, start[before]]) / (1.0 - u[:, start[before]])
    share[:, after] = at[:, after] / u[:, start[after]]
    a = np.where(before, end - start, end + 1.0)
    b = np.where(after, start - end, n - end)
    return np.asarray(_scores(*_tails(share, a, b)).mean(axis=1))


def _tails(x: FloatArray, a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    return np.asarray(scipy.special.betainc(a, b, x)), np.asarray(scipy.special.betaincc(a, b, x))


def _places(n: int) -> tuple[IntArray, IntArray]:
    """Numbers from 0 of order statistics that are given and that are tested, the same for those tested alone."""
    index = np.arange(1, round(10 * n * log(n)) + 1) if n > 1 else np.arange(0)
    drawn = (scipy.special.betaincinv(0.7, 0.7, _halton(index, base)) for base in (2, 3))
    halton = [np.clip(np.ceil(n * one).astype(np.intp), 1, n) - 1 for one in drawn]
    start, end = (np.concatenate([one, np.arange(n)]) for one in halton)
    return start, end


def _halton(index: IntArray, base: int) -> FloatArray:
    """Digits of numbers in a base, mirrored at the point."""
    out, rest, share = np.zeros(index.size), index.copy(), 1.0
    while rest.any():
        share /= base
        out += share * (rest % base)
        rest = rest // base
    return out


def tail(score: float) -> float:
    """The tail of the standard Cauchy law."""
    return float(np.arctan2(1.0, score) / np.pi)


POINTWISE: dict[str, Callable[[FloatArray], FloatArray]] = {
    "POT": orders,
    "PRIT": ranks,
    "PIET": values,
    "PITOS": pairs,
}
"""Mean scores (B,) of sorted transforms (B, n)."""
