"""The sizes of faults that explain outcomes best, with intervals; and what is clear once these are corrected."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf, log
from typing import Any

import numpy as np

from caltest._basics.numerics import FloatArray
from caltest._results.values import ConfidenceInterval, Finding
from caltest.predictions.faults.fault import Fault, Faults, Scope
from caltest.predictions.faults.maxima import DROP, asked_once, best_between, best_of_grid, end_of_interval
from caltest.predictions.faults.words import Fit

SIBLINGS, NAMED_TOO = 5, 2
"""Siblings of a fault whose likelihood is maximised, those whose scores promise most, and those whose words follow its
own."""

CONFIDENCE = 0.95
"""Level of the intervals."""

FEWEST = 100.0
"""Observations whose logarithm is the penalty of smaller samples too, so that few calibrated ones have findings."""

NEARLY, MINOR = 0.8, 0.1
"""Share of the gain of a fault in places from which on a plain one is named first, and share of the gain of the
likeliest fault up to which no other is named before it."""

PLAINER: dict[Scope, int] = {"level": 0, "all": 0, "places": 1, "wave": 2}
"""Which faults are named before others that explain hardly more; those of shapes are as they are."""

LIKELY = 3.0
"""How much less than the likeliest fault of all predictions one explains, at most, that is named before it because it
says how often a rare event happens: a likelihood ratio of 20."""

BENDS = {"local slope", "local elasticity"}
"""Kinds of faults that are right on one side of a knot: a spread explains them, too, but says less of them."""

LEVELS, ENDS = {"shift", "shift in units", "factor"}, ("the largest", "the smallest")
"""The same of levels where predictions are cut off, in what is said of these places."""

OF_CURVES: tuple[set[str], ...] = (
    {"early", "hazard in time"},
    {"local slope", "wave of shifts", "fast wave of shifts"},
    {"local elasticity", "wave of factors"},
    {"clipped", "window"},
)
"""Kinds of faults of one curve, of times or of predictions, of which two do not say more than one."""

REACH = 20.0
"""Gains at the best of the grid this far below the largest are refined for the first of a kind only."""


@dataclass(frozen=True)
class Candidate:
    """A fault of some place at the most likely of some sizes, with its neighbours and the ends of all sizes.

    The gain is the log likelihood ratio less the penalty.
    """

    fault: Fault[Any]
    sibling: int
    t: float
    gain: float
    penalty: float
    neighbours: tuple[float, float]
    ends: tuple[float, float]
    log_ratio: Callable[[float], float]
    """Of sizes, asked once for each."""
    profile: Callable[[float], float]
    """The same at the most likely of the places that are as unknown as the size."""

    @property
    def kind(self) -> str:
        """That of the fault."""
        return self.fault.kind

    @property
    def place(self) -> str:
        """That of the sibling, in words."""
        return self.fault.place(self.sibling)


def are_alike(one: Candidate | Finding, other: Candidate | Finding) -> bool:
    """Whether claims are too extreme around even odds and around their mean, or both are places of one curve."""
    kinds = {one.kind, other.kind}
    if kinds <= BENDS:
        # One line may bend at both ends.
        return all(("above" in some.place) == ("above" in one.place) for some in (one, other))
    if any(kinds <= some for some in OF_CURVES):
        return True
    if any("wave" in kind for kind in kinds):
        return len({kind.removeprefix("fast ") for kind in kinds}) == 1 and one.place == other.place
    return kinds == {"temperature", "slope"} and not (one.place or other.place)


def are_rivals(one: Candidate, other: Candidate) -> bool:
    """Whether both are one fault, in places that its outcomes hardly tell apart."""
    return one.fault is other.fault and one.sibling in other.fault.rivals(other.sibling)


def candidates_of(faults: Faults, seen: Any) -> list[Candidate]:
    """Every kind of fault in its most promising places, with the largest gain first."""
    common = 0.5 * log(max(float(faults.weights.sum()), FEWEST)) + log(max(len(faults.kinds), 1))
    found = [
        one
        for fault in faults.kinds
        for one in _in_places(fault, seen, common + log(fault.n_choices or fault.n_siblings))
    ]
    return sorted(found, key=lambda one: -one.gain)


def in_order(kinds: Sequence[Fault[Any]], likely: list[Candidate]) -> list[Candidate]:
    """The likeliest fault of each kind and others like the best, at their most likely sizes.

    A plainer one is the first if it explains nearly as much, of all predictions before one in places and both before a
    fast wave of claims: real overconfidence follows no formula, and with enough rows a window of claims fits a part of
    it better than a temperature fits all.
    Faults that are the same for these predictions, as those of constant ones are, stay in the order of the list.
    """
    first = {one.fault.kind: one for one in reversed(likely)}
    near = [refined(one) for one in likely if one is first[one.fault.kind] or one.gain > likely[0].gain - REACH]
    order = {fault.kind: i for i, fault in enumerate(kinds)}
    ordered = sorted(near, key=lambda one: (-round(one.gain, 4), order[one.fault.kind]))
    # Sizes of the others can be 0: nothing is explained by them.
    telling = [one for one in ordered if one is ordered[0] or one.gain + one.penalty > DROP]
    if ordered[0].fault.scope in PLAINER:
        # A part of the predictions that explains clearly more than all of them with the same fault is its place.
        kind = ordered[0].fault.kind
        whole = kind.removeprefix("local ") if kind.startswith("local ") else ""
        is_right_elsewhere = kind in BENDS or (whole in LEVELS and ordered[0].place.endswith(ENDS))
        clear, nearly = ordered[0].gain - LIKELY, inf if is_right_elsewhere else NEARLY * ordered[0].gain
        near = [
            one for one in telling if one is ordered[0] or one.gain >= (clear if one.fault.kind == whole else nearly)
        ]
        plain = min(near, key=lambda one: PLAINER.get(one.fault.scope, len(PLAINER)))
        if not PLAINER[plain.fault.scope]:
            # What is clear goes before what is not.
            least = max(plain.gain - LIKELY, 0.0) if plain.gain > 0.0 else plain.gain - LIKELY
            levels = (one for one in telling if one.fault.scope == "level" and one.gain > least)
            plain = next(levels, plain)
        ordered.sort(key=lambda one: one is not plain)
    return ordered


def apart_from(best: Candidate, likely: list[Candidate], seen: Any) -> list[Candidate]:
    """The two likeliest siblings that are clear by themselves and that neither the best nor each other brings about."""
    fault, named = best.fault, [best]
    others = [
        refined(one)
        for one in likely
        if one.fault is fault and one.sibling != best.sibling and fault.apart(seen, best.sibling, one.sibling)
    ]
    for one in sorted(others, key=lambda one: -one.gain):
        if one.gain > 0.0 and all(fault.apart(seen, other.sibling, one.sibling) for other in named[1:]):
            named.append(one)
    return named[1 : 1 + NAMED_TOO]


def _in_places(fault: Fault[Any], seen: Any, penalty: float) -> list[Candidate]:
    """Of the places that promise most, and the likeliest beside the best of these if that is another one."""
    found = [_most_likely(fault, seen, sibling, penalty) for sibling in _siblings(fault, seen)]
    if found and len(rivals := fault.rivals((best := max(found, key=lambda one: one.gain)).sibling)) > 1:
        likeliest = max(rivals, key=lambda sibling: fault.log_ratio(seen, sibling, best.t))
        if likeliest not in {one.sibling for one in found}:
            found.append(_most_likely(fault, seen, likeliest, penalty))
    return found


def _siblings(fault: Fault[Any], seen: Any) -> list[int]:
    """All, or the five that promise most; all that can be if they promise the same."""
    if fault.of_targets and getattr(seen, "corrected", None) is not None:
        return []
    promising = fault.promising(seen)
    if promising is None:
        return list(range(fault.n_siblings))
    known = promising[promising > -inf]
    number = SIBLINGS if (known != known[:1]).any() else promising.size
    best = np.argsort(-promising, kind="stable")[:number]
    return [int(sibling) for sibling in best if promising[sibling] > -inf]


def _most_likely(fault: Fault[Any], seen: Any, sibling: int, penalty: float) -> Candidate:
    log_ratio, ends = asked_once(lambda t: fault.log_ratio(seen, sibling, t)), fault.bounds(seen, sibling)
    t, neighbours = best_of_grid(log_ratio, *ends)
    rivals, profile = fault.rivals(sibling), log_ratio
    if len(rivals) > 1:
        profile = asked_once(lambda t: max(fault.log_ratio(seen, one, t) for one in rivals))
    return Candidate(fault, sibling, t, log_ratio(t) - penalty, penalty, neighbours, ends, log_ratio, profile)


def refined(one: Candidate) -> Candidate:
    """At the most likely size."""
    t = best_between(one.log_ratio, one.t, one.neighbours)
    return replace(one, t=t, gain=one.log_ratio(t) - one.penalty)


def fit_of(one: Candidate) -> Fit:
    """The size with its interval by the likelihood."""
    (low, is_low_end), (high, is_high_end) = (end_of_interval(one.profile, one.t, end) for end in one.ends)
    return Fit(one.t, low, high, is_low_end, is_high_end)


def finding_of(one: Candidate, seen: Any, fit: Fit | None = None) -> Finding:
    """The finding with its words and its interval, of the fit if there is one."""
    fault, sibling = one.fault, one.sibling
    fit = fit or fit_of(one)
    estimate, *sizes = (fault.size(seen, sibling, t) for t in (fit.t, fit.low, fit.high))
    interval = ConfidenceInterval(min(sizes), max(sizes), CONFIDENCE, "likelihood ratio", estimate)
    named = fault.words(seen, sibling, fit), fault.kind, fault.place(sibling)
    return Finding(*named, estimate, interval, one.gain, scope=fault.scope)


NEWTON, SETTLED, DEPENDENT = 4, 0.1, 0.95
"""Steps to the common maximum of two faults, how small the last one is in standard errors, and the largest square of
the correlation of their sizes."""

FIRST = 3.0
"""How much larger the gain of an explanation is that names the likeliest fault second."""

NEIGHBOURS = np.array([-1.0, 0.0, 1.0])


@dataclass(frozen=True)
class Explanation:
    """A fault, siblings that are faults too, and perhaps one that is clear in predictions corrected for all these."""

    first: Candidate
    apart: list[Candidate]
    gain: float
    """Of all together."""
    second: Candidate | None = None
    after: tuple[Faults, Any] | None = None
    """Faults of the corrected predictions, and what they see; None if these have no form."""


def best_explanation(ordered: list[Candidate], likely: list[Candidate], faults: Faults, seen: Any) -> Explanation:
    """That by the likeliest fault; or, if a second one is or may be clear, by faults that together are more likely.

    The first is one of the three likeliest kinds, or the second of the best of these: a shift that a spread hides. One
    in places is not, if the likeliest is a plain one of all predictions, nor one that explains little beside it.
    """

    def told(one: Explanation) -> float:
        """The gain, and less if the likeliest fault is named second."""
        return one.gain - (FIRST if one.second and one.second.kind == ordered[0].kind else 0.0)

    best = _explanation(ordered[0], likely, faults, seen)
    is_all = best.after is not None or not _is_inside(best.first)
    if best.second is None and is_all and not ordered[0].fault.has_simpler:
        return best
    is_plain, least = PLAINER.get(ordered[0].fault.scope) == 0, max(MINOR * ordered[0].gain, 0.0)
    may_be_first = [one for one in ordered[1:] if one.gain > least and not (is_plain and PLAINER.get(one.fault.scope))]
    kinds = {one.kind: one for one in reversed(may_be_first)}
    waiting, tried = sorted(kinds.values(), key=lambda one: -one.gain)[:2], {ordered[0].kind}
    while waiting:
        found = [_explanation(one, likely, faults, seen) for one in waiting]
        tried |= {one.kind for one in waiting}
        best = max([best, *(one for one in found if one.second or one.apart)], key=told)
        # What came second, and the first one in other units.
        like = {best.second.kind, f"{best.first.kind} in units"} if best.second else set()
        waiting = [one for one in kinds.values() if one.kind in like - tried]
    return best


def _explanation(first: Candidate, likely: list[Candidate], faults: Faults, seen: Any) -> Explanation:
    apart, gain = apart_from(first, likely, seen), first.gain
    if not _is_inside(first):
        return Explanation(first, apart, gain)
    after = _after(faults, seen, [first])
    for one in apart:
        if after is not None:
            gain += same(one.fault, *after).log_ratio(after[1], one.sibling, one.t) - one.penalty
            after = _after(*after, [one])
    if after is not None:
        after = after[0].followed(after[1]), after[1]
    second = None if after is None else _second(first, faults, seen, after)
    return Explanation(first, apart, gain if second is None else gain + second.gain, second, after)


def _second(first: Candidate, faults: Faults, seen: Any, after: tuple[Faults, Any]) -> Candidate | None:
    """The fault that is the clearest in corrected predictions, however the first is corrected."""
    others = candidates_of(*after)
    least = NEARLY * max(others[0].gain, 0.0) - REACH if others else 0.0
    others = [
        one
        for one in others
        if one.gain > least
        and not (_is_same(one.fault, first.fault) and one.sibling == first.sibling)
        and not are_alike(one, first)
    ]
    if not others or (second := in_order(after[0].kinds, others)[0]).gain <= 0.0 or not _is_inside(second):
        return None
    otherwise = first.fault.corrected_otherwise(seen, first.sibling)
    if otherwise is not None:
        corrected, seen_then = faults.after(seen, otherwise)
        instead = candidates_of(corrected.followed(seen_then), seen_then)
        if not any(one.gain > 0.0 and _is_same(one.fault, second.fault) for one in instead):
            return None
    return second


def _is_inside(one: Candidate) -> bool:
    """Whether the size is not as large or small as can be, where it says little of the law."""
    low, high = one.ends
    margin = 1e-3 * (high - low)
    return one.fault.is_law_at_ends or low + margin < one.t < high - margin


def findings_together(found: Explanation, faults: Faults, seen: Any) -> Finding:
    """The first fault with the second, at sizes that are most likely together if there is a maximum nearby."""
    first, second, after = found.first, found.second, found.after
    if second is None or after is None:
        return finding_of(first, seen)
    fits = fit_of(first), fit_of(second)

    def log_ratios(t: float, others: FloatArray, then: Candidate = second) -> list[float]:
        moved = _after(faults, seen, [replace(first, t=t), *found.apart])
        assert moved is not None
        own, fault = first.fault.log_ratio(seen, first.sibling, t), same(then.fault, *moved)
        return [own + fault.log_ratio(moved[1], then.sibling, float(other)) for other in others]

    together = None if first.fault.says_what_happened else _together(log_ratios, fits, (first.ends, second.ends))
    if together is not None:
        fits = together
        if any(_is_same(one, second.fault) for one in faults.kinds):
            alone = refined(_most_likely(same(second.fault, faults, seen), seen, second.sibling, second.penalty))
            both = log_ratios(fits[0].t, np.array([fits[1].t]))[0]
            if both - alone.log_ratio(alone.t) < DROP:  # Beside the second the first explains nothing.
                return finding_of(alone, seen)
        after = _after(faults, seen, [replace(first, t=fits[0].t), *found.apart]) or after
        second = replace(second, fault=same(second.fault, *after))
    return replace(finding_of(first, seen, fits[0]), second=finding_of(second, after[1], fits[1]))


def _after(faults: Faults, seen: Any, corrected: list[Candidate]) -> tuple[Faults, Any] | None:
    """Faults of predictions corrected for some of them one by one, and what they see; None if that has no form."""
    for one in corrected:
        correction = same(one.fault, faults, seen).corrected(seen, one.sibling, one.t)
        if correction is None:
            return None
        faults, seen = faults.after(seen, correction)
    return faults, seen


def same(one: Fault[Any], faults: Faults, seen: Any) -> Fault[Any]:
    """The fault of the same class and kind among others, or among those whose place outcomes decide."""
    known = [fault for fault in faults.kinds if _is_same(fault, one)]
    return known[0] if known else next(fault for fault in faults.followed(seen).kinds if _is_same(fault, one))


def _is_same(fault: Fault[Any], other: Fault[Any]) -> bool:
    """Whether faults of predictions and of corrected ones are the same; two classes can share a kind."""
    return type(fault) is type(other) and fault.kind == other.kind


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
