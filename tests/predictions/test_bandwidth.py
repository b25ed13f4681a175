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


@pytest.mark.parametrize("shape", ["spread", "ties", "concentrated"])
def test_narrowing_the_interval_finds_the_same_value(shape, monkeypatch):
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
    assert ct.median_bandwidth(p, ct.Euclidean()) == pytest.approx(expected, rel=1e-15)


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
