"""Continuous families whose expectations come from quadrature, beside scipy.stats and integrals over levels."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

import caltest as ct
from caltest.hstatistics import pairs as hpairs
from caltest.predictions import univariate
from caltest.predictions.quadrature import forests

FAMILIES = {
    "student": (ct.StudentT, [(2.5, 0.3, 0.8), (30.0, -2.0, 0.1), (1.0, 0.0, 1.0)], lambda a, m, s: stats.t(a, m, s)),
    "gamma": (ct.Gamma, [(0.4, 1.0), (3.5, 0.3), (60.0, 0.05)], lambda a, s: stats.gamma(a, scale=s)),
    "log-normal": (
        ct.LogNormal,
        [(0.0, 0.05), (0.3, 0.7), (-0.5, 1.5)],
        lambda m, s: stats.lognorm(s, scale=np.exp(m)),
    ),
    "beta": (ct.Beta, [(0.4, 0.5), (3.5, 1.0), (60.0, 25.0)], lambda a, b: stats.beta(a, b)),
    "normal": (ct.Normal, [(0.0, 0.05), (0.3, 0.7), (2.0, 3.0)], lambda m, s: stats.norm(m, s)),
    "laplace": (ct.Laplace, [(0.0, 0.05), (0.3, 0.7), (2.0, 3.0)], lambda m, s: stats.laplace(m, s)),
}
KERNELS = [
    ct.GaussianKernel(bandwidth=0.7),
    ct.GaussianKernel(bandwidth=0.02),
    ct.LaplacianKernel(0.3),
    ct.ExponentialKernel(bandwidth=0.5, exponent=1.5),
    ct.MaternKernel(bandwidth=0.4, order=1.5),
    ct.MaternKernel(bandwidth=2.0, order=2.5),
    ct.kernels.RationalQuadraticKernel(bandwidth=0.5, shape=0.7),
]
TARGETS = np.array([0.05, 0.4, 0.97])


def predictions_of(name):
    family, parameters, reference = FAMILIES[name]
    return family(*np.array(parameters).T), [reference(*one) for one in parameters]


def k(kernel, distances):
    return kernel.target_tile(np.zeros(1), distances)[0]


NODES, WEIGHTS = np.polynomial.legendre.leggauss(60)


def integral(function, distribution, points):
    """Of a function of quantiles over their levels, from both ends to the median, between points where it bends.

    By the rule of Gauss on panels of which each is a fourth of the way from one point to the next.
    """
    total = 0.0
    for quantile, level in ((distribution.ppf, distribution.cdf), (distribution.isf, distribution.sf)):
        inner = {u for u in (*map(level, points), *np.logspace(-12, -1, 12)) if 1e-15 < u < 0.5}
        ends = np.array([0.0, *sorted(inner), 0.5])
        ends = np.interp(np.arange(4 * len(ends) - 3) / 4, np.arange(len(ends)), ends)
        middles, halves = (ends[1:] + ends[:-1]) / 2.0, np.diff(ends) / 2.0
        values = function(quantile(middles[:, None] + np.outer(halves, NODES)).ravel())
        total += halves @ values.reshape(len(halves), -1) @ WEIGHTS
    return total


def around(y, width):
    return [y, *(y + sign * step * width for sign in (-1, 1) for step in (0.1, 1, 4, 12))]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.describe_for_targets())
@pytest.mark.parametrize("name", FAMILIES)
def test_expectations_of_targets_against_integration(name, kernel):
    predictions, references = predictions_of(name)
    one = predictions.prepared(kernel).expected_kernel(kernel, TARGETS)
    for i, reference in enumerate(references):
        for j, y in enumerate(TARGETS):
            wanted = integral(lambda z, y=y: k(kernel, np.abs(z - y)), reference, around(y, kernel.width))
            assert one[i, j] == pytest.approx(wanted, abs=1e-10), (i, j)


@pytest.mark.parametrize("kernel", [KERNELS[0], KERNELS[2]], ids=lambda kernel: kernel.describe_for_targets())
@pytest.mark.parametrize("name", FAMILIES)
def test_expectations_of_two_predictions_are_integrals_of_those_of_targets(name, kernel):
    predictions, references = predictions_of(name)
    prepared = predictions.prepared(kernel)
    two = prepared.expected_kernel2(kernel, prepared)
    assert two == pytest.approx(two.T, abs=1e-10)
    for i, j in ((0, 1), (2, 1), (2, 2)):

        def of_target(z, i=i):
            return prepared.expected_kernel(kernel, z)[i]

        points = references[i].ppf([1e-6, 0.05, 0.5, 0.95, 1 - 1e-6])
        assert two[i, j] == pytest.approx(integral(of_target, references[j], points), abs=1e-9), (i, j)


@pytest.mark.parametrize("name", FAMILIES)
def test_distribution_functions_quantiles_and_samples(name):
    predictions, references = predictions_of(name)
    cdf = [one.cdf(y) for one, y in zip(references, TARGETS, strict=True)]
    assert predictions.cdf(TARGETS) == pytest.approx(cdf, rel=1e-11)
    assert predictions.quantile(0.3) == pytest.approx([one.ppf(0.3) for one in references], rel=1e-10)
    draws = predictions.sample(3, 4000)
    for i, one in enumerate(references):
        assert stats.kstest(draws[:, i], one.cdf).pvalue > 1e-3


def power_of_density(name, measure, temperature):
    """Ratios of densities at two targets: that of the tempered one, and the power of that of the first."""
    family, parameters, reference = FAMILIES[name]
    parameters = [parameters[1]]
    predictions = family(*np.array(parameters).T)
    hot = predictions.at_temperature(temperature)
    one, two = 0.2, 0.6
    cold_ratio = reference(*parameters[0]).logpdf(two) - reference(*parameters[0]).logpdf(one)
    hot_parameters = [values[0] for values in hot.parameters]
    hot_ratio = reference(*hot_parameters).logpdf(two) - reference(*hot_parameters).logpdf(one)
    shift = np.log(measure(two)) - np.log(measure(one))
    return hot_ratio - shift, (cold_ratio - shift) / temperature


@pytest.mark.parametrize(
    ("name", "measure"),
    [
        ("student", lambda z: 1.0),
        ("normal", lambda z: 1.0),
        ("laplace", lambda z: 1.0),
        ("gamma", lambda z: 1.0 / z),
        ("log-normal", lambda z: 1.0 / z),
        ("beta", lambda z: 1.0 / (z * (1.0 - z))),
    ],
)
def test_temperature_takes_powers_of_densities(name, measure):
    hot, power = power_of_density(name, measure, 1.7)
    assert hot == pytest.approx(power, rel=1e-10)


BAD = {
    "df": (lambda: ct.StudentT([1.0, -2.0], 0.0, 1.0), "df: got -2 at row 1"),
    "scale": (lambda: ct.StudentT(3.0, [0.0, 1.0], [1.0, 0.0]), "scale: got 0 at row 1"),
    "shape": (lambda: ct.Gamma([1.0, 0.0], 1.0), "shape: got 0 at row 1"),
    "log": (lambda: ct.LogNormal([1.0, 0.0], -1.0), "log_scale: got -1"),
    "beta": (lambda: ct.Beta([1.0, np.nan], 1.0), "a: got nan at row 1"),
    "gamma target": (lambda: ct.calibration_test(ct.Gamma([1.0, 2.0], 1.0), [1.0, -1.0]), "targets: got -1 at row 1"),
    "beta target": (lambda: ct.calibration_test(ct.Beta([1.0, 2.0], 1.0), [0.5, 1.5]), "targets: got 1.5 at row 1"),
    "log-normal target": (
        lambda: ct.calibration_test(ct.LogNormal([1.0, 2.0], 1.0), [0.0, 1.5]),
        "targets: got 0 at row 0",
    ),
    "lengths": (lambda: ct.Gamma([1.0, 2.0], [1.0, 2.0, 3.0]), "3"),
}


@pytest.mark.parametrize(("make", "message"), BAD.values(), ids=BAD)
def test_bad_input(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_many_predictions_part_by_part(monkeypatch):
    """Polynomials of more predictions than are kept are made for parts of them, with the same results."""
    rng = np.random.default_rng(5)
    predictions = ct.Gamma(rng.uniform(0.5, 9.0, 40), rng.uniform(0.1, 1.0, 40))
    y = predictions.sample(rng)
    kernel = ct.ProductKernel(ct.ExponentialKernel(ct.Euclidean(), 1.0), ct.MaternKernel(bandwidth=0.5))

    def results():
        fresh = ct.Gamma(*predictions.parameters)
        locations = fresh.take(slice(0, 3)), y[:3]
        yield ct.SKCE(kernel)(fresh, y)
        yield ct.SKCE(kernel, unbiased=False)(fresh, y)
        yield ct.BlockSKCE(kernel, block_size=4)(fresh, y)
        yield ct.BlockSKCE(kernel, block_size=20)(fresh, y)
        yield ct.UCME(kernel, *locations)(fresh, y)
        yield ct.MonteCarloTest(ct.SKCE(kernel), n_resamples=9)(fresh, y, rng=1).null_distribution

    whole = list(results())
    monkeypatch.setattr(univariate, "SHARED", 7)
    monkeypatch.setattr(hpairs, "SMALL_BLOCK", 10)
    monkeypatch.setattr(hpairs, "PREPARED", 25)
    for one, part in zip(whole, results(), strict=True):
        assert part == pytest.approx(one, rel=1e-12, abs=1e-15)


def test_small_blocks_prepare_no_more_predictions_than_are_kept(monkeypatch):
    """Blocks come in parts that are so small that no polynomial is made twice."""
    made = []
    original = forests.Nursery.grow
    monkeypatch.setattr(forests.Nursery, "grow", lambda self, i: (made.append(i), original(self, i))[1])
    monkeypatch.setattr(univariate, "SHARED", 200)
    rng = np.random.default_rng(6)
    predictions = ct.LogNormal(rng.normal(size=300), 0.5)
    kernel = ct.ProductKernel(ct.ExponentialKernel(ct.Euclidean(), 1.0), ct.GaussianKernel(bandwidth=0.5))
    for block_size, small_block in ((2, 128), (100, 50)):
        made.clear()
        monkeypatch.setattr(hpairs, "SMALL_BLOCK", small_block)
        monkeypatch.setattr(hpairs, "PREPARED", 100)
        ct.BlockSKCE(kernel, block_size)(predictions, predictions.sample(7))
        assert len(made) == 300


RANGES = {
    "student": lambda rng: (10 ** rng.uniform(-0.3, 2.5), rng.normal(), 10 ** rng.uniform(-1.5, 1.0)),
    "gamma": lambda rng: (10 ** rng.uniform(-0.5, 2.5), 10 ** rng.uniform(-1.5, 0.5)),
    "log-normal": lambda rng: (rng.normal(), 10 ** rng.uniform(-1.5, 0.3)),
    "beta": lambda rng: (10 ** rng.uniform(-0.5, 2.0), 10 ** rng.uniform(-0.5, 2.0)),
}


def random_kernel(rng):
    width = 10 ** rng.uniform(-1.5, 1.0)
    return [
        ct.GaussianKernel(bandwidth=width),
        ct.LaplacianKernel(width),
        ct.ExponentialKernel(bandwidth=width, exponent=rng.uniform(0.5, 1.9)),
        ct.MaternKernel(bandwidth=width, order=rng.choice([1.5, 2.5])),
        ct.kernels.RationalQuadraticKernel(bandwidth=width, shape=10 ** rng.uniform(-0.5, 0.7)),
    ][rng.integers(5)]


@pytest.mark.parametrize("name", RANGES)
@pytest.mark.parametrize("seed", range(12))
def test_random_parameters_and_kernels_against_integration(name, seed):
    rng = np.random.default_rng([seed, *map(ord, name)])
    parameters = RANGES[name](rng)
    family, _, reference = FAMILIES[name]
    kernel, law = random_kernel(rng), reference(*parameters)
    predictions = family(*np.array(parameters)[:, None])
    y = law.ppf(rng.uniform(0.01, 0.99, 2))
    values = predictions.expected_kernel(kernel, y)[0]
    for one, value in zip(y, values, strict=True):
        expected = integral(lambda z, one=one: k(kernel, z - one), law, around(one, kernel.width))
        assert value == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize(("df", "other"), [(3, 3.01), (3, 3.1), (3, 4), (3, 30), (10, 11)])
@pytest.mark.parametrize("scale", [1.0, 0.5])
def test_wasserstein_distances_of_unequal_degrees_of_freedom(df, other, scale):
    """The integral of squared differences of quantiles over ``1 - exp(-v)``, twice for the two equal tails."""
    one, two = stats.t(df), stats.t(other, 0.0, scale)

    def integrand(v):
        return (one.isf(np.exp(-v)) - two.isf(np.exp(-v))) ** 2 * np.exp(-v)

    ends = [np.log(2.0), 3.0, 10.0, 40.0, 120.0]
    exact = np.sqrt(2.0 * sum(quad(integrand, a, b, limit=500)[0] for a, b in pairwise(ends)))
    predictions = ct.StudentT([df, other], 0.0, [1.0, scale])
    assert predictions.distance(ct.Wasserstein(), predictions)[0, 1] == pytest.approx(exact, rel=1e-2)


@pytest.mark.parametrize("kernel", [ct.GaussianKernel(bandwidth=1.0), ct.LaplacianKernel(100.0)])
def test_densities_that_are_too_long_are_refused(kernel):
    assert 0.0 < ct.StudentT([0.1], 0.0, 1.0).expected_kernel(kernel, np.zeros(1))[0, 0] < 1.0
    with pytest.raises(
        ct.predictions.ClosedFormMissing, match=r"df = 0.05.*quadrature of the density is off.*to_ensemble"
    ):
        ct.StudentT([0.5, 0.05], 0.0, 1.0).expected_kernel(kernel, np.zeros(1))


def test_quantiles_of_beta_variables_with_a_parameter_that_is_huge():
    """Where the other one is 300 orders smaller, b Z has a Gamma law up to the last digit."""
    predictions = ct.Beta([10.0, 1e300, 10.0], [1e300, 10.0, 1e13])
    np.testing.assert_allclose(predictions.quantile(0.3)[0], stats.gamma(10.0).ppf(0.3) / 1e300, rtol=1e-12)
    assert predictions.quantile(0.3)[1] == 1.0
    np.testing.assert_allclose(predictions.quantile(0.3)[2], stats.gamma(10.0).ppf(0.3) / 1e13, rtol=1e-12)
