from math import exp, sqrt

import numpy as np
import pytest
from printed import unfolded
from samples import TV, samples
from scipy import stats

import caltest as ct
from caltest.hstatistics.variances.jackknife import SURPRISE, jackknife_of
from caltest.predictions.inputs.convert import as_sample

S = samples(60, 3)


@pytest.fixture(scope="module")
def found():
    """The estimate and its standard error."""
    return jackknife_of(TV, as_sample(S.p, S.y), np.random.default_rng(1))


@pytest.mark.parametrize("margin", [0.01, 0.2, 0.6])
def test_pvalues_are_those_of_the_normal_limit(margin, found):
    above, below = ct.ToleranceTest(margin, TV)(S.p, S.y), ct.EquivalenceTest(margin, TV)(S.p, S.y)
    z = (found.estimate - margin**2) / found.standard_error
    assert above.statistic == pytest.approx(z, rel=1e-10)
    assert above.pvalue == pytest.approx(stats.norm.sf(z), rel=1e-9)
    error = found.standard_error * min(1.5, max(1.0, margin / sqrt(found.estimate)))
    if margin**2 > found.estimate:
        unseen = sqrt(SURPRISE * sqrt(2.0) * margin**3 / 60)
        seen = found.standard_error * (margin**2 / (found.estimate - found.standard_error)) ** 0.75
        error = max(error, min(seen, unseen))
    assert below.statistic == pytest.approx((margin**2 - found.estimate) / error, rel=1e-10)
    assert below.pvalue == pytest.approx(stats.norm.sf(below.statistic), rel=1e-9)
    for result in (above, below):
        assert result.estimate == pytest.approx(ct.SKCE(TV)(S.p, S.y), rel=1e-10)
        assert result.standard_error == pytest.approx(found.standard_error, rel=1e-12)
        assert result.pvalue_kind == "asymptotic"


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_rejections_are_those_margins_that_the_interval_leaves_out(level):
    lower = ct.skce_interval(S.p, S.y, TV, confidence_level=level, side="lower").low
    upper = ct.skce_interval(S.p, S.y, TV, confidence_level=level, side="upper").high
    assert lower > 0.0
    for factor in (0.999, 1.001):
        above = ct.ToleranceTest(sqrt(lower * factor), TV)(S.p, S.y)
        assert (above.pvalue <= 1 - level) == (factor < 1)
        below = ct.EquivalenceTest(sqrt(upper * factor), TV)(S.p, S.y)
        assert (below.pvalue <= 1 - level) == (factor > 1)


@pytest.mark.parametrize(("margin", "is_told"), [(0.09, False), (0.12, True), (0.2, False)])
def test_margins_that_are_rejected_and_small_for_so_few_rows_have_a_note(margin, is_told):
    """Up to 15 sqrt(2) / n = 0.14 of 150 rows, from 0.1 on."""
    p = np.random.default_rng(2).uniform(0.05, 0.95, 150)
    result = ct.EquivalenceTest(margin)(p, (np.arange(150) % 10 < 10 * p).astype(int))
    assert (result.pvalue <= 0.1) == (margin > 0.1)
    assert any("called smaller in up to 10 %" in note for note in result.notes) == is_told
    assert not any("10 %" in note for note in ct.ToleranceTest(margin)(p, np.ones(150)).notes)


@pytest.mark.parametrize("p", [1e-100, 1e-15, 1e-6])
def test_no_surprise_in_few_observations_shows_little(p):
    """Of 60 outcomes with an error of the size of the margin, made of certain mistakes, 12 % have none."""
    kernel = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), 1.0), ct.DeltaKernel())
    few, many = (ct.EquivalenceTest(0.05, kernel)(np.full(n, p), np.zeros(n, dtype=int)) for n in (60, 6000))
    assert 0.117 < few.pvalue < 0.3
    assert many.pvalue < 1e-9
    high = ct.skce_interval(np.full(60, p), np.zeros(60, dtype=int), kernel, side="upper").high
    assert high == pytest.approx((stats.norm.ppf(0.95) ** 2 * SURPRISE * sqrt(2.0) / 60) ** 2, rel=1e-3)


def test_report_and_words(found):
    result = ct.EquivalenceTest(0.6, TV)(S.p, S.y)
    assert "Hypothesis     the calibration error is at least the margin: KCE >= 0.6" in unfolded(result)
    assert result.verdict() == "the calibration error is below the margin, at the 5 % level"
    assert (
        ct.EquivalenceTest(0.1, TV)(S.p, S.y)
        .verdict()
        .startswith("no evidence that the calibration error is below the margin")
    )
    above = ct.ToleranceTest(0.6, TV)(S.p, S.y)
    assert "Hypothesis     the calibration error is at most the margin: KCE <= 0.6" in unfolded(above)
    assert "no evidence that the calibration error is above the margin" in above.verdict()
    low, high = above.confidence_interval(0.9)
    assert low == pytest.approx(max(0.0, found.estimate - stats.norm.ppf(0.9) * found.standard_error))
    assert high == np.inf
    assert above.to_dict()["question"] == "tolerance"


@pytest.mark.parametrize("test", [ct.ToleranceTest, ct.EquivalenceTest])
def test_bad_margins_and_data(test):
    for margin in (0.0, -1.0, np.nan, "0.1", True):
        with pytest.raises(ValueError, match="margin: got"):
            test(margin, TV)
    with pytest.raises(ValueError, match=r"margin: got 1.5, wanted less than 1.414, the largest KCE"):
        test(1.5, TV)(S.p, S.y)
    with pytest.raises(ValueError, match="wanted at least 3 for the jackknife"):
        test(0.1, TV)(S.p[:2], S.y[:2])
    with pytest.raises(ValueError, match="h does not vary"):
        test(0.1, TV)(np.eye(3)[S.y], S.y)


@pytest.mark.parametrize("estimator", [ct.SKCE(TV, unbiased=False), ct.BlockSKCE(TV), ct.ECE()])
def test_other_estimators(estimator):
    for null in (ct.nulls.ToleranceNull(0.1), ct.nulls.EquivalenceNull(0.1)):
        with pytest.raises(TypeError, match=r"wanted the unbiased estimator SKCE\(kernel\)"):
            ct.CalibrationTest(estimator, null)


def test_binned_error_below_a_margin():
    p, y = S.p[:, 1], (S.y == 1).astype(int)
    estimate = ct.ECE(ct.binning.UniformBinning(5))(p, y)
    result = ct.named_tests.BinnedEquivalenceTest(0.9, n_bins=5)(p, y)
    assert result.pvalue == pytest.approx(exp(-60 * (0.9 - estimate) ** 2 / 2), rel=1e-10)
    assert result.pvalue_kind == "bound"
    assert ct.named_tests.BinnedEquivalenceTest(0.9 * estimate, n_bins=5)(p, y).pvalue == 1.0
    assert "binned ECE >= 0.9" in unfolded(result)
    assert 0.0 < ct.named_tests.BinnedEquivalenceTest(0.95)(S.p, S.y).pvalue < 1.0


def test_binned_bound_is_for_fixed_bins_and_total_variation():
    for estimator in (ct.ECE(ct.binning.QuantileBinning(5)), ct.ECE(metric=ct.kernels.SquaredEuclidean()), ct.SKCE(TV)):
        with pytest.raises(TypeError, match="whose bins do not depend on data"):
            ct.CalibrationTest(estimator, ct.nulls.BinnedEquivalenceBound(0.1))
    with pytest.raises(ValueError, match="margin: got 1"):
        ct.named_tests.BinnedEquivalenceTest(1.0)


def test_binned_bound_keeps_its_level():
    """Two bins, the error of both of which is exactly the margin: the estimate is rarely far below."""
    rng, margin, n = np.random.default_rng(1), 0.2, 200
    p = np.repeat([0.3, 0.7], n // 2)
    laws = ct.Bernoulli(p + margin * np.where(p < 0.5, 1, -1))
    test = ct.named_tests.BinnedEquivalenceTest(margin, n_bins=2)
    pvalues = [test(p, laws.sample(rng)).pvalue for _ in range(300)]
    assert np.mean(np.array(pvalues) <= 0.05) <= 0.05
