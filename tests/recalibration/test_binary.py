"""Binary maps beside slow code, scikit-learn and their degenerate cases."""

from itertools import pairwise
from math import lgamma
from time import process_time

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit

import caltest as ct
from caltest._loops.statistics import logistic
from caltest.recalibration import BBQ, BetaCalibration, CalibrationMap, HistogramBinning, Isotonic, OneVsRest, Platt

BINARY = [
    Platt(),
    Platt(on="scores"),
    Isotonic(),
    Isotonic(interpolate=True),
    BetaCalibration(),
    HistogramBinning(5),
    HistogramBinning(5, bins="uniform"),
    BBQ(),
]


def problem(n=300, seed=5, digits=None):
    rng = np.random.default_rng(seed)
    p = rng.beta(0.7, 0.9, n)
    y = (rng.random(n) < expit(0.5 * logit(p) - 0.4)).astype(int)
    return (p if digits is None else p.round(digits)), y


def deviance(coefficients, columns, labels):
    eta = columns @ coefficients
    return np.mean(np.logaddexp(0.0, eta) - labels * eta)


def test_platt_has_the_largest_likelihood():
    p, y = problem()
    for on, s in (("log-odds", logit(p)), ("scores", p)):
        columns = np.stack([s, np.ones_like(s)], axis=1)
        best = minimize(deviance, [1.0, 0.0], args=(columns, y), method="Nelder-Mead", tol=1e-13)
        fitted = Platt(on=on).fit(p, y)
        np.testing.assert_allclose([fitted.slope, fitted.intercept], best.x, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(fitted(p), expit(columns @ best.x), atol=1e-6)


def test_platt_on_logits_is_that_on_probabilities():
    p, y = problem()
    on_logits = Platt(input="logits").fit(logit(p), y)
    on_probabilities = Platt().fit(p, y)
    np.testing.assert_allclose(on_logits(logit(p)), on_probabilities(p), rtol=1e-9)
    assert (on_logits.slope, on_logits.intercept) == pytest.approx((on_probabilities.slope, on_probabilities.intercept))


def test_beta_has_the_largest_likelihood_with_increasing_functions():
    rng = np.random.default_rng(2)
    free = set()
    for slopes in ((0.5, 0.8), (-0.7, 1.5), (1.5, -0.7), (-0.5, -0.5)):
        p = rng.random(400)
        columns = np.stack([np.log(p), -np.log1p(-p), np.ones_like(p)], axis=1)
        y = (rng.random(400) < expit(columns @ np.array([*slopes, 0.2]))).astype(int)
        bounds = [(0.0, None), (0.0, None), (None, None)]
        best = minimize(deviance, [1.0, 1.0, 0.0], args=(columns, y), bounds=bounds, options={"ftol": 1e-15})
        fitted = BetaCalibration().fit(p, y)
        found = np.array([fitted.a, fitted.b, fitted.c])
        free.add(tuple(found[:2] > 0.0))
        assert (found[:2] >= 0.0).all()
        assert deviance(found, columns, y) <= best.fun + 1e-12
        np.testing.assert_allclose(fitted(p), expit(columns @ best.x), atol=1e-4)
    assert len(free) == 4


def slow_isotonic(values, means, weights):
    """The max-min formula of isotonic regression."""
    cumulated = np.concatenate([[0.0], np.cumsum(weights)])
    sums = np.concatenate([[0.0], np.cumsum(weights * means)])
    m = len(values)
    mean = lambda i, j: (sums[j + 1] - sums[i]) / (cumulated[j + 1] - cumulated[i])  # noqa: E731
    return np.array([max(min(mean(i, j) for j in range(t, m)) for i in range(t + 1)) for t in range(m)])


@pytest.mark.parametrize("digits", [None, 1])
def test_isotonic_is_the_max_min_formula(digits):
    p, y = problem(n=60, digits=digits)
    x, numbers, weights = np.unique(p, return_inverse=True, return_counts=True)
    wanted = slow_isotonic(x, np.bincount(numbers, y) / weights, weights.astype(float))
    for interpolate in (False, True):
        np.testing.assert_allclose(Isotonic(interpolate=interpolate).fit(p, y)(x), wanted, atol=1e-12)
    between = (x[1:] + x[:-1]) / 2.0
    np.testing.assert_allclose(
        Isotonic(interpolate=True).fit(p, y)(between), (wanted[1:] + wanted[:-1]) / 2.0, atol=1e-12
    )
    steps = Isotonic().fit(p, y)
    np.testing.assert_allclose(steps(between - 1e-9), wanted[:-1], atol=1e-12)
    np.testing.assert_allclose(steps(between + 1e-9), wanted[1:], atol=1e-12)


def test_isotonic_and_platt_are_those_of_scikit_learn():
    isotonic = pytest.importorskip("sklearn.isotonic")
    linear_model = pytest.importorskip("sklearn.linear_model")
    p, y = problem(digits=2)
    grid = np.linspace(0.0, 1.0, 501)
    wanted = isotonic.IsotonicRegression(out_of_bounds="clip", y_min=0.0, y_max=1.0).fit(p, y).predict(grid)
    np.testing.assert_allclose(Isotonic(interpolate=True).fit(p, y)(grid), wanted, atol=1e-6)
    logistic = linear_model.LogisticRegression(C=np.inf, tol=1e-10).fit(p[:, None], y)
    np.testing.assert_allclose(
        Platt(on="scores").fit(p, y)(grid), logistic.predict_proba(grid[:, None])[:, 1], atol=1e-6
    )


def test_histogram_binning_is_a_frequency():
    p, y = problem(n=100, digits=1)
    fitted = HistogramBinning(4, bins="uniform").fit(p, y)
    for low, high in pairwise(np.linspace(0.0, 1.0, 5)):
        inside = (p > low) & (p <= high) | (low == 0.0) & (p == 0.0)
        np.testing.assert_allclose(fitted(p[inside]), y[inside].mean())
    quantile = HistogramBinning(4).fit(p, y)
    for value in np.unique(quantile(p)):
        inside = quantile(p) == value
        assert y[inside].mean() == pytest.approx(value)
        assert not set(p[inside]) & set(p[~inside])
    empty = HistogramBinning(4, bins="uniform").fit([0.1, 0.9], [0, 1])
    assert empty([0.3, 0.6]).tolist() == [0.375, 0.625]


def slow_bbq(p, y, x, spread=10.0):
    """BBQ of distinct predictions, one binning and one bin after the other."""
    n = len(p)
    ordered = np.sort(p)
    low = max(1, int(n ** (1 / 3) / spread))
    high = min(-(-n // 5), int(np.ceil(spread * n ** (1 / 3))))
    logs, means = [], []
    for b in range(low, high + 1):
        cuts = [-(-n * j // b) for j in range(1, b)]
        ends = [0.0, *((ordered[i - 1] + ordered[i]) / 2 for i in cuts), 1.0]
        log, value = 0.0, None
        for left, right in pairwise(ends):
            inside = (p > left) & (p <= right)
            total, ones, k = inside.sum(), y[inside].sum(), 2.0 / b
            first, second = k * (left + right) / 2, k * (1 - (left + right) / 2)
            log += lgamma(k) - lgamma(total + k) + lgamma(ones + first) - lgamma(first)
            log += lgamma(total - ones + second) - lgamma(second)
            if left < x <= right:
                value = (ones + first) / (total + k)
        logs.append(log)
        means.append(value)
    weights = np.exp(np.array(logs) - max(logs))
    return weights @ np.array(means) / weights.sum()


@pytest.mark.parametrize("values", [[0.2, 1 - 2.0**-53, 1.0], [0.0, 5e-324, 0.9]])
def test_bbq_is_finite_where_the_mid_point_of_a_bin_is_0_or_1(values):
    y = np.repeat([0, 1, 1] if values[0] else [0, 0, 1], 5)
    found = BBQ().fit(np.repeat(values, 5), y)(np.array(values))
    assert (np.diff(found) >= 0).all()
    assert found[0] < 0.1
    assert found[-1] > 0.9


def test_bbq_is_the_slow_formula():
    p, y = problem(n=60)
    fitted = BBQ().fit(p, y)
    for x in (0.01, 0.3, 0.77, p[3], 0.999):
        assert fitted([x])[0] == pytest.approx(slow_bbq(p, y, x), rel=1e-10)


def test_bbq_has_bins_for_five_observations_and_about_the_cube_root():
    assert BBQ().sizes(58) == range(1, 13)
    assert BBQ(spread=2.0).sizes(1001) == range(5, 22)
    assert BBQ(spread=0.5).sizes(1000) == range(20, 21)


def test_bbq_of_discrete_scores_treats_fit_and_prediction_alike():
    rng = np.random.default_rng(4)
    p = rng.integers(0, 6, 500) / 5
    y = (rng.random(500) < p).astype(int)
    fitted = BBQ().fit(p, y)
    np.testing.assert_allclose(fitted(np.arange(6) / 5), np.arange(6) / 5, atol=0.1)


@pytest.mark.parametrize("method", BINARY, ids=repr)
def test_degenerate_data_have_finite_outcomes(method):
    p, y = problem()
    for predictions, labels in (
        (p, (p > 0.5).astype(int)),
        (p, np.ones_like(y)),
        (p, np.zeros_like(y)),
        (np.full(300, 0.3), y),
        (np.full(300, 1.0), y),
        (np.where(p > 0.5, 1.0, 0.0), y),
        (np.array([0.3]), np.array([1])),
    ):
        fitted = method.fit(predictions, labels)
        answer = fitted(np.linspace(0.0, 1.0, 11))
        assert np.isfinite(answer).all()
        assert ((answer >= 0.0) & (answer <= 1.0)).all()
    separated = method.fit(p, (p > 0.5).astype(int))
    assert separated([0.02])[0] < 0.2
    assert separated([0.98])[0] > 0.8
    constant = method.fit(np.full(300, 0.3), y)
    assert constant([0.3])[0] == pytest.approx(y.mean(), abs=0.01)


@pytest.mark.parametrize("method", BINARY, ids=repr)
def test_maps_are_saved_and_restored(method, tmp_path):
    p, y = problem()
    fitted = method.fit(p, y)
    fitted.save(tmp_path / "map.npz")
    np.testing.assert_array_equal(CalibrationMap.load(tmp_path / "map.npz")(p), fitted(p))
    assert isinstance(fitted(ct.Bernoulli(p)), ct.Bernoulli)
    several = OneVsRest(method).fit(np.stack([1 - p, p], axis=1), y)
    several.save(tmp_path / "several.npz")
    again = CalibrationMap.load(tmp_path / "several.npz")
    np.testing.assert_array_equal(again(np.stack([1 - p, p], axis=1)), several(np.stack([1 - p, p], axis=1)))


@pytest.mark.parametrize("method", BINARY, ids=repr)
def test_several_columns_are_refused(method):
    with pytest.raises(TypeError, match=r"2 columns .*wanted the second one, \(n,\), or OneVsRest"):
        method.fit([[0.2, 0.8], [0.5, 0.5]], [0, 1])
    p, y = problem()
    with pytest.raises(ValueError, match="numbers of class 1"):
        method.fit(p, y)([[0.2, 0.8], [0.5, 0.5]])


def test_settings_are_checked():
    for make in (lambda: Platt(on="p"), lambda: HistogramBinning(0), lambda: HistogramBinning(bins="equal")):
        with pytest.raises(ValueError, match="wanted"):
            make()
    for make in (lambda: BBQ(spread=-1.0), lambda: Isotonic(interpolate=2)):
        with pytest.raises(ValueError, match="wanted"):
            make()
    with pytest.raises(TypeError, match="wanted a binary method"):
        OneVsRest(ct.recalibration.TemperatureScaling())


def classes(n=400, k=4, seed=1):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(k, 0.7), n)
    return p, np.array([rng.choice(k, p=row) for row in p])


@pytest.mark.parametrize("method", BINARY, ids=repr)
def test_one_vs_rest_is_a_map_for_each_class(method):
    p, y = classes()
    raw = np.stack([method.fit(p[:, c], y == c)(p[:, c]) for c in range(4)], axis=1)
    np.testing.assert_allclose(OneVsRest(method).fit(p, y)(p), raw / raw.sum(axis=1, keepdims=True), rtol=1e-9)


def test_absent_classes_get_0_and_empty_rows_stay():
    p, y = classes()
    fitted = OneVsRest(Isotonic()).fit(p, np.minimum(y, 2))
    rows = np.array([[0.25, 0.25, 0.25, 0.25], [0.0, 0.0, 0.0, 1.0]])
    answer = fitted(rows)
    assert answer[0, 3] == 0.0
    np.testing.assert_array_equal(answer[1], rows[1])
    np.testing.assert_allclose(answer.sum(axis=1), 1.0)


def test_one_vs_rest_of_logits():
    p, y = classes()
    z = np.log(p) + 3.0
    on_logits = OneVsRest(Platt(input="logits")).fit(z, y)
    assert OneVsRest(Platt(input="logits")).input == "logits"
    np.testing.assert_allclose(on_logits(z), OneVsRest(Platt()).fit(p, y)(p), rtol=1e-6)


def test_rounding_of_many_outcomes_takes_no_steps_back():
    """All have the same probability, so that rounding adds up."""
    rng = np.random.default_rng(1)
    labels = (rng.random(800_000) < 0.28).astype(np.intp)
    ones, start = np.full((labels.size, 1), -1.0), np.zeros(1)
    logistic.maximise(ones[:9], labels[:9], start.copy(), 1)
    begin = process_time()
    logistic._add_up(ones, labels, start, 1, np.zeros(1), np.zeros((1, 1)))
    once = process_time() - begin
    logistic.maximise(ones, labels, start, 1)
    assert process_time() - begin < 40.0 * once
    np.testing.assert_allclose(1.0 / (1.0 + np.exp(start[0])), labels.mean(), rtol=1e-9)
