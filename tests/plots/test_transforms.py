import numpy as np
import pandas as pd
import pytest
from plots.small_data import MEAN, NORMAL, RNG, SCALE, P, Y, Z, axes, model
from scipy import stats

import caltest as ct
from caltest import plots

figure = pytest.importorskip("matplotlib.figure")


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


matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


def ends(ax):
    """Ends of the band by the places where it is drawn."""
    (collection,) = ax.collections
    return [np.array([path.vertices[:, 1].min(), path.vertices[:, 1].max()]) for path in collection.get_paths()]


def test_residual_spread_by_its_definition():
    x, y = model(plots.residual_spread(NORMAL, Z, n_bins=5, rng=1, ax=axes())).get_data()
    for k, rows in enumerate(np.array_split(np.argsort(SCALE), 5)):
        assert x[k] == pytest.approx(np.sqrt(np.mean(SCALE[rows] ** 2)))
        assert y[k] == pytest.approx(np.sqrt(np.mean((Z - MEAN)[rows] ** 2)))
    one = plots.residual_spread(ct.Normal(MEAN, 1.0), Z, rng=1, ax=axes())
    assert len(model(one).get_xdata()) == 1
    counts = ct.Poisson(np.exp(MEAN))
    assert len(model(plots.residual_spread(counts, counts.sample(1), n_bins=4, rng=1, ax=axes())).get_xdata()) == 4
    ensemble = ct.Ensemble(MEAN[:, None] + SCALE[:, None] * RNG.normal(size=(120, 9)))
    assert len(model(plots.residual_spread(ensemble, Z, n_bins=4, rng=1, ax=axes())).get_xdata()) == 4


def test_windows_by_their_definition():
    law = ct.Categorical(np.column_stack([0.5 * P, 1.0 - P, 0.5 * P]))
    labels = law.sample(3)
    top = law.probabilities.argmax(axis=1)
    for p, y, means, words in (
        (P, Y, (P, Y), "share of events"),
        (law, labels, (law.probabilities.max(axis=1), labels == top), "accuracy"),
        (NORMAL, Z, (MEAN, Z), "mean outcome"),
    ):
        ax = plots.windows(p, y, n_windows=7, n_resamples=39, rng=1, ax=axes())
        claimed, observed, outside = (line.get_ydata() for line in ax.lines[:3])
        starts = np.arange(7) * len(means[0]) // 7
        for k, rows in enumerate(np.split(np.arange(len(means[0])), starts[1:])):
            assert claimed[k] == pytest.approx(np.mean(means[0][rows]))
            assert observed[k] == pytest.approx(np.mean(means[1][rows]))
        assert ax.get_ylabel() == words
        assert set(outside) <= set(observed)
    far = plots.windows(ct.Normal(MEAN, SCALE), Z + 9.0 * (np.arange(Z.size) >= 60), n_windows=6, rng=1, ax=axes())
    assert far.lines[2].get_xdata().tolist() == [70.0, 90.0, 110.0]
    assert len(plots.windows(P[:3], Y[:3], rng=1, ax=axes()).lines[1].get_xdata()) == 3


@pytest.mark.statistical
@pytest.mark.usefixtures("without_findings")
def test_band_of_windows_holds_all_points(replications):
    number, outside = replications(30, 1000), 0
    for seed in range(number):
        y = (np.random.default_rng([4, seed]).random(P.size) < P).astype(int)
        ax = plots.windows(P, y, n_windows=6, n_resamples=39, rng=seed, ax=axes())
        outside += len(ax.lines[2].get_xdata()) > 0
    assert outside <= stats.binom.ppf(1 - 1e-4, number, 0.05)


@pytest.mark.statistical
@pytest.mark.usefixtures("without_findings")
def test_band_of_residuals_holds_all_points(replications):
    number, inside = replications(30, 1000), 0
    for seed in range(number):
        ax = plots.residual_spread(NORMAL, NORMAL.sample(seed), n_bins=6, n_resamples=39, rng=seed, ax=axes())
        inside += all(
            low - 1e-9 <= y <= high + 1e-9 for (low, high), y in zip(ends(ax), model(ax).get_ydata(), strict=True)
        )
    assert inside >= stats.binom.ppf(1e-4, number, 0.95)


def test_bad_input():
    with pytest.raises(TypeError, match="wanted predictions of numbers"):
        plots.residual_spread(ct.MvNormal(np.zeros((9, 2)), np.ones((9, 2))), np.zeros((9, 2)), ax=axes())
    with pytest.raises(TypeError, match="wanted classes or numbers"):
        plots.windows(ct.MvNormal(np.zeros((9, 2)), np.ones((9, 2))), np.zeros((9, 2)), ax=axes())
    with pytest.raises(ValueError, match="n_bins"):
        plots.residual_spread(NORMAL, Z, n_bins=0, ax=axes())
    with pytest.raises(ValueError, match="n_windows"):
        plots.windows(P, Y, n_windows=0, ax=axes())


def test_the_band_of_shares_in_windows_is_one_of_shares():
    p = np.full(60, 0.05)
    ax = plots.windows(p, (np.arange(60) % 20 == 0).astype(int), n_windows=10, rng=1, ax=axes())
    band = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert band.min() == 0.0
    assert band.max() <= 1.0


def test_windows_refuse_times_that_go_backwards():
    times = pd.date_range("2026-01-01", periods=P.size)[::-1]
    with pytest.raises(ValueError, match="wanted rows in the order of time"):
        plots.windows(P, pd.Series(Y, times), rng=1, ax=axes())
