import numpy as np
import pytest
from samples import TV, W2, samples

import caltest as ct

N = 40
RNG = np.random.default_rng(1)
X = {"age": RNG.normal(size=N), "site": RNG.choice(list("abc"), N), "same": np.ones(N)}


def plain_kernel(age, site, weights):
    """``1 + k_age + k_site``, pair by pair, with ranks by counting."""
    n = len(age)
    kernels = np.zeros((2, n, n))
    ranks = [(sum(b < a for b in age) + 0.5) / n for a in age]
    for i in range(n):
        for j in range(n):
            waves = [np.cos(np.pi * m * ranks[i]) * np.cos(np.pi * m * ranks[j]) / m**2 for m in range(1, 7)]
            kernels[0, i, j] = 2.0 * sum(waves)
            kernels[1, i, j] = site[i] == site[j]
    share = weights / weights.sum()
    total = np.ones((n, n))
    for k in kernels:
        k = k - share @ k - (k @ share)[:, None] + share @ k @ share
        total += k / np.sqrt(np.mean(k**2))
    return total


@pytest.mark.parametrize("kernel", [TV, W2])
def test_sum_over_pairs_by_definition(kernel):
    data = samples(N, 3)
    p, y = (ct.Categorical(data.p), data.y) if kernel is TV else (data.normal, data.targets)
    weights = 1.0 - np.square(data.p).sum(axis=1) if kernel is TV else np.ones(N)
    law = p.law
    h = kernel.prediction_kernel.tile(p, p) * law.centred_kernel(kernel.target_kernel, y, law, y)
    h *= plain_kernel(X["age"], X["site"], weights)
    expected = (h.sum() - np.trace(h)) / (N * (N - 1))
    assert ct.estimators.FeatureSKCE(kernel, X)(p, y) == pytest.approx(expected, rel=1e-9)


def test_binary_predictions_on_a_line_have_the_same_value():
    p, y = RNG.random(N), RNG.integers(0, 2, N)
    exponential = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), 0.3), ct.DeltaKernel())
    two = np.column_stack([1.0 - p, p])
    found = ct.estimators.FeatureSKCE(exponential, X)(p, y)
    assert found == pytest.approx(ct.estimators.FeatureSKCE(exponential, X)(ct.Categorical(two), y), rel=1e-9)


def test_the_default_call_with_a_kernel_is_this_test_and_finds_what_predictions_do_not_show():
    rng = np.random.default_rng(2)
    p, x = rng.uniform(0.2, 0.8, 400), rng.normal(size=(400, 2))
    y = (rng.random(400) < p + 0.15 * np.sign(x[:, 1])).astype(int)
    kernel = ct.Bernoulli(p).default_kernel()
    one = ct.calibration_test(p, y, kernel=kernel, features=x, n_resamples=99, rng=1)
    estimator = ct.estimators.FeatureSKCE(kernel, x)
    assert one.pvalue == ct.MonteCarloTest(estimator, n_resamples=99)(p, y, rng=1).pvalue == 0.01
    assert one.hypothesis == "P(Y = 1 | p, X) = p"
    assert 0.0 < one.effect_size.value < 1.0
    assert ct.calibration_test(p, y, kernel=kernel, n_resamples=99, rng=1).pvalue > 0.05


def test_some_rows_have_their_own_features():
    p, y = RNG.random(N), RNG.integers(0, 2, N)
    kernel, rows = ct.Bernoulli(p).default_kernel().resolve(ct.Bernoulli(p)), np.arange(5, 30)
    some = {name: values[rows] for name, values in X.items()}
    estimator = ct.estimators.FeatureSKCE(kernel, X).for_rows(rows)
    assert estimator(p[rows], y[rows]) == ct.estimators.FeatureSKCE(kernel, some)(p[rows], y[rows])


def test_bad_input():
    kernel = ct.Bernoulli([0.2, 0.4]).default_kernel()
    with pytest.raises(ValueError, match="wanted at least one"):
        ct.estimators.FeatureSKCE(kernel, {"same": np.ones(4)})
    with pytest.raises(ValueError, match=r"features\['age'\]: got 40 values, wanted 2"):
        ct.estimators.FeatureSKCE(kernel, X)([0.2, 0.4], [0, 1])
    with pytest.raises(TypeError, match="at most two of the three"):
        ct.calibration_test(RNG.random(N), [0, 1] * 20, kernel=kernel, features=X, weights=1.0 + RNG.random(N))
