import numpy as np
import pytest

import caltest as ct
from caltest import plots

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

from matplotlib import pyplot as plt  # noqa: E402

P, Y = ct.datasets.load_digits_predictions()["random forest"]
FEW = {"n_resamples": 39, "rng": 1}


@pytest.fixture(autouse=True)
def no_open_figures():
    yield
    plt.close("all")


def test_grid_has_the_most_frequent_classes_and_one_legend():
    n, k = 60, 200
    y = np.concatenate([np.repeat([7, 3], 20), np.arange(100, 120)])
    p = np.full((n, k), 1.0 / k)
    axes = plots.classwise_reliability(p, y, max_classes=2, n_resamples=39, rng=1)
    assert [ax.get_title() for ax in axes] == ["class 3, n = 20", "class 7, n = 20"]
    assert all(ax.get_legend() is None for ax in axes)
    assert len(axes[0].figure.legends) == 1
    assert len(plots.classwise_reliability(P, Y, n_resamples=39, rng=1)) == 10
    with pytest.raises(TypeError, match="Normal"):
        plots.classwise_reliability(ct.Normal([0.0], 1.0), [0.0])


def test_each_group_has_the_picture_of_its_rows():
    p = np.linspace(0.05, 0.95, 90)
    y = (np.random.default_rng(1).random(90) < p).astype(int)
    site = np.array(["a", "b", "b"])[np.arange(90) % 3]
    axes = plots.groupwise_reliability(p, y, site, **FEW)
    assert [ax.get_title() for ax in axes] == ["a, n = 30", "b, n = 60"]
    assert all(ax.get_legend() is None for ax in axes)
    assert len(axes[0].figure.legends) == 1
    for ax, name in zip(axes, "ab", strict=True):
        rows = site == name
        alone = plots.reliability_diagram(p[rows], y[rows], **FEW)
        found, expected = ([one.get_offsets() for one in some.collections[:1]] for some in (ax, alone))
        np.testing.assert_allclose(found, expected)
    words = {text.get_text() for text in (axes[0].figure._supxlabel, axes[0].figure._supylabel)}
    assert words == {"predicted probability of class 1", "observed frequency of class 1"}


def test_groups_of_other_predictions_have_histograms_or_coverage():
    rng = np.random.default_rng(2)
    mean = rng.normal(size=60)
    y = mean + rng.normal(size=60)
    law, odd = ct.Normal(mean, 1.0), np.arange(60) % 2
    levels = np.array([0.1, 0.5, 0.9])
    quantiles = ct.QuantileForecast(levels, law.quantile(levels[:, None]).T)
    pairs = ct.Ensemble(mean[:, None, None] + rng.normal(size=(60, 5, 2)))
    labels = []
    for predictions, targets in ((law, y), (quantiles, y), (pairs, np.stack([y, y], axis=1))):
        axes = plots.groupwise_reliability(predictions, targets, odd, **FEW)
        assert [ax.get_title() for ax in axes] == ["0, n = 30", "1, n = 30"]
        labels.append(axes[0].figure._supxlabel.get_text())
    assert labels == ["predicted quantile of the outcome", "level of the quantile", "predicted quantile of the outcome"]


def test_the_largest_of_many_groups_are_drawn():
    y = np.arange(60) % 2
    groups = np.concatenate([np.repeat([5, 2, 9], [20, 25, 10]), [0, 0, 1, 1, 3]])
    axes = plots.groupwise_reliability(np.full(60, 0.5), y, groups, max_groups=2, **FEW)
    assert [ax.get_title() for ax in axes] == ["2, n = 25", "5, n = 20"]
    with pytest.raises(ValueError, match="groups: got 2 values, wanted 60"):
        plots.groupwise_reliability(np.full(60, 0.5), y, [1, 2], **FEW)
