"""Estimates that allow for outcomes that depend on each other within clusters: patients, households, days."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from caltest._basics.arrays import order_of
from caltest._basics.calls import own_errstate
from caltest._basics.numerics import Array, ArrayLike, FloatArray, IntArray, generator_apart
from caltest._validation import same_length
from caltest._validation.columns import refuse_outcomes
from caltest._validation.groups import label_columns, labels_of
from caltest.estimators.base import Estimator, RedrawnEstimator
from caltest.estimators.kernel_errors.kernel_estimator import KernelEstimator
from caltest.hstatistics.redraws.of_all_families import redrawn_means
from caltest.hstatistics.redraws.within_clusters import Clusters, Partition, within_pair_sums
from caltest.kernels import PairKernel
from caltest.predictions import Predictions, Sample
from caltest.predictions.inputs.convert import as_sample, observed_targets

ASSUMPTIONS = (
    "outcomes independent between clusters given all predictions, of any dependence within; not used to fit or "
    "recalibrate the model, or to predict other clusters (were they?)"
)
"""What no test can check."""


def as_clusters(data: ArrayLike, targets: ArrayLike = None) -> Clusters:
    """Clusters from a column of labels or two, with their rows in the order of targets, if some are given.

    ``ValueError`` for missing labels or a single cluster: two labels of which every two observations share one are one.
    """
    if isinstance(data, Clusters):
        return data
    partitions = []
    for one in label_columns(data, targets):
        labels, codes = labels_of(one, "clusters")
        partitions.append(Partition(codes, len(labels)))
    found = Clusters.of(partitions)
    if found.n_clusters < 2:
        raise ValueError("clusters: got one cluster of all observations, wanted at least 2, which are independent")
    return found


def check_clusters(clusters: Clusters, targets: Array) -> None:
    """Raise ``ValueError`` for clusters that are the outcomes."""
    refuse_outcomes([("clusters", one.codes) for one in clusters.partitions], np.asarray(targets), "{}")


class InClusters(Estimator):
    """An estimator with clusters, within which outcomes may depend on each other."""

    clusters: Any
    is_clustered = True
    assumptions = ASSUMPTIONS

    def check(self, predictions: Predictions) -> None:
        super().check(predictions)  # type: ignore[safe-super]
        same_length(len(predictions), len(self.clusters), "clusters")

    def check_sample(self, sample: Sample) -> None:
        super().check_sample(sample)
        check_clusters(self.clusters, sample.targets)


@dataclass(frozen=True, eq=False)
class ClusterSKCE(InClusters, KernelEstimator, RedrawnEstimator):
    """Mean of h over the pairs of observations in different clusters.

    Outcomes in the same cluster may depend on each other; the pairs of them are left out, so that the estimate has mean
    0 if predictions are calibrated, for any dependence within clusters.

    Parameters
    ----------
    kernel
        Product of a kernel of predictions and a kernel of targets.
    clusters
        (n,) array-like of labels; or two for each observation, such as its patient and its day, as an (n, 2)
        array-like, a data frame of two columns, or a pair of columns. Outcomes may then depend on each other where they
        share the first label or the second, and the pairs that share one are left out. Where each cluster of one column
        lies in a cluster of the other, the larger ones are the clusters.

    Raises
    ------
    ValueError
        For missing labels or a single cluster; at the call for another number of predictions, or labels that are the
        outcomes.

    Notes
    -----
    For ``ClusterBootstrap``, as ``ClusterSKCETest(clusters)``: redraws that are independent within clusters
    are refused (``TypeError``). With clusters of one observation each it is ``SKCE``. Time O(n**2 k), memory O(n k).

    Examples
    --------
    >>> import caltest as ct
    >>> kernel = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), bandwidth=1.0), ct.DeltaKernel())
    >>> p, y = [0.2, 0.3, 0.6, 0.7], [1, 1, 0, 0]
    >>> round(ct.estimators.ClusterSKCE(kernel, ["a", "a", "b", "b"])(p, y), 6)
    -0.650506
    """

    citations = ("widmann2019",)

    kernel: PairKernel
    clusters: ArrayLike = field(repr=False)
    _checks = {"clusters": lambda _, labels: as_clusters(labels)}

    def for_rows(self, rows: IntArray) -> Self:
        return self._with(clusters=self.clusters.take(rows))

    def estimates(self, predictions: Predictions, targets: Array) -> FloatArray:
        n = len(predictions)
        total = redrawn_means([self.kernel], predictions, targets)[0] * (n * (n - 1) / 2.0)
        for part, sign in self.clusters.terms:
            total = total - sign * within_pair_sums(self.kernel, part, predictions, targets)
        return np.asarray(total / self.clusters.n_pairs_between)

    def describe(self, predictions: Predictions) -> str:
        numbers = " and of ".join(str(one.n_parts) for one in self.clusters.partitions)
        pairs = f"pairs that share none of {numbers}" if self.clusters.are_crossed else f"pairs between {numbers}"
        return self._described(f"{pairs} clusters")


@own_errstate
def one_per_cluster(
    predictions: ArrayLike,
    targets: ArrayLike,
    clusters: ArrayLike,
    *,
    classes: Sequence[Any] | None = None,
    rng: Any = None,
) -> tuple[Predictions, Array]:
    """Keep one observation of each cluster, chosen at random: with independent clusters they are independent.

    Every test applies to what is left, and exact ones are exact for any dependence of outcomes within clusters. With
    two labels for each observation those that are kept share neither, and are at most as many as the fewer labels.

    Parameters
    ----------
    predictions, targets, classes
        As in ``calibration_test``.
    clusters
        As in ``ClusterSKCE``.
    rng
        Seed or ``numpy.random.Generator`` of the choice.

    Returns
    -------
    tuple
        ``(predictions, targets)`` of the observations that are kept, in their order.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.estimators.one_per_cluster([0.1, 0.2, 0.7, 0.8], [0, 1, 1, 0], ["a", "a", "b", "b"], rng=1)
    >>> p.probability, y
    (array([0.1, 0.8]), array([0, 0]))
    """
    sample = as_sample(predictions, targets, classes, copy=True, pooled=False)
    found = as_clusters(clusters, order_of(targets, predictions))
    same_length(len(sample), len(found), "clusters")
    check_clusters(found, sample.targets)
    rows = found.independent_rows(generator_apart(rng).permutation(len(sample)))
    return sample.predictions.take(rows), observed_targets(targets)[rows]
