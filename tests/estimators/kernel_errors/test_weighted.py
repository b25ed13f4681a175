import numpy as np
import pytest
from contracts import CASES
from samples import TV, W2, samples

import caltest as ct


def slow(h, w):
    n = len(w)
    pairs = [(i, j) for i in range(n) for j in range(n) if i != j]
    return sum(w[i] * w[j] * h[i, j] for i, j in pairs) / sum(w[i] * w[j] for i, j in pairs)


def h_matrix(kernel, predictions, y):
    law = predictions.law
    return sum(
        one.prediction_kernel.tile(predictions, predictions) * law.centred_kernel(one.target_kernel, y, law, y)
        for one in kernel.products
    )


@pytest.mark.parametrize(("maker", "kernel"), CASES)
def test_weighted_mean_of_h(maker, kernel):
    sample = maker()
    kernel = kernel.resolve(sample.predictions)
    w = np.random.default_rng(1).exponential(size=len(sample))
    w[[0, 7]] = 0.0
    expected = slow(h_matrix(kernel, sample.predictions, sample.targets), w)
    estimate = ct.estimators.WeightedSKCE(kernel, w)(sample.predictions, sample.targets)
    assert estimate == pytest.approx(expected, rel=1e-9, abs=1e-11)


@pytest.mark.parametrize("kernel", [TV, W2])
def test_equal_weights_and_scale_and_zeros(kernel):
    data = samples(80, 3)
    p, y = (ct.Categorical(data.p), data.y) if kernel is TV else (data.normal, data.targets)
    plain = ct.SKCE(kernel)
    assert ct.estimators.WeightedSKCE(kernel, np.full(80, 0.3))(p, y) == pytest.approx(
        plain(p, y), rel=1e-12, abs=1e-15
    )
    w = data.rng.random(80)
    assert ct.estimators.WeightedSKCE(kernel, 1e200 * w)(p, y) == pytest.approx(
        ct.estimators.WeightedSKCE(kernel, w)(p, y), rel=1e-12
    )
    kept = w > 0.3
    zeros = ct.estimators.WeightedSKCE(kernel, kept)(p, y)
    assert zeros == pytest.approx(plain(p.take(np.flatnonzero(kept)), y[kept]), rel=1e-12, abs=1e-15)
    test = ct.MonteCarloTest(ct.estimators.WeightedSKCE(kernel, np.ones(80)), 99)(p, y, rng=1)
    assert test.pvalue == ct.MonteCarloTest(plain, 99)(p, y, rng=1).pvalue
    assert test.hypothesis == "P(Y | P_X, w) = P_X"
    assert "weights w are functions of the predictions" in str(test)


def test_median_bandwidth_leaves_out_zero_weights():
    data = samples(40, 3)
    kernel = ct.Categorical(data.p).default_kernel()
    w = np.repeat([1.0, 0.0], 20)
    assert ct.estimators.WeightedSKCE(kernel, w)(data.p, data.y) == pytest.approx(
        ct.SKCE(kernel)(data.p[:20], data.y[:20]), rel=1e-12
    )
    assert "20 used" in str(ct.MonteCarloTest(ct.estimators.WeightedSKCE(kernel, w), 9)(data.p, data.y, rng=1))


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, -0.5, 2.0], "weights: got -0.5 at row 1, wanted numbers of at least 0"),
        ([1.0, np.nan, 2.0], "weights: got nan at row 1"),
        ([0.0, 0.0, 0.0], "weights: got only zeros"),
        ([], "weights: got no values"),
        ([[1.0, 2.0, 3.0]], "weights: got shape"),
        ([1.0, 2.0], "weights: got 2 values, wanted 3"),
        ([1.0, 0.0, 0.0], "wanted at least 2 for the SKCE with weights above 0"),
        (["a", "b", "c"], "weights: got values of type"),
    ],
)
def test_bad_weights(weights, message):
    with pytest.raises(ValueError, match=message):
        ct.estimators.WeightedSKCE(TV, weights)([0.2, 0.5, 0.7], [0, 1, 1])
