import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize

from caltest.recalibration import CalibrationMap, DirichletCalibration, MatrixScaling, VectorScaling
from caltest.recalibration.classes.affine import objective

METHODS = [VectorScaling(), MatrixScaling(), DirichletCalibration(), MatrixScaling(off_diagonal=0.0, intercept=0.0)]


def problem(n=300, k=3, seed=7):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(k, 0.8), n)
    z = np.log(p) @ np.array([[0.6, 0.2, 0.0], [0.0, 1.4, 0.0], [0.1, 0.0, 0.9]]).T + np.array([0.5, 0.0, -0.3])
    truth = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    return p, np.array([rng.choice(k, p=row) for row in truth])


def slow_objective(parameters, z, y, off_diagonal, intercept, diagonal):
    k = z.shape[1]
    w = np.diag(parameters[:k]) if diagonal else parameters[:-k].reshape(k, k)
    b = parameters[-k:]
    total = 0.0
    for row, label in zip(z, y, strict=True):
        scores = [sum(w[i, j] * row[j] for j in range(k)) + b[i] for i in range(k)]
        total -= scores[label] - np.log(sum(np.exp(s) for s in scores))
    pairs = [w[i, j] ** 2 for i in range(k) for j in range(k) if i != j]
    return total / len(y) + off_diagonal * np.mean(pairs) + intercept * np.mean(b**2)


@pytest.mark.parametrize("diagonal", [True, False])
def test_objective_and_its_gradient(diagonal):
    p, y = problem(n=40)
    z = np.log(p)
    rng = np.random.default_rng(1)
    parameters = rng.normal(size=6 if diagonal else 12)
    settings = (0.0 if diagonal else 0.7, 0.4)
    value, gradient = objective(parameters, z, y, *settings)
    assert value == pytest.approx(slow_objective(parameters, z, y, *settings, diagonal), rel=1e-12)
    numerical = approx_fprime(parameters, lambda x: objective(x, z, y, *settings)[0], 1e-7)
    np.testing.assert_allclose(gradient, numerical, atol=1e-5)


@pytest.mark.parametrize("diagonal", [True, False])
def test_the_objective_is_minimised(diagonal):
    p, y = problem(n=80)
    z = np.log(p)
    method = VectorScaling() if diagonal else MatrixScaling(off_diagonal=0.3, intercept=0.2)
    strengths = (0.0, 0.0) if diagonal else (0.3, 0.2)
    start = np.zeros(6 if diagonal else 12)
    best = minimize(slow_objective, start, (z, y, *strengths, diagonal), "BFGS", options={"gtol": 1e-7})
    fitted = method.fit(p, y)
    weights = best.x[:-3] if diagonal else best.x[:-3].reshape(3, 3)
    scores = (z * weights if diagonal else z @ weights.T) + best.x[-3:]
    wanted = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(fitted(p), wanted, atol=1e-5)


def test_matrix_scaling_of_log_probabilities_is_dirichlet_calibration():
    p, y = problem()
    dirichlet = DirichletCalibration().fit(p, y)
    np.testing.assert_allclose(MatrixScaling(input="logits").fit(np.log(p), y)(np.log(p)), dirichlet(p), atol=1e-7)
    with pytest.raises(TypeError):
        DirichletCalibration(input="logits")


def test_strong_regularisation_gives_a_diagonal():
    p, y = problem()
    fitted = MatrixScaling(off_diagonal=1e6, intercept=0.0).fit(p, y)
    np.testing.assert_allclose(fitted(p), VectorScaling().fit(p, y)(p), atol=1e-4)


def test_dirichlet_calibration_is_a_logistic_regression_of_scikit_learn():
    linear_model = pytest.importorskip("sklearn.linear_model")
    p, y = problem()
    wanted = linear_model.LogisticRegression(C=np.inf, tol=1e-9, max_iter=10000).fit(np.log(p), y)
    fitted = DirichletCalibration(off_diagonal=0.0, intercept=0.0).fit(p, y)
    np.testing.assert_allclose(fitted(p), wanted.predict_proba(np.log(p)), atol=1e-6)


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_degenerate_data_have_finite_outcomes(method, tmp_path):
    p, y = problem()
    for predictions, labels in (
        (p, p.argmax(axis=1)),
        (p, np.minimum(y, 1)),
        (p, np.zeros_like(y)),
        (np.full_like(p, 1 / 3), y),
        (np.eye(3)[p.argmax(axis=1)], y),
        (p[:1], y[:1]),
    ):
        fitted = method.fit(predictions, labels)
        answer = fitted(p)
        assert np.isfinite(answer).all()
        np.testing.assert_allclose(answer.sum(axis=1), 1.0)
    constant = method.fit(np.full_like(p, 1 / 3), y)
    if method != DirichletCalibration() and not getattr(method, "intercept", 0.0):
        np.testing.assert_allclose(constant(np.full((1, 3), 1 / 3))[0], np.bincount(y) / y.size, atol=1e-5)
    constant.save(tmp_path / "map.npz")
    np.testing.assert_array_equal(CalibrationMap.load(tmp_path / "map.npz")(p), constant(p))


def test_settings_are_checked():
    for value in (-1.0, np.inf, "1", True):
        with pytest.raises(ValueError, match="wanted a number of at least 0"):
            MatrixScaling(off_diagonal=value)
