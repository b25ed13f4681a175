from datetime import date

import numpy as np
import pandas as pd
import pytest
from contracts import CASES, N
from printed import unfolded
from samples import TV, W2, samples
from scipy.stats import binom

import caltest as ct

CLUSTERS = np.random.default_rng(3).permutation(np.arange(N) // 3)


def h_matrix(kernel, predictions, y):
    law = predictions.law
    return sum(
        one.prediction_kernel.tile(predictions, predictions) * law.centred_kernel(one.target_kernel, y, law, y)
        for one in kernel.products
    )


@pytest.mark.every(9)
@pytest.mark.parametrize(("maker", "kernel"), CASES[::3])
def test_mean_over_pairs_in_different_clusters(maker, kernel):
    sample = maker()
    kernel = kernel.resolve(sample.predictions)
    h = h_matrix(kernel, sample.predictions, sample.targets)
    pairs = [h[i, j] for i in range(N) for j in range(i) if CLUSTERS[i] != CLUSTERS[j]]
    estimate = ct.estimators.ClusterSKCE(kernel, CLUSTERS)(sample.predictions, sample.targets)
    assert estimate == pytest.approx(np.mean(pairs), rel=1e-9, abs=1e-11)


def test_clusters_larger_than_tiles():
    data = samples(900, 3)
    clusters = np.arange(900) % 2
    h = h_matrix(TV, ct.Categorical(data.p), data.y)
    expected = h[clusters[:, None] != clusters].mean()
    assert ct.estimators.ClusterSKCE(TV, clusters)(data.p, data.y) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("kernel", [TV, W2])
def test_clusters_of_one_observation(kernel):
    data = samples(60, 3)
    p, y = (ct.Categorical(data.p), data.y) if kernel is TV else (data.normal, data.targets)
    estimate = ct.estimators.ClusterSKCE(kernel, np.arange(60))(p, y)
    assert estimate == pytest.approx(ct.SKCE(kernel)(p, y), rel=1e-11)


def test_signs_of_clusters_by_the_definition(monkeypatch):
    """Draws for known signs, with arrays of all pairs."""
    data = samples(30, 3)
    clusters = np.random.default_rng(1).permutation(np.arange(30) // 4)
    n_clusters = clusters.max() + 1
    h = h_matrix(TV, ct.Categorical(data.p), data.y)
    signs = np.where(np.random.default_rng(2).random((n_clusters, 50)) < 0.5, -1.0, 1.0)
    monkeypatch.setattr("caltest.nulls.bootstraps.columns_of_streams", lambda *args, **kwargs: signs)
    monkeypatch.setattr("caltest.nulls.bootstraps.variance_between_clusters", lambda *args: None)
    result = ct.ClusterSKCETest(clusters, TV, 50)(data.p, data.y, rng=1)
    n_pairs = sum(clusters[i] != clusters[j] for i in range(30) for j in range(30))
    for b in range(50):
        e = signs[clusters, b]
        total = sum(e[i] * e[j] * h[i, j] for i in range(30) for j in range(30) if clusters[i] != clusters[j])
        assert result.null_distribution[b] == pytest.approx(total / n_pairs, rel=1e-9, abs=1e-12)
    assert result.estimate == pytest.approx(ct.estimators.ClusterSKCE(TV, clusters)(data.p, data.y), rel=1e-11)
    assert "independent between clusters" in unfolded(result)
    assert "only 8 clusters" in result.notes[0]


A, B = np.random.default_rng(4).integers(0, 6, (2, 30))
"""Two crossed labels of 30 rows."""

FORMS = {
    "array": np.stack([A, B], axis=1),
    "frame": pd.DataFrame({"ward": [f"w{one}" for one in A], "day": [date(2026, 1, 1 + one) for one in B]}),
    "pair": (A.tolist(), pd.Series(B)),
    "rows": [(f"w{a}", int(b)) for a, b in zip(A, B, strict=True)],
}


@pytest.mark.parametrize("form", FORMS)
def test_pairs_that_share_neither_of_two_labels(form):
    data = samples(30, 3)
    h = h_matrix(TV, ct.Categorical(data.p), data.y)
    expected = h[(A[:, None] != A) & (B[:, None] != B)].mean()
    estimator = ct.estimators.ClusterSKCE(TV, FORMS[form])
    assert estimator(data.p, data.y) == pytest.approx(expected, rel=1e-9)
    assert "share none of 6 and of 6 clusters" in estimator.describe(ct.Categorical(data.p))


def test_signs_of_two_labels_by_the_definition(monkeypatch):
    """The signs of both are added; pairs that share a label have the part that no sign changes."""
    data = samples(30, 3)
    h = h_matrix(TV, ct.Categorical(data.p), data.y)
    signs = np.where(np.random.default_rng(2).random((12, 40)) < 0.5, -1.0, 1.0)
    monkeypatch.setattr("caltest.nulls.bootstraps.columns_of_streams", lambda *args, **kwargs: signs)
    monkeypatch.setattr("caltest.nulls.bootstraps.variance_between_clusters", lambda *args: None)
    result = ct.ClusterSKCETest((A, B), TV, 40)(data.p, data.y, rng=1)
    same_a, same_b = A[:, None] == A, B[:, None] == B
    for draw, e in zip(result.null_distribution, (signs[A] + signs[6 + B]).T, strict=True):
        total = e @ h @ e - h[same_a].sum() - h[same_b].sum()
        assert draw == pytest.approx(total / np.count_nonzero(~(same_a | same_b)), rel=1e-9, abs=1e-12)
    assert result.estimate == pytest.approx(ct.estimators.ClusterSKCE(TV, (A, B))(data.p, data.y), rel=1e-11)
    assert "clusters are crossed: p-values are larger" in result.notes[0]


def rare(number):
    """Predictions of 90 rows in 30 clusters, of which a number has one or more improbable outcomes on average."""
    p = np.full(90, number / 30)
    return {"Bernoulli": ct.Bernoulli(p), "Poisson": ct.Poisson(-np.log1p(-p)), "Ordinal": ct.Ordinal(as_three(p))}


def as_three(p):
    return np.column_stack([p / 2, 1 - p, p / 2])


@pytest.mark.every(2)
@pytest.mark.parametrize("family", rare(1))
@pytest.mark.parametrize("crossed", [False, True])
def test_rare_outcomes_that_can_come_in_bursts_are_told(family, crossed):
    clusters = np.arange(90) // 3
    test = ct.ClusterSKCETest((clusters, np.arange(90) % 30) if crossed else clusters, n_resamples=19)
    for number, is_told in ((1.2, True), (5.9, True), (6.1, False)):
        predictions = rare(number)[family]
        notes = test(predictions, predictions.sample(1), rng=1).notes
        assert any(f"only about {number} of 30 clusters have any" in one for one in notes) == is_told
        assert any("clusters are crossed" in one for one in notes) == crossed


@pytest.mark.parametrize("family", ["Bernoulli", "Ordinal"])
def test_rare_outcomes_that_come_in_bursts_are_compared_with_others_that_do(family):
    """With equal predictions the estimate depends on the number of clusters that have the event."""
    p, clusters = np.full(90, 0.03), np.arange(90) // 3
    of_three = np.column_stack([0.0 * p, 1 - p, p])
    predictions = ct.Bernoulli(p) if family == "Bernoulli" else ct.Ordinal(of_three)
    outcomes = [np.repeat(np.arange(30) < m, 3).astype(int) + (family == "Ordinal") for m in range(31)]
    result = ct.ClusterSKCETest(clusters, TV, 999)(predictions, outcomes[0], rng=1)
    estimates = np.array([ct.estimators.ClusterSKCE(TV, clusters)(predictions, y) for y in outcomes])
    expected = binom(30, 0.03).pmf(np.arange(31))[estimates >= estimates[0] - 1e-12].sum()
    assert result.pvalue == pytest.approx(expected, abs=0.05)
    assert np.isin(result.null_distribution.round(9), estimates.round(9)).all()


def test_bursts_are_no_matter_of_numbers():
    """Of many clusters ten with an event are enough, however rare it is; numbers have no improbable outcomes."""
    p = np.full(900, 0.04)
    clusters = np.arange(900) // 3
    kernel = ct.ProductKernel(ct.GaussianKernel(bandwidth=1.0), ct.DeltaKernel())
    assert ct.ClusterSKCETest(clusters, kernel, 19)(p, (np.arange(900) == 7).astype(int), rng=1).notes == ()
    normal = ct.Normal(np.arange(90.0), np.ones(90))
    assert ct.ClusterSKCETest(np.arange(90) // 3, n_resamples=19)(normal, normal.sample(1), rng=1).notes == ()


def test_labels_within_others_are_the_others():
    data = samples(40, 3)
    ward = np.arange(40) // 5
    alone, *both = (
        ct.ClusterSKCETest(one, TV, 49)(data.p, data.y, rng=1).to_dict()
        for one in (ward, (ward, np.arange(40)), (np.arange(40) // 2 * 2 % 5 + 5 * ward, ward), (ward, ward))
    )
    assert both == [alone] * 3


def test_rows_that_share_neither_label():
    p, y = np.linspace(0.1, 0.9, 30), np.arange(30) % 2
    kept = {}
    for seed in range(40):
        some, _ = ct.estimators.one_per_cluster(p, y, (A, B), rng=seed)
        rows = np.flatnonzero(np.isin(p, some.probability))
        for label in (A, B):
            assert np.unique(label[rows]).size == rows.size
        # No other row could be kept.
        assert (np.isin(A, A[rows]) | np.isin(B, B[rows])).all()
        kept |= dict.fromkeys(rows.tolist())
    assert len(kept) == 30


def test_likelihood_ratio_is_the_mean_over_choices():
    data = samples(7, 3)
    p, clusters = ct.Categorical(data.p), np.array([0, 1, 0, 2, 1, 1, 2])
    alternatives = p.law.alternatives()
    terms, weights = alternatives.log_ratio_terms(data.y), alternatives.weights
    ratios = [weights @ np.exp(terms[:, [a, b, c]].sum(axis=1)) for a in (0, 2) for b in (1, 4, 5) for c in (3, 6)]
    estimate = ct.estimators.ClusterLikelihoodRatio(clusters)(data.p, data.y)
    assert estimate == pytest.approx(np.log(np.mean(ratios)), rel=1e-12)
    alone = ct.estimators.ClusterLikelihoodRatio(np.arange(7))(data.p, data.y)
    assert alone == pytest.approx(ct.estimators.LogLikelihoodRatio()(data.p, data.y), rel=1e-12)
    result = ct.named_tests.ClusterLikelihoodRatioTest(clusters)(data.p, data.y)
    assert result.pvalue == pytest.approx(min(1.0, np.exp(-estimate)), rel=1e-12)
    assert result.pvalue_kind == "bound"


def test_one_per_cluster_chooses_each_alike():
    p, y = np.linspace(0.1, 0.9, 6), np.array([0, 0, 0, 1, 1, 1])
    clusters = ["a", "b", "a", "c", "c", "a"]
    counts = dict.fromkeys(p.tolist(), 0)
    for seed in range(600):
        kept, labels = ct.estimators.one_per_cluster(p, y, clusters, rng=seed)
        assert len(kept) == len(labels) == 3
        for value, label in zip(kept.probability.tolist(), labels, strict=True):
            counts[value] += 1
            assert label == y[p.tolist().index(value)]
    assert [counts[value] for value in p.tolist()] == pytest.approx([200, 600, 200, 300, 300, 200], abs=60)
    again = ct.estimators.one_per_cluster(p, y, clusters, rng=3)
    assert np.array_equal(again[0].probability, ct.estimators.one_per_cluster(p, y, clusters, rng=3)[0].probability)


def test_redraws_within_clusters_are_refused():
    estimators = ct.estimators.ClusterSKCE(TV, CLUSTERS), ct.estimators.ClusterLikelihoodRatio(CLUSTERS)
    for estimator in estimators:
        with pytest.raises(TypeError, match="clusters need ClusterBootstrap"):
            ct.MonteCarloTest(estimator)
        with pytest.raises(TypeError, match="clusters need ClusterBootstrap"):
            ct.ConsistencyTest(estimator)
    with pytest.raises(TypeError, match="clusters need ClusterBootstrap"):
        ct.CalibrationTest(estimators[1], ct.nulls.ImportanceSampling())
    with pytest.raises(TypeError, match="wanted the unbiased estimator"):
        ct.CalibrationTest(estimators[0], ct.nulls.ArconesGineBootstrap())
    with pytest.raises(TypeError, match=r"wanted ClusterSKCE\(kernel, clusters\)"):
        ct.CalibrationTest(ct.SKCE(TV), ct.nulls.ClusterBootstrap())


@pytest.mark.parametrize(
    ("clusters", "message"),
    [
        (["a", "b"], "clusters: got 2 values, wanted 3"),
        (["a", "a", "a"], "clusters: got one cluster of all observations"),
        (["a", None, "b"], "clusters: got a missing value"),
        ([1.0, np.nan, 2.0], "clusters: got a missing value at row 1"),
        ([[1, 2, 3]], "clusters: got shape"),
        ([], "clusters: got shape"),
        (np.ones((3, 3)), r"clusters: got shape \(3, 3\), wanted one label per observation, \(n,\), or two"),
        ((["a", "b", "c"], [1, 2]), "clusters: got columns of 3 and 2 labels"),
        ((["a", "b", "c"], [1, None, 2]), "clusters: got a missing value at position 1"),
        ([["a", 1], ["a", 2], ["a", 2]], "clusters: got one cluster of all observations"),
    ],
)
def test_bad_clusters(clusters, message):
    p, y = [0.2, 0.5, 0.7], [0, 1, 1]
    for call in (
        lambda: ct.estimators.ClusterSKCE(TV, clusters)(p, y),
        lambda: ct.estimators.ClusterLikelihoodRatio(clusters)(p, y),
        lambda: ct.estimators.one_per_cluster(p, y, clusters),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_the_kernel_is_that_of_the_family_if_none_is_named():
    data, clusters = samples(30, 3), np.arange(30) // 3
    kernel = ct.Categorical(data.p).default_kernel()
    first, second = (ct.ClusterSKCETest(clusters, *some)(data.p, data.y, rng=1) for some in ((), (kernel,)))
    assert first.to_dict() == second.to_dict()
    with pytest.raises(TypeError, match="kernel: got array"):
        ct.ClusterSKCETest(kernel, clusters)


def test_few_clusters():
    assert ct.ClusterSKCETest(np.arange(10) // 2, TV)(np.full(10, 0.3), np.arange(10) % 2, rng=1).n == 10
    with pytest.raises(ValueError, match="clusters: got 4, wanted at least 5"):
        ct.ClusterSKCETest(np.arange(8) // 2, TV)(np.full(8, 0.3), np.zeros(8, dtype=int))
    with pytest.raises(ValueError, match="clusters: got 4, wanted at least 5"):
        ct.ClusterSKCETest((np.arange(20) // 2, np.arange(20) % 4), TV)(np.full(20, 0.3), np.zeros(20, dtype=int))
    with pytest.raises(ValueError, match="clusters: got two labels for each observation, wanted one; for two use"):
        ct.estimators.ClusterLikelihoodRatio((A, B))
