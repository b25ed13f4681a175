import numpy as np
import pytest
from samples import TV, W2, samples
from scipy import stats

import caltest as ct
from caltest.comparisons.paired import Difference

S = samples(40, 3)
OTHER = S.rng.dirichlet(np.ones(3), 40)


def leave_one_out(kernel, p, q, y):
    """Difference, and its jackknife standard error, by leaving rows out."""
    n = len(y)

    def difference(rows):
        return ct.SKCE(kernel)(p[rows], y[rows]) - ct.SKCE(kernel)(q[rows], y[rows])

    without = [difference(np.delete(np.arange(n), i)) for i in range(n)]
    return difference(np.arange(n)), np.sqrt((n - 1) * np.var(without))


def test_statistic_and_pvalue():
    difference, error = leave_one_out(TV, S.p, OTHER, S.y)
    result = ct.PairedSKCETest(TV)(S.p, OTHER, S.y)
    assert result.estimate == pytest.approx(difference, rel=1e-9)
    assert result.standard_error == pytest.approx(error, rel=1e-9)
    assert result.statistic == pytest.approx(abs(difference) / error, rel=1e-9)
    assert result.pvalue == pytest.approx(2.0 * stats.norm.sf(abs(difference) / error), rel=1e-9)
    interval = result.confidence_interval(0.9)
    assert interval.low == pytest.approx(difference - stats.norm.ppf(0.95) * error)
    assert interval.high == pytest.approx(difference + stats.norm.ppf(0.95) * error)
    ends = Difference(difference, error, result.statistic, result.pvalue).interval(0.9)
    assert tuple(ends) == pytest.approx(tuple(interval), rel=1e-9)
    roots = [np.sqrt(max(0.0, ct.SKCE(TV)(p, S.y)) / 2.0) for p in (S.p, OTHER)]
    assert result.effect_size.value == pytest.approx(roots[0] - roots[1])


def test_order_of_the_models_turns_the_sign():
    one, two = ct.PairedSKCETest()(S.p, OTHER, S.y), ct.PairedSKCETest()(OTHER, S.p, S.y)
    assert one.estimate == pytest.approx(-two.estimate, rel=1e-10)
    assert one.pvalue == pytest.approx(two.pvalue, rel=1e-9)


def test_median_bandwidth_is_that_of_both_models():
    both = ct.median_bandwidth(np.concatenate([S.p, OTHER]), ct.TotalVariation())
    kernel = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), both), ct.DeltaKernel())
    expected = ct.PairedSKCETest(kernel)(S.p, OTHER, S.y).estimate
    median = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation()), ct.DeltaKernel())
    for test in (ct.PairedSKCETest(), ct.PairedSKCETest(median)):
        assert test(S.p, OTHER, S.y).estimate == pytest.approx(expected, rel=1e-10)


def test_report():
    text = str(ct.PairedSKCETest(TV)(S.p, OTHER, S.y))
    assert "Hypothesis     both models have the same calibration error: KCE(A) = KCE(B)" in text
    assert "A: Categorical, n = 40, 3 classes; B: Categorical, n = 40, 3 classes" in text
    assert "no evidence that the calibration errors of the models differ, at the 5 % level" in text
    wrong = np.eye(3)[(S.y + 1) % 3]
    assert "the calibration errors of the models differ, at" in ct.PairedSKCETest(TV)(S.p, wrong, S.y).verdict(0.05)


def test_the_same_predictions_do_not_differ():
    result = ct.PairedSKCETest(TV)(S.p, S.p, S.y)
    assert (result.estimate, result.statistic, result.pvalue, result.standard_error) == (0.0, 0.0, 1.0, 0.0)


def test_predictions_that_differ_by_rounding_do_not_differ():
    rounded = S.p * (1.0 + 1e-16 * S.rng.integers(-2, 3, S.p.shape))
    assert (rounded != S.p).any()
    assert ct.PairedSKCETest(TV)(S.p, rounded, S.y).pvalue == 1.0


def test_differences_that_do_not_vary_have_no_scale():
    one, two = np.tile([0.5, 0.5], (20, 1)), np.tile([0.4, 0.6], (20, 1))
    with pytest.raises(ValueError, match="got differences of h that do not vary"):
        ct.PairedSKCETest(TV)(one, two, [1] * 20)


def test_normal_predictions():
    wide = ct.Normal(np.zeros(40), 2.0)
    assert 0.0 < ct.PairedSKCETest(W2)(S.normal, wide, S.targets).pvalue < 1.0


def test_bad_input():
    with pytest.raises(ValueError, match="got 40 values, wanted 39"):
        ct.PairedSKCETest()(S.p, OTHER[:39], S.y)
    with pytest.raises(ValueError, match="wanted at least 3"):
        ct.PairedSKCETest(TV)(S.p[:2], OTHER[:2], S.y[:2])
    with pytest.raises(TypeError, match="other_predictions: got Normal"):
        ct.PairedSKCETest()(S.p, ct.Normal(np.zeros(40), 1.0), S.y)
    with pytest.raises((ValueError, TypeError), match="classes"):
        ct.PairedSKCETest()(S.p, np.full((40, 4), 0.25), S.y)
    with pytest.raises(TypeError, match="kernel"):
        ct.PairedSKCETest(0.5)
