"""Moments of the SKCE given the predictions, against enumeration of all targets, quadrature and simulation."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

import caltest as ct
from caltest.hstatistics.variances import moments as hmoments
from caltest.kernels import ProductKernel

TV = ct.ExponentialKernel(ct.TotalVariation(), 0.4)
MATRIX = np.array([[1.0, 0.4, 0.0], [0.4, 2.0, -0.3], [0.0, -0.3, 0.7]])


def enumerated(kernel, p, power):
    """Sum of ``U**power`` over all labels, times their probabilities."""
    n, k = p.shape
    predictions, total = ct.Categorical(p), 0.0
    for labels in product(range(k), repeat=n):
        probability = np.prod(p[np.arange(n), labels])
        if probability > 0.0:
            total += probability * ct.SKCE(kernel)(predictions, np.array(labels)) ** power
    return total


@pytest.mark.parametrize("n", [3, 5])
@pytest.mark.parametrize("target_kernel", [ct.DeltaKernel(), ct.kernels.MatrixKernel(MATRIX), 2.0 * ct.DeltaKernel()])
def test_variance_of_classes_by_enumeration(n, target_kernel):
    p = np.random.default_rng(n).dirichlet(np.full(3, 0.5), n)
    p[0] = [0.0, 1.0, 0.0]
    kernel = ProductKernel(TV, target_kernel)
    deviation = hmoments.standard_deviations([kernel], ct.Categorical(p))[0]
    assert deviation**2 == pytest.approx(enumerated(kernel, p, 2), rel=1e-10)


@pytest.mark.parametrize(("n", "k"), [(3, 3), (5, 3), (6, 2), (4, 4)])
def test_third_moment_of_classes_by_enumeration(n, k):
    p = np.random.default_rng(n).dirichlet(np.full(k, 0.7), n)
    kernel = ProductKernel(TV, ct.DeltaKernel())
    moment = hmoments.third_moment(kernel, ct.Categorical(p), np.random.default_rng(1))
    assert moment == pytest.approx(enumerated(kernel, p, 3), rel=1e-10)


def test_third_moment_by_probes(monkeypatch, replications):
    kernel = ProductKernel(TV, ct.DeltaKernel())
    for n, k in replications([(210, 2), (300, 10)], [(500, 2), (500, 10), (500, 100)]):
        p = ct.Categorical(np.random.default_rng(1).dirichlet(np.full(k, 0.1), n))
        by_probes = hmoments.third_moment(kernel, p, np.random.default_rng(1))
        monkeypatch.setattr(hmoments, "FEW", 1000)
        exact = hmoments.third_moment(kernel, p, np.random.default_rng(1))
        assert by_probes == pytest.approx(exact, rel=1e-3)
        monkeypatch.undo()


def test_variance_of_counts_by_enumeration():
    predictions = ct.Poisson([0.4, 1.1, 0.7])
    kernel = ProductKernel(ct.ExponentialKernel(ct.Euclidean(), 1.0), ct.GaussianKernel(bandwidth=1.5))
    counts = np.arange(12)
    pmf = stats.poisson.pmf(counts, predictions.rate[:, None])
    targets = np.array(list(product(counts, repeat=3)))
    weights = pmf[0, targets[:, 0]] * pmf[1, targets[:, 1]] * pmf[2, targets[:, 2]]
    variance = weights @ ct.SKCE(kernel).estimates(predictions, targets) ** 2
    assert hmoments.standard_deviations([kernel], predictions)[0] ** 2 == pytest.approx(variance, rel=1e-8)


def test_variance_of_normal_predictions_by_quadrature():
    predictions = ct.Normal([0.0, 0.5, -0.3], [1.0, 0.4, 0.0])
    kernel = ProductKernel(ct.ExponentialKernel(ct.Wasserstein(), 1.0), ct.GaussianKernel(bandwidth=0.8))
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    targets = predictions.mean + predictions.scale * np.array(list(product(nodes, nodes, [0.0])))
    probabilities = np.array([a * b for a, b in product(weights, weights)]) / (2.0 * np.pi)
    variance = probabilities @ ct.SKCE(kernel).estimates(predictions, targets) ** 2
    assert hmoments.standard_deviations([kernel], predictions)[0] ** 2 == pytest.approx(variance, rel=1e-10)


def test_standard_deviation_of_several_tiles(monkeypatch):
    p = ct.Categorical(np.random.default_rng(1).dirichlet(np.full(4, 0.3), 60))
    kernel = ProductKernel(TV, ct.DeltaKernel())
    whole = hmoments.standard_deviations([kernel], p)[0], hmoments.third_moment(kernel, p, np.random.default_rng(1))
    monkeypatch.setattr(hmoments, "TILE", 7)
    parts = hmoments.standard_deviations([kernel], p)[0], hmoments.third_moment(kernel, p, np.random.default_rng(1))
    assert parts == pytest.approx(whole, rel=1e-12)
    draws = ct.SKCE(kernel).estimates(p, p.sample(2, 20000))
    assert draws.std() == pytest.approx(whole[0], rel=0.03)
    assert (draws**3).mean() == pytest.approx(whole[1], rel=0.1)


def test_families_without_closed_forms():
    kernel = ProductKernel(ct.ExponentialKernel(ct.Wasserstein(), 1.0), ct.LaplacianKernel(0.7))
    assert hmoments.standard_deviations([kernel], ct.Laplace([0.0, 1.0], 1.0)) is None
    assert hmoments.third_moment(kernel, ct.Laplace([0.0, 1.0], 1.0), np.random.default_rng(1)) is None


def test_traces_by_probes_where_most_of_the_trace_is_left_to_them():
    """Eigenvalues of which none is large: the probes have to find what is outside of the subspace."""
    values = np.linspace(0.5, 1.5, 300)
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(300, 300)))[0]
    matrix = (turn * values) @ turn.T
    traces = [hmoments._trace(lambda v: matrix @ v, 300, np.random.default_rng(seed)) for seed in range(4)]
    assert traces == pytest.approx([300.0] * 4, rel=0.02)
