"""Estimates that allow for outcomes that depend on each other within clusters: patients, households, days."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from caltest._basics.numerics import Array, ArrayLike, FloatArray, generator_apart, order_of, own_errstate
from caltest._validation import same_length
from caltest._validation.groups import labels_of, rows_of
from caltest.estimators.base import RedrawnEstimator
from caltest.estimators.kernel_errors.kernel_estimator import KernelEstimator
from caltest.hstatistics.redraws.of_all_families import Clusters, redrawn_means, within_pair_sums
from caltest.kernels import PairKernel
from caltest.predictions import Predictions
from caltest.predictions.convert import as_sample

ASSUMPTIONS = (
    "outcomes independent between clusters given the predictions, of any dependence within; not used to fit or "
    "recalibrate the model (were they?)"
)
"""What no test can check."""


def as_clusters(data: ArrayLike) -> Clusters:
    """Clusters from (n,) labels; ``ValueError`` for missing ones, or fewer than two clusters."""
    if isinstance(data, Clusters):
        return data
    labels, codes = labels_of(data, "clusters")
    if len(labels) < 2:
        raise ValueError("clusters: got one cluster of all observations, wanted at least 2, which are independent")
    return Clusters(codes, len(labels))


@dataclass(frozen=True, eq=False)
class ClusterSKCE(KernelEstimator, RedrawnEstimator):
    """Mean of h over the pairs of observations in different clusters.

    Outcomes in the same cluster may depend on each other; the pairs of them are left out, so that the estimate has mean
    0 if predictions are calibrated, for any dependence within clusters.

    Parameters
    ----------
    kernel
        Product of a kernel of predictions and a kernel of targets.
    clusters
        (n,) array-like of labels.

    Raises
    ------
    ValueError
        For missing labels or a single cluster; at the call for another number of predictions.

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
    is_clustered = True
    assumptions = ASSUMPTIONS

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "clusters", as_clusters(self.clusters))

    def check(self, predictions: Predictions) -> None:
        same_length(len(predictions), len(self.clusters), "clusters")

    def estimates(self, predictions: Predictions, targets: Array) -> FloatArray:
        n = len(predictions)
        total = redrawn_means([self.kernel], predictions, targets)[0] * (n * (n - 1) / 2.0)
        between = total - within_pair_sums(self.kernel, self.clusters, predictions, targets)
        return np.asarray(between / self.clusters.n_pairs_between)

    def describe(self, predictions: Predictions) -> str:
        return f"SKCE (unbiased, pairs between {self.clusters.n_clusters} clusters), k = {self.kernel.describe()}"


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

    Every test applies to what is left, and exact ones are exact for any dependence of outcomes within clusters.

    Parameters
    ----------
    predictions, targets, classes
        As in ``calibration_test``.
    clusters
        (n,) array-like of labels.
    rng
        Seed or ``numpy.random.Generator`` of the choice.

    Returns
    -------
    tuple
        ``(predictions, targets)`` of C observations, in their order.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.estimators.one_per_cluster([0.1, 0.2, 0.7, 0.8], [0, 1, 1, 0], ["a", "a", "b", "b"], rng=1)
    >>> p.probability, y
    (array([0.1, 0.8]), array([0, 0]))
    """
    sample = as_sample(predictions, targets, classes, copy=True, pooled=False)
    found = as_clusters(rows_of(clusters, "clusters", order_of(targets, predictions)))
    same_length(len(sample), len(found), "clusters")
    order = generator_apart(rng).permutation(len(sample))
    _, first = np.unique(found.codes[order], return_index=True)
    rows = np.sort(order[first])
    return sample.predictions.take(rows), sample.targets[rows]
