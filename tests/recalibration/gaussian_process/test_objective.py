import numpy as np
import pytest
from scipy.special import log_softmax, softmax

from caltest._loops.statistics.latent import row_terms
from caltest.recalibration.gaussian_process.objective import (
    AllInputs,
    LatentProcess,
    OnGrid,
    evidence_bound,
    inverse_softplus,
    softplus,
)

M = 4


def data(k, n=15, seed=3):
    rng = np.random.default_rng(seed)
    inputs = 2.0 * rng.normal(size=(n, k))
    return inputs, 0.7 * inputs + 0.1, rng.integers(k, size=n), rng.normal(size=3 * M + 3)


def slow(vector, inputs, prior, labels):
    """The bound as it is written down."""
    w, m, raw = vector[:M], vector[M : 2 * M], np.log1p(np.exp(vector[2 * M :])) + 1e-6
    s, (lengthscale, variance, noise) = raw[:M], raw[M:]

    def k(a, b):
        return variance * np.exp(-((np.subtract.outer(a, b)) ** 2) / (2.0 * lengthscale**2))

    lower = np.linalg.cholesky(k(w, w) + (noise + 1e-6) * np.eye(M))
    total = -(m @ m + s @ s - M - np.log(s**2).sum()) / 2.0
    for x, mu, y in zip(inputs, prior, labels, strict=True):
        a = np.linalg.inv(lower) @ k(w, x)
        phi = mu + a.T @ m
        c = k(x, x) + noise * np.eye(x.size) - a.T @ a + a.T @ np.diag(s**2) @ a
        c = np.diag(np.diag(c))
        sigma = softmax(phi)
        total += log_softmax(phi)[y] + (sigma @ c @ sigma - np.diag(c) @ sigma) / 2.0
    return total


@pytest.mark.parametrize("k", [2, 5])
def test_bound_and_gradient(k):
    inputs, prior, labels, vector = data(k)
    value, gradient = evidence_bound(vector, AllInputs(inputs, prior, labels))
    assert value == pytest.approx(slow(vector, inputs, prior, labels), rel=1e-12)
    steps = 1e-5 * np.eye(vector.size)
    differences = [
        (slow(vector + step, inputs, prior, labels) - slow(vector - step, inputs, prior, labels)) / 2e-5
        for step in steps
    ]
    np.testing.assert_allclose(gradient, differences, rtol=1e-6, atol=1e-6)


def test_gradient_is_that_of_automatic_differentiation():
    torch = pytest.importorskip("torch")
    inputs, prior, labels, vector = data(6)
    theta = torch.tensor(vector, dtype=torch.float64, requires_grad=True)
    x, mu = torch.tensor(inputs), torch.tensor(prior)
    w, m, raw = theta[:M], theta[M : 2 * M], torch.logaddexp(torch.zeros(()), theta[2 * M :]) + 1e-6
    s, (lengthscale, variance, noise) = raw[:M], raw[M:]

    def k(a, b):
        return variance * torch.exp(-((a[..., :, None] - b[..., None, :]) ** 2) / (2.0 * lengthscale**2))

    lower = torch.linalg.cholesky(k(w, w) + (noise + 1e-6) * torch.eye(M, dtype=torch.float64))
    a = torch.linalg.solve_triangular(lower, k(w, x.ravel()), upper=False).T.reshape(*x.shape, M)
    phi = mu + a @ m
    c = k(x, x) + noise * torch.eye(x.shape[1], dtype=torch.float64) - (a * (1.0 - s**2)) @ a.transpose(1, 2)
    diagonal = torch.diagonal(c, dim1=1, dim2=2)
    sigma = torch.softmax(phi, 1)
    square = (diagonal * sigma**2).sum()
    own = torch.log_softmax(phi, 1)[torch.arange(len(labels)), torch.tensor(labels)].sum()
    bound = own + (square - (diagonal * sigma).sum()) / 2.0 - (m @ m + s @ s - M - 2.0 * torch.log(s).sum()) / 2.0
    bound.backward()
    value, gradient = evidence_bound(vector, AllInputs(inputs, prior, labels))
    assert value == pytest.approx(bound.item(), rel=1e-12)
    np.testing.assert_allclose(gradient, theta.grad.numpy(), rtol=1e-10, atol=1e-10)


def test_grid_of_nodes_agrees_with_all_inputs():
    inputs, prior, labels, vector = data(7, n=400)
    inputs[0, 0] = -600.0
    exact, slope = evidence_bound(vector, AllInputs(inputs, prior, labels))
    grid = OnGrid(inputs, prior, labels)
    value, gradient = evidence_bound(vector, grid)
    assert grid.nodes.size < 2000
    assert value == pytest.approx(exact, rel=1e-7)
    np.testing.assert_allclose(gradient, slope, rtol=1e-5, atol=1e-5)


def test_gradient_on_the_grid_is_that_of_the_value_on_the_grid():
    inputs, prior, labels, vector = data(3, n=30)
    grid = OnGrid(inputs, prior, labels)
    _, gradient = evidence_bound(vector, grid)
    differences = [
        (evidence_bound(vector + step, grid)[0] - evidence_bound(vector - step, grid)[0]) / 2e-5
        for step in 1e-5 * np.eye(vector.size)
    ]
    np.testing.assert_allclose(gradient, differences, rtol=1e-6, atol=1e-6)


def test_rows_in_parts_are_summed_in_the_same_way_by_any_number_of_threads(monkeypatch):
    from caltest.recalibration.gaussian_process import objective as rows

    inputs, prior, labels, vector = data(3, n=50)
    whole = [evidence_bound(vector, kind(inputs, prior, labels)) for kind in (AllInputs, OnGrid)]
    monkeypatch.setattr(rows, "PART", 20)
    monkeypatch.setattr("caltest._basics.threads.WORTH_THREADS", 0.0)
    results = []
    for threads in (1, 3):
        monkeypatch.setattr("caltest._basics.threads.n_threads", lambda threads=threads: threads)
        results.append([evidence_bound(vector, kind(inputs, prior, labels)) for kind in (AllInputs, OnGrid)])
    for one, other, all_rows in zip(*results, whole, strict=True):
        assert one[0] == other[0]
        np.testing.assert_array_equal(one[1], other[1])
        assert one[0] == pytest.approx(all_rows[0], rel=1e-13)
        np.testing.assert_allclose(one[1], all_rows[1], rtol=1e-9, atol=1e-11)


def test_softplus_has_a_floor_and_an_inverse():
    values = np.array([2e-6, 1e-3, 1.0, 50.0])
    np.testing.assert_allclose(softplus(inverse_softplus(values)), values, rtol=1e-9)
    assert softplus(np.array([-1e4]))[0] == 1e-6


def test_vector_and_process_are_the_same_parameters():
    vector = data(2)[3]
    np.testing.assert_allclose(LatentProcess.from_vector(vector).to_vector(), vector, rtol=1e-6)


@pytest.mark.parametrize("largest", [0, 1, 2])
def test_logits_far_apart_have_finite_terms(largest):
    """Powers of a logit 800 above the others are not finite, whichever class it is of."""
    mean, slopes = np.where(np.arange(3) == largest, 800.0, 0.0), np.empty((2, 3))
    for label in range(3):
        assert row_terms(mean, np.zeros(3), label, *slopes) == log_softmax(mean)[label]
        np.testing.assert_array_equal(slopes[0], (np.arange(3) == label) - softmax(mean))
