import numpy as np
import pytest
from printed import unfolded

import caltest as ct
from caltest.recalibration import (
    FamilyTemperatureScaling,
    Identity,
    Isotonic,
    OneVsRest,
    Platt,
    TemperatureScaling,
    fit_best,
)


def problem(n=200, k=3, seed=1):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(k), n)
    sharp = p**2.0 / (p**2.0).sum(axis=1, keepdims=True)
    return p, np.array([rng.choice(k, p=row) for row in sharp])


def test_methods_without_a_common_score_are_refused():
    rng = np.random.default_rng(1)
    methods = [FamilyTemperatureScaling(), ct.recalibration.QuantileRecalibration([0.5])]
    with pytest.raises(TypeError, match="QuantileRecalibration, of which there is the quantile loss, wanted methods"):
        fit_best(ct.Normal(rng.normal(size=40), 1.0), rng.normal(size=40), methods, rng=1)


def test_scores_are_those_of_observations_left_out():
    p, y = problem(n=40)
    best = fit_best(p, y, {"scaled": TemperatureScaling(), "as they are": Identity()}, n_folds=40, rng=1)
    losses = []
    for i in range(40):
        others = np.arange(40) != i
        losses.append(-np.log(TemperatureScaling().fit(p[others], y[others])(p[i : i + 1])[0, y[i]]))
    assert best.scores["scaled"] == pytest.approx(np.mean(losses), rel=1e-9)
    assert best.standard_errors["scaled"] == pytest.approx(np.std(losses, ddof=1) / np.sqrt(40), rel=1e-9)
    assert best.scores["as they are"] == pytest.approx(-np.log(p[np.arange(40), y]).mean(), rel=1e-9)


def test_the_best_method_is_fitted_to_all_data():
    p, y = problem()
    best = fit_best(p, y, [Identity(), TemperatureScaling(), OneVsRest(Isotonic())], rng=2)
    assert best.name == "TemperatureScaling"
    assert best.scores["OneVsRest(Isotonic)"] == np.inf
    assert best.standard_errors["OneVsRest(Isotonic)"] == np.inf
    np.testing.assert_allclose(best.map(p), TemperatureScaling().fit(p, y)(p))
    assert best.scores == fit_best(p, y, [Identity(), TemperatureScaling(), OneVsRest(Isotonic())], rng=2).scores
    assert "Best           TemperatureScaling" in unfolded(best)


def test_two_methods_of_one_class_have_two_names():
    p, y = problem()
    best = fit_best(p[:, 0], y == 0, [Platt(), Platt(on="scores")], rng=2)
    assert len(best.scores) == 2


def test_logits_names_of_classes_and_families():
    p, y = problem()
    z = np.log(p) + 2.0
    on_logits = fit_best(z, y, [TemperatureScaling(input="logits"), Identity(input="logits")], rng=3)
    on_probabilities = fit_best(p, y, [TemperatureScaling(), Identity()], rng=3)
    assert on_logits.scores["TemperatureScaling"] == pytest.approx(on_probabilities.scores["TemperatureScaling"])
    assert on_logits.scores["Identity"] == pytest.approx(on_probabilities.scores["Identity"])
    names = np.array(["a", "b", "c"])
    named = fit_best(p, names[y], [TemperatureScaling(), Identity()], classes=["a", "b", "c"], rng=3)
    assert named.scores == on_probabilities.scores
    x = np.zeros(50)
    y = 2.0 * np.random.default_rng(1).normal(size=50)
    best = fit_best(ct.Normal(x, 1.0), y, [FamilyTemperatureScaling()], rng=1)
    assert best.map.temperature == pytest.approx(np.mean(np.square(y)), rel=1e-6)


def test_bad_input():
    p, y = problem()
    with pytest.raises(ValueError, match="got none"):
        fit_best(p, y, [])
    with pytest.raises(TypeError, match="got one method"):
        fit_best(p, y, Identity())
    with pytest.raises(TypeError, match="wanted methods"):
        fit_best(p, y, [TemperatureScaling().fit(p, y)])
    with pytest.raises(ValueError, match="one kind of input"):
        fit_best(p, y, [Identity(), Identity(input="logits")])
    with pytest.raises(ValueError, match="n_folds"):
        fit_best(p, y, [Identity()], n_folds=201)
    with pytest.raises(ValueError, match="n_folds"):
        fit_best(p, y, [Identity()], n_folds=1)
    with pytest.raises(TypeError, match="OneVsRest"):
        fit_best(p, y, [Platt()])


def test_accuracies_are_those_of_held_out_observations():
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.ones(3), 200)
    y = np.array([rng.choice(3, p=row) for row in p])
    methods = {"as it is": ct.recalibration.Identity(), "vector": ct.recalibration.VectorScaling()}
    found = ct.recalibration.fit_best(p, y, methods, rng=1)
    assert found.accuracies["as it is"] == np.mean(p.argmax(axis=1) == y)
    assert 0.3 < found.accuracies["vector"] < 1.0
    assert f"{found.accuracies['as it is']:.4f}" in unfolded(found)
    normal = ct.Normal(rng.normal(size=40), 1.0)
    numbers = ct.recalibration.fit_best(normal, rng.normal(size=40), [ct.recalibration.FamilyTemperatureScaling()])
    assert numbers.accuracies == {}
    assert "accuracy" not in unfolded(numbers)
