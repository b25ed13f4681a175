import doctest

import numpy as np
import pytest

import caltest as ct

sklearn = pytest.importorskip("sklearn", reason="scikit-learn is missing")
pytest.importorskip("matplotlib", reason="matplotlib is missing")

from matplotlib.figure import Figure
from sklearn.datasets import make_classification
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, ShuffleSplit, StratifiedKFold, cross_val_predict, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from caltest.bridges import sklearn as bridge


def problem(k=2, n=300):
    X, y = make_classification(n, 6, n_informative=4, n_classes=k, random_state=1)
    return X, np.array(["no", "perhaps", "yes"] if k == 3 else ["no", "yes"])[y]


def test_examples():
    assert doctest.testmod(bridge, optionflags=doctest.NORMALIZE_WHITESPACE).failed == 0


@pytest.mark.every(2)
@pytest.mark.parametrize("k", [2, 3])
def test_display_is_the_picture_and_the_test_of_the_same_data(k):
    X, y = problem(k)
    model = GaussianNB().fit(X[:150], y[:150])
    ax = Figure().add_subplot()
    display = bridge.CalibrationTestDisplay.from_estimator(model, X[150:], y[150:], ax=ax, rng=1)
    rows = model.predict_proba(X[150:])
    p = ct.Bernoulli(rows[:, 1], classes=["no", "yes"]) if k == 2 else ct.Categorical(rows, classes=model.classes_)
    wanted = ct.calibration_test(p, y[150:], rng=1)
    assert (display.result.pvalue, display.result.statistic) == (wanted.pvalue, wanted.statistic)
    plain = ct.plots.reliability_diagram(p, y[150:], result=wanted, rng=1, ax=Figure().add_subplot())
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert ax.get_title() == plain.get_title() != ""
    for drawn, other in zip(ax.collections, plain.collections, strict=True):
        np.testing.assert_array_equal(drawn.get_offsets(), other.get_offsets())
    again = bridge.CalibrationTestDisplay.from_predictions(y[150:], p, ax=Figure().add_subplot(), rng=1)
    assert again.result.pvalue == wanted.pvalue


def test_kinds_and_several_models():
    X, y = problem(3)
    model = GaussianNB().fit(X[:150], y[:150])
    display = bridge.CalibrationTestDisplay.from_estimator(
        model, X[150:], y[150:], kind="isotonic", name="one", ax=Figure().add_subplot(), rng=1, n_resamples=39
    )
    other = LogisticRegression().fit(X[:150], y[:150])
    bridge.CalibrationTestDisplay.from_estimator(
        other, X[150:], y[150:], kind="isotonic", name="two", ax=display.ax_, rng=1, n_resamples=39
    )
    names = {
        text.get_text()
        for legend in [display.ax_.get_legend(), *display.figure_.legends]
        if legend
        for text in legend.texts
    }
    assert any("one" in name for name in names)
    assert any("two" in name for name in names)
    assert len(display.plot(kind="classwise", n_resamples=39).ax_) == 3
    with pytest.raises(ValueError, match="ax: got axes"):
        display.plot(kind="classwise", ax=Figure().add_subplot())
    with pytest.raises(ValueError, match="kind: got 'lines'"):
        display.plot(kind="lines")


def test_swapped_arguments_and_estimators_without_probabilities():
    X, y = problem()
    model = GaussianNB().fit(X, y)
    for p in (model.predict_proba(X), model.predict_proba(X)[:, 1]):
        for labels in (y, (y == "yes").astype(int)):
            with pytest.raises(ValueError, match="the arguments are swapped, pass the labels first"):
                bridge.CalibrationTestDisplay.from_predictions(p, labels)
    with pytest.raises(TypeError, match=r"got LinearSVC without predict_proba.*CalibratedModel"):
        bridge.neg_calibration_error(LinearSVC().fit(X, y), X, y)
    with pytest.raises(TypeError, match=r"got LinearRegression without predict_proba, wanted a classifier with it$"):
        bridge.cross_validated(LinearRegression(), X, y == "yes")


@pytest.mark.every(2)
@pytest.mark.parametrize("k", [2, 3])
def test_scorers_are_what_the_package_computes(k):
    X, y = problem(k)
    scoring = {"error": bridge.neg_calibration_error, "p": bridge.calibration_pvalue, "loss": "neg_log_loss"}
    scores = cross_validate(GaussianNB(), X, y, cv=StratifiedKFold(2), scoring=scoring, error_score="raise")
    for fold, (train, test) in enumerate(StratifiedKFold(2).split(X, y)):
        rows = GaussianNB().fit(X[train], y[train]).predict_proba(X[test])
        labels = np.unique(y, return_inverse=True)[1][test]
        pair = (rows[:, 1], labels) if k == 2 else ct.top_label(rows, labels)
        assert scores["test_error"][fold] == -ct.estimators.DebiasedSquaredECE()(*pair)
        wanted = ct.calibration_test(rows[:, 1] if k == 2 else rows, labels, rng=0).pvalue
        assert scores["test_p"][fold] == wanted
    search = GridSearchCV(GaussianNB(), {"var_smoothing": [1e-9, 1.0]}, scoring=scoring, refit="loss", cv=2)
    assert set(search.fit(X, y).cv_results_) >= {"mean_test_error", "mean_test_p", "mean_test_loss"}


def test_cross_validated_predictions_know_their_folds():
    X, y = problem(3)
    p, labels, folds, rows = bridge.cross_validated(GaussianNB(), X, y, cv=StratifiedKFold(4))
    wanted = cross_val_predict(GaussianNB(), X, y, cv=StratifiedKFold(4), method="predict_proba")
    np.testing.assert_array_equal(p.probabilities, wanted)
    assert p.classes == ("no", "perhaps", "yes")
    assert (labels == y).all()
    assert (rows == np.arange(300)).all()
    for fold, (_, test) in enumerate(StratifiedKFold(4).split(X, y)):
        assert (folds[test] == fold).all()
    with pytest.raises(ValueError, match="cv: got rows that are in several folds"):
        bridge.cross_validated(GaussianNB(), X, y, cv=ShuffleSplit(3, random_state=1))
    X, y = X[:30], np.where(np.arange(30) < 3, "rare", "often")
    with pytest.raises(ValueError, match="cv: got class 'rare' in no row"):
        bridge.cross_validated(GaussianNB(), X, y, cv=[(np.arange(5, 30), np.arange(5))])
