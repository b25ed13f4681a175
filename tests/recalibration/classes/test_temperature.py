import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from caltest.recalibration import TemperatureScaling


def problem(n=400, k=4, temperature=2.5, seed=3):
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(n, k)) * 2.0
    p = np.exp(truth) / np.exp(truth).sum(axis=1, keepdims=True)
    return truth * temperature, np.array([rng.choice(k, p=row) for row in p])


def loss(inverse, logits, labels):
    """The mean negative log-likelihood, observation by observation."""
    total = 0.0
    for row, label in zip(logits * inverse, labels, strict=True):
        total -= row[label] - row.max() - np.log(np.exp(row - row.max()).sum())
    return total / len(labels)


def test_the_likelihood_is_maximised():
    z, y = problem()
    best = minimize_scalar(loss, bracket=(0.1, 1.0), args=(z, y), tol=1e-12)
    fitted = TemperatureScaling(input="logits").fit(z, y)
    assert 1.0 / fitted.temperature == pytest.approx(best.x, rel=1e-6)
    scaled = np.exp(z / fitted.temperature)
    np.testing.assert_allclose(fitted(z), scaled / scaled.sum(axis=1, keepdims=True), rtol=1e-12)
    assert fitted.temperature == pytest.approx(2.5, rel=0.2)


def test_probabilities_are_logits_up_to_constants():
    z, y = problem()
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    on_logits = TemperatureScaling(input="logits").fit(z, y)
    assert TemperatureScaling(clip=1e-300).fit(p, y).temperature == pytest.approx(on_logits.temperature, rel=1e-9)
    shifted = TemperatureScaling(input="logits").fit(z + 1e4, y)
    assert shifted.temperature == pytest.approx(on_logits.temperature, rel=1e-9)


def test_temperature_scaling_is_that_of_scikit_learn():
    calibration = pytest.importorskip("sklearn.calibration")
    if not hasattr(calibration, "_TemperatureScaling"):
        pytest.skip("scikit-learn is older than 1.8")
    z, y = problem()
    wanted = calibration._TemperatureScaling().fit(z, y).predict(z)
    np.testing.assert_allclose(TemperatureScaling(input="logits").fit(z, y)(z), wanted, atol=1e-6)


def test_separated_labels_and_the_reverse():
    z, _ = problem()
    sure = TemperatureScaling(input="logits").fit(z, z.argmax(axis=1))
    assert sure.temperature == 1e-3
    wrong = TemperatureScaling(input="logits").fit(z, z.argmin(axis=1))
    assert wrong.temperature == 1e3
    assert TemperatureScaling(input="logits").fit(0.01 * z, z.argmin(axis=1)).temperature == 1e3
    assert np.isfinite(sure(z)).all()
    assert np.isfinite(wrong(z)).all()


def test_constant_predictions_stay():
    p = np.full((20, 4), 0.25)
    fitted = TemperatureScaling().fit(p, np.zeros(20, int))
    assert fitted.temperature == 1.0
    np.testing.assert_allclose(fitted(p), p)


def test_probabilities_of_0_and_1():
    p = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.5, 0.5, 0.0], [0.2, 0.3, 0.5]])
    fitted = TemperatureScaling().fit(p, np.array([0, 0, 1, 2]))
    assert np.isfinite(fitted.temperature)
    assert np.isfinite(fitted(p)).all()


def test_a_class_that_does_not_occur():
    z, y = problem()
    fitted = TemperatureScaling(input="logits").fit(z, np.minimum(y, 2))
    assert (fitted(z)[:, 3] > 0.0).all()


def test_labels_of_probability_0_do_not_decide_alone():
    z, y = problem()
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    zeros = p.copy()
    zeros[0] = np.roll([1.0, 0.0, 0.0, 0.0], y[0] + 1)
    without = TemperatureScaling().fit(p, y).temperature
    assert TemperatureScaling().fit(zeros, y).temperature == pytest.approx(without, rel=0.2)
    assert TemperatureScaling(clip=1e-307).fit(zeros, y).temperature > 2.0 * without
    for clip in (0.0, 0.5, 1e-310):
        with pytest.raises(ValueError, match="clip"):
            TemperatureScaling(clip=clip)
