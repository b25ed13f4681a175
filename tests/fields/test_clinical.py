"""Clinical validation: numbers of R and statsmodels, exact p-values and bands, decisions, sample sizes, bad input."""

import dataclasses
import itertools
import shutil
import subprocess
from functools import cache

import numpy as np
import pandas as pd
import pytest
from printed import unfolded
from scipy import special, stats
from scipy.special import expit

import caltest as ct
from caltest.fields import clinical
from caltest.fields.clinical.curves import LoessCurve, SplineCurve, loess_weights, logistic_fits, spline_basis
from caltest.fields.clinical.decisions import _interval, _loss_intervals
from caltest.fields.clinical.sample_size import _newcombe_size
from caltest.fields.clinical.validation import (
    _notes_of_existence,
    _notes_of_rounding,
    interval_of_concordance,
    newcombe_variance,
    shift,
    too_few,
)


def data(n=600, seed=3, wrong=lambda p: 1.3 * p + 0.03):
    rng = np.random.default_rng(seed)
    p = rng.beta(1, 4, n)
    return p, (rng.random(n) < np.clip(wrong(p), 0.0, 1.0)).astype(int)


P, Y = data()


@cache
def result():
    return clinical.validate(P, Y, n_resamples=99, rng=1)


R = """
d <- read.csv("FILE"); x <- qlogis(d$p)
q <- function(...) cat(sprintf("%.10g\\n", c(...)), sep = "")
q(sum(d$y) / sum(d$p), coef(glm(d$y ~ 1, offset = x, family = binomial)), coef(glm(d$y ~ x, family = binomial))[2])
suppressMessages(library(rms))
q(val.prob(d$p, d$y, pl = FALSE)["C (ROC)"])
e <- abs(plogis(predict(lrm(d$y ~ rcs(x, 5), tol = 1e-14, eps = 1e-12))) - d$p)
q(mean(e), quantile(e, c(.5, .9)), max(e))
s <- loess(y ~ p, d, control = loess.control(surface = "direct"))
q(predict(s, data.frame(p = sort(d$p)[seq(1, 600, 60)])))
"""


def test_numbers_are_those_of_r(tmp_path):
    """``rms`` for the c-statistic and splines, base R for the rest."""
    if not shutil.which("Rscript"):
        pytest.skip("R is not installed")
    file = tmp_path / "data.csv"
    np.savetxt(file, np.column_stack([P, Y]), fmt="%.17g", delimiter=",", header="p,y", comments="")
    run = subprocess.run(["Rscript", "-e", R.replace("FILE", str(file))], capture_output=True, text=True)
    if "there is no package" in run.stderr:
        pytest.skip("R has no package rms")
    found = [float(line) for line in run.stdout.split()]
    assert [one.value for one in result().rows] == pytest.approx(found[:8], rel=2e-6)
    assert loess_weights(P, np.sort(P)[::60]) @ Y == pytest.approx(found[8:], abs=1e-9)


def test_stored_numbers_of_r():
    """Those that the test above compares, for machines without R."""
    expected = [1.49635775738, 0.649461332992, 0.996136673380, 0.766296296296]
    expected += [0.100166346367, 0.101120912308, 0.160637546637, 0.164772166710]
    assert [one.value for one in result().rows] == pytest.approx(expected, rel=2e-6)
    loess = [-0.00757233233202, 0.05475545918690, 0.10859021203532, 0.16887682303134, 0.21171613647584]
    assert (loess_weights(P, np.sort(P)[::60]) @ Y)[:5] == pytest.approx(loess, abs=1e-9)


def test_many_logistic_regressions_are_single_ones():
    from statsmodels.api import GLM, families

    rng = np.random.default_rng(1)
    p = rng.uniform(0.01, 0.99, 200)
    design = spline_basis(special.logit(p), np.quantile(special.logit(p), [0.1, 0.5, 0.9]))
    outcomes = np.vstack([rng.random((3, 200)) < p, rng.random((3, 200)) < p[::-1], rng.random((2, 200)) < 0.5])
    found = logistic_fits(design, outcomes.astype(float), np.array([0.0, 1.0, 0.0]))
    for row, y in zip(found, outcomes, strict=True):
        fitted = GLM(y.astype(float), design, family=families.Binomial()).fit(tol=1e-12)
        assert row == pytest.approx(fitted.params, rel=1e-8, abs=1e-8)


def test_nearly_separated_outcomes_have_the_maximum_of_the_likelihood():
    """Coefficients are tens of thousands there, and the gradient of the log-likelihood is 0 all the same."""
    rng = np.random.default_rng(2)
    p = rng.beta(1, 6, 60)
    design = SplineCurve.of(p, p[:1]).design
    outcomes = (rng.random((300, 60)) < p).astype(float)
    found = logistic_fits(design, outcomes, np.array([0.0, 1.0, 0.0]))
    assert 1e4 < np.abs(found).max() < 1e5
    assert np.abs((outcomes - expit(found @ design.T)) @ design).max() < 1e-6


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda p: p, "more cases; clinical.validation_size(risks)"),
        (lambda p: 0.3 * p + 0.2, "refit intercept and slope of the log-odds"),
        (lambda p: 1.8 * p / (1.0 + 0.8 * p), "to the log-odds, and validate on new cases"),
    ],
)
def test_the_report_says_what_to_do_next(wrong, words):
    assert words in unfolded(str(clinical.validate(*data(wrong=wrong), n_resamples=99, rng=1)))


def test_an_error_of_the_curve_that_no_update_mends_is_said():
    bump = data(wrong=lambda p: np.where((p > 0.1) & (p < 0.2), p + 0.2, p - 0.07))
    said = "(recalibration.Platt), and validate on new cases; the curve (plot()) shows an error beyond that"
    assert said in unfolded(str(clinical.validate(*bump, n_resamples=199, rng=1)))
    line = data(wrong=lambda p: 0.3 * p + 0.2)
    assert "beyond that" not in unfolded(str(clinical.validate(*line, n_resamples=99, rng=1)))


def test_nothing_is_next_where_errors_are_small_or_would_have_been_seen():
    rng = np.random.default_rng(2)
    p = rng.uniform(0.1, 0.2, 20_000)
    small = clinical.validate(p, rng.random(p.size) < p + 0.009, n_resamples=19, rng=1)
    assert small.verdict().startswith("reject calibration at the 5 % level, but the error is too small to matter")
    right = clinical.validate(p, rng.random(p.size) < p, n_resamples=19, rng=1)
    assert not right.verdict().startswith("reject")
    assert all("Next  " not in str(one) for one in (small, right))


def test_one_event_is_not_several():
    found = clinical.validate(P[:60], np.arange(60) == 3, n_resamples=19, rng=1)
    assert found.sentence().startswith("With 1 event in 60 cases")


def test_splines_are_linear_beyond_the_outer_knots():
    knots = np.array([-1.0, 0.0, 0.5, 2.0])
    for x in (np.linspace(-9.0, -1.0, 5), np.linspace(2.0, 9.0, 5)):
        assert np.diff(spline_basis(x, knots), n=2, axis=0) == pytest.approx(0.0, abs=1e-10)


def test_the_interval_of_c_is_that_of_the_pairs():
    """DeLong's variance by the definition, over all pairs."""
    ones, zeros = P[Y == 1], P[Y == 0]
    wins = (ones[:, None] > zeros) + 0.5 * (ones[:, None] == zeros)
    one = result()["c-statistic"]
    assert one.value == pytest.approx(wins.mean())
    variance = wins.mean(axis=1).var(ddof=1) / ones.size + wins.mean(axis=0).var(ddof=1) / zeros.size
    low, high = one.interval
    z = np.log(high / (1 - high)) - np.log(low / (1 - low))
    wanted = 2 * stats.norm.ppf(0.975) * np.sqrt(variance) / (one.value * (1 - one.value))
    assert z == pytest.approx(wanted)


@pytest.mark.parametrize(("n", "c"), [(1, 0.3), (3, 0.8), (5, 1.0), (9, 0.0)])
def test_the_interval_of_c_with_few_events(n, c):
    """Between the two chances that are z of Newcombe's standard errors from it."""
    z, half = stats.norm.ppf(0.975), (n + 40) / 2 - 1
    p, y = np.concatenate([np.full(40, 0.5), np.full(n, 0.6)]), np.repeat([0, 1], [40, n])
    low, high = interval_of_concordance(p, y, c, 0.95)
    assert (low == 0.0, high == 1.0) == (c == 0.0, c == 1.0)
    for t in {low, high} - {0.0, 1.0}:
        variance = t * (1 - t) / (n * 40) * (1 + half * (1 - t) / (2 - t) + half * t / (1 + t))
        assert abs(t - c) == pytest.approx(z * np.sqrt(variance), rel=1e-6)


@pytest.mark.statistical
def test_the_interval_of_c_holds_with_few_events(replications):
    """DeLong's holds for 72 % of data sets with two events, and 87 % with four."""
    rng, holds, runs, number = np.random.default_rng(8), 0, 0, replications(150, 4000)
    while runs < number:
        p = rng.beta(1.0, 30.0, 100)
        y = (rng.random(100) < p).astype(int)
        if not 2 <= y.sum() <= 5:
            continue
        low, high = interval_of_concordance(p, y, float((p[y == 1][:, None] > p[y == 0]).mean()), 0.95)
        holds += low <= clinical.validation_size(p).c <= high
        runs += 1
    assert holds >= stats.binom.ppf(1e-3, number, 0.95)


@pytest.mark.usefixtures("without_findings")
def test_the_interval_in_the_large_holds_where_risks_are_overconfident(replications):
    """The variance of events is more than overconfident risks say: a normal limit by these held in 71 % of 300 sets."""
    rng, holds, number = np.random.default_rng(9), 0, replications(8, 300)
    for _ in range(number):
        truth = expit(rng.normal(0.0, 1.5, 100))
        p, y = expit(5.0 * special.logit(truth)), rng.random(100) < truth
        found = clinical.validate(p, y.astype(int), n_resamples=19, rng=1)
        ratio, large = found["O:E ratio"], found["calibration in the large"]
        assert ratio.interval.excludes(1.0) == large.interval.excludes(0.0)
        assert large.interval.low < large.value < large.interval.high
        holds += not large.interval.excludes(shift(p, truth.mean()))
    assert holds >= stats.binom.ppf(1e-3, number, 0.95)


def test_a_remark_says_that_intervals_can_hold_what_p_values_reject():
    row = result()["O:E ratio"]
    for pvalue, low, said in ((0.01, 0.9, True), (0.01, 1.1, False), (0.2, 0.9, False)):
        one = dataclasses.replace(row, pvalue=pvalue, interval=dataclasses.replace(row.interval, low=low))
        found = dataclasses.replace(result(), rows=(one,))
        assert ("p-values and intervals come from different tests" in unfolded(found)) == said


def test_splines_of_one_or_two_predictions_are_frequencies():
    p = np.repeat([0.2, 0.6], 10)
    y = np.tile(np.arange(10), 2) < np.repeat([3, 8], 10)
    middle = special.expit(special.logit([[0.2, 0.6], [0.3, 0.8]]).mean(axis=1))
    values, line = SplineCurve.of(p, np.array([0.2, middle[0], 0.6]))(p, y[None].astype(float))
    assert values[0] == pytest.approx(np.repeat([0.3, 0.8], 10), rel=1e-6)
    assert line[0] == pytest.approx([0.3, middle[1], 0.8], rel=1e-6)
    alike = np.full(20, 0.4)
    values, line = SplineCurve.of(alike, np.array([0.1, 0.9]))(alike, y[None].astype(float))
    assert [*values[0], *line[0]] == pytest.approx(22 * [0.55], rel=1e-6)


@pytest.mark.parametrize(("expected", "knots"), [(12.0, 3), (49.9, 3), (50.1, 4), (99.9, 4), (100.1, 5), (300.0, 5)])
def test_knots_of_splines_become_more_with_the_rarer_outcome(expected, knots):
    p = np.linspace(0.01, 0.05, 1501)
    p *= expected / p.sum()
    for some in (p, 1.0 - p):
        assert SplineCurve.of(some, np.array([0.5])).design.shape[1] == knots


def test_errors_of_curves_have_intervals_where_enough_was_expected():
    """Events beyond what was expected are seen by chance only, if predictions are right."""
    rng = np.random.default_rng(2)
    p = rng.beta(1.0, 99.0, 200)
    y = np.zeros(200, dtype=int)
    y[rng.choice(200, 6, replace=False)] = 1
    for risks, events, seen in ((p, y, "6 with the event and 194 without"), (1.0 - p, 1 - y, "194 with the event")):
        found = clinical.validate(risks, events, n_resamples=39, rng=1)
        assert found["ICI"].interval is None is not found["O:E ratio"].interval
        assert seen in unfolded(found)
    assert "2 and 198 expected" in unfolded(clinical.validate(p, y, n_resamples=39, rng=1))
    assert "198 and 2 expected" in unfolded(clinical.validate(1.0 - p, 1 - y, n_resamples=39, rng=1))
    assert clinical.validate(3.0 * p, y, n_resamples=39, rng=1)["ICI"].interval is not None
    assert "no intervals" not in unfolded(result())


def test_errors_are_beyond_those_of_calibrated_models():
    for name in ("O:E ratio", "calibration in the large", "ICI", "E50"):
        one = result()[name]
        assert one.pvalue <= 0.02
        assert one.value > one.usual[1]
    assert result()["calibration slope"].pvalue > 0.05
    assert result().curve.pvalue == 0.02
    assert any(f > h for f, h in zip(result().curve.frequency, result().curve.band[1], strict=True))
    assert result().verdict().startswith("reject calibration")
    assert "the O:E ratio was 1.5 (95 % CI 1.31 to 1.69)" in result().sentence()


@pytest.mark.every(3)
@pytest.mark.statistical
@pytest.mark.usefixtures("without_findings")
@pytest.mark.parametrize(
    ("n", "a", "b", "curve"), [(60, 0.5, 2.0, "splines"), (200, 1.0, 99.0, "splines"), (60, 0.5, 2.0, "loess")]
)
def test_size(n, a, b, curve, replications):
    """P-values of all measures and of the curve, the band and intervals of O:E, with few rows and rare events."""
    number, alphas = replications(8, 1000), np.array([0.1, 0.5])
    rng = np.random.default_rng(5)
    small, inside, covers, runs = np.zeros((2, 9)), 0, 0, 0
    while runs < number:
        p = rng.beta(a, b, n)
        y = rng.random(n) < p
        if not 0 < y.sum() < n:
            continue
        runs += 1
        found = clinical.validate(p, y.astype(int), curve=curve, n_resamples=19, rng=rng)
        small += np.array([*(one.pvalue for one in found.rows), found.curve.pvalue]) <= alphas[:, None]
        line = found.curve
        within = zip(line.band[0], line.frequency, line.band[1], strict=True)
        inside += all(low - 1e-9 <= value <= high + 1e-9 for low, value, high in within)
        low, high = found["O:E ratio"].interval
        covers += low <= 1.0 <= high
    most = stats.binom.ppf(1 - 1e-3, number, alphas)
    assert (small <= most[:, None]).all(), small / number
    # Curves with the largest deviation are the ends of the band: 2 of 40 may be outside.
    assert inside >= stats.binom.ppf(1e-4, number, 0.95)
    assert covers >= stats.binom.ppf(1e-4, number, 0.95)


@pytest.mark.statistical
@pytest.mark.usefixtures("without_findings")
def test_size_where_most_data_sets_have_no_events(replications):
    """Six in ten calibrated data sets have none. Measures that need events are exact where they exist."""
    number, rng = replications(12, 1500), np.random.default_rng(6)
    small, runs, losses, alphas = {}, {}, np.zeros(2), np.array([0.1, 0.5])
    for _ in range(number):
        p = rng.beta(1.0, 99.0, 50)
        y = (rng.random(50) < p).astype(int)
        found = clinical.validate(p, y, n_resamples=19, rng=rng)
        pvalues = {one.name: one.pvalue for one in found.rows} | {"curve": found.curve.pvalue}
        for name, pvalue in pvalues.items():
            small[name] = small.get(name, 0) + (pvalue <= alphas)
            runs[name] = runs.get(name, 0) + 1
        losses += clinical.decision_curve(p, y, [0.02, 0.05], n_resamples=19, rng=rng).pvalue <= alphas
        assert "do not exist" in found.notes[-1]
        if min(y.sum(), 50 - y.sum()) < 5:
            assert found["ICI"].interval is None
            assert "wanted at least 5 of each" in " ".join(found.notes)
    rare = {"calibration slope", "c-statistic", "calibration in the large"}
    assert set(small) == rare | {"curve", "O:E ratio", "ICI", "E50", "E90", "Emax"}
    for name, count in small.items():
        assert (count <= stats.binom.ppf(1 - 1e-4, runs[name], alphas)).all(), (name, count, runs[name])
        assert (runs[name] == number) == (name not in rare)
    assert (losses <= stats.binom.ppf(1 - 1e-4, number, alphas)).all()


@pytest.mark.parametrize("curve", ["splines", "loess"])
@pytest.mark.parametrize("event", [0, 1])
def test_outcomes_that_are_all_alike_have_measures(event, curve):
    risks = P[:200]
    found = clinical.validate(risks, np.full(200, event), curve=curve, n_resamples=39, rng=1)
    assert [one.name for one in found.rows] == ["O:E ratio", "ICI", "E50", "E90", "Emax"]
    assert found["O:E ratio"].value == pytest.approx(200 * event / risks.sum())
    assert found["ICI"].value == pytest.approx(np.abs(event - risks).mean())
    assert found["ICI"].interval is None
    tail = np.prod(risks if event else 1.0 - risks)
    assert tail * (1.0 - 1e-9) <= found["O:E ratio"].pvalue <= tail * (2.0 + 1e-9)
    assert found["ICI"].pvalue == pytest.approx(1 / 40)
    assert np.array(found.curve.frequency) == pytest.approx(event)
    assert "do not exist for" in unfolded(found)
    decisions = clinical.decision_curve(risks, np.full(200, event), [0.2], n_resamples=39, rng=1)
    assert decisions.rows[0].treat_all == pytest.approx(event - (1 - event) * 0.25)


@pytest.mark.parametrize("risk", [0.0, 1.0])
def test_certain_risks_have_what_exists(risk):
    """Without an expected event there is no O:E ratio; risks of 0 and 1 are not said to be rounded."""
    found = clinical.validate(np.full(30, risk), np.full(30, risk), n_resamples=19, rng=1)
    assert [one.name for one in found.rows] == ["O:E ratio"] * (risk > 0) + ["ICI", "E50", "E90", "Emax"]
    assert ("there is no O:E ratio, as all risks are 0" in found.notes) == (risk == 0)
    assert "rounded" not in " ".join(found.notes)


@pytest.mark.parametrize("certain", [0, 1])
def test_numbers_of_events_have_the_poisson_binomial_law(certain):
    """By all outcomes: O:E of all rows, and calibration in the large given that some of the others have the event."""
    p, y = np.array([0.1, 0.3, 0.25, 0.6, 0.05, 0.5, 0.45, 0.2]), np.array([1, 1, 1, 1, 0, 0, 1, 0])
    risks, events = np.append(p, np.ones(certain)), np.append(y, np.ones(certain, dtype=int))
    found = clinical.validate(risks, events, n_resamples=19, rng=1)
    law = np.zeros(9)
    for outcome in itertools.product([0, 1], repeat=8):
        law[sum(outcome)] += np.prod(np.where(outcome, p, 1 - p))
    given = np.where(np.isin(np.arange(9), (0, 8)), 0.0, law) / law[1:8].sum()
    for name, of_law in (("O:E ratio", law), ("calibration in the large", given)):
        tails = np.minimum(np.cumsum(of_law), np.cumsum(of_law[::-1])[::-1])
        pvalues = np.array([of_law[tails <= one + 1e-12].sum() for one in tails])
        usual = np.flatnonzero(pvalues > 0.05)[[0, -1]]
        ends = (usual + certain) / risks.sum() if name == "O:E ratio" else [shift(p, k / 8) for k in usual]
        assert found[name].pvalue == pytest.approx(pvalues[y.sum()], rel=1e-9)
        assert found[name].usual == pytest.approx(tuple(ends), rel=1e-9)
    whole = clinical.validate_by_group(risks, events, np.ones(8 + certain)).rows[0]
    assert found["O:E ratio"].pvalue == pytest.approx(whole.pvalue, rel=1e-9)
    assert found["O:E ratio"].usual == pytest.approx(whole.usual, rel=1e-9)


def test_risks_that_hardly_ever_give_events_leave_measures_out():
    found = clinical.validate(np.full(30, 1e-7), np.arange(30) == 3, n_resamples=99, rng=1)
    assert [one.name for one in found.rows] == ["O:E ratio", "ICI", "E50", "E90", "Emax"]
    assert "have no p-value" in found.notes[-1]
    assert found["O:E ratio"].pvalue == pytest.approx(-np.expm1(30 * np.log1p(-1e-7)), rel=1e-9)


def test_local_regressions_stay_below_1():
    p = np.linspace(0.01, 0.99, 40)
    y = (p > 0.4).astype(float)
    assert (loess_weights(p, p) @ y).max() > 1.0
    assert LoessCurve.of(p, p)(p, y[None])[0].max() == 1.0


def test_loess_is_joined_between_places_that_are_close_where_risks_are_few():
    rng = np.random.default_rng(12)
    p = rng.beta(2.0, 6.0, 400)
    y = (rng.random(400) < p**1.1).astype(float)
    exact = np.abs(np.clip(loess_weights(p, p) @ y, 0.0, 1.0) - p)
    joined = np.abs(LoessCurve.of(p, p)(p, y[None])[0][0] - p)
    assert [joined.mean(), joined.max()] == pytest.approx([exact.mean(), exact.max()], rel=2e-3)


def test_loess_of_many_risks_is_joined_between_quantiles():
    p, y = data(3000)
    fast, grid = LoessCurve.of(p, p[:1])(p, y[None].astype(float))
    exact = np.clip(loess_weights(p, p[:50]) @ y, 0.0, 1.0)
    assert fast[0, :50] == pytest.approx(exact, abs=2e-3)
    assert grid[0, 0] == fast[0, 0]


def test_risks_of_0_and_1_are_left_out_of_regressions():
    p, y = np.append(P, [0.0, 1.0, 1.0]), np.append(Y, [0, 1, 1])
    found = clinical.validate(p, y, n_resamples=19, rng=1)
    for name in ("calibration in the large", "calibration slope"):
        assert found[name].value == pytest.approx(result()[name].value, rel=1e-6)
    assert found["O:E ratio"].value == pytest.approx((Y.sum() + 2) / (P.sum() + 2))


def test_constant_risks_and_separated_outcomes_have_documented_results():
    constant = clinical.validate(np.full(50, 0.2), np.arange(50) % 5 == 0, n_resamples=19, rng=1)
    assert [one.name for one in constant.rows] == ["O:E ratio", "calibration in the large", "ICI", "E50", "E90", "Emax"]
    assert constant["O:E ratio"].value == pytest.approx(1.0)
    assert constant["ICI"].value == pytest.approx(0.0, abs=1e-6)
    assert "no interval of the slope" in constant.notes[0]
    p = np.linspace(0.02, 0.98, 40)
    separated = clinical.validate(p, (p > 0.5).astype(int), n_resamples=19, rng=1)
    assert separated["calibration slope"].interval is None
    assert separated["calibration slope"].value > 5.0
    assert 0.8 < separated["c-statistic"].interval.low < separated["c-statistic"].interval.high == 1.0
    assert "separate the outcomes" in unfolded(separated)
    certain = clinical.validate([0.0, 1.0, 1.0, 0.0], [0, 1, 1, 0], n_resamples=19, rng=1)
    assert [one.name for one in certain.rows] == ["O:E ratio", "ICI", "E50", "E90", "Emax"]
    assert certain.curve.risk == ()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: clinical.validate(P, Y, curve="lowess"), "curve"),
        (lambda: clinical.validate(P, Y, n_resamples=5), "n_resamples"),
        (lambda: clinical.validate(P, Y[:5]), "targets"),
        (lambda: clinical.decision_curve(P, Y, [0.2, 0.1]), "increasing"),
        (lambda: clinical.decision_curve(P, Y, [0.0, 0.1]), "wanted risks between 0 and 1$"),
        (lambda: clinical.decision_curve(P, Y, [5, 10]), "between 0 and 1; if these are percentages, divide them by"),
        (lambda: clinical.validation_size(np.full(9, 0.3)), "got one value"),
        (lambda: clinical.validation_size(P, slope_width=0.0), "slope_width"),
        (lambda: clinical.validation_size(P, oe_width=1e-200), "got one below 1e-06"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
    with pytest.raises(TypeError, match="validate"):
        clinical.validate(np.full((9, 3), 1 / 3), np.zeros(9, dtype=int))
    with pytest.raises(KeyError, match="ICI"):
        result()["ECE"]


def test_net_benefit_by_its_definition():
    found = clinical.decision_curve(P, Y, [0.1, 0.3], n_resamples=19, rng=1)
    for one in found.rows:
        odds, treated = one.threshold / (1 - one.threshold), one.threshold <= P
        right, wrong = np.sum(treated & (Y == 1)), np.sum(treated & (Y == 0))
        assert one.model == pytest.approx((right - wrong * odds) / 600)
        assert one.treat_all == pytest.approx(Y.mean() - (1 - Y.mean()) * odds)
        curve = SplineCurve.of(P, P[:1])(P, Y[None].astype(float))[0][0]
        again = clinical.decision_curve(np.clip(curve, 1e-9, 1 - 1e-9), Y, [one.threshold], n_resamples=19, rng=1).rows[
            0
        ]
        assert one.recalibrated == pytest.approx(again.model)
        assert one.loss == pytest.approx(one.recalibrated - one.model)


@pytest.mark.every(3)
@pytest.mark.parametrize(("right", "wrong", "n"), [(7, 12, 60), (0, 3, 40), (4, 0, 40), (30, 20, 50), (2, 2, 4)])
@pytest.mark.parametrize("threshold", [0.1, 0.5, 0.7])
def test_intervals_of_net_benefits_end_where_the_score_test_rejects(right, wrong, n, threshold):
    """With probabilities of largest likelihood that are searched for."""
    odds = threshold / (1 - threshold)
    treated = np.arange(n) < right + wrong
    found = _interval(treated.astype(float), (np.arange(n) < right).astype(int), threshold, 0.95)
    assert found.estimate == pytest.approx((right - odds * wrong) / n)

    def score(b):
        q = np.linspace(max(0.0, -b / odds), (1 - b) / (1 + odds), 200_002)[1:-1]
        likelihood = special.xlogy(right, b + odds * q) + special.xlogy(wrong, q)
        likelihood += special.xlogy(n - right - wrong, np.maximum(1 - b - (1 + odds) * q, 0.0))
        best = q[likelihood.argmax()]
        return (found.estimate - b) / np.sqrt((b + odds * best + odds**2 * best - b**2) / n)

    for end, limit, sign in ((found.low, -odds, 1.0), (found.high, 1.0, -1.0)):
        if end != limit:
            assert sign * score(end) == pytest.approx(stats.norm.ppf(0.975), rel=2e-3)
            assert sign * score(0.99 * end + 0.01 * limit) > stats.norm.ppf(0.975)


def test_intervals_of_net_benefits_hold_where_hardly_anyone_is_treated():
    """Cases are treated with probabilities 0.004 and 0.03, with and without the event; Wald's holds in 55 %."""
    rng, holds = np.random.default_rng(3), 0
    for right, wrong, _ in rng.multinomial(200, [0.004, 0.03, 0.966], size=400):
        y = np.arange(200) < right
        found = _interval((np.arange(200) < right + wrong).astype(float), y.astype(int), 0.1, 0.95)
        holds += not found.excludes(0.004 - 0.03 / 9)
    assert holds >= stats.binom.ppf(0.001, 400, 0.95)
    nobody = _interval(np.zeros(50), np.zeros(50), 0.1, 0.95)
    assert nobody.ends == pytest.approx((-_z2() / (50 + _z2()) / 9, _z2() / (50 + _z2())))


def _z2():
    return stats.norm.ppf(0.975) ** 2


def test_intervals_of_losses(replications):
    """They hold the loss by the true risks, end near 0 for calibrated ones, and are left out for few events."""
    thresholds, holds = [0.1, 0.2, 0.4], 0
    rng = np.random.default_rng(4)
    sets = replications(6, 20)
    for _ in range(sets):
        p = rng.beta(1, 4, 400)
        truth = expit(0.6 * special.logit(p))
        found = clinical.decision_curve(p, rng.random(400) < truth, thresholds, n_resamples=99, rng=rng)
        for row, t in zip(found.rows, thresholds, strict=True):
            lost = np.abs(truth - t) * ((truth >= t) != (p >= t)) / (1 - t)
            holds += not row.loss_interval.excludes(lost.mean())
            assert not row.loss_interval.excludes(row.loss)
    assert holds >= stats.binom.ppf(0.001, 3 * sets, 0.95)
    p, y = data(20_000, wrong=lambda p: p)
    calm = clinical.decision_curve(p, y, [0.1, 0.3], n_resamples=19, rng=1)
    assert all(row.loss_interval.low <= 0.0 and row.loss_interval.high < 0.004 for row in calm.rows)
    p, y = data(4000, wrong=lambda p: 3.0 * p)
    found = clinical.decision_curve(p, y, [0.2], n_resamples=99, rng=1).rows[0]
    assert 0.02 < found.loss_interval.low < found.loss < found.loss_interval.high
    few = clinical.decision_curve(p[:9], y[:9], [0.2], n_resamples=19, rng=1)
    assert few.rows[0].loss_interval is None
    assert few.notes[0].startswith("no intervals of losses: ")


def test_intervals_of_losses_end_at_mean_losses_of_curves():
    """Of two that the likelihood keeps, all above the threshold on the grid, where predictions are not kept.

    People whom a curve and the predictions treat alike lose nothing.
    """
    p, y, t = np.array([0.1, 0.9, 0.3, 0.6]), np.array([1, 0, 1, 0]), 0.2
    often, rarely = np.array([0.9, 0.15, 0.8, 0.3]), np.array([0.9, 0.15, 0.8, 0.1])
    losses = (0.7 + 0.05) / 4 / 0.8, (0.7 + 0.05 + 0.1) / 4 / 0.8

    class Curves:
        design = np.zeros((4, 1))

        def __call__(self, p, outcomes):
            risks = np.where(outcomes.mean(axis=1, keepdims=True) > 0.6, often, rarely)
            return risks, np.full((len(outcomes), 1), 0.5)

    for observed in (0.15, 0.25, 0.35):
        given = np.array([t]), np.array([observed]), 99, 0.95, np.random.default_rng(1)
        (found,) = _loss_intervals(Curves(), p, y, *given)
        assert found.ends == pytest.approx((min(losses[0], observed), max(losses[1], observed)), rel=1e-12)


def test_a_remark_says_that_the_largest_loss_can_be_0_although_miscalibration_costs():
    found = clinical.decision_curve(P, Y, [0.2], n_resamples=19, rng=1)
    row = found.rows[0]
    for pvalue, low, said in ((0.01, 0.0, True), (0.01, 1e-3, False), (0.2, 0.0, False)):
        one = dataclasses.replace(row, loss_interval=dataclasses.replace(row.loss_interval, low=low))
        text = unfolded(dataclasses.replace(found, rows=(one,), pvalue=pvalue))
        assert ("p-values and intervals come from different tests" in text) == said


def test_miscalibration_that_costs_is_found_and_calibration_is_not():
    p, y = data(2000, wrong=lambda p: 3.0 * p)
    found = clinical.decision_curve(p, y, n_resamples=99, rng=1)
    assert found.pvalue == 0.01
    assert "miscalibration costs benefit, at " in found.verdict()
    rng = np.random.default_rng(4)
    rejected = 0
    for _ in range(20):
        p, y = data(150, seed=rng, wrong=lambda p: p)
        rejected += clinical.decision_curve(p, y, [0.1, 0.2, 0.4], n_resamples=19, rng=rng).pvalue <= 0.05
    assert rejected <= stats.binom.ppf(0.9999, 20, 0.05)


def test_sample_sizes_give_intervals_of_the_widths():
    """Standard errors of simulated validations of calibrated models."""
    rng = np.random.default_rng(2)
    risks = rng.beta(1.0, 6.0, 4000)
    found = clinical.validation_size(risks, oe_width=0.4, slope_width=0.5, c_width=0.1)
    n, z = 1500, stats.norm.ppf(0.975)
    p = rng.choice(risks, n)
    outcomes = (rng.random((300, n)) < p).astype(float)
    slopes = logistic_fits(np.column_stack([np.ones(n), special.logit(p)]), outcomes, np.array([0.0, 1.0]))[:, 1]
    ratios = np.log(outcomes.sum(axis=1) / p.sum())
    assert np.sqrt(n / found.slope) * slopes.std() == pytest.approx(0.5 / (2 * z), rel=0.15)
    assert np.sqrt(n / found.oe_ratio) * ratios.std() == pytest.approx(np.arcsinh(0.2) / z, rel=0.15)
    ordered = [stats.mannwhitneyu(p[y == 1], p[y == 0]).statistic / (y.sum() * (n - y.sum())) for y in outcomes[:100]]
    assert found.c == pytest.approx(np.mean(ordered), abs=0.01)
    assert np.sqrt(n / found.concordance) * np.std(ordered) == pytest.approx(0.05 / z, rel=0.25)
    assert found.n == max(found.oe_ratio, found.slope, found.concordance)


def test_sizes_are_those_of_pmvalsampsize():
    """``pmvalsampsize(type="b", prevalence=0.018, cstatistic=0.8, lpnormal=(-5, 2.5), oeciwidth=1)``, version 0.2.1.

    It gives 905, 4544 and 4252 cases; it draws a million log-odds, and takes standard errors in steps of 0.0001.
    """
    drawn = -5.0 + 2.5 * special.ndtri((np.arange(100_000) + 0.5) / 100_000)
    found = clinical.validation_size(expit(drawn), oe_width=1.0, slope_width=0.2)
    assert found.slope == pytest.approx(4544, rel=0.005)
    rare = clinical.validation_size([0.01, 0.026] * 500, oe_width=1.0)
    assert rare.prevalence == pytest.approx(0.018)
    assert rare.oe_ratio == pytest.approx(905, abs=1)
    assert _newcombe_size(0.8, 0.018, 0.05 / stats.norm.ppf(0.975)) == 4252


def test_sizes_for_the_c_statistic_are_the_smallest_with_the_wanted_error():
    """Without a largest size: a search up to 10**12 cases gave these as the answer for narrower intervals."""
    for c, f, error in [(0.8, 0.018, 0.0255), (0.55, 0.5, 0.01), (0.99, 0.001, 0.03), (0.7, 0.3, 1e-7)]:
        n = _newcombe_size(c, f, error)
        assert np.sqrt(newcombe_variance(c, n * f, n * (1 - f))) <= error * (1 + 1e-12)
        assert np.sqrt(newcombe_variance(c, (n - 1) * f, (n - 1) * (1 - f))) > error * (1 - 1e-12)
    assert _newcombe_size(0.7, 0.3, 1e-7) > 1e13


@pytest.mark.parametrize("name", ["oe_width", "slope_width", "c_width"])
def test_intervals_have_a_smallest_width(name):
    """One as narrow takes as many more cases as its square says, also that of the O:E ratio, by asinh(w / 2)."""
    of_name = {"oe_width": "oe_ratio", "slope_width": "slope", "c_width": "concordance"}[name]
    narrow, wide = (getattr(clinical.validation_size(P, **{name: width}), of_name) for width in (1e-6, 1e-3))
    assert narrow == pytest.approx(1e6 * wide, rel=1e-5)
    with pytest.raises(ValueError, match="got one below 1e-06, wanted widths of at least that"):
        clinical.validation_size(P, **{name: 0.99e-6})


def test_sizes_with_few_events_are_noted():
    """Intervals of the O:E ratio are 0.25 wide on average for 18 cases, of which one has no event, with 0.2 wanted."""
    common = clinical.validation_size(np.random.default_rng(1).beta(1, 0.05, 5000))
    (note,) = common.notes
    assert note.startswith("for the O:E ratio and c-statistic fewer than 10 events, or cases without, are expected")
    assert "Note: for the O:E ratio and" in str(common)
    assert clinical.validation_size(P).notes == ()


@pytest.mark.every(2)
@pytest.mark.parametrize("step", [0.1, 0.01, 0.001])
def test_rounded_risks_are_said(step):
    rng = np.random.default_rng(4)
    risks = rng.beta(1.0, 9.0 * 0.1 / step, 300)
    rounded = np.round(risks / step) * step
    y = (rng.random(300) < risks).astype(int)
    note = f"risks are rounded to multiples of {step:g}"
    assert any(note in one for one in clinical.validate(rounded, y, n_resamples=19, rng=1).notes)
    assert not any("rounded" in one for one in clinical.validate(risks, y, n_resamples=19, rng=1).notes)


@pytest.mark.parametrize("seed", [1, 7])
def test_intervals_contain_their_values(seed):
    """Also where nearly all risks are at the ends of the curve."""
    rng = np.random.default_rng(seed)
    z = 3.0 * rng.normal(size=300)
    p, y = expit(4.0 * z).round(6).clip(1e-6, 1.0 - 1e-6), (rng.random(300) < expit(z)).astype(int)
    for row in clinical.validate(p, y, n_resamples=19, rng=1).rows:
        assert row.interval.low <= row.value <= row.interval.high, row.name


@pytest.mark.usefixtures("without_findings")
def test_intervals_cover_where_nearly_all_risks_are_near_0_or_1(replications):
    """The curve of such risks is smooth in the log-odds; between points of a grid of risks it is not a line."""
    number, missed = replications(5, 400), 0
    for seed in range(number):
        rng = np.random.default_rng(seed)
        odds = 12.0 * rng.normal(size=300)
        p = expit(odds).clip(1e-6, 1.0 - 1e-6)
        true = expit(0.25 * special.logit(p))
        found = clinical.validate(p, (rng.random(300) < true).astype(int), n_resamples=39, rng=rng)
        low, high = found["E50"].interval
        missed += not low <= np.median(np.abs(true - p)) <= high
    assert missed <= stats.binom.ppf(0.999, number, 0.05)


def test_pictures():
    from matplotlib.figure import Figure

    ax = result().plot(ax=Figure().add_subplot())
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["95 % of calibrated models", "observed frequency, splines"]
    assert ax.get_title() == "p = 0.01, 180 events in 600 cases"
    found = clinical.decision_curve(P, Y, n_resamples=19, rng=1)
    ct.plots.decision_curve(found, ax=(other := Figure().add_subplot()), label="A")
    ct.plots.decision_curve(found, ax=other, label="B")
    names = [text.get_text().partition(", ")[0] for text in other.get_legend().get_texts()]
    assert {"treat all", "treat nobody", "A", "B"} == set(names)
    for draw in (ct.plots.clinical_curve, ct.plots.decision_curve):
        with pytest.raises(TypeError, match="result: got 3"):
            draw(3)


def test_a_decision_curve_says_what_its_columns_are():
    p = np.linspace(0.05, 0.6, 60)
    found = clinical.decision_curve(p, np.arange(60) % 3 == 0, thresholds=(0.1, 0.3), n_resamples=19, rng=1)
    row = found.rows[0]
    assert row.loss == pytest.approx(row.recalibrated - row.model)
    assert "loss: how much more the recalibrated risks have than those of the model" in unfolded(found)
    assert found.verdict().startswith("treating by predicted risk is best at 0 of 2 thresholds (10 % and 30 %); ")
    many = clinical.decision_curve(p, np.arange(60) % 3 == 0, np.linspace(0.1, 0.5, 9), n_resamples=19, rng=1)
    assert " of 9 thresholds; " in many.verdict()


def test_certain_risks_do_not_make_events_of_the_others():
    """All events are at a risk of 1: no intercept and no slope fits the others, among which there are none."""
    p = np.concatenate([np.ones(10), np.linspace(0.1, 0.4, 60)])
    y = np.repeat([1, 0], [10, 60])
    result = clinical.validate(p, y, n_resamples=99, rng=1)
    names = [row.name for row in result.rows]
    assert names == ["O:E ratio", "c-statistic", "ICI", "E50", "E90", "Emax"]
    assert all(result[name].interval is None for name in names[2:])
    assert "slope do not exist for no events of risks between 0 and 1" in unfolded(result)


@pytest.mark.every(2)
@pytest.mark.parametrize("words", [("no", "yes"), ("False", "True")])
@pytest.mark.parametrize(
    "value",
    [
        lambda p, y: clinical.validate(p, y, n_resamples=19, rng=1)["O:E ratio"].value,
        lambda p, y: clinical.decision_curve(p, y, [0.2], n_resamples=19, rng=1).rows[0].model,
        lambda p, y: ct.estimators.cox_calibration(p, y).intercept,
        lambda p, _: clinical.validation_size(p).prevalence,
    ],
    ids=["validate", "decision_curve", "cox_calibration", "validation_size"],
)
def test_the_event_is_what_its_name_says(words, value):
    rng = np.random.default_rng(2)
    p = rng.beta(1, 3, 200)
    event = rng.random(200) < p
    frame, named = pd.DataFrame({words[0]: 1.0 - p, words[1]: p}), np.array(words)[event.astype(int)]
    assert value(frame, named) == pytest.approx(value(p, event))
    with pytest.raises(ValueError, match="in this order, of which the second is the event for"):
        value(frame[[words[1], words[0]]], named)


def test_cautions_begin_at_the_numbers_that_they_name():
    ranks = np.linspace(0.1, 0.9, 20)
    for n_events, method in ((9, "Newcombe's score interval"), (10, "DeLong, on the logit scale"), (11, "Newcombe's")):
        y = (np.arange(20) * 7 % 20 < n_events).astype(int)
        assert interval_of_concordance(ranks, y, 0.6, 0.95).method.startswith(method)
    happened = np.arange(11) % 2
    assert not too_few(np.full(10, 0.5), happened[:10])
    assert "4 with the event and 5 without, 4.5 and 4.5 expected" in too_few(np.full(9, 0.5), happened[:9])
    assert "5 with the event and 6 without, 4.4 and 6.6 expected" in too_few(np.full(11, 0.4), happened)
    # A quarter of a step of 0.01 is 2 % of a mean of 0.125.
    assert "multiples of 0.01, which moves them by 2 %" in _notes_of_rounding(np.array([0.12, 0.13]))[0]
    assert not _notes_of_rounding(np.array([0.13, 0.13]))


def test_events_are_named():
    p, named = np.array([0.1, 0.4, 0.2, 0.6, 0.3]), np.array(["alive", "dead"])
    predictions = ct.Categorical(np.column_stack([1.0 - p, p]), classes=named)
    for call in (clinical.validate, clinical.decision_curve):
        result = call(predictions, named[[0, 1, 0, 0, 1]], n_resamples=19, rng=1)
        assert result.event == "dead"
        assert f"{'Event':<15}dead" in unfolded(result)
        assert "\nEvent " not in unfolded(call(p, [0, 1, 0, 0, 1], n_resamples=19, rng=1))


def test_outcome_1_is_the_event_unless_classes_have_names():
    rng = np.random.default_rng(4)
    p = rng.uniform(0.1, 0.6, 400)
    y = (rng.random(400) < 1.5 * p).astype(int)
    found = clinical.validate(p, y, n_resamples=99, rng=1).default_test
    assert found.why().startswith("the event occurs more often than predicted, ")
    assert found.measures[0].event == "the event"
    assert (found.hypothesis, found.predictions) == ("P(Y = 1 | p) = p", "Bernoulli, n = 400")
    named = clinical.validate(ct.Bernoulli(p, classes=["alive", "dead"]), y, n_resamples=99, rng=1, classes=None)
    assert named.default_test.why().startswith("class dead occurs more often than predicted, ")


def test_what_is_said_of_two_columns_is_about_the_event():
    one = clinical.validate(P, Y, n_resamples=99, rng=1)
    two = clinical.validate(np.stack([1.0 - P, P], axis=1), Y, n_resamples=99, rng=1)
    assert unfolded(two) == unfolded(one)
    frame = pd.DataFrame({"alive": 1.0 - P, "dead": P})
    assert "class dead" in unfolded(clinical.validate(frame, np.where(Y, "dead", "alive"), n_resamples=99, rng=1))


@pytest.mark.parametrize("n_existing", [8, 9])
def test_measures_that_exist_in_nine_redraws_have_pvalues(n_existing):
    exists = np.arange(100)[:, None] < np.full(9, n_existing)
    (note,) = _notes_of_existence(np.full(20, 0.1), np.arange(20) // 19, exists)
    assert note.endswith("have no p-value" if n_existing == 8 else "have p-values that are exact given that they exist")


def test_questions_about_the_data_come_before_an_update_of_the_model():
    p, y = data()
    result = unfolded(str(clinical.validate(1.0 - p, y, n_resamples=99, rng=1)))
    assert "First check    1 - p would fit the outcomes" in result
    assert "Next           answer what is asked under 'First check'" in result
