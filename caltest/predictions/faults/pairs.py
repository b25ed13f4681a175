"""Two faults at once: what is clear once predictions are corrected for the first."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from caltest._basics.numerics import FloatArray
from caltest._results.values import Finding
from caltest.predictions.faults.fault import Fault, Faults, Fit
from caltest.predictions.faults.search import (
    DROP,
    REACH,
    Candidate,
    apart_from,
    candidates_of,
    finding_of,
    fit_of,
    refined,
)

FIRSTS = 2
"""Other kinds of faults with which the search for a pair begins too, where one has been found."""

END = 1e-3
"""Of the sizes of a fault, a share at both ends."""

NEWTON, SETTLED, DEPENDENT = 4, 0.1, 0.95
"""Steps to the common maximum of two faults, how small the last one is in standard errors, and the largest square of
the correlation of their sizes."""

NEIGHBOURS = np.array([-1.0, 0.0, 1.0])


@dataclass(frozen=True)
class Pair:
    """A fault with siblings that are faults too, and one that is clear once predictions are corrected for these."""

    first: Candidate
    apart: list[Candidate]
    second: Candidate
    after: tuple[Faults, Any]
    """Faults of the corrected predictions, and what they see."""

    @property
    def gain(self) -> float:
        """Of both together."""
        return self.first.gain + self.second.gain


def best_pair(ordered: list[Candidate], likely: list[Candidate], faults: Faults, seen: Any) -> Pair | None:
    """The likeliest fault and a second one, or two others that together are more likely."""
    best = _pair(ordered[0], likely, faults, seen)
    if best is None:
        return None
    kinds = {one.fault.kind: one for one in reversed(ordered) if one.gain > 0.0 and one is not ordered[0]}
    others = sorted(kinds.values(), key=lambda one: -one.gain)[:FIRSTS]
    pairs = [best, *(_pair(one, likely, faults, seen) for one in others)]
    return max((pair for pair in pairs if pair is not None), key=lambda pair: pair.gain)


def _pair(first: Candidate, likely: list[Candidate], faults: Faults, seen: Any) -> Pair | None:
    apart = apart_from(first, likely, seen)
    after = _after(faults, seen, [first, *apart]) if _is_inside(first) else None
    if after is None:
        return None
    second = max(
        (
            refined(one, after[1])
            for one in _near_the_best(candidates_of(*after))
            if (one.fault.kind, one.sibling) != (first.fault.kind, first.sibling)
        ),
        key=lambda one: one.gain,
        default=None,
    )
    if second is None or second.gain <= 0.0 or not _is_inside(second):
        return None
    otherwise = first.fault.corrected_otherwise(seen, first.sibling)
    if otherwise is not None:
        others = candidates_of(*faults.after(seen, otherwise))
        if not any(one.gain > 0.0 and one.fault.kind == second.fault.kind for one in others):
            return None
    return Pair(first, apart, second, after)


def _is_inside(one: Candidate) -> bool:
    """Whether the size is not as large or small as can be, where it says little of the law."""
    low, high = one.ends
    margin = END * (high - low)
    return low + margin < one.t < high - margin


def _near_the_best(likely: list[Candidate]) -> list[Candidate]:
    return [one for one in likely if one.gain > likely[0].gain - REACH]


def findings_together(pair: Pair, faults: Faults, seen: Any) -> Finding:
    """The first fault with the second, at sizes that are most likely together if there is a maximum nearby."""
    first, second, after = pair.first, pair.second, pair.after
    fits = fit_of(first, seen), fit_of(second, after[1])

    def log_ratios(t: float, others: FloatArray) -> list[float]:
        moved = _after(faults, seen, [replace(first, t=t), *pair.apart])
        assert moved is not None
        own, same = first.fault.log_ratio(seen, first.sibling, t), _same(second, moved[0])
        return [own + same.log_ratio(moved[1], second.sibling, float(other)) for other in others]

    if (
        not first.fault.says_what_happened
        and (together := _together(log_ratios, fits, (first.ends, second.ends))) is not None
    ):
        fits = together
        after = _after(faults, seen, [replace(first, t=fits[0].t), *pair.apart]) or after
        second = replace(second, fault=_same(second, after[0]))
    return replace(finding_of(first, seen, fits[0]), second=finding_of(second, after[1], fits[1]))


def _after(faults: Faults, seen: Any, corrected: list[Candidate]) -> tuple[Faults, Any] | None:
    """Faults of predictions corrected for some of them one by one, and what they see; None if that has no form."""
    for one in corrected:
        correction = _same(one, faults).corrected(seen, one.sibling, one.t)
        if correction is None:
            return None
        faults, seen = faults.after(seen, correction)
    return faults, seen


def _same(one: Candidate, faults: Faults) -> Fault[Any]:
    """The fault of the same kind among others."""
    found: Fault[Any] = next(fault for fault in faults.kinds if fault.kind == one.fault.kind)
    return found


def _together(
    log_ratios: Callable[[float, FloatArray], list[float]], fits: tuple[Fit, Fit], ends: tuple[tuple[float, float], ...]
) -> tuple[Fit, Fit] | None:
    """Both sizes at the maximum of their common likelihood, by Newton's method from one after the other.

    The function returns likelihoods for one size of the first and some of the second. Intervals are those of the normal
    limit. None where the likelihood has no maximum next to these sizes.
    """
    t = np.array([fit.t for fit in fits])
    steps = np.array([(fit.high - fit.low) / 4.0 for fit in fits])
    for _ in range(NEWTON):
        others = t[1] + steps[1] * NEIGHBOURS
        v = np.array([log_ratios(float(one), others) for one in t[0] + steps[0] * NEIGHBOURS])
        slopes = np.array([v[2, 1] - v[0, 1], v[1, 2] - v[1, 0]]) / 2.0
        bends = 2.0 * v[1, 1] - np.array([v[0, 1] + v[2, 1], v[1, 0] + v[1, 2]])
        both = (v[0, 2] + v[2, 0] - v[0, 0] - v[2, 2]) / 4.0
        information = np.array([[bends[0], both], [both, bends[1]]])
        if not (np.isfinite(information).all() and (bends > 0.0).all() and both**2 < DEPENDENT * bends.prod()):
            return None
        covariance = np.linalg.inv(information)
        moves = covariance @ slopes
        t += steps * moves
    if np.abs(moves).max() > SETTLED or any(not low < at < high for at, (low, high) in zip(t, ends, strict=True)):
        return None
    errors = np.sqrt(2.0 * DROP * np.diag(covariance)) * steps
    return _within(t[0], errors[0], ends[0]), _within(t[1], errors[1], ends[1])


def _within(t: float, error: float, ends: tuple[float, float]) -> Fit:
    """The interval of a size, cut at the ends of all sizes."""
    low, high = float(t - error), float(t + error)
    return Fit(float(t), max(low, ends[0]), min(high, ends[1]), low <= ends[0], high >= ends[1])
