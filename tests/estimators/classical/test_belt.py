"""Forward-selected polynomials of log-odds against statsmodels."""

import dataclasses

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import special, stats

import caltest as ct
from caltest.estimators.classical.belt import belt
from caltest.estimators.classical.cox import LogOdds


def data(n=400, wave=0.2, seed=1):
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.02, 0.98, n)
    return p, (rng.random(n) < np.clip(p + wave * np.sin(np.pi * p) ** 2, 0.0, 1.0)).astype(int)


def fit(p, y, degree):
    design = np.vander(special.logit(p) / 3.0, degree + 1, increasing=True)
    return design, sm.GLM(y, design, family=sm.families.Binomial()).fit(tol=1e-13)


def by_hand(p, y, selection=0.95, max_degree=4):
    """Likelihood ratio and the selected degree."""
    likelihoods = [fit(p, y, degree)[1].llf for degree in range(1, max_degree + 1)]
    degree = 1
    while degree < max_degree and 2 * (likelihoods[degree] - likelihoods[degree - 1]) >= stats.chi2.ppf(selection, 1):
        degree += 1
    return 2 * (likelihoods[degree - 1] - np.sum(np.where(y == 1, np.log(p), np.log1p(-p)))), degree


@pytest.mark.every(3)
@pytest.mark.parametrize(("selection", "max_degree"), [(0.95, 4), (0.5, 4), (0.1, 3), (0.5, 2)])
def test_definition(selection, max_degree):
    p, _ = data()
    predictions = ct.Bernoulli(p)
    redraws = predictions.sample(2, 8)
    expected = [by_hand(p, y, selection, max_degree) for y in redraws]
    values = ct.estimators.CalibrationBelt(max_degree, selection).estimates(predictions, redraws)
    assert values == pytest.approx([ratio for ratio, _ in expected], rel=1e-8)
    if selection < 0.95:
        assert len({degree for _, degree in expected}) > 1


def test_degree_1_is_the_test_of_cox():
    p, y = data()
    assert ct.estimators.CalibrationBelt(1)(p, y) == pytest.approx(ct.estimators.CoxCalibration()(p, y), rel=1e-13)


def test_bands_hold_the_polynomials_of_the_ellipsoid():
    p, y = data()
    curve = belt(ct.estimators.CalibrationBelt(), p, y, np.array([3.0, 8.0]))
    assert curve.degree == by_hand(p, y)[1] > 1
    design, model = fit(p, y, curve.degree)
    assert np.interp(p, curve.predictions, curve.curve) == pytest.approx(model.fittedvalues, abs=1e-3)
    assert (curve.predictions[0], curve.predictions[-1]) == pytest.approx((p.min(), p.max()))
    # Polynomials on the surface of the ellipsoid touch the band and do not leave it.
    covariance = model.cov_params()
    directions = np.random.default_rng(3).normal(size=(4000, curve.degree + 1)) @ np.linalg.cholesky(covariance).T
    lengths = np.sqrt(np.einsum("ij,jk,ik->i", directions, np.linalg.inv(covariance), directions))
    places = np.vander(special.logit(curve.predictions) / 3.0, curve.degree + 1, increasing=True)
    for low, high, critical in zip(curve.low, curve.high, (3.0, 8.0), strict=True):
        surface = model.params + np.sqrt(critical) * directions / lengths[:, None]
        values = special.expit(surface @ places.T)
        assert np.all(values >= low - 1e-9)
        assert np.all(values <= high + 1e-9)
        assert np.abs(values.min(axis=0) - low).max() < 0.02
        assert np.abs(values.max(axis=0) - high).max() < 0.02
    assert design.shape[1] == curve.degree + 1


@pytest.mark.parametrize("spread", [0.3, 1.5])
def test_sums_over_places_are_those_over_rows(spread):
    """For calibrated outcomes, curved ones, and some that are too steep and go back to the rows."""
    rng = np.random.default_rng(4)
    x = rng.normal(-0.5, spread, 12_000)
    truths = [*[x] * 12, *[0.2 + 0.7 * x + 0.1 * x**2] * 2, *[8.0 * x] * 2]
    outcomes = (rng.random((16, x.size)) < special.expit(truths)).astype(np.uint8)
    odds = LogOdds.of(special.expit(x), 4)
    assert odds.nodes.places.size < 1000
    assert odds.nodes.weights.sum() == pytest.approx(x.size)
    ratios, columns = odds.ratios(outcomes, 1.0)
    expected, selected = dataclasses.replace(odds, nodes=None).ratios(outcomes, 1.0)
    assert ratios == pytest.approx(expected, rel=1e-7)
    assert (columns == selected).all()
    assert len(set(columns)) > 1
    design = odds.columns(odds.nodes.places)
    doubtful = odds.nodes.selected_ratios(design, outcomes @ odds.design, odds.start, 1.0)[2]
    assert 2 <= doubtful.sum() < 8


def test_places_are_taken_where_rows_are_many_more():
    assert LogOdds.of(data(400)[0], 4).nodes is None
    assert LogOdds.of(data(10_000)[0], 4).nodes.places.size == 320


@pytest.mark.parametrize("event", [0, 1])
def test_bands_of_outcomes_that_are_all_the_same_hold_the_lines_that_are_likely(event):
    rng = np.random.default_rng(5)
    p, y, critical = rng.uniform(0.3, 0.95, 40), np.full(40, event), np.array([9.0, 4.0])
    curve = belt(ct.estimators.CalibrationBelt(), p, y, critical)
    assert (curve.curve == event).all()
    assert curve.degree == 1
    x, at = special.logit(p), special.logit(curve.predictions)
    slopes = np.sinh(rng.uniform(-4.0, 4.0, 40_000))
    starts = rng.uniform(-20.0, 20.0, slopes.size) - slopes * rng.choice(x, slopes.size)
    lines = starts[:, None] + slopes[:, None] * x
    ratios = 2.0 * np.logaddexp(0.0, -lines if event else lines).sum(axis=1)
    inner, outer = (curve.low, curve.high) if event else (curve.high, curve.low)
    assert (outer == event).all()
    for end, limit in zip(inner, critical, strict=True):
        likely = ratios <= limit
        values = special.expit(starts[likely, None] + slopes[likely, None] * at)
        ends = values.min(axis=0) if event else values.max(axis=0)
        assert ((ends >= end - 1e-3) if event else (ends <= end + 1e-3)).all()
        # Steep lines, to which ends belong at the outermost places, are rare among random ones.
        assert ends[5:-5] == pytest.approx(end[5:-5], abs=0.08)


@pytest.mark.parametrize("limit", [0.99, 1.01])
def test_the_diagonal_is_in_the_band_of_outcomes_that_are_all_the_same_as_the_test_says(limit):
    p = np.linspace(0.6, 0.95, 30)
    statistic = ct.estimators.CalibrationBelt()(p, np.ones(30, dtype=int))
    curve = belt(ct.estimators.CalibrationBelt(), p, np.ones(30, dtype=int), np.array([limit * statistic]))
    assert (curve.low[0] <= curve.predictions + 1e-4).all() == (limit > 1.0)


def test_degenerate_predictions():
    equal = ct.MonteCarloTest(ct.estimators.CalibrationBelt(), 19)([0.3] * 5, [1, 0, 0, 1, 0], rng=1)
    assert equal.estimate == pytest.approx(ct.estimators.CoxCalibration()([0.3] * 5, [1, 0, 0, 1, 0]))
    assert ct.estimators.CalibrationBelt()([0.0, 1.0], [0, 1]) == 0.0
    few = np.array([0.2, 0.2, 0.6, 0.6, 0.6])
    assert ct.estimators.CalibrationBelt()(few, [0, 1, 0, 1, 1]) == pytest.approx(
        ct.estimators.CoxCalibration()(few, [0, 1, 0, 1, 1])
    )
    separated = np.linspace(0.1, 0.9, 12)
    y = (separated > 0.5).astype(int)
    assert np.isfinite(ct.estimators.CalibrationBelt()(separated, y))
    with pytest.raises(ValueError, match="separate the outcomes"):
        belt(ct.estimators.CalibrationBelt(), separated, y, np.array([3.0]))
    with pytest.raises(ValueError, match="got only one value"):
        belt(ct.estimators.CalibrationBelt(), np.full(5, 0.3), np.array([1, 0, 0, 1, 0]), np.array([3.0]))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ct.estimators.CalibrationBelt(0), "max_degree: got 0"),
        (lambda: ct.estimators.CalibrationBelt(5), "max_degree: got 5, wanted at most 4"),
        (lambda: ct.estimators.CalibrationBelt(3, 1.0), "selection: got 1.0"),
    ],
)
def test_bad_settings(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_bad_input():
    with pytest.raises(TypeError, match="of 3 classes, wanted binary ones for CalibrationBelt"):
        ct.estimators.CalibrationBelt()(np.full((6, 3), 1 / 3), np.arange(6) % 3)
