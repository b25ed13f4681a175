"""From an object of another library to a verdict in three lines at most, with the real library where it is there."""

import importlib
import json
import re
import sys

import numpy as np
import pytest
from samples import inference_data

import caltest as ct
from caltest.cli import main

RNG = np.random.default_rng(1)
DIGITS = ct.datasets.load_digits_predictions()


def library(name):
    return pytest.importorskip(name, reason=f"{name} is missing")


def verdict(result):
    """What a reader sees first; the tests below want one."""
    assert re.search("calibration .*at the 5 % level", result.verdict())
    return result


def test_scikit_learn():
    library("sklearn")
    from sklearn.datasets import load_digits
    from sklearn.naive_bayes import GaussianNB

    X, y = load_digits(return_X_y=True)
    model = GaussianNB(var_smoothing=0.01).fit(X[::2], y[::2])
    assert verdict(ct.calibration_test(model.predict_proba(X[1::2]), y[1::2], rng=1)).pvalue == 0.001


def test_torch():
    torch = library("torch")
    predictions, labels = DIGITS["neural network"]
    logits, y = torch.log(torch.tensor(predictions.probabilities)), torch.tensor(labels)
    assert verdict(ct.calibration_test(logits.softmax(dim=1), y, rng=1)).pvalue == pytest.approx(0.01, abs=0.01)


def draws():
    """Posterior predictive draws of 4 chains for 60 outcomes, too narrow, and these outcomes."""
    mean = RNG.normal(size=60)
    return mean + 0.5 * RNG.normal(size=(4, 25, 60)), mean + RNG.normal(size=60)


@pytest.mark.parametrize("kind", ["InferenceData", "DataTree"])
def test_arviz(kind):
    members, y = draws()
    if kind == "InferenceData":
        arviz = library("arviz")
        data = inference_data(arviz, posterior_predictive={"y": members}, observed_data={"y": y})
    else:
        xarray = library("xarray")
        group = xarray.Dataset({"y": (("chain", "draw", "row"), members)})
        data = xarray.DataTree.from_dict({"posterior_predictive": group})
        data["observed_data"] = xarray.DataTree(xarray.Dataset({"y": ("row", y)}))
    predictions = ct.bridges.predictions_of(data, variable="y")
    np.testing.assert_array_equal(ct.bridges.predictions_of(data).members, predictions.members)
    result = verdict(ct.calibration_test(predictions, data["observed_data"]["y"], rng=1))
    assert "too narrow" in result.why()


@pytest.mark.filterwarnings("ignore")
def test_pymc():
    pymc = library("pymc")
    x, noise = RNG.normal(size=(2, 100))
    y = x + noise
    with pymc.Model():
        rows = pymc.Data("rows", x[:60])
        pymc.Normal("y", pymc.Normal("slope") * rows, 0.5, observed=y[:60], shape=rows.shape)
        fitted = pymc.sample(50, tune=50, chains=2, cores=1, random_seed=1, progressbar=False)
        pymc.set_data({"rows": x[60:]})
        new = pymc.sample_posterior_predictive(fitted, random_seed=1, progressbar=False, predictions=True)
    result = verdict(ct.calibration_test(ct.bridges.predictions_of(new), y[60:], rng=1))
    assert "too narrow" in result.why()


@pytest.mark.filterwarnings("ignore")
def test_sbi(tmp_path, monkeypatch):
    """Draws of a network as one tensor, and as a list of tensors; halves of them are too narrow."""
    monkeypatch.chdir(tmp_path)  # where it writes its logs
    inference, torch = library("sbi.inference"), library("torch")
    torch.manual_seed(1)
    prior = torch.distributions.MultivariateNormal(torch.zeros(2), torch.eye(2))
    truths = prior.sample((300,))
    data = truths + 0.1 * torch.randn(300, 2)
    trainer = inference.NPE(prior, density_estimator="mdn", show_progress_bars=False)
    trainer.append_simulations(truths[:200], data[:200]).train(max_num_epochs=1)
    posterior = trainer.build_posterior()
    draws = posterior.sample_batched((49,), x=data[200:], show_progress_bars=False).permute(1, 0, 2)
    result = ct.fields.bayesian.simulation_based_calibration(draws / 2, truths[200:], n_resamples=99, rng=1)
    assert result.pvalue <= 0.05
    listed = ct.fields.bayesian.simulation_based_calibration(list(draws / 2), truths[200:], n_resamples=99, rng=1)
    assert listed.pvalue == result.pvalue


@pytest.mark.filterwarnings("ignore")
def test_sktime():
    """Forecasts of independent numbers by their mean, as distributions and as intervals."""
    naive, pandas = library("sktime.forecasting.naive"), library("pandas")
    series = pandas.Series(RNG.normal(size=160))
    forecaster = naive.NaiveForecaster("mean").fit(series[:100])
    forecast = forecaster.predict_proba(fh=np.arange(1, 61))
    predictions = ct.bridges.predictions_of(forecast)
    np.testing.assert_allclose(predictions.mean, forecaster.predict(fh=np.arange(1, 61)))
    assert verdict(ct.calibration_test(predictions, series[100:], rng=1)).pvalue > 0.01
    low, high = forecaster.predict_interval(fh=np.arange(1, 61), coverage=0.9).to_numpy().T
    sample = ct.predictions.interval_coverage(np.column_stack([low, high]), series[100:], confidence_level=0.9)
    assert verdict(ct.calibration_test(*sample, rng=1)).pvalue > 0.01


def test_xarray():
    xarray = library("xarray")
    members, y = draws()
    forecast = xarray.DataArray(members.reshape(100, 60).T, dims=("time", "member"))
    observed = xarray.DataArray(y, dims="time")
    assert "too narrow" in verdict(ct.calibration_test(ct.Ensemble(forecast), observed, rng=1)).why()


def test_command_line(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    predictions, labels = DIGITS["neural network"]
    np.savetxt("p.csv", predictions.probabilities, delimiter=",")
    np.savetxt("y.csv", labels, fmt="%d")
    assert main(["test", "p.csv", "y.csv", "--seed", "1", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["pvalue"] == 0.009


def mapie(name):
    """A module of MAPIE."""
    library("mapie")
    return library(f"mapie.{name}")


def test_intervals_of_mapie():
    regression = mapie("regression")
    from sklearn.datasets import load_diabetes
    from sklearn.linear_model import Ridge

    X, y = load_diabetes(return_X_y=True)
    model = regression.SplitConformalRegressor(Ridge(), confidence_level=0.9, prefit=False).fit(X[:150], y[:150])
    _, intervals = model.conformalize(X[150:300], y[150:300]).predict_interval(X[300:])
    result = ct.calibration_test(*ct.predictions.interval_coverage(intervals, y[300:], confidence_level=0.9), rng=1)
    share = np.mean((intervals[:, 0, 0] <= y[300:]) & (y[300:] <= intervals[:, 1, 0]))
    assert result.measures[0].observed == pytest.approx(share)
    assert verdict(result).pvalue > 0.05


def test_sets_of_mapie():
    classification = mapie("classification")
    from sklearn.datasets import load_digits
    from sklearn.linear_model import LogisticRegression

    X, y = load_digits(return_X_y=True)
    model = classification.SplitConformalClassifier(
        LogisticRegression(max_iter=500), confidence_level=0.9, prefit=False
    )
    _, sets = model.fit(X[:600], y[:600]).conformalize(X[600:1000], y[600:1000]).predict_set(X[1000:])
    result = ct.calibration_test(*ct.predictions.set_coverage(sets, y[1000:], confidence_level=0.9), rng=1)
    assert verdict(result).measures[0].observed == pytest.approx(sets[np.arange(797), y[1000:], 0].mean())
    sets[::4] = False
    sample = ct.predictions.set_coverage(sets, y[1000:], confidence_level=0.9)
    assert ct.calibration_test(*sample, n_resamples=99, rng=1).pvalue == 0.01


@pytest.mark.parametrize(("name", "extra"), [("sklearn", "sklearn"), ("torch", "torch"), ("torchmetrics", "torch")])
def test_libraries_that_are_missing(monkeypatch, name, extra):
    """What to install is said where a bridge is imported without its library."""
    monkeypatch.setitem(sys.modules, "sklearn.base" if name == "sklearn" else "torch", None)
    monkeypatch.delitem(sys.modules, f"caltest.bridges.{name}", raising=False)
    with pytest.raises(ImportError, match=rf"caltest.bridges.{name} needs .*: pip install caltest\[{extra}\]"):
        importlib.import_module(f"caltest.bridges.{name}")
