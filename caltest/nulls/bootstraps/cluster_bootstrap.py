"""Multiplier (wild) bootstrap with one sign for each cluster."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from caltest._basics.jobs import Stream, run
from caltest._basics.numerics import FloatArray
from caltest.estimators import ClusterSKCE, Estimator
from caltest.hstatistics.sums.cluster_sums import within_pair_sums
from caltest.hstatistics.sums.pairs import h_diagonal, weighted_sums
from caltest.hstatistics.variances.null_variance import variance_between_clusters
from caltest.nulls.base import Resampled, ResamplingNull
from caltest.nulls.bootstraps.arcones_gine import columns_of_streams, passes, widened
from caltest.predictions import Sample

LEAST, FEW = 5, 10
"""Clusters that a test needs, and from which on it rejects 4 to 6 % of calibrated models at the 5 % level."""


@dataclass(frozen=True)
class ClusterBootstrap(ResamplingNull):
    """Null distribution of ``ClusterSKCE`` from independent random signs e of the clusters.

    With ``H_cd = sum_{i in c, j in d} h_ij`` a draw is the sum of ``e_c e_d H_cd`` over all clusters c and d that
    differ, divided by the number of pairs; with all signs 1 it is the estimate. Signs keep the dependence of outcomes
    within clusters, whatever it is. What the draws lack of the variance that the estimate has given the predictions if
    outcomes within clusters are independent too is added to them, as in ``ArconesGineBootstrap``.

    Parameters
    ----------
    n_resamples
        Number B >= 1 of draws (``ValueError`` otherwise); the smallest p-value is 1 / (B + 1), or about
        2 / 2**C for C clusters.

    Raises
    ------
    ValueError
        In a test of fewer than 5 clusters.

    Notes
    -----
    p = (1 + #{draw >= estimate}) / (1 + B). Asymptotic in the number of clusters, which are independent: of rare events
    (Beta(0.3, 12), 30 clusters of 3 equal predictions) it rejects 0.6 % at the 5 % level if outcomes within clusters
    are independent, and 8 % if they are equal, as the variance is then larger than known (500 data sets each). Time
    O(n**2 (k + B)) by matrix products, or O(n B) for binary predictions with an exponential kernel.

    Sources: signs of clusters in place of observations in the multiplier bootstrap of Leucht and Neumann 2013 and
    Chwialkowski, Sejdinovic and Gretton 2014.

    Examples
    --------
    >>> import caltest as ct
    >>> import numpy as np
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> clusters = np.arange(899) // 3
    >>> estimator = ct.estimators.ClusterSKCE(p.default_kernel(), clusters)
    >>> test = ct.CalibrationTest(estimator, ct.nulls.ClusterBootstrap(n_resamples=99))
    >>> test(p, y, rng=1).pvalue
    0.01
    """

    n_resamples: int = 999

    pvalue_kind = "resampling"
    requires = ClusterSKCE
    wanted = "ClusterSKCE(kernel, clusters)"
    allows_clusters = True

    def check_size(self, estimator: Estimator, n: int) -> None:
        assert isinstance(estimator, ClusterSKCE)
        if estimator.clusters.n_clusters < LEAST:
            raise ValueError(
                f"clusters: got {estimator.clusters.n_clusters}, wanted at least {LEAST}: random signs of so few have "
                "hardly any distribution; use one_per_cluster, or ClusterLikelihoodRatio"
            )

    def resample(self, estimator: Estimator, sample: Sample, rng: np.random.Generator) -> Resampled:
        assert isinstance(estimator, ClusterSKCE)
        kernel, clusters = estimator.kernel, estimator.clusters
        pairs = within_pair_sums(kernel, clusters, sample.predictions, np.asarray(sample.targets)[None])
        # What signs do not change: h of observations with themselves and with others of their cluster.
        constant = float(h_diagonal(kernel, sample).sum()) + 2.0 * float(pairs[0])
        parts = passes(len(sample), rng, self.n_resamples)
        results = run(_forms, [(estimator, sample, part) for part in parts], "bootstrap")
        scale = 2.0 * clusters.n_pairs_between
        estimate = (results[0][1] - constant) / scale
        draws = (np.concatenate([forms for forms, _ in results]) - constant) / scale
        variance = variance_between_clusters(kernel, clusters, sample.predictions, rng)
        return estimate, estimate, widened(draws, variance, rng)

    def notes(self, estimator: Estimator, n: int) -> tuple[str, ...]:
        assert isinstance(estimator, ClusterSKCE)
        if estimator.clusters.n_clusters >= FEW:
            return ()
        n_clusters = estimator.clusters.n_clusters
        return (
            f"only {n_clusters} clusters: the test is conservative, with less than 1 % of false rejections at the 5 % "
            "level for 5 clusters",
        )

    def describe(self) -> str:
        return f"multiplier bootstrap with a random sign for each cluster, {self.n_resamples} draws"


def _forms(estimator: ClusterSKCE, sample: Sample, part: Sequence[Stream]) -> tuple[FloatArray, float]:
    """``e' H e`` for the signs e of observations, those of their clusters, and the sum of all h."""
    clusters = estimator.clusters

    def draw_signs(generator: np.random.Generator, signs: FloatArray) -> None:
        signs[:] = np.where(generator.integers(2, size=signs.shape[::-1], dtype=np.int8) == 0, -1.0, 1.0).T

    signs = columns_of_streams(clusters.n_clusters, part, draw_signs, "multipliers", work=8.0)
    forms, rows = weighted_sums(estimator.kernel, sample, np.ascontiguousarray(signs[clusters.codes]))
    return forms, float(rows.sum())
