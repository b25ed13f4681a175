import numpy as np
import pytest

import caltest as ct
from caltest.hstatistics.variances.jackknife import jackknife_error
from caltest.risk.base import BilinearForm, risk_terms

N, D, R = 40, 3, 4


def double_loop(deviations, h):
    n = len(deviations)
    terms = [(deviations[i] @ deviations[j] - h[i, j]) ** 2 for i in range(n) for j in range(n) if i != j]
    return sum(terms) / (n * (n - 1))


def coefficients(rng, kind):
    symmetric = rng.normal(size=(R, R))
    return {"none": None, "diagonal": rng.normal(size=R), "matrix": symmetric + symmetric.T}[kind]


@pytest.mark.parametrize("kind", ["none", "diagonal", "matrix"])
def test_risk_is_the_double_loop(kind):
    rng = np.random.default_rng(1)
    deviations, vectors = rng.normal(size=(N, D)), rng.normal(size=(N, R))
    form = BilinearForm(vectors, coefficients(rng, kind))
    matrix = {"none": np.eye(R), "diagonal": np.diag(form.coefficients) if kind == "diagonal" else None}.get(kind)
    h = vectors @ (form.coefficients if matrix is None else matrix) @ vectors.T
    assert form.matrix() == pytest.approx(h, rel=1e-12)
    assert form.diagonal() == pytest.approx(np.diag(h), rel=1e-12)
    assert risk_terms(form, deviations).mean() == pytest.approx(double_loop(deviations, h), rel=1e-10)


def test_standard_error_is_the_jackknife():
    rng = np.random.default_rng(2)
    deviations, vectors = rng.normal(size=(N, D)), rng.normal(size=(N, R))
    others = [np.delete(np.arange(N), i) for i in range(N)]
    left_out = [double_loop(deviations[o], vectors[o] @ vectors[o].T) for o in others]
    expected = np.sqrt((N - 1) / N * np.sum((left_out - np.mean(left_out)) ** 2))
    assert jackknife_error(risk_terms(BilinearForm(vectors), deviations)) == pytest.approx(expected, rel=1e-9)


def test_standard_error_of_a_difference_is_the_jackknife():
    rng = np.random.default_rng(3)
    deviations, one, two = (rng.normal(size=(N, D)) for _ in range(3))
    others = [np.delete(np.arange(N), i) for i in range(N)]
    left_out = [
        double_loop(deviations[o], one[o] @ one[o].T) - double_loop(deviations[o], two[o] @ two[o].T) for o in others
    ]
    expected = np.sqrt((N - 1) / N * np.sum((left_out - np.mean(left_out)) ** 2))
    terms = risk_terms(BilinearForm(one), deviations) - risk_terms(BilinearForm(two), deviations)
    assert jackknife_error(terms) == pytest.approx(expected, rel=1e-9)


def test_risk_is_unbiased_and_its_standard_error_right():
    """Uniform p, outcomes of a coin, h = 0: the risk is (E D**2)**2 = (1/3)**2."""
    rng = np.random.default_rng(4)
    p, h = rng.uniform(size=(400, 50)), BilinearForm(np.zeros((50, 1)))
    y = rng.random(p.shape) < 0.5
    terms = [risk_terms(h, (a - b)[:, None]) for a, b in zip(p, y, strict=True)]
    values = np.mean(terms, axis=1)
    truth = (1 / 3) ** 2
    assert values.mean() == pytest.approx(truth, abs=4 * values.std() / 20)
    assert np.mean([jackknife_error(one) for one in terms]) == pytest.approx(values.std(), rel=0.15)


def test_simulation_of_gruber_and_bach():
    """Section 5.1: predictions softmax(0.3 ln P), h from softmax(theta / 0.3 ln p); the truth has theta = 1."""
    rng = np.random.default_rng(5)
    thetas = 2.0 ** (np.arange(-8, 9) / 4)
    total = np.zeros(thetas.size)
    for _ in range(60):
        truth = np.maximum(rng.dirichlet(np.full(5, 0.04), 500), 1e-100)
        truth /= truth.sum(axis=1, keepdims=True)
        labels = (rng.random(500)[:, None] > np.cumsum(truth, axis=1)[:, :-1]).sum(axis=1)
        p = softmax(0.3 * np.log(truth))
        deviations = p - np.eye(5)[labels]
        forms = [BilinearForm(p - softmax(theta / 0.3 * np.log(p))) for theta in thetas]
        total += [risk_terms(form, deviations).mean() for form in forms]
    assert thetas[np.argmin(total)] == 1.0


def softmax(logits):
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def test_risk_of_a_fitted_function():
    p, y = ct.datasets.load_digits_predictions()["naive Bayes"]
    half, rest = slice(0, 450), slice(450, 600)
    fitted = ct.risk.KroneckerRidgeErrorFunction(1e-3).fit(p.take(half), y[half])
    deviations = p.probabilities[rest] - np.eye(10)[y[rest]]
    expected = double_loop(deviations, fitted.matrix(p.take(rest)))
    assert fitted.risk(p.take(rest), y[rest]).value == pytest.approx(expected, rel=1e-10)
    with pytest.raises(ValueError, match="got 2 observations, wanted at least 3"):
        fitted.risk(p.take(slice(0, 2)), y[:2])
    with pytest.raises(ValueError, match="got points of dimension 1, wanted 10"):
        fitted.values([0.2, 0.3])
