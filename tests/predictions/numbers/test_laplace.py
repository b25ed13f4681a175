from decimal import Decimal, localcontext
from itertools import pairwise, product

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

import caltest as ct
from caltest._loops.formulas.laplaces import one_noise, two_noises

WIDTH = 0.8
GAPS = [0.0, 1e-12, 1e-9, 1e-7, 1e-5, 1e-3, 0.0199, 0.0201, 0.3, 5.0]
DISTANCES = [0.0, 1e-6, 0.1, 1.0, 7.0, 60.0]


def apart(*scales):
    """Scales moved by 1e-25 of their size, so that the textbook formulas can be evaluated with 80 digits."""
    return [Decimal(float(scale)) * (1 + i * Decimal(10) ** -25) for i, scale in enumerate(scales)]


def textbook(distance, b, *scales):
    """``b sum_i c_i**(2 k - 1) exp(-x / c_i) / prod_{j != i} (c_i**2 - c_j**2)`` for k noises, with 80 digits."""
    with localcontext() as context:
        context.prec = 80
        c, x, total = apart(b, *scales), Decimal(float(distance)), Decimal(0)
        for i, one in enumerate(c):
            product = Decimal(1)
            for j, other in enumerate(c):
                product *= one * one - other * other if j != i else 1
            total += one ** (2 * len(scales) - 1) * (-x / one).exp() / product
        return float(c[0] * total)


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("gap", GAPS)
def test_one_sided_to_full_accuracy_near_equal_scales(gap, distance):
    for scale in (WIDTH * (1 + gap), WIDTH / (1 + gap)):
        assert one_noise(distance, WIDTH, scale) == pytest.approx(textbook(distance, WIDTH, scale), rel=1e-13)


@pytest.mark.parametrize("gap", GAPS)
def test_two_sided_to_full_accuracy_near_equal_scales(gap):
    for scale, distance, other_gap in product((WIDTH * (1 + gap), WIDTH / (1 + gap)), DISTANCES, GAPS):
        other = scale * (1 + other_gap)
        wanted = textbook(distance, WIDTH, scale, other)
        found = two_noises(distance, WIDTH, scale, other)
        assert found == pytest.approx(wanted, rel=5e-13, abs=1e-30), (scale, distance, other_gap)


@pytest.mark.parametrize("scale", [0.05, 0.5, 0.8, 3.0])
def test_against_quadrature(scale):
    predictions, others = ct.Laplace([0.3], scale), ct.Laplace([-0.4], 0.9)
    kernel = ct.LaplacianKernel(WIDTH)
    density = stats.laplace(0.3, scale).pdf

    def integral(function):
        points = [-0.4, 0.3, 1.1]
        ends = pairwise([-np.inf, *points, np.inf])
        return sum(quad(function, a, b, epsabs=1e-13)[0] for a, b in ends)

    one = integral(lambda z: density(z) * np.exp(-abs(z - 1.1) / WIDTH))
    assert predictions.expected_kernel(kernel, np.array([1.1]))[0, 0] == pytest.approx(one, abs=1e-10)
    two = integral(lambda z: density(z) * others.expected_kernel(kernel, np.array([z]))[0, 0])
    assert predictions.expected_kernel2(kernel, others)[0, 0] == pytest.approx(two, abs=1e-10)


def test_point_predictions_and_point_kernels():
    assert one_noise(0.7, 2.0, 0.0) == pytest.approx(np.exp(-0.35))
    assert two_noises(0.7, 2.0, 0.0, 0.0) == pytest.approx(np.exp(-0.35))
    assert two_noises(0.7, 2.0, 0.5, 0.0) == pytest.approx(one_noise(0.7, 2.0, 0.5), rel=1e-13)


def test_distribution_against_scipy():
    mean, scale = np.array([0.0, 1.0, -2.0]), np.array([0.5, 1.0, 2.0])
    predictions, y = ct.Laplace(mean, scale), np.array([0.2, 0.3, 5.0])
    assert predictions.cdf(y) == pytest.approx(stats.laplace(mean, scale).cdf(y), rel=1e-14)
    draws = predictions.sample(4, 5000)
    for i in range(3):
        assert stats.kstest(draws[:, i], stats.laplace(mean[i], scale[i]).cdf).pvalue > 1e-3
    assert predictions.target_scale() == pytest.approx(np.sqrt(2))
    hot = predictions.at_temperature(3.0)
    cold, warm = stats.laplace(mean, scale).logpdf, stats.laplace(mean, hot.scale).logpdf
    assert warm(y) - warm(mean) == pytest.approx((cold(y) - cold(mean)) / 3)


def test_wasserstein_distance_is_that_of_quantile_functions():
    one, two = ct.Laplace([0.3], 0.5), ct.Laplace([1.0], 1.5)
    quantiles = [stats.laplace(m, s).ppf for m, s in ((0.3, 0.5), (1.0, 1.5))]
    square = quad(lambda u: (quantiles[0](u) - quantiles[1](u)) ** 2, 0, 1, points=[0.5], epsabs=1e-12)[0]
    assert one.distance(ct.Wasserstein(), two)[0, 0] ** 2 == pytest.approx(square, abs=1e-8)


def test_bad_input():
    with pytest.raises(ValueError, match="scale: got -1 at row 1, wanted scales of at least 0"):
        ct.Laplace([0.0, 1.0], [1.0, -1.0])
    with pytest.raises(ValueError, match="temperature: got 0, wanted a positive number"):
        ct.Laplace([0.0], 1.0).at_temperature(0)


@pytest.mark.parametrize("bandwidth", [1e-200, 1e-3, 0.7, 1e3, 1e200])
def test_sums_over_redraws_are_those_of_each(bandwidth):
    """With points, scales next to the bandwidth and equal to it, and far smaller and larger ones."""
    rng = np.random.default_rng(4)
    scale = np.array([0.0, 1e-3, 0.7, 0.7 * (1.0 + 1e-9), 0.69, 0.75, 5e-324, 1e200, 1e3])
    predictions, kernel = ct.Laplace(rng.normal(size=9), scale), ct.LaplacianKernel(bandwidth)
    redraws = rng.normal(size=(4, 5))
    redraws[0, 0] = predictions.mean[0]
    wanted = np.stack([predictions.expected_kernel(kernel, y).ravel() for y in redraws], axis=1)
    single = np.eye(45).reshape(45, 9, 5)
    assert predictions.expectation_sums(kernel, single, redraws) == pytest.approx(wanted, rel=1e-12, abs=1e-300)
    several = rng.normal(size=(2, 9, 5))
    sums = several.reshape(2, 45) @ wanted
    assert predictions.expectation_sums(kernel, several, redraws) == pytest.approx(sums, rel=1e-9)
