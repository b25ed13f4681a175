"""Squared calibration errors of simulated data whose true error is known.

Reduced here; ``python -m pytest tests/statistical --full`` takes all models and more data.
"""

import numpy as np
import pytest

import caltest as ct
from caltest.generators import DirichletModel

pytestmark = [pytest.mark.statistical, pytest.mark.usefixtures("without_findings")]


def tempered(k, concentration, power):
    """Labels from P of a Dirichlet distribution, predictions proportional to P**power."""

    def draw(n, rng):
        law = np.maximum(DirichletModel(k, concentration).sample(n, rng)[0].probabilities, 1e-200)
        law /= law.sum(axis=1, keepdims=True)
        p = np.exp(power * (np.log(law) - np.log(law).max(axis=1, keepdims=True)))
        return p / p.sum(axis=1, keepdims=True), law, ct.Categorical(law).sample(rng)

    return draw


def contaminated(model):
    """Labels of which a share does not depend on the predictions."""
    fixed = np.full(model.n_classes, 1 / model.n_classes) if model.fixed is None else np.array(model.fixed)

    def draw(n, rng):
        predictions, y = model.sample(n, rng)
        p = predictions.probabilities
        return p, (1 - model.strength) * p + model.strength * fixed, y

    return draw


MODELS = [
    tempered(3, 0.5, 0.5),
    tempered(5, 0.04, 0.3),
    contaminated(DirichletModel.m2(10)),
    contaminated(DirichletModel.m3(4, 1.0, 0.5)),
    tempered(3, 0.5, 2.0),
    tempered(5, 0.5, 2.0),
    tempered(10, 0.2, 0.5),
    contaminated(DirichletModel.m3(5, 0.5, 0.5)),
]


def test_relative_errors_of_canonical_errors(replications):
    n, models = replications(1000, 10000), MODELS[: replications(1, 8)]
    errors = []
    for number, draw in enumerate(models * replications(1, 2)):
        rng = np.random.default_rng([2024, number])
        p, law, y = draw(n, rng)
        truth = np.mean(np.sum((p - law) ** 2, axis=1))
        errors.append(ct.estimate_calibration_error(p, y, rng=rng).squared_error / truth - 1.0)
    assert np.mean(np.abs(errors)) < 0.15


def test_relative_errors_of_few_data(replications):
    """Five classes with Dir(0.5) and predictions that are far too uncertain, P**0.3."""
    errors, (n, sets) = [], replications((700, 1), (1500, 16))
    for number in range(sets):
        rng = np.random.default_rng([2028, number])
        p, law, y = tempered(5, 0.5, 0.3)(n, rng)
        truth = np.mean(np.sum((p - law) ** 2, axis=1))
        errors.append(ct.estimate_calibration_error(p, y, rng=rng).squared_error / truth - 1.0)
    assert np.mean(np.abs(errors)) < replications(0.3, 0.15)


@pytest.mark.every(3)
@pytest.mark.parametrize("notion", ["canonical", "top_label", "classwise"])
def test_errors_of_two_classes_are_known(notion, replications):
    """With P(Y = 1 | p) = q(p) the top label has the same deviation, and both classes have it too."""
    n, n_simulations = 1000, replications(2, 100)
    deviations = []
    for number in range(n_simulations):
        rng = np.random.default_rng([2025, number])
        p = rng.uniform(size=n)
        q = 0.3 + 0.4 * p
        y = (rng.random(n) < q).astype(int)
        matrix = np.stack([1 - p, p], axis=1)
        result = ct.estimate_calibration_error(matrix, y, notion, rng=rng)
        truth = np.mean((p - q) ** 2) * (1 if notion == "top_label" else 2)
        deviations.append((result.squared_error - truth) / truth)
    assert np.mean(deviations) == pytest.approx(0.0, abs=0.1 + 2 * np.std(deviations) / n_simulations**0.5)


def test_standard_errors(replications):
    """Of the top label: the mean standard error is that of the estimates within a factor of two."""
    estimates, standard_errors = [], []
    for number in range(replications(8, 400)):
        rng = np.random.default_rng([2026, number])
        p = rng.uniform(size=300)
        result = ct.estimate_calibration_error(p, rng.random(300) < p**2, rng=rng)
        estimates.append(result.squared_error)
        standard_errors.append(result.standard_error)
    assert 0.5 < np.mean(standard_errors) / np.std(estimates) < 2.0
