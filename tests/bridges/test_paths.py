import numpy as np
import pytest

import caltest as ct

pytest.importorskip("mapie", reason="mapie is missing")

from mapie.classification import SplitConformalClassifier
from mapie.regression import SplitConformalRegressor
from sklearn.datasets import load_diabetes, load_digits
from sklearn.linear_model import LogisticRegression, Ridge


def test_intervals():
    X, y = load_diabetes(return_X_y=True)
    model = SplitConformalRegressor(Ridge(), confidence_level=0.9, prefit=False)
    mapie = model.fit(X[:150], y[:150]).conformalize(X[150:300], y[150:300])
    _, intervals = mapie.predict_interval(X[300:])
    result = ct.calibration_test(*ct.predictions.interval_coverage(intervals, y[300:], confidence_level=0.9), rng=1)
    share = np.mean((intervals[:, 0, 0] <= y[300:]) & (y[300:] <= intervals[:, 1, 0]))
    assert result.measures[0].observed == pytest.approx(share)
    assert result.pvalue > 0.05


def test_sets():
    X, y = load_digits(return_X_y=True)
    model = SplitConformalClassifier(LogisticRegression(max_iter=500), confidence_level=0.9, prefit=False)
    mapie = model.fit(X[:600], y[:600]).conformalize(X[600:1000], y[600:1000])
    _, sets = mapie.predict_set(X[1000:])
    result = ct.calibration_test(*ct.predictions.set_coverage(sets, y[1000:], confidence_level=0.9), rng=1)
    assert result.measures[0].observed == pytest.approx(sets[np.arange(797), y[1000:], 0].mean())
    narrow = sets.copy()
    narrow[::4] = False
    sample = ct.predictions.set_coverage(narrow, y[1000:], confidence_level=0.9)
    assert ct.calibration_test(*sample, n_resamples=99, rng=1).pvalue == 0.01
