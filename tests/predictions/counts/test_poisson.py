import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from scipy import special, stats

import caltest as ct


def exact(rate, count):
    """rate**count exp(-rate) / count! with 50 digits."""
    with localcontext() as context:
        context.prec = 50
        return float(Decimal(rate) ** count * (-Decimal(rate)).exp() / math.factorial(count))


@pytest.mark.parametrize("rate", [1e-12, 0.25, 3.0, 15.5, 80.0, 1000.0])
def test_probabilities_have_all_their_digits(rate):
    predictions = ct.Poisson([rate])
    first, stop = predictions.window
    pmf = predictions._pmf(first, stop)[0]
    spread = math.sqrt(rate)
    for count in {first, *(int(rate + z * spread) for z in (-5, -2, -0.1, 0, 0.5, 1, 3, 6))}:
        if first <= count < stop and exact(rate, count) > 1e-15:
            assert pmf[count - first] == pytest.approx(exact(rate, count), rel=2e-13, abs=0.0)


def test_probabilities_of_large_counts():
    """Their sum is 1 and their ratios are rate / (u + 1), which is all there is to a Poisson distribution."""
    predictions = ct.Poisson([100_000.0])
    first, stop = predictions.window
    pmf = predictions._pmf(first, stop)[0]
    assert pmf.sum() == pytest.approx(1.0, rel=1e-14)
    assert pmf[1:] / pmf[:-1] == pytest.approx(1e5 / np.arange(first + 1, stop), rel=1e-12)


def test_scipy_has_the_same_distributions():
    rate = np.array([0.0, 0.4, 7.0, 90.0])
    predictions, law = ct.Poisson(rate), stats.poisson(rate)
    assert np.array_equal(predictions.mean, law.mean())
    assert np.array_equal(predictions.variance, law.var())
    y = np.array([0, 1, 5, 100])
    assert predictions.cdf(y) == pytest.approx(law.cdf(y), rel=1e-12)
    assert predictions._pmf(0, 200) == pytest.approx(law.pmf(np.arange(200)[:, None]).T, rel=1e-11, abs=1e-140)


def test_rate_zero_is_a_point():
    predictions = ct.Poisson([0.0, 2.0])
    assert predictions._pmf(0, 4)[0].tolist() == [1.0, 0.0, 0.0, 0.0]
    assert not predictions.sample(1, 100)[:, 0].any()
    assert predictions.impossible(np.array([0, 9])).tolist() == [False, False]
    assert predictions.impossible(np.array([1, 9])).tolist() == [True, False]
    kernel = ct.GaussianKernel(bandwidth=1.0)
    assert predictions.expected_kernel(kernel, np.array([3]))[0, 0] == pytest.approx(math.exp(-4.5), rel=1e-14)
    notes = ct.calibration_test(predictions, [1, 2], n_resamples=19, rng=1).notes
    assert any(note.startswith("1 of 2 outcomes") for note in notes)


def test_most_rates_zero():
    with pytest.raises(ValueError, match=r'bandwidth: got "median" for targets .* certainty'):
        ct.Poisson([0.0, 0.0, 0.0, 2.0, 1.0]).default_kernel().resolve(ct.Poisson([0.0, 0.0, 0.0, 2.0, 1.0]))


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
def test_temperature_raises_densities_to_a_power(temperature):
    """q / mu proportional to (p / mu)**(1/T) with mu = 1 / u!."""
    rate = np.array([0.3, 1.0, 8.0])
    scaled = ct.Poisson(rate).at_temperature(temperature)
    u = np.arange(250)
    log_mu = -special.gammaln(u + 1)
    log_density = u * np.log(rate[:, None]) - rate[:, None]
    powers = np.exp(log_mu + log_density / temperature)
    expected = powers / powers.sum(axis=1, keepdims=True)
    assert scaled._pmf(0, 250) == pytest.approx(expected, rel=1e-10, abs=1e-140)


def test_temperature_of_zero_rates_and_bad_temperatures():
    assert ct.Poisson([0.0, 4.0]).at_temperature(2.0).rate.tolist() == [0.0, 2.0]
    for temperature in (0.0, -1.0, np.nan, "2"):
        with pytest.raises(ValueError, match="temperature: got"):
            ct.Poisson([1.0]).at_temperature(temperature)


def test_distances_of_parameters_are_those_of_square_roots():
    predictions = ct.Poisson([1.0, 9.0, 0.0])
    expected = np.array([[0.0, 2.0, 1.0], [2.0, 0.0, 3.0], [1.0, 3.0, 0.0]])
    for metric in (ct.Euclidean(), ct.kernels.Cityblock()):
        assert np.array_equal(predictions.distance(metric, predictions), expected)


def test_gaussian_kernel_of_the_default_distance_is_the_overlap():
    """``sum_u sqrt(p p')`` is exp(-(sqrt(rate) - sqrt(rate'))**2 / 2)."""
    predictions = ct.Poisson([0.3, 2.0, 11.0])
    roots = np.sqrt(predictions._pmf(0, 200))
    overlap = ct.GaussianKernel(bandwidth=1.0).tile(predictions, predictions)
    assert overlap == pytest.approx(roots @ roots.T, rel=1e-12)


@pytest.mark.parametrize(
    ("rate", "message"),
    [
        ([1.0, -0.5], "rate: got -0.5 at row 1, wanted expected counts from 0"),
        ([1.0, np.nan], "rate: got nan at row 1"),
        ([np.inf], "rate: got inf at row 0"),
        ([1e17], r"rate: got 1e\+17 at row 0, wanted expected counts from 0 to 2\*\*53"),
        ([], "rate: got no values"),
        (3.0, r"rate: got shape \(\), wanted 1 dimension"),
        ([[1.0, 2.0], [2.0, 1.0]], r"rate: got shape \(2, 2\)"),
        (["a"], "rate: got values of type"),
    ],
)
def test_bad_rates(rate, message):
    with pytest.raises(ValueError, match=message):
        ct.Poisson(rate)


def test_the_users_array_is_not_kept():
    rate = np.array([1.0, 2.0])
    predictions = ct.Poisson(rate)
    rate[0] = 5.0
    assert predictions.rate.tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="read-only"):
        predictions.rate[0] = 3.0
