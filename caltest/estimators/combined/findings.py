"""What results say of outcomes beside a p-value: which fault explains them, and what predictions claim.

The fault is that with the largest likelihood, after a penalty for the choice among many. Outcomes may depend on each
other within clusters. At the most likely size t of a fault the derivatives ``s_i`` by t of the log likelihoods of the
observations have the sum 0, and its variance is that of independent sums over clusters, not the information I.
Likelihoods to the power ``I / sum_c (sum_{i in c} s_i)**2`` have intervals of the right length (Chandler and Bate
2007), as if there were so much fewer observations.
"""

from dataclasses import replace
from math import inf, isclose, isfinite
from typing import Any

import numpy as np

from caltest._basics.calls import are_findings_read
from caltest._basics.numerics import FloatArray, evenly_spaced
from caltest._results.values import PERHAPS, Finding
from caltest.estimators.combined.measures import measures_of, widened_by
from caltest.estimators.combined.sums.parts import most_kept
from caltest.hstatistics.redraws.within_clusters import Clusters
from caltest.predictions import Sample
from caltest.predictions.faults.maxima import GRID
from caltest.predictions.faults.search import (
    Candidate,
    Explanation,
    are_alike,
    are_rivals,
    best_explanation,
    candidates_of,
    finding_of,
    findings_together,
    in_order,
    same,
)

LEVEL = 0.05
"""P-values above which nothing is named that is not clear by itself."""

THEN = "; with that corrected, "
"""Before the words of a second fault."""

REPORTED = 5
"""Findings in a result."""

NEAR = 2.0
"""Gains closer than this do not tell faults apart."""

SAME = 1e-4
"""Gains closer than this are those of one law."""


def findings_of(sample: Sample, weights: FloatArray | None = None, pvalue: float = 0.0) -> tuple[Finding, ...]:
    """The faults that explain the outcomes best, with the largest gain first; none that ``named`` leaves out.

    The gain is ``l(t) - log(max(n, 100)) / 2 - log(m) - log(K)`` with the log likelihood ratio l at its maximum, m
    siblings of the fault and K kinds of faults of the family. None where nobody asks for them.
    """
    looked_for = sample.predictions.faults_seen(np.asarray(sample.targets), weights) if are_findings_read() else None
    if looked_for is None:
        return ()
    faults, seen = looked_for
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        likely = candidates_of(faults, seen)
        if not likely:
            return ()
        ordered = in_order(faults.kinds, likely)
        if ordered[0].gain <= 0.0 and pvalue > LEVEL:
            return ()
        if ordered[0].gain > 0.0:
            best = best_explanation(ordered, likely, faults, seen)
        else:
            best = Explanation(ordered[0], [], ordered[0].gain)
        found = findings_together(best, faults, seen)
        listed = [one for one in ordered if (one.kind, one.place) == (found.kind, found.place)]
        n_first = len(listed)
        for one in ordered:
            if not any(are_rivals(one, other) for other in listed):
                listed.append(one)
        others = listed[n_first:][: REPORTED - 1]
        words = "; and ".join([found.words, *(_beside(finding_of(one, seen), found) for one in best.apart)])
        if found.second is not None:
            words = f"{words}{THEN}{found.second.words}"
        return (replace(found, words=words), *(finding_of(one, seen) for one in others))


def _beside(finding: Finding, first: Finding) -> str:
    """Words on a fault of another place, without those that it shares with the first one."""
    head, _, rest = finding.words.partition(": ")
    is_known = first.words.startswith(f"{head.replace(finding.place, first.place, 1)}: ")
    return f"in {finding.place}: {rest}" if is_known and head.startswith(f"in {finding.place} ") else finding.words


def named(findings: tuple[Finding, ...], pvalue: float) -> tuple[Finding, ...]:
    """Findings as a result with a p-value states them: none, perhaps the first, or the first and one next to it."""
    if not findings:
        return ()
    first, *others = findings
    if _gain(first) <= 0.0:
        return () if pvalue > LEVEL else (replace(first, words=f"{PERHAPS}{first.words}"), *others)
    if first.second is not None:
        return findings
    # Faults of the same likelihood, as all are of constant predictions, are one fault in other words; and so are those
    # of all predictions beside how often a rare event happens, to which they add nothing that one could do.
    beside = [one for one in others if first.scope != "level" or one.scope != "all"]
    near = [one for one in beside if not _are_one(one, first) and SAME < _gain(first) - _gain(one) < NEAR]
    return (
        replace(first, words=f"{first.words}; or {_instead(near[0].words, first.words)}") if near else first,
        *others,
    )


def _instead(words: str, first: str) -> str:
    """Words without what the first begin with, too."""
    head, _, rest = words.partition(": ")
    return rest if rest and first.startswith(head) else words


def _gain(finding: Finding) -> float:
    return -inf if finding.gain is None else finding.gain


def _are_one(finding: Finding, other: Finding) -> bool:
    """Whether two findings are of one kind, or one of all rows and the other of the only class that is predicted."""
    if _root(finding.kind) == _root(other.kind) or are_alike(finding, other):
        return True
    names, size, other_size = sorted([finding.kind, other.kind], key=len), finding.estimate, other.estimate
    if size is None or other_size is None or not names[1].startswith(names[0]):
        return False
    return isclose(size, other_size, rel_tol=1e-3)


def _root(kind: str) -> str:
    return kind.removeprefix("local ").removeprefix("common ").removesuffix(" in units")


GROUPS = 24
"""Groups of clusters over which likelihoods are summed."""

STEP, SHARE = 1e-2, 1e-3
"""Of the distance of two sizes of the grid, over which likelihoods are differentiated, and of the weight of a group."""


def told(
    sample: Sample, pvalue: float, weights: FloatArray | None = None, clusters: Clusters | None = None, lag: int = 1
) -> dict[str, Any]:
    """Findings and measures, as fields of results and of an ``Outcome``; none where nobody asks for them.

    Faults are looked for in evenly spaced ones of very many observations. Outcomes that are less than a lag apart count
    as one, as they may depend on each other.
    """
    if not are_findings_read():
        return {}
    n = len(sample)
    rows = evenly_spaced(n, most_kept(sample.predictions))
    some = sample if rows.size == n else sample.take(rows)
    given = weights
    if clusters is not None:
        weights = np.full(n, 1.0 / design_effect(some, clusters.take(rows)))
    elif weights is None and lag > 1:
        weights = np.full(n, 1.0 / lag)
    findings = named(findings_of(some, None if weights is None else weights[rows], pvalue), pvalue)
    said = findings[0] if findings and pvalue <= LEVEL else None
    return {"findings": findings, "measures": measures_of(sample, said, clusters, lag, given)}


def design_effect(sample: Sample, clusters: Clusters) -> float:
    """How many observations are worth one independent one for the likeliest fault, at least 1.

    And for the fault that is likeliest once there are so much fewer, if that is another one.
    """
    effect, known = 1.0, None
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        for _ in range(2):
            faults = sample.predictions.faults(np.full(len(sample), 1.0 / effect))
            seen = None if faults is None else faults.seen(np.asarray(sample.targets)[None])
            likely = [] if faults is None else candidates_of(faults, seen)
            if faults is None or not likely:
                break
            best = in_order(faults.kinds, likely)[0]
            if known == (known := (type(best.fault), best.fault.kind, best.sibling)):
                break
            effect = max(effect, _effect_on(best, sample, clusters))
    return effect


def _effect_on(best: Candidate, sample: Sample, clusters: Clusters) -> float:
    step = STEP * (best.ends[1] - best.ends[0]) / GRID
    t = min(max(best.t, best.ends[0] + step), best.ends[1] - step)

    def log_ratios(weights: FloatArray) -> list[float]:
        faults = sample.predictions.faults(weights)
        assert faults is not None
        seen = faults.seen(np.asarray(sample.targets)[None])
        fault = same(best.fault, faults, seen)
        return [fault.log_ratio(seen, best.sibling, size) for size in (t - step, t, t + step)]

    below, at, above = log_ratios(np.ones(len(sample)))
    information, variance = (2.0 * at - below - above) / step**2, 0.0
    for partition in clusters.partitions:
        groups = min(GROUPS, partition.n_parts)
        scores = np.empty(groups)
        for group in range(groups):
            less = log_ratios(1.0 - SHARE * (partition.codes % groups == group))
            scores[group] = ((above - below) - (less[2] - less[0])) / (2.0 * step * SHARE)
        variance += groups * float(scores.var(ddof=1)) * widened_by(groups - 1, LEVEL)
    largest = max(float(one.sizes.max()) for one in clusters.partitions)
    effect = variance / information if information > 0.0 else largest
    return effect if isfinite(effect) else largest
