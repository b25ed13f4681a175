"""The likelihood ratio of clusters: one outcome of each, averaged over all choices."""

from dataclasses import dataclass, field

import numpy as np

from caltest._types import Array, ArrayLike, FloatArray
from caltest._validation import same_length
from caltest.estimators.cluster_skce import ASSUMPTIONS, as_clusters
from caltest.estimators.likelihood_ratio import LogLikelihoodRatio
from caltest.predictions import Predictions


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
        """Raise unless there is a cluster for each prediction, of a family with likelihood ratios."""
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
            logs.append(np.logaddexp.reduce(means.sum(axis=1) + alternatives.log_weights))
        return np.array(logs)

    def describe(self, predictions: Predictions) -> str:
        ratio = super().describe(predictions)
        return f"{ratio}, mean over the choices of one outcome of each of {self.clusters.n_clusters} clusters"
