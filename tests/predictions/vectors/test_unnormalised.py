"""Predictions known by their scores, compared with differences and with normal distributions."""

import numpy as np
import pytest
from printed import unfolded

import caltest as ct
from caltest.hstatistics.tiles import h_tile
from caltest.predictions import Sample

POINTS = np.linspace(-2.0, 2.0, 5)
KERNELS = [
    ct.GaussianKernel(bandwidth=0.8),
    ct.kernels.RationalQuadraticKernel(bandwidth=1.3, shape=0.5),
    ct.GaussianKernel(bandwidth=0.5) + 2.0 * ct.kernels.RationalQuadraticKernel(bandwidth=2.0, shape=2.0),
]
K_P = ct.GaussianKernel(ct.Euclidean(), 1.5)


def normal_score(parameters, y):
    return -(y - parameters[:, 0]) / parameters[:, 1] ** 2


def vector_score(parameters, y):
    return -(y - parameters[:, :2]) / parameters[:, 2:]


def draw(parameters, rng):
    return parameters[:, 0] + parameters[:, 1] * rng.normal(size=len(parameters))


def normals(n=8, seed=1, sampler=None):
    rng = np.random.default_rng(seed)
    parameters = np.column_stack([rng.normal(size=n), rng.uniform(0.5, 1.5, n)])
    return ct.Unnormalised(normal_score, parameters, POINTS, sampler=sampler), parameters


def value(kernel, y, z):
    """The target kernel of two vectors."""
    return float(kernel.vector_target_tile(y[None], z[None])[0, 0])


def stein(kernel, s, t, y, z, step=1e-3):
    """The kernel of Stein's identity with differences in place of derivatives."""
    unit = step * np.eye(len(y))

    def slope(f, x):
        return np.array([(f(x + e) - f(x - e)) / (2 * step) for e in unit])

    across = s @ slope(lambda b: value(kernel, y, b), z) + t @ slope(lambda a: value(kernel, a, z), y)
    mixed = [
        sum(i * j * value(kernel, y + i * e, z + j * e) for i in (1, -1) for j in (1, -1)) / (4 * step**2) for e in unit
    ]
    return value(kernel, y, z) * (s @ t) + across + sum(mixed)


@pytest.mark.parametrize("target_kernel", KERNELS, ids=str)
def test_h_by_differences(target_kernel):
    p, parameters = normals()
    y = np.random.default_rng(2).normal(size=8)
    h = h_tile(ct.ProductKernel(K_P, target_kernel), Sample(p, y), Sample(p, y))
    scores = [-(y[i] - m) / s**2 for i, (m, s) in enumerate(parameters)]
    for i in range(8):
        for j in range(8):
            between = [
                (-(z - parameters[i, 0]) / parameters[i, 1] ** 2 + (z - parameters[j, 0]) / parameters[j, 1] ** 2) ** 2
                for z in POINTS
            ]
            k_p = np.exp(-np.mean(between) / (2 * 1.5**2))
            slow = stein(target_kernel, *(np.array([v]) for v in (scores[i], scores[j], y[i], y[j])))
            assert h[i, j] == pytest.approx(k_p * slow, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("target_kernel", KERNELS, ids=str)
def test_h_of_vectors_by_differences(target_kernel):
    rng = np.random.default_rng(3)
    parameters = np.column_stack([rng.normal(size=(5, 2)), rng.uniform(0.5, 1.5, (5, 2))])
    p = ct.Unnormalised(vector_score, parameters, rng.normal(size=(4, 2)))
    y = rng.normal(size=(5, 2))
    h = p.centred_kernel(target_kernel, y, p, y)
    scores = vector_score(parameters, y)
    for i in range(5):
        for j in range(5):
            slow = stein(target_kernel, scores[i], scores[j], y[i], y[j])
            assert h[i, j] == pytest.approx(slow, rel=1e-4, abs=1e-5)
    stack = p.take(np.arange(4).reshape(2, 2))
    part = stack.centred_kernel(target_kernel, y[:4].reshape(2, 2, 2), stack, y[:4].reshape(2, 2, 2))
    assert part == pytest.approx(np.stack([h[:2, :2], h[2:4, 2:4]]), rel=1e-12)


def test_h_has_mean_zero_given_the_prediction():
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    p, parameters = normals(2)
    y = parameters[0, 0] + parameters[0, 1] * nodes
    one, other = p.take(np.zeros(80, dtype=int)), p.take([1])
    for target_kernel in KERNELS:
        h = one.centred_kernel(target_kernel, y, other, np.array([0.3]))[:, 0]
        assert weights @ h / weights.sum() == pytest.approx(0.0, abs=1e-6)
        assert np.abs(h).max() > 0.1


def test_error_of_shifted_normal_outcomes():
    """Closed form: the difference of the scores is constant, -shift / s**2, and the law of Y - Y' is normal."""
    s, shift, width = 0.7, 0.4, 0.9
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    weights = weights / weights.sum()
    p = ct.Unnormalised(normal_score, [[0.2, s]] * 60, POINTS)
    y = 0.2 + shift + s * nodes
    h = p.centred_kernel(ct.GaussianKernel(bandwidth=width), y, p, y)
    expected = (shift / s**2) ** 2 * width / np.sqrt(width**2 + 2 * s**2)
    assert weights @ h @ weights == pytest.approx(expected, rel=1e-9)


def test_estimates_and_redraws():
    p, _ = normals(30, sampler=draw)
    kernel = ct.ProductKernel(K_P, KERNELS[2])
    y = p.sample(1)
    h = h_tile(kernel, Sample(p, y), Sample(p, y))
    unbiased = (h.sum() - np.trace(h)) / (30 * 29)
    assert ct.SKCE(kernel)(p, y) == pytest.approx(unbiased, rel=1e-10)
    assert ct.SKCE(kernel, unbiased=False)(p, y) == pytest.approx(h.mean(), rel=1e-10)
    assert np.linalg.eigvalsh(h).min() > -1e-10
    redraws = p.sample(2, 4)
    for estimator in (ct.SKCE(kernel), ct.SKCE(kernel, unbiased=False), ct.BlockSKCE(kernel, 4)):
        slow = [estimator(p, one) for one in redraws]
        assert estimator.estimates(p, redraws) == pytest.approx(slow, rel=1e-10)


def test_tests():
    p, parameters = normals(100, sampler=draw)
    wrong = parameters[:, 0] + 2.0 * parameters[:, 1] * np.random.default_rng(3).normal(size=100)
    kernel = p.default_kernel()
    assert kernel.target_kernel.bandwidth == pytest.approx(POINTS.std())
    assert ct.MonteCarloTest(ct.SKCE(kernel), 99)(p, wrong, rng=1).pvalue == 0.01
    assert ct.AsymptoticSKCETest(kernel, 99)(p, wrong, rng=1).pvalue == 0.01
    result = ct.calibration_test(p, p.sample(5), kernel=kernel, n_resamples=199, rng=2)
    assert result.pvalue > 0.05
    assert "Unnormalised, n = 100, compared at 5 points" in unfolded(result)


def test_what_scores_are_not_enough_for():
    p, parameters = normals(10)
    y, kernel = parameters[:, 0], ct.ProductKernel(K_P, KERNELS[0])
    with pytest.raises(TypeError, match="without a sampler, from which no targets can be drawn"):
        ct.MonteCarloTest(ct.SKCE(kernel), 9)(p, y)
    with pytest.raises(TypeError, match="h has no bound"):
        ct.DistributionFreeSKCETest(ct.SKCE(kernel))(p, y)
    with pytest.raises(ct.predictions.ClosedFormMissing, match="only scores are known"):
        ct.UCME(kernel, p.take([0, 1]), y[:2])(p, y)
    for bad in (ct.LaplacianKernel(1.0), ct.MaternKernel(bandwidth=1.0)):
        with pytest.raises(TypeError, match="wanted GaussianKernel or RationalQuadraticKernel"):
            ct.SKCE(ct.ProductKernel(K_P, bad))(p, y)
    with pytest.raises(TypeError, match="metric: got Wasserstein"):
        ct.SKCE(ct.ProductKernel(ct.ExponentialKernel(ct.Wasserstein(), 1.0), KERNELS[0]))(p, y)


@pytest.mark.parametrize(
    ("change", "kind", "message"),
    [
        ({"score": 3.0}, TypeError, "score: got 3.0, wanted a function"),
        ({"sampler": 3.0}, TypeError, "sampler: got 3.0, wanted a function"),
        ({"score": lambda p, y: y[:1]}, ValueError, r"score: got scores of shape \(1,\) for outcomes \(4,\)"),
        ({"score": lambda p, y: y / 0.0}, ValueError, "score: got"),
        ({"parameters": []}, ValueError, "parameters: got shape"),
        ({"parameters": 3.0}, ValueError, "parameters: got shape"),
        ({"points": [[[0.0]]]}, ValueError, "points: got shape"),
        ({"points": [0.0, np.nan]}, ValueError, "points: got nan"),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
def test_bad_arguments(change, kind, message):
    arguments = {"score": lambda p, y: -y, "parameters": np.zeros(4), "points": POINTS} | change
    with pytest.raises(kind, match=message):
        ct.Unnormalised(**arguments)


def test_bad_targets_and_others():
    p, _ = normals(3)
    with pytest.raises(ValueError, match="targets: got 2 values, wanted 3"):
        ct.SKCE(ct.ProductKernel(K_P, KERNELS[0]))(p, [0.0, 1.0])
    with pytest.raises(ValueError, match="targets: got nan at row 1"):
        ct.SKCE(ct.ProductKernel(K_P, KERNELS[0]))(p, [0.0, np.nan, 1.0])
    with pytest.raises(ValueError, match="got another score function"):
        p.check_compatible(ct.Unnormalised(lambda p, y: -y, np.zeros(3), POINTS), "other")
    same = ct.Unnormalised(lambda p, y: -y, np.zeros(3), [1.0, 1.0])
    with pytest.raises(ValueError, match="points that are all equal"):
        same.default_kernel()
    joined = p.followed_by(p.take(slice(0, 2)))
    assert len(joined) == 5
    assert joined.score(np.zeros(5))[3:] == pytest.approx(p.score(np.zeros(3))[:2])


@pytest.mark.parametrize("size", [None, 2])
def test_draws_are_those_of_the_sampler(size):
    """One after another, from one generator."""

    def draw(parameters, rng):
        return parameters[:, 0] + rng.normal(size=8)

    p, parameters = normals(sampler=draw)
    rng = np.random.default_rng(3)
    wanted = [draw(parameters, rng) for _ in range(2)]
    np.testing.assert_array_equal(p.sample(3, size), wanted[0] if size is None else wanted)


def test_targets_have_the_dimension_of_the_points():
    points, parameters = np.zeros((4, 2)), np.ones((3, 4))
    vectors, numbers = ct.Unnormalised(vector_score, parameters, points), normals(3)[0]
    assert vectors.check_targets(np.ones((3, 2))).shape == (3, 2)
    assert numbers.check_targets(np.ones(3)).shape == (3,)
    for law, shape in ((vectors, (3, 3)), (vectors, (3,)), (numbers, (3, 2))):
        with pytest.raises(ValueError, match="targets: got"):
            law.check_targets(np.ones(shape))
