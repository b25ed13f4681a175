import numpy as np
import pytest
from scipy import stats

import caltest as ct

figure = pytest.importorskip("matplotlib.figure")


def axes():
    return figure.Figure().add_subplot()


def heights(ax):
    return np.array([bar.get_height() for bar in ax.patches if bar.get_width() < 1.0])


def test_a_pit_histogram_has_the_shares_of_the_transforms():
    rng = np.random.default_rng(1)
    law, y = ct.Normal(np.zeros(500), 1.0), 1.4 * rng.normal(size=500)
    ax = ct.plots.pit_histogram(law, y, n_bins=5, ax=axes())
    u = ct.pit_values(law, y)[1]
    np.testing.assert_allclose(heights(ax), np.histogram(u, np.linspace(0, 1, 6))[0] / 500)
    assert ax.get_xlabel() == "predicted quantile of the outcome"


def test_all_bars_of_calibrated_predictions_are_in_the_band_in_95_percent(replications):
    rng = np.random.default_rng(2)
    outside, number = 0, replications(30, 200)
    for _ in range(number):
        ax = ct.plots.pit_histogram(ct.Normal(np.zeros(60), 1.0), rng.normal(size=60), ax=axes())
        outside += any(bar.get_hatch() == "//" for bar in ax.patches)
    assert outside <= stats.binom(number, 0.05).ppf(0.999)


def test_bars_at_an_end_of_the_band_are_in_it():
    u = stats.norm.ppf([0.1, 0.2, *np.linspace(0.6, 0.9, 8)])
    assert stats.binom(10, 0.5).ppf([0.0125, 0.9875]).tolist() == [2.0, 8.0]
    ax = ct.plots.pit_histogram(ct.Normal(np.zeros(10), 1.0), u, n_bins=2, ax=axes())
    assert heights(ax).tolist() == [0.2, 0.8]
    assert not any(bar.get_hatch() == "//" for bar in ax.patches)


def test_a_coverage_curve_is_the_share_inside():
    law, y = ct.Normal(np.zeros(4), 1.0), np.array([0.0, 0.5, -1.0, 3.0])
    ax = ct.plots.coverage_curve(law, y, ax=axes())
    line = ax.lines[-1]
    inside = np.abs(2 * ct.pit_values(law, y)[1] - 1)
    np.testing.assert_allclose(line.get_xdata()[1:-1], np.sort(inside))
    np.testing.assert_allclose(line.get_ydata()[1:-1], [0.25, 0.5, 0.75, 1.0])


def test_ensembles_counts_and_bad_input():
    rng = np.random.default_rng(3)
    for draw in (ct.plots.pit_histogram, ct.plots.coverage_curve):
        draw(ct.Ensemble(rng.normal(size=(40, 9))), rng.normal(size=40), rng=1, ax=axes())
        draw(ct.Poisson(np.full(40, 3.0)), rng.poisson(3.0, 40), rng=1, ax=axes())
        with pytest.raises(TypeError, match="predictions"):
            draw(np.full((5, 3), 1 / 3), [0, 1, 2, 0, 1], ax=axes())
        with pytest.raises(ValueError, match="confidence_level"):
            draw(ct.Normal([0.0], 1.0), [0.0], confidence_level=2.0, ax=axes())


def test_shares_up_to_each_quantile():
    """By hand, with bars that hold all of them for calibrated forecasts."""
    rng = np.random.default_rng(4)
    levels, mean = [0.1, 0.5, 0.9], rng.normal(size=400)
    forecast = ct.QuantileForecast(levels, mean[:, None] + np.array([-1.28, 0.0, 1.28]))
    y = mean + 1.5 * rng.normal(size=400)
    ax = ct.plots.coverage_curve(forecast, y, rng=1, ax=axes())
    shares = (y[:, None] <= forecast.values).mean(axis=0)
    assert ax.lines[-1].get_xydata().tolist() == list(map(list, zip(levels, shares.tolist(), strict=True)))
    bars = [one[:, 1] for one in ax.collections[0].get_segments()]
    assert all(low < level < high for (low, high), level in zip(bars, levels, strict=True))
    assert shares[0] > bars[0][1]
    assert shares[2] < bars[2][0]
    ct.plots.coverage_curve(forecast, mean + rng.normal(size=400), rng=1, ax=ax, label="right")
    assert len(ax.collections) == 1
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("level of the quantile", "share of outcomes up to it")
