"""Intercept and slope of log-odds against statsmodels and known suprema."""

import numpy as np
import pytest
import statsmodels.api as sm
from printed import unfolded
from scipy import special, stats

import caltest as ct
from caltest._loops.statistics.logistic import maximise, selected_ratios
from caltest.estimators.classical.cox import LogOdds, Nodes


def data(n, a, seed=1):
    rng = np.random.default_rng(seed)
    p = rng.beta(a, a, n)
    return p, (rng.random(n) < special.expit(0.3 + 0.7 * special.logit(p))).astype(int)


def null_likelihood(p, y):
    return np.sum(np.where(y == 1, np.log(p), np.log1p(-p)))


def fit(x, y, degree=1):
    return sm.GLM(y, np.vander(x, degree + 1, increasing=True), family=sm.families.Binomial()).fit(tol=1e-13)


@pytest.mark.parametrize(("n", "a"), [(40, 1.0), (500, 0.3), (500, 5.0)])
def test_agrees_with_statsmodels(n, a):
    p, y = data(n, a)
    model = fit(special.logit(p), y)
    ratio = 2 * (model.llf - null_likelihood(p, y))
    result = ct.CoxTest()(p, y)
    assert result.statistic == pytest.approx(ratio, rel=1e-8)
    assert result.pvalue == pytest.approx(stats.chi2.sf(ratio, 2), rel=1e-8)
    assert result.effect_size.value == pytest.approx((ratio - 2.0) / (2.0 * n), rel=1e-6)
    fitted = ct.estimators.cox_calibration(p, y, confidence_level=0.9)
    assert (fitted.intercept, fitted.slope) == pytest.approx(tuple(model.params), rel=1e-8)
    assert (fitted.intercept_standard_error, fitted.slope_standard_error) == pytest.approx(tuple(model.bse), rel=1e-8)
    intervals = model.conf_int(0.1)
    assert tuple(fitted.intercept_interval) == pytest.approx(tuple(intervals[0]), rel=1e-8)
    assert tuple(fitted.slope_interval) == pytest.approx(tuple(intervals[1]), rel=1e-8)
    assert (fitted.statistic, fitted.pvalue) == (result.statistic, result.pvalue)
    assert fitted.n_used == n
    assert "Slope     " in unfolded(fitted)


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
def test_newton_of_polynomials_agrees_with_statsmodels(degree):
    p, y = data(300, 0.8, seed=4)
    x = special.logit(p)
    odds = LogOdds.of(p, degree)
    assert odds.design @ odds.start == pytest.approx(x, rel=1e-9)
    weights = p * (1 - p)
    assert odds.design.T @ (weights[:, None] * odds.design) == pytest.approx(np.eye(degree + 1), abs=1e-9)
    coefficients = odds.start.copy()
    start, value = maximise(odds.design, y, coefficients, degree + 1)
    model = fit(x / 4.0, y, degree)
    assert start == pytest.approx(null_likelihood(p, y), rel=1e-12)
    assert value == pytest.approx(model.llf, rel=1e-11)
    assert special.expit(odds.design @ coefficients) == pytest.approx(model.fittedvalues, abs=1e-7)
    assert odds.columns(x) == pytest.approx(odds.design, rel=1e-9, abs=1e-9)


def test_polynomials_of_nearly_equal_log_odds_have_fewer_columns():
    x = 1.0 + 1e-9 * np.arange(30.0)
    odds = LogOdds.of(special.expit(x), 3)
    assert odds.rank == 2
    assert odds.design @ odds.start == pytest.approx(x, rel=1e-9)


def test_redraws_equal_fits_one_by_one():
    p, _ = data(60, 1.0)
    predictions = ct.Bernoulli(p)
    redraws = predictions.sample(3, 8)
    expected = [2 * (fit(special.logit(p), y).llf - null_likelihood(p, y)) for y in redraws]
    assert ct.estimators.CoxCalibration().estimates(predictions, redraws) == pytest.approx(expected, rel=1e-8)


P = np.array([0.2, 0.4, 0.6, 0.8])


@pytest.mark.parametrize("y", [[0, 0, 1, 1], [1, 1, 0, 0], [1, 1, 1, 1], [0, 0, 0, 0]])
def test_separated_outcomes_have_the_supremum_of_the_likelihood(y):
    assert ct.estimators.CoxCalibration()(P, y) == pytest.approx(-2 * null_likelihood(P, np.array(y)), abs=1e-9)
    with pytest.raises(ValueError, match=r"separate the outcomes .* CoxTest"):
        ct.estimators.cox_calibration(P, y)


def test_nearly_separated_outcomes():
    """The point where both kinds of outcomes meet has the likelihood 1/4 of two fair coins."""
    p, y = np.array([0.2, 0.5, 0.5, 0.8]), np.array([0, 0, 1, 1])
    expected = 2 * (2 * np.log(0.5) - null_likelihood(p, y))
    assert ct.estimators.CoxCalibration()(p, y) == pytest.approx(expected, abs=1e-9)


def test_equal_predictions_have_an_intercept_only():
    p, y = np.full(10, 0.3), np.array([1, 1, 1, 1, 1, 0, 0, 0, 0, 0])
    result = ct.CoxTest()(p, y)
    expected = 2 * (10 * np.log(0.5) - null_likelihood(p, y))
    assert result.statistic == pytest.approx(expected, rel=1e-10)
    assert (result.df, result.pvalue) == ((1.0,), pytest.approx(stats.chi2.sf(expected, 1)))
    with pytest.raises(ValueError, match="got only one value"):
        ct.estimators.cox_calibration(p, y)


def test_certain_predictions_are_left_out():
    p, y = data(40, 1.0)
    more, outcomes = np.append(p, [0.0, 1.0]), np.append(y, [0, 1])
    assert ct.estimators.CoxCalibration()(more, outcomes) == pytest.approx(
        ct.estimators.CoxCalibration()(p, y), rel=1e-12
    )
    assert ct.estimators.cox_calibration(more, outcomes).n_used == 40
    certain = ct.CoxTest()([0.0, 1.0], [0, 1])
    assert (certain.statistic, certain.pvalue, certain.df) == (0.0, 1.0, (0.0,))
    assert ct.CoxTest()(more, np.append(y, [0, 0])).pvalue == 0.0
    with pytest.raises(ValueError, match="separate the outcomes"):
        ct.estimators.cox_calibration([0.0, 1.0], [0, 1])


def test_extreme_predictions_give_finite_numbers():
    rng = np.random.default_rng(5)
    p = special.expit(rng.normal(0.0, 200.0, 300))
    p = np.where(p == 1.0, 1.0 - 1e-16, p)
    predictions = ct.Bernoulli(p)
    values = ct.estimators.CoxCalibration().estimates(predictions, predictions.sample(1, 50))
    assert np.isfinite(values).all()
    assert values.min() >= 0.0


@pytest.mark.parametrize(("n", "noted"), [(39, True), (40, False), (60, False)])
def test_the_note_is_for_sums_of_p_times_1_minus_p_below_10(n, noted):
    y = np.arange(n) % 3 == 0
    assert bool(ct.CoxTest()(np.full(n, 0.5), y.astype(int)).notes) == noted


def test_note_where_little_is_uncertain():
    p, y = data(400, 1.0)
    assert not ct.CoxTest()(p, y).notes
    assert "the sum of p (1 - p) is only" in ct.CoxTest()(p[:30], y[:30]).notes[0]


def test_bad_input():
    with pytest.raises(TypeError, match=r"of 3 classes, wanted binary ones for cox_calibration"):
        ct.estimators.cox_calibration(np.full((6, 3), 1 / 3), np.arange(6) % 3)
    with pytest.raises(ValueError, match="confidence_level"):
        ct.estimators.cox_calibration(*data(40, 1.0), confidence_level=1.0)


X = np.random.default_rng(3).normal(0.3, 1.5, 20_000)


@pytest.mark.parametrize("function", [*np.eye(10), lambda x: np.logaddexp(0.0, x), lambda x: np.logaddexp(0.3, 4 * x)])
def test_sums_over_places_are_those_over_rows(function):
    """Of polynomials of less than the tenth degree, and of what likelihoods are sums of."""
    f = function if callable(function) else np.polynomial.chebyshev.Chebyshev(function, (X.min(), X.max()))
    nodes = Nodes.of(X)
    assert nodes.places.size % 10 == 0
    assert nodes.places.size < X.size / 8
    assert nodes.weights @ f(nodes.places) == pytest.approx(f(X).sum(), abs=1e-10 * np.abs(f(X)).sum())


def test_places_are_in_the_cells_of_their_rows():
    """Ten of each cell of width 1/4 from the smallest number on, with the weight of its rows."""
    nodes = Nodes.of(X)
    cells, sizes = np.unique(np.floor((X - X.min()) / 0.25), return_counts=True)
    assert nodes.weights.reshape(-1, 10).sum(axis=1) == pytest.approx(sizes)
    inside = (nodes.places.reshape(-1, 10) - X.min()) / 0.25 - cells[:, None]
    assert (np.diff(inside, axis=1) > 0.0).all()
    assert inside.min() > 0.0
    assert inside.max() < 1.0


def test_few_rows_have_no_places():
    assert Nodes.of(np.linspace(0.0, 0.24, 79)) is None
    assert Nodes.of(np.linspace(0.0, 0.24, 80)).places.size == 10
    assert Nodes.of(np.linspace(0.0, 0.26, 159)) is None


@pytest.mark.parametrize("threshold", [0.0, 3.8, np.inf])
def test_ratios_from_places_are_those_from_rows(threshold):
    """Without doubts, of outcomes that are calibrated, too sure or bent; and with doubts where they are separated."""
    rng = np.random.default_rng(4)
    x = rng.uniform(-2.5, 2.5, 6000)
    odds = LogOdds.of(special.expit(x), 3)
    truths = special.expit(np.stack([x, 0.6 * x + 0.4, x + 0.1 * x * x - 0.3, 1e3 * x]))
    outcomes = (rng.random(truths.shape) < truths).astype(np.int8)
    sums, at_places = outcomes.astype(float) @ odds.design, odds.columns(odds.nodes.places)
    expected, of_rows = selected_ratios(odds.design, outcomes, odds.start, 2, threshold)
    ratios, columns, doubtful = odds.nodes.selected_ratios(at_places, sums[:3], odds.start, threshold)
    assert not doubtful.any()
    assert ratios == pytest.approx(expected[:3], rel=1e-7, abs=1e-7)
    assert columns.tolist() == of_rows[:3].tolist()
    assert odds.nodes.selected_ratios(at_places, sums[3:], odds.start, threshold)[2].all()
    ratios, columns = odds.ratios(outcomes, threshold)
    assert ratios == pytest.approx(expected, rel=1e-7, abs=1e-7)
    assert columns.tolist() == of_rows.tolist()
