import dataclasses
import json
import math

import numpy as np
import pytest
from printed import unfolded

import caltest as ct


@pytest.fixture(scope="module")
def result():
    p = np.random.default_rng(1).dirichlet(np.ones(3), 40)
    kernel = ct.Categorical(p).default_kernel()
    return ct.MonteCarloTest(ct.SKCE(kernel), n_resamples=99)(p, ct.Categorical(p).sample(2), rng=3)


def test_report(result):
    assert unfolded(result).splitlines() == [
        "MonteCarloTest",
        "--------------",
        "Verdict        calibration is not rejected at the 5 % level",
        f"p-value        {result.pvalue:.3g} (exact: size at most alpha for every n)",
        "",
        "Hypothesis     the predictions are calibrated: P(Y | P_X) = P_X",
        "Predictions    Categorical, n = 40, 3 classes",
        "Assumes        outcomes independent given all predictions, and not used to fit or recalibrate the model, or "
        "to predict others (were they?)",
        "Null           targets redrawn from the predictions (conditional Monte Carlo), 99 redraws",
        f"Estimator      {result.estimator}",
        f"Estimate       {result.estimate:.6g}",
        f"If calibrated  mean {result.null_distribution.mean():.3g}, standard deviation "
        f"{result.null_distribution.std(ddof=1):.3g}, 95 % quantile {np.quantile(result.null_distribution, 0.95):.3g}",
        f"Effect size    {result.effect_size.value:.3g} (KCE as a share of its largest value)",
        f"Statistic      {result.statistic:.6g} (the estimate)",
        "Reproduce      rng=3",
    ]


def test_report_of_blocks_says_how_many_observations_were_used():
    p, y = ct.datasets.load_digits_predictions()["random forest"]
    text = unfolded(ct.AsymptoticBlockSKCETest(p.default_kernel(), block_size=50)(p, y))
    assert "n = 899, 10 classes (850 used)" in text
    assert "standard error" in text
    assert "reject calibration at the 5 % level" in text
    assert "Reproduce" not in text


def test_report_of_the_mean_embedding_test_names_its_degrees_of_freedom_and_warns(ds1):
    p, y = ds1
    kernel = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), 1.0), ct.DeltaKernel())
    text = unfolded(ct.AsymptoticCMETest(ct.UCME(kernel, p[:3], [0, 1, 2]))(p, y))
    assert "(Hotelling T^2, df = 3, 97)" in text
    assert "Note: the limit law of this test is reached slowly" in text


def test_report_names_the_question_of_reduced_predictions(ds1):
    test = ct.MonteCarloTest(ct.ECE(), n_resamples=9)
    p = ct.Categorical(ds1[0], classes=["ant", "bee", "cow"])
    names = ["ant", "bee", "cow"] * 33 + ["ant"]
    assert "P(top label is right | confidence) = confidence" in unfolded(test(*ct.top_label(p, names), rng=1))
    assert "P(Y = 1 | p) = p for class bee against the rest" in unfolded(test(*ct.classwise(p, names)[1], rng=1))
    assert "P(Y = 1 | p) = p\n" in unfolded(test(ds1[0][:, 0], ds1[1] == 0, rng=1))


def test_report_names_the_question_of_the_top_label_error(ds1):
    three = ct.MonteCarloTest(ct.MMCE(), n_resamples=9)(*ds1, rng=1)
    assert three.hypothesis == "P(top label is right | confidence) = confidence"
    assert three.estimator.startswith("MMCE^2 (top label, unbiased)")
    two = ct.MonteCarloTest(ct.MMCE(), n_resamples=9)(ds1[0][:, 0], ds1[1] == 0, rng=1)
    assert two.hypothesis == "P(Y = 1 | p) = p"
    assert two.estimator.startswith("MMCE^2 (binary, unbiased)")


def test_report_warns_of_few_blocks(ds1):
    kernel = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), 1.0), ct.DeltaKernel())
    assert not any("only" in note for note in ct.AsymptoticBlockSKCETest(kernel, 2)(*ds1).notes)
    assert ct.AsymptoticBlockSKCETest(kernel, 10)(*ds1).notes[0].startswith("only 10 independent blocks")


def test_default_test_says_when_the_median_distance_is_zero():
    p, y = np.array([1.0] * 15 + [0.8, 0.9, 0.7]), [1] * 15 + [0, 1, 1]
    result = ct.calibration_test(p, y, n_resamples=9, rng=1)
    # Of the distances that are not 0, three are among the last three and fifteen each are .2, .1, .3.
    assert "exp(-TV / 0.2)" in result.estimator
    assert "the bandwidth is the median of the others" in unfolded(result)
    result = ct.calibration_test([0.3] * 5, [0, 1, 0, 0, 1], n_resamples=9, rng=1)
    assert "all predictions are identical, so that every bandwidth gives the same kernel" in unfolded(result)


def test_dictionary_is_ready_for_json(result):
    entries = json.loads(json.dumps(result.to_dict()))
    assert set(entries) == {"result", "schema", "caltest", "finding"} | {
        field.name for field in dataclasses.fields(result)
    }
    assert entries["pvalue"] == result.pvalue
    assert entries["seed"] == 3
    assert entries["null_distribution"] == result.null_distribution.tolist()
    p, y = ct.datasets.load_digits_predictions()["random forest"]
    other = ct.AsymptoticBlockSKCETest(p.default_kernel())(p, y).to_dict()
    assert json.loads(json.dumps(other))["null_distribution"] is None


def test_result_is_frozen(result):
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.pvalue = 0.0
    with pytest.raises(ValueError, match="read-only"):
        result.null_distribution[0] = 0.0


def test_verdict_at_other_levels():
    p, y = ct.datasets.load_digits_predictions()["random forest"]
    result = ct.calibration_test(p, y, n_resamples=99, rng=1)
    assert result.verdict(0.01).startswith("reject calibration at the 1 % level")
    assert result.verdict(0.001).startswith("undecided at the 0.1 % level")
    with pytest.raises(ValueError, match="alpha"):
        result.verdict(1.5)


def test_seed_of_a_generator_differs_from_call_to_call():
    p, y = [0.1, 0.9, 0.4, 0.6], [0, 1, 1, 0]
    generator = np.random.default_rng(5)
    seeds = {ct.calibration_test(p, y, n_resamples=9, rng=generator).seed for _ in range(3)}
    assert len(seeds) == 3
    assert ct.calibration_test(p, y, n_resamples=9).seed != ct.calibration_test(p, y, n_resamples=9).seed


@pytest.mark.parametrize(
    ("level", "one_sided", "two_sided"), [(0.95, 1.644853627, 1.959963985), (0.9, 1.281551566, 1.644853627)]
)
def test_intervals_are_as_wide_as_quantiles_of_the_normal_law_say(result, level, one_sided, two_sided):
    """Lower ends for errors, both ends for the difference of two."""
    error = dataclasses.replace(result, estimate=0.3, standard_error=0.1)
    assert tuple(error.confidence_interval(level)) == (pytest.approx(0.3 - 0.1 * one_sided, rel=1e-8), math.inf)
    assert error.confidence_interval(level).estimate == 0.3
    below = dataclasses.replace(error, estimate=-0.3).confidence_interval(level)
    assert (below.low, below.estimate) == (0.0, 0.0)
    ends = dataclasses.replace(error, question="difference").confidence_interval(level)
    assert tuple(ends) == pytest.approx((0.3 - 0.1 * two_sided, 0.3 + 0.1 * two_sided), rel=1e-8)
    if level == 0.95:
        assert error.confidence_interval() == error.confidence_interval(level)


def test_a_pvalue_equal_to_alpha_rejects(result):
    equal = dataclasses.replace(result, pvalue=0.05)
    assert equal.verdict(0.05).startswith("reject calibration")
    assert not equal.verdict(0.0499).startswith("reject calibration")


def test_interval_prints_its_level_and_method():
    interval = ct.results.ConfidenceInterval(0.25, math.inf, 0.9, "some method")
    assert str(interval) == "[0.25, inf] (90 %, some method)"
    assert tuple(interval) == (0.25, math.inf)


def test_roots_of_intervals():
    root = ct.results.ConfidenceInterval(0.04, 0.25, 0.9, "some method", 0.09).root()
    assert (root.low, root.high, root.estimate) == pytest.approx((0.2, 0.5, 0.3))
    root = ct.results.ConfidenceInterval(-0.3, -0.1, 0.9, "some method", -0.2).root()
    assert (root.low, root.high, root.estimate) == (0.0, 0.0, 0.0)
    assert ct.results.ConfidenceInterval(0.0, 1.0, 0.9, "some method").root().estimate is None
