"""Kernels that are functions of a distance: values by hand, bandwidths, definiteness, and what they refuse."""

import math
import warnings

import numpy as np
import pytest
from samples import samples

import caltest as ct
from caltest.kernels import PredictionKernel, RadialKernel, TargetKernel
from caltest.kernels.radial import Function

DATA = samples(40, 3)
POINTS = np.random.default_rng(1).normal(size=(40, 3))


def quiet(make, *arguments, **settings):
    """A kernel that warns that it need not be positive definite."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ct.kernels.KernelWarning)
        return make(*arguments, **settings)


FORMULAS = {
    "exponential": (ct.ExponentialKernel(bandwidth=0.7), lambda d: math.exp(-d / 0.7)),
    "root": (ct.ExponentialKernel(bandwidth=0.7, exponent=0.5), lambda d: math.exp(-math.sqrt(d / 0.7))),
    "exponent 1.5": (ct.ExponentialKernel(bandwidth=0.7, exponent=1.5), lambda d: math.exp(-((d / 0.7) ** 1.5))),
    "exponent 2": (ct.ExponentialKernel(bandwidth=0.7, exponent=2), lambda d: math.exp(-((d / 0.7) ** 2))),
    "Laplacian": (ct.LaplacianKernel(0.7), lambda d: math.exp(-d / 0.7)),
    "Gaussian": (ct.GaussianKernel(bandwidth=0.7), lambda d: math.exp(-(d**2) / (2 * 0.49))),
    "Matern 3/2": (
        ct.MaternKernel(bandwidth=0.7),
        lambda d: (1 + math.sqrt(3) * d / 0.7) * math.exp(-math.sqrt(3) * d / 0.7),
    ),
    "Matern 5/2": (
        ct.MaternKernel(bandwidth=0.7, order=2.5),
        lambda d: (1 + math.sqrt(5) * d / 0.7 + 5 * d**2 / (3 * 0.49)) * math.exp(-math.sqrt(5) * d / 0.7),
    ),
    "rational quadratic": (
        ct.kernels.RationalQuadraticKernel(bandwidth=0.7, shape=0.8),
        lambda d: (1 + d**2 / (2 * 0.8 * 0.49)) ** -0.8,
    ),
}
formulas = pytest.mark.parametrize(("kernel", "formula"), FORMULAS.values(), ids=FORMULAS)
DISTANCES = [0.0, 1e-9, 1e-3, 0.1, 0.35, 0.7, 1.0, 2.5, 7.0, 30.0]


@formulas
def test_values_by_hand(kernel, formula):
    expected = [formula(d) for d in DISTANCES]
    values = kernel.target_tile(np.array(DISTANCES), np.array([0.0]))[:, 0]
    assert values.tolist() == pytest.approx(expected, rel=1e-13)
    left = kernel.target_tile(np.zeros(1), np.array(DISTANCES))[0]
    assert left.tolist() == pytest.approx(expected, rel=1e-13)
    vectors = np.array([[0.6 * d, -0.8 * d] for d in DISTANCES])
    assert kernel.vector_target_tile(vectors, np.zeros((1, 2)))[:, 0].tolist() == pytest.approx(expected, rel=1e-13)
    p = ct.Normal(DISTANCES, 1.0)
    assert kernel.tile(p, ct.Normal([0.0], 1.0))[:, 0].tolist() == pytest.approx(expected, rel=1e-13)


@formulas
def test_values_at_the_ends_of_the_numbers(kernel, formula):
    assert kernel.bound == 1.0
    ends = kernel.target_tile(np.array([0.0, 1e-300, 1e300]), np.zeros(1))[:, 0]
    assert ends[0] == 1.0
    assert ends[1] == pytest.approx(1.0)
    assert 0.0 <= ends[2] < 1e-200
    narrow = kernel.with_bandwidth(1e-320)
    assert narrow.target_tile(np.array([0.0, 1.0]), np.zeros(1))[:, 0].tolist() == [1.0, pytest.approx(0.0, abs=1e-200)]
    wide = kernel.with_bandwidth(1e300)
    assert wide.target_tile(np.array([0.0, 1.0]), np.zeros(1))[:, 0].tolist() == [1.0, pytest.approx(1.0)]


def test_limits_between_kernels():
    distance = np.linspace(0.0, 3.0, 7)
    wanted = ct.GaussianKernel(bandwidth=0.7).target_tile(distance, np.zeros(1))
    large = ct.kernels.RationalQuadraticKernel(bandwidth=0.7, shape=1e7).target_tile(distance, np.zeros(1))
    assert large == pytest.approx(wanted, abs=1e-6)
    power = ct.ExponentialKernel(bandwidth=0.7 * math.sqrt(2), exponent=2.0).target_tile(distance, np.zeros(1))
    assert power == pytest.approx(wanted, rel=1e-13)


@formulas
def test_one_bandwidth_for_each_dimension(kernel, formula):
    widths = (0.5, 2.0, 0.3)
    other = type(kernel)(bandwidth=widths, **{name: getattr(kernel, name) for name in _settings(kernel)})
    scaled = kernel.with_bandwidth(1.0).vector_target_tile(POINTS[:5] / widths, POINTS[5:9] / widths)
    assert other.vector_target_tile(POINTS[:5], POINTS[5:9]) == pytest.approx(scaled, rel=1e-14)
    same = type(kernel)(bandwidth=[0.7] * 3, **{name: getattr(kernel, name) for name in _settings(kernel)})
    expected = kernel.vector_target_tile(POINTS[:5], POINTS[5:9])
    assert same.vector_target_tile(POINTS[:5], POINTS[5:9]) == pytest.approx(expected, rel=1e-14)
    assert "(0.5, 2, 0.3)" in other.describe_for_targets()


def _settings(kernel):
    own = {"ExponentialKernel": ["exponent"], "MaternKernel": ["order"], "RationalQuadraticKernel": ["shape"]}
    return own.get(type(kernel).__name__, [])


def test_bandwidths_for_each_dimension_in_an_estimate():
    rng = np.random.default_rng(2)
    members, targets = rng.normal(size=(20, 6, 2)), rng.normal(size=(20, 2))
    scale = np.array([0.5, 4.0])
    energy = ct.ExponentialKernel(ct.kernels.EnergyDistance(), 1.0)
    kernels = [ct.ProductKernel(energy, ct.GaussianKernel(bandwidth=width)) for width in (tuple(0.7 * scale), 0.7)]
    # The kernel of predictions sees the same members in both, by way of their scaled copies' distances.
    one = ct.UCME(kernels[0], ct.Ensemble(members[:1]), targets[:1])
    other = ct.UCME(kernels[1], ct.Ensemble(members[:1] / scale), targets[:1] / scale)
    factors = [energy.tile(ct.Ensemble(m), ct.Ensemble(m[:1]))[:, 0] for m in (members, members / scale)]
    deviations = [
        ucme.deviations(ct.predictions.Sample(ct.Ensemble(m), y))[:, 0]
        for ucme, m, y in ((one, members, targets), (other, members / scale, targets / scale))
    ]
    assert deviations[0] / factors[0] == pytest.approx(deviations[1] / factors[1], rel=1e-12)


def test_bandwidths_for_each_dimension_where_there_is_one_distance():
    kernel = ct.GaussianKernel(bandwidth=(0.5, 2.0))
    one_number = r"bandwidth: got 2 numbers, one per dimension of the targets, wanted one number"
    with pytest.raises(ValueError, match=one_number):
        kernel.target_tile(np.zeros(1), np.zeros(1))
    with pytest.raises(ValueError, match=one_number):
        ct.SKCE(ct.ProductKernel(ct.ExponentialKernel(ct.Wasserstein(), 1.0), kernel))(DATA.normal, DATA.targets)
    with pytest.raises(ValueError, match="bandwidth: got 2 numbers, wanted one, or one for each of 3 dimensions"):
        kernel.vector_target_tile(POINTS, POINTS)
    with pytest.raises(TypeError, match=r"prediction_kernel: got bandwidths \(0.5, 2.0\), wanted one number"):
        ct.ProductKernel(kernel, ct.DeltaKernel())


def test_kernels_without_distances_for_vectors():
    with pytest.raises(TypeError, match=r"target_kernel: got DeltaKernel\(\) for targets that are vectors"):
        ct.DeltaKernel().vector_target_tile(POINTS, POINTS)


# Bandwidths from the predictions.


@pytest.mark.parametrize(
    "make",
    [ct.ExponentialKernel, ct.GaussianKernel, ct.LaplacianKernel, ct.MaternKernel, ct.kernels.RationalQuadraticKernel],
)
def test_the_median_bandwidth_of_targets_is_the_median_predicted_scale(make):
    kernel = make()
    assert kernel.uses_median
    resolved = kernel.resolve_for_targets(DATA.normal)
    assert resolved.bandwidth == np.median(DATA.normal.scale)
    assert type(resolved) is type(kernel)
    assert not resolved.uses_median
    assert kernel.bandwidth == "median"
    with pytest.raises(ValueError, match=r'bandwidth: got "median", wanted a number: call resolve'):
        kernel.target_tile(np.zeros(1), np.zeros(1))
    members = ct.Ensemble(POINTS[:, None] + POINTS[None, :5])
    expected = math.sqrt(POINTS[:5].var(axis=0).sum())
    assert kernel.resolve_for_targets(members).bandwidth == pytest.approx(expected, rel=1e-12)


def test_the_median_bandwidth_of_predictions_is_their_median_distance():
    for kernel in (
        ct.MaternKernel(order=2.5),
        ct.kernels.RationalQuadraticKernel(shape=3.0),
        ct.ExponentialKernel(exponent=0.5),
    ):
        resolved = kernel.resolve(ct.Categorical(DATA.p))
        assert resolved.bandwidth == ct.median_bandwidth(DATA.p, ct.Euclidean())
        for name in _settings(kernel):
            assert getattr(resolved, name) == getattr(kernel, name)


def test_bandwidths_that_are_given_stay():
    kernel = ct.GaussianKernel(bandwidth=0.7)
    assert kernel.resolve(ct.Categorical(DATA.p)) is kernel
    assert kernel.resolve_for_targets(DATA.normal) is kernel
    tuple_kernel = ct.GaussianKernel(bandwidth=np.array([1, 2]))
    assert tuple_kernel.bandwidth == (1.0, 2.0)
    assert tuple_kernel.resolve_for_targets(DATA.normal) is tuple_kernel
    assert not tuple_kernel.uses_median


@formulas
def test_descriptions(kernel, formula):
    expected = {
        "exponential": "exp(-{} / 0.7)",
        "root": "exp(-({} / 0.7)^0.5)",
        "exponent 1.5": "exp(-({} / 0.7)^1.5)",
        "exponent 2": "exp(-({} / 0.7)^2)",
        "Laplacian": "exp(-{} / 0.7)",
        "Gaussian": "exp(-{}^2 / (2 0.7^2))",
        "Matern 3/2": "Matern(1.5, {} / 0.7)",
        "Matern 5/2": "Matern(2.5, {} / 0.7)",
        "rational quadratic": "(1 + {}^2 / (2 0.8 0.7^2))^-0.8",
    }
    (name,) = (name for name, (other, _) in FORMULAS.items() if other is kernel)
    assert kernel.describe_for_targets() == expected[name].format("|y - y'|")
    assert kernel.describe() == expected[name].format("L2")


# Positive definiteness.

EUCLIDEAN = [
    *(ct.ExponentialKernel(bandwidth=1.0, exponent=exponent) for exponent in (0.5, 1.0, 1.5, 2.0)),
    ct.GaussianKernel(bandwidth=1.0),
    ct.MaternKernel(bandwidth=1.0),
    ct.MaternKernel(bandwidth=1.0, order=2.5),
    ct.kernels.RationalQuadraticKernel(bandwidth=1.0, shape=0.3),
]


@pytest.mark.parametrize("kernel", EUCLIDEAN, ids=lambda kernel: kernel.describe())
@pytest.mark.parametrize("bandwidth", [0.3, 1.0, 5.0])
def test_tiles_of_vectors_are_positive_semi_definite(kernel, bandwidth):
    tile = kernel.with_bandwidth(bandwidth).vector_target_tile(POINTS, POINTS)
    assert np.linalg.eigvalsh(tile).min() > -1e-12
    p = ct.Categorical(np.random.default_rng(3).dirichlet(np.full(5, 0.3), 60))
    assert np.linalg.eigvalsh(kernel.with_bandwidth(bandwidth).tile(p, p)).min() > -1e-12


@pytest.mark.parametrize("exponent", [0.5, 1.0])
@pytest.mark.parametrize("bandwidth", [0.1, 0.5, 2.0])
@pytest.mark.parametrize("metric", [ct.TotalVariation(), ct.kernels.Cityblock()], ids=lambda metric: metric.label)
def test_tiles_of_the_cityblock_distance_are_positive_semi_definite(metric, exponent, bandwidth):
    p = ct.Categorical(np.random.default_rng(3).dirichlet(np.full(5, 0.3), 60))
    tile = ct.ExponentialKernel(metric, bandwidth, exponent).tile(p, p)
    assert np.linalg.eigvalsh(tile).min() > -1e-12


INDEFINITE = {
    "exponent 1.5": (ct.ExponentialKernel, {"exponent": 1.5}),
    "exponent 2": (ct.ExponentialKernel, {"exponent": 2.0}),
    "Gaussian": (ct.GaussianKernel, {}),
    "Matern 3/2": (ct.MaternKernel, {}),
    "Matern 5/2": (ct.MaternKernel, {"order": 2.5}),
    "rational quadratic": (ct.kernels.RationalQuadraticKernel, {"shape": 5.0}),
}


@pytest.mark.parametrize(("make", "settings"), INDEFINITE.values(), ids=INDEFINITE)
def test_warnings_of_kernels_that_are_not_positive_definite(make, settings):
    """The warning is right: six points with rational coordinates have a matrix with a negative eigenvalue."""
    message = "of the total variation distance is not positive definite in general"
    with pytest.warns(ct.kernels.KernelWarning, match=f"{make.__name__} {message}"):
        kernel = make(ct.TotalVariation(), 0.5, **settings)
    lowest = min(_lowest_eigenvalue(kernel.with_bandwidth(width)) for width in (0.3, 0.5, 0.7, 1.0, 1.5, 3.0))
    assert lowest < -1e-4
    assert _lowest_eigenvalue(ct.ExponentialKernel(ct.TotalVariation(), 0.5)) > 0.0


def _lowest_eigenvalue(kernel):
    edges = np.array([[i in (a, b) for i in range(6)] for a in range(6) for b in range(a)]) / 2.0
    p = ct.Categorical(np.concatenate([np.eye(6), edges]))
    return np.linalg.eigvalsh(kernel.tile(p, p)).min()


def test_no_warnings_of_kernels_that_are_positive_definite():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for metric in (ct.Euclidean(), ct.Wasserstein(), ct.kernels.EnergyDistance(), ct.kernels.MMD()):
            for exponent in (0.1, 1.0, 2.0):
                ct.ExponentialKernel(metric, 1.0, exponent)
            ct.GaussianKernel(metric)
            ct.MaternKernel(metric)
            ct.kernels.RationalQuadraticKernel(metric)
        for metric in (ct.TotalVariation(), ct.kernels.Cityblock(), ct.kernels.SquaredEuclidean()):
            ct.ExponentialKernel(metric, 1.0, 1.0)
            ct.ExponentialKernel(metric, 1.0, 0.3)
        # One warning is enough: none where bandwidths are replaced.
        kernel = quiet(ct.GaussianKernel, ct.TotalVariation())
        kernel.resolve(ct.Categorical(DATA.p)).with_bandwidth(2.0)


# Bad settings.

BAD = {
    "order 2": (lambda: ct.MaternKernel(order=2.0), ValueError, r"order: got 2.0, wanted 1.5 or 2.5"),
    "order 0.5": (
        lambda: ct.MaternKernel(order=0.5),
        ValueError,
        r"order: got 0.5, .* \(ExponentialKernel has order 0.5",
    ),
    "order text": (lambda: ct.MaternKernel(order="1.5"), ValueError, "order: got '1.5', wanted 1.5 or 2.5"),
    "order None": (lambda: ct.MaternKernel(order=None), ValueError, "order: got None, wanted 1.5 or 2.5"),
    "exponent 3": (lambda: ct.ExponentialKernel(exponent=3), ValueError, "exponent: got 3, wanted at most 2"),
    "exponent 0": (lambda: ct.ExponentialKernel(exponent=0), ValueError, "exponent: got 0, wanted a positive number"),
    "exponent -1": (
        lambda: ct.ExponentialKernel(exponent=-1),
        ValueError,
        "exponent: got -1, wanted a positive number",
    ),
    "exponent nan": (lambda: ct.ExponentialKernel(exponent=np.nan), ValueError, "exponent: got nan, wanted a positive"),
    "shape 0": (
        lambda: ct.kernels.RationalQuadraticKernel(shape=0.0),
        ValueError,
        "shape: got 0.0, wanted a positive number",
    ),
    "shape inf": (
        lambda: ct.kernels.RationalQuadraticKernel(shape=np.inf),
        ValueError,
        "shape: got inf, wanted a positive",
    ),
    "metric left out": (lambda: ct.GaussianKernel(0.5), TypeError, "metric: got 0.5, wanted a metric .* by name"),
    "Laplacian of a metric": (lambda: ct.LaplacianKernel(ct.Euclidean()), ValueError, "bandwidth: got Euclidean"),
    "bandwidth of two": (lambda: ct.LaplacianKernel((1.0, -1.0)), ValueError, "bandwidth: got -1.0, wanted a positive"),
}


class InNumpy(RadialKernel):
    """``1 / (1 + d / bandwidth)``, in a new array."""

    formula = "1 / (1 + {d} / {w})"

    def of_distance(self, distance):
        return 1.0 / (1.0 + distance / self.width)

    def _is_positive_definite(self):
        return True


class OfNoKind(InNumpy):
    """A kernel of a compiled kind that there is not."""

    function = Function(99)


class OfNothing(InNumpy):
    """A kernel that is neither compiled nor has a function of its own."""

    of_distance = RadialKernel.of_distance


class TooSmall(PredictionKernel):
    """A kernel with tiles of a wrong shape."""

    bound = 1.0

    def tile(self, rows, columns):
        return np.ones((3, 3))

    def resolve(self, predictions):
        return self

    def describe(self):
        return "1"


class OfTwo(TargetKernel):
    """A kernel of targets with tiles of a wrong shape."""

    bound = 1.0

    def target_tile(self, rows, columns):
        return np.eye(2)

    def resolve_for_targets(self, predictions):
        return self

    def describe_for_targets(self):
        return "1"


def test_kernels_of_ones_own_may_return_a_new_array():
    """Tiles that are written into an array have it too, and so have tests that redraw."""
    (p, y), kernel, out = (DATA[3], DATA[4]), InNumpy(ct.Euclidean(), 0.7), np.empty((40, 40))
    distances = p.distance(ct.Euclidean(), p)
    kernel.fill(out, p, p, {})
    assert out == pytest.approx(1.0 / (1.0 + distances / 0.7), rel=1e-14)
    estimator = ct.SKCE(ct.ProductKernel(kernel, ct.GaussianKernel(bandwidth=1.0)))
    assert estimator.estimates(p, y[None])[0] == pytest.approx(estimator(p, y), rel=1e-12)


def test_kernels_of_ones_own_that_cannot_be_computed():
    p, y = DATA[3], DATA[4]
    with pytest.raises(ValueError, match=r"^function: got the kind 99, wanted EXPONENTIAL, .* write of_distance"):
        OfNoKind(ct.Euclidean(), 1.0)
    with pytest.raises(NotImplementedError, match=r"^OfNothing: got neither a function nor an of_distance"):
        OfNothing(ct.Euclidean(), 1.0).tile(p, p)
    small = ct.ProductKernel(TooSmall(), ct.GaussianKernel(bandwidth=1.0))
    with pytest.raises(ValueError, match=r"^TooSmall.tile: got an array of shape \(3, 3\), wanted \(40, 40\)"):
        ct.SKCE(small)(p, y)
    for predictions in (DATA[1], ct.Poisson(np.full(40, 2.0))):
        kernel = ct.ProductKernel(ct.ExponentialKernel(ct.Euclidean(), 1.0), OfTwo())
        with pytest.raises(ValueError, match=r"^target_kernel: got a tile of shape \(2, 2\) for \d+ outcomes"):
            ct.MonteCarloTest(ct.SKCE(kernel), 9)(predictions, DATA[2])


@pytest.mark.parametrize(("make", "error", "message"), BAD.values(), ids=BAD)
def test_bad_settings(make, error, message):
    with pytest.raises(error, match=f"^{message}"):
        make()
