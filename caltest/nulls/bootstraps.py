"""Resamples of the data in place of redraws from the predictions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any

import numpy as np
import scipy

from caltest._basics.calls import are_pvalues_enough
from caltest._basics.numerics import FloatArray, check_memory, effective_number, ranges
from caltest._basics.threads import RESAMPLES_OF_A_STREAM, Stream, in_parts, run, streams, threaded
from caltest._loops.counting import add_counts
from caltest._validation import switch
from caltest.estimators import ECE, SKCE, ClusterSKCE, Estimator
from caltest.estimators.combined.findings import told
from caltest.estimators.combined.omnibus import Omnibus
from caltest.hstatistics.redraws.within_clusters import Clusters, within_pair_sums
from caltest.hstatistics.sums.pairs import h_diagonal, weighted_sums
from caltest.hstatistics.variances.null_variance import variance_between_clusters, variance_if_calibrated
from caltest.kernels import PairKernel
from caltest.nulls.base import Outcome, Resampled, ResamplingNull, ranked
from caltest.predictions import Predictions, Sample

COUNTS_AT_ONCE = 2**23
OUTCOMES_AT_ONCE = 2**23
"""Redrawn outcomes that are looked at together."""

LEAST_STREAMS = 4
"""Resamples are made in passes of 64 MB of counts, or of so many streams where there are more observations."""


def passes(n: int, rng: np.random.Generator, n_resamples: int) -> list[Sequence[Stream]]:
    """Streams of resamples that are weighted together, with n weights each."""
    weights = 16 * n * LEAST_STREAMS * RESAMPLES_OF_A_STREAM
    check_memory(weights, "weights of a pass of the bootstrap", (n, "rows"), "use MonteCarloTest(LowRankSKCE(kernel))")
    at_once = max(LEAST_STREAMS, COUNTS_AT_ONCE // (n * RESAMPLES_OF_A_STREAM))
    return in_parts(streams(rng, n_resamples), at_once)


def columns_of_streams(
    n: int, part: Sequence[Stream], fill: Callable[[np.random.Generator, FloatArray], None], label: str, work: float
) -> FloatArray:
    """Weights (n, B) of which ``fill`` writes the columns of each stream; ``work`` is the cost of a weight."""
    ends = np.cumsum([size for _, size in part])
    weights = np.zeros((n, ends[-1]))

    def fill_columns(i: int) -> None:
        generator, size = part[i]
        fill(generator, weights[:, ends[i] - size : ends[i]])

    for _ in threaded(fill_columns, range(len(part)), len(part), label, work=work * weights.size):
        pass
    return weights


def widened(draws: FloatArray, variance: float | None, rng: np.random.Generator) -> FloatArray:
    """Redraws of mean 0 with at least a variance, if one is known.

    What they lack is added as multiples of ``Z**2 - 1`` for standard normal Z, the limit law of a kernel with one
    eigenvalue, which of all limit laws of that variance has the largest probabilities far out.
    """
    lacking = 0.0 if variance is None else variance - float(draws @ draws) / draws.size
    if lacking <= 0.0:
        return draws
    return np.asarray(draws + sqrt(lacking / 2.0) * (np.square(rng.standard_normal(draws.size)) - 1.0))


@dataclass(frozen=True)
class ArconesGineBootstrap(ResamplingNull[SKCE]):
    """Null distribution of ``n U`` for the unbiased SKCE U from bootstrap counts C ~ Multinomial(n, 1/n).

    With the doubly centred matrix ``G_ij = h_ij - r_i - r_j + m`` of row means r and overall mean m of h,
    a redraw is ``(C' G C - sum_i C_i G_ii) / n``. Since the counts sum to n this is::

        (C' H C - sum_i C_i h_ii - 2 (n - 1) sum_i C_i r_i + n (n - 1) m) / n

    computed by matrix products tile by tile.

    Parameters
    ----------
    n_resamples
        As in ``ConditionalMonteCarlo``.
    known_variance
        Give the redraws at least the variance that n U has given the predictions if they are calibrated
        (``caltest.hstatistics.variances.null_variance``), by adding independent multiples of ``Z**2 - 1`` for standard
        normal Z. As published, without it, the bootstrap rejects up to 29 % of calibrated predictions of rare events at
        the 5 % level: as long as none has occurred, h does not vary. It is not known for ``Unnormalised`` predictions
        without a sampler.

    Notes
    -----
    The reference divides #{draw >= n U} by B, which can give 0; its statistic n/(n-1) U - V, with the biased estimate
    V, gives the same counts. Asymptotic: it rejects up to 6 % of calibrated predictions at the 5 % level in simulations
    with rare events, ties and few uncertain rows (1000 data sets each), and far less with many classes and small n.
    Time O(n**2 (k + B)) by matrix products, or O(n B) for binary predictions with an exponential kernel. Memory 64 MB,
    or 1 kB for each of more than 65 000 observations.

    Sources: Widmann et al. 2019, section 6; Widmann et al. 2021, Remark B.2; Arcones and Gine (1992).

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> test = ct.CalibrationTest(ct.SKCE(p.default_kernel()), ct.nulls.ArconesGineBootstrap(n_resamples=99))
    >>> test(p, y, rng=1).pvalue
    0.01
    """

    citations = ("arcones1992", "widmann2019")

    known_variance: bool = True
    _checks = {"known_variance": switch}

    pvalue_kind = "resampling"
    statistic_name = "n SKCE"

    def check_estimator(self, estimator: Estimator) -> None:
        self._check_unbiased(estimator)

    def resample(self, estimator: SKCE, sample: Sample, rng: np.random.Generator) -> Resampled:
        n, kernel = len(sample), estimator.kernel
        diagonal = h_diagonal(kernel, sample)
        results = run(
            _draws, [(kernel, sample, diagonal, part) for part in passes(n, rng, self.n_resamples)], "bootstrap"
        )
        estimate = (results[0][1] - float(diagonal.sum())) / (n * (n - 1))
        draws = np.concatenate([draws for draws, _ in results])
        if self.known_variance:
            variance = variance_if_calibrated(kernel, sample.predictions, rng)
            draws = widened(draws, None if variance is None else n**2 * variance, rng)
        return estimate, n * estimate, draws

    def notes(self, estimator: SKCE, n: int) -> tuple[str, ...]:
        if self.known_variance:
            return ()
        return (
            "with the variance of the bootstrap alone up to 29 % of calibrated predictions of rare events are rejected",
        )

    def describe(self) -> str:
        known = ", at least the variance given the predictions" if self.known_variance else ""
        return f"Arcones-Gine bootstrap, {self.n_resamples} resamples{known}"


def _draws(
    kernel: PairKernel, sample: Sample, diagonal: FloatArray, part: Sequence[Stream]
) -> tuple[FloatArray, float]:
    """Draws of the statistic, and the sum of h over all pairs."""
    n = len(sample)
    counts = columns_of_streams(n, part, _count, "resamples", work=4.0)
    forms, rows = weighted_sums(kernel, sample, counts)
    linear = (diagonal + 2.0 * (n - 1) / n * rows) @ counts
    return (forms - linear + (n - 1) / n * float(rows.sum())) / n, float(rows.sum())


def _count(generator: np.random.Generator, counts: FloatArray) -> None:
    n, size = counts.shape
    add_counts(generator.integers(n, size=(size, n), dtype=np.uint32), counts)


LEAST, FEW = 5, 10
"""Clusters that a test needs, and from which on it rejects 4 to 6 % of calibrated models at the 5 % level."""

MANY = 50
"""Clusters of equal size from which on signs tell how far the largest of many numbers goes."""

RARE = 0.2
"""Share of clusters with an improbable outcome below which, if they are fewer than 10, outcomes are rare."""


@dataclass(frozen=True)
class ClusterBootstrap(ResamplingNull[Any]):
    """Null distribution of ``ClusterSKCE``, or of ``Omnibus`` in clusters, from independent random signs e of these.

    With ``H_cd = sum_{i in c, j in d} h_ij`` a redraw is the sum of ``e_c e_d H_cd`` over all clusters c and d that
    differ, divided by the number of pairs; with all signs 1 it is the estimate. Signs keep the dependence of outcomes
    within clusters, whatever it is. What redraws lack of the variance that the estimate has given the predictions if
    outcomes within clusters are independent too is added to them, as in ``ArconesGineBootstrap``.

    The numbers of ``Omnibus`` are functions of sums over the observations. What a cluster adds to a sum differs from
    its mean given the predictions by ``D_c``, and a redraw has ``sum_c e_c D_c`` in place of ``sum_c D_c``; numbers
    that vary less than for independent outcomes are stretched to that variance, and the p-value is no smaller than
    that of independent redraws. There are up to 200 signs, of groups of clusters where these are more.

    Where each observation has two labels, a and b, its sign is ``e_a + f_b`` for independent signs of both, and what no
    sign changes is subtracted: the sum of h over the pairs that share a, and over those that share b. The covariance of
    the sums of errors is that of Cameron, Gelbach and Miller without the part that they subtract, of the pairs that
    share both: never negative, and too large, so that the test is conservative, most so if outcomes are independent.

    Parameters
    ----------
    n_resamples
        As in ``ConditionalMonteCarlo``; for C clusters the p-value is at least about 2 / 2**C, too.

    Raises
    ------
    ValueError
        In a test of fewer than 5 clusters, of either label where there are two, and of fewer than
        50 for ``Omnibus``, by ``n**2 / sum m_c**2`` for sizes m.

    Notes
    -----
    Asymptotic in the number of clusters, which are independent. Rare events can come in bursts, all of a cluster
    together, of which signs alone would reject up to 23 % at the 5 % level, since the variance is then larger than
    known and hardly seen in the data. Where fewer than 10 clusters, and fewer than a fifth, would have an event on
    average if they did, and those that occurred, k_c in a cluster, are worth fewer than 50 clusters, ``(sum k_c)**2 /
    sum k_c**2``, the p-value is no smaller than that of redraws in which all outcomes of a cluster follow from one
    uniform number, or from the mean of the normal scores of both labels. With these it rejects 0 to 5 % at the 5 %
    level ("Rare events in clusters" in ``docs/validity.md``). Time O(n**2 (k + B)) by matrix products, or O(n B) for
    binary predictions with an exponential kernel.

    With two labels it rejects 0 to 2 % at the 5 % level of outcomes with crossed effects, 5 x 5 to 50 x 10 levels, and
    5 % with 40 x 40 ("Two crossed clusters" there). Asymptotic in the numbers of levels; sets of rows that share no
    level are taken to be independent given the predictions.

    Findings have intervals by likelihoods to a power that makes their information that of sums over clusters (Chandler
    and Bate 2007), and observed frequencies those of Korn and Graubard 1998 ("Intervals in clusters" there).

    Sources: signs of clusters in place of observations in the multiplier bootstrap of Leucht and Neumann 2013 and
    Chwialkowski, Sejdinovic and Gretton 2014; two labels: Cameron, Gelbach and Miller 2011, Robust inference with
    multiway clustering.

    Examples
    --------
    >>> import caltest as ct
    >>> import numpy as np
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> estimator = ct.estimators.ClusterSKCE(p.default_kernel(), np.arange(899) // 3)
    >>> ct.CalibrationTest(estimator, ct.nulls.ClusterBootstrap(n_resamples=99))(p, y, rng=1).pvalue
    0.01
    """

    citations = ("cameron2011", "chandler2007", "chwialkowski2014", "korn1998", "leucht2013")

    pvalue_kind = "resampling"
    wanted = "ClusterSKCE(kernel, clusters) or Omnibus(clusters=...)"
    allows_clusters = True

    def check_estimator(self, estimator: Estimator) -> None:
        """Raise unless the estimator is one of clusters."""
        if not isinstance(estimator, (ClusterSKCE, Omnibus)) or not estimator.is_clustered:
            raise self._illegal(estimator, self.wanted)

    def statistic_name_of(self, estimator: Any) -> str:
        return estimator.statistic_name if isinstance(estimator, Omnibus) else self.statistic_name

    def check_size(self, estimator: ClusterSKCE | Omnibus, n: int) -> None:
        crossed, worth = estimator.clusters.are_crossed, estimator.clusters.n_effective
        if isinstance(estimator, Omnibus) and worth < MANY:
            raise ValueError(
                f"clusters: got {estimator.clusters.n_clusters}, worth {worth:.3g} of equal size, wanted at least "
                f"{MANY} for Omnibus, which rejects too often with fewer; use ClusterSKCETest(clusters)"
            )
        if estimator.clusters.n_clusters < LEAST:
            raise ValueError(
                f"clusters: got {estimator.clusters.n_clusters}, wanted at least {LEAST}: random signs of so few have "
                f"hardly any distribution; use {'' if crossed else 'named_tests.ClusterLikelihoodRatioTest, or '}"
                "estimators.one_per_cluster"
            )

    def resample(self, estimator: ClusterSKCE, sample: Sample, rng: np.random.Generator) -> Resampled:
        kernel, clusters, y = estimator.kernel, estimator.clusters, np.asarray(sample.targets)[None]
        diagonal = float(h_diagonal(kernel, sample).sum())
        terms = [(within_pair_sums(kernel, part, sample.predictions, y)[0], sign) for part, sign in clusters.terms]
        # What signs do not change: h of observations with themselves and with others of their cluster.
        constants = [diagonal + 2.0 * float(pairs) for pairs, sign in terms if sign > 0]
        own = diagonal + 2.0 * sum(sign * float(pairs) for pairs, sign in terms)
        parts = passes(len(sample), rng, self.n_resamples)
        results = run(_forms, [(estimator, sample, part) for part in parts], "bootstrap")
        scale = 2.0 * clusters.n_pairs_between
        estimate = (results[0][1] - own) / scale
        draws = (np.concatenate([forms for forms, _ in results]) - sum(constants)) / scale
        variance = variance_between_clusters(kernel, clusters, sample.predictions, rng)
        return estimate, estimate, widened(draws, variance, rng)

    def outcome(self, estimator: ClusterSKCE | Omnibus, sample: Sample, rng: np.random.Generator) -> Outcome:
        few = _few_with_an_event(estimator.clusters, sample)
        notes = () if few is None else (_note_on(*few),)
        if isinstance(estimator, Omnibus):
            found = self._of_omnibus(estimator, sample, rng, few is not None)
        else:
            found = super().outcome(estimator, sample, rng)
            if few is not None:
                draws = self._draws_together(estimator, sample, rng.spawn(1)[0])
                found = max(found, ranked(found.estimate, found.statistic, draws), key=lambda one: one.pvalue)
            found = replace(found, **told(sample, found.pvalue, clusters=estimator.clusters))
        return replace(found, notes=notes)

    def _of_omnibus(self, estimator: Omnibus, sample: Sample, rng: np.random.Generator, are_rare: bool) -> Outcome:
        """The largest p-value of signs, of redraws, and where outcomes are rare of redraws that come together."""
        estimate, some = estimator.in_clusters(sample, self.n_resamples, rng.spawn(1)[0], are_rare)

        def outcome(values: FloatArray) -> Outcome:
            statistics = estimator.combined(values)
            return ranked(estimate, float(statistics[0]), statistics[1:])

        found, values = max(((outcome(values), values) for values in some), key=lambda pair: pair[0].pvalue)
        if not are_pvalues_enough():
            found = replace(found, **estimator.told(sample, values, found.pvalue))
        return found.excluding(sample.exclusion)

    def _draws_together(self, estimator: ClusterSKCE, sample: Sample, rng: np.random.Generator) -> FloatArray:
        """Estimates (B,) for redraws in which all outcomes of a cluster are functions of one uniform number."""
        draw, partitions = sample.predictions.law.drawer(), estimator.clusters.partitions

        def redrawn(size: int) -> FloatArray:
            scores = sum(rng.standard_normal((size, one.n_parts))[:, one.codes] for one in partitions)
            uniforms = np.asarray(scipy.special.ndtr(scores / sqrt(len(partitions))))
            return estimator.estimates(sample.predictions, draw(lambda _: uniforms))

        parts = ranges(self.n_resamples, max(1, OUTCOMES_AT_ONCE // len(sample)))
        return np.concatenate([redrawn(part.stop - part.start) for part in parts])

    def notes(self, estimator: ClusterSKCE | Omnibus, n: int) -> tuple[str, ...]:
        if estimator.clusters.are_crossed:
            return (
                "clusters are crossed: p-values are larger than they need be, most of all if outcomes are independent",
            )
        if estimator.clusters.n_clusters >= FEW:
            return ()
        n_clusters = estimator.clusters.n_clusters
        return (
            f"only {n_clusters} clusters: p-values are larger than they need be; of 5 clusters fewer than 1 % of "
            "calibrated models are rejected at the 5 % level",
        )

    def describe(self) -> str:
        return f"multiplier bootstrap with a random sign for each cluster, {self.n_resamples} redraws"


def _note_on(expected: float, number: int) -> str:
    """That outcomes are rare in so many clusters, and what follows."""
    return (
        f"outcomes are rare: if those of a cluster occur together, only about {expected:.2g} of {number} clusters have "
        "any, too few to tell how they depend on each other; the p-value is the larger one of two, of random signs of "
        "clusters and of redraws in which all outcomes of a cluster occur together"
    )


def _few_with_an_event(clusters: Clusters, sample: Sample) -> tuple[float, int] | None:
    """How many clusters have an improbable outcome on average, were those of a cluster to come together, if few.

    None where those that occurred are spread over many clusters, whose dependence is then seen.
    """
    improbable = _improbable(sample.predictions)
    if improbable is None or _worth_of_events(clusters, sample) >= MANY:
        return None
    expected = [float((np.bincount(one.codes, improbable) / one.sizes).sum()) for one in clusters.partitions]
    few = min(zip(expected, [one.n_parts for one in clusters.partitions], strict=True))
    return None if few[0] >= min(FEW, RARE * few[1]) else few


def _worth_of_events(clusters: Clusters, sample: Sample) -> float:
    """Over how many clusters improbable outcomes are spread, ``(sum k_c)**2 / sum k_c**2`` for k_c in each."""
    finite, y = sample.predictions.law.finite, np.asarray(sample.targets)
    occurred = y > 0 if finite is None else y != finite.probabilities.argmax(axis=-1)
    if not occurred.any():
        return 0.0
    counts = (np.bincount(one.codes, occurred).astype(np.float64) for one in clusters.partitions)
    return min(effective_number(one) for one in counts)


def _improbable(predictions: Predictions) -> FloatArray | None:
    """Probabilities (n,) of classes other than the most probable one, and of counts above 0; None for other numbers."""
    finite = predictions.law.finite
    if finite is not None:
        return np.asarray(1.0 - finite.probabilities.max(axis=-1))
    if not predictions.discrete:
        return None
    return np.asarray(-np.expm1(predictions.log_density(np.zeros(len(predictions)))))


def _forms(estimator: ClusterSKCE, sample: Sample, part: Sequence[Stream]) -> tuple[FloatArray, float]:
    """``e' H e`` for the signs e of observations, those of their clusters, and the sum of all h."""
    partitions = estimator.clusters.partitions

    def draw_signs(generator: np.random.Generator, signs: FloatArray) -> None:
        signs[:] = np.where(generator.integers(2, size=signs.shape[::-1], dtype=np.int8) == 0, -1.0, 1.0).T

    numbers = [one.n_parts for one in partitions]
    signs = columns_of_streams(sum(numbers), part, draw_signs, "multipliers", work=8.0)
    of_each = np.split(signs, np.cumsum(numbers)[:-1])
    weights = sum(some[one.codes] for one, some in zip(partitions, of_each, strict=True))
    forms, rows = weighted_sums(estimator.kernel, sample, np.ascontiguousarray(weights))
    return forms, float(rows.sum())


PART = 4
"""Streams of random numbers whose resamples are made together, so that progress is seen between them."""


@dataclass(frozen=True)
class ConsistencyResampling(ResamplingNull[Estimator]):
    """The estimate against its values for resampled predictions with targets drawn from them.

    The resampling of Broecker and Smith (2007), as a test by Vaicenavicius et al. (2019), but for the 1 that is added
    to both parts of the p-value. A median bandwidth is that of the observed predictions; bins are formed anew.

    Parameters
    ----------
    n_resamples
        As in ``ConditionalMonteCarlo``.

    Notes
    -----
    Not a valid test of binned errors: resampling leaves only 63 % of the predictions distinct, which fills fewer
    bins and lowers the estimate, so that calibrated models are rejected (always, for 10 classes at n = 250 with
    bins of the whole simplex). ``ConditionalMonteCarlo`` keeps the predictions and is exact.

    Time: B estimates, shared among the workers of ``joblib.parallel_config(...)`` if there are some. Memory: that of
    one.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> test = ct.CalibrationTest(ct.ECE(), ct.nulls.ConsistencyResampling(n_resamples=99))
    >>> test(*ct.top_label(p, y), rng=1).pvalue
    0.01
    """

    citations = ("broecker2007",)

    pvalue_kind = "resampling"

    def resample(self, estimator: Estimator, sample: Sample, rng: np.random.Generator) -> Resampled:
        estimate = estimator.estimate(sample)
        parts = in_parts(streams(rng, self.n_resamples), PART)
        draws = run(_resampled_estimates, [(estimator, sample.predictions, part) for part in parts], "resamples")
        return estimate, estimate, np.concatenate(draws)

    def notes(self, estimator: Estimator, n: int) -> tuple[str, ...]:
        """A caution for binned errors; for kernel errors repeated predictions do no harm."""
        if not isinstance(estimator, ECE):
            return ()
        return (
            "resampled predictions repeat themselves, which lowers binned errors: the test can reject calibrated "
            "models far too often; MonteCarloTest is exact",
        )

    def describe(self) -> str:
        return f"consistency resampling, {self.n_resamples} resamples"


def _resampled_estimates(estimator: Estimator, predictions: Predictions, part: Sequence[Stream]) -> FloatArray:
    """Estimates for predictions drawn with replacement and targets drawn from them."""
    n = len(predictions)
    draws = []
    for generator, size in part:
        for _ in range(size):
            resampled = predictions.take(generator.integers(n, size=n))
            draws.append(estimator.estimate(Sample(resampled, resampled.redraw(generator))))
    return np.array(draws)
