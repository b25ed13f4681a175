"""From an object of another library to a verdict in three lines at most, with the real library where it is there."""

import json

import numpy as np
import pytest

import caltest as ct
from caltest.cli import main

RNG = np.random.default_rng(1)
DIGITS = ct.datasets.load_digits_predictions()


def library(name):
    return pytest.importorskip(name, reason=f"{name} is missing")


def verdict(result):
    """What a reader sees first; the tests below want one."""
    assert "calibration at the 5 % level" in result.verdict()
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
        data = arviz.from_dict(posterior_predictive={"y": members}, observed_data={"y": y})
    else:
        xarray = library("xarray")
        if not hasattr(xarray, "DataTree"):
            pytest.skip(f"xarray {xarray.__version__} has no DataTree")
        group = xarray.Dataset({"y": (("chain", "draw", "row"), members)})
        data = xarray.DataTree.from_dict({"posterior_predictive": group})
        data["observed_data"] = xarray.DataTree(xarray.Dataset({"y": ("row", y)}))
    predictions = ct.bridges.predictions_of(data, variable="y")
    np.testing.assert_array_equal(ct.bridges.predictions_of(data).members, predictions.members)
    result = verdict(ct.calibration_test(predictions, data["observed_data"]["y"], rng=1))
    assert "too narrow" in result.why()


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
    assert json.loads(capsys.readouterr().out)["pvalue"] == 0.01


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
