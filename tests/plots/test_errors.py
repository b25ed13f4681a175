"""Spreads of residuals and windows of time: what is drawn, against definitions."""

import numpy as np
import pandas as pd
import pytest
from plots.small_data import MEAN, NORMAL, RNG, SCALE, P, Y, Z, axes, model
from scipy import stats

import caltest as ct
from caltest import plots

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
