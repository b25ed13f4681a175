import numpy as np
import pytest
import scipy
from scipy import stats
from scipy.optimize import linprog

import caltest as ct
from caltest._loops.transport import transport_costs

RNG = np.random.default_rng(1)
N, M = 12, 3
MEANS, SCALES, WEIGHTS = RNG.normal(size=(N, M)), RNG.uniform(0.2, 1.5, (N, M)), RNG.dirichlet(np.ones(M), N)
NORMALS = [ct.Normal(MEANS[:, a], SCALES[:, a]) for a in range(M)]
Y = RNG.normal(size=N)
KERNEL = ct.GaussianKernel(bandwidth=0.7)


def gaussian_average(difference, variance):
    width = KERNEL.width
    return width / np.sqrt(width**2 + variance) * np.exp(-(difference**2) / (2 * (width**2 + variance)))


def test_expectations_are_sums_over_all_pairs_of_components():
    mixture = ct.Mixture(NORMALS, WEIGHTS)
    one, two = mixture.expected_kernel(KERNEL, Y), mixture.expected_kernel2(KERNEL, mixture)
    for i in range(N):
        for j in range(N):
            terms = [WEIGHTS[i, a] * gaussian_average(MEANS[i, a] - Y[j], SCALES[i, a] ** 2) for a in range(M)]
            assert one[i, j] == pytest.approx(sum(terms), rel=1e-13)
            pairs = [
                WEIGHTS[i, a]
                * WEIGHTS[j, b]
                * gaussian_average(MEANS[i, a] - MEANS[j, b], SCALES[i, a] ** 2 + SCALES[j, b] ** 2)
                for a in range(M)
                for b in range(M)
            ]
            assert two[i, j] == pytest.approx(sum(pairs), rel=1e-13)


def test_compiled_and_general_way_agree(monkeypatch):
    mixture = ct.Mixture(NORMALS, WEIGHTS)
    fused = mixture.expected_kernel(KERNEL, Y), mixture.expected_kernel2(KERNEL, mixture)
    monkeypatch.setattr(ct.Mixture, "_fused", lambda *_: None)
    general = mixture.expected_kernel(KERNEL, Y), mixture.expected_kernel2(KERNEL, mixture)
    assert fused[0] == pytest.approx(general[0], rel=1e-13)
    assert fused[1] == pytest.approx(general[1], rel=1e-13)


def one_component(family):
    kernel = ct.LaplacianKernel(0.7) if family is ct.Laplace else KERNEL
    if family is ct.MvNormal:
        return ct.MvNormal(MEANS, SCALES), RNG.normal(size=(N, M)), kernel
    return family(MEANS[:, 0], SCALES[:, 0]), Y, kernel


@pytest.mark.parametrize(
    "kernel", [ct.GaussianKernel(bandwidth=0.7), ct.GaussianKernel(bandwidth=1e-6), ct.LaplacianKernel(0.7)]
)
def test_sums_over_redraws_are_those_of_each(kernel):
    """Of points too, and where differences are millions of bandwidths."""
    rng = np.random.default_rng(3)
    parts = [ct.Normal(rng.normal(size=5), [0.0, 1e-7, 0.5, 2.0, 1e6]), ct.Normal(rng.normal(size=5), 1.0)]
    predictions, weights = ct.Mixture(parts, [0.3, 0.7]), rng.normal(size=(2, 5, 4))
    redraws = rng.normal(size=(3, 4))
    redraws[0, 0] = parts[0].mean[0]
    wanted = [[(w * predictions.expected_kernel(kernel, y)).sum() for y in redraws] for w in weights]
    assert predictions.expectation_sums(kernel, weights, redraws) == pytest.approx(np.array(wanted), rel=1e-12)


@pytest.mark.parametrize("family", [ct.Normal, ct.Laplace, ct.MvNormal])
def test_one_component_equals_that_component(family):
    component, y, target_kernel = one_component(family)
    kernel = ct.ProductKernel(ct.ExponentialKernel(ct.kernels.MMD(target_kernel), 0.5), target_kernel)
    mixture = ct.Mixture([component])
    assert ct.SKCE(kernel)(mixture, y) == pytest.approx(ct.SKCE(kernel)(component, y), rel=1e-12)
    location = ct.UCME(kernel, component.take(slice(2)), y[:2])
    of_mixtures = ct.UCME(kernel, mixture.take(slice(2)), y[:2])
    assert of_mixtures(mixture, y) == pytest.approx(location(component, y), rel=1e-12)


def test_equal_components_are_one():
    component = NORMALS[0]
    kernel = ct.ProductKernel(ct.ExponentialKernel(ct.kernels.MMD(KERNEL), 0.5), KERNEL)
    repeated = ct.Mixture([component] * 4)
    assert ct.SKCE(kernel)(repeated, Y) == pytest.approx(ct.SKCE(kernel)(component, Y), rel=1e-12)


def test_distribution():
    mixture = ct.Mixture(NORMALS, WEIGHTS)
    wanted = (WEIGHTS * stats.norm(MEANS, SCALES).cdf(Y[:, None])).sum(axis=1)
    assert mixture.cdf(Y) == pytest.approx(wanted, rel=1e-12)
    draws = mixture.sample(5, 1000)
    for i in (0, 5):

        def cdf(y, i=i):
            return (WEIGHTS[i] * stats.norm(MEANS[i], SCALES[i]).cdf(np.asarray(y)[:, None])).sum(axis=1)

        assert stats.kstest(draws[:, i], cdf).pvalue > 1e-3
    mean, variance = mixture.moments()
    assert mean == pytest.approx((WEIGHTS * MEANS).sum(axis=1))
    second = (WEIGHTS * (SCALES**2 + MEANS**2)).sum(axis=1)
    assert variance == pytest.approx(second - mean**2)


def test_moments_of_vectors():
    components = [ct.MvNormal(RNG.normal(size=(N, 2)), RNG.uniform(0.1, 1.0, (N, 2))) for _ in range(3)]
    mixture = ct.Mixture(components, WEIGHTS)
    mean, variance = mixture.moments()
    draws = mixture.sample(6, 3000)
    assert draws.mean(axis=0) == pytest.approx(mean, abs=0.1)
    assert draws.var(axis=0).sum(axis=-1) == pytest.approx(variance, rel=0.1)


def test_transport_against_linear_programming():
    for _ in range(40):
        m, k = RNG.integers(1, 6, 2)
        rows, columns = RNG.dirichlet(np.full(m, 0.5)), RNG.dirichlet(np.full(k, 0.5))
        costs = RNG.random((m, k))
        sums = np.concatenate([np.kron(np.eye(m), np.ones(k)), np.kron(np.ones(m), np.eye(k))])[:-1]
        solved = linprog(costs.ravel(), A_eq=sums, b_eq=np.concatenate([rows, columns])[:-1])
        cost = transport_costs(rows[None], columns[None], costs[None, None])[0, 0]
        assert cost == pytest.approx(solved.fun, abs=1e-7)


def test_transport_of_equal_weights_is_an_assignment():
    from itertools import permutations

    costs = RNG.random((4, 4))
    best = min(np.mean([costs[a, b] for a, b in enumerate(order)]) for order in permutations(range(4)))
    equal = np.full((1, 4), 0.25)
    assert transport_costs(equal, equal, costs[None, None])[0, 0] == pytest.approx(best, rel=1e-13)


def test_mixture_wasserstein_is_no_kernel():
    """The counterexample to appendix D.3 of the 2021 paper, and that the MMD has none."""
    pairs = [(0, 1), (0, 2), (1, 1), (1, 2)]
    both = np.array([(p, q) for i, p in enumerate(pairs) for q in pairs[i + 1 :]], dtype=float)
    mixture = ct.Mixture([ct.Normal(both[:, a, 0], both[:, a, 1]) for a in (0, 1)])
    distances = mixture.distance(ct.kernels.MixtureWasserstein(), mixture)
    assert np.linalg.eigvalsh(np.exp(-(distances**2) / 2))[0] == pytest.approx(-0.072, abs=5e-4)
    squares = mixture.distance(ct.kernels.MMD(KERNEL), mixture) ** 2
    for power in (0.5, 1.0):
        for width in (0.1, 1.0, 10.0):
            assert np.linalg.eigvalsh(np.exp(-((squares / width) ** power)))[0] > -1e-12


def test_mixture_wasserstein_warns_where_it_is_used():
    kernel = ct.ProductKernel(ct.ExponentialKernel(ct.kernels.MixtureWasserstein(), 1.0), KERNEL)
    with pytest.warns(ct.kernels.KernelWarning, match="need not be positive definite"):
        ct.SKCE(kernel)(ct.Mixture(NORMALS, WEIGHTS), Y)
    with pytest.raises(TypeError, match="it is for Mixture predictions"):
        NORMALS[0].distance(ct.kernels.MixtureWasserstein(), NORMALS[0])


def test_h_is_symmetric_for_the_mixtures_that_the_reference_gets_wrong():
    from caltest.hstatistics.tiles import h_tile
    from caltest.predictions import Sample

    mixture = ct.Mixture(NORMALS)
    kernel = ct.ProductKernel(ct.ExponentialKernel(ct.kernels.MMD(KERNEL), 0.5), KERNEL)
    h = h_tile(kernel, Sample(mixture, Y), Sample(mixture, Y))
    assert h == pytest.approx(h.T, abs=1e-15)


BAD = {
    "weights": (NORMALS, WEIGHTS * 1.1, ValueError, "weights: got row . that sums to 1.1"),
    "negative": (NORMALS, [1.2, -0.1, -0.1], ValueError, "weights: got -0.1 at row 0, column 1"),
    "shape": (NORMALS, WEIGHTS[:, :2], ValueError, "weights: got shape \\(12, 2\\), wanted \\(12, 3\\) or \\(3,\\)"),
    "none": ([], None, ValueError, "components: got none"),
    "lengths": ([NORMALS[0], NORMALS[1].take(slice(3))], None, ValueError, "components\\[1\\]: got 3 .* wanted 12"),
    "mixed": ([NORMALS[0], ct.Laplace(Y, 1.0)], None, TypeError, "components\\[1\\]: got Laplace .* wanted Normal"),
    "dimensions": (
        [ct.MvNormal(MEANS, 1.0), ct.MvNormal(MEANS[:, :2], 1.0)],
        None,
        ValueError,
        "components\\[1\\]: got vectors of length 2, wanted 3",
    ),
    "nested": ([ct.Mixture(NORMALS)], None, TypeError, "components\\[0\\]: got a Mixture"),
    "no list": (NORMALS[0], None, TypeError, "components: got <Normal, n = 12>, wanted a list"),
    "nan": (NORMALS, WEIGHTS * np.nan, ValueError, "weights: got nan"),
    "one": (NORMALS[:1], [0.5], ValueError, "weights: got 0.5, wanted 1 for one component"),
}


@pytest.mark.parametrize(("components", "weights", "error", "message"), BAD.values(), ids=BAD)
def test_bad_mixtures(components, weights, error, message):
    with pytest.raises(error, match=message):
        ct.Mixture(components, weights)


def test_weights_that_are_rounded_are_noted():
    mixture = ct.Mixture(NORMALS, [0.33, 0.33, 0.33])
    assert mixture.notes == ("rows of the weights summed to 1 only within 0.01; they were renormalised",)


def test_temperature_is_refused():
    with pytest.raises(TypeError, match="temperature: got Mixture predictions"):
        ct.Mixture(NORMALS).at_temperature(2.0)


def test_mixtures_of_classes_are_predictions_of_their_mean_probabilities():
    parts = [ct.Categorical([[0.2, 0.8], [0.5, 0.5]]), ct.Categorical([[0.6, 0.4], [0.1, 0.9]])]
    with pytest.raises(TypeError, match=r"pass the mean probabilities: ct\.Categorical"):
        ct.calibration_test(ct.Mixture(parts), [0, 1], n_resamples=9, rng=1)


def test_densities_are_sums_of_those_of_components_that_have_weight():
    rng = np.random.default_rng(5)
    n, m = 200, 4
    weights = rng.dirichlet(np.ones(m), n)
    weights[:50, 1] = 0.0
    weights /= weights.sum(axis=1, keepdims=True)
    components = [ct.Normal(rng.normal(size=n), np.exp(rng.normal(size=n))) for _ in range(m)]
    for y in (rng.normal(size=n), 30.0 * rng.normal(size=(3, n))):
        logs = np.stack([one.log_density(y) for one in components], axis=-1)
        expected = scipy.special.logsumexp(logs, axis=-1, b=weights)
        np.testing.assert_allclose(ct.Mixture(components, weights).log_density(y), expected, rtol=1e-12)
    pole = ct.Mixture([ct.Gamma([2.0, 0.5], 1.0), ct.Gamma([2.0, 0.5], 1.0)], [0.0, 1.0])
    np.testing.assert_array_equal(pole.log_density(np.array([-1.0, 0.0])), [-np.inf, np.inf])


def test_pairs_of_mixtures_are_fewer_where_components_are_many():
    """The steps of a median bandwidth are as many as those of two components, and no estimate takes all pairs."""
    normal = ct.Normal([0.0, 1.0], 1.0)
    numbers = [ct.Mixture(m * [normal]).default_median_of for m in (1, 2, 10, 50)]
    assert numbers == [10_000, 5_000, 1_000, 1_000]
    kernel = ct.GaussianKernel(bandwidth=1.0)
    assert ct.Mixture([normal]).has_formulas(kernel)
    assert not ct.Mixture(2 * [normal]).has_formulas(kernel)
