"""Temperature scaling with respect to the counting measure."""

import numpy as np
import pytest

import caltest as ct

P = np.random.default_rng(1).dirichlet(np.full(5, 0.3), 30)


@pytest.mark.parametrize("temperature", [0.25, 1.0, 3.0])
@pytest.mark.parametrize("family", [ct.Categorical, ct.Ordinal])
def test_powers_of_probabilities(family, temperature):
    powers = P ** (1.0 / temperature)
    scaled = family(P, classes=list("abcde")).at_temperature(temperature)
    assert type(scaled) is family
    assert scaled.probabilities == pytest.approx(powers / powers.sum(axis=1, keepdims=True), rel=1e-12)
    assert scaled.classes == tuple("abcde")


@pytest.mark.parametrize("temperature", [0.25, 1.0, 3.0])
def test_binary_predictions_agree_with_two_classes(temperature):
    p = np.array([0.0, 1e-200, 1e-9, 0.3, 0.5, 0.99, 1.0])
    binary = ct.Bernoulli(p, classes=["no", "yes"]).at_temperature(temperature)
    two = ct.Categorical(np.stack([1.0 - p, p], axis=1)).at_temperature(temperature)
    assert binary.probability == pytest.approx(two.probabilities[:, 1], rel=1e-12, abs=0.0)
    assert binary.classes == ("no", "yes")


@pytest.mark.parametrize("temperature", [1e-3, 0.01, 100.0, 1e300])
def test_zeros_stay_and_extreme_temperatures_are_finite(temperature):
    p = np.array([[0.0, 1e-300, 1.0], [0.5, 0.5, 0.0], [1.0, 0.0, 0.0], [1e-310, 1e-310, 1.0]])
    scaled = ct.Categorical(p).at_temperature(temperature).probabilities
    assert np.array_equal(scaled == 0.0, (p == 0.0) | ((temperature < 1.0) & (p < 1e-200)))
    assert scaled.sum(axis=1) == pytest.approx(np.ones(4), rel=1e-14)
    assert scaled[1].tolist() == [0.5, 0.5, 0.0]


def test_tiny_probabilities_keep_their_digits():
    scaled = ct.Categorical([[1e-300, 1.0]]).at_temperature(2.0).probabilities
    assert scaled[0, 0] == pytest.approx(1e-150, rel=1e-12)
    assert ct.Bernoulli([1e-300]).at_temperature(2.0).probability[0] == pytest.approx(1e-150, rel=1e-12)


@pytest.mark.parametrize("predictions", [ct.Categorical(P), ct.Bernoulli(P[:, 0])], ids=["classes", "binary"])
@pytest.mark.parametrize("temperature", [0.0, -2.0, np.nan, np.inf, None])
def test_bad_temperatures(predictions, temperature):
    with pytest.raises(ValueError, match=r"temperature: got .* wanted a positive number"):
        predictions.at_temperature(temperature)


def test_cdf_of_binary_predictions():
    predictions = ct.Bernoulli([0.2, 0.7, 1.0, 0.0])
    assert predictions.cdf(np.array([0, 1, 0, 0])) == pytest.approx([0.8, 1.0, 0.0, 1.0])
