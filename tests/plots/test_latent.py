import numpy as np
import pytest

import caltest as ct
from caltest.plots import latent_function

pytest.importorskip("matplotlib")


@pytest.fixture(autouse=True)
def figures():
    from matplotlib import pyplot as plt

    plt.switch_backend("agg")
    yield
    plt.close("all")


@pytest.mark.parametrize("scale", ["probabilities", "logits"])
def test_lines_are_mean_and_prior_up_to_constants(scale):
    rng = np.random.default_rng(4)
    p = rng.dirichlet(np.full(3, 0.5), 150)
    y = np.array([rng.choice(3, p=row) for row in p])
    fitted = ct.recalibration.GPCalibrator(input=scale).fit(3.0 * np.log(p) if scale == "logits" else p, y)
    axes = latent_function(fitted)
    prior_line, mean_line, ticks = axes.get_lines()
    inputs = prior_line.get_xdata()
    prior, mean, deviation = fitted.latent_function(inputs)
    np.testing.assert_allclose(prior_line.get_ydata(), prior - prior.mean(), atol=1e-12)
    np.testing.assert_allclose(mean_line.get_ydata(), mean - mean.mean(), atol=1e-12)
    heights = axes.collections[0].get_paths()[0].vertices[:, 1]
    assert heights.max() == pytest.approx((mean - mean.mean() + 1.96 * deviation).max())
    assert 0 < len(ticks.get_xdata()) <= 10
    assert axes.get_xlabel() == ("logit" if scale == "logits" else "predicted probability")


def test_constant_predictions_and_other_maps():
    equal, labels = np.full((20, 4), 0.25), np.arange(20) % 4
    axes = latent_function(ct.recalibration.GPCalibrator().fit(equal, labels))
    assert np.isfinite(axes.get_lines()[1].get_ydata()).all()
    ones = np.ones((20, 4))
    axes = latent_function(ct.recalibration.GPCalibrator(input="logits").fit(3.0 * ones, labels))
    assert np.isfinite(axes.get_lines()[1].get_ydata()).all()
    assert axes.get_lines()[1].get_xdata()[[0, -1]] == pytest.approx([2.0, 4.0])
    with pytest.raises(TypeError, match="got TemperatureMap"):
        latent_function(ct.recalibration.TemperatureScaling().fit(equal, labels))
