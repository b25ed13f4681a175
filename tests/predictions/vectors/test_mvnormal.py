import warnings

import numpy as np
import pytest
from scipy import stats
from scipy.linalg import sqrtm

import caltest as ct

RNG = np.random.default_rng(1)
N, D = 5, 3
MEAN = RNG.normal(size=(N, D))
FACTORS = RNG.normal(size=(N, D, D)) * 0.6
FULL = FACTORS @ FACTORS.swapaxes(1, 2)
Y = RNG.normal(size=(N, D))
WIDTHS = (0.7, 1.5, 2.0)
COVARIANCES = {"isotropic": FULL[:, 0, 0], "diagonal": np.einsum("iaa->ia", FULL), "full": FULL}


def as_matrices(covariance):
    if covariance.ndim == 3:
        return covariance
    diagonals = covariance if covariance.ndim == 2 else np.repeat(covariance[:, None], D, axis=1)
    return diagonals[:, :, None] * np.eye(D)


def slow_expectation(difference, covariance, widths):
    """``E exp(-sum_a (x_a + Z_a)**2 / (2 w_a**2))`` for Z normal, as a ratio of normal densities."""
    kernel = np.diag(np.square(widths))
    density = stats.multivariate_normal(np.zeros(D), kernel + covariance).pdf(difference)
    return density / stats.multivariate_normal(np.zeros(D), kernel).pdf(np.zeros(D))


@pytest.mark.every(4)
@pytest.mark.parametrize("bandwidth", [1.3, WIDTHS], ids=["one", "each"])
@pytest.mark.parametrize("kind", COVARIANCES)
def test_expectations_against_densities(kind, bandwidth):
    covariance = COVARIANCES[kind]
    matrices, widths = as_matrices(covariance), np.broadcast_to(bandwidth, D)
    predictions, kernel = ct.MvNormal(MEAN, covariance), ct.GaussianKernel(bandwidth=bandwidth)
    one = predictions.expected_kernel(kernel, Y)
    two = predictions.expected_kernel2(kernel, predictions)
    for i in range(N):
        for j in range(N):
            assert one[i, j] == pytest.approx(slow_expectation(MEAN[i] - Y[j], matrices[i], widths), rel=1e-12)
            both = slow_expectation(MEAN[i] - MEAN[j], matrices[i] + matrices[j], widths)
            assert two[i, j] == pytest.approx(both, rel=1e-12)


def test_one_dimension_equals_normal():
    rng = np.random.default_rng(2)
    mean, scale, y = rng.normal(size=30), rng.uniform(0.1, 1.0, 30), rng.normal(size=30)
    kernel = ct.ProductKernel(ct.ExponentialKernel(ct.Wasserstein(), 0.8), ct.GaussianKernel(bandwidth=0.6))
    wanted = ct.SKCE(kernel)(ct.Normal(mean, scale), y)
    for covariance in (scale**2, scale[:, None] ** 2, scale[:, None, None] ** 2):
        assert ct.SKCE(kernel)(ct.MvNormal(mean[:, None], covariance), y[:, None]) == pytest.approx(wanted, rel=1e-12)


def test_the_same_distributions_in_three_forms():
    variances = RNG.uniform(0.1, 1.0, N)
    forms = [variances, np.repeat(variances[:, None], D, axis=1), variances[:, None, None] * np.eye(D)]
    kernel = ct.ProductKernel(ct.ExponentialKernel(ct.Wasserstein(), 0.8), ct.GaussianKernel(bandwidth=0.6))
    values = [ct.SKCE(kernel)(ct.MvNormal(MEAN, form), Y) for form in forms]
    assert values == pytest.approx([values[0]] * 3, rel=1e-12)
    location = ct.MvNormal(MEAN[:2], 0.5)
    ucme = [ct.UCME(kernel, location, Y[:2])(ct.MvNormal(MEAN, form), Y) for form in forms]
    assert ucme == pytest.approx([ucme[0]] * 3, rel=1e-12)


def test_wasserstein_distance():
    predictions = ct.MvNormal(MEAN, FULL)
    distances = predictions.distance(ct.Wasserstein(), predictions)
    for i in range(N):
        for j in range(N):
            root = sqrtm(FULL[i])
            bures = np.trace(FULL[i] + FULL[j] - 2 * np.real(sqrtm(root @ FULL[j] @ root)))
            square = np.sum((MEAN[i] - MEAN[j]) ** 2) + bures
            assert distances[i, j] ** 2 == pytest.approx(square, abs=1e-7 if i == j else 1e-10)
    assert np.diag(distances) == pytest.approx(np.zeros(N), abs=1e-6)


def test_matrices_that_commute_have_the_distance_of_their_roots():
    basis = np.linalg.qr(RNG.normal(size=(D, D)))[0]
    values = RNG.uniform(0.1, 2.0, (N, D))
    values[1] = values[1, 0]
    commuting = ct.MvNormal(MEAN, (basis * values[:, None, :]) @ basis.T)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kernel = commuting.default_kernel().resolve(commuting)
    assert isinstance(kernel.prediction_kernel.metric, ct.Wasserstein)
    distances = commuting.distance(ct.Wasserstein(), commuting)
    assert distances == pytest.approx(commuting._bures_wasserstein(commuting), abs=1e-6)


def test_wasserstein_of_other_matrices_warns():
    kernel = ct.ProductKernel(ct.ExponentialKernel(ct.Wasserstein(), 1.0), ct.GaussianKernel(bandwidth=1.0))
    with pytest.warns(ct.kernels.KernelWarning, match="do not commute"):
        ct.SKCE(kernel)(ct.MvNormal(MEAN, FULL), Y)
    assert isinstance(ct.MvNormal(MEAN, FULL).default_kernel().prediction_kernel.metric, ct.Euclidean)


@pytest.mark.parametrize("kind", COVARIANCES)
def test_samples_have_the_predicted_moments(kind):
    predictions = ct.MvNormal(MEAN, COVARIANCES[kind])
    draws = predictions.sample(3, 40_000)
    for i, matrix in enumerate(as_matrices(COVARIANCES[kind])):
        assert draws[:, i].mean(axis=0) == pytest.approx(MEAN[i], abs=4.5 * np.sqrt(matrix.max() / 40_000))
        assert np.cov(draws[:, i].T) == pytest.approx(matrix, abs=6 * matrix.max() * np.sqrt(2 / 40_000))


@pytest.mark.parametrize("kind", COVARIANCES)
def test_standardised_residuals(kind):
    predictions = ct.MvNormal(MEAN, COVARIANCES[kind])
    _, z = ct.standardised_residuals(predictions, Y)
    for i, matrix in enumerate(as_matrices(COVARIANCES[kind])):
        assert sqrtm(matrix) @ z[i] == pytest.approx(Y[i] - MEAN[i], abs=1e-10)


def test_singular_covariances():
    direction = np.array([1.0, 2.0, 2.0]) / 3.0
    singular = np.broadcast_to(np.outer(direction, direction), (N, D, D))
    predictions = ct.MvNormal(MEAN, singular)
    inside = MEAN + RNG.normal(size=(N, 1)) * direction
    assert not predictions.impossible(inside).any()
    assert predictions.impossible(inside + np.array([0.1, 0.0, 0.0])).all()
    assert ct.MvNormal(MEAN, 0.0).impossible(Y).all()
    # Rounding grows with the numbers themselves.
    far = ct.MvNormal(np.zeros((N, D)), singular)
    assert not far.impossible(1e12 * RNG.normal(size=(N, 1)) * direction).any()
    with pytest.raises(ValueError, match="covariance: got a singular matrix at row 0"):
        ct.standardised_residuals(predictions, inside)


def test_temperature_scales_the_covariance():
    hot = ct.MvNormal(MEAN, FULL).at_temperature(2.5)
    assert hot.covariance == pytest.approx(2.5 * FULL)
    density = stats.multivariate_normal(MEAN[0], FULL[0]).logpdf
    hot_density = stats.multivariate_normal(MEAN[0], hot.covariance[0]).logpdf
    assert hot_density(Y[0]) - hot_density(Y[1]) == pytest.approx((density(Y[0]) - density(Y[1])) / 2.5)


ASYMMETRIC, INDEFINITE = np.eye(D) + np.eye(D, k=1), np.diag([1.0, 1.0, -0.1])
BAD = {
    "not symmetric": (MEAN[:2], [np.eye(D), ASYMMETRIC], "covariance: got a matrix at row 1 that differs"),
    "not psd": (MEAN[:2], [np.eye(D), INDEFINITE], "covariance: got a matrix at row 1 with the eigenvalue -0.1"),
    "negative": (MEAN[:2], [1.0, -1.0], "covariance: got -1 at row 1"),
    "shape": (MEAN[:2], np.eye(D), "covariance: got shape \\(3, 3\\), wanted \\(2,\\) variances"),
    "nan": (MEAN[:2], [1.0, np.nan], "covariance: got nan at row 1"),
    "mean": ([1.0, 2.0], 1.0, "mean: got shape \\(2,\\), wanted 2 dimensions"),
    "text": (MEAN[:2], ["a", "b"], "covariance: got values of type"),
}


@pytest.mark.parametrize(("mean", "covariance", "message"), BAD.values(), ids=BAD)
def test_bad_parameters(mean, covariance, message):
    with pytest.raises(ValueError, match=message):
        ct.MvNormal(mean, covariance)


def test_bad_targets_and_kernels():
    predictions = ct.MvNormal(MEAN, 1.0)
    with pytest.raises(ValueError, match=r"targets: got shape \(5, 2\), wanted \(5, 3\), a vector for each prediction"):
        ct.calibration_test(predictions, Y[:, :2])
    with pytest.raises(ValueError, match="targets: got shape \\(5,\\), wanted \\(5, 3\\), a vector"):
        ct.calibration_test(predictions, Y[:, 0])
    with pytest.raises(ValueError, match="bandwidth: got 2 numbers, wanted one, or one for each of 3 dimensions"):
        ct.SKCE(ct.ProductKernel(ct.ExponentialKernel(bandwidth=1.0), ct.GaussianKernel(bandwidth=(1.0, 2.0))))(
            predictions, Y
        )
    with pytest.raises(ct.predictions.ClosedFormMissing, match="to_ensemble"):
        ct.SKCE(ct.ProductKernel(ct.ExponentialKernel(bandwidth=1.0), ct.MaternKernel(bandwidth=1.0)))(predictions, Y)
    with pytest.raises(TypeError, match="no distribution function"):
        predictions.cdf(Y)
    kernel = ct.ProductKernel(ct.ExponentialKernel(bandwidth=1.0), ct.GaussianKernel(bandwidth=1.0))
    ucme = ct.UCME(kernel, ct.MvNormal(MEAN[:, :2], 1.0), Y[:, :2])
    with pytest.raises(ValueError, match="test_predictions: got vectors of length 2, wanted 3"):
        ucme(predictions, Y)


def test_vectors_of_one_number_are_numbers():
    """Also for the default test, whose components look at residuals."""
    mean, scale, y = RNG.normal(size=12), RNG.uniform(0.5, 1.5, 12), RNG.normal(size=12)
    vectors = ct.calibration_test(ct.MvNormal(mean[:, None], scale[:, None] ** 2), y[:, None], n_resamples=19, rng=1)
    numbers = ct.calibration_test(ct.Normal(mean, scale), y, n_resamples=19, rng=1)
    found = {one.name: one.statistic for one in vectors.components}
    assert len(found) == 11
    for one in numbers.components:
        assert found[one.name] == pytest.approx(one.statistic, rel=1e-9), one.name


def test_vectors_of_many_redraws_are_whitened_like_single_ones():
    rng = np.random.default_rng(4)
    a = rng.normal(size=(6, 3, 3))
    p = ct.MvNormal(rng.normal(size=(6, 3)), a @ a.swapaxes(1, 2) + 0.1 * np.eye(3))
    y = p.sample(1, 5)
    scores = p.standard_scores(y)
    for b in range(5):
        for i in range(6):
            values, vectors = np.linalg.eigh(p.covariance[i])
            whitened = vectors @ np.diag(values**-0.5) @ vectors.T @ (y[b, i] - p.mean[i])
            assert scores[b, i] @ scores[b, i] == pytest.approx(whitened @ whitened, rel=1e-9)
    # What is kept belongs to the predictions it was computed for.
    some = p.take(slice(2, 4))
    assert some.standard_scores(y[:, 2:4]) == pytest.approx(scores[:, 2:4], rel=1e-12)
    assert p.at_temperature(4.0).standard_scores(y) == pytest.approx(scores / 2.0, rel=1e-9)


ROUNDED = 9.0 * np.sqrt(2e-10)
SINGULAR = {
    # Means, outcomes, covariances, and how far off it may be: nine roots of 2e-10, and 1e-9 of numbers that are large.
    "line": ([0.0, 0.0], [3.0, 3.0], [[1.0, 1.0], [1.0, 1.0]], ROUNDED),
    "far mean": ([1e6, 1e6], [0.0, 0.0], [[1.0, 1.0], [1.0, 1.0]], ROUNDED + np.sqrt(2.0) * 1e-3),
    "far outcome": ([0.0, 0.0], [1e6, 1e6], [[1.0, 1.0], [1.0, 1.0]], ROUNDED + np.sqrt(2.0) * 1e-3),
    "diagonal": ([0.0, -5.0], [0.0, -5.0], [1.0, 0.0], 5e-9 * np.sqrt(2.0)),
    "point": ([0.0, 5.0], [0.0, 5.0], 0.0, 5e-9 * np.sqrt(2.0)),
}


@pytest.mark.parametrize("name", SINGULAR)
def test_outcomes_beyond_rounding_are_impossible(name):
    mean, outcome, covariance, farthest = SINGULAR[name]
    predictions = ct.MvNormal([mean] * 3, [covariance] * 3)
    off = np.array([0.0, 0.99, 1.01])[:, None] * farthest * np.array([-1.0, 1.0]) / np.sqrt(2.0)
    assert predictions.impossible(outcome + off).tolist() == [False, False, True]
