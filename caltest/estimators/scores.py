"""Proper scores above their expectation, moments of residuals, and likelihood ratios of alternatives."""

from dataclasses import dataclass, field
from math import sqrt
from typing import ClassVar

import numpy as np
import scipy

from caltest._basics.numerics import Array, ArrayLike, FloatArray, Sums, effective_number
from caltest._loops.pair_sums.redraws import gathered_sums
from caltest._results.calibration_test_result import PValueKind
from caltest._results.values import EffectSize
from caltest._validation import at_least
from caltest.estimators.base import RedrawnEstimator, SummableEstimator, TextbookTail
from caltest.estimators.kernel_errors.cluster_skce import InClusters, as_clusters
from caltest.hstatistics.redraws.within_clusters import Clusters
from caltest.predictions import Predictions, Sample
from caltest.predictions.alternatives import Alternatives
from caltest.predictions.classes.finite import Score, outcome_scores
from caltest.predictions.reductions.standard_scores import mean_square, scores_of

ROUNDING = 1e-13
"""Standard deviations of this size, relative to the scores, are rounding errors."""

LARGEST_KURTOSIS = 0.5
"""Excess kurtosis of the score from which on the normal law is rough: few uncertain outcomes make it vary."""


class ExcessScore(RedrawnEstimator, SummableEstimator):
    """Mean of ``S(P, Y) - E S(P, Z)``, Z ~ P, for a score S of classes: 0 on average if predictions are calibrated."""

    score: ClassVar[Score]
    two_sided = True
    textbook_statistic = "z, standard normal if calibrated"
    textbook_kind: ClassVar[PValueKind] = "asymptotic"

    def check(self, predictions: Predictions) -> None:
        at_least(len(predictions), 1, type(self).__name__)
        if predictions.law.finite is None:
            raise TypeError(
                f"predictions: got {predictions.family} predictions, wanted probabilities of classes for "
                f"{type(self).__name__}; for numbers use ResidualMean() and ResidualSpread()"
            )

    def _excesses(self, predictions: Predictions) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Probabilities and scores of all outcomes, and scores less their means, (n, k)."""
        assert predictions.law.finite is not None
        p = predictions.law.finite.probabilities
        scores = outcome_scores(p, self.score)
        return p, scores, scores - np.einsum("ik,ik->i", p, scores)[:, None]

    def estimates(self, predictions: Predictions, targets: Array, weights: FloatArray | None = None) -> FloatArray:
        _, _, excess = self._excesses(predictions)
        if weights is not None:
            excess *= weights[:, None]
        total = len(predictions) if weights is None else weights.sum()
        return np.asarray(gathered_sums(excess, np.ascontiguousarray(targets)) / total)

    def sums(self, predictions: Predictions, targets: Array) -> "ScoreSums":
        p, scores, excess = self._excesses(predictions)
        variances, fourths = (np.einsum("ik,ik->i", p, excess**power) for power in (2, 4))
        totals = np.asarray(gathered_sums(excess, np.ascontiguousarray(targets)))
        squares = float(np.einsum("ik,ik->", p, np.square(scores)))
        return ScoreSums(
            len(p), totals, squares, float(variances.sum()), float((fourths - 3.0 * np.square(variances)).sum())
        )

    def of_sums(self, sums: "ScoreSums") -> FloatArray:
        return sums.totals / sums.n

    def textbook_tail(self, estimate: float, sample: Sample) -> TextbookTail:
        """Both normal tails of the estimate over its standard deviation given the predictions."""
        return self.tail_of_sums(self.sums(sample.predictions, np.asarray(sample.targets)[None]))

    def tail_of_sums(self, sums: "ScoreSums") -> TextbookTail:
        """The same from the sums of all parts."""
        if sums.variance <= ROUNDING**2 * sums.squares:
            return TextbookTail(0.0, 1.0)
        z = float(sums.totals[0]) / sqrt(sums.variance)
        kurtosis = sums.cumulant / sums.variance / sums.variance
        note = (
            "only few uncertain outcomes make the score vary, for which the normal law is rough: in simulations it "
            "rejected up to 11 % of calibrated predictions at the 5 % level and 3 % at the 1 % level, and 16 and 12 % "
            f"where all predictions were nearly equal and rare; MonteCarloTest({type(self).__name__}()) is exact"
        )
        notes = (note,) if kurtosis > LARGEST_KURTOSIS else ()
        return TextbookTail(z, 2.0 * float(scipy.special.ndtr(-abs(z))), notes=notes)


@dataclass(frozen=True, eq=False)
class ScoreSums(Sums):
    """Excess scores (B,) of n observations; mean squares of scores, variances and fourth cumulants if calibrated."""

    n: int
    totals: FloatArray
    squares: float
    variance: float
    cumulant: float


@dataclass(frozen=True)
class ExcessLogScore(ExcessScore):
    """Mean of ``-log p_Y`` minus the entropy of p: positive for overconfident predictions, negative for underconfident.

    Divided by its standard deviation given the predictions it is the score statistic for a temperature of the
    predictions at 1. ``MonteCarloTest(ExcessLogScore())`` is exact, ``LogScoreTest()`` takes the normal law; both are
    two-sided.

    Notes
    -----
    Time O(n k) and O(n) for each redraw. Probabilities of 0 count as 5e-324.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> round(ct.estimators.ExcessLogScore()(p, y), 4)
    -0.5734
    """

    score = "log"
    effect_unit = "nats per observation more than predicted"

    def describe(self, predictions: Predictions) -> str:
        return "mean log loss minus the mean entropy"


@dataclass(frozen=True)
class ExcessBrierScore(ExcessScore):
    """Mean of ``|e_Y - p|**2`` minus its expectation ``1 - |p|**2``: positive for overconfident predictions.

    For binary predictions it is twice the numerator of Spiegelhalter's statistic
    ``Z = sum (y - p)(1 - 2p) / sqrt(sum (1 - 2p)**2 p (1 - p))``, divided by n. ``MonteCarloTest(ExcessBrierScore())``
    is exact, ``SpiegelhalterTest()`` takes the normal law; both are two-sided. Blind to errors that do not change the
    mean score, such as those of predictions around 1/2.

    Notes
    -----
    Time O(n k) and O(n) for each redraw. Source: Spiegelhalter 1986, for binary predictions.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> round(ct.estimators.ExcessBrierScore()(p, y), 4)
    -0.2642
    """

    citations = ("spiegelhalter1986",)

    score = "brier"
    effect_unit = "Brier score above its prediction"

    def describe(self, predictions: Predictions) -> str:
        return "mean Brier score minus its expectation"


class ResidualMoment(RedrawnEstimator):
    """A moment of standardised residuals of numbers or vectors."""

    def check(self, predictions: Predictions) -> None:
        at_least(len(predictions), 1, type(self).__name__)
        if predictions.law.finite is not None:
            raise TypeError(
                f"predictions: got {predictions.family} predictions, wanted distributions of numbers or vectors for "
                f"{type(self).__name__}; for classes use ExcessLogScore() and ExcessBrierScore()"
            )


@dataclass(frozen=True)
class ResidualMean(ResidualMoment):
    """Squared length of the mean residual: are outcomes above or below what was predicted.

    ``n |mean z|**2 - d`` with the standard scores of the predictions: standardised residuals for normal ones,
    normal quantiles of ``F(Y)`` for other continuous ones. If those predictions are calibrated, it is a chi-squared
    variable of d degrees of freedom minus d.

    Notes
    -----
    Time O(n d) for each redraw.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.generators.GaussianModel(calibrated=False).sample(100, rng=1)
    >>> ct.MonteCarloTest(ct.estimators.ResidualMean(), n_resamples=99)(p, y, rng=1).pvalue
    0.01
    """

    def estimates(self, predictions: Predictions, targets: Array, weights: FloatArray | None = None) -> FloatArray:
        return self.moments(scores_of(predictions.law, targets), weights)

    def moments(self, scores: FloatArray, weights: FloatArray | None = None) -> FloatArray:
        """``n |mean z|**2 - d``, with weights the effective number of observations for n."""
        mean = scores.mean(axis=1) if weights is None else np.einsum("bi...,i->b...", scores, weights / weights.sum())
        squares = np.square(mean) if mean.ndim == 1 else np.square(mean).sum(axis=1)
        n = scores.shape[1] if weights is None else effective_number(weights)
        return np.asarray(n * squares - (scores.shape[2] if scores.ndim == 3 else 1))

    def effect_size_of(self, estimate: float, sample: Sample, mean: float | None) -> EffectSize:
        """The length of the mean residual, without its part from noise."""
        unit = "length of the mean residual in predicted standard deviations"
        return EffectSize(sqrt(max(0.0, estimate) / len(sample)) * in_predicted_units(sample), unit)

    def describe(self, predictions: Predictions) -> str:
        return "squared mean of the standardised residuals"


@dataclass(frozen=True)
class ResidualSpread(ResidualMoment):
    """Mean of ``|z|**2 / d - 1`` for the residuals z of d coordinates: positive where predictions are too narrow.

    For normal predictions half of it, times d, is the excess of the log loss. ``MonteCarloTest(ResidualSpread())`` is
    exact and two-sided. For ensembles it is ``(sum |e|**2 - v / m) / v - 1`` with the differences e of outcomes and
    means of the m members, and the sum v of the variances of the members, with divisors m - 1: unbiased in the parts.

    Notes
    -----
    Time O(n d) for each redraw. ``ValueError`` for ensembles of one member.

    Examples
    --------
    >>> import caltest as ct
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> y = 1.5 * rng.normal(size=100)
    >>> test = ct.MonteCarloTest(ct.estimators.ResidualSpread(), n_resamples=99)
    >>> test(ct.Normal(np.zeros(100), 1.0), y, rng=1).pvalue
    0.01
    """

    two_sided = True
    effect_unit = "variance of the residuals above what was predicted, relative to it"

    def check(self, predictions: Predictions) -> None:
        super().check(predictions)
        if not predictions.law.has_spread:
            raise ValueError(
                "members: got an outcome that is one of two values, which are equally far from their mean; wanted at "
                "least 2 members of ensembles, or 3 scenarios, for ResidualSpread(), or ResidualMean()"
            )

    def estimates(self, predictions: Predictions, targets: Array, weights: FloatArray | None = None) -> FloatArray:
        return predictions.law.excess_spread(targets, weights)

    def describe(self, predictions: Predictions) -> str:
        return "mean square of the standardised residuals - 1"


def in_predicted_units(sample: Sample) -> float:
    """A mean score of 1 in predicted standard deviations, which are those of the members for ensembles."""
    law = sample.predictions.law
    share = law.spread_shares(mean_square(law.standard_scores(np.asarray(sample.targets)[None])))
    return sqrt(law.weight / float(share[0]))


@dataclass(frozen=True)
class LogLikelihoodRatio(RedrawnEstimator):
    """``log E`` with ``E = sum_k w_k prod_i Q_k(Y_i | P_i) / P_i(Y_i)``, for a list of alternatives Q_k to calibration.

    The alternatives are fixed given the predictions: for classes other temperatures, labels at random and classes that
    are too frequent; for continuous distributions shifted and scaled outcomes; for counts other means and dispersions
    (``caltest.predictions.alternatives``); none are known for ensembles and mixtures of vectors (``TypeError``). If the
    predictions are calibrated and rows independent, E has mean 1, so 1 / E bounds a p-value (``EValueBound``). It finds
    what its alternatives describe with the power of a likelihood ratio, and can miss what none of them resembles.

    Notes
    -----
    Time O(n k) for each alternative and O(n) for each of them and each redraw. Outcomes of predicted probability 0
    count as probability 5e-324.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["naive Bayes"]
    >>> ct.estimators.LogLikelihoodRatio()(p, y) > 100
    True
    """

    def check(self, predictions: Predictions) -> None:
        at_least(len(predictions), 1, "LogLikelihoodRatio")
        if predictions.law.alternatives() is None:
            raise TypeError(
                f"predictions: got {predictions.family} predictions, for which no likelihood ratios are known here; "
                "wanted classes, counts or continuous distributions of numbers"
            )

    def estimates(self, predictions: Predictions, targets: Array) -> FloatArray:
        alternatives = predictions.law.alternatives()
        assert alternatives is not None
        return log_ratios_of(alternatives, targets)

    def effect_size(self, estimate: float, predictions: Predictions, mean: float | None) -> EffectSize:
        return EffectSize(estimate / len(predictions), "nats per observation in favour of the alternatives")

    def describe(self, predictions: Predictions) -> str:
        return "log of the likelihood ratio of a mixture of alternatives to calibration"


def log_ratios_of(alternatives: Alternatives, targets: Array) -> FloatArray:
    """``log sum_k w_k prod_i Q_k / P_i`` for many targets, (B,)."""
    return log_mixture(alternatives.log_ratios(targets), alternatives.weights)


def log_mixture(logs: FloatArray, weights: FloatArray) -> FloatArray:
    """``log sum_k w_k exp(L_k)`` for each column of logarithms (K, B), (B,)."""
    logs = logs + np.log(weights)[:, None]
    largest = logs.max(axis=0)
    return np.asarray(largest + np.log(np.exp(logs - largest).sum(axis=0)))


@dataclass(frozen=True, eq=False)
class ClusterLikelihoodRatio(InClusters, LogLikelihoodRatio):
    """``log E`` with ``E = sum_k w_k prod_c mean_{i in c} Q_k(Y_i | P_i) / P_i(Y_i)``, c over clusters.

    It is the mean of the likelihood ratios of ``LogLikelihoodRatio`` for one observation of each cluster, over all
    choices. Each ratio has mean 1 if the predictions are calibrated, so E has mean 1 for any dependence of outcomes
    within clusters, and ``1 / E`` bounds a p-value (``EValueBound``). Time O(n K) for K alternatives.

    Parameters
    ----------
    clusters
        (n,) array-like of labels, with the errors of ``ClusterSKCE``; ``ValueError`` for two of each observation.

    Raises
    ------
    TypeError
        For families without known likelihood ratios.

    Examples
    --------
    >>> import caltest as ct
    >>> import numpy as np
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> estimator = ct.estimators.ClusterLikelihoodRatio(np.arange(899) // 3)
    >>> ct.CalibrationTest(estimator, ct.nulls.EValueBound())(p, y).pvalue < 1e-9
    True
    """

    clusters: ArrayLike = field(repr=False)
    _checks = {"clusters": lambda _, labels: _not_crossed(as_clusters(labels))}

    def estimates(self, predictions: Predictions, targets: Array) -> FloatArray:
        alternatives = predictions.law.alternatives()
        assert alternatives is not None
        (clusters,) = self.clusters.partitions
        order, sizes = np.argsort(clusters.codes, kind="stable"), clusters.sizes
        starts = np.cumsum(sizes) - sizes
        logs = []
        for y in targets:
            terms = alternatives.log_ratio_terms(y)[:, order]
            means = np.logaddexp.reduceat(terms, starts, axis=1) - np.log(sizes)
            logs.append(np.logaddexp.reduce(means.sum(axis=1) + np.log(alternatives.weights)))
        return np.array(logs)

    def describe(self, predictions: Predictions) -> str:
        ratio = super().describe(predictions)
        return f"{ratio}, mean over the choices of one outcome of each of {self.clusters.n_clusters} clusters"


def _not_crossed(clusters: Clusters) -> Clusters:
    if clusters.are_crossed:
        raise ValueError(
            "clusters: got two labels for each observation, wanted one; for two use ClusterSKCETest, or "
            "LikelihoodRatioTest of what one_per_cluster(predictions, targets, clusters) keeps"
        )
    return clusters
