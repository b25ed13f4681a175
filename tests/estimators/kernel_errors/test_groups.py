import numpy as np
import pandas as pd
import pytest
from contracts import CASES
from printed import unfolded
from samples import TV, W2, samples

import caltest as ct

LABELS = np.array(list("abcab" * 8))
MASKS = LABELS[:, None] == np.array(["a", "b", "c"])


def h_matrix(kernel, predictions, y):
    law = predictions.law
    tile = kernel.prediction_kernel.tile(predictions, predictions)
    return tile * law.centred_kernel(kernel.target_kernel, y, law, y)


@pytest.mark.parametrize("kernel", [TV, W2])
def test_kernel_of_groups(kernel):
    data = samples(40, 3)
    p, y = (ct.Categorical(data.p), data.y) if kernel is TV else (data.normal, data.targets)
    h = h_matrix(kernel, p, y)
    same = 0.0
    for i in range(40):
        for j in range(40):
            if i != j:
                same += h[i, j] * (LABELS[i] == LABELS[j]) / (40 * 39)
    assert ct.estimators.GroupSKCE(kernel, LABELS)(p, y) == pytest.approx(same, rel=1e-10)
    assert ct.estimators.GroupSKCE(kernel, MASKS)(p, y) == pytest.approx(same, rel=1e-10)
    assert ct.estimators.GroupSKCE(kernel, np.full(40, 7))(p, y) == pytest.approx(ct.SKCE(kernel)(p, y), rel=1e-10)


def test_overlapping_groups_count_what_is_shared():
    data = samples(40, 3)
    masks = {"first": np.arange(40) < 30, "last": np.arange(40) >= 20}
    h = h_matrix(TV, ct.Categorical(data.p), data.y)
    shared = sum(np.outer(mask, mask).astype(float) for mask in masks.values())
    expected = (h * shared * (1 - np.eye(40))).sum() / (40 * 39)
    assert ct.estimators.GroupSKCE(TV, masks)(data.p, data.y) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize(
    "estimator",
    [ct.SKCE(TV), ct.ECE(ct.binning.UniformBinning(3)), ct.estimators.Omnibus(TV)],
    ids=lambda e: type(e).__name__,
)
def test_values_are_those_of_the_groups_alone(estimator):
    data = samples(40, 3)
    p = ct.Categorical(data.p)
    maximum = ct.estimators.GroupMaximum(estimator, LABELS).resolve(p)
    targets = p.sample(1, 5)
    values = maximum.values(p, targets)
    for g, label in enumerate("abc"):
        rows = np.flatnonzero(label == LABELS)
        inner = maximum.estimator
        if hasattr(inner, "values"):
            alone = inner.values(p.take(rows), targets[:, rows])
        else:
            alone = inner.estimates(p.take(rows), targets[:, rows])[None]
        part = values[g * len(alone) : (g + 1) * len(alone)]
        assert part == pytest.approx(alone, rel=1e-12)
        assert maximum.estimates_of_groups(values)[g] == pytest.approx(alone[0], rel=1e-12)
    assert maximum(data.p, data.y) == pytest.approx(estimator(data.p, data.y), rel=1e-12)


def test_statistic_is_the_largest_standardised_error():
    rng = np.random.default_rng(2)
    values = rng.normal(size=(3, 40)) * [[1.0], [50.0], [0.1]] + [[0.0], [9.0], [1.0]]
    z = np.empty_like(values)
    for g in range(3):
        for b in range(40):
            others = np.delete(values[g], b)
            z[g, b] = (values[g, b] - others.mean()) / others.std()
    two_sided = ct.estimators.GroupMaximum(ct.estimators.ExcessLogScore(), LABELS)
    assert ct.estimators.GroupMaximum(ct.SKCE(TV), LABELS).combined(values) == pytest.approx(z.max(axis=0), rel=1e-10)
    assert two_sided.combined(values) == pytest.approx(np.abs(z).max(axis=0), rel=1e-10)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (["a"] * 39 + ["b"], r"groups: got 1 with fewer than two members: 'b' \(1\); leave these groups out"),
        ({"all": [True] * 40, "none": [False] * 40}, r"'none' \(0\)"),
        (["a"] * 20 + ["b"] * 19, "groups: got 39 values, wanted 40"),
        (["a"] * 20 + [None] * 20, "groups: got a missing value at position 20, wanted complete data"),
        ([1.0] * 20 + [np.nan] * 20, r"groups: got a missing value at row 20 \(20 in all\)"),
        (np.array(["2020", "NaT"] * 20, dtype="M8[Y]"), "groups: got a missing value at row 1"),
        (np.ones((40, 2)), "groups: got values of type float64, wanted booleans"),
        ({"a": [True] * 40, "b": [True] * 39}, r"groups\['b'\]: got shape \(39,\), wanted \(40,\)"),
        ({"a": [0.0, 1.0] * 20}, r"groups\['a'\]: got numbers that are all 0 or 1, wanted booleans"),
        ({}, "groups: got an empty mapping"),
        ([], "groups: got no values"),
        ("a", "groups: got shape"),
    ],
)
def test_bad_groups(groups, message):
    data = samples(40, 3)
    for make in (lambda: ct.estimators.GroupSKCE(TV, groups), lambda: ct.estimators.GroupMaximum(ct.SKCE(TV), groups)):
        with pytest.raises(ValueError, match=message):
            make()(data.p, data.y)


def test_bad_estimators():
    with pytest.raises(TypeError, match="wanted an estimator such as SKCE"):
        ct.estimators.GroupMaximum(TV, LABELS)
    data = samples(40, 3)
    with pytest.raises(ValueError, match=r"groups: group 'a': .* one block of size 30"):
        ct.estimators.GroupMaximum(ct.BlockSKCE(TV, 30), LABELS)(data.p, data.y)


def slow(h, w):
    n = len(w)
    pairs = [(i, j) for i in range(n) for j in range(n) if i != j]
    return sum(w[i] * w[j] * h[i, j] for i, j in pairs) / sum(w[i] * w[j] for i, j in pairs)


def h_matrix_of_weighted(kernel, predictions, y):
    law = predictions.law
    return sum(
        one.prediction_kernel.tile(predictions, predictions) * law.centred_kernel(one.target_kernel, y, law, y)
        for one in kernel.products
    )


@pytest.mark.every(9)
@pytest.mark.parametrize(("maker", "kernel"), CASES)
def test_weighted_mean_of_h(maker, kernel):
    sample = maker()
    kernel = kernel.resolve(sample.predictions)
    w = np.random.default_rng(1).exponential(size=len(sample))
    w[[0, 7]] = 0.0
    expected = slow(h_matrix_of_weighted(kernel, sample.predictions, sample.targets), w)
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
    assert "weights w are functions of the predictions" in unfolded(test)


def test_median_bandwidth_leaves_out_zero_weights():
    data = samples(40, 3)
    kernel = ct.Categorical(data.p).default_kernel()
    w = np.repeat([1.0, 0.0], 20)
    assert ct.estimators.WeightedSKCE(kernel, w)(data.p, data.y) == pytest.approx(
        ct.SKCE(kernel)(data.p[:20], data.y[:20]), rel=1e-12
    )
    assert "20 used" in unfolded(ct.MonteCarloTest(ct.estimators.WeightedSKCE(kernel, w), 9)(data.p, data.y, rng=1))


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


N = 40
RNG = np.random.default_rng(1)
P = RNG.random(N)
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


def test_a_call_with_features_is_the_test_given_these():
    rng = np.random.default_rng(3)
    p, kernel = rng.uniform(0.2, 0.8, N), ct.Bernoulli(P).default_kernel()
    y = (rng.random(N) < p).astype(int)
    pairs = [
        (ct.MonteCarloTest(ct.SKCE(kernel), 19), ct.MonteCarloTest(ct.estimators.FeatureSKCE(kernel, X), 19)),
        (ct.OmnibusTest(kernel, 19), ct.OmnibusTest(kernel, 19, features=X)),
    ]
    for test, expected in pairs:
        found, known = test(p, y, features=X, rng=1), expected(p, y, rng=1)
        assert (found.pvalue, found.statistic, found.estimator) == (known.pvalue, known.statistic, known.estimator)
        assert found.test == known.test
        assert found.notes[-1] == "columns with one value are left out: same"


def test_a_call_of_an_estimator_with_features_estimates_the_error_given_these():
    p, y, kernel = RNG.random(N), RNG.integers(0, 2, N), ct.Bernoulli(P).default_kernel()
    assert ct.SKCE(kernel)(p, y, features=X) == ct.estimators.FeatureSKCE(kernel, X)(p, y)
    with pytest.raises(TypeError, match="features: got some for ECE"):
        ct.ECE()(p, y, features=X)


def test_rows_of_a_call_with_features_are_matched_by_their_index():
    p, y = RNG.random(N), RNG.integers(0, 2, N)
    test, frame = ct.MonteCarloTest(ct.SKCE(), 19), pd.DataFrame(X)
    with pytest.warns(UserWarning, match="features and targets were matched by their index"):
        found = test(pd.Series(p), pd.Series(y), features=frame.sample(frac=1.0, random_state=1), rng=1)
    assert found.pvalue == test(p, y, features=X, rng=1).pvalue


@pytest.mark.parametrize(
    "test",
    [
        ct.MonteCarloTest(ct.ECE()),
        ct.MonteCarloTest(ct.SKCE(unbiased=False)),
        ct.PearsonSKCETest(),
        ct.AsymptoticSKCETest(),
        ct.LikelihoodRatioTest(),
    ],
)
def test_other_tests_take_no_features(test):
    with pytest.raises(TypeError, match=r"got some for|got FeatureSKCE for"):
        test(RNG.random(N), [0, 1] * 20, features=X)


def test_features_are_given_in_one_place():
    p, y = RNG.random(N), RNG.integers(0, 2, N)
    with pytest.raises(TypeError, match="got some in the call of a test that has some"):
        ct.OmnibusTest(features=X)(p, y, features=X)


SPREAD, OWN = "got the spread of the members", np.random.default_rng(4).normal(size=(100, 5))


@pytest.mark.parametrize(
    "test",
    [
        lambda *pair, s: ct.MonteCarloTest(ct.SKCE())(*pair, features={"s": s}),
        lambda *pair, s: ct.MonteCarloTest(ct.estimators.FeatureSKCE(pair[0].default_kernel(), {"s": s}))(*pair),
        lambda *pair, s: ct.estimators.FeatureSKCE(pair[0].default_kernel(), {"s": s})(*pair),
        lambda *pair, s: ct.OmnibusTest(features={"s": s})(*pair),
        lambda *pair, s: ct.calibration_test(*pair, features={"s": s}, lag=2),
        lambda *pair, s: ct.calibration_test(*pair, weights=s**-2),
        lambda *pair, s: ct.MonteCarloTest(ct.estimators.WeightedSKCE(pair[0].default_kernel(), s))(*pair),
    ],
)
def test_features_and_weights_are_not_made_from_members(test):
    y = np.random.default_rng(5).normal(size=100)
    with pytest.raises(ValueError, match=SPREAD):
        test(ct.Ensemble(OWN), y, s=OWN.std(axis=1))


def test_features_and_weights_are_not_made_from_outcomes():
    p, y = RNG.random(N), np.array([0, 1] * (N // 2))
    kernel = ct.Bernoulli(P).default_kernel()
    for estimator in (ct.estimators.FeatureSKCE(kernel, {"y": y}), ct.estimators.WeightedSKCE(kernel, y + 1.0)):
        with pytest.raises(ValueError, match="got the targets"):
            ct.MonteCarloTest(estimator)(p, y)


def test_categories_of_the_spread_of_members_are_noted():
    y, s, law = np.random.default_rng(5).normal(size=100), OWN.std(axis=1), ct.Ensemble(OWN)
    kernel = law.default_kernel()
    for column, is_noted in ((np.where(s > np.median(s), "high", "low"), True), (np.arange(100) % 2, False)):
        given = {"s": column}
        tests = {
            "values of s": (
                lambda x=given: ct.find_slices(law, y, x, n_resamples=19, rng=1),
                lambda x=given: ct.calibration_test(law, y, features=x, n_resamples=19, rng=1),
                lambda x=given: ct.OmnibusTest(n_resamples=19, features=x)(law, y, rng=1),
                lambda x=given: ct.MonteCarloTest(ct.estimators.FeatureSKCE(kernel, x), 19)(law, y, rng=1),
            ),
            "groups": (lambda g=column: ct.MonteCarloTest(ct.estimators.GroupSKCE(kernel, g), 19)(law, y, rng=1),),
        }
        for what, calls in tests.items():
            for call in calls:
                assert any(f"{what} differ by the spread" in note for note in call().notes) == is_noted


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
