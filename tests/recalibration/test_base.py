"""Kinds in, kinds out; refused mix-ups; maps as dictionaries and files."""

import json

import numpy as np
import pytest

import caltest as ct
from caltest.recalibration import CalibrationMap, Platt, TemperatureScaling
from caltest.recalibration.shared.inputs import SUSPICIOUS


def classes(n=60, k=3, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(k), n)
    return p, np.array([rng.choice(k, p=row) for row in p])


def binary(n=60, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return p, (rng.random(n) < p).astype(int)


def test_the_same_kind_is_returned():
    p, y = classes()
    fitted = TemperatureScaling().fit(p, y)
    assert fitted.n_classes == 3
    assert type(fitted(p)) is np.ndarray
    named = ct.Categorical(p, classes=["a", "b", "c"])
    answer = TemperatureScaling().fit(named, np.array(["a", "b", "c"])[y])(named)
    assert isinstance(answer, ct.Categorical)
    assert answer.classes == ("a", "b", "c")
    np.testing.assert_array_equal(answer.probabilities, fitted(p))
    ordinal = ct.Ordinal(p)
    assert type(fitted(ordinal)) is ct.Ordinal
    q, z = binary()
    one = TemperatureScaling().fit(q, z)
    assert one(q).shape == (60,)
    np.testing.assert_array_equal(one(ct.Bernoulli(q)).probability, one(q))
    np.testing.assert_allclose(one(np.stack([1 - q, q], axis=1))[:, 1], one(q), rtol=1e-12)


def test_float32_rows_and_names_of_classes():
    p, y = classes()
    rough = p.astype(np.float32)
    fitted = TemperatureScaling().fit(rough, np.array(["a", "b", "c"])[y], classes=["a", "b", "c"])
    np.testing.assert_allclose(fitted(rough).sum(axis=1), 1.0, rtol=1e-14)
    assert fitted.temperature == pytest.approx(TemperatureScaling().fit(p, y).temperature, rel=1e-5)


def test_classes_of_a_binary_map_in_another_order():
    rng = np.random.default_rng(1)
    q = rng.random(200)
    fitted = Platt().fit(q, np.array(["no", "yes"])[(rng.random(200) < q).astype(int)], classes=["no", "yes"])
    np.testing.assert_allclose(fitted(1.0 - q, classes=["yes", "no"]), 1.0 - fitted(q), rtol=1e-9)


def test_logits_and_probabilities_are_not_mixed_up():
    p, y = classes()
    q, z = binary()
    with pytest.raises(ValueError, match="logits"):
        TemperatureScaling().fit(np.log(p) + 1.0, y)
    with pytest.raises(ValueError, match="log-probabilities"):
        TemperatureScaling().fit(np.log(p), y)
    with pytest.raises(ValueError, match="look like probabilities, wanted logits"):
        TemperatureScaling(input="logits").fit(p, y)
    with pytest.raises(ValueError, match="look like probabilities, wanted logits"):
        TemperatureScaling(input="logits").fit(q, z)
    with pytest.raises(TypeError, match="no logits"):
        TemperatureScaling(input="logits").fit(ct.Categorical(p), y)
    with pytest.raises(ValueError, match="input: got 'logit'"):
        TemperatureScaling(input="logit")
    fitted = TemperatureScaling(input="logits").fit(np.log(p) + 1.0, y)
    with pytest.raises(ValueError, match="look like probabilities"):
        fitted(p[:1])
    assert fitted(np.array([[0.2, 0.3, 0.5], [0.2, 0.3, 0.6]])).shape == (2, 3)
    log_odds = TemperatureScaling(input="logits").fit(np.log(q / (1 - q)), z)
    assert log_odds(np.array([0.3])).shape == (1,)
    with pytest.raises(ValueError, match="look like probabilities"):
        log_odds(q[:SUSPICIOUS])
    assert log_odds(q[1:SUSPICIOUS]).shape == (SUSPICIOUS - 1,)
    assert log_odds(3.0 * q[:SUSPICIOUS]).shape == (SUSPICIOUS,)
    with pytest.raises(ValueError, match="wanted"):
        TemperatureScaling().fit(p, y)(np.log(p) + 1.0)


def test_another_number_of_classes_is_refused():
    p, y = classes()
    fitted = TemperatureScaling().fit(p, y)
    with pytest.raises(ValueError, match="got 4 classes, wanted 3 as in the fit"):
        fitted(classes(k=4)[0])
    with pytest.raises(ValueError, match="got 2 classes, wanted 3"):
        fitted(binary()[0])
    with pytest.raises(ValueError, match="got 59 values, wanted 60"):
        TemperatureScaling().fit(p, y[1:])
    with pytest.raises(ValueError, match="label 5"):
        TemperatureScaling().fit(p, np.full(60, 5))
    with pytest.raises(TypeError, match="Normal"):
        TemperatureScaling().fit(ct.Normal(np.zeros(3), np.ones(3)), np.zeros(3))
    with pytest.raises(ValueError, match="swapped"):
        TemperatureScaling().fit(binary()[1], binary()[0])


def test_maps_as_dictionaries_and_files(tmp_path):
    p, y = classes()
    fitted = TemperatureScaling().fit(p, y)
    entries = fitted.to_dict()
    assert {name: value for name, value in entries.items() if name != "fitted_rows"} == {
        "map": "TemperatureMap",
        "input": "probabilities",
        "n_classes": 3,
        "temperature": fitted.temperature,
        "clip": 1e-12,
    }
    again = CalibrationMap.from_dict(json.loads(json.dumps(entries)))
    np.testing.assert_array_equal(again(p), fitted(p))
    fitted.save(tmp_path / "map.npz")
    loaded = CalibrationMap.load(tmp_path / "map.npz")
    assert loaded.to_dict() == entries
    np.testing.assert_array_equal(loaded(p), fitted(p))
    with pytest.raises(FileNotFoundError, match="does not exist"):
        CalibrationMap.load(tmp_path / "no.npz")
    (tmp_path / "text.npz").write_text("text")
    with pytest.raises(ValueError, match="wanted a file that save"):
        CalibrationMap.load(tmp_path / "text.npz")
    with pytest.raises(ValueError, match=r"got the map 'None', wanted one of AffineMap, BetaMap, .*, TemperatureMap$"):
        CalibrationMap.from_dict({})
    with pytest.raises(ValueError, match="without temperature"):
        CalibrationMap.from_dict({"map": "TemperatureMap", "input": "probabilities", "n_classes": 3, "clip": 0.1})


def test_maps_of_one_class_against_the_others_are_all_binary():
    fitted = ct.recalibration.OneVsRest(ct.recalibration.Platt()).fit(*classes())
    entries = fitted.to_dict()
    for i in "012":
        wrong = entries | {"maps": entries["maps"] | {i: TemperatureScaling().fit(*classes()).to_dict()}}
        with pytest.raises(ValueError, match="3 binary maps of probabilities"):
            CalibrationMap.from_dict(wrong)


def test_maps_do_not_change():
    p, y = classes()
    before = p.copy()
    fitted = TemperatureScaling().fit(p, y)
    fitted(p)
    np.testing.assert_array_equal(p, before)
    with pytest.raises(AttributeError):
        fitted.temperature = 1.0


def test_maps_are_shown_in_short():
    p, y = ct.datasets.load_digits_predictions()["random forest"]
    shown = repr(ct.recalibration.GPCalibrator(max_iterations=5).fit(p, y))
    assert len(shown) < 400
    assert "inducing=<(10,) array>" in shown
    assert "maps=<10 of PlattMap>" in repr(ct.recalibration.OneVsRest(ct.recalibration.Platt()).fit(p, y))
    assert repr(ct.recalibration.VectorScaling().fit([0.5, 0.6, 0.4] * 20, [1, 1, 0] * 20)).startswith(
        "AffineMap(input="
    )


def test_one_row_beyond_double_precision_is_enough():
    p, y = classes()
    fitted = ct.recalibration.VectorScaling(input="logits").fit(0.3 * np.log(p) + 1.0, y)
    assert np.isfinite(fitted(np.array([[1.0, 2.0, 3.0]]))).all()
    with pytest.raises(ValueError, match=r"got numbers up to 1.7e\+308, for which the recalibrated probabilities are"):
        fitted(np.array([[1.0, 2.0, 3.0], [1.7e308, -1.7e308, 0.0]]))
