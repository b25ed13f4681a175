"""Orders of the binned error, and its class-wise and debiased versions."""

from math import inf

import numpy as np
import pytest
from scipy import stats

import caltest as ct
from caltest._basics.threads import streams
from caltest.predictions.inputs.convert import as_predictions

RNG = np.random.default_rng(3)
P, Y = RNG.dirichlet(np.full(3, 0.7), 80), RNG.integers(0, 3, 80)
BINNINGS = [ct.binning.UniformBinning(4), ct.binning.QuantileBinning(4), ct.binning.EdgeBinning([0.0, 0.3, 0.9, 1.0])]
DISTANCES = {
    ct.TotalVariation: lambda a: np.abs(a).sum() / 2,
    ct.kernels.Cityblock: lambda a: np.abs(a).sum(),
    ct.Euclidean: lambda a: np.sqrt((a**2).sum()),
    ct.kernels.SquaredEuclidean: lambda a: (a**2).sum(),
}


def errors_of_bins(p, onehot, binning, distance):
    """Sizes and distances of the occupied bins."""
    bins = binning.assign(p)
    inside = [bins == b for b in range(bins.max() + 1)]
    means = [(p[rows].mean(axis=0) - onehot[rows].mean(axis=0)) for rows in inside]
    return np.array([rows.sum() for rows in inside]), np.array([distance(mean) for mean in means])


@pytest.mark.every(4)
@pytest.mark.parametrize("binning", BINNINGS, ids=str)
@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("order", [1, 1.5, 2, 7, inf])
def test_orders_against_the_definition(binning, distance, order):
    sizes, errors = errors_of_bins(P, np.eye(3)[Y], binning, DISTANCES[distance])
    slow = errors.max() if order == inf else (sizes @ errors**order / 80) ** (1 / order)
    estimator = ct.ECE(binning, distance(), order)
    assert estimator(P, Y) == pytest.approx(slow, rel=1e-12)
    predictions = as_predictions(P)
    targets = predictions.with_redraws(Y, streams(np.random.default_rng(1), 70))
    alone = [estimator(P, y) for y in targets[:5]]
    assert estimator.estimates(predictions, targets)[:5] == pytest.approx(alone, rel=1e-13)
    if order == inf:
        assert ct.MCE(binning, distance())(P, Y) == estimator(P, Y)


@pytest.mark.parametrize("binning", BINNINGS, ids=str)
def test_order_two_is_the_root_of_the_squared_distance(binning):
    squared = ct.ECE(binning, ct.kernels.SquaredEuclidean())(P, Y)
    assert ct.ECE(binning, ct.Euclidean(), 2)(P, Y) ** 2 == pytest.approx(squared, rel=1e-13)


@pytest.mark.every(4)
@pytest.mark.parametrize("seed", range(20))
def test_errors_grow_with_their_order_and_are_at_least_what_confidence_misses(seed):
    """Theorem 1 of Wenger et al. 2020, on every sample and for every binning."""
    rng = np.random.default_rng(seed)
    k, n = rng.integers(2, 6), rng.integers(1, 60)
    p, y = rng.dirichlet(np.full(k, 0.5), n), rng.integers(0, k, n)
    found = ct.confidence_errors(p, y)
    over = 0.0 if found.overconfidence is None else found.overconfidence * (1.0 - found.accuracy)
    under = 0.0 if found.underconfidence is None else found.underconfidence * found.accuracy
    for binning in BINNINGS:
        errors = [ct.ECE(binning, order=order)(*ct.top_label(p, y)) for order in (1, 1.3, 2, 5, inf)]
        assert abs(over - under) == pytest.approx(abs(p.max(axis=1).mean() - found.accuracy), abs=1e-14)
        assert abs(over - under) <= errors[0] + 1e-14
        assert (np.diff(errors) >= -1e-14).all()


def test_errors_of_confidence():
    found = ct.confidence_errors([[0.9, 0.1], [0.6, 0.4]], [0, 0])
    assert found.overconfidence is None
    assert found.underconfidence == pytest.approx(0.25)
    assert ct.confidence_errors([0.9, 0.6], [0, 0]).underconfidence is None
    assert ct.confidence_errors([0.9, 0.6], [0, 1]).overconfidence == 0.9
    with pytest.raises(TypeError, match="Normal"):
        ct.confidence_errors(ct.Normal([0.0], 1.0), [0.0])


def slow_debiased(p, onehot, binning):
    bins, total = binning.assign(p), 0.0
    for b in range(bins.max() + 1):
        c, y = p[bins == b], onehot[bins == b]
        if len(c) > 1:
            f = y.mean(axis=0)
            total += len(c) / len(p) * (((c.mean(axis=0) - f) ** 2).sum() - (f * (1 - f)).sum() / (len(c) - 1))
    return total


@pytest.mark.parametrize("binning", [*BINNINGS, ct.binning.QuantileBinning(40)], ids=str)
def test_debiased_error_against_the_formula(binning):
    estimator = ct.estimators.DebiasedSquaredECE(binning)
    assert estimator(P, Y) == pytest.approx(slow_debiased(P, np.eye(3)[Y], binning), rel=1e-11, abs=1e-15)
    confidence, correct = ct.top_label(P, Y)
    c = confidence.probability[:, None]
    assert estimator(confidence, correct) == pytest.approx(
        slow_debiased(c, np.asarray(correct, float)[:, None], binning), rel=1e-11, abs=1e-15
    )


def test_debiased_error_at_the_edges():
    """Bins of one observation add nothing; bins whose outcomes agree need no correction."""
    single = ct.estimators.DebiasedSquaredECE(ct.binning.EdgeBinning([0.0, 0.5, 1.0]))
    assert single([0.2, 0.8], [1, 1]) == 0.0
    assert single([0.2, 0.2, 0.8], [1, 1, 0]) == pytest.approx(2 / 3 * 0.64)
    assert single([0.5, 0.5], [0, 1]) == pytest.approx(-0.25)


@pytest.mark.statistical
@pytest.mark.usefixtures("without_findings")
def test_debiased_error_is_unbiased():
    """For predictions that are alike in a bin: 0 for calibrated ones, the squared errors otherwise."""
    p, rng = np.repeat([0.2, 0.5, 0.9], 12), np.random.default_rng(5)
    estimator, predictions = (
        ct.estimators.DebiasedSquaredECE(ct.binning.EdgeBinning([0.0, 0.3, 0.6, 1.0])),
        ct.Bernoulli(p),
    )
    for shift in (0.0, 0.1):
        values = estimator.estimates(predictions, (rng.random((20_000, 36)) < p - shift).astype(int))
        mean, error = values.mean(), values.std() / np.sqrt(20_000)
        assert abs(mean - shift**2) <= 4.5 * error
    biased = ct.ECE(ct.binning.EdgeBinning([0.0, 0.3, 0.6, 1.0]), ct.kernels.SquaredEuclidean()).estimates(
        predictions, (rng.random((20_000, 36)) < p).astype(int)
    )
    assert biased.mean() > 0.01


@pytest.mark.parametrize("order", [1, 2, inf])
def test_class_wise_error_is_that_of_all_classes(order):
    errors = [ct.ECE(ct.binning.UniformBinning(5), order=order)(*pair) for pair in ct.classwise(P, Y)]
    binning = ct.binning.UniformBinning(5)
    assert ct.ClasswiseECE(binning, order)(P, Y) == pytest.approx(np.mean(errors), rel=1e-13)
    assert ct.ClasswiseECE(binning, order, "sum")(P, Y) == pytest.approx(np.sum(errors), rel=1e-13)


@pytest.mark.every(3)
@pytest.mark.parametrize(
    "estimator",
    [
        ct.ECE(order=2),
        ct.MCE(ct.binning.QuantileBinning(5)),
        ct.estimators.DebiasedSquaredECE(ct.binning.QuantileBinning(2)),
        ct.ClasswiseECE(),
    ],
    ids=lambda one: type(one).__name__ + str(getattr(one, "order", "")),
)
@pytest.mark.statistical
@pytest.mark.usefixtures("without_findings")
def test_monte_carlo_keeps_its_level(estimator):
    test, rng, sets = ct.MonteCarloTest(estimator, 99), np.random.default_rng(8), 150
    pvalues = []
    for _ in range(sets):
        p = ct.Categorical(rng.dirichlet(np.full(4, 0.5), 60))
        pvalues.append(test(p, p.sample(rng), rng=rng).pvalue)
    assert np.count_nonzero(np.array(pvalues) <= 0.05) <= stats.binom(sets, 0.05).ppf(0.995)
    assert stats.kstest(np.array(pvalues) - 0.005, "uniform").pvalue > 1e-3


def test_bad_settings():
    for order in (0.5, float("nan"), -inf):
        with pytest.raises(ValueError, match="wanted a"):
            ct.ECE(order=order)
    for order in ("2", True, None):
        with pytest.raises(TypeError, match="wanted a number of at least 1"):
            ct.ECE(order=order)
    with pytest.raises(ValueError, match='"mean" or "sum"'):
        ct.ClasswiseECE(aggregate="max")
    for binning in (5, ct.binning.UniformBinning):
        for make in (ct.estimators.DebiasedSquaredECE, ct.ClasswiseECE, ct.MCE):
            with pytest.raises(TypeError, match="wanted a binning"):
                make(binning)
    for estimator in (ct.estimators.DebiasedSquaredECE(), ct.ClasswiseECE(), ct.MCE()):
        with pytest.raises(TypeError, match="Normal predictions"):
            estimator(ct.Normal([0.0, 1.0], 1.0), [0.0, 1.0])
    with pytest.raises(ValueError, match="2"):
        ct.estimators.DebiasedSquaredECE()([0.3], [1])


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([0.0], "increasing"),
        ([0.0, 0.5, 0.5, 1.0], "increasing"),
        ([0.1, 1.0], "first at most 0"),
        ([0.0, 0.9], "last at"),
        ([0.0, float("nan"), 1.0], "finite"),
        ([[0.0, 1.0]], "increasing"),
    ],
)
def test_bad_edges(edges, message):
    with pytest.raises(ValueError, match=message):
        ct.binning.EdgeBinning(edges)
