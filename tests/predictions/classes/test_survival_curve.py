"""Survival curves: their intervals, what F(T) can be, exact p-values, and bad curves."""

import numpy as np
import pytest
from scipy import stats
from statistical.survival_sizes import SETTINGS, data

import caltest as ct
from caltest._basics.calls import pvalues_only
from caltest.fields import Censored, censored_pit_values, d_calibration, one_calibration
from caltest.predictions import SurvivalCurve

TIMES = [1.0, 2.0, 5.0]
CURVES = [[0.9, 0.5, 0.2], [0.6, 0.3, 0.1], [1.0, 1.0, 0.0]]


def test_probabilities_of_intervals():
    curves = SurvivalCurve(TIMES, CURVES)
    assert curves.probabilities == pytest.approx(
        np.array([[0.1, 0.4, 0.3, 0.2], [0.4, 0.3, 0.2, 0.1], [0.0, 0.0, 1.0, 0.0]])
    )
    assert curves.check_targets([1.0, 1.1, 5.1]).tolist() == [0, 1, 3]
    by_hand = 1.0 * abs(0.1 - 0.4) + 1.0 * abs(0.5 - 0.7) + 3.0 * abs(0.8 - 0.9)
    assert curves.distance(ct.kernels.Wasserstein1(), curves)[0, 1] == pytest.approx(by_hand)
    assert curves.occurrence(1) == "the event occurs after 1 up to 2"
    assert [curves.outcome_in_words(c) for c in (0, 1)] == ["an event up to 1", "an event after 1 up to 2"]
    assert curves.occurrence(3) == "no event occurs up to 5"


def test_redrawn_times_are_anywhere_in_their_intervals_or_at_their_ends():
    labels = np.tile([[0], [1], [2], [3]], 2000)
    times = SurvivalCurve(TIMES, CURVES).observed(labels, np.random.default_rng(1))
    assert (times.max(axis=1)[:3] <= TIMES).all()
    assert (times.min(axis=1) > [0.0, *TIMES]).all()
    assert times[:3].mean(axis=1) == pytest.approx([0.5, 1.5, 3.5], abs=0.1)
    steps = SurvivalCurve(TIMES, CURVES, between="steps").observed(labels, np.random.default_rng(1))
    assert (steps[:3] == np.array(TIMES)[:, None]).all()
    assert steps[3].min() > 5.0


def ends(between, time, seen):
    curves = SurvivalCurve(TIMES, [CURVES[0]], between=between)
    return tuple(float(one[0]) for one in curves.transforms(np.array([time]), np.array([seen])).ends)


def test_what_the_transform_can_be():
    """Where in its interval an event is says nothing; F at a censored time is on a line, or that of the last jump."""
    assert ends("linear", 1.5, True) == pytest.approx((0.1, 0.5))
    assert ends("linear", 1.5, False) == pytest.approx((0.3, 1.0))
    assert ends("linear", 0.5, True) == pytest.approx((0.0, 0.1))
    assert ends("linear", 2.0, True) == pytest.approx((0.1, 0.5))
    assert ends("linear", 2.0, False) == pytest.approx((0.5, 1.0))
    assert ends("linear", 9.0, True) == pytest.approx((0.8, 1.0))
    assert ends("linear", 9.0, False) == pytest.approx((0.8, 1.0))
    assert ends("steps", 2.0, True) == pytest.approx((0.1, 0.5))
    assert ends("steps", 1.5, True) == pytest.approx((0.1, 0.5))
    assert ends("steps", 2.0, False) == pytest.approx((0.5, 1.0))
    assert ends("steps", 1.5, False) == pytest.approx((0.1, 1.0))
    assert ends("steps", 9.0, True) == pytest.approx((0.8, 1.0))


def test_events_after_a_censored_time_are_anywhere_in_its_interval():
    """Of (0.1, 0.5] with F(1.5) = 0.3 on the line: two sevenths of the draws are in the interval, and evenly."""
    curves = SurvivalCurve(TIMES, np.repeat(CURVES[:1], 20_000, axis=0))
    _, u = censored_pit_values(curves, Censored(np.full(20_000, 1.5), np.arange(20_000) < 10_000), rng=1)
    assert stats.kstest(u[:10_000], stats.uniform(0.1, 0.4).cdf).pvalue > 1e-3
    inside = u[10_000:][u[10_000:] < 0.5]
    assert inside.size / 10_000 == pytest.approx(2.0 / 7.0, abs=0.02)
    assert stats.kstest(inside, stats.uniform(0.1, 0.4).cdf).pvalue > 1e-3
    assert stats.kstest(u[10_000:][u[10_000:] >= 0.5], stats.uniform(0.5, 0.5).cdf).pvalue > 1e-3


def test_outcomes_at_the_times_of_curves_are_in_the_interval_that_ends_there():
    curves = SurvivalCurve([1.0, 2.0], np.tile([[0.5, 0.0]], (4000, 1)))
    for time, seen, low, high in [(1.0, True, 0.0, 0.5), (1.0, False, 0.5, 1.0), (2.0, True, 0.5, 1.0)]:
        _, u = censored_pit_values(curves, Censored(np.full(4000, time), np.full(4000, seen)), rng=2)
        assert (u.min(), u.max()) == pytest.approx((low, high), abs=5e-3)
    # Impossible by the curves: no event up to where they are 0.
    assert (censored_pit_values(curves, Censored(np.full(4000, 2.0), np.zeros(4000)), rng=2)[1] == 1.0).all()


@pytest.mark.parametrize("end", [np.inf, 2.0])
def test_right_curves_at_a_single_time_are_seldom_rejected(end, replications):
    """Of exponential times, far from the straight line between 0 and 1."""
    number, rng = replications(15, 1000), np.random.default_rng(17)
    pvalues = np.empty(number)
    for i in range(number):
        rate = rng.uniform(0.5, 2.0, 200)
        time, limit = rng.exponential(1.0 / rate), end * rng.exponential(size=200)
        curves, targets = SurvivalCurve([1.0], np.exp(-rate[:, None])), Censored(np.minimum(time, limit), time <= limit)
        with pvalues_only():
            pvalues[i] = ct.calibration_test(curves, targets, n_resamples=19, rng=rng).pvalue
    for alpha in (0.1, 0.5):
        assert (pvalues <= alpha).sum() <= stats.binom.ppf(0.999, number, alpha)


@pytest.mark.parametrize(
    ("number", "between", "is_noted"), [(4, "linear", True), (40, "linear", False), (4, "steps", False)]
)
def test_few_times_of_curves_are_noted(number, between, is_noted):
    rng = np.random.default_rng(2)
    rate, grid = rng.uniform(0.5, 2.0, 300), np.linspace(4.0 / number, 4.0, number)
    time, end = rng.exponential(1.0 / rate), rng.exponential(2.0, 300)
    curves = SurvivalCurve(grid, np.exp(-rate[:, None] * grid), between=between)
    notes = ct.fields.d_calibration(curves, ct.Censored(np.minimum(time, end), time <= end), rng=1).notes
    assert any("curves have so few times" in note for note in notes) is is_noted


def test_straight_lines_are_as_far_from_constant_hazards_as_said():
    """Of an exponential time that is censored in the middle of (1, 1.2]: how probable the rest is, by the line."""
    curve = SurvivalCurve([1.0, 1.2, 5.0], np.exp(-np.array([[1.0, 1.2, 5.0]])))
    line, end = (np.exp(-1.0) + np.exp(-1.2)) / 2.0, np.exp(-1.2)
    assert curve.bend(np.array([1.1]), np.array([False])) == pytest.approx(end / np.exp(-1.1) - end / line, rel=0.02)
    nothing = [(1.1, True), (1.2, False), (6.0, False)]
    assert all(curve.bend(np.array([time]), np.array([seen])) == 0.0 for time, seen in nothing)


def test_a_fine_grid_is_the_distribution():
    rng = np.random.default_rng(1)
    laws = ct.LogNormal(rng.normal(size=45), 0.7)
    times = np.geomspace(0.01, 60.0, 40_000)
    curves = SurvivalCurve(times, 1.0 - laws.cdf(times[:, None]).T)
    targets = Censored(laws.sample(2), rng.random(45) < 0.6)
    expected, found = (censored_pit_values(one, targets, rng=3)[1] for one in (laws, curves))
    assert found == pytest.approx(expected, abs=2e-4)
    assert d_calibration(curves, targets, rng=1).approximate == pytest.approx(
        d_calibration(laws, targets, rng=1).approximate, abs=0.02
    )
    risks = [one_calibration(one, targets, 2.0, n_groups=2, rng=1).rows[0].predicted for one in (laws, curves)]
    assert risks[1] == pytest.approx(risks[0], abs=1e-3)


def test_samples_are_in_their_intervals():
    for between in ("linear", "steps"):
        curves = SurvivalCurve(TIMES, np.repeat(CURVES[:1], 4000, axis=0), between=between)
        intervals = curves.check_targets(curves.sample(1))
        assert np.bincount(intervals) / 4000 == pytest.approx([0.1, 0.4, 0.3, 0.2], abs=0.04)
    assert set(curves.sample(1)[intervals < 3]) == {1.0, 2.0, 5.0}


@pytest.mark.every(2)
@pytest.mark.statistical
@pytest.mark.usefixtures("without_findings")
@pytest.mark.parametrize("name", SETTINGS)
def test_size(name, replications):
    n, share, grid, on_grid = SETTINGS[name]
    number, rng, alphas = replications(20, 2000), np.random.default_rng(8), np.array([[0.1], [0.5]])
    small = np.zeros((2, 2))
    for _ in range(number):
        curves, targets = data(rng, n, share, grid, on_grid)
        laws = SurvivalCurve(grid, curves, between="steps" if on_grid else "linear")
        found = [one(laws, targets, n_resamples=19, rng=rng) for one in (ct.calibration_test, d_calibration)]
        small += np.array([one.pvalue for one in found]) <= alphas
    assert (small <= stats.binom.ppf(1 - 1e-4, number, alphas)).all(), small / number
    assert (small >= stats.binom.ppf(1e-4, number, 0.7 * alphas)).all(), small / number


def test_wrong_curves_are_found():
    rng = np.random.default_rng(4)
    grid = np.linspace(0.1, 4.0, 40)
    rate = rng.uniform(0.3, 1.5, 400)
    time, end = rng.exponential(1.0 / rate), rng.exponential(2.0, 400)
    targets = Censored(np.minimum(time, end), time <= end)
    # Errors that cancel: every curve is that of the mean, but the mean depends on the row.
    right, turned = (SurvivalCurve(grid, np.exp(-one[:, None] * grid)) for one in (rate, 1.8 - rate))
    with pvalues_only():
        assert ct.calibration_test(right, targets, n_resamples=39, rng=1).pvalue > 0.05
        assert ct.calibration_test(turned, targets, n_resamples=39, rng=1).pvalue == 0.025
    result = ct.calibration_test(
        SurvivalCurve(grid, np.exp(-1.5 * rate[:, None] * grid)), targets, n_resamples=39, rng=1
    )
    assert result.pvalue == 0.025
    assert str(result.finding).startswith("events come later than predicted")


@pytest.mark.usefixtures("without_findings")
def test_known_times_are_tested_as_those_that_are_not_censored():
    rng = np.random.default_rng(5)
    grid, rate = np.array([0.5, 1.0, 2.0]), rng.uniform(0.5, 2.0, 80)
    curves, time = SurvivalCurve(grid, np.exp(-rate[:, None] * grid)), rng.exponential(1.0 / rate)
    result = ct.calibration_test(curves, time, rng=1)
    assert result.pvalue == ct.calibration_test(curves, Censored(time, np.ones(80)), rng=1).pvalue
    assert f"after 2, the last one of the curves, one above F there ({(time > 2.0).sum()} of them)" in result.notes[0]


@pytest.mark.parametrize(
    ("times", "curves", "words"),
    [
        (TIMES, np.transpose(CURVES[:2]), "pass probabilities.T"),
        (TIMES, 1.0 - np.array(CURVES[:2]), "if these are probabilities of an event, pass 1 - probabilities"),
        (TIMES, [[0.9, 0.95, 0.2]], "got 0.9 and then 0.95 at row 0, wanted curves that do not rise"),
        (TIMES, [[90.0, 50.0, 20.0]], "got 90 at row 0, time 1"),
        ([1.0, 3.0, 2.0], CURVES, "wanted increasing numbers"),
        ([-1.0, 3.0, 5.0], CURVES, "wanted times above 0"),
        ([0.0, 3.0, 5.0], CURVES[:2], "got curves below 1 at time 0"),
        ([0.0], [[1.0]], "got 0 alone"),
        (TIMES, [[0.9, np.nan, 0.2]], "row 0"),
        (TIMES, [0.9, 0.5, 0.2], r"got shape \(3,\)"),
    ],
)
def test_bad_curves(times, curves, words):
    with pytest.raises(ValueError, match=words):
        SurvivalCurve(times, curves)


def test_bad_settings():
    with pytest.raises(ValueError, match="between"):
        SurvivalCurve(TIMES, CURVES, between="cubic")
    curves = SurvivalCurve([0.0, *TIMES], np.column_stack([np.ones(3), CURVES]))
    assert curves.times.tolist() == TIMES
    with pytest.raises(ValueError, match="horizon: got 6, wanted at most 5"):
        one_calibration(curves, Censored([1.0, 2.0, 3.0], [1, 1, 0]), 6.0)
    with pytest.raises(ValueError, match="positive times"):
        curves.check_targets([0.0, 1.0, 2.0])
    with pytest.raises(TypeError, match=r"SurvivalCurve for censored times"):
        censored_pit_values(ct.Ordinal([[0.2, 0.3, 0.5]]), Censored([1.0], [1]))


def test_claims_of_events_up_to_a_time_are_called_so():
    curves = SurvivalCurve(TIMES, np.repeat(CURVES[:2], 20, axis=0))
    claims, _ = curves.claims_at("", "", curves.check_targets(np.full(40, 1.5)))
    assert [one.name for one in claims] == ["an event up to 2"]
