"""The number of events: an exact test of risks, its inverse as intervals, and what calibrated risks give."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy

from caltest._basics.numerics import Array, FloatArray
from caltest._laws import law_of_count
from caltest._results.values import ConfidenceInterval
from caltest.estimators.combined.measures import clopper_pearson

SHIFTED, IMPOSSIBLE = "exact, all log-odds shifted alike", "Clopper and Pearson, for any risks"
"""The methods of intervals, of numbers that the risks leave possible and of others."""


@dataclass(frozen=True)
class EventCount:
    """What a number of events says of risks.

    The true log-odds are a more than those predicted: ratio and calibration in the large are functions of a, and the
    interval of a has those that the test at its level does not reject, so that it holds 0 where the p-value is larger.

    Attributes
    ----------
    ratio
        O:E.
    in_the_large
        That of a; infinite without events or without others, None where all risks are 0 or 1.
    usual, usual_shift
        Between what O:E and a are if calibrated, each end with half of what the level leaves.
    pvalue
        Twice the smaller tail of the Poisson-binomial law.
    rest
        Probability that calibrated risks between 0 and 1 have no event, or nothing else.
    note
        What is said of a number that risks of 0 and 1 exclude.
    """

    ratio: ConfidenceInterval
    in_the_large: ConfidenceInterval | None
    usual: tuple[float, float]
    usual_shift: tuple[float, float]
    pvalue: float
    rest: float
    note: str = ""

    @classmethod
    def of(cls, p: FloatArray, y: Array, level: float, number: int = 1) -> "EventCount":
        """For risks (n,), not all 0, and outcomes; the level is that of some intervals together (Bonferroni)."""
        failing, n, count = (1.0 - level) / number, p.size, int(y.sum())
        together, expected = f", {number} groups together" if number > 1 else "", float(p.sum())
        law = law_of_count(p)
        least, most = int(np.count_nonzero(p >= 1.0)), n - int(np.count_nonzero(p <= 0.0))
        tails = float(law[: count + 1].sum()), float(law[count:].sum())
        usual = tuple(_quantile(one, failing / 2.0) for one in (law, law[::-1]))
        usual = usual[0], n - usual[1]
        is_possible = least < most and least <= count <= most
        if is_possible:
            (low, mean_low), (high, mean_high) = _shifts(p, count, least, most, failing / 2.0)
        else:
            mean_low, mean_high = (n * end for end in clopper_pearson(count, n, 1.0 - failing))
        method = (SHIFTED if is_possible else IMPOSSIBLE) + together
        in_the_large = ConfidenceInterval(low, high, level, method, shift(p, count)) if is_possible else None
        return cls(
            ratio=ConfidenceInterval(mean_low / expected, mean_high / expected, level, method, count / expected),
            in_the_large=in_the_large,
            usual=(usual[0] / expected, usual[1] / expected),
            usual_shift=(shift(p, usual[0]), shift(p, usual[1])),
            pvalue=min(1.0, 2.0 * min(tails)),
            rest=float(law[least] + law[most]) if least < most else 1.0,
            note="" if least <= count <= most else _excluded(count, least, most),
        )


def shift(risks: FloatArray, count: float) -> float:
    """What is added to the log-odds of risks so that a number of events is expected; risks of 0 and 1 stay."""
    inner = risks[(risks > 0.0) & (risks < 1.0)]
    wanted = count - np.count_nonzero(risks >= 1.0)
    if wanted <= 0.0 or wanted >= inner.size:
        return -np.inf if wanted <= 0.0 else np.inf
    x = scipy.special.logit(inner)
    centre = float(scipy.special.logit(wanted / inner.size))

    def excess(a: float) -> float:
        return float(scipy.special.expit(a + x).sum()) - wanted

    # With all log-odds at the smallest or at the largest one, the mean is too large or too small.
    return float(scipy.optimize.brentq(excess, centre - x.max() - 1e-6, centre - x.min() + 1e-6, xtol=1e-10))


def _excluded(count: int, least: int, most: int) -> str:
    return (
        f"{count} event{'' if count == 1 else 's'}, where risks of 0 and 1 leave {least} to {most}: the p-value is 0, "
        "and the interval of O:E is for any risks"
    )


def _quantile(law: FloatArray, tail: float) -> int:
    """The smallest number below which there is a tail at most."""
    return int(np.argmax(np.cumsum(law) > tail))


def _shifts(p: FloatArray, count: int, least: int, most: int, tail: float) -> list[tuple[float, float]]:
    """The smallest and the largest shift of which the tail at a count is as large, with the mean number of events.

    Laws of shifted log-odds are one family, ``P_a(N = k) ~ P_0(N = k) exp(a k)``; the one from which others are
    computed has about the mean that was seen.
    """
    centre = shift(p, min(max(float(count), least + 0.5), most - 0.5))
    law = law_of_count(scipy.special.expit(scipy.special.logit(p) + centre))
    k = np.flatnonzero(law)
    log_law, beyond = np.log(law[k]), k >= count

    def tilted(a: float) -> FloatArray:
        logs = log_law + a * k
        some = np.exp(logs - logs.max())
        return np.asarray(some / some.sum())

    def end(limit: int, sign: float, some: Array) -> tuple[float, float]:
        if count == limit:
            return sign * np.inf, float(limit)
        a = _root(lambda a: float(tilted(sign * a)[some].sum()) - tail)
        return centre + sign * a, float(tilted(sign * a) @ k)

    return [end(least, -1.0, beyond), end(most, 1.0, k <= count)]


def _root(falling: Callable[[float], float]) -> float:
    """Where a function that is positive at 0 falls below 0."""
    far = 1.0
    while falling(far) > 0.0:
        far *= 2.0
    return float(scipy.optimize.brentq(falling, 0.0, far, xtol=1e-12))
