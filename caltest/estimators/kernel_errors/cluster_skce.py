"""Estimates that allow for outcomes that depend on each other within clusters: patients, households, days."""

from dataclasses import dataclass, field

import numpy as np

from caltest._basics.types import Array, ArrayLike, FloatArray
from caltest._validation import same_length
from caltest._validation.groups import labels_of
from caltest.estimators.base import RedrawnEstimator
from caltest.estimators.kernel_errors.kernel_estimator import KernelEstimator
from caltest.hstatistics.sums.cluster_sums import Clusters, between_pair_sums
from caltest.kernels import PairKernel
from caltest.predictions import Predictions

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
    For ``ClusterBootstrap``, as ``ClusterSKCETest(kernel, clusters)``: redraws that are independent within clusters
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
        sums = between_pair_sums(self.kernel, self.clusters, predictions, targets)
        return np.asarray(sums / self.clusters.n_pairs_between)

    def describe(self, predictions: Predictions) -> str:
        return f"SKCE (unbiased, pairs between {self.clusters.n_clusters} clusters), k = {self.kernel.describe()}"
