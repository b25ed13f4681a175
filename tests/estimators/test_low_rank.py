"""SKCE of low rank against explicit features, and against all pairs where every prediction is a landmark."""

import numpy as np
import pytest
from samples import TV, W2, samples

import caltest as ct

N = 60
_, P, Y, NORMAL, TARGETS = samples(N, 3)
GAUSSIAN = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), 0.4), ct.GaussianKernel(bandwidth=1.2))


def root(matrix):
    """The inverse root of a positive definite matrix."""
    values, vectors = np.linalg.eigh(matrix)
    return vectors / np.sqrt(values)


def slow_estimates(psi, phi, unbiased):
    """Mean of (psi . psi') (phi . phi'), from arrays of all pairs."""
    h = (psi @ psi.T) * (phi @ phi.T)
    n = len(h)
    return (h.sum() - np.trace(h)) / (n * (n - 1)) if unbiased else h.sum() / n**2


@pytest.mark.parametrize("unbiased", [True, False])
@pytest.mark.parametrize("kernel", [TV, GAUSSIAN], ids=["delta", "gaussian"])
@pytest.mark.parametrize("rank", [N, 1000])
def test_all_predictions_as_landmarks_give_the_estimate_of_all_pairs(rank, kernel, unbiased):
    expected = ct.SKCE(kernel, unbiased)(P, Y)
    assert ct.LowRankSKCE(kernel, rank, unbiased, rng=1)(P, Y) == pytest.approx(expected, rel=1e-8)
    binary = ct.SKCE(kernel, unbiased)(P[:, 0], Y == 0)
    assert ct.LowRankSKCE(kernel, rank, unbiased, rng=1)(P[:, 0], Y == 0) == pytest.approx(binary, rel=1e-8)


@pytest.mark.parametrize("unbiased", [True, False])
@pytest.mark.parametrize("kernel", [TV, GAUSSIAN], ids=["delta", "gaussian"])
@pytest.mark.parametrize("rank", [1, 5, 20])
def test_classes_against_explicit_features(rank, kernel, unbiased):
    estimator = ct.LowRankSKCE(kernel, rank, unbiased, rng=3)
    landmarks = P[np.sort(np.random.default_rng(3).choice(N, rank, replace=False))]

    def k(p, q):
        return np.exp(-np.abs(p[:, None] - q[None]).sum(axis=2) / 2 / 0.4)

    psi = k(P, landmarks) @ root(k(landmarks, landmarks))
    outcomes = np.arange(3)
    delta = kernel is TV
    gram = np.eye(3) if delta else np.exp(-((outcomes[:, None] - outcomes) ** 2) / (2 * 1.2**2))
    phi = (np.eye(3)[Y] - P) @ np.linalg.cholesky(gram)
    expected = slow_estimates(psi, phi, unbiased)
    assert estimator(P, Y) == pytest.approx(expected, rel=1e-9, abs=1e-13)


@pytest.mark.parametrize("unbiased", [True, False])
def test_normal_predictions_against_explicit_features(unbiased):
    estimator = ct.LowRankSKCE(W2, 4, unbiased, rng=3)
    rng = np.random.default_rng(3)
    index = np.sort(rng.choice(N, 4, replace=False))
    m, s = NORMAL.mean, NORMAL.scale
    z = m[index] + s[index] * rng.standard_normal(4)

    def k(i, j):
        return np.exp(-np.hypot(m[i][:, None] - m[j], s[i][:, None] - s[j]))

    def g(y):
        return np.exp(-((y[:, None] - z) ** 2) / (2 * W2.target_kernel.width**2))

    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    weights = weights / weights.sum()
    mean = sum(w * g(m + s * node) for node, w in zip(nodes, weights, strict=True))
    everyone = np.arange(N)
    psi = k(everyone, index) @ root(k(index, index))
    phi = (g(TARGETS) - mean) @ root(g(z))
    assert estimator(NORMAL, TARGETS) == pytest.approx(slow_estimates(psi, phi, unbiased), rel=1e-7, abs=1e-12)


def test_normal_predictions_approach_the_estimate_of_all_pairs():
    expected = ct.SKCE(W2)(NORMAL, TARGETS)
    errors = [abs(ct.LowRankSKCE(W2, rank, rng=1)(NORMAL, TARGETS) - expected) for rank in (4, N)]
    assert errors[1] < 1e-4 * abs(expected) < errors[0]


@pytest.mark.parametrize("rank", [2, 15])
@pytest.mark.parametrize("family", ["Categorical", "Bernoulli", "Normal"])
def test_the_mean_is_zero_for_calibrated_predictions(rank, family):
    predictions, kernel = {
        "Categorical": (ct.Categorical(P), TV),
        "Bernoulli": (ct.Bernoulli(P[:, 0]), TV),
        "Normal": (NORMAL, W2),
    }[family]
    estimator = ct.LowRankSKCE(kernel, rank, rng=1).resolve(predictions)
    values = estimator.estimates(predictions, predictions.sample(2, 4000))
    assert abs(values.mean()) <= 4.5 * values.std() / np.sqrt(4000)
    biased = ct.LowRankSKCE(kernel, rank, unbiased=False, rng=1).resolve(predictions)
    assert biased.estimates(predictions, predictions.sample(2, 100)).min() >= 0.0


def test_the_features_do_not_depend_on_parts_of_the_data(monkeypatch):
    redraws = ct.Categorical(P).sample(2, 7)
    estimator = ct.LowRankSKCE(TV, 9, rng=1).resolve(ct.Categorical(P))
    whole = estimator.estimates(ct.Categorical(P), redraws)
    monkeypatch.setattr("caltest.hstatistics.features.ROWS", 7)
    monkeypatch.setattr("caltest.hstatistics.features.SUMS", 60)
    assert estimator.estimates(ct.Categorical(P), redraws) == pytest.approx(whole, rel=1e-12, abs=1e-15)


def test_repeated_predictions_leave_fewer_features():
    """Landmarks that are equal have a singular matrix."""
    p, y = np.repeat(P[:6], 10, axis=0), Y
    expected = ct.SKCE(TV)(p, y)
    assert ct.LowRankSKCE(TV, 50, rng=1)(p, y) == pytest.approx(expected, rel=1e-8)


def test_median_bandwidth_is_that_of_the_predictions():
    median = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation()), ct.DeltaKernel())
    width = ct.median_bandwidth(P, ct.TotalVariation())
    fixed = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), width), ct.DeltaKernel())
    assert ct.LowRankSKCE(median, 9, rng=1)(P, Y) == ct.LowRankSKCE(fixed, 9, rng=1)(P, Y)


def test_seed_is_kept():
    estimator = ct.LowRankSKCE(TV, 9)
    value = estimator(P, Y)
    assert estimator(P, Y) == value
    assert ct.LowRankSKCE(TV, 9, rng=estimator.rng)(P, Y) == value
    assert ct.LowRankSKCE(TV, 9).rng != estimator.rng
    assert ct.LowRankSKCE(TV, 9)(P, Y) != value
    assert f"landmarks rng={estimator.rng}" in estimator.describe(ct.Categorical(P))
    assert ct.LowRankSKCE(TV, 9, rng=5).rng == 5


def test_landmarks_depend_on_the_predictions_only():
    estimator = ct.LowRankSKCE(TV, 9, rng=1)
    test = ct.MonteCarloTest(estimator, 19)
    draws = [test(P, labels, rng=1).null_distribution for labels in (Y, (Y + 1) % 3)]
    assert np.array_equal(*draws)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: ct.LowRankSKCE(ct.DeltaKernel()), TypeError, "kernel: got DeltaKernel(), wanted a ProductKernel"),
        (lambda: ct.LowRankSKCE(TV, rank=0), ValueError, "rank: got 0, wanted a whole number of at least 1"),
        (lambda: ct.LowRankSKCE(TV, rank=2.5), ValueError, "rank: got 2.5, wanted a whole number"),
        (lambda: ct.LowRankSKCE(TV, unbiased=1), ValueError, "unbiased: got 1, wanted True or False"),
        (lambda: ct.LowRankSKCE(TV, rng="one"), ValueError, "rng: got 'one', wanted None, a non-negative integer"),
        (lambda: ct.LowRankSKCE(TV)(P[:1], Y[:1]), ValueError, "got 1 observation, wanted at least 2 for LowRankSKCE"),
        (lambda: ct.LowRankSKCE(TV)(NORMAL, TARGETS), TypeError, "metric: got TotalVariation() for Normal predictions"),
        (lambda: ct.DistributionFreeSKCETest(ct.LowRankSKCE(TV)), TypeError, "got LowRankSKCE for DistributionFree"),
        (
            lambda: ct.LowRankSKCE(TV).estimates(ct.Categorical(P), Y[None]),
            ValueError,
            "LowRankSKCE: got no landmarks",
        ),
    ],
)
def test_errors(make, error, message):
    with pytest.raises(error) as caught:
        make()
    assert message in str(caught.value)


def test_one_biased_observation():
    expected = ct.SKCE(TV, unbiased=False)(P[:1], Y[:1])
    assert ct.LowRankSKCE(TV, unbiased=False)(P[:1], Y[:1]) == pytest.approx(expected, rel=1e-12)
