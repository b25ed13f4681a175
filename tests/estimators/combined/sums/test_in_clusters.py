"""The omnibus statistic of outcomes that depend on each other within clusters."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtr
from scipy.stats import binomtest

import caltest as ct
from caltest._basics.calls import pvalues_only
from caltest.estimators.combined.sums.in_clusters import numbers_in_clusters
from caltest.estimators.kernel_errors.cluster_skce import as_clusters
from caltest.predictions.inputs.convert import as_predictions, as_sample


def numbers_of(predictions, targets, clusters, n_resamples=400):
    sample = as_sample(predictions, targets)
    omnibus = ct.estimators.Omnibus(clusters=clusters).resolve(sample.predictions, 0)
    partition = as_clusters(clusters).partitions[0]
    rng = np.random.default_rng(3)
    return omnibus, numbers_in_clusters(omnibus.of_rows, sample, partition, n_resamples, rng)


def normal_effects(rng, n_clusters, size, share):
    effects = np.sqrt(share) * rng.normal(size=n_clusters).repeat(size)
    return effects + np.sqrt(1.0 - share) * rng.normal(size=n_clusters * size)


def test_draws_are_sums_over_clusters_with_random_signs():
    """``n |mean z|**2 - 1`` of standard scores: with signs e it is ``(sum_c e_c Z_c)**2 / n - 1``."""
    rng = np.random.default_rng(1)
    n, clusters = 240, np.arange(240) // 6
    mean = rng.normal(size=n)
    z = normal_effects(rng, 40, 6, 0.6) + 0.2
    omnibus, numbers = numbers_of(ct.Normal(mean, np.full(n, 2.0)), mean + 2.0 * z, clusters, 900)
    names = np.repeat([one.name for one in omnibus.components], [one.n_values for one in omnibus.components])
    row = numbers.signed[names == "mean residual"][0]
    sums = np.bincount(clusters, z)
    assert row[0] == pytest.approx(sums.sum() ** 2 / n - 1.0)
    # The means of the clusters' sums are known from 20 redraws each.
    expected = (sums @ sums + 240 / 20) / n - 1.0
    assert row[1:].mean() == pytest.approx(expected, abs=4.0 * row.std() / 30.0 + 0.05)
    assert np.unique(np.round(numbers.signed[0], 9)).size > 850


def test_observed_numbers_are_those_of_the_test_without_clusters():
    rng = np.random.default_rng(2)
    p = rng.dirichlet(np.ones(4), 90)
    y = rng.integers(4, size=90)
    _, numbers = numbers_of(p, y, np.arange(90) // 3, 20)
    assert numbers.signed[:, 0] == pytest.approx(numbers.redrawn[:, 0], rel=1e-12, abs=1e-12)


def test_numbers_vary_as_much_as_for_independent_outcomes():
    """Where hardly an event is expected and none occurred, sums over clusters do not vary by themselves."""
    rng = np.random.default_rng(4)
    p = np.where(np.arange(400) % 2, rng.uniform(0.3, 0.7, 400), 0.002)
    y = np.where(p > 0.1, rng.random(400) < p, 0).astype(int)
    _, numbers = numbers_of(p, y, np.arange(400) // 4)
    signed, redrawn = (one[:, 1:].std(axis=1) for one in (numbers.signed, numbers.redrawn))
    assert (signed >= redrawn * (1.0 - 1e-9)).all()
    assert (signed > 1.02 * redrawn).any()


def test_estimate_of_many_rows_is_that_of_pairs_between_clusters():
    """Of a few distinct predictions, which are their own cells."""
    rng = np.random.default_rng(5)
    p = rng.dirichlet(np.ones(3), 8)[np.arange(120) % 8]
    y = rng.integers(3, size=120)
    clusters = np.arange(120) // 4
    omnibus, numbers = numbers_of(p, y, clusters, 1)
    expected = ct.estimators.ClusterSKCE(omnibus.kernel, clusters)(p, y)
    assert numbers.between_groups() == pytest.approx(expected, rel=1e-9)
    assert omnibus(p, y) == expected


FAMILIES = {
    "binary": lambda rng, n: (rng.random(n), rng.integers(2, size=n)),
    "classes": lambda rng, n: (rng.dirichlet(np.ones(5), n), rng.integers(5, size=n)),
    "ordered": lambda rng, n: (ct.Ordinal(rng.dirichlet(np.ones(4), n)), rng.integers(4, size=n)),
    "counts": lambda rng, n: (ct.Poisson(rng.uniform(1, 5, n)), rng.poisson(9.0, n)),
    "vectors": lambda rng, n: (
        ct.MvNormal(rng.normal(size=(n, 2)), np.tile(np.eye(2), (n, 1, 1))),
        rng.normal(1.0, 3.0, (n, 2)),
    ),
    "ensembles": lambda rng, n: (ct.Ensemble(rng.normal(size=(n, 9))), rng.normal(2.0, 1.0, n)),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_families_whose_clusters_are_wrong(family):
    predictions, targets = FAMILIES[family](np.random.default_rng(6), 100)
    result = ct.calibration_test(predictions, targets, clusters=np.arange(100) // 2, n_resamples=39, rng=1)
    assert result.test == "OmnibusTest"
    assert result.pvalue == 1 / 40
    assert result.components
    assert "between clusters" in result.assumes


def test_tests_of_the_kernel_alone():
    """For two labels of each row, a kernel, and many classes."""
    rng = np.random.default_rng(7)
    p, y = rng.random(120), rng.integers(2, size=120)
    patient, day = np.arange(120) // 2, np.arange(120) % 12
    kernel = as_predictions(p).default_kernel()
    many = rng.dirichlet(np.ones(33), 120), rng.integers(33, size=120)
    calls = [((p, y), {"clusters": (patient, day)}), ((p, y), {"clusters": patient, "kernel": kernel})]
    for data, settings in [*calls, (many, {"clusters": patient})]:
        assert ct.calibration_test(*data, n_resamples=19, rng=1, **settings).test == "ClusterSKCETest"
    with pytest.raises(ValueError, match=r"clusters: got two labels of each row, wanted one"):
        ct.OmnibusTest(clusters=(patient, day))
    with pytest.raises(TypeError, match=r"clusters: got some for .*33 classes, wanted up to 32 classes"):
        ct.OmnibusTest(clusters=patient)(*many)
    with pytest.raises(TypeError, match="clusters: got some with weights or features"):
        ct.OmnibusTest(weights=1.0 + p, clusters=patient)
    with pytest.raises(TypeError, match="wanted an estimator of independent outcomes"):
        ct.MonteCarloTest(ct.estimators.Omnibus(clusters=patient))
    with pytest.raises(ValueError, match=r"clusters: got 49, worth 47\.1 of equal size, wanted at least 50"):
        ct.OmnibusTest(clusters=np.arange(120) % 49)(p, y)
    assert ct.calibration_test(p, y, clusters=np.arange(120) % 49, n_resamples=19, rng=1).test == "ClusterSKCETest"


def test_clusters_follow_the_index():
    rng = np.random.default_rng(8)
    p, y, clusters = rng.random(120), rng.integers(2, size=120), pd.Series(np.arange(120) // 2)
    expected = ct.calibration_test(p, y, clusters=clusters, n_resamples=99, rng=1).pvalue
    shuffled = clusters.sample(frac=1.0, random_state=1)
    test = ct.OmnibusTest(n_resamples=99, clusters=shuffled)
    with pytest.warns(UserWarning, match="clusters and targets were matched by their index"):
        assert test(pd.Series(p), pd.Series(y), rng=1).pvalue == expected
    assert test != ct.OmnibusTest(n_resamples=99, clusters=np.arange(120) % 60)


def test_excluded_outcomes_make_the_p_value_0():
    """And the other rows have one of their own, with their clusters."""
    rng = np.random.default_rng(9)
    p = rng.uniform(0.2, 0.8, 120)
    y = (rng.random(120) < p).astype(int)
    p[4], y[4] = 0.0, 1
    clusters = np.arange(120) // 2
    result = ct.calibration_test(p, y, clusters=clusters, n_resamples=99, rng=1)
    assert result.pvalue == 0.0
    rest = np.arange(120) != 4
    alone = ct.calibration_test(p[rest], y[rest], clusters=clusters[rest], n_resamples=99, rng=1)
    assert result.pvalue_otherwise == pytest.approx(alone.pvalue, abs=0.1)
    assert result.pvalue_otherwise < 1.0


def test_size_and_power_beside_the_kernel_alone(replications):
    """Outcomes with normal effects of clusters, and a temperature that one kernel sees half as often."""
    found, sets = [], replications(8, 48)
    for seed in range(sets):
        rng = np.random.default_rng([seed, 11])
        p, clusters = rng.random(480), np.arange(480) // 8
        uniforms = ndtr(normal_effects(rng, 60, 8, 0.2))
        wrong = 1.0 / (1.0 + np.exp(-0.6 * np.log(p / (1.0 - p))))
        with pvalues_only():
            tests = ct.OmnibusTest(n_resamples=59, clusters=clusters), ct.ClusterSKCETest(clusters, n_resamples=59)
            right = tests[0](p, (uniforms < p).astype(int), rng=seed).pvalue
            found.append([right, *(one(p, (uniforms < wrong).astype(int), rng=seed).pvalue for one in tests)])
    right, ours, kernel = (np.array(found) <= 0.05).sum(axis=0)
    assert binomtest(right, sets, 0.05, alternative="greater").pvalue > 0.005
    assert ours >= 0.75 * sets
    assert ours >= kernel + 0.18 * sets


def test_clusters_of_unequal_sizes_count_for_fewer():
    rng = np.random.default_rng(10)
    clusters = np.repeat(np.arange(80), [40] * 4 + [1] * 76)
    assert as_clusters(clusters).n_effective == pytest.approx(236**2 / (4 * 40**2 + 76))
    p = rng.random(236)
    result = ct.calibration_test(p, (rng.random(236) < p).astype(int), clusters=clusters, n_resamples=19, rng=1)
    assert result.test == "ClusterSKCETest"
