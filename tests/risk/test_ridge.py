import numpy as np
import pytest

import caltest as ct
from caltest.risk.data import KernelSpectrum, gaussian_kernel, pivoted_cholesky

KINDS = (ct.risk.KroneckerRidgeErrorFunction, ct.risk.TwoStepRidgeErrorFunction)


def data(n, k=3, seed=1):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(k, 0.8), n)
    return p, rng.integers(0, k, n)


def deviations(p, y):
    return p - np.eye(p.shape[1])[y]


def kernel(x, z, gamma):
    return np.exp(-gamma * np.sum((x[:, None] - z[None]) ** 2, axis=-1))


@pytest.mark.parametrize("gamma", [1.0, 20.0])
@pytest.mark.parametrize("c", [1e-4, 1.0])
def test_kronecker_ridge_is_the_naive_solution(gamma, c):
    """One linear system with a row for each pair of observations."""
    (p, y), (q, _) = data(12), data(7, seed=2)
    targets = (deviations(p, y) @ deviations(p, y).T).ravel()
    system = np.kron(kernel(p, p, gamma), kernel(p, p, gamma)) + c * 12**1.5 * np.eye(144)
    at_pairs = np.kron(kernel(q, p, gamma), kernel(q, p, gamma))
    expected = (at_pairs @ np.linalg.solve(system, targets)).reshape(7, 7)
    fitted = ct.risk.KroneckerRidgeErrorFunction(c, gamma).fit(p, y)
    assert fitted.matrix(q) == pytest.approx(expected, rel=1e-9, abs=1e-9 * np.abs(expected).max())


def test_kronecker_ridge_minimises_its_risk():
    """No other function ``sum_kl A_kl k(p_k, .) k(p_l, .)`` has a smaller mean square plus lambda times its norm."""
    p, y = data(6)
    products, gram = deviations(p, y) @ deviations(p, y).T, kernel(p, p, 5.0)
    c, rng = 0.1, np.random.default_rng(1)
    h = ct.risk.KroneckerRidgeErrorFunction(c, 5.0).fit(p, y).matrix(p)
    inverse = np.linalg.inv(gram)

    def objective(weights):
        values = gram @ weights @ gram
        return np.mean((products - values) ** 2) + c * 6**-0.5 * np.sum(weights * values)

    weights = inverse @ h @ inverse
    least = objective(weights)
    others = [objective(weights + 1e-3 * rng.normal(size=(6, 6))) for _ in range(50)]
    assert min(others) > least


@pytest.mark.parametrize("gamma", [1.0, 20.0])
def test_two_step_ridge_is_the_naive_solution(gamma):
    (p, y), (q, _) = data(30), data(7, seed=2)
    system = kernel(p, p, gamma) + 0.01 * 30**0.75 * np.eye(30)
    d = kernel(q, p, gamma) @ np.linalg.solve(system, deviations(p, y))
    fitted = ct.risk.TwoStepRidgeErrorFunction(0.01, gamma).fit(p, y)
    assert fitted.matrix(q) == pytest.approx(d @ d.T, rel=1e-9, abs=1e-10)


def test_two_step_ridge_is_kronecker_ridge_with_other_denominators():
    (p, y), (q, _) = data(20), data(5, seed=2)
    eigenvalues, eigenvectors = np.linalg.eigh(kernel(p, p, 20.0))
    added = 0.01 * 20**0.75
    inner = eigenvectors.T @ deviations(p, y) @ deviations(p, y).T @ eigenvectors
    inner /= np.multiply.outer(eigenvalues + added, eigenvalues + added)
    sides = kernel(q, p, 20.0) @ eigenvectors
    fitted = ct.risk.TwoStepRidgeErrorFunction(0.01, 20.0).fit(p, y)
    assert fitted.matrix(q) == pytest.approx(sides @ inner @ sides.T, rel=1e-9, abs=1e-10)


def test_both_agree_without_regularisation():
    """For a kernel that can be inverted: the difference vanishes with the regularisation."""
    p, y = np.linspace(0.02, 0.98, 15), np.arange(15) % 2
    q = np.linspace(0.0, 1.0, 6)

    def difference(c):
        one, two = (kind(c, 400.0).fit(p, y).matrix(q) for kind in KINDS)
        return np.abs(one - two).max() / np.abs(two).max()

    assert difference(1e-1) > 1e-2
    assert difference(1e-5) < 1e-3
    assert difference(1e-9) < 1e-7


def test_kronecker_ridge_can_be_negative():
    p, y = data(12)
    values = (
        ct.risk.KroneckerRidgeErrorFunction(1.0, 20.0)
        .fit(p, y)
        .values(np.random.default_rng(1).dirichlet((1, 1, 1), 500))
    )
    assert values.min() < 0.0 < values.max()


@pytest.mark.parametrize("kind", KINDS)
def test_stable_at_the_smallest_regularisation(kind):
    """A thousand probabilities: rounding in eigenvalues of the kernel would make the function explode."""
    rng = np.random.default_rng(1)
    p = rng.beta(3, 1, 1000)
    y = rng.random(1000) < p**2
    order = rng.permutation(1000)
    smallest = kind().grid(1)[-1]
    values = kind(smallest).fit(p, y).values(p)
    permuted = kind(smallest).fit(p[order], y[order]).values(p)
    assert np.abs(values).max() < 0.5
    assert permuted == pytest.approx(values, abs=1e-3)
    assert values.mean() == pytest.approx(np.mean((p - p**2) ** 2), abs=0.02)


@pytest.mark.parametrize("kind", KINDS)
def test_landmarks_are_the_full_solution_where_it_can_be_computed(kind):
    """The eigenvalues of all 300 points against the 10 or so landmarks that the kernel needs."""
    rng = np.random.default_rng(2)
    p = rng.beta(3, 1, 300)
    y = (rng.random(300) < p**2).astype(int)
    eigenvalues, eigenvectors = np.linalg.eigh(gaussian_kernel(p[:, None], p[:, None], 1.0))
    projections = eigenvectors.T @ (p - y)
    c, sides = 1e-5, gaussian_kernel(p[:, None], p[:, None], 1.0) @ eigenvectors
    if kind is ct.risk.TwoStepRidgeErrorFunction:
        expected = (sides @ (projections / (eigenvalues + c * 300**0.75))) ** 2
    else:
        inner = np.outer(projections, projections) / (np.outer(eigenvalues, eigenvalues) + c * 300**1.5)
        expected = np.einsum("ir,rs,is->i", sides, inner, sides)
    assert kind(c).fit(p, y).values(p) == pytest.approx(expected, abs=1e-8)


def test_incomplete_cholesky_decomposition():
    p, _ = data(200, 5)
    exact = gaussian_kernel(p, p, 1.0)
    assert exact == pytest.approx(kernel(p, p, 1.0), abs=1e-14)
    for max_rank in (1, 5, 40):
        columns, pivots, residual = pivoted_cholesky(p, 1.0, 1e-12, max_rank)
        assert columns.shape == (max_rank, 200)
        assert len(set(pivots)) == max_rank
        errors = np.diag(exact - columns.T @ columns)
        assert residual == pytest.approx(errors.max(), abs=1e-12)
        assert np.linalg.eigvalsh(exact - columns.T @ columns).min() > -1e-12
    spectrum, left = KernelSpectrum.of(p, 1.0, 1e-12, 300)
    assert spectrum.residual <= 1e-12
    assert (left * spectrum.roots**2) @ left.T == pytest.approx(exact, abs=1e-10)
    assert spectrum.vectors(p) == pytest.approx(left * spectrum.roots, abs=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_all_predictions_equal(kind):
    fitted = kind(1e-9).fit([0.7] * 50, [1, 0] * 25)
    assert fitted.values([0.7]) == pytest.approx([0.2**2], rel=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_errors(kind):
    with pytest.raises(ValueError, match="regularisation: got 0"):
        kind(0)
    with pytest.raises(ValueError, match="gamma: got -1"):
        kind(gamma=-1)
    with pytest.raises(ValueError, match="max_rank: got 0"):
        kind(max_rank=0)
    with pytest.raises(ValueError, match="regularisation: got 18 values, wanted one"):
        kind().fit(*data(9))


def test_grids_of_regularisations():
    one, two = ct.risk.KroneckerRidgeErrorFunction, ct.risk.TwoStepRidgeErrorFunction
    np.testing.assert_allclose(one.of_one, np.logspace(-1, -17, 9), rtol=1e-12)
    np.testing.assert_allclose(one.of_many, np.logspace(8, -9, 18), rtol=1e-12)
    np.testing.assert_allclose(two.of_one, np.logspace(-1, -9, 9), rtol=1e-12)
    np.testing.assert_allclose(two.of_many, np.logspace(4, -4.5, 18), rtol=1e-12)
