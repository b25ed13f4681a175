import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from scipy import special, stats

import caltest as ct


def exact(size, mean, count):
    """The probability of a count with 50 digits, for whole sizes."""
    with localcontext() as context:
        context.prec = 50
        q = Decimal(size) / (Decimal(size) + Decimal(mean))
        return float(math.comb(count + size - 1, count) * q**size * (1 - q) ** count)


@pytest.mark.parametrize("size", [1, 3, 40, 10**6])
@pytest.mark.parametrize("mean", [1e-9, 0.4, 25.0, 2000.0])
def test_probabilities_have_all_their_digits(size, mean):
    predictions = ct.NegativeBinomial.from_mean([mean], 1.0 / size)
    first, stop = predictions.window
    pmf = predictions._pmf(first, stop)[0]
    spread = math.sqrt(mean + mean**2 / size)
    for count in {0, 1, 2, *(int(mean + z * spread) for z in (-3, -0.5, 0, 0.5, 2, 8))}:
        if first <= count < stop and (value := exact(size, mean, count)) > 1e-15:
            # The rounding of 1 / size changes the probabilities by as much as size is large.
            assert pmf[count - first] == pytest.approx(value, rel=2e-13, abs=0.0)


@pytest.mark.parametrize("size", [1e-4, 0.3, 0.999, 17.2])
def test_sizes_that_are_no_whole_numbers(size):
    predictions = ct.NegativeBinomial([size], 0.2)
    pmf = predictions._pmf(0, 600)[0]
    assert pmf == pytest.approx(stats.nbinom.pmf(np.arange(600), size, 0.2), rel=1e-11)
    ratios = (np.arange(599) + size) / (np.arange(599) + 1.0) * 0.8
    assert pmf[1:] / pmf[:-1] == pytest.approx(ratios, rel=1e-12)


def test_scipy_has_the_same_distributions():
    size, probability = np.array([0.5, 2.0, 30.0, 4.0]), np.array([0.9, 0.05, 0.4, 1.0])
    predictions, law = ct.NegativeBinomial(size, probability), stats.nbinom(size, probability)
    assert predictions.size == pytest.approx(size, rel=1e-15)
    assert predictions.probability == pytest.approx(probability, rel=1e-15)
    assert predictions.dispersion == pytest.approx(1.0 / size, rel=1e-15)
    assert predictions.mean == pytest.approx(law.mean(), rel=1e-14)
    assert predictions.variance == pytest.approx(law.var(), rel=1e-14)
    y = np.array([0, 30, 50, 0])
    assert predictions.cdf(y) == pytest.approx(law.cdf(y), rel=1e-11)


def test_mean_and_dispersion():
    mean, dispersion = np.array([0.0, 3.0, 70.0]), np.array([0.2, 1.5, 1e-3])
    predictions = ct.NegativeBinomial.from_mean(mean, dispersion)
    assert predictions.mean == pytest.approx(mean)
    assert predictions.variance == pytest.approx(mean + dispersion * mean**2)
    again = ct.NegativeBinomial(predictions.size, predictions.probability)
    assert again.mean == pytest.approx(mean, rel=1e-13)
    assert ct.NegativeBinomial.from_mean(mean, 0.5).size.tolist() == [2.0, 2.0, 2.0]
    assert ct.NegativeBinomial(2.0, [0.5, 0.25]).mean.tolist() == [2.0, 6.0]
    assert ct.NegativeBinomial([2.0, 3.0], 0.5).mean.tolist() == [2.0, 3.0]
    assert len(ct.NegativeBinomial(2.0, 0.5)) == len(ct.NegativeBinomial.from_mean(2.0, 0.5)) == 1


@pytest.mark.every(3)
@pytest.mark.parametrize("dispersion", [1e-9, 1e-14, 1e-200])
def test_without_dispersion_it_is_poisson(dispersion):
    mean = np.array([0.0, 0.2, 5.0, 40.0])
    predictions, limit = ct.NegativeBinomial.from_mean(mean, dispersion), ct.Poisson(mean)
    error = 1e-14 + 1e4 * dispersion
    assert predictions._pmf(0, 150) == pytest.approx(limit._pmf(0, 150), rel=0.0, abs=error)
    y = np.array([0, 0, 4, 37])
    assert predictions.cdf(y) == pytest.approx(limit.cdf(y), rel=0.0, abs=error)
    assert predictions.sample(1, 4000).mean(axis=0) == pytest.approx(mean, abs=0.3)
    assert predictions.embedding(ct.Euclidean())[:, 0] == pytest.approx(limit.embedding(ct.Euclidean())[:, 0])


def test_probability_one_is_a_point():
    predictions = ct.NegativeBinomial([3.0, 1e-25, 2.0], [1.0, 1.0, 0.5])
    assert predictions._pmf(0, 3)[:2].tolist() == [[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
    assert not predictions.sample(1, 50)[:, :2].any()
    assert predictions.impossible(np.array([1, 0, 8])).tolist() == [True, False, False]


@pytest.mark.parametrize("temperature", [0.4, 1.0, 2.5])
def test_temperature_raises_densities_to_a_power(temperature):
    """q / mu proportional to (p / mu)**(1/T) with mu = Gamma(u + s) / (Gamma(s) u!)."""
    size, probability = np.array([0.7, 3.0, 12.0]), np.array([0.3, 0.6, 0.9])
    scaled = ct.NegativeBinomial(size, probability).at_temperature(temperature)
    u, s, q = np.arange(900), size[:, None], probability[:, None]
    log_density = s * np.log(q) + u * np.log1p(-q)
    log_mu = special.gammaln(u + s) - special.gammaln(s) - special.gammaln(u + 1)
    powers = np.exp(log_mu + log_density / temperature)
    expected = powers / powers.sum(axis=1, keepdims=True)
    assert scaled._pmf(0, 900) == pytest.approx(expected, rel=1e-9, abs=1e-60)
    assert scaled.size == pytest.approx(size)
    assert scaled.probability == pytest.approx(1.0 - (1.0 - probability) ** (1.0 / temperature), rel=1e-13)


def test_temperature_of_points():
    scaled = ct.NegativeBinomial([2.0, 2.0], [1.0, 0.5]).at_temperature(3.0)
    assert scaled.mean[0] == 0.0
    with pytest.raises(ValueError, match=r"temperature: got -1\.0"):
        scaled.at_temperature(-1.0)
    with pytest.raises(ValueError, match="temperature: got the mean"):
        scaled.at_temperature(1e30)


def test_distances_of_parameters():
    predictions = ct.NegativeBinomial.from_mean([4.0, 9.0], [0.25, 1.0 / 81.0])
    vectors = np.array([[2.0, math.sqrt(2.0)], [3.0, 1.0]])
    assert predictions.embedding(ct.Euclidean()) == pytest.approx(vectors)
    assert predictions.distance(ct.kernels.Cityblock(), predictions)[0, 1] == pytest.approx(1.0 + math.sqrt(2.0) - 1.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.0, 1.0], 0.5), "size: got 0 at row 0, wanted numbers above 0"),
        (([2.0, -1.0], 0.5), "size: got -1 at row 1, wanted numbers above 0"),
        (([2.0, 1.0], [0.5, 0.0]), "probability: got 0 at row 1, wanted numbers above 0 and at most 1"),
        (([2.0, 1.0], [0.5, 7.0]), r"probability: got 7 at row 1, .*\(for means use from_mean\)"),
        (([2.0, np.nan], 0.5), "size: got nan at row 1"),
        (([2.0, 1.0], [0.5, np.nan]), "probability: got nan at row 1"),
        (([2.0, 1.0], [0.5]), "probability: got 1 values, wanted 2"),
        (([2.0], [1e-30]), "probability: got the mean .* at row 0, wanted means"),
        (([1e-300], [1e-300]), "probability: got the mean .* at row 0, wanted means, and means divided by sizes"),
    ],
)
def test_bad_parameters(arguments, message):
    with pytest.raises(ValueError, match=message):
        ct.NegativeBinomial(*arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0, -2.0], 0.5), "mean: got -2 at row 1, wanted expected counts of at least 0"),
        (([1.0, 2.0], 0.0), r"dispersion: got 0 at row 0, wanted numbers above 0 \(without dispersion use Poisson"),
        (([1.0, 2.0], [0.1, -1.0]), "dispersion: got -1 at row 1"),
        (([1.0, np.inf], 0.5), "mean: got inf at row 1"),
        (([1.0, 2.0], [0.1, 0.2, 0.3]), "dispersion: got 3 values, wanted 2"),
        (([1e20], 0.1), r"mean: got the mean 1e\+20 and the size 10 at row 0"),
    ],
)
def test_bad_means_and_dispersions(arguments, message):
    with pytest.raises(ValueError, match=message):
        ct.NegativeBinomial.from_mean(*arguments)


def test_large_draws_do_not_overflow():
    predictions = ct.NegativeBinomial.from_mean([8e15, 4.0], [1.0, 1e15])
    draws = predictions.sample(1, 2000)
    assert draws.min() >= 0


@pytest.mark.parametrize("size", [5e-324, 1e-300, 1.0])
def test_certain_zeros(size):
    predictions = ct.NegativeBinomial([size, size], 1.0)
    assert predictions.window[0] == 0
    assert np.array_equal(predictions.sample(1), [0, 0])
    assert (
        ct.SKCE(ct.ProductKernel(ct.ExponentialKernel(ct.Euclidean(), 1.0), ct.DeltaKernel()))(predictions, [0, 0])
        == 0.0
    )


def test_wide_counts_take_no_sums_over_all_pairs_or_all_counts(monkeypatch):
    rng = np.random.default_rng(4)
    law = ct.NegativeBinomial.from_mean(rng.uniform(500.0, 2000.0, 1000), 0.1)
    kernel, few = ct.GaussianKernel(bandwidth=300.0), np.array([0.0, 700.0, 2500.0])
    assert ct.Poisson([3.0, 50.0]).has_formulas(kernel)
    assert not law.has_formulas(kernel)
    some = law.take(slice(0, 50))
    exact = some.prepared(kernel).expected_kernel(kernel, few)
    assert some.expected_at_few(kernel, few) == pytest.approx(exact, abs=1e-12)
    monkeypatch.setattr("caltest.predictions.counts.law.means_of_range", None)
    assert ct.calibration_test(law, law.sample(rng), n_resamples=19, rng=1).n == 1000
