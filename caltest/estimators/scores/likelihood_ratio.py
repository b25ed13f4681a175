"""The likelihood ratio of a mixture of alternatives to calibration, of observations or of clusters of them."""

from dataclasses import dataclass, field

import numpy as np

from caltest._basics.numerics import Array, ArrayLike, FloatArray
from caltest._results.values import EffectSize
from caltest._validation import at_least, same_length
from caltest.estimators.base import RedrawnEstimator
from caltest.estimators.kernel_errors.cluster_skce import ASSUMPTIONS, as_clusters
from caltest.predictions import Predictions
from caltest.predictions.alternatives import Alternatives


@dataclass(frozen=True)
class LogLikelihoodRatio(RedrawnEstimator):
    """``log E`` with ``E = sum_k w_k prod_i Q_k(Y_i | P_i) / P_i(Y_i)``, for a list of alternatives Q_k to calibration.

    The alternatives are fixed given the predictions: for classes other temperatures, labels at random and classes that
    are too frequent; for continuous distributions shifted and scaled outcomes; for counts other means and dispersions
    (``caltest.predictions.alternatives``). If the
    predictions are calibrated, E has mean 1 whatever they are, so 1 / E bounds a p-value (``EValueBound``). It finds
    what its alternatives describe with the power of a likelihood ratio, and can miss what none of them resembles.

    Notes
    -----
    Time O(n k) for each alternative and O(n) for each of them and each redraw. ``TypeError`` for families whose
    densities are not known: ensembles, mixtures of vectors. Outcomes of predicted probability 0 count as
    probability 5e-324.

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
class ClusterLikelihoodRatio(LogLikelihoodRatio):
    """``log E`` with ``E = sum_k w_k prod_c mean_{i in c} Q_k(Y_i | P_i) / P_i(Y_i)``, c over clusters.

    It is the mean of the likelihood ratios of ``LogLikelihoodRatio`` for one observation of each cluster, over all
    choices. Each ratio has mean 1 if the predictions are calibrated, so E has mean 1 for any dependence of outcomes
    within clusters, and ``1 / E`` bounds a p-value (``EValueBound``).

    Parameters
    ----------
    clusters
        (n,) array-like of labels.

    Raises
    ------
    ValueError
        For missing labels or a single cluster; at the call for another number of predictions.
    TypeError
        For families without known likelihood ratios.

    Notes
    -----
    Time O(n K) for K alternatives.

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
    is_clustered = True
    assumptions = ASSUMPTIONS

    def __post_init__(self) -> None:
        object.__setattr__(self, "clusters", as_clusters(self.clusters))

    def check(self, predictions: Predictions) -> None:
        super().check(predictions)
        same_length(len(predictions), len(self.clusters), "clusters")

    def estimates(self, predictions: Predictions, targets: Array) -> FloatArray:
        alternatives = predictions.law.alternatives()
        assert alternatives is not None
        order = np.argsort(self.clusters.codes, kind="stable")
        sizes = self.clusters.sizes
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
