"""Which groups of observations are predicted wrongly."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, sqrt
from typing import Any, NamedTuple

import numpy as np

from caltest._basics.arrays import order_of
from caltest._basics.calls import are_pvalues_enough, own_errstate, without_power
from caltest._basics.numerics import ArrayLike, FloatArray, check_finite, resampling_pvalue, seed_of, step_down
from caltest._basics.threads import progress_bars, tracked
from caltest._results.calibration_test_result import CalibrationTestResult, PValueKind
from caltest._results.group_result import GroupCalibrationTestResult, GroupResult
from caltest._results.report import ASSUMPTIONS
from caltest._results.values import ConfidenceInterval, Finding, impossible, share_interval
from caltest._validation import CalledWithData, same_length, switch, whole_number
from caltest._validation.columns import refuse_outcomes
from caltest._validation.groups import Groups, as_groups, large_enough, rows_of
from caltest.default_test import calibration_test, cluster_test_for, weighted
from caltest.estimators import SKCE, Estimator, GroupMaximum, Omnibus, WeightedSKCE
from caltest.estimators.combined.findings import findings_of, named
from caltest.estimators.combined.joint import standardised
from caltest.estimators.combined.measures import LEVEL, effect_on, number_interval, weighted_shares
from caltest.estimators.dependence import cautions_on
from caltest.estimators.kernel_errors import cluster_skce
from caltest.estimators.kernel_errors.groups import given
from caltest.estimators.kernel_errors.kernel_estimator import default_kernel
from caltest.hstatistics.redraws.within_clusters import Clusters
from caltest.kernels import PairKernel
from caltest.nulls import ConditionalMonteCarlo
from caltest.nulls.base import kind_given
from caltest.nulls.bootstraps import LEAST
from caltest.predictions import Sample
from caltest.predictions.base import assumed
from caltest.predictions.censored import sample_of
from caltest.predictions.claims import Claim, HazardClaim, scatter_among, scatter_within
from caltest.predictions.ensembles.own_spread import notes_on_spread
from caltest.predictions.own_errors import refuse_errors
from caltest.slices.group_sums import GroupSums

FEW = 32
"""Groups up to which the default is the omnibus in each."""

EXPLAINED, MOST = 0.1, 50
"""Of more groups those up to this adjusted p-value are explained in words, and at most so many."""


@dataclass(frozen=True)
class GroupCalibrationTest(CalledWithData):
    """Exact test of calibration in every group, with a p-value for each that accounts for all.

    The targets are redrawn from the predictions, the same ones for all groups. The largest error of all groups, each in
    units of its own standard deviation, is compared with the largest one in each redraw; the next largest with that of
    the groups that are left, and so on: the step-down maximum of Westfall and Young 1993. It is exact here, as the
    distribution of targets given predictions is known.

    Parameters
    ----------
    estimator
        Estimator of the error of a group, or a kernel for ``SKCE(kernel)``. Default: ``Omnibus`` with the kernel of the
        family, which finds most, for up to 32 groups; for more of them sums with known moments, see the notes.
    n_resamples
        As in ``calibration_test``.

    Raises
    ------
    TypeError
        For what is neither an estimator nor a kernel.
    ValueError
        In a call for bad data, missing labels, or if no group has two members: smaller ones are left out, with a note.

    Notes
    -----
    The null hypothesis is ``P(Y | P_X, G) = P_X``: the predictions are right given the group too (multicalibration).
    Assumes that groups do not depend on the targets, and that these are independent given predictions and groups. The
    probability that a group is rejected whose rows are all right, given all groups they are in, is at most alpha,
    whatever the others are, for any number, size and overlap of groups. Time that of the estimator for each group and
    redraw.

    By default more than 32 groups are compared by sums of errors over their members, each as a normal deviate by its
    known cumulants, the largest of a group after weighing: of ``y - p``, alone and times the logit and four cosines of
    the rank of p; of several classes of hits less confidence, of the log loss, and of the frequencies of up to 20
    classes; of numbers of normal scores ``z = Phi^-1(F(y))``, alone and times four cosines of the rank of the predicted
    mean, and their spread; of counts with means m and variances v of ``(y - m) m / v``, alone and times such cosines,
    and of their dispersion. The estimate is then the mean of ``y - p``, of hits less confidence, of z, or of
    ``(y - m) m / v``; other errors are not seen. ``Omnibus`` is taken for other predictions, such as vectors, and for
    weights. Where adjusted p-values are at most 0.1, the 50 smallest of them have findings. Time O(B (n + M)) for M
    memberships, memory O(64 (n + G) + M).

    Examples
    --------
    >>> import caltest as ct
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> p = rng.uniform(0.2, 0.8, 300)
    >>> group = np.repeat(["east", "north", "west"], 100)
    >>> y = rng.random(300) < p + 0.2 * (group == "east") - 0.2 * (group == "west")
    >>> result = ct.GroupCalibrationTest(n_resamples=199)(p, y.astype(int), group, rng=1)
    >>> sorted(result.rejected())
    ['east', 'west']
    """

    estimator: Any = None
    n_resamples: int = 999

    citations = GroupCalibrationTestResult.citations

    def __post_init__(self) -> None:
        if isinstance(self.estimator, PairKernel):
            object.__setattr__(self, "estimator", SKCE(self.estimator))
        if self.estimator is not None and not isinstance(self.estimator, Estimator):
            raise TypeError(f"estimator: got {self.estimator!r}, wanted an estimator such as SKCE(kernel), or a kernel")
        object.__setattr__(self, "n_resamples", self.null.n_resamples)

    @property
    def null(self) -> ConditionalMonteCarlo:
        """Where the p-values come from."""
        return ConditionalMonteCarlo(self.n_resamples)

    def __call__(
        self,
        predictions: ArrayLike,
        targets: ArrayLike,
        groups: ArrayLike,
        *,
        classes: Sequence[Any] | None = None,
        rng: Any = None,
        progress: bool = False,
    ) -> GroupCalibrationTestResult:
        """Test predictions against observed targets in groups.

        Parameters
        ----------
        predictions, targets, classes, rng, progress
            As in ``calibration_test``.
        groups
            As in ``calibration_by_group``.
        """
        seed = seed_of(rng)
        return self.on(
            sample_of(predictions, targets, classes, seed),
            as_groups(groups, order_of(targets, predictions), fewest=0),
            rng=seed,
            progress=progress,
        )

    def on(
        self, sample: Sample, groups: ArrayLike, *, rng: Any = None, progress: bool = False
    ) -> GroupCalibrationTestResult:
        """Test a sample that is already checked."""
        if (test := self.in_order_of(sample.order)) is not self:
            return test.on(sample, groups, rng=rng, progress=progress)
        groups, seed = as_groups(groups, fewest=0), seed_of(rng)
        same_length(len(sample), groups.n, "groups")
        groups, left_out = large_enough(groups)
        _refuse_made(groups, sample)
        with progress_bars(switch("progress", progress)):
            sums = self._sums(sample, groups, seed)
            found = self._redrawn(sample, groups, seed) if sums is None else self._summed(sums, sample, groups, seed)
        check_finite(*found.estimates, *found.scores)
        if not are_pvalues_enough():
            cautions = *cautions_on(sample), *notes_on_spread(groups.codes, sample)
            found = found._replace(notes=(*found.notes, *cautions))
            weights = getattr(self.estimator, "weights", None)
            found = found._replace(shares=Shares.of(sample, groups, weights=weights))
        found = found._replace(notes=(*found.notes, *left_out))
        null = f"{self.null.describe_for(sample.predictions)}, the same for all groups"
        return result_of(sample, groups, found, null, self.null.pvalue_kind, self.n_resamples, seed)

    def _sums(self, sample: Sample, groups: Groups, seed: int) -> GroupSums | None:
        """Sums with known moments for many groups; None for few, for other estimators, and where there are none."""
        if len(groups) <= FEW or self.estimator is not None:
            return None
        try:
            return GroupSums.of(sample, seed)
        except TypeError:
            return None

    def _summed(self, sums: GroupSums, sample: Sample, groups: Groups, seed: int) -> "GroupsTested":
        found = sums.tested(groups, sample.predictions.impossible(sample.targets), self.n_resamples, seed)
        findings: list[Finding | None] = [None] * len(groups)
        for g in np.lexsort((-found.sizes, found.adjusted))[:MOST]:
            if found.adjusted[g] <= EXPLAINED:
                findings[g] = _finding(sample.part(groups.rows[g]), None, float(found.adjusted[g]))
        words = f"maximum over {len(groups)} groups of {sums.words}"
        return GroupsTested(*found, findings, given(sample.predictions.hypothesis, "G"), words)

    def _redrawn(self, sample: Sample, groups: Groups, seed: int) -> "GroupsTested":
        """Any estimator in each group."""
        estimator = Omnibus() if self.estimator is None else self.estimator
        notes = estimator.notes(len(sample))
        if isinstance(estimator, Omnibus) and estimator.kernel is None:
            kernel, more = default_kernel(sample.predictions)
            estimator, notes = replace(estimator, kernel=kernel), (*notes, *more)
        maximum = GroupMaximum(estimator, groups)
        maximum.check(sample.predictions)
        maximum = maximum.resolve(sample.predictions, seed)
        values = self.null.values(maximum, sample, np.random.default_rng(seed))
        scores = maximum.scores(values)
        sizes = maximum.sizes_of(scores)
        adjusted = step_down(sizes)
        of_rows = [(rows, getattr(maximum.estimator.for_rows(rows), "weights", None)) for rows in groups.rows]
        return GroupsTested(
            maximum.estimates_of_groups(values)[:, 0],
            scores[:, 0],
            sizes[:, 0],
            np.array([resampling_pvalue(float(one[0]), one[1:]) for one in sizes]),
            adjusted,
            [_finding(sample.part(rows), weights, p) for (rows, weights), p in zip(of_rows, adjusted, strict=True)],
            maximum.hypothesis(sample.predictions),
            maximum.estimator.describe(sample.predictions),
            (*notes, *maximum.resolved_notes()),
        )


class GroupsTested(NamedTuple):
    """Numbers (G,) and findings of groups, and what is said of all; the largest size is first of equal p-values."""

    estimates: FloatArray
    scores: FloatArray
    sizes: FloatArray
    pvalues: FloatArray
    adjusted: FloatArray
    findings: Sequence[Finding | None]
    hypothesis: str
    estimator: str
    notes: tuple[str, ...] = ()
    assumes: str = ASSUMPTIONS
    shares: "Shares | None" = None


class Shares(NamedTuple):
    """How often an event is claimed and observed in each group, and from which difference on that matters.

    Of counts their sums.
    """

    event: str
    margin: float
    of_groups: Sequence[tuple[float, float, ConfidenceInterval]]

    @classmethod
    def of(
        cls, sample: Sample, groups: Groups, clusters: Clusters | None = None, weights: FloatArray | None = None
    ) -> "Shares | None":
        """Of the last event that predictions claim: of hits, class 1 of two, or numbers above the median, say.

        Of numbers inside of an interval where that is clearly, and more, off in a group; intervals hold for both. None
        where nothing is claimed.
        """
        claims = sample.predictions.claims(sample.targets)[0]
        if not claims:
            return None
        # The first one of hazards is of all times.
        claim, middle = claims[0 if isinstance(claims[0], HazardClaim) else -1], claims[(len(claims) - 1) // 2]
        if claim.is_number:
            middle = claim
        level, shares, effect = 1.0 - (1.0 - LEVEL) / len(groups) / (1 + (middle is not claim)), [], None
        if middle is not claim and _furthest_off(middle, groups) > _furthest_off(claim, groups):
            claim = middle
        parts = [
            replace(claim, probability=claim.probability[rows], occurred=claim.occurred[rows]) for rows in groups.rows
        ]
        common = scatter_within(parts)
        for rows, part in zip(groups.rows, parts, strict=True):
            mean, share = float(part.probability.mean()), int(part.occurred.sum()) / rows.size
            if weights is not None:
                mean, share, effect = weighted_shares(part.probability, part.occurred, weights[rows])
            elif clusters is not None:
                effect = effect_on(part, clusters.take(rows), 1.0 - level)
            if claim.is_number:
                scatter = scatter_among(part.scatter, share * rows.size, common)
                interval = number_interval(share * rows.size, level, scatter * (effect or 1.0))
                shares.append((mean * rows.size, share * rows.size, interval))
            else:
                shares.append((mean, share, share_interval(share * rows.size, rows.size, level, effect)))
        event = claim.counted if claim.is_number else claim.event or f"outcomes {claim.name}"
        return cls(event if weights is None else f"{event} by weight", claim.margin, shares)


CLEARLY = 3.0
"""Standard deviations that shares of few calibrated groups are off."""


def _furthest_off(claim: Claim, groups: Groups) -> float:
    """The largest clear difference of a claimed and an observed share of a group, in margins; 0 if none is clear."""
    p, error, most = claim.probability, claim.occurred - claim.probability, 0.0
    for rows in groups.rows:
        off, variance = abs(float(error[rows].sum())), float((p[rows] * (1.0 - p[rows])).sum())
        if off > CLEARLY * sqrt(variance):
            most = max(most, off / rows.size / claim.margin)
    return most


def result_of(
    sample: Sample, groups: Groups, found: GroupsTested, null: str, kind: PValueKind, n_resamples: int, seed: int
) -> GroupCalibrationTestResult:
    """The result of a test of groups, the smallest adjusted p-value first."""
    names, sizes, numbers = groups.names, groups.sizes.tolist(), np.stack(found[:5], axis=1).tolist()
    rows, shares = [], found.shares
    for g in np.lexsort((-found.sizes, found.adjusted)):
        estimate, score, _, pvalue, adjusted = numbers[g]
        shown = () if shares is None else shares.of_groups[g]
        rows.append(GroupResult(names[g], sizes[g], estimate, score, pvalue, adjusted, found.findings[g], *shown))
    return GroupCalibrationTestResult(
        test=GroupCalibrationTest.__name__,
        hypothesis=found.hypothesis,
        predictions=sample.predictions.describe(len(sample)),
        estimator=found.estimator,
        null=f"{null}; adjusted by the step-down maximum",
        n=len(sample),
        groups=tuple(rows),
        pvalue=rows[0].adjusted,
        pvalue_kind=kind_given(sample.predictions, kind, True),
        n_resamples=n_resamples,
        seed=seed,
        notes=(*assumed(sample.predictions), *sample.notes, *found.notes),
        assumes=found.assumes,
        compared="" if shares is None else shares.event,
        margin=None if shares is None else shares.margin,
    )


def _refuse_made(groups: Groups, sample: Sample) -> None:
    """``ValueError`` for groups that are made from the outcomes, or from errors."""
    columns = [("groups", groups.codes)]
    refuse_outcomes(columns, sample.targets, "{}")
    refuse_errors(columns, sample, "{}")


def _finding(sample: Sample, weights: FloatArray | None, pvalue: float) -> Finding | None:
    """How outcomes differ from what was predicted, with some weights."""
    if sample.exclusion is not None:
        return impossible(sample.exclusion)
    if weights is not None:
        kept = np.flatnonzero(weights)
        sample, weights = sample.take(kept), weights[kept] * (weights.sum() / (weights @ weights))
    return next(iter(named(findings_of(sample, weights, pvalue), pvalue)), None)


@own_errstate
def calibration_by_group(
    predictions: ArrayLike,
    targets: ArrayLike,
    groups: ArrayLike,
    *,
    clusters: Any = None,
    classes: Sequence[Any] | None = None,
    kernel: PairKernel | None = None,
    weights: ArrayLike = None,
    n_resamples: int = 999,
    rng: Any = None,
    progress: bool = False,
) -> GroupCalibrationTestResult:
    """Test in which groups of observations predictions are calibrated, with exact p-values adjusted for all groups.

    See ``GroupCalibrationTest`` for the hypothesis, assumptions, errors and cost.

    Parameters
    ----------
    predictions, targets, classes, n_resamples, weights, rng, progress
        As in ``calibration_test``. With weights each group is tested with those of its members.
    groups
        (n,) labels; or booleans (n, G) that say who belongs to which group; or, for groups that may overlap, a data
        frame or a mapping from names to columns (n,). A column of booleans says who belongs to the group of its name;
        of other values each is a group: ``{"old": age > 70, "site": site}`` has ``old``, ``site = a`` and ``site = b``.
    clusters
        As in ``calibration_test``: each group is tested as there, with redraws of its own, and p-values, which are not
        exact then, are adjusted for all groups in the same way. Groups of fewer than five clusters are tested by one
        row of each, and those of one are left out. Not beside weights.
    kernel
        Test each group with the unbiased squared kernel calibration error of this kernel alone; by default as
        ``GroupCalibrationTest`` does.

    Returns
    -------
    GroupCalibrationTestResult
        ``print`` it for a table; ``groups`` has what was found in each, ``rejected(alpha)`` the names of those that are
        not calibrated.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> groups = {"sure": p.probabilities.max(axis=1) > 0.8, "not sure": p.probabilities.max(axis=1) < 0.5}
    >>> result = ct.calibration_by_group(p, y, groups, rng=1)
    >>> result.verdict()
    'reject calibration at the 5 % level in 2 of 2 groups: not sure, sure'
    """
    rng = seed_of(rng)
    sample, order = sample_of(predictions, targets, classes, rng), order_of(targets, predictions)
    members = as_groups(groups, order, fewest=0)
    if clusters is not None:
        if weights is not None:
            raise TypeError("clusters: got some with weights, wanted one of the two")
        found = cluster_skce.as_clusters(clusters, order)
        return groups_in_clusters(sample, members, found, kernel, n_resamples, rng, progress)
    estimator: Any = kernel
    left_out: tuple[str, ...] = ()
    if weights is not None:
        same_length(len(sample), members.n, "groups")
        weights = rows_of(weights, "weights", order).array("weights")
        sample, weights, left_out = weighted(sample, weights, len(sample))
        members = members if sample.rows is None else members.taken(sample.rows)
        if weights is not None:
            estimator = Omnibus(weights=weights) if kernel is None else WeightedSKCE(kernel, weights)
    result = GroupCalibrationTest(estimator, n_resamples).on(sample, members, rng=rng, progress=progress)
    return replace(result, notes=(*result.notes, *left_out))


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

    Redraws of groups are independent. Whatever statistics have in common, the probability that one of them is beyond
    the maximum of independent redraws is at most the sum of theirs, ``-log(1 - alpha)``: 0.0513 for alpha = 0.05.
    """
    same_length(len(sample), groups.n, "groups")
    same_length(len(sample), len(clusters), "clusters")
    groups, alone = large_enough(groups)
    cluster_skce.check_clusters(clusters, sample.targets)
    numbers = np.array([clusters.take(rows).n_clusters for rows in groups.rows])
    groups, of_one = large_enough(groups, numbers, "cluster")
    _refuse_made(groups, sample)
    seed, number = seed_of(rng), whole_number("n_resamples", n_resamples, 1) * ceil(len(groups) / FEW)
    with progress_bars(switch("progress", progress)):
        some = tracked(iter(range(len(groups))), len(groups), "groups")
        found = [_of_group(sample, groups, clusters, kernel, number, seed, g) for g in some]
    draws = [one.null_distribution for one in found if one.null_distribution is not None]
    values = [np.append(one.statistic, drawn) for one, drawn in zip(found, draws, strict=True)]
    scores = standardised(np.array(values))
    excluded = np.array([one.pvalue == 0.0 for one in found])
    scores[excluded, 0] = scores.max() + 1.0
    few = ", ".join(groups.names[g] for g in np.flatnonzero(numbers[numbers >= 2] < LEAST))
    note = (f"groups of fewer than {LEAST} clusters are tested by one row of each: {few}",) if few else ()
    tested = GroupsTested(
        np.array([one.estimate for one in found]),
        scores[:, 0],
        scores[:, 0],
        np.array([one.pvalue for one in found]),
        np.where(excluded, 0.0, step_down(scores)),
        [one.finding for one in found],
        given(sample.predictions.hypothesis, "G"),
        f"{' or '.join(dict.fromkeys(one.test for one in found))} in each of {len(groups)} groups",
        (*note, *alone, *of_one),
        cluster_skce.ASSUMPTIONS,
        Shares.of(sample, groups, clusters),
    )
    null = " or ".join(dict.fromkeys(one.null for one in found))
    return result_of(sample, groups, tested, null, "resampling", number, seed)


@without_power()
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
