"""Error functions: of bins, densities and ridge regressions."""

import numpy as np
import pytest
from scipy import special
from scipy.stats import dirichlet

import caltest as ct
from caltest.predictions.inputs.convert import as_sample
from caltest.risk.base import CalibrationData, KernelSpectrum, gaussian_kernel, pivoted_cholesky
from caltest.risk.functions import BANDWIDTHS


def data_of_bins(n=200, seed=1, decimals=17):
    rng = np.random.default_rng(seed)
    p = np.round(rng.beta(4, 1, n), decimals)
    return p, (rng.random(n) < p**2).astype(int)


@pytest.mark.parametrize("n_bins", [1, 7, 100])
def test_plug_in_is_the_square_of_the_binned_error(n_bins):
    p, y = data_of_bins(decimals=2)
    expected = ct.ECE(ct.binning.UniformBinning(n_bins), ct.kernels.SquaredEuclidean())(p, y)
    assert ct.risk.BinnedErrorFunction(n_bins).plug_in(p, y) == pytest.approx(expected, rel=1e-13)


def debiased(p, y, numbers):
    """Kumar et al. 2019: sum_b N_b/n ((conf_b - acc_b)**2 - acc_b (1 - acc_b) / (N_b - 1)) over bins of two or more."""
    total = 0.0
    for b in np.unique(numbers):
        members = numbers == b
        size, accuracy = members.sum(), y[members].mean()
        if size > 1:
            total += size / len(p) * ((p[members].mean() - accuracy) ** 2 - accuracy * (1 - accuracy) / (size - 1))
    return total


@pytest.mark.parametrize("n_bins", [1, 2, 15, 60, 200, 500])
@pytest.mark.parametrize("decimals", [17, 1])
def test_debiased_bins_are_the_formula(n_bins, decimals):
    """Up to one observation a bin and more bins than observations, with and without ties."""
    p, y = data_of_bins(decimals=decimals)
    expected = debiased(p, y, ct.binning.QuantileBinning(n_bins).assign(p[:, None]))
    assert ct.risk.DebiasedBinnedErrorFunction(n_bins).plug_in(p, y) == pytest.approx(expected, abs=1e-15)


def test_debiased_bins_where_nothing_can_be_said():
    assert ct.risk.DebiasedBinnedErrorFunction(2).plug_in([0.2, 0.8], [1, 0]) == 0.0
    assert ct.risk.DebiasedBinnedErrorFunction(9).plug_in([0.7] * 4, [1, 1, 0, 0]) == pytest.approx(0.2**2 - 0.25 / 3)
    assert ct.risk.DebiasedBinnedErrorFunction(9).plug_in([0.7] * 4, [1] * 4) == pytest.approx(0.3**2)
    assert ct.risk.DebiasedBinnedErrorFunction(1).plug_in([0.0, 1.0], [0, 1]) == pytest.approx(-0.25)


def test_functions_of_new_points():
    """Bins are closed above, the first contains 0, empty ones say nothing; debiased values differ by the variance."""
    p, y = [0.1, 0.25, 0.25, 0.5, 0.9, 1.0], [0, 1, 0, 1, 1, 0]
    fitted = ct.risk.BinnedErrorFunction(4).fit(p, y)
    delta = np.array([0.2 - 1 / 3, 0.2 - 1 / 3, 0.5 - 1, 0.0, 0.95 - 0.5])
    assert fitted.matrix([0.0, 0.25, 0.26, 0.7, 1.0]) == pytest.approx(np.outer(delta, delta))
    debiased = ct.risk.DebiasedBinnedErrorFunction(2).fit(p, y)
    delta, variance = np.array([0.2 - 1 / 3, 0.8 - 2 / 3]), 2 / 9 / 2
    expected = np.outer(delta[[0, 0, 1, 1]], delta[[0, 0, 1, 1]])
    expected[:2, :2] -= variance
    expected[2:, 2:] -= variance
    assert debiased.matrix([0.0, 0.25, 0.3, 1.0]) == pytest.approx(expected)


def test_errors_of_bins():
    for kind in (ct.risk.BinnedErrorFunction, ct.risk.DebiasedBinnedErrorFunction):
        with pytest.raises(ValueError, match="n_bins: got 0, wanted a whole number of at least 1"):
            kind(0)
        with pytest.raises(ValueError, match="n_bins: got no values"):
            kind([])
        for several, message in ((kind(), "bins: got 20 values"), (kind([5, 10]), "bins: got 2 values")):
            with pytest.raises(ValueError, match=f"{message}, wanted one to fit"):
                several.fit([0.2, 0.8], [0, 1])
        with pytest.raises(TypeError, match=r"got probabilities of 2 classes.*use ct.top_label"):
            kind(5).fit([[0.2, 0.8], [0.5, 0.5]], [0, 1])
        with pytest.raises(ValueError, match="got 1 observation, wanted at least 2"):
            kind(5).fit([0.2], [0])


K = 3


def data_of_densities(n, seed=1):
    rng = np.random.default_rng(seed)
    return rng.dirichlet((2, 1, 3), n), rng.integers(0, K, n)


def frequencies(p, points, labels, bandwidth):
    """``sum_i w_i e_{y_i}`` with weights from the density at p of Dir(x_i / h + 1), one after the other."""
    weights = np.array([dirichlet.pdf(p / p.sum(), x / bandwidth + 1) for x in points])
    return weights @ np.eye(points.shape[1])[labels] / weights.sum()


@pytest.mark.parametrize("bandwidth", [0.05, 1.0])
def test_frequencies_are_weighted_by_densities(bandwidth):
    (x, y), (p, _) = data_of_densities(40), data_of_densities(15, 2)
    residuals = np.array([one - frequencies(one, x, y, bandwidth) for one in p])
    fitted = ct.risk.DirichletErrorFunction(bandwidth).fit(x, y)
    assert fitted.matrix(p) == pytest.approx(residuals @ residuals.T, rel=1e-9, abs=1e-12)


def test_binary_outcomes_are_points_of_a_simplex():
    (x, y), (p, _) = data_of_densities(40), data_of_densities(15, 2)
    pairs = np.stack([1 - x[:, 0], x[:, 0]], axis=1)
    outcomes = (y == 0).astype(int)
    residuals = [c - frequencies(np.array([1 - c, c]), pairs, outcomes, 0.1)[1] for c in p[:, 0]]
    fitted = ct.risk.DirichletErrorFunction(0.1).fit(x[:, 0], outcomes)
    assert fitted.matrix(p[:, 0]) == pytest.approx(np.outer(residuals, residuals), rel=1e-9, abs=1e-12)


def test_plug_in():
    x, y = data_of_densities(30)
    included = [np.sum((one - frequencies(one, x, y, 0.1)) ** 2) for one in x]
    assert ct.risk.DirichletErrorFunction(0.1).plug_in(x, y) == pytest.approx(np.mean(included), rel=1e-9)


@pytest.mark.every(4)
@pytest.mark.parametrize("n_classes", [2, 3, 200])
@pytest.mark.parametrize("bandwidth", [*BANDWIDTHS, 1e-9, 1e9])
def test_finite_for_exact_predictions(n_classes, bandwidth):
    rng = np.random.default_rng(3)
    p = np.concatenate([np.eye(n_classes)[rng.integers(0, n_classes, 20)], rng.dirichlet(np.ones(n_classes), 5)])
    y = rng.integers(0, n_classes, 25)
    for data in [(p, y), (p[:, 0], y == 0)]:
        value = ct.risk.DirichletErrorFunction(bandwidth).plug_in(*data)
        assert np.isfinite(value)
        assert 0.0 <= value <= 2.0


def test_probabilities_below_the_floor_count_as_1e_30():
    """Weights in closed form: with h = 1 that of (1 - c, c) at (1 - p, p) is p**c (1 - p)**(1 - c) but for a factor."""
    centres, y = np.array([0.0, 0.1]), np.array([0, 1])

    def frequency(p):
        densities = p**centres * (1.0 - p) ** (1.0 - centres) / special.beta(centres + 1.0, 2.0 - centres)
        return densities[1] / densities.sum()

    fitted = ct.risk.DirichletErrorFunction(1.0).fit(centres, y)
    wide = ct.risk.DirichletErrorFunction(1.0).fit(np.stack([1.0 - centres, centres], axis=1), y)
    for p, counts_as in ((1e-3, 1e-3), (1e-20, 1e-20), (1e-29, 1e-29), (1e-35, 1e-30), (0.0, 1e-30)):
        assert fitted.values(np.array([p])) == pytest.approx([(p - frequency(counts_as)) ** 2], rel=1e-9)
        both = wide.values(np.array([[1.0 - p, p]]))
        assert both == pytest.approx([2.0 * (p - frequency(counts_as)) ** 2], rel=1e-9)


def test_small_bandwidths_follow_the_data_and_large_ones_average():
    x, y = data_of_densities(50)
    nearest = ct.risk.DirichletErrorFunction(1e-7).fit(x, y)
    assert nearest.values(x) == pytest.approx(np.sum((x - np.eye(K)[y]) ** 2, axis=1), rel=1e-6)
    average = ct.risk.DirichletErrorFunction(1e9).fit(x, y)
    assert average.values(x) == pytest.approx(np.sum((x - np.bincount(y) / 50) ** 2, axis=1), rel=1e-6)


def test_errors_of_densities():
    with pytest.raises(ValueError, match="bandwidth: got 0, wanted a positive number"):
        ct.risk.DirichletErrorFunction(0)
    with pytest.raises(ValueError, match="bandwidth: got 20 values, wanted one"):
        ct.risk.DirichletErrorFunction().plug_in(*data_of_densities(5))
    with pytest.raises(TypeError, match="got Normal predictions, wanted Categorical"):
        ct.risk.DirichletErrorFunction(0.1).fit(ct.Normal([0.0, 1.0], [1.0, 1.0]), [0.0, 1.0])


@pytest.mark.parametrize("bandwidth", [*BANDWIDTHS, 1e-9, 1e9])
def test_short_sums_are_the_long_ones(bandwidth):
    """Probabilities with ties and next to 0 and 1, by the concave weights of one outcome and by all weights."""
    rng = np.random.default_rng(4)
    x = np.concatenate([rng.beta(0.05, 0.05, 150), np.round(rng.uniform(size=100), 1), 1 - rng.uniform(0, 1e-12, 50)])
    y, p = rng.integers(0, 2, 300), np.concatenate([x[::3], rng.uniform(size=20), [0.0, 1.0]])
    function = ct.risk.DirichletErrorFunction(bandwidth)
    short = next(function.fits(CalibrationData.of(as_sample(x, y))).forms(p[:, None], [0]))
    pairs, places = (np.stack([1.0 - values, values], axis=1) for values in (x, p))
    long = next(function.fits(CalibrationData.of(as_sample(pairs, y))).forms(places, [0]))
    assert short.vectors == pytest.approx(long.vectors[:, 1:], abs=1e-6 if bandwidth < 1e-6 else 1e-9)


KINDS = (ct.risk.KroneckerRidgeErrorFunction, ct.risk.TwoStepRidgeErrorFunction)


def data_of_ridges(n, k=3, seed=1):
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
    (p, y), (q, _) = data_of_ridges(12), data_of_ridges(7, seed=2)
    targets = (deviations(p, y) @ deviations(p, y).T).ravel()
    system = np.kron(kernel(p, p, gamma), kernel(p, p, gamma)) + c * 12**1.5 * np.eye(144)
    at_pairs = np.kron(kernel(q, p, gamma), kernel(q, p, gamma))
    expected = (at_pairs @ np.linalg.solve(system, targets)).reshape(7, 7)
    fitted = ct.risk.KroneckerRidgeErrorFunction(c, gamma).fit(p, y)
    assert fitted.matrix(q) == pytest.approx(expected, rel=1e-9, abs=1e-9 * np.abs(expected).max())


def test_kronecker_ridge_minimises_its_risk():
    """No other function ``sum_kl A_kl k(p_k, .) k(p_l, .)`` has a smaller mean square plus lambda times its norm."""
    p, y = data_of_ridges(6)
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
    (p, y), (q, _) = data_of_ridges(30), data_of_ridges(7, seed=2)
    system = kernel(p, p, gamma) + 0.01 * 30**0.75 * np.eye(30)
    d = kernel(q, p, gamma) @ np.linalg.solve(system, deviations(p, y))
    fitted = ct.risk.TwoStepRidgeErrorFunction(0.01, gamma).fit(p, y)
    assert fitted.matrix(q) == pytest.approx(d @ d.T, rel=1e-9, abs=1e-10)


def test_two_step_ridge_is_kronecker_ridge_with_other_denominators():
    (p, y), (q, _) = data_of_ridges(20), data_of_ridges(5, seed=2)
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
    p, y = data_of_ridges(12)
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
    p, _ = data_of_ridges(100, 5)
    exact = gaussian_kernel(p, p, 1.0)
    assert exact == pytest.approx(kernel(p, p, 1.0), abs=1e-14)
    for max_rank in (1, 5, 40):
        columns, pivots, residual = pivoted_cholesky(p, 1.0, max_rank)
        assert columns.shape == (max_rank, 100)
        assert len(set(pivots)) == max_rank
        errors = np.diag(exact - columns.T @ columns)
        assert residual == pytest.approx(errors.max(), abs=1e-12)
        assert np.linalg.eigvalsh(exact - columns.T @ columns).min() > -1e-12
    spectrum, left = KernelSpectrum.of(p, 1.0, 300)
    assert spectrum.residual <= 1e-12
    assert (left * spectrum.roots**2) @ left.T == pytest.approx(exact, abs=1e-10)
    assert spectrum.vectors(p) == pytest.approx(left * spectrum.roots, abs=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_all_predictions_equal(kind):
    fitted = kind(1e-9).fit([0.7] * 50, [1, 0] * 25)
    assert fitted.values([0.7]) == pytest.approx([0.2**2], rel=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_errors_of_ridges(kind):
    with pytest.raises(ValueError, match="regularisation: got 0"):
        kind(0)
    with pytest.raises(ValueError, match="gamma: got -1"):
        kind(gamma=-1)
    with pytest.raises(ValueError, match="max_rank: got 0"):
        kind(max_rank=0)
    with pytest.raises(ValueError, match="regularisation: got 18 values, wanted one"):
        kind().fit(*data_of_ridges(9))


def test_grids_of_regularisations():
    one, two = ct.risk.KroneckerRidgeErrorFunction, ct.risk.TwoStepRidgeErrorFunction
    np.testing.assert_allclose(one.of_one, np.logspace(-1, -17, 9), rtol=1e-12)
    np.testing.assert_allclose(one.of_many, np.logspace(8, -9, 18), rtol=1e-12)
    np.testing.assert_allclose(two.of_one, np.logspace(-1, -9, 9), rtol=1e-12)
    np.testing.assert_allclose(two.of_many, np.logspace(4, -4.5, 18), rtol=1e-12)
