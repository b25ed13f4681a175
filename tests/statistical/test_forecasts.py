"""Sizes of the tests of forecasts, and scores of other packages."""

import numpy as np
import pytest

from caltest.fields import weather

from .forecast_sizes import MODELS, SETTINGS, TESTS, overlapping, pvalues, rain, split
from .settings import band, spawn

pytestmark = [pytest.mark.statistical, pytest.mark.usefixtures("without_findings")]


@pytest.mark.every(4)
@pytest.mark.parametrize("model", MODELS, ids=lambda one: one.__name__)
@pytest.mark.parametrize("name", TESTS)
def test_calibrated_forecasts_are_rejected_at_the_level(name, model, replications):
    """But for forecasts that start at the last outcome, for which only random ranks are exact, others up to 10 %."""
    number = replications(25, 1000)
    for setting in replications(SETTINGS[:1], SETTINGS):
        is_exact = "persistent" not in model.__name__ or name == "rank histogram"
        low, high = band(number, 0.05)[0], band(number, 0.05 if is_exact else 0.1)[1]
        rejected = np.count_nonzero(pvalues(TESTS[name], model, *setting, number)[:, 0] <= 0.05)
        assert rejected <= high
        assert rejected >= low or name.startswith("exceed")


def test_horizons(replications):
    number = replications(40, 1000)
    found = pvalues(weather.rank_histogram, overlapping, 9, 60, number, horizon=3)[:, 0]
    assert np.count_nonzero(found <= 0.05) <= band(number, 0.05)[1]


def test_scores_are_those_of_other_packages(replications):
    if not replications(0, 1):
        pytest.skip("compiled by numba for seconds; with --full")
    members, outcomes = split(rain(spawn(231), 80, 7, 3))
    scores = weather.crps_decomposition(members, outcomes, n_resamples=9, rng=1).rows[0].scores
    properscoring = pytest.importorskip("properscoring")
    assert scores["CRPS"] == pytest.approx(properscoring.crps_ensemble(outcomes, members, axis=1).mean(), rel=1e-9)
    own = properscoring.crps_ensemble(outcomes.ravel(), np.tile(outcomes.ravel(), (240, 1))).mean()
    assert scores["uncertainty"] == pytest.approx(own, rel=1e-9)
    scoringrules = pytest.importorskip("scoringrules")
    fair = scoringrules.crps_ensemble(outcomes, members, estimator="fair", m_axis=1).mean()
    assert scores["fair CRPS"] == pytest.approx(fair, rel=1e-9)
    energy = scoringrules.es_ensemble(outcomes, members).mean()
    assert scores["energy score"] == pytest.approx(energy, rel=1e-9)
    probability, xarray = pytest.importorskip("scores.probability"), pytest.importorskip("xarray")
    forecast = xarray.DataArray(members, dims=["time", "member", "station"])
    observed = xarray.DataArray(outcomes, dims=["time", "station"])
    for method, name in (("ecdf", "CRPS"), ("fair", "fair CRPS")):
        found = probability.crps_for_ensemble(forecast, observed, "member", method=method)
        assert scores[name] == pytest.approx(float(found), rel=1e-9)
