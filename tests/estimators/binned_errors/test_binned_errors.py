import math

import numpy as np
import pytest

import caltest as ct
from caltest._basics.threads import streams
from caltest.predictions import Sample


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
    ct.kernels.Cityblock: lambda a, b: np.abs(a - b).sum(),
    ct.Euclidean: lambda a, b: np.sqrt(((a - b) ** 2).sum()),
    ct.kernels.SquaredEuclidean: lambda a, b: ((a - b) ** 2).sum(),
}
BINNINGS = [ct.binning.UniformBinning(3), ct.binning.QuantileBinning(3), ct.binning.MedianVarianceBinning(5)]


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


def exact_ece(confidence, correct, b):
    """Sums without any rounding error but that of their result."""
    terms = {}
    for p, y in zip(confidence.tolist(), correct.tolist(), strict=True):
        j = next(j for j in range(b) if p <= (j + 1) / b or j == b - 1)
        terms.setdefault(j, []).extend([p, -float(y)])
    return math.fsum(abs(math.fsum(bin_terms)) for bin_terms in terms.values()) / len(confidence)


@pytest.mark.parametrize("b", [1, 15])
def test_sums_of_many_predictions_do_not_drift(b):
    """Sums of calibrated predictions agree with the counts to three digits, so rounding errors weigh a thousandfold."""
    rng = np.random.default_rng(5)
    p = rng.dirichlet(np.full(10, 0.1), 100_000)
    y = (rng.random((100_000, 1)) > np.cumsum(p, axis=1)[:, :-1]).sum(axis=1)
    exact = exact_ece(p.max(axis=1), p.argmax(axis=1) == y, b)
    assert ct.ECE(ct.binning.UniformBinning(b))(*ct.top_label(p, y)) == pytest.approx(exact, rel=1e-12)


@pytest.mark.every(9)
@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("binning", BINNINGS)
@pytest.mark.parametrize("k", [2, 3, 300])
def test_many_targets_against_the_definition(binning, distance, k, monkeypatch):
    """300 labels do not fit into a byte."""
    rng = np.random.default_rng(6)
    p = rng.dirichlet(np.ones(k), 40)
    predictions, ece = ct.Categorical(p), ct.ECE(binning, distance())
    y = predictions.with_redraws(rng.integers(0, k, 40), streams(rng, 8))
    slow = [slow_ece(p, p, np.eye(k)[one], binning.assign, DISTANCES[distance]) for one in y]
    assert ece.estimates(predictions, y) == pytest.approx(slow, rel=1e-12)
    assert ece.estimates(predictions, y.astype(np.intp)).tolist() == ece.estimates(predictions, y).tolist()
    # Compilers round differently in the two loops.
    one_by_one = [ece.estimate(Sample(predictions, one)) for one in y]
    assert ece.estimates(predictions, y) == pytest.approx(one_by_one, rel=1e-13)
    together = ece.estimates(predictions, y)
    monkeypatch.setattr("caltest.estimators.binned_errors.ece.TARGETS_AT_ONCE", 4)
    assert np.array_equal(ece.estimates(predictions, y), together)


@pytest.mark.every(4)
@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("binning", BINNINGS)
def test_many_outcomes_against_the_definition(binning, distance):
    rng = np.random.default_rng(7)
    p, y = rng.random(60), rng.integers(0, 2, (70, 60)).astype(np.uint8)
    binary = (lambda a, b: (a - b) ** 2) if distance is ct.kernels.SquaredEuclidean else (lambda a, b: abs(a - b))
    slow = [slow_ece(p[:, None], p, one.astype(float), binning.assign, binary) for one in y]
    assert ct.ECE(binning, distance()).estimates(ct.Bernoulli(p), y) == pytest.approx(slow, rel=1e-12)


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
    assert ct.ECE(ct.binning.QuantileBinning())([0.0, 1.0, 0.0, 1.0], [1, 0, 1, 0]) == 1.0
    assert ct.ECE()([0.0, 1.0], [0, 1]) == 0.0


def test_description_says_which_error_it_is():
    def described(predictions):
        return ct.ECE().describe(predictions)

    p = ct.Categorical([[0.2, 0.8]])
    assert described(p).startswith("ECE (canonical)")
    assert described(ct.Bernoulli([0.2])).startswith("ECE (binary)")
    assert described(ct.top_label(p, [0])[0]).startswith("ECE (top label)")
    assert described(ct.classwise(p, [0])[1][0]).startswith("ECE (class 1 against the rest)")


def test_errors_name_the_estimator():
    for estimator in (ct.ECE(), ct.MCE(), ct.ClasswiseECE()):
        with pytest.raises(ValueError, match=f"wanted at least 1 for {type(estimator).__name__}$"):
            estimator.check(ct.Bernoulli([0.5]).take([]))
