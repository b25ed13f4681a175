import tracemalloc

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist

import caltest as ct
from caltest.predictions import bandwidth


@pytest.mark.parametrize("n", [2, 3, 4, 5, 50, 601])
@pytest.mark.parametrize("include_diagonal", [False, True])
def test_median_of_all_distances(n, include_diagonal):
    p = np.random.default_rng(n).dirichlet(np.ones(3), n)
    distances = cdist(p, p, "cityblock").ravel() / 2 if include_diagonal else pdist(p, "cityblock") / 2
    median = ct.median_bandwidth(p, ct.TotalVariation(), include_diagonal=include_diagonal)
    assert median == pytest.approx(np.median(distances), rel=1e-14)


@pytest.mark.parametrize("on_a_line", [True, False])
@pytest.mark.parametrize("shape", ["spread", "ties", "concentrated"])
def test_narrowing_the_interval_finds_the_same_value(shape, on_a_line, monkeypatch):
    """With little memory the median is found in several passes, also among many equal or nearly equal distances."""
    rng = np.random.default_rng(1)
    p = {
        "spread": rng.random(300),
        "ties": rng.integers(0, 4, 300) / 4,
        "concentrated": np.where(rng.random(300) < 0.5, 0.0, 1.0) + rng.uniform(-1, 1, 300) * 1e-9,
    }[shape].clip(0, 1)
    expected = np.median(pdist(p[:, None]))
    monkeypatch.setattr(bandwidth, "KEPT", 50)
    monkeypatch.setattr(bandwidth, "CELLS", 16)
    if not on_a_line:
        monkeypatch.setattr(bandwidth, "_on_a_line", lambda *_: None)
    assert ct.median_bandwidth(p, ct.Euclidean()) == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize("metric", [ct.TotalVariation(), ct.Euclidean()])
def test_the_median_of_points_on_a_line_needs_no_pairs(metric, monkeypatch):
    p = np.random.default_rng(1).beta(1.0, 6.0, 1501)
    expected = np.median(pdist(p[:, None]))
    monkeypatch.setattr(bandwidth, "_of_all_pairs", None)
    assert ct.median_bandwidth(p, metric) == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize(("deviations", "passes"), [(bandwidth.DEVIATIONS, 1), (-9.0, 3)])
def test_random_pairs_say_where_the_median_is_or_it_is_looked_for(deviations, passes, monkeypatch):
    """One pass over all pairs, or with an interval that is empty one in vain and two more."""
    p = np.random.default_rng(1).dirichlet(np.ones(3), 1200)
    expected, seen, real = np.median(pdist(p, "cityblock") / 2), [], bandwidth._of_all_pairs
    monkeypatch.setattr(bandwidth, "_of_all_pairs", lambda *data: seen.append(len(data[0])) or real(*data))
    monkeypatch.setattr(bandwidth, "DEVIATIONS", deviations)
    assert ct.median_bandwidth(p, ct.TotalVariation()) == pytest.approx(expected, rel=1e-14)
    assert seen == [1200] * passes


@pytest.mark.parametrize("n", [1000, 4000])
def test_memory_does_not_grow_with_the_number_of_pairs(n):
    """As many distances as are kept at most, and sixteen times as many, which would take 64 MB."""
    p = np.random.default_rng(1).random(n)
    # Compilers and modules that the first call of this size loads take up to 25 MB.
    ct.median_bandwidth(p, ct.Euclidean())
    tracemalloc.start()
    ct.median_bandwidth(p, ct.Euclidean())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10e6


def test_median_depends_on_the_predictions_only(ds1):
    p, y = ds1
    kernel = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), "median"), ct.DeltaKernel())
    by_hand = ct.ProductKernel(
        ct.ExponentialKernel(ct.TotalVariation(), ct.median_bandwidth(p, ct.TotalVariation())), ct.DeltaKernel()
    )
    for labels in (y, (y + 1) % 3):
        assert ct.SKCE(kernel)(p, labels) == ct.SKCE(by_hand)(p, labels)


def test_median_of_targets_is_the_median_predicted_scale(normal30):
    mean, scale, y = normal30
    metric = ct.ExponentialKernel(ct.Wasserstein(), 1.0)
    automatic = ct.ProductKernel(metric, ct.GaussianKernel(bandwidth="median"))
    by_hand = ct.ProductKernel(metric, ct.GaussianKernel(bandwidth=float(np.median(scale))))
    predictions = ct.Normal(mean, scale)
    assert ct.SKCE(automatic)(predictions, y) == ct.SKCE(by_hand)(predictions, y)
    with pytest.raises(ValueError, match="predicted with certainty"):
        ct.SKCE(automatic)(ct.Normal(mean, 0.0), y)


@pytest.mark.usefixtures("without_findings")
def test_renormalised_copies_count_as_identical():
    """Differences of rounding are no distances: neither for the error nor for the bandwidth of the others."""
    rng = np.random.default_rng(1)
    row = np.array([0.3, 0.3, 0.401, 0.0])
    copies = np.stack([row * rng.uniform(0.995, 1.005) for _ in range(30)])
    result = ct.calibration_test(copies, np.arange(30) % 3, n_resamples=9, rng=1)
    assert any("all predictions are identical" in note for note in result.notes)
    others = rng.dirichlet(np.ones(4), 8)
    result = ct.calibration_test(np.r_[copies, others], np.arange(38) % 3, n_resamples=9, rng=1)
    assert any("the median of the others" in note for note in result.notes)
    exact = np.r_[np.tile(row / row.sum(), (30, 1)), others]
    distances = cdist(exact, exact, "cityblock")[np.triu_indices(38, 1)] / 2
    expected = np.median(distances[distances > 0])
    assert ct.Categorical(exact).median_positive_distance(ct.TotalVariation()) == pytest.approx(expected, rel=1e-12)
    assert f"exp(-TV / {expected:.4g})" in result.estimator


@pytest.mark.parametrize("equal", [30, 31])
def test_median_of_positive_distances(equal):
    p = np.r_[np.full(equal, 0.5), 0.1, 0.2, 0.9]
    distances = pdist(p[:, None])
    expected = np.median(distances[distances > 1e-12])
    assert ct.Bernoulli(p).median_positive_distance(ct.Euclidean()) == pytest.approx(expected, rel=1e-14)


def test_median_bandwidth_of_many_predictions_is_that_of_some(monkeypatch):
    monkeypatch.setattr("caltest.predictions.base.MEDIAN_OF", 100)
    monkeypatch.setattr("caltest.estimators.kernel_errors.kernel_estimator.MEDIAN_OF", 100)
    p = np.random.default_rng(1).random(1001)
    kernel = ct.Bernoulli(p).default_kernel()
    few = p[np.arange(100) * 1001 // 100]
    assert kernel.resolve(ct.Bernoulli(p)).prediction_kernel.width == ct.median_bandwidth(few, ct.TotalVariation())
    assert ct.median_bandwidth(p, ct.Euclidean()) == pytest.approx(np.median(pdist(p[:, None])), rel=1e-14)
    for test in (ct.AsymptoticBlockSKCETest(kernel), ct.MonteCarloTest(ct.MMCE(kernel.prediction_kernel), 9)):
        many, few = ([note for note in test(p[:n], p[:n] > 0.5, rng=1).notes if "median" in note] for n in (1001, 100))
        assert many == ["the median bandwidth is that of 100 evenly spaced predictions"]
        assert not few


def test_median_standard_deviation_of_labels():
    """GaussianKernel("median") on classes takes them as the points 0..k-1."""
    p = np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.25, 0.5, 0.25]])
    assert ct.Categorical(p).target_scale() == pytest.approx(0.5, rel=1e-14)


def test_many_equal_distances_take_no_memory():
    """Two kinds of predictions: 4 million of 8 million pairs are at distance 0.5, and are kept once a tile."""
    p = np.where(np.arange(4000) % 2 == 0, 0.25, 0.75)
    tracemalloc.start()
    assert ct.median_bandwidth(p, ct.TotalVariation()) == 0.5
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 30e6


def test_the_median_distance_of_the_same_predictions_is_computed_once(monkeypatch):
    seen = []
    real = ct.predictions.base.median_distance
    monkeypatch.setattr("caltest.predictions.base.median_distance", lambda p, m: seen.append(len(p)) or real(p, m))
    p = ct.Bernoulli(np.random.default_rng(1).random(60))
    for one in (p, p, p.take(np.arange(30)), p.take(np.arange(30))):
        assert one.median_distance(ct.TotalVariation()) == real(one, ct.TotalVariation())
    assert seen == [60, 30, 30]
