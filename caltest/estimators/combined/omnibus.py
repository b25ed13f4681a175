"""Several statistics in one: kernels, scores and likelihood ratios."""

from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Any, Self

import numpy as np

from caltest._basics.arrays import read_only
from caltest._basics.numerics import Array, ArrayLike, FloatArray, IntArray, effective_number, ranges
from caltest._basics.threads import n_threads, threaded
from caltest._results.values import EffectSize
from caltest._validation import at_least, observation_weights, same_length
from caltest.estimators.combined.components import (
    Column,
    Component,
    FaultsComponent,
    are_linear,
    are_many_numbers,
    come_in_chunks,
    components_for,
    components_in_chunks,
)
from caltest.estimators.combined.evidence import by_component, by_feature, sum_of_reciprocals
from caltest.estimators.combined.features import (
    FeatureErrors,
    FeaturesComponent,
    as_features,
    cautions_on_features,
    check_features,
    taken,
)
from caltest.estimators.combined.findings import told
from caltest.estimators.combined.joint import JointEstimator, tail_exponents
from caltest.estimators.combined.sums.cells import MOST_CLASSES, FewClasses
from caltest.estimators.combined.sums.in_clusters import numbers_in_clusters, numbers_together
from caltest.estimators.combined.sums.many_classes import ManyClasses
from caltest.estimators.combined.sums.numbers import KernelSums
from caltest.estimators.combined.sums.parts import KEPT, OfRows, PartSums, law_of
from caltest.estimators.kernel_errors.cluster_skce import ASSUMPTIONS, ClusterSKCE, as_clusters, check_clusters
from caltest.estimators.kernel_errors.groups import ASSUMED, WeightedSKCE, check_weights, given
from caltest.estimators.kernel_errors.kernel_estimator import (
    FAMILY_KERNEL,
    a_product_or_none,
    kernel_notes,
    share_of_bound,
)
from caltest.estimators.kernel_errors.skce import SKCE
from caltest.hstatistics.sums.binary_line import on_a_line
from caltest.kernels import ProductKernel
from caltest.predictions import Predictions, Sample
from caltest.predictions.bandwidth import MEDIAN_OF

ALL_PAIRS = 20_000
"""Predictions up to which the estimate that is reported is that of all pairs, where expectations have formulas."""

TARGETS, LEAST = 2**18, 8
"""Numbers in the redrawn targets that are turned into scores together, of so many redraws at least."""

LABELS = 2**21
"""The same of labels and counts, for each thread at least one part."""


THINNED = (
    "keep each row with probability weight / largest weight, drawn without its outcome, and test them unweighted, "
    "or pass all data at once"
)
"""What to do with weights, which are scaled by their sums over all rows, where no part of the data knows these."""

GIVEN_FEATURES = 0.3
"""The weight of errors that depend on features, if there are some."""


@dataclass(frozen=True)
class Omnibus(JointEstimator):
    """Kernel errors, scores, the likelihood ratio of common errors and rows of a list of faults, as one statistic.

    For classes: the SKCE for five bandwidths, the excess of the log loss and of the Brier score, and the likelihood
    ratio of ``LogLikelihoodRatio``. For numbers and vectors: the SKCE, that of standardised residuals or normal
    quantiles of ``F(Y)`` for three bandwidths, mean and spread of the residuals, and the likelihood ratio where the
    family has one. For all: the faults of the family (``caltest.predictions.faults``), such as a wrong frequency of a
    class, classes that are mistaken for each other, a skew, or a correlation that is not predicted. Each has rows, sums
    ``sum_i g(P_i) a(Y_i, P_i)`` over the observations with functions g of the predictions, such as cosines of the ranks
    of their means; it counts by the largest square of its standardised rows, and by the sum of the squares.

    Every component is standardised by mean and variance of its observed and redrawn values together, and turned into a
    tail probability p_c of the Pearson type III distribution of their skewness. The statistic is ``log sum_c w_c /
    p_c``, with two thirds of the weight on the components that are no faults, and of numbers and vectors five sevenths,
    where the mean of residuals counts three times and their spread twice. Observed and redrawn values are treated
    alike, so ``MonteCarloTest(Omnibus())`` is exact for every n. The estimate that is reported is the SKCE with the
    first kernel. What is found is the fault with the largest likelihood after a penalty for the choice (``Finding``):
    it does not depend on the redraws.

    Parameters
    ----------
    kernel
        Product kernel of a distance of predictions; by default that of the family.
    weights, features
        As in ``calibration_test``, but weights are above 0.
    clusters
        (n,) labels, as in ``calibration_test``: for ``ClusterBootstrap`` in place of redraws, without weights and
        features, and for families that can come in chunks: up to 32 classes, numbers, vectors, counts.

    Raises
    ------
    TypeError
        For a kernel of another kind, clusters beside weights or features, and at the call clusters of other families.
    ValueError
        For weights that are not above 0, or crossed clusters; at the call for another number of predictions.

    Notes
    -----
    Time and memory are those of ``MonteCarloTest(SKCE(kernel))`` and little more. From 500 numbers or vectors on, and
    128 mixtures or ensembles of vectors, the kernels of redraws have rank 64 (``LowRankSKCE``, biased), which the
    result says: time O(n B), for numbers with Gaussian kernels about 500 additions for an observation and redraw, and
    memory O(n B), at most 1 GB for the redraws of a pass. For more than 20 000 predictions of families with quick
    quantiles, without weights, and for all data in chunks, redraws are functions of the seed and the row, and landmarks
    and ranks of features come from some of the predictions: then all is a function of sums over rows, and memory is
    O(n + B).

    From 10 000 binary predictions on, or 100 000 of up to 32 unordered classes, the statistic is a function of counts:
    how often each label occurs in each of up to 512 cells of similar predictions (1024 of binary ones), which a tree of
    comparisons makes from predictions alone. Kernels and faults are those of mean predictions of cells, and redraws
    depend on a seed and the number of the row only: time O(n B), about a nanosecond for a redraw of a row and class,
    and memory O(n + B). Counts add up, for data that come in chunks (``CalibrationTestAccumulator``). Probabilities
    and logarithms of labels, hits times features of the confidence, and labels in groups of ranks of their probability
    are added row by row; what depends on other features is blurred within cells of several classes. For fewer such
    predictions of several classes the kernels have rank 64 from 2000 on, and the two with smaller bandwidths rank 128.

    More than 32 classes, with the total variation distance and without weights: sums over pairs have single precision,
    and only classes that a row draws take time, O(n**2 k) for the kernel and about B n**2 / k additions. More than
    10 000 such predictions are put into blocks of m <= 1000 with similar ones, by their two most probable classes, and
    the kernel, that of the estimate too, is ``K' = f + [same block] (K - f)`` with ``f = exp(-1 / b)``: time O(n m k),
    and O(n B). Their redraws are never in memory together: O(n + k B) beyond the input.

    With weights w, scaled so that their sum is that of their squares, the kernel errors are
    ``sum w_i w_j h_ij / sum w_i w_j`` over the pairs, scores and moments of residuals are weighted means, and the
    likelihood ratio of an observation has the power w_i.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> result = ct.MonteCarloTest(ct.estimators.Omnibus(), n_resamples=99)(p, y, rng=1)
    >>> print(result.finding)  # doctest: +NORMALIZE_WHITESPACE
    predictions are underconfident: outcomes follow them at temperature 0.24 (0.2 to 0.29); claims of 73 % on average
    come true 97 % of the time
    """

    citations = ("schrab2023", "spiegelhalter1986", "widmann2019", "widmann2021")

    kernel: ProductKernel | None = None
    weights: ArrayLike = field(default=None, repr=False, compare=False)
    features: Any = field(default=None, repr=False, compare=False)
    clusters: Any = field(default=None, repr=False, compare=False)
    _compared: bytes = field(default=b"", init=False, repr=False)
    _components: tuple[Component, ...] = field(default=(), init=False, repr=False, compare=False)
    _many: OfRows[Any] | None = field(default=None, init=False, repr=False, compare=False)
    _latest: tuple[FloatArray, list[tuple[Column, FloatArray]]] | None = field(
        default=None, init=False, repr=False, compare=False
    )
    statistic_name = "log of the mean reciprocal tail probability of all components"

    def __post_init__(self) -> None:
        object.__setattr__(self, "kernel", a_product_or_none(self.kernel))
        object.__setattr__(self, "features", as_features(self.features))
        if self.weights is not None:
            weights = _normalised(observation_weights(self.weights))
            object.__setattr__(self, "weights", weights)
            object.__setattr__(self, "_compared", b"" if weights is None else weights.tobytes())
        if self.clusters is not None:
            clusters = as_clusters(self.clusters)
            if clusters.are_crossed:
                raise ValueError(
                    "clusters: got two labels of each row, wanted one; for two use ClusterSKCETest(clusters)"
                )
            if self.features or self.weights is not None:
                raise TypeError("clusters: got some with weights or features, wanted none of these beside them")
            object.__setattr__(self, "clusters", clusters)
            object.__setattr__(self, "_compared", clusters.partitions[0].codes.tobytes())

    @property
    def is_clustered(self) -> bool:  # type: ignore[override]
        """Whether outcomes may depend on each other within clusters."""
        return self.clusters is not None

    def check(self, predictions: Predictions) -> None:
        """Raise unless there are two observations, a weight for each if there are weights, and values of features."""
        at_least(len(predictions), 2, "the unbiased SKCE")
        for one in self.features:
            same_length(len(predictions), len(one.values), f"features[{one.name!r}]")
        if self.weights is not None:
            same_length(len(predictions), len(self.weights), "weights")
        if self.clusters is not None:
            same_length(len(predictions), len(self.clusters), "clusters")
            if not are_linear(predictions):
                raise TypeError(
                    f"clusters: got some for {predictions.describe(len(predictions))}, wanted up to {MOST_CLASSES} "
                    "classes, or others whose targets can be drawn row by row; use ClusterSKCETest(clusters)"
                )

    def check_sample(self, sample: Sample) -> None:
        super().check_sample(sample)
        if self.features:
            check_features(self.features, sample)
        if self.weights is not None:
            check_weights(self.weights, sample)
        if self.clusters is not None:
            check_clusters(self.clusters, sample.targets)

    def cautions(self, sample: Sample) -> tuple[str, ...]:
        of_rows = super().cautions(sample)
        return (*of_rows, *cautions_on_features(self.features, sample)) if self.features else of_rows

    def given_features(self, features: Any) -> Self:
        if self.features:
            raise TypeError("features: got some in the call of a test that has some, wanted all in one place")
        return replace(self, features=features)

    def for_rows(self, rows: IntArray) -> Self:
        if self.features:
            if self._components:
                raise TypeError("features: got some with groups, wanted none; give the groups as a feature")
            some = None if self.weights is None else self.weights[rows]
            return replace(self, features=taken(self.features, rows), weights=some)
        if self.clusters is not None:
            return replace(self, clusters=self.clusters.take(rows))
        if self.weights is None:
            return self
        return replace(self, weights=self.weights[rows])._with(_components=self._components)

    def resolve(self, predictions: Predictions, rng: Any = None) -> Self:
        """Choose the components for the family, with the median bandwidth of the predictions."""
        if self._components:
            return self
        if self.clusters is not None:
            return self.resolve_for_chunks(predictions.evenly_spaced(MEDIAN_OF), rng)
        kernel = (self.kernel or FAMILY_KERNEL).resolve(predictions)
        if self.features:
            components, _ = components_for(kernel, predictions, self.weights, rng, in_memory=True)
            numbers = FeatureErrors(self.features, predictions)
            by_features = FeaturesComponent("features", numbers, len(numbers.bases) * numbers.groups)
            return self._resolved(kernel, (*components, by_features), None)
        if self.weights is None and are_many_numbers(predictions):
            return self._resolved(kernel, *components_in_chunks(kernel, predictions.evenly_spaced(MEDIAN_OF), rng))
        return self._resolved(kernel, *components_for(kernel, predictions, self.weights, rng))

    def resolve_for_chunks(self, predictions: Predictions, rng: Any = None) -> Self:
        """The same for data that come in chunks: kernel, cells and features are chosen from some of the predictions.

        ``TypeError`` for families that do not redraw by rows, and weights.
        """
        if self.draws_by_row:
            return self
        if self.features:
            raise TypeError("features: got some, wanted none for data that come in chunks")
        if self.weights is not None:
            raise TypeError(f"weights: got some, wanted none for data that come in chunks; {THINNED}")
        if not come_in_chunks(predictions):
            raise TypeError(
                f"predictions: got {predictions.family} predictions in chunks, wanted some from which targets can be "
                "drawn row by row; for others use MonteCarloTest(LowRankSKCE(kernel)), or all data at once"
            )
        some = predictions.redrawable
        kernel = (self.kernel or FAMILY_KERNEL).resolve(some)
        return self._resolved(kernel, *components_in_chunks(kernel, some, rng))

    def _resolved(self, kernel: ProductKernel, components: tuple[Component, ...], many: OfRows[Any] | None) -> Self:
        return self._with(kernel=kernel, _components=components, _many=many)

    @property
    def draws_by_row(self) -> bool:
        """Whether redraws are never in memory together."""
        return self._many is not None and self._many.draws_by_row

    @property
    def has_many_classes(self) -> bool:
        """Whether predictions have so many classes that redraws take most of the time."""
        return isinstance(self._many, ManyClasses)

    @property
    def of_rows(self) -> OfRows[Any]:
        """What adds up over parts of the data."""
        assert self._many is not None
        return self._many

    def sums(self, sample: Sample, n_redraws: int, seed: int, rows: IntArray) -> PartSums:
        """Those of a part of the data, whose rows have some numbers."""
        return PartSums.of(self.of_rows, sample, n_redraws, row_seed(np.random.default_rng(seed)), rows)

    @property
    def components(self) -> tuple[Component, ...]:
        """The components of a resolved omnibus statistic."""
        return self._components

    def reported(self, sample: Sample, values: FloatArray) -> float:
        """The SKCE with the kernel of the redraws, or of all pairs if its rank is low and that takes little time."""
        assert self.kernel is not None
        in_cells = isinstance(self._many, FewClasses)
        is_fast = on_a_line(self.kernel, sample.predictions) is not None or (
            len(sample) < ALL_PAIRS and sample.predictions.law.has_formulas(self.kernel.target_kernel)
        )
        numbers = self._components[0].numbers
        features = numbers.features[0] if isinstance(numbers, KernelSums) else None
        if not (in_cells or self._approximation) or (not is_fast and features is None):
            return super().reported(sample, values)
        if not is_fast and features is not None:
            targets = np.asarray(sample.targets)[None]
            return float(features.estimates(sample.predictions, targets, True, self.weights)[0])
        skce = SKCE(self.kernel) if self.weights is None else WeightedSKCE(self.kernel, self.weights)
        return skce.estimate(sample)

    @property
    def _approximation(self) -> str:
        return self._components[0].approximation

    def values(self, predictions: Predictions, targets: Array) -> FloatArray:
        """The numbers of all components, one below the other; those that share no kernel for a part of the redraws."""
        if isinstance(self._many, ManyClasses) and predictions.finite is not None:
            many, law = self._many, predictions.finite
            if many.draws_by_row:
                return many.values(many.of_blocks(law, len(targets), lambda block: targets[:, block]))
            listed = self._components[0].values(law, targets, None) if many.lists_are_faster(len(targets)) else None
            return many.of_labels(law, targets, listed)
        whole, others = ([one for one in self._components if one.shares_kernel is shared] for shared in (True, False))

        def values(components: list[Component], targets: Array) -> FloatArray:
            return np.concatenate([one.values(predictions, targets, self.weights) for one in components])

        parts = list(ranges(len(targets), self._at_once(predictions, targets)))
        some = threaded(lambda part: values(others, targets[part]), parts, len(parts), "redraws", products=True)
        return np.concatenate([values(whole, targets), np.concatenate(list(some), axis=1)])

    @staticmethod
    def _at_once(predictions: Predictions, targets: Array) -> int:
        """Redraws that are looked at together: of classes and counts many, as each part makes tables of predictions."""
        n_redraws, size, law = len(targets), int(targets[0].size), predictions.law
        if law.finite is None and not law.discrete:
            return max(LEAST, TARGETS // size)
        return max(LEAST, min(LABELS // size, -(-n_redraws // n_threads())))

    def drawn(
        self, predictions: Predictions, observed: Array | None, n_redraws: int, rng: np.random.Generator
    ) -> FloatArray | None:
        """The numbers (J, B) for observed targets, if given, and redraws that are never in memory together.

        Of many predictions of classes; None for others.
        """
        if not self.draws_by_row:
            return None
        return self.of_rows.drawn(law_of(predictions), observed, n_redraws, row_seed(rng))

    def estimate(self, sample: Sample) -> float:
        """The SKCE, of pairs between clusters if there are some."""
        if self.clusters is None:
            return super().estimate(sample)
        assert self.kernel is not None
        return ClusterSKCE(self.kernel, self.clusters).estimate(sample)

    def in_clusters(
        self, sample: Sample, n_resamples: int, rng: np.random.Generator, are_rare: bool
    ) -> tuple[float, list[FloatArray]]:
        """The estimate, and numbers (J, B + 1) with signs and redraws, and where outcomes are rare with bursts of them.

        Signs are those of clusters; redraws are independent within clusters, and bursts all follow from one number.
        """
        how = self.of_rows, sample, self.clusters.partitions[0], n_resamples, rng
        numbers = numbers_in_clusters(*how)
        some = [numbers.signed, numbers.redrawn, *([numbers_together(*how)] if are_rare else [])]
        return numbers.between_groups() if len(sample) >= ALL_PAIRS else self.estimate(sample), some

    def combined(self, values: FloatArray) -> FloatArray:
        """Logarithm of a weighted sum of reciprocal tail probabilities of all columns, (B,)."""
        return sum_of_reciprocals(self._tails(values))

    def _tails(self, values: FloatArray) -> list[tuple[Column, FloatArray]]:
        """Columns and logarithms of their reciprocal tail probabilities, kept for the numbers that were looked at."""
        if self._latest is None or self._latest[0] is not values:
            columns = self.columns(values)
            tails = list(zip(columns, tail_exponents(stacked(columns)), strict=True))
            object.__setattr__(self, "_latest", (values, tails))
        assert self._latest is not None
        return self._latest[1]

    def compared(self, values: FloatArray, known: FloatArray, first: int) -> tuple[FloatArray, FloatArray]:
        """Statistics of numbers (J, R) of other outcomes, and of redraws, those of known ones (J, B) from the first."""
        tails = self._tails(known)
        columns, null = self.columns(values, known[:, first:]), stacked([one for one, _ in tails])[:, first:]
        found = list(zip(columns, tail_exponents(stacked(columns), null), strict=True))
        return sum_of_reciprocals(found), sum_of_reciprocals(tails)[first:]

    def row_of(self, name: str) -> int:
        """Where the numbers of a component begin."""
        return sum(one.n_values for one in takewhile(lambda one: one.name != name, self._components))

    def columns(self, values: FloatArray, null: FloatArray | None = None) -> list[Column]:
        """Those of all components from their numbers, with weights of sum 1; see ``standardised`` for ``null``."""
        nulls = [None] * len(self._components) if null is None else self.parts(null)
        parts = list(zip(self._components, self.parts(values), nulls, strict=True))
        if self.features:
            (component, part, redrawn), parts = parts[-1], parts[:-1]
            others = [(1.0 - GIVEN_FEATURES, one) for one in self._weighed(parts)]
            by_features = [(GIVEN_FEATURES, one) for one in component.columns(part, redrawn)]
            return [replace(one, weight=share * one.weight) for share, one in (*others, *by_features)]
        return self._weighed(parts)

    @staticmethod
    def _weighed(parts: list[tuple[Component, FloatArray, FloatArray | None]]) -> list[Column]:
        """Faults have their weight beside 1 for all other components together."""
        faults = sum(one.weight for one, _, _ in parts if isinstance(one, FaultsComponent))
        others = sum(one.weight for one, _, _ in parts) - faults
        weighed = []
        for one, part, null in parts:
            whole = (1.0 + faults) * (1.0 if isinstance(one, FaultsComponent) else others)
            weighed += [replace(column, weight=column.weight / whole) for column in one.columns(part, null)]
        return weighed

    def parts(self, values: FloatArray) -> list[FloatArray]:
        """The numbers of each component."""
        sizes = [one.n_values for one in self._components]
        return np.split(values, np.cumsum(sizes)[:-1])

    def told(self, sample: Sample, values: FloatArray, pvalue: float) -> dict[str, Any]:
        """Fields of an ``Outcome`` that explain it; the first column of the numbers (J, B) is that of the sample."""
        tails, last = self._tails(values), self._components[-1]
        bases = last.numbers.bases if isinstance(last, FeaturesComponent) else []
        found = {"components": by_component(tails, bases, sample), "features": by_feature(tails, bases)}
        return found | told(sample, pvalue, self.weights, self.clusters)

    def hypothesis(self, predictions: Predictions) -> str:
        hypothesis = predictions.hypothesis
        for letter, some in (("X", bool(self.features)), ("w", self.weights is not None)):
            hypothesis = given(hypothesis, letter) if some else hypothesis
        return hypothesis

    @property
    def assumptions(self) -> str:
        """Weights must not be chosen by the targets."""
        if self.clusters is not None:
            return ASSUMPTIONS
        return super().assumptions if self.weights is None else f"{super().assumptions}; {ASSUMED}"

    def notes(self, n: int) -> tuple[str, ...]:
        notes = () if self.kernel is None else kernel_notes(self.kernel, n)
        if n > KEPT:
            notes = (*notes, f"what is wrong is found from at most {KEPT} of the {n} observations")
        if self.weights is None:
            return notes
        worth = effective_number(self.weights)
        number = f"{worth:.3g}" if worth < 1000.0 else f"{worth:.0f}"
        left = f"{number} observation{'' if number == '1' else 's'} of equal weight"
        return (*notes, f"the weights leave as much evidence as {left} would")

    def resolved_notes(self) -> tuple[str, ...]:
        if self.draws_by_row:
            return (self.of_rows.note,)
        return (self._approximation,) if self._approximation else ()

    def effect_size(self, estimate: float, predictions: Predictions, mean: float | None) -> EffectSize:
        assert self.kernel is not None
        return share_of_bound(estimate, self.kernel, predictions)

    def describe(self, predictions: Predictions) -> str:
        kernel = (predictions.default_kernel() if self.kernel is None else self.kernel).describe()
        weighted = "" if self.weights is None else "weighted "
        return f"omnibus of {weighted}{', '.join(one.name for one in self._components)}; k = {kernel}"


def row_seed(rng: np.random.Generator) -> np.uint64:
    """The seed of random numbers that depend on it and on the number of the row."""
    return rng.spawn(1)[0].integers(2**64, dtype=np.uint64)


def stacked(columns: list[Column]) -> FloatArray:
    """Their values, one below the other."""
    return np.stack([one.values for one in columns])


def _normalised(weights: FloatArray) -> FloatArray | None:
    """Weights with the sum of their squares, the effective number of observations; None for equal ones."""
    if weights.min() == 0.0:
        raise ValueError(
            f"weights: got 0 at row {int(weights.argmin())}, wanted numbers above 0; leave such rows out, as "
            "calibration_test(..., weights=...) does"
        )
    if weights.min() == weights.max():
        return None
    return read_only(weights * (weights.sum() / (weights @ weights)), np.float64)
