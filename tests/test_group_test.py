import itertools
import json

import numpy as np
import pandas as pd
import pytest
from samples import TV, W2, samples

import caltest as ct
from caltest.group_test import step_down


@pytest.mark.parametrize("seed", range(8))
def test_step_down_is_the_smallest_level_at_which_a_group_is_rejected(seed):
    """By closed testing: the largest p-value of the maximum over any set of groups with this one."""
    rng = np.random.default_rng(seed)
    t = rng.normal(size=(4, 60))
    t[:, 0] += [1.5, 0.5, 1.2, 1.3]
    t *= [[1.0], [1.0], [0.5], [2.0]]
    expected = np.zeros(4)
    for size in range(1, 5):
        for some in itertools.combinations(range(4), size):
            largest = t[list(some)].max(axis=0)
            pvalue = (1 + np.count_nonzero(largest[1:] >= largest[0])) / 60
            expected[list(some)] = np.maximum(expected[list(some)], pvalue)
    assert step_down(t) == pytest.approx(expected, rel=1e-14)


@pytest.fixture(scope="module")
def biased():
    """Outcomes of one group of three are too frequent."""
    rng = np.random.default_rng(5)
    p, group = rng.uniform(0.1, 0.9, 600), np.repeat(["x", "y", "z"], 200)
    return p, (rng.random(600) < p + 0.25 * (group == "y")).astype(int), group


def test_the_wrong_group_is_found(biased):
    p, y, group = biased
    result = ct.calibration_by_group(p, y, group, n_resamples=199, rng=1)
    assert result.rejected() == ("y",)
    assert result["y"].adjusted == result.pvalue == 0.005
    assert result["y"].n == 200
    assert "occurs more often than predicted" in result["y"].finding
    assert all(one.adjusted >= one.pvalue for one in result.groups)
    assert [one.adjusted for one in result.groups] == sorted(one.adjusted for one in result.groups)
    text = str(result)
    assert "P(Y = 1 | p, G) = p" in text
    assert "calibrated in every group" in text
    assert len([line for line in text.splitlines() if line.startswith(("x ", "y ", "z "))]) == 3
    assert json.loads(json.dumps(result.to_dict()))["groups"][0]["name"] == "y"
    assert repr(result) == "<GroupCalibrationTest: p = 0.005 (exact), 3 groups, n = 600>"
    with pytest.raises(KeyError):
        result["w"]


def test_labels_masks_and_names_agree(biased):
    p, y, group = biased
    test = ct.GroupCalibrationTest(ct.SKCE(ct.Bernoulli(p).default_kernel()), n_resamples=99)
    results = [
        test(p, y, groups, rng=2)
        for groups in (
            group,
            pd.Series(group, dtype="category"),
            group[:, None] == np.array(["x", "y", "z"]),
            {name: group == name for name in "xyz"},
        )
    ]
    numbers = [sorted((one.n, one.estimate, one.pvalue, one.adjusted) for one in result.groups) for result in results]
    assert numbers[0] == numbers[1] == numbers[2] == numbers[3]
    assert {one.name for one in results[2].groups} == {"0", "1", "2"}


def test_overall_pvalue_is_that_of_the_maximum(biased):
    p, y, group = biased
    kernel = ct.Bernoulli(p).default_kernel()
    overall = ct.MonteCarloTest(ct.estimators.GroupMaximum(ct.SKCE(kernel), group), 99)(p, y, rng=3)
    assert ct.GroupCalibrationTest(kernel, 99)(p, y, group, rng=3).pvalue == overall.pvalue
    assert overall.hypothesis == "P(Y = 1 | p, G) = p"
    assert overall.estimate == pytest.approx(ct.SKCE(kernel)(p, y), rel=1e-12)


def test_one_group_of_all_is_the_test_of_all():
    data = samples(60, 3)
    y = ct.Categorical(data.p).sample(3)
    for estimator in (ct.SKCE(TV), ct.estimators.ExcessLogScore()):
        one = ct.GroupCalibrationTest(estimator, 199)(data.p, y, np.zeros(60), rng=4).groups[0]
        alone = ct.MonteCarloTest(estimator, 199)(data.p, y, rng=4)
        assert one.estimate == pytest.approx(alone.estimate, rel=1e-12)
        assert one.adjusted == one.pvalue
        if isinstance(estimator, ct.SKCE):
            assert one.pvalue == alone.pvalue
            draws = alone.null_distribution
            assert one.z == pytest.approx((alone.estimate - draws.mean()) / draws.std(), rel=1e-9)


def test_signs_of_two_sided_estimators():
    rng = np.random.default_rng(6)
    p = rng.uniform(0.05, 0.95, 400)
    sharp = np.repeat([True, False], 200)
    y = np.where(sharp, p > 0.5, rng.random(400) < 0.5).astype(int)
    result = ct.GroupCalibrationTest(ct.estimators.ExcessLogScore(), 99)(p, y, {"sharp": sharp, "blunt": ~sharp}, rng=1)
    assert result["sharp"].z < -5.0
    assert result["blunt"].z > 5.0
    assert result["sharp"].adjusted == result["blunt"].adjusted == 0.01


def test_numbers_have_findings_too():
    data = samples(80, 3)
    y = data.normal.sample(2) + 2.0 * data.normal.scale * (np.arange(80) < 40)
    result = ct.calibration_by_group(data.normal, y, np.arange(80) < 40, kernel=W2, n_resamples=99, rng=1)
    assert result.rejected() == ("True",)
    residuals = ct.GroupCalibrationTest(W2, 19)(*ct.standardised_residuals(data.normal, y), np.arange(80) < 40, rng=1)
    assert residuals.hypothesis == "(Y - m) / s has its standard law given P_X, also given G"
    assert "above what was predicted" in result["True"].finding
    ensemble = ct.Ensemble(np.stack([data.normal.sample(i) for i in range(9)], axis=1))
    found = ct.calibration_by_group(ensemble, y, np.arange(80) < 40, n_resamples=49, rng=1)
    assert "above what was predicted" in found["True"].finding


def test_illegal_arguments():
    with pytest.raises(TypeError, match="wanted an estimator such as SKCE"):
        ct.GroupCalibrationTest("SKCE")
    with pytest.raises(ValueError, match="n_resamples"):
        ct.GroupCalibrationTest(n_resamples=0)
    with pytest.raises(ValueError, match="fewer than two members"):
        ct.calibration_by_group([0.2, 0.4, 0.5], [0, 1, 1], ["a", "b", "b"])
