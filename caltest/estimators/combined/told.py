"""What results say of outcomes beside a p-value: which fault explains them, and what predictions claim.

Outcomes may depend on each other within clusters. At the most likely size t of a fault the derivatives ``s_i`` by t of
the log likelihoods of the observations have the sum 0, and its variance is that of independent sums over clusters, not
the information I. Likelihoods to the power ``I / sum_c (sum_{i in c} s_i)**2`` have intervals of the right length
(Chandler and Bate 2007), as if there were so much fewer observations.
"""

from math import isfinite
from typing import Any

import numpy as np

from caltest._basics.asked import are_findings_read
from caltest._basics.numerics import FloatArray, evenly_spaced
from caltest.estimators.combined.findings import LEVEL, findings_of, named
from caltest.estimators.combined.measures import measures_of, widened_by
from caltest.estimators.combined.sums.parts import most_kept
from caltest.hstatistics.redraws.within_clusters import Clusters
from caltest.predictions import Sample
from caltest.predictions.faults.maxima import GRID
from caltest.predictions.faults.search import Candidate, candidates_of, in_order, same

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
