import doctest
import pickle
import sys
import warnings

import numpy as np
import pytest
from grids import thinned

import caltest as ct
from caltest.recalibration import Isotonic, OneVsRest, Platt, TemperatureScaling

try:
    import sklearn  # noqa: F401
except ImportError:
    sklearn_is_missing = True
else:
    sklearn_is_missing = False
    from sklearn.base import clone
    from sklearn.datasets import make_classification
    from sklearn.frozen import FrozenEstimator
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.naive_bayes import GaussianNB
    from sklearn.svm import LinearSVC
    from sklearn.utils.estimator_checks import check_estimator, check_fit2d_1feature

needs_sklearn = pytest.mark.skipif(sklearn_is_missing, reason="scikit-learn is missing")


def problem(k=3, n=300):
    return make_classification(n, 6, n_informative=4, n_classes=k, random_state=1)


def test_without_scikit_learn_the_error_says_what_to_install(monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "sklearn"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.delitem(sys.modules, "caltest.recalibration.calibrated_model", raising=False)
    monkeypatch.delattr(ct.recalibration, "calibrated_model", raising=False)
    with pytest.raises(ImportError, match=r"pip install caltest\[sklearn\]"):
        ct.recalibration.CalibratedModel  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute 'Calibrated'"):
        ct.recalibration.Calibrated  # noqa: B018


@needs_sklearn
@pytest.mark.parametrize("method", thinned([None, Platt(), Isotonic(interpolate=True)], [Platt()]), ids=repr)
def test_conventions_of_scikit_learn(method):
    settings = {} if method is None else {"cv": 2}
    with warnings.catch_warnings():
        # Checks that do not apply are skipped with a warning.
        warnings.simplefilter("ignore")
        check_estimator(ct.recalibration.CalibratedModel(LogisticRegression(), method, **settings))


@needs_sklearn
def test_errors_for_few_rows_say_what_scikit_learn_looks_for():
    check_fit2d_1feature("CalibratedModel", ct.recalibration.CalibratedModel(LogisticRegression()))


@needs_sklearn
def test_classifiers_without_what_the_method_takes():
    X, y = problem(2)
    with pytest.raises(TypeError, match=r"got LinearSVC without predict_proba, .* such as ct.recalibration.Platt\(inp"):
        ct.recalibration.CalibratedModel(LinearSVC()).fit(X, y)
    with pytest.raises(TypeError, match=r"got GaussianNB without decision_function, .* input='probabilities'"):
        ct.recalibration.CalibratedModel(GaussianNB(), Platt(input="logits")).fit(X, y)


@needs_sklearn
def test_the_map_is_that_of_predictions_of_cross_validation():
    X, y = problem()
    model = ct.recalibration.CalibratedModel(GaussianNB(), cv=4).fit(X, y)
    held_out = cross_val_predict(GaussianNB(), X, y, cv=StratifiedKFold(4), method="predict_proba")
    wanted = TemperatureScaling().fit(held_out, y)
    assert model.calibration_map_.temperature == pytest.approx(wanted.temperature)
    np.testing.assert_allclose(model.predict_proba(X), wanted(GaussianNB().fit(X, y).predict_proba(X)))
    assert (model.predict(X) == model.predict_proba(X).argmax(axis=1)).all()


@needs_sklearn
def test_binary_methods_logits_and_fitted_models():
    X, y = problem(k=2)
    names = np.array(["no", "yes"])[y]
    binary = ct.recalibration.CalibratedModel(GaussianNB(), Platt()).fit(X, names)
    rows = binary.predict_proba(X)
    assert rows.sum(axis=1) == pytest.approx(np.ones(300), rel=1e-12)
    assert rows[names == "yes", 1].mean() > rows[names == "no", 1].mean() + 0.3
    assert np.array_equal(binary.predict(X), np.array(["no", "yes"])[rows.argmax(axis=1)])
    machine = ct.recalibration.CalibratedModel(LinearSVC(), Platt(input="logits")).fit(X, names)
    assert machine.score(X, names) > 0.8
    X, y = problem(k=3)
    several = ct.recalibration.CalibratedModel(GaussianNB(), Platt()).fit(X, y)
    assert several.calibration_map_.to_dict()["map"] == "OneVsRestMap"
    frozen = FrozenEstimator(GaussianNB().fit(X[:150], y[:150]))
    fitted = ct.recalibration.CalibratedModel(frozen).fit(X[150:], y[150:])
    wanted = TemperatureScaling().fit(frozen.predict_proba(X[150:]), y[150:])
    assert fitted.calibration_map_.temperature == pytest.approx(wanted.temperature)


@needs_sklearn
def test_copies():
    X, y = problem()
    model = ct.recalibration.CalibratedModel(GaussianNB(), OneVsRest(Isotonic())).fit(X, y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), model.predict_proba(X))
    assert clone(model).method == OneVsRest(Isotonic())


@needs_sklearn
def test_bad_input():
    X, y = problem()
    with pytest.raises(TypeError, match="wanted a method"):
        ct.recalibration.CalibratedModel(GaussianNB(), "isotonic").fit(X, y)
    with pytest.raises(ValueError, match="one class"):
        ct.recalibration.CalibratedModel(GaussianNB()).fit(X, np.zeros(300, int))
    y = np.where(np.arange(300) < 3, 0, 1)
    with pytest.raises(ValueError, match=r"3 observations of class 0 \(n_samples=300, n_features=6\), wanted"):
        ct.recalibration.CalibratedModel(GaussianNB()).fit(X, y)


@needs_sklearn
def test_examples():
    from caltest.recalibration import calibrated_model

    assert doctest.testmod(calibrated_model).failed == 0


@needs_sklearn
def test_classes_of_a_fitted_classifier_are_matched_by_name():
    X, y = problem(k=3)
    names = np.array(["a", "b", "c"])[y]
    frozen = FrozenEstimator(GaussianNB().fit(X[:150], names[:150]))
    some = (np.arange(300) >= 150) & (names != "b")
    model = ct.recalibration.CalibratedModel(frozen).fit(X[some], names[some])
    assert model.classes_.tolist() == ["a", "b", "c"]
    wanted = TemperatureScaling().fit(frozen.predict_proba(X[some]), y[some])
    assert model.calibration_map_.temperature == pytest.approx(wanted.temperature)
    assert model.calibration_map_.classes == ("a", "b", "c")
    with pytest.raises(ValueError, match="y: got 'd', wanted labels that the classifier knows"):
        ct.recalibration.CalibratedModel(frozen).fit(X[150:], np.where(names == "b", "d", names)[150:])


@needs_sklearn
def test_predictions_say_that_the_model_has_seen_their_rows():
    X, y = problem()
    model = ct.recalibration.CalibratedModel(GaussianNB()).fit(X[:200], y[:200])
    assert "100 % of the rows are among those that the model was fitted to" in model.predictions(X[:200]).notes[-1]
    assert model.predictions(X[200:]).notes == ()
    assert model.predictions(X[200:]).classes == (0, 1, 2)
    np.testing.assert_array_equal(model.predictions(X).probabilities, model.predict_proba(X))
