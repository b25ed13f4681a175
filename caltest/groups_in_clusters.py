"""Which groups are predicted wrongly, where outcomes depend on each other within clusters."""

from math import ceil
from typing import Any

import numpy as np

from caltest._basics.numerics import IntArray, seed_of, step_down
from caltest._basics.threads import progress_bars, tracked
from caltest._results.calibration_test_result import CalibrationTestResult
from caltest._validation import same_length, switch, whole_number
from caltest._validation.columns import refuse_outcomes
from caltest._validation.groups import Groups, large_enough
from caltest.default_test import calibration_test, cluster_test_for
from caltest.estimators.combined.joint import standardised
from caltest.estimators.kernel_errors.cluster_skce import ASSUMPTIONS, check_clusters
from caltest.estimators.kernel_errors.groups import given
from caltest.group_test import FEW, GroupCalibrationTestResult, GroupsTested, result_of
from caltest.hstatistics.redraws.within_clusters import Clusters
from caltest.kernels import PairKernel
from caltest.nulls.bootstraps import LEAST
from caltest.predictions import Sample


def groups_in_clusters(
    sample: Sample,
    groups: Groups,
    clusters: Clusters,
    kernel: PairKernel | None = None,
    n_resamples: int = 999,
    rng: Any = None,
    progress: bool = False,
) -> GroupCalibrationTestResult:
    """The test of clusters in each group, by the step-down maximum of statistics in their standard deviations.

    Draws of different groups are independent. Whatever statistics have in common, the probability that one of them is
    beyond the maximum of independent draws is at most the sum of theirs, ``-log(1 - alpha)``: 0.0513 for alpha = 0.05.
    """
    same_length(len(sample), groups.n, "groups")
    same_length(len(sample), len(clusters), "clusters")
    groups, alone = large_enough(groups)
    check_clusters(clusters, sample.targets)
    numbers = np.array([clusters.take(rows).n_clusters for rows in groups.rows])
    groups, of_one = large_enough(groups, numbers, "cluster")
    refuse_outcomes([("groups", groups.codes)], sample.targets, "{}")
    seed, number = seed_of(rng), whole_number("n_resamples", n_resamples, 1) * ceil(len(groups) / FEW)
    with progress_bars(switch("progress", progress)):
        some = tracked(iter(range(len(groups))), len(groups), "groups")
        found = [_of_group(sample, groups, clusters, kernel, number, seed, g) for g in some]
    draws = [one.null_distribution for one in found if one.null_distribution is not None]
    values = [np.append(one.statistic, drawn) for one, drawn in zip(found, draws, strict=True)]
    scores = standardised(np.array(values))
    impossible = np.array([one.pvalue == 0.0 for one in found])
    scores[impossible, 0] = scores.max() + 1.0
    tested = GroupsTested(
        np.array([one.estimate for one in found]),
        scores[:, 0],
        scores[:, 0],
        np.array([one.pvalue for one in found]),
        np.where(impossible, 0.0, step_down(scores)),
        [one.finding for one in found],
        given(sample.predictions.hypothesis, "G"),
        f"{' or '.join(dict.fromkeys(one.test for one in found))} in each of {len(groups)} groups",
        (*_few(groups, numbers[numbers >= 2]), *alone, *of_one),
        ASSUMPTIONS,
    )
    null = " or ".join(dict.fromkeys(one.null for one in found))
    return result_of(sample, groups, tested, null, "resampling", number, seed)


def _of_group(
    sample: Sample, groups: Groups, clusters: Clusters, kernel: PairKernel | None, number: int, seed: int, g: int
) -> CalibrationTestResult:
    """The test of clusters; of so few that signs have no distribution that of one row of each, which is exact."""
    rows, rng = groups.rows[g], np.random.default_rng([seed, g])
    part, own = sample.part(rows), clusters.take(rows)
    if own.n_clusters >= LEAST:
        return cluster_test_for(own, part, kernel, number).on(part, rng=rng)
    kept = own.independent_rows(rng.permutation(rows.size))
    while kept.size < 2:  # Of crossed clusters a row can share one with each of the others; not all do.
        kept = own.independent_rows(rng.permutation(rows.size))
    alone = part.take(kept)
    return calibration_test(alone.predictions, alone.as_given, kernel=kernel, n_resamples=number, rng=seed_of(rng))


def _few(groups: Groups, numbers: IntArray) -> tuple[str, ...]:
    """A note on the groups with few of the numbers (G,) of clusters."""
    few = [groups.names[g] for g in np.flatnonzero(numbers < LEAST)]
    if not few:
        return ()
    return (f"groups of fewer than {LEAST} clusters are tested by one row of each: {', '.join(few)}",)
