import numpy as np
import pytest

import caltest as ct


def slow_ece(points, p, onehot, assign, distance):
    bins = assign(points)
    total = 0.0
    for b in set(bins.tolist()):
        inside = [i for i in range(len(p)) if bins[i] == b]
        mean = sum(p[i] for i in inside) / len(inside)
        frequency = sum(onehot[i] for i in inside) / len(inside)
        total += len(inside) / len(p) * distance(mean, frequency)
    return total


DISTANCES = {
    ct.TotalVariation: lambda a, b: np.abs(a - b).sum() / 2,
    ct.Cityblock: lambda a, b: np.abs(a - b).sum(),
    ct.Euclidean: lambda a, b: np.sqrt(((a - b) ** 2).sum()),
    ct.SquaredEuclidean: lambda a, b: ((a - b) ** 2).sum(),
}
BINNINGS = [ct.UniformBinning(3), ct.QuantileBinning(3), ct.MedianVarianceBinning(5)]


@pytest.mark.parametrize("binning", BINNINGS)
@pytest.mark.parametrize("distance", DISTANCES)
def test_against_the_definition(binning, distance):
    rng = np.random.default_rng(1)
    p, y = rng.dirichlet(np.ones(3), 60), rng.integers(0, 3, 60)
    slow = slow_ece(p, p, np.eye(3)[y], binning.assign, DISTANCES[distance])
    assert ct.ECE(binning, distance())(p, y) == pytest.approx(slow, rel=1e-12)


@pytest.mark.parametrize("binning", BINNINGS)
def test_binary_error_is_the_absolute_difference(binning):
    """|mean p - frequency of 1|, which is twice the value of the Julia reference for probabilities given as numbers."""
    rng = np.random.default_rng(2)
    p, y = rng.random(60), rng.integers(0, 2, 60)
    slow = slow_ece(p[:, None], p, y, binning.assign, lambda a, b: abs(a - b))
    assert ct.ECE(binning)(p, y) == pytest.approx(slow, rel=1e-12)
    assert ct.ECE(binning, ct.Euclidean())(p, y) == pytest.approx(slow, rel=1e-12)


def test_confidence_bins_of_the_top_label():
    rng = np.random.default_rng(3)
    p, y = rng.dirichlet(np.ones(4), 500), rng.integers(0, 4, 500)
    confidence, correct = p.max(axis=1), p.argmax(axis=1) == y
    total = 0.0
    for b in range(15):
        inside = (confidence > b / 15) & (confidence <= (b + 1) / 15)
        if inside.any():
            total += inside.mean() * abs(confidence[inside].mean() - correct[inside].mean())
    assert ct.ECE()(*ct.top_label(p, y)) == pytest.approx(total, rel=1e-12)


def test_nothing_is_lost_at_zero_and_one():
    assert ct.ECE()([0.0, 1.0, 0.0, 1.0], [1, 0, 1, 0]) == 1.0
    assert ct.ECE(ct.QuantileBinning())([0.0, 1.0, 0.0, 1.0], [1, 0, 1, 0]) == 1.0
    assert ct.ECE()([0.0, 1.0], [0, 1]) == 0.0


def test_description_says_which_error_it_is():
    def described(predictions):
        return ct.ECE().describe(predictions)

    p = ct.Categorical([[0.2, 0.8]])
    assert described(p).startswith("ECE (canonical)")
    assert described(ct.Bernoulli([0.2])).startswith("ECE (binary)")
    assert described(ct.top_label(p, [0])[0]).startswith("ECE (top label)")
    assert described(ct.classwise(p, [0])[1][0]).startswith("ECE (class 1 against the rest)")
