import numpy as np
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
        ({"a": [0.2] * 40}, r"groups\['a'\]: got values of type float64, wanted booleans"),
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
