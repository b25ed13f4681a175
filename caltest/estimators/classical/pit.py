"""Probability integral transforms against the uniform law.

By distances, or by p-values of single transforms, of their order statistics and of pairs of these, combined by the law
of Cauchy.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import log, pi, sqrt
from typing import Any, Literal

import numpy as np
import scipy

from caltest._basics.numerics import Array, FloatArray, IntArray
from caltest._laws import anderson_darling_tail, cramer_von_mises_tail
from caltest._results.calibration_test_result import PValueKind
from caltest._results.values import EffectSize
from caltest._validation import choice
from caltest.estimators.base import TextbookTail
from caltest.estimators.classical.base import TransformStatistic, root_per_observation, some_at_a_time
from caltest.predictions import Predictions, Sample

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


Statistic = Literal["KS", "CvM", "AD", "POT", "PRIT", "PIET", "PITOS"]

SMALL = 1e-3
"""Below this probability the correction of the limit law for n, which scipy adds, is of the size of the probability."""

FEW = 10
"""Observations from which on the limit law of Anderson and Darling is close."""

KOLMOGOROV = sqrt(pi / 2.0) * log(2.0)
"""The mean of the limit law of Kolmogorov, to be divided by Stephens's ``sqrt(n) + 0.12 + 0.11 / sqrt(n)``."""

MEANS = {"CvM": 1.0 / 6.0, "AD": 1.0}
"""Means of the other distances for uniform numbers, for every n."""

POSITIVE = "POT", "PRIT"
"""Combinations without negative scores, whose mean is larger than that of the law of Cauchy."""

DIFFERENCE = "difference of the distribution functions"

NAMES = {"KS": "Kolmogorov-Smirnov", "CvM": "Cramer-von Mises", "AD": "Anderson-Darling"}
NAMES |= {name: f"Cauchy combination {name}" for name in POINTWISE}


@dataclass(frozen=True)
class PIT(TransformStatistic):
    """Distance of the transforms ``u_i = F_i(Y_i)`` from the uniform distribution.

    With ``u_(1) <= ... <= u_(n)``::

        KS:   max_i max(i/n - u_(i), u_(i) - (i - 1)/n)
        CvM:  1/(12 n) + sum_i (u_(i) - (2 i - 1)/(2 n))**2
        AD:   -n - sum_i (2 i - 1)/n (log u_(i) + log(1 - u_(n+1-i)))

    or means of ``tan(pi (1/2 - p))`` of two-sided p-values p, without negative ones for the first two (Cauchy
    combination)::

        POT:    of u_(i) from Beta(i, n + 1 - i)
        PRIT:   of #{j: u_j <= u_i} from Binomial(n, u_i), mid-p
        PIET:   of u_i from the uniform law
        PITOS:  of u_(j) from its law given u_(i), for about 10 n log n pairs, and of u_(i) as in POT

    Counts are transformed to ``u = F(y - 1) + v P(Z = y)`` with v uniform on [0, 1], so that u is uniform too. For
    ensembles u is the rank of the outcome among the m + 1 values of outcome and members, less v, over m + 1. The v come
    from the ``rng`` of the call and are the same for redraws, which keeps Monte Carlo tests exact.

    Parameters
    ----------
    statistic
        ``"KS"`` (Kolmogorov-Smirnov), ``"CvM"`` (Cramer-von Mises) or ``"AD"`` (Anderson-Darling), which weighs both
        ends most; ``"POT"``, ``"PRIT"`` and ``"PIET"`` for transforms that depend on each other, as those of
        leave-one-out predictions do (``fields.bayesian.loo_pit``); ``"PITOS"`` for clumps and gaps.

    Raises
    ------
    ValueError
        For another statistic, or predictions without any spread.
    TypeError
        For predictions that are neither of counts, nor ensembles of numbers, nor continuous distributions of a number.

    Notes
    -----
    If predictions are calibrated, u has the uniform law whatever was predicted, so ``PITTest`` needs no redraws:
    ``"KS"`` has the exact law for n observations; ``"CvM"`` that of scipy, which corrects the limit law for n, and for
    p-values below 1e-3, where the correction is too rough, the limit law; ``"AD"`` the limit law, a sum of chi-squared
    variables over j (j + 1), which is close from 10 observations on; combinations the law of Cauchy, which is
    approximate: at the 5 % level POT and PRIT reject 6 to 7 % of independent transforms, the others 5 to 6 %.
    ``MonteCarloTest(PIT())`` is exact for all, if outcomes are independent. Blind to errors that cancel across
    predictions; a kernel test of ``ct.pit_values`` is not. Transforms within 1.2e-16 of 0 or 1 count as this far away.
    Time O(n log n), for each redraw too, ten beta functions for each of the n log n with PITOS.

    Sources: Dawid 1984; Anderson and Darling 1952 for the limit laws; Czado, Gneiting and Held 2009 for counts; Tesso
    and Vehtari 2026, with the mid-p-values of their software; Covington and Miller 2025 for PITOS.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.generators.GaussianModel(calibrated=False).sample(100, rng=1)
    >>> ct.PITTest("KS")(ct.Normal(p.mean, p.scale), y).pvalue_kind
    'exact'
    """

    citations = ("anderson1954", "dawid1984")

    statistic: Statistic = "KS"
    _checks = {"statistic": choice(Statistic)}

    def estimates(self, predictions: Predictions, targets: Array) -> FloatArray:
        distance = DISTANCES[self.statistic]
        return some_at_a_time(lambda y: distance(np.sort(self.transforms(predictions, y), axis=1)), targets)

    @property
    def textbook_statistic(self) -> str:
        """What the statistic is, and its law."""
        name = NAMES[self.statistic]
        return name if self.statistic in POINTWISE else f"{name} distance from the uniform distribution"

    @property
    def textbook_kind(self) -> PValueKind:
        """Exact for Kolmogorov and Smirnov."""
        return "exact" if self.statistic == "KS" else "asymptotic"

    def textbook_tail(self, estimate: float, sample: Sample) -> TextbookTail:
        """The tail of the distance for uniform numbers."""
        n = len(sample)
        if self.statistic == "KS":
            return TextbookTail(estimate, float(scipy.stats.kstwo.sf(estimate, n)))
        if self.statistic in POINTWISE:
            note = (
                "the law of Cauchy rejects 6 to 7 % of independent transforms at the 5 % level; "
                f'MonteCarloTest(PIT("{self.statistic}")) is exact for these'
            )
            return TextbookTail(estimate, tail(estimate), notes=(note,) if self.statistic in POSITIVE else ())
        if self.statistic == "AD":
            note = (
                f"only {n} observations: in simulations with 1 to 9 of them the limit law rejected 5.1 to 6.2 % of "
                "calibrated predictions at the 5 % level and 1.0 to 1.6 % at the 1 % level; "
                'MonteCarloTest(PIT("AD")) is exact'
            )
            return TextbookTail(estimate, anderson_darling_tail(estimate), notes=(note,) if n < FEW else ())
        u = self.transforms(sample.predictions, np.asarray(sample.targets)[None])[0]
        return TextbookTail(estimate, _cramer_von_mises_pvalue(u, estimate))

    def effect_size(self, estimate: float, predictions: Predictions, mean: float | None) -> EffectSize | None:
        """The distance of the distribution functions of the transforms and of uniform numbers, without that of chance.

        The largest difference, or the root of the mean square of the differences, for Anderson and Darling in units of
        the standard deviation ``sqrt(u (1 - u))`` of an indicator. None for combined p-values, which have no size.
        """
        n = len(predictions)
        if self.statistic in POINTWISE:
            return None
        if self.statistic == "KS":
            mean = KOLMOGOROV / (sqrt(n) + 0.12 + 0.11 / sqrt(n)) if mean is None else mean
            return EffectSize(estimate - mean, f"{DIFFERENCE}, the largest, above its mean if calibrated")
        excess = estimate - (MEANS[self.statistic] if mean is None else mean)
        how = "root mean square" + (", in standard deviations" if self.statistic == "AD" else "")
        return root_per_observation(excess, n, f"{DIFFERENCE}, {how}")

    def describe(self, predictions: Predictions) -> str:
        how = "randomised " if predictions.law.has_jumps else ""
        if self.statistic in POINTWISE:
            return f"{NAMES[self.statistic]} of {how}integral transforms"
        return f"{NAMES[self.statistic]} distance of {how}integral transforms from the uniform distribution"


def _kolmogorov_smirnov(u: FloatArray) -> FloatArray:
    n = u.shape[1]
    steps = np.arange(n + 1) / n
    return np.asarray(np.maximum((steps[1:] - u).max(axis=1), (u - steps[:-1]).max(axis=1)))


def _cramer_von_mises(u: FloatArray) -> FloatArray:
    n = u.shape[1]
    middles = (2.0 * np.arange(n) + 1.0) / (2.0 * n)
    return np.asarray(1.0 / (12.0 * n) + np.square(u - middles).sum(axis=1))


def _anderson_darling(u: FloatArray) -> FloatArray:
    n = u.shape[1]
    weights = (2.0 * np.arange(n) + 1.0) / n
    return np.asarray(-n - (np.log(u) + np.log1p(-u[:, ::-1])) @ weights)


DISTANCES: dict[str, Callable[[FloatArray], FloatArray]] = {
    "KS": _kolmogorov_smirnov,
    "CvM": _cramer_von_mises,
    "AD": _anderson_darling,
    **POINTWISE,
}
"""Distances (B,) of sorted transforms (B, n)."""


def _cramer_von_mises_pvalue(u: FloatArray, estimate: float) -> float:
    """That of scipy where it is not small, else that of the limit law, but no larger than the others."""
    pvalue = float(scipy.stats.cramervonmises(u, "uniform").pvalue) if u.size > 1 else 0.0
    return pvalue if pvalue >= SMALL else min(SMALL if u.size > 1 else 1.0, cramer_von_mises_tail(estimate))
