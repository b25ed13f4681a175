import json

import numpy as np
import pytest
from printed import unfolded
from samples import TV, W2, samples
from scipy import stats
from statsmodels.stats.multitest import multipletests

import caltest as ct
from caltest.comparisons.paired_test import Difference, ModelSums, error_if_equal, number_of_rare
from caltest.predictions.inputs.convert import as_sample

S = samples(60, 3)
CONSTANT = ct.Normal(np.zeros(20), 1.0), ct.Normal(np.ones(20), 1.0)
MODELS = {"good": S.p, "other": S.rng.dirichlet(np.ones(3), 60), "wrong & bad": np.eye(3)[(S.y + 1) % 3]}


@pytest.fixture(scope="module")
def comparison():
    return ct.compare_pairs(MODELS, S.y, kernel=TV)


def test_rows_are_paired_tests(comparison):
    pairs = [("good", "other"), ("good", "wrong & bad"), ("other", "wrong & bad")]
    assert [(row.first, row.second) for row in comparison.rows] == pairs
    assert comparison["good - other"] is comparison.rows[0]
    results = [ct.PairedSKCETest(TV)(MODELS[a], MODELS[b], S.y) for a, b in pairs]
    for row, result in zip(comparison.rows, results, strict=True):
        assert (row.estimate, row.pvalue) == pytest.approx((result.estimate, result.pvalue), rel=1e-12)
        assert tuple(row.interval) == pytest.approx(tuple(result.confidence_interval(0.95)), rel=1e-12)
        assert row.better == (row.first if row.estimate < 0 else row.second)
    pvalues = [result.pvalue for result in results]
    assert [row.pvalue_holm for row in comparison.rows] == list(multipletests(pvalues, method="holm")[1])
    assert [row.pvalue_bh for row in comparison.rows] == list(multipletests(pvalues, method="fdr_bh")[1])


def test_one_bandwidth_for_all_models():
    bandwidth = ct.median_bandwidth(np.concatenate(list(MODELS.values())), ct.TotalVariation())
    kernel = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), bandwidth), ct.DeltaKernel())
    assert ct.compare_pairs(MODELS, S.y).rows == ct.compare_pairs(MODELS, S.y, kernel=kernel).rows


def test_tables_and_sentences(comparison):
    lines = str(comparison).splitlines()
    assert lines[0] == "Comparison of 3 pairs of models"
    start = next(i for i, line in enumerate(lines) if line.startswith("  pair"))
    pairs = [" ".join(line.split()[:3]) for line in lines[start + 1 :] if " - " in line[:20]]
    assert pairs[:3] == ["good - other", "good - wrong", "other - wrong"]
    assert comparison.pvalue == min(row.pvalue_holm for row in comparison.rows)
    assert all(name in lines[2] + lines[3] for name in comparison.rejected())
    assert comparison.to_markdown().splitlines()[4].startswith("| other - wrong & bad | ")
    assert "other - wrong \\& bad & " in comparison.to_latex()
    assert json.loads(json.dumps(comparison.to_dict()))["rows"][0]["first"] == "good"
    assert comparison.to_pandas().loc["good - other", "estimate"] == comparison.rows[0].estimate
    assert comparison.sentence().endswith(".")
    assert "good - wrong & bad (good is better calibrated" in comparison.sentence()
    assert "no errors differ." in ct.compare_pairs({"a": S.p, "b": S.p}, S.y).sentence()
    assert "@article{bounliphone2016" in comparison.bibtex().lower() or "bounliphone2016" in comparison.bibtex()
    assert (len(comparison), repr(comparison)) == (3, "<comparison of 3 pairs of models, n = 60>")


def test_how_far_both_are_off_stands_beside_which_is_better(comparison):
    results = {name: ct.calibration_test(p, S.y, n_resamples=9, rng=1) for name, p in MODELS.items()}
    gaps = {name: next(one.gap for one in result.measures if one.gap) for name, result in results.items()}
    assert all((row.gap, row.other_gap) == (gaps[row.first], gaps[row.second]) for row in comparison.rows)
    assert comparison.compared == "probabilities of the most probable class"
    assert {row[2] for row in comparison.table()[1:]} == {
        "19 to 52, 18 to 50",
        "19 to 52, 92 to 100",
        "18 to 50, 92 to 100",
    }
    assert "the better one is farther off" not in str(comparison)


def test_the_smaller_squared_error_can_be_the_larger_mean_error():
    """Errors of 10 points in one prediction for all rows against 15 points in predictions of which few are similar."""
    rng = np.random.default_rng(1)
    true = rng.uniform(0.05, 0.8, 4000)
    y = rng.random(4000) < true
    models = {"all": ct.Bernoulli(true + 0.15), "one": ct.Bernoulli(np.full(4000, true.mean() + 0.1))}
    kernel = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), 0.05), ct.DeltaKernel())
    pairs = ct.compare_pairs(models, y, kernel=kernel)
    (row,) = pairs.rows
    assert (row.better, row.pvalue < 1e-3) == ("all", True)
    assert row.gap.low > row.other_gap.high
    assert "all - one: the better one is farther off on average (SKCE averages products" in unfolded(pairs)
    (turned,) = ct.compare_pairs(dict(reversed(models.items())), y, kernel=kernel).rows
    assert turned.is_against
    assert row.is_against
    words = ct.PairedSKCETest(kernel)(*models.values(), y).finding.words
    assert "model A is better calibrated" in words
    assert "although probabilities of class 1 are farther off on average, " in words


def test_without_a_number_that_readers_know_there_is_no_column():
    """As of draws of vectors."""
    draws = S.rng.normal(size=(40, 6, 2))
    pairs = ct.compare_pairs({"a": ct.Ensemble(draws), "b": ct.Ensemble(2.0 * draws)}, draws[:, 0])
    assert (pairs.compared, pairs.rows[0].gap) == ("", None)
    assert pairs.table()[0][:4] == ["pair", "better", "p", "Holm"]


def test_numbers():
    models = {"good": S.normal, "wide": ct.Normal(np.zeros(60), 2.0)}
    one = ct.compare_pairs(models, S.targets, kernel=W2)
    assert (len(one), repr(one)) == (1, "<comparison of 1 pair of models, n = 60>")
    assert one.verdict(1e-9).startswith("no evidence that calibration errors differ between good and wide, at the")


def test_bad_input():
    with pytest.raises(ValueError, match="models: got only 'good', wanted at least two"):
        ct.compare_pairs({"good": S.p}, S.y)
    with pytest.raises(ValueError, match=r"models\['short'\]"):
        ct.compare_pairs({"good": S.p, "short": S.p[:9]}, S.y)
    with pytest.raises(ValueError, match="confidence_level"):
        ct.compare_pairs(MODELS, S.y, confidence_level=1.0)
    with pytest.raises(TypeError, match="kernel"):
        ct.compare_pairs(MODELS, S.y, kernel=0.5)
    with pytest.raises(ValueError, match=r"models 'a' and 'b': .*got differences of h that do not vary"):
        ct.compare_pairs(dict(zip("ab", CONSTANT, strict=True)), np.zeros(20))


S_PAIRED = samples(40, 3)
OTHER = S_PAIRED.rng.dirichlet(np.ones(3), 40)


def leave_one_out(kernel, p, q, y):
    """Difference, and its jackknife standard error, by leaving rows out."""
    n = len(y)

    def difference(rows):
        return ct.SKCE(kernel)(p[rows], y[rows]) - ct.SKCE(kernel)(q[rows], y[rows])

    without = [difference(np.delete(np.arange(n), i)) for i in range(n)]
    return difference(np.arange(n)), np.sqrt((n - 1) * np.var(without))


def test_statistic_and_pvalue():
    difference, error = leave_one_out(TV, S_PAIRED.p, OTHER, S_PAIRED.y)
    result = ct.PairedSKCETest(TV)(S_PAIRED.p, OTHER, S_PAIRED.y)
    assert result.estimate == pytest.approx(difference, rel=1e-9)
    assert result.standard_error == pytest.approx(error, rel=1e-9)
    assert result.statistic == pytest.approx(abs(difference) / error, rel=1e-9)
    assert result.pvalue == pytest.approx(2.0 * stats.norm.sf(abs(difference) / error), rel=1e-9)
    interval = result.confidence_interval(0.9)
    assert interval.low == pytest.approx(difference - stats.norm.ppf(0.95) * error)
    assert interval.high == pytest.approx(difference + stats.norm.ppf(0.95) * error)
    ends = Difference(difference, error, result.statistic, result.pvalue).interval(0.9)
    assert tuple(ends) == pytest.approx(tuple(interval), rel=1e-9)
    roots = [np.sqrt(max(0.0, ct.SKCE(TV)(p, S_PAIRED.y)) / 2.0) for p in (S_PAIRED.p, OTHER)]
    assert result.effect_size.value == pytest.approx(roots[0] - roots[1])


def test_a_model_that_knows_nothing_and_is_right_to_the_last_outcome_is_not_better():
    """The jackknife sees no spread of it, but predictions say that there is some."""
    rng = np.random.default_rng(5)
    true = rng.random(40)
    y = (np.argsort(np.argsort(true + 0.3 * rng.normal(size=40))) >= 20).astype(int)
    known, nothing = ct.Bernoulli(true), ct.Bernoulli(np.full(40, 0.5))
    result = ct.PairedSKCETest()(known, nothing, y)
    assert result.pvalue > 0.3
    assert ct.compare_pairs({"known": known, "nothing": nothing}, y).pvalue == pytest.approx(result.pvalue, rel=1e-9)


def test_order_of_the_models_turns_the_sign():
    one, two = ct.PairedSKCETest()(S_PAIRED.p, OTHER, S_PAIRED.y), ct.PairedSKCETest()(OTHER, S_PAIRED.p, S_PAIRED.y)
    assert one.estimate == pytest.approx(-two.estimate, rel=1e-10)
    assert one.pvalue == pytest.approx(two.pvalue, rel=1e-9)


def test_median_bandwidth_is_that_of_both_models():
    both = ct.median_bandwidth(np.concatenate([S_PAIRED.p, OTHER]), ct.TotalVariation())
    kernel = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), both), ct.DeltaKernel())
    expected = ct.PairedSKCETest(kernel)(S_PAIRED.p, OTHER, S_PAIRED.y).estimate
    median = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation()), ct.DeltaKernel())
    for test in (ct.PairedSKCETest(), ct.PairedSKCETest(median)):
        assert test(S_PAIRED.p, OTHER, S_PAIRED.y).estimate == pytest.approx(expected, rel=1e-10)


def test_report():
    text = unfolded(ct.PairedSKCETest(TV)(S_PAIRED.p, OTHER, S_PAIRED.y))
    assert "Hypothesis     both models have the same calibration error: KCE(A) = KCE(B)" in text
    assert "A: Categorical, n = 40, 3 classes; B: Categorical, n = 40, 3 classes" in text
    assert "no evidence that the calibration errors of the models differ, at the 5 % level" in text
    wrong = np.eye(3)[(S_PAIRED.y + 1) % 3]
    found = ct.PairedSKCETest(TV)(S_PAIRED.p, wrong, S_PAIRED.y)
    assert "the calibration errors of the models differ, at" in found.verdict(0.05)


def test_which_model_is_better_is_said_or_that_it_cannot_be_told():
    wrong = np.eye(3)[(S_PAIRED.y + 1) % 3]
    found = ct.PairedSKCETest(TV)(S_PAIRED.p, wrong, S_PAIRED.y)
    low, high = found.confidence_interval()
    assert found.verdict().endswith("differ, at the 5 % level: A is better calibrated")
    by = f"its SKCE is smaller by {-found.estimate:.3g} ({-high:.3g} to {-low:.3g}, 95 %)"
    sizes = "0 to 50 percentage points for A, 88 to 100 for B"
    off = f"; probabilities of the most probable class are off by {sizes} on average"
    assert found.finding.words == f"model A is better calibrated: {by}{off}"
    assert f"Why            {found.finding}" in unfolded(found)
    assert found.sentence().endswith(f": {found.finding}.")
    turned = ct.PairedSKCETest(TV)(wrong, S_PAIRED.p, S_PAIRED.y)
    assert (found.finding.place, turned.finding.place) == ("A", "B")
    assert turned.verdict().endswith("B is better calibrated")
    turned_off = off.replace(sizes, "88 to 100 percentage points for A, 0 to 50 for B")
    assert turned.finding.words == f"model B is better calibrated: {by}{turned_off}"
    same = ct.PairedSKCETest(TV)(S_PAIRED.p, OTHER, S_PAIRED.y)
    low, high = same.confidence_interval()
    assert same.verdict().endswith("at the 5 % level: which one is better calibrated cannot be told")
    assert same.finding.words == (
        f"which model is better calibrated cannot be told: SKCE(A) - SKCE(B) is from {low:.3g} to {high:.3g} (95 %)"
    )
    assert same.why() is None


def test_the_same_predictions_do_not_differ():
    result = ct.PairedSKCETest(TV)(S_PAIRED.p, S_PAIRED.p, S_PAIRED.y)
    assert (result.estimate, result.statistic, result.pvalue, result.standard_error) == (0.0, 0.0, 1.0, 0.0)


def test_predictions_that_differ_by_rounding_do_not_differ():
    rounded = S_PAIRED.p * (1.0 + 1e-16 * S_PAIRED.rng.integers(-2, 3, S_PAIRED.p.shape))
    assert (rounded != S_PAIRED.p).any()
    assert ct.PairedSKCETest(TV)(S_PAIRED.p, rounded, S_PAIRED.y).pvalue == 1.0


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_differences_have_no_unit(unit):
    sums, other_sums = np.random.default_rng(1).normal(size=(2, 20))
    for errors in ((0.0, 0.0), (2.0, 9.0)):
        found, scaled = (
            Difference.of(ModelSums(one * sums, one * errors[0]), ModelSums(one * other_sums, one * errors[1]))
            for one in (1.0, unit)
        )
        assert scaled.statistic == pytest.approx(found.statistic, rel=1e-9)
    same = Difference.of(ModelSums(unit * sums, 0.0), ModelSums(unit * sums * (1.0 + np.arange(20) * 1e-15), 0.0))
    assert (same.statistic, same.pvalue) == (0.0, 1.0)


def test_differences_that_do_not_vary_have_no_scale():
    with pytest.raises(ValueError, match="got differences of h that do not vary"):
        ct.PairedSKCETest(W2)(*CONSTANT, np.zeros(20))


@pytest.mark.parametrize("claims", [(0.1, 0.2), ((0.9, 0.05, 0.05), (0.8, 0.1, 0.1))])
def test_intervals_of_claims_that_are_the_same_for_all_rows_hold_where_few_outcomes_are_rare(claims, replications):
    """The outcomes have the first claims as frequencies; those that lack the rare classes have a spread too."""
    n, number = 30, replications(16, 40)
    one, other = (np.broadcast_to(claim, (n, *np.shape(claim))) for claim in claims)
    true = -float(np.square(np.subtract(*claims)).sum()) * (2.0 if np.ndim(claims[0]) == 0 else 1.0)
    kernel = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), 1.0), ct.DeltaKernel())
    covered = 0
    for seed in range(number):
        rng = np.random.default_rng([5, seed])
        y = rng.choice(one.shape[1], n, p=claims[0]) if one.ndim == 2 else (rng.random(n) < claims[0]).astype(int)
        low, high = ct.PairedSKCETest(kernel)(one, other, y).confidence_interval().ends
        covered += low <= true <= high
    assert covered >= stats.binom.ppf(1e-3, number, 0.95)
    nothing = ct.PairedSKCETest(kernel)(one, other, np.zeros(n, dtype=int))
    assert nothing.standard_error > 0.0


def test_normal_predictions():
    wide = ct.Normal(np.zeros(40), 2.0)
    assert 0.0 < ct.PairedSKCETest(W2)(S_PAIRED.normal, wide, S_PAIRED.targets).pvalue < 1.0


def test_bad_input_of_paired():
    with pytest.raises(ValueError, match="got 40 values, wanted 39"):
        ct.PairedSKCETest()(S_PAIRED.p, OTHER[:39], S_PAIRED.y)
    for few in (1, 2):
        with pytest.raises(ValueError, match=rf"got {few} observation.*wanted at least 3"):
            ct.PairedSKCETest(TV)(S_PAIRED.p[:few], OTHER[:few], S_PAIRED.y[:few])
    with pytest.raises(TypeError, match="other_predictions: got Normal"):
        ct.PairedSKCETest()(S_PAIRED.p, ct.Normal(np.zeros(40), 1.0), S_PAIRED.y)
    unequal = np.where(np.arange(40) == 3, 0.8, 0.5)[:, None] * np.ones(2)
    with pytest.raises(ValueError, match=r"^other_predictions: probabilities: got row 3 that sums to 1\.6"):
        ct.PairedSKCETest()(S_PAIRED.p, unequal, S_PAIRED.y)
    with pytest.raises(ValueError, match=r"^other_predictions: got shape \(1, 1, 1, 1\)"):
        ct.PairedSKCETest()(S_PAIRED.p, np.ones((1, 1, 1, 1)), S_PAIRED.y)
    with pytest.raises((ValueError, TypeError), match="classes"):
        ct.PairedSKCETest()(S_PAIRED.p, np.full((40, 4), 0.25), S_PAIRED.y)
    with pytest.raises(TypeError, match="kernel"):
        ct.PairedSKCETest(0.5)


def test_notes_name_the_model_that_they_are_about():
    rounded = 1.005 * np.full((40, 3), 1 / 3)
    words = "rows of the probabilities summed to 1 only within 0.005; they were renormalised"
    assert ct.PairedSKCETest(TV)(S_PAIRED.p, rounded, S_PAIRED.y).notes == (f"B: {words}",)
    assert ct.PairedSKCETest(TV)(rounded, S_PAIRED.p, S_PAIRED.y).notes == (f"A: {words}",)
    assert ct.PairedSKCETest(TV)(rounded, rounded, S_PAIRED.y).notes == (words,)


def test_neither_of_two_equal_models_is_better():
    p = np.linspace(0.1, 0.9, 20)
    (row,) = ct.compare_pairs({"a": p, "b": p}, np.arange(20) % 2).rows
    assert (row.better, row.pvalue) == ("", 1.0)


def test_rare_events_are_noted():
    rng = np.random.default_rng(5)
    q = rng.beta(1.0, 40.0, 400)
    y = (rng.random(400) < q).astype(int)
    words = "outcomes of one class, observed or expected by a model, where 20 are wanted"
    assert words in unfolded(ct.PairedSKCETest()(0.5 * q, 1.5 * q, y))
    pairs = ct.compare_pairs({"half": 0.5 * q, "more": 1.5 * q}, y)
    assert [words in note for note in pairs.notes] == [True]
    assert words in unfolded(pairs)
    rng = np.random.default_rng(0)
    often = rng.random(400)
    y = (rng.random(400) < often).astype(int)
    assert ct.compare_pairs({"a": often, "b": often**2}, y).notes == ()
    turned = ct.compare_pairs({"a": often, "b": 1.0 - often}, y)
    assert [note[:20] for note in turned.notes] == ["b: 1 - p would fit t"]


@pytest.mark.parametrize("unit", [1e-20, 1e20])
@pytest.mark.parametrize("change", [1e-3, 1e-11, 1e-13])
def test_the_unit_of_sums_plays_no_role(unit, change):
    """Differences of 1e-12 of the sums are no longer those of rounding."""
    one = np.random.default_rng(2).normal(size=30)
    other = one * (1.0 + change * np.arange(1, 31) / np.linalg.norm(one * np.arange(1, 31)) * np.linalg.norm(one))
    found, scaled = (Difference.of(ModelSums(by * one, 0.0), ModelSums(by * other, 0.0)) for by in (1.0, unit))
    assert (scaled.statistic, scaled.pvalue) == pytest.approx((found.statistic, found.pvalue), rel=1e-3)
    assert (found.pvalue == 1.0) == (change < 1e-12)


def test_the_standard_error_if_errors_are_equal_is_that_of_differences():
    """0 for equal models, whose sums differ nowhere, and above it for others with few events."""
    p = np.full(40, 0.1)
    y = (np.arange(40) < 3).astype(int)
    first, second = as_sample(p, y), as_sample(2.0 * p, y)
    kernel = first.predictions.default_kernel().resolve(as_sample(np.linspace(0.1, 0.3, 40), y).predictions)
    assert error_if_equal(kernel, first, first) == 0.0
    assert error_if_equal(kernel, first, second) > 0.0


def test_the_standard_error_if_errors_are_equal_is_that_of_outcomes_of_either_model():
    """The root of the mean variance by leaving rows out, of data sets of which each outcome is of one or the other."""
    p, rng = np.linspace(0.05, 0.2, 30), np.random.default_rng(3)
    q = p[::-1] + 0.05
    first, second = as_sample(p, (np.arange(30) < 3).astype(int)), as_sample(q, (np.arange(30) < 3).astype(int))
    kernel = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), 0.1), ct.DeltaKernel())
    laws = first.predictions.to_array(), second.predictions.to_array()
    drawn = [(rng.random(30) < (p + q) / 2.0).astype(int) for _ in range(12)]
    squares = [leave_one_out(kernel, *laws, y)[1] ** 2 for y in drawn]
    error = np.sqrt(np.mean(squares))
    assert error_if_equal(kernel, first, second) == pytest.approx(error, rel=0.35)
    known = ct.PairedSKCETest(kernel)(p, q, np.zeros(30, dtype=int))
    assert known.standard_error >= error_if_equal(kernel, first, second)
    even = [as_sample(one, np.arange(40) % 2) for one in (np.full(40, 0.5), np.full(40, 0.48))]
    fewer = [as_sample(np.full(39, 0.5), np.arange(39) % 2)] * 2
    more = [as_sample(one, np.arange(50) % 2) for one in (np.full(50, 0.5), np.full(50, 0.45))]
    assert error_if_equal(kernel, *more) == 0.0
    assert error_if_equal(kernel, *even) > 0.0  # 19.2 events are expected.
    assert number_of_rare(even[:1]) == 20.0 > number_of_rare(fewer) == 19.0


def test_the_error_is_at_least_the_difference_of_those_of_calibrated_models():
    """Rows that hardly differ do not say that a difference is known to many digits."""
    one, other = np.linspace(1.0, 1.001, 30), np.linspace(0.5, 0.502, 30)
    assert Difference.of(ModelSums(one, 0.7), ModelSums(other, 0.4)).standard_error == pytest.approx(0.3)
    assert Difference.of(ModelSums(one, 0.4), ModelSums(other, 0.7)).standard_error == pytest.approx(0.3)
