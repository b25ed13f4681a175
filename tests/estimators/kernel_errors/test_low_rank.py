"""SKCE of low rank against explicit features, and against all pairs where every prediction is a landmark."""

import numpy as np
import pytest
from samples import TV, W2, samples

import caltest as ct
from caltest._basics.numerics import generator_apart

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
    assert ct.LowRankSKCE(kernel, rank, unbiased)(P, Y) == pytest.approx(expected, rel=1e-8)
    binary = ct.SKCE(kernel, unbiased)(P[:, 0], Y == 0)
    assert ct.LowRankSKCE(kernel, rank, unbiased)(P[:, 0], Y == 0) == pytest.approx(binary, rel=1e-8)


def spread(rank):
    """Rows i with the smallest fractional parts of i times the golden ratio."""
    return sorted(sorted(range(N), key=lambda i: i * (np.sqrt(5) - 1) / 2 % 1)[:rank])


@pytest.mark.parametrize("unbiased", [True, False])
@pytest.mark.parametrize("kernel", [TV, GAUSSIAN], ids=["delta", "gaussian"])
@pytest.mark.parametrize("rank", [1, 5, 20])
def test_classes_against_explicit_features(rank, kernel, unbiased):
    estimator = ct.LowRankSKCE(kernel, rank, unbiased)
    landmarks = P[spread(rank)]

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
    estimator = ct.LowRankSKCE(W2, 4, unbiased)
    index = spread(4)
    m, s = NORMAL.mean, NORMAL.scale
    z = m[index] + s[index] * generator_apart(5).standard_normal(4)

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
    assert estimator(NORMAL, TARGETS, rng=5) == pytest.approx(slow_estimates(psi, phi, unbiased), rel=1e-7, abs=1e-12)


def test_normal_predictions_approach_the_estimate_of_all_pairs():
    expected = ct.SKCE(W2)(NORMAL, TARGETS)
    errors = [abs(ct.LowRankSKCE(W2, rank)(NORMAL, TARGETS, rng=1) - expected) for rank in (4, N)]
    assert errors[1] < 1e-4 * abs(expected) < errors[0]


@pytest.mark.every(4)
@pytest.mark.parametrize("rank", [2, 15])
@pytest.mark.parametrize("family", ["Categorical", "Bernoulli", "Normal"])
def test_the_mean_is_zero_for_calibrated_predictions(rank, family):
    predictions, kernel = {
        "Categorical": (ct.Categorical(P), TV),
        "Bernoulli": (ct.Bernoulli(P[:, 0]), TV),
        "Normal": (NORMAL, W2),
    }[family]
    estimator = ct.LowRankSKCE(kernel, rank).resolve(predictions)
    values = estimator.estimates(predictions, predictions.sample(2, 4000))
    assert abs(values.mean()) <= 4.5 * values.std() / np.sqrt(4000)
    biased = ct.LowRankSKCE(kernel, rank, unbiased=False).resolve(predictions)
    assert biased.estimates(predictions, predictions.sample(2, 100)).min() >= 0.0


def test_the_features_do_not_depend_on_parts_of_the_data(monkeypatch):
    redraws = ct.Categorical(P).sample(2, 7)
    estimator = ct.LowRankSKCE(TV, 9).resolve(ct.Categorical(P))
    whole = estimator.estimates(ct.Categorical(P), redraws)
    monkeypatch.setattr("caltest.hstatistics.sums.features.ROWS", 7)
    monkeypatch.setattr("caltest.hstatistics.sums.features.SUMS", 60)
    assert estimator.estimates(ct.Categorical(P), redraws) == pytest.approx(whole, rel=1e-12, abs=1e-15)


def test_repeated_predictions_leave_fewer_features():
    """Landmarks that are equal have a singular matrix."""
    p, y = np.repeat(P[:6], 10, axis=0), Y
    expected = ct.SKCE(TV)(p, y)
    assert ct.LowRankSKCE(TV, 50)(p, y) == pytest.approx(expected, rel=1e-8)


def test_median_bandwidth_is_that_of_the_predictions():
    median = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation()), ct.DeltaKernel())
    width = ct.median_bandwidth(P, ct.TotalVariation())
    fixed = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), width), ct.DeltaKernel())
    assert ct.LowRankSKCE(median, 9)(P, Y) == ct.LowRankSKCE(fixed, 9)(P, Y)


def test_landmarks_of_predictions_are_not_drawn_and_those_of_real_targets_by_the_call():
    assert ct.LowRankSKCE(TV, 9)(P, Y) == ct.LowRankSKCE(TV, 9)(P, Y, rng=3)
    estimator = ct.LowRankSKCE(W2, 4)
    value = estimator(NORMAL, TARGETS, rng=3)
    assert ct.LowRankSKCE(W2, 4)(NORMAL, TARGETS, rng=3) == value
    assert estimator(NORMAL, TARGETS) != estimator(NORMAL, TARGETS)
    assert ct.MonteCarloTest(estimator, 9)(NORMAL, TARGETS, rng=3).estimate == value


@pytest.mark.parametrize("period", [2, 5, 24])
@pytest.mark.parametrize("rank", [16, 64])
def test_landmarks_are_spread_over_the_rows_and_over_every_period(period, rank):
    """Where rows repeat with a period, no phase has many more than its share."""
    phases = np.arange(2400) % period
    predictions = ct.Normal(phases, 1.0 + np.arange(2400) / 2400)
    landmarks = ct.LowRankSKCE(W2, rank).resolve(predictions, 1)._features.landmarks
    assert np.bincount(landmarks.mean.astype(int)).max() <= rank / period + 7
    assert np.diff(landmarks.scale).max() <= 2.5 / rank


def test_landmarks_depend_on_the_predictions_only():
    estimator = ct.LowRankSKCE(TV, 9)
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
        (lambda: ct.LowRankSKCE(TV)(P, Y, rng="one"), ValueError, "rng: got 'one', wanted None, a non-negative"),
        (lambda: ct.LowRankSKCE(TV)(P[:1], Y[:1]), ValueError, "got 1 observation, wanted at least 2 for LowRankSKCE"),
        (lambda: ct.LowRankSKCE(TV)(NORMAL, TARGETS), TypeError, "metric: got TotalVariation() for Normal predictions"),
        (lambda: ct.DistributionFreeSKCETest(ct.LowRankSKCE(TV)), TypeError, "got LowRankSKCE for DistributionFree"),
        (lambda: ct.LowRankSKCE(TV).estimates(ct.Categorical(P), Y[None]), ValueError, "LowRankSKCE: got no landmarks"),
    ],
)
def test_errors(make, error, message):
    with pytest.raises(error) as caught:
        make()
    assert message in str(caught.value)


def test_one_biased_observation():
    expected = ct.SKCE(TV, unbiased=False)(P[:1], Y[:1])
    assert ct.LowRankSKCE(TV, unbiased=False)(P[:1], Y[:1]) == pytest.approx(expected, rel=1e-12)
