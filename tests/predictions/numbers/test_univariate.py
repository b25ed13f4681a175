"""Continuous families whose expectations come from quantiles, beside scipy.stats and integrals over levels."""

from itertools import pairwise

import numpy as np
import pytest
import scipy
from grids import thinned
from scipy import stats
from scipy.integrate import quad
from slow import h_matrix_continuous, mean_upper

import caltest as ct
from caltest.hstatistics.tiles import h_tile
from caltest.kernels.base import TargetKernel
from caltest.predictions import Sample

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


LAWS = {
    "gamma 0.3": lambda u: ct.Gamma(0.3, 1.0 + u),
    "gamma 3": lambda u: ct.Gamma(1.0 + 4.0 * u, 0.5 + u),
    "gamma 100": lambda u: ct.Gamma(100.0 + u, 1.0 + u),
    "beta 0.3": lambda u: ct.Beta(0.3, 0.3 + 0.2 * u),
    "beta 50": lambda u: ct.Beta(50.0 * (0.5 + u), 50.0 * (1.0 - u / 2.0)),
    "log-normal 0.1": lambda u: ct.LogNormal(u, 0.1),
    "log-normal 1.5": lambda u: ct.LogNormal(u, 1.5),
    "student 1.5": lambda u: ct.StudentT(1.5, u, 1.0 + u),
    "student 30": lambda u: ct.StudentT(30.0, u, 1.0 + u),
    "normal": lambda u: ct.Normal(u, 0.5 + u),
    "laplace": lambda u: ct.Laplace(u, 0.5 + u),
    "weibull": lambda u: ct.Continuous(stats.weibull_min(1.0 + 2.0 * u, scale=1.0 + u)),
    "skew-normal": lambda u: ct.Continuous(stats.skewnorm(5.0, u, 1.0 + u)),
    "mixed": lambda u: ct.Continuous([stats.genextreme(0.1, u[:4], 1.0), stats.truncnorm(-1.0, 2.0, u[4:], 1.0)]),
}
WIDTHS = 0.1, 1.0, 10.0
RADIAL = {
    "gaussian": lambda width: ct.GaussianKernel(bandwidth=width),
    "laplacian": ct.LaplacianKernel,
    "matern": lambda width: ct.MaternKernel(bandwidth=width),
    "power 1.5": lambda width: ct.ExponentialKernel(bandwidth=width, exponent=1.5),
    "power 0.5": lambda width: ct.ExponentialKernel(bandwidth=width, exponent=0.5),
    "rational": lambda width: ct.kernels.RationalQuadraticKernel(bandwidth=width),
}
ROUGH = {"gamma 0.3", "beta 0.3", "log-normal 1.5", "student 1.5"}
"""With exponents below 1 their errors are larger, which the docstring of ``Continuous`` says."""
GRID = [
    (law, kernel, width)
    for law in LAWS
    for kernel in RADIAL
    for width in WIDTHS
    if not (law in ROUGH and kernel == "power 0.5")
]


@pytest.mark.every(16)
@pytest.mark.parametrize(("law", "kernel", "width"), thinned(GRID, GRID[::17]))
def test_skce_is_off_by_less_than_one_percent_of_its_standard_deviation(law, kernel, width):
    """Given the predictions this is about ``sqrt(2 / (n (n - 1)) E h**2)``."""
    u = np.random.default_rng(4).random(8)
    predictions = LAWS[law](u)
    y, k_y = predictions.sample(5), RADIAL[kernel](width * predictions.target_scale())
    product = ct.ProductKernel(ct.ExponentialKernel(ct.Euclidean(), 1.0), k_y)
    k_p = product.prediction_kernel.tile(predictions, predictions)
    fast = h_tile(product, Sample(predictions, y), Sample(predictions, y))
    slow = h_matrix_continuous(k_y, k_p, predictions.quantile, y)
    pairs = slow[np.triu_indices(8, 1)]
    assert abs(mean_upper(fast) - mean_upper(slow)) < 0.01 * np.sqrt((pairs**2).mean() / len(pairs))


@pytest.mark.every(7)
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.describe_for_targets())
@pytest.mark.parametrize("name", FAMILIES)
def test_expectations_against_means_over_draws(name, kernel):
    """Also through other ways: single pairs, other predictions, sums over redraws."""
    predictions, references = predictions_of(name)
    levels = (np.arange(5000) + 0.5) / 5000
    draws = np.stack([one.ppf(levels) for one in references])
    means = np.stack([kernel.target_tile(some, TARGETS).mean(axis=0) for some in draws])
    one, two = (predictions.expected_kernel(kernel, TARGETS), predictions.expected_kernel2(kernel, predictions))
    assert one == pytest.approx(means, abs=2e-3)
    other = type(predictions)(*predictions._parameters)
    assert predictions.expected_kernel2(kernel, other) == pytest.approx(two, abs=1e-9)
    assert predictions.self_kernel(kernel) == pytest.approx(np.diag(two), abs=1e-13)
    weights = np.random.default_rng(3).normal(size=(2, 3, 3))
    sums = [[(w * predictions.expected_kernel(kernel, y)).sum() for y in (TARGETS, TARGETS[::-1])] for w in weights]
    redrawn = predictions.expectation_sums(kernel, weights, np.stack([TARGETS, TARGETS[::-1]]))
    assert redrawn == pytest.approx(np.array(sums), abs=1e-12)


def test_scales_of_all_sizes_are_summed_over_points():
    """A millionth as wide as others: too many waves; what is 0 or 1 for the kernel is so."""
    predictions = ct.Gamma(4.0, [1e-6, 1.0, 1e-6, 3.0])
    y = np.array([4e-6, 4.0, 5e-6, 9.0])
    for kernel in (ct.LaplacianKernel(1e-6), ct.GaussianKernel(bandwidth=1e-6), KERNELS[3].with_bandwidth(1e-6)):
        two = predictions.expected_kernel2(kernel, predictions)
        same = ct.Gamma(4.0, [1.0]).expected_kernel2(kernel.with_bandwidth(1.0), ct.Gamma(4.0, [1.0]))[0, 0]
        assert two[[0, 0, 2], [0, 2, 2]] == pytest.approx(same, abs=5e-3)
        assert two[0, 1] < 1e-4
        assert predictions.expected_kernel(kernel, y)[1, 0] < 1e-4
        weights = np.ones((1, 4, 4))
        sums = predictions.expectation_sums(kernel, weights, y[None])
        assert sums[0, 0] == pytest.approx(predictions.expected_kernel(kernel, y).sum(), rel=1e-9)


def test_bandwidths_that_are_lost_in_rounding_are_refused():
    with pytest.raises(ct.predictions.ClosedFormMissing, match=r"lost to rounding, wanted a larger bandwidth"):
        ct.StudentT(3.0, [1e20], 1.0).expected_kernel(ct.LaplacianKernel(1.0), np.array([1e20]))


def test_distributions_that_are_points_to_rounding():
    """``E k(Z, Z')`` is 1, and h is ``2 - 2 exp(-1 / 8)``."""
    predictions = ct.Beta(np.full(50, 1e300), 1.0 + np.random.default_rng(1).random(50))
    product = ct.ProductKernel(ct.ExponentialKernel(ct.Wasserstein(), 1.0), ct.GaussianKernel(bandwidth=1.0))
    estimate = ct.SKCE(product)(predictions, np.full(50, 0.5))
    assert estimate == pytest.approx(2.0 - 2.0 * np.exp(-1.0 / 8.0), rel=1e-9)


class Triangle(TargetKernel):
    """``max(0, 1 - |y - y'|)``, of which only values are known."""

    bound = 1.0

    def target_tile(self, rows, columns):
        return np.maximum(0.0, 1.0 - np.abs(rows[..., :, None] - columns[..., None, :]))

    def resolve_for_targets(self, predictions):
        return self

    def describe_for_targets(self):
        return "max(0, 1 - |y - y'|)"


def test_kernels_of_which_only_values_are_known():
    predictions, y = ct.Gamma([2.0, 5.0], 0.5), np.array([1.0, 2.0])
    one, two = predictions.expected_kernel(Triangle(), y), predictions.expected_kernel2(Triangle(), predictions)
    draws = predictions.quantile((np.arange(2000)[:, None] + 0.5) / 2000)
    assert one == pytest.approx(np.maximum(0.0, 1.0 - abs(draws[..., None] - y)).mean(axis=0), abs=0.01)
    assert two[0, 1] == pytest.approx(Triangle().target_tile(draws[:, 0], draws[:, 1]).mean(), abs=0.01)
    product = ct.ProductKernel(ct.ExponentialKernel(ct.Euclidean(), 1.0), Triangle())
    assert 0.0 < ct.MonteCarloTest(ct.SKCE(product), n_resamples=19)(predictions, y, rng=1).pvalue <= 1.0
    with pytest.raises(ct.predictions.ClosedFormMissing, match="to_ensemble"):
        predictions.expected_kernel(ct.DeltaKernel(), y)


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
    hot_parameters = [values[0] for values in hot._parameters]
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


def test_temperatures_leave_degrees_of_freedom():
    hot = ct.StudentT([4.0, 1.5], 0.0, 1.0).at_temperature(2.0)
    assert hot.df == pytest.approx([1.5, 0.25])
    assert hot.scale == pytest.approx(np.sqrt([4.0 / 1.5, 6.0]))
    with pytest.raises(ValueError, match=r"temperature: got 3, wanted less than df \+ 1 = 2.5 at row 1: the density"):
        ct.StudentT([4.0, 1.5, 1.0], 0.0, 1.0).at_temperature(3.0)
    with pytest.raises(ValueError, match=r"got 5, wanted less than df \+ 1 = 5 at row 0"):
        ct.StudentT(4.0, [0.0, 1.0], 1.0).at_temperature(5.0)


def test_temperatures_may_make_scales_1_and_keep_scales_0():
    assert ct.Normal([0.0], [2.0]).at_temperature(0.25).scale.tolist() == [1.0]
    assert ct.Normal([0.0, 1.0], [0.0, 1.0]).at_temperature(4.0).scale.tolist() == [0.0, 2.0]


@pytest.mark.parametrize(("make", "message"), BAD.values(), ids=BAD)
def test_bad_input(make, message):
    with pytest.raises(ValueError, match=message):
        make()


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
    assert predictions.distance(ct.Wasserstein(), predictions)[0, 1] == pytest.approx(exact, rel=0.1)


def test_quantiles_of_beta_variables_with_a_parameter_that_is_huge():
    """Where the other one is 300 orders smaller, b Z has a Gamma law up to the last digit."""
    predictions = ct.Beta([10.0, 1e300, 10.0], [1e300, 10.0, 1e13])
    np.testing.assert_allclose(predictions.quantile(0.3)[0], stats.gamma(10.0).ppf(0.3) / 1e300, rtol=1e-12)
    assert predictions.quantile(0.3)[1] == 1.0
    np.testing.assert_allclose(predictions.quantile(0.3)[2], stats.gamma(10.0).ppf(0.3) / 1e13, rtol=1e-12)


@pytest.mark.parametrize("b", [1e100, 1e155, 1e300])
def test_tails_of_beta_laws_with_a_huge_parameter_are_those_of_gamma_laws(b):
    scaled = np.array([0.1, 1.0, 3.0, 10.0])
    law = stats.gamma(3.24)
    for predictions, y in (
        (ct.Beta(3.24, np.full(4, b)), scaled / b),
        (ct.Beta(np.full(4, b), 3.24), 1.0 - scaled / b),
    ):
        low, high = predictions.cdf(y), predictions.survival(y)
        if y[0] < 0.5:
            assert low == pytest.approx(law.cdf(scaled), rel=1e-9)
            assert high == pytest.approx(law.sf(scaled), rel=1e-9)
        assert np.isfinite(predictions.standard_scores(y[None])).all()
        assert low + high == pytest.approx(np.ones(4), rel=1e-9)


@pytest.mark.skipif(
    tuple(map(int, scipy.__version__.split(".")[:2])) < (1, 17),
    reason=f"betainc of scipy {scipy.__version__} is off for parameters above 1e12",
)
def test_tails_of_beta_laws_with_two_huge_parameters_are_those_of_normal_laws():
    a, z = 1e16, np.array([-3.0, -0.5, 0.0, 2.0])
    predictions = ct.Beta(np.full(4, a), 2.0 * a)
    mean, variance = predictions.moments()
    y = mean + z * np.sqrt(variance)
    assert predictions.cdf(y) == pytest.approx(stats.norm.cdf(z), abs=1e-4)
    assert predictions.survival(y) == pytest.approx(stats.norm.sf(z), abs=1e-4)


def test_outcomes_of_beta_laws_that_scipy_has_no_tails_of_are_tested():
    predictions = ct.Beta([1e-16, 0.43, 3.24], [0.5, 1e300, 1e300])
    for seed in range(3):
        assert ct.calibration_test(predictions, predictions.sample(rng=seed), n_resamples=9, rng=1).pvalue > 0.0


@pytest.mark.parametrize(
    "law",
    [
        ct.Normal([0.0, 1.0, 5.0], 1.0),
        ct.StudentT(5.0, [0.0, 1.0, 5.0], 1.0),
        ct.Continuous(stats.norm([0.0, 1.0, 5.0])),
    ],
    ids=lambda law: law.family,
)
def test_moved_predictions_have_medians_of_their_own(law):
    """Also if the predictions that they are made of were asked for theirs before."""
    metric = ct.Euclidean()
    before = law.median_distance(metric)
    assert law.affine(np.zeros(3), 10.0).median_distance(metric) == pytest.approx(10.0 * before, rel=1e-9)
    joined = law.followed_by(law.affine(np.zeros(3), 10.0))
    assert joined.median_distance(metric) > before


class Own(ct.predictions.Univariate):
    """A family of which the constructor takes what its names say."""

    family = "Own"
    parameter_names = ("location", "scale")
    _draw = cdf = _quantile = log_density = moments = None


@pytest.mark.parametrize("parameters", [(), ([0.0],), ([0.0], [1.0], [2.0])], ids=len)
def test_a_family_of_ones_own_says_which_parameters_it_wants(parameters):
    with pytest.raises(TypeError, match=rf"Own: got {len(parameters)} values, wanted location, scale, in this order"):
        Own(*parameters)
