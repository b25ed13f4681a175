"""One observation of each cluster, after which every test applies."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from caltest._basics.numerics import generator_apart, own_errstate
from caltest._basics.types import Array, ArrayLike
from caltest._validation import same_length
from caltest._validation.groups import rows_of
from caltest.estimators.kernel_errors.cluster_skce import as_clusters
from caltest.predictions import Predictions
from caltest.predictions.convert import as_sample


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
    predictions, targets
        What ``calibration_test`` takes.
    classes
        Names of the classes in the order of the columns, if the targets are names.
    clusters
        (n,) array-like of labels.
    rng
        Seed or ``numpy.random.Generator`` of the choice.

    Returns
    -------
    tuple
        ``(predictions, targets)`` of C observations, in their order.

    Raises
    ------
    ValueError
        For bad data, missing labels, or a single cluster.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.estimators.one_per_cluster([0.1, 0.2, 0.7, 0.8], [0, 1, 1, 0], ["a", "a", "b", "b"], rng=1)
    >>> p.probability, y
    (array([0.1, 0.8]), array([0, 0]))
    """
    sample = as_sample(predictions, targets, classes, copy=True, pooled=False)
    found = as_clusters(rows_of(clusters, "clusters", targets))
    same_length(len(sample), len(found), "clusters")
    order = generator_apart(rng).permutation(len(sample))
    _, first = np.unique(found.codes[order], return_index=True)
    rows = np.sort(order[first])
    return sample.predictions.take(rows), sample.targets[rows]
