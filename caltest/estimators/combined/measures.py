"""What predictions claim beside what happened, with intervals."""

from dataclasses import replace
from math import sqrt

import numpy as np
import scipy

from caltest._basics.numerics import BoolArray, FloatArray, IntArray
from caltest._laws import clopper_pearson, garwood, law_of_count
from caltest._results.measures import Measure, percent
from caltest._results.values import CLOPPER_PEARSON, GARWOOD, KORN_GRAUBARD, ConfidenceInterval, Finding, share_interval
from caltest.binning import QuantileBinning, UniformBinning
from caltest.hstatistics.redraws.within_clusters import Clusters, Partition
from caltest.predictions import Sample
from caltest.predictions.claims import POINTS, TINY, Claim

LEVEL = 0.95
"""Of the intervals."""

FEW = 10
"""Clusters with an event, or without, below which clusters count as one observation each, unless all have some."""

TENTHS, FIFTIETHS = QuantileBinning(10), QuantileBinning(50)
"""Similar predictions, in which claimed and true probabilities are compared, and parts of these."""

ROWS_OF_A_PART = 20
"""Predictions in each part at least."""

BY_CHANCE = 0.01
"""How often errors look as if they changed within tenths."""

EXACTLY = 64
"""Events up to which the law of their number is computed."""

FEWEST = 4.0
"""Occurrences that are added to the variance, so that the interval is right where few occur or none does."""


def measures_of(
    sample: Sample,
    finding: Finding | None = None,
    clusters: Clusters | None = None,
    lag: int = 1,
    weights: FloatArray | None = None,
) -> tuple[Measure, ...]:
    """Claims and scores of predictions, with what a finding names; none where a family has none.

    Of outcomes that depend on each other those whose intervals are known: within clusters, or if they are less than a
    lag h apart. These are sums over h sets of independent ones, of a variance that is at most h times that of
    independent outcomes (Cauchy and Schwarz), so that h of them count as one. With weights there are no scores.
    """
    claims, scores = sample.predictions.claims(sample.targets)
    level = 1.0 - (1.0 - LEVEL) / max(1, len(claims))
    are_independent, dependence = clusters is None and lag == 1 and weights is None, (clusters, lag, weights)
    measured = [_of_claim(claim, level, *dependence) for claim in claims]
    measured += _of_places(sample, finding, *dependence)
    measured += [Measure(score.name, score.claimed, score.observed) for score in scores] if weights is None else []
    measured += [_binned_error(claim) for claim in claims if claim.binned_error and are_independent]
    return tuple(measured)


def _of_claim(
    claim: Claim, level: float, clusters: Clusters | None = None, lag: int = 1, weights: FloatArray | None = None
) -> Measure:
    n, occurred, effect = claim.occurred.size, claim.occurred, lag * claim.scatter
    effects = effect, effect
    mean, share = float(claim.probability.mean()), int(occurred.sum()) / n
    if weights is not None:
        weights = weights if claim.rows is None else weights[claim.rows]
        weights = weights / weights.mean()
        mean, share, of_weights = weighted_shares(claim.probability, occurred, weights)
        effect = effect * of_weights
        effects = effect, effect
    if clusters is not None:
        clusters = clusters if claim.rows is None else clusters.take(claim.rows)
        effect = claim.scatter * effect_on(claim, clusters, 1.0 - LEVEL)
        effects = _effects_on_gap(claim, clusters, 1.0 - level)
    method = CLOPPER_PEARSON if clusters is None and effect == 1.0 else KORN_GRAUBARD
    if claim.is_number:
        interval = number_interval(share * n, LEVEL, effect)
    else:
        interval = share_interval(share * n, n, LEVEL, None if method == CLOPPER_PEARSON else effect)
    gap = gap_interval(
        claim.probability, occurred, claim.order, level, *effects, is_number=claim.is_number, weights=weights
    )
    event = claim.event or f"an outcome {claim.name}"
    tenths = _tenths(claim) if claim.binned_error and method == CLOPPER_PEARSON else ()
    if claim.is_number:
        gap = _times(gap, 1.0 / max(mean, TINY))
        return Measure(claim.name, n * mean, n * share, interval, gap, claim.margin, event)
    return Measure(claim.name, mean, share, interval, gap, claim.margin, event, tenths)


def number_interval(count: float, level: float, effect: float = 1.0) -> ConfidenceInterval:
    """That of Garwood for an expected number of events, of which so many are worth an independent one."""
    method = GARWOOD if effect == 1.0 else f"{GARWOOD}, with the design effect of {KORN_GRAUBARD}"
    return ConfidenceInterval(*garwood(count / effect, 1.0 / effect, level), level, method, count)


def effect_on(claim: Claim, clusters: Clusters, tail: float) -> float:
    """The design effect of clusters on the number of events of a claim."""
    errors = claim.occurred - claim.probability
    return effect_of_clusters(errors - errors.mean(), claim.occurred > 0, clusters, tail)


def weighted_shares(probability: FloatArray, occurred: BoolArray, weights: FloatArray) -> tuple[float, float, float]:
    """The claimed and the observed share of the weight, and how many observations are worth one of equal weight.

    That is the larger one of ``n sum w_i**2 / (sum w_i)**2`` (Kish 1965), and of the same of squared errors, which
    weights that rise with the variance make larger.
    """
    mean, share = (float(np.average(one, weights=weights)) for one in (probability, occurred))
    squares = np.square(occurred - probability - (share - mean))
    of_weights = float(np.square(weights).sum() / weights.sum() * weights.size / weights.sum())
    own, total = float(np.square(weights) @ squares) * weights.size / float(weights.sum()), float(weights @ squares)
    return mean, share, max(of_weights, own / total if total > 0.0 else 1.0)


def _times(interval: ConfidenceInterval, factor: float) -> ConfidenceInterval:
    """An interval in another unit."""
    low, high = (factor * end for end in interval)
    estimate = None if interval.estimate is None else factor * interval.estimate
    return replace(interval, low=low, high=high, estimate=estimate)


def _tenths(claim: Claim) -> tuple[Measure, ...]:
    """Claims and frequencies of tenths of similar claims, with intervals that hold for all of them together."""
    bins = TENTHS.assign(claim.order[:, None])
    sizes = np.bincount(bins)
    if sizes.size == 1:
        return ()
    claimed, shares = np.bincount(bins, claim.probability) / sizes, np.bincount(bins, claim.occurred) / sizes
    level = 1.0 - (1.0 - LEVEL) / sizes.size
    found = []
    for n, mean, share in zip(sizes.tolist(), claimed.tolist(), shares.tolist(), strict=True):
        interval = share_interval(round(share * n), n, level)
        found.append(Measure(f"claims of {percent(mean)}", mean, share, interval))
    return tuple(found)


def effect_of_clusters(
    errors: FloatArray, occurred: BoolArray, clusters: Clusters, tail: float, lost: float | None = None
) -> float:
    """How many observations in clusters are worth one independent one, at least 1.

    For differences e of outcomes and claims these are ``sum_c (sum_{i in c} e_i)**2 / sum_i e_i**2`` (Korn and Graubard
    1998), and at least those of a cluster where only few clusters have an event, or lack one, whose dependence is then
    hardly seen; also where centring has taken all degrees of freedom, of which it takes a share, one by default.
    """
    variance, effect, own = 0.0, 1.0, float(errors @ errors)
    for one in clusters.partitions:
        sums, c = np.bincount(one.codes, errors), one.n_parts
        free = c - 1.0 if lost is None else c * (1.0 - lost)
        if free >= 1.0:
            variance += float(sums @ sums) * c / free * widened_by(free, tail)
        with_some = (np.unique(one.codes[occurred == value]).size for value in (False, True))
        if free < 1.0 or min(with_some) < min(FEW, c):
            effect = max(effect, occurred.size / c)
    return max(effect, variance / own) if own > 0.0 else effect


def _effects_on_gap(claim: Claim, clusters: Clusters, failing: float) -> tuple[float, float]:
    """The largest design effect on sums of differences with signs that ``gap_interval`` adds, and that on tenths."""
    bins, tail = TENTHS.assign(claim.order[:, None]), failing / 4.0
    sizes, errors = np.bincount(bins), claim.occurred - claim.probability
    means = np.bincount(bins, errors) / sizes
    own, halves = errors - means[bins], np.where(np.cumsum(sizes) <= bins.size / 2.0, 1.0, -1.0)
    signs = np.ones(sizes.size), np.where(means < 0.0, -1.0, 1.0), halves
    cells = (np.unique(bins * one.n_parts + one.codes, return_inverse=True) for one in clusters.partitions)
    parts = Clusters(tuple(Partition(codes, found.size) for found, codes in cells))
    lost = sizes.size / parts.n_clusters
    some = claim.occurred > 0
    whole = max(effect_of_clusters(one[bins] * own, some, clusters, tail, lost) for one in signs)
    return claim.scatter * whole, claim.scatter * effect_of_clusters(own, some, parts, tail, lost)


def widened_by(df: float, tail: float) -> float:
    """How much larger a variance has to be for Student's law of so many degrees of freedom than for the normal one."""
    return float((scipy.special.stdtrit(df, 1.0 - tail / 2.0) / scipy.special.ndtri(1.0 - tail / 2.0)) ** 2)


def _of_places(
    sample: Sample, finding: Finding | None, clusters: Clusters | None, lag: int, weights: FloatArray | None
) -> list[Measure]:
    """Claims about what a finding and a second one name; the intervals of gaps hold for all of them together.

    Errors of what is only perhaps wrong are no matter of shares.
    """
    named: dict[str, Measure] = {}
    for one in (finding, finding and finding.second):
        claims, among = sample.predictions.claims_at(one.kind, one.place, sample.targets) if one else ([], 1)
        if one and one.is_doubtful:
            claims = [replace(claim, margin=max(claim.margin, POINTS)) for claim in claims]
        level = 1.0 - (1.0 - LEVEL) / among
        named |= {claim.name: _of_claim(claim, level, clusters, lag, weights) for claim in claims}
    return list(named.values())


def _binned_error(claim: Claim) -> Measure:
    """The ECE with 15 bins, and its mean if calibrated."""
    p, n = claim.probability, claim.probability.size
    bins = UniformBinning().assign(p[:, None])
    observed = float(np.abs(np.bincount(bins, claim.occurred - p)).sum()) / n
    noise = sum(mean_deviation(p[bins == b]) for b in range(int(bins.max()) + 1)) / n
    return Measure(claim.binned_error, noise, observed)


def mean_deviation(probabilities: FloatArray) -> float:
    """``E |S - E S|`` of the number S of events of these probabilities, from the normal law for more than 64."""
    if probabilities.size > EXACTLY:
        return float(np.sqrt(2.0 / np.pi * (probabilities @ (1.0 - probabilities))))
    return float(law_of_count(probabilities) @ np.abs(np.arange(probabilities.size + 1) - probabilities.sum()))


def gap_interval(
    probability: FloatArray,
    occurred: BoolArray,
    order: FloatArray,
    level: float,
    effect: float = 1.0,
    effect_on_tenths: float = 1.0,
    *,
    is_number: bool = False,
    weights: FloatArray | None = None,
) -> ConfidenceInterval:
    """For ``sum_b n_b/n |c_b - pi_b|`` with mean claimed and mean true probabilities c_b, pi_b of the tenths b.

    Errors that change their sign within a tenth cancel there: b are fiftieths where it is clear that errors of
    independent outcomes differ within tenths. Their gap is at least that of tenths, whose lower end holds for it, too.

    The observed sum ``g = sum_b n_b/n |c_b - f_b|`` with frequencies f_b changes by at most 1/n with each outcome, its
    variance is at most that of the number of occurrences over n**2, ``v = sum_b n_b pi_b (1 - pi_b) / n**2``, its mean
    is at least the gap, as norms are convex, and at most the gap and ``E sum_b n_b/n |f_b - pi_b|``. Hence the gap is
    at most ``g + z s`` and at least ``g - z s - sum_b n_b/n sqrt(2 v_b / pi)`` with a normal quantile z. For few
    occurrences ``s = (sqrt(n**2 v + 4) + 1/z) / n``, which is longer than the interval of Clopper and Pearson, and
    frequencies in variances v_b have one occurrence of each kind added.

    The gap is also at least the distance of the mean claim from that interval, and at least
    ``|sum_b s_b n_b/n (c_b - f_b)| - z s`` with signs s_b that differ for the lower and the upper half; and at most
    what mean probabilities in that interval allow (``_farthest``). The first two ends fail with a quarter of what the
    level leaves each, the others with an eighth in each direction.

    Design effects say how many outcomes are worth one independent one, in sums over all and in those of a tenth. Events
    less cumulative hazards have the variance of Poisson: ``n pi`` in place of ``n pi (1 - pi)``. Weights have mean 1.
    """
    tenths, parts = TENTHS.assign(order[:, None]), FIFTIETHS.assign(order[:, None])
    given = probability, occurred, level, effect, effect_on_tenths, is_number, weights
    found = _gap_in(tenths, "tenths of similar predictions", *given)
    if effect != 1.0 or effect_on_tenths != 1.0 or not _differ_within(tenths, parts, occurred - probability):
        return found
    within = _gap_in(parts, "fiftieths of similar predictions", *given)
    return replace(within, low=max(found.low, within.low))


def _gap_in(
    bins: IntArray,
    method: str,
    probability: FloatArray,
    occurred: BoolArray,
    level: float,
    effect: float,
    effect_on_tenths: float,
    is_number: bool,
    weights: FloatArray | None,
) -> ConfidenceInterval:
    """The interval for similar predictions in given bins."""
    n, failing, mean = occurred.size / effect, 1.0 - level, float(np.average(probability, weights=weights))
    weighed = 1.0 if weights is None else weights
    sizes = np.bincount(bins, weights) / effect
    counts, claimed = (np.bincount(bins, weighed * one) / effect for one in (occurred, probability))
    differences = counts - claimed
    g = float(np.abs(differences).sum()) / n
    variance = float((counts if is_number else counts * (1.0 - counts / sizes)).sum())
    reach, far = _reach(variance, failing / 4.0) / n, _reach(variance, failing / 8.0) / n
    more = effect_on_tenths / effect
    f = (counts / more + 1.0) / (sizes / more + 2.0)
    spread = (counts + more) if is_number else more * sizes * f * (1.0 - f)
    noise = float(np.sqrt(2.0 / np.pi * spread).sum()) / n
    least, most = (garwood if is_number else clopper_pearson)(float(counts.sum()), n, 1.0 - failing / 4.0)
    halves = np.where(np.cumsum(sizes) <= n / 2.0, 1.0, -1.0)
    low = max(g - reach - noise, abs(float(halves @ differences)) / n - far, least - mean, mean - most, 0.0)
    most_possible = _farthest(claimed, n * least, n * most) / n
    if not is_number:
        # No outcomes are farther from the claims than those that are all on the other side of them.
        others = _farthest(sizes - claimed, n * (1.0 - most), n * (1.0 - least)) / n
        most_possible = min(most_possible, others, float(np.maximum(claimed, sizes - claimed).sum()) / n)
    return ConfidenceInterval(min(low, most_possible), min(most_possible, g + reach), level, method, g)


def _farthest(claimed: FloatArray, least: float, most: float) -> float:
    """The largest ``sum_b |c_b - m_b|`` of expected numbers m_b, of a sum between these, and claims c_b.

    It is ``sum c + sum m - 2 sum_b min(c_b, m_b)``, and the last sum is at least the smaller one of the smallest claim
    and of ``sum m``: all numbers may be in the bin of that claim. So it is largest at one of the ends.
    """
    fewest = float(claimed.min())
    return float(claimed.sum()) + max(m - 2.0 * min(fewest, m) for m in (max(least, 0.0), most))


def _differ_within(tenths: IntArray, parts: IntArray, errors: FloatArray) -> bool:
    """Whether mean errors of parts differ within tenths: their sum of squares is beyond its law for independent errors.

    With n_b of n_t errors in part b of tenth t, of variance v_b, it is about
    ``sum_b v_b (1 - n_b/n_t) / (B - T)`` times a chi-squared number of B - T degrees of freedom.
    """
    sizes, tenth = np.bincount(parts), tenths[np.unique(parts, return_index=True)[1]]
    df = sizes.size - int(tenth.max()) - 1
    if df < 1 or errors.size < ROWS_OF_A_PART * sizes.size:
        return False
    means, of_tenths = np.bincount(parts, errors) / sizes, np.bincount(tenths)
    variances = np.bincount(parts, np.square(errors - means[parts])) / np.maximum(sizes - 1, 1)
    squares = sizes @ np.square(means - (np.bincount(tenths, errors) / of_tenths)[tenth])
    by_chance = float(variances @ (1.0 - sizes / of_tenths[tenth])) / df
    return bool(squares > by_chance * scipy.special.chdtri(df, BY_CHANCE))


def _reach(variance: float, tail: float) -> float:
    """How far a number of events of this variance may be from its mean, but for a tail."""
    return float(-scipy.special.ndtri(tail)) * sqrt(variance + FEWEST) + 1.0
