import pytest
from samples import TV, samples

import caltest as ct
from caltest._results.pvalues import pvalue_phrase
from caltest._results.report import listed

S = samples(40, 3)


def test_lists():
    assert [listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"])] == ["a", "a and b", "a, b and c"]


def test_sentence_of_an_exact_test():
    result = ct.MonteCarloTest(ct.ECE(), 99)(S.p, S.y, rng=1)
    assert result.sentence() == (
        "The hypothesis that the predictions are calibrated (P(Y | P_X) = P_X) was tested with MonteCarloTest on "
        f"n = 40 observations ({result.estimator}) and rejected at the 5 % level: estimate = {result.estimate:.3g}, "
        "statistic = "
        f"{result.statistic:.3g} (the estimate), p = 0.01 (the smallest possible with 99 redraws; exact Monte Carlo "
        "p-value)."
    )


def test_sentences_have_a_decision_at_a_level():
    result = ct.MonteCarloTest(ct.ECE(), 99)(S.p, S.y, rng=1)
    assert " and rejected at the 1 % level: " in result.sentence(0.01)
    assert " and could not have been rejected at the 0.5 % level with so few redraws: " in result.sentence(0.005)
    kept = ct.calibration_test(S.p, ct.Categorical(S.p).sample(1), n_resamples=99, rng=1)
    assert kept.pvalue > 0.05
    assert " and not rejected at the 5 % level: " in kept.sentence()
    with pytest.raises(ValueError, match="alpha: got 2, wanted"):
        result.sentence(2)


def test_sentences_of_other_kinds():
    bound = ct.DistributionFreeSKCETest(ct.SKCE(TV))(S.p, S.y).sentence()
    assert "p <= 1 (upper" in bound
    assert bound.endswith("(upper bound of the p-value for every n).")
    blocks = ct.AsymptoticBlockSKCETest(TV, 3)(S.p, S.y).sentence()
    assert "n = 40 observations (39 used)" in blocks
    assert blocks.endswith("(asymptotic p-value).")
    assert "(p-value by resampling from 19 draws)" in ct.AsymptoticSKCETest(TV, 19)(S.p, S.y, rng=1).sentence()
    margin = ct.EquivalenceTest(TV, 0.5)(S.p, S.y).sentence()
    assert "the calibration error is at least the margin (KCE >= 0.5)" in margin
    paired = ct.PairedSKCETest(TV)(S.p, S.p[::-1], S.y).sentence()
    assert "both models have the same calibration error (KCE(A) = KCE(B)) was tested with PairedSKCETest" in paired


def test_sentence_of_a_comparison():
    good, bad = (
        ct.generators.class_model("M1", 3).sample(100, rng=1),
        ct.generators.class_model("M1", 3).sample(100, rng=2),
    )
    found = ct.compare_models({"good": good[0], "bad": bad[0]}, good[1], n_resamples=99, rng=1)
    assert found.sentence().endswith(
        "at the 5 % level, with p-values adjusted by Holm's method, calibration was rejected for bad "
        f"({pvalue_phrase(found['bad'].pvalue_holm)}) and not for good ({pvalue_phrase(found['good'].pvalue_holm)})."
    )
    one = ct.compare_models({"good": good[0]}, good[1], n_resamples=99, rng=1)
    assert "calibration was not rejected for good (p = " in one.sentence()
    with pytest.raises(ValueError, match="alpha"):
        one.sentence(5)


def test_sentences_of_groups_streams_and_estimates():
    p, y = ct.datasets.load_digits_predictions()["random forest"]
    top = p.probabilities.max(axis=1)
    groups = {"sure": top > 0.8, "not sure": top < 0.5}
    by_group = ct.calibration_by_group(p, y, groups, n_resamples=99, rng=1)
    assert by_group.sentence().startswith("The hypothesis that the predictions are calibrated in every one of 2 groups")
    assert (
        "p = 0.01 (the smallest possible with 99 redraws; exact Monte Carlo p-value), with adjusted p-values <= 0.05 in"
        in (by_group.sentence())
    )
    calibrated = ct.calibration_by_group(p, p.sample(1), groups, n_resamples=99, rng=1)
    assert calibrated.sentence().endswith("in 0 of 2 groups.")
    assert "westfall1993" in by_group.bibtex()
    stream = ct.SequentialCalibrationTest().update(p, y).result()
    assert (
        f"and first reached 20 after {stream.first_rejection(0.05)} observations; p <= 3.09e-109 (upper"
        in stream.sentence()
    )
    quiet = ct.SequentialCalibrationTest().update(p, p.sample(1)).result()
    assert "after all and never reached 20; p " in quiet.sentence()
    assert "shafer2021" in stream.bibtex()
    estimate = ct.estimate_calibration_error(p, y, "top_label", rng=1)
    assert f"was estimated as {estimate.squared_error:.3g} (standard error" in estimate.sentence()
    assert estimate.selected.describe() in estimate.sentence()
    assert "gruber2025" in estimate.bibtex()
