"""Rows of faults of vectors, against sums over the observations."""

import numpy as np
import pytest
from scipy import stats

import caltest as ct
from caltest.estimators.combined.findings import findings_of
from caltest.predictions.faults import Fit
from caltest.predictions.faults.numbers.scores import Scores
from caltest.predictions.faults.numbers.shapes import HeavyTails, Outliers
from caltest.predictions.faults.patterns import Pattern
from caltest.predictions.faults.vectors.faults import (
    Correlation,
    OfCoordinate,
    PoolCorrelation,
    RadialOutliers,
    RadialTails,
    products,
    radius_and_cubes,
    sums_by_own,
    total_squares,
)
from caltest.predictions.faults.vectors.scores import VectorScores
from caltest.predictions.inputs.convert import as_sample


def test_products_and_cubes_are_sums_over_the_observations():
    rng = np.random.default_rng(1)
    z, features = rng.normal(size=(3, 7, 4)), rng.normal(size=(2, 7))
    seen = VectorScores(ct.MvNormal(np.zeros((7, 4)), 1.0), z, np.arange(7.0))
    pairs = [(a, b) for a in range(4) for b in range(a + 1, 4)]
    expected = [[np.sum(f * one[:, a] * one[:, b]) for one in z] for f in features for a, b in pairs]
    assert products(features, slice(None), seen) == pytest.approx(np.array(expected), rel=1e-12)
    assert products(features, slice(-1, None), seen) == pytest.approx(np.array(expected[6:]), rel=1e-12)
    assert products(features[1:], slice(None), seen) == pytest.approx(np.array(expected[6:]), rel=1e-12)
    assert radius_and_cubes(seen)[1] == pytest.approx((z**3).sum(axis=2) @ np.arange(7.0), rel=1e-12)
    assert radius_and_cubes(seen)[0] == pytest.approx(np.square(((z**2).sum(axis=2) - 4.0) / 8.0**0.5) @ np.arange(7.0))
    assert total_squares(seen) == pytest.approx((z**2).sum(axis=2), rel=1e-12)
    for power in (1, 2):
        own = [[np.sum(f * one[:, t] ** power) for one in z] for t in range(2) for f in features]
        assert sums_by_own([features, features], power, seen) == pytest.approx(np.array(own), rel=1e-12)


CORRELATED = ct.MvNormal(np.zeros((400, 2)), np.tile([[1.0, 0.6], [0.6, 1.0]], (400, 1, 1)))


def test_correlations_promise_what_their_slope_at_none_does():
    """The square of the derivative of the log likelihood over its variance, which is that of a Monte Carlo sample."""
    signs = np.where(np.arange(400) < 150, 1.0, -1.0)
    fault = Correlation([(0, 1)], [Pattern(signs)])

    def slope(y):
        seen = VectorScores(CORRELATED, y[None], np.ones(400))
        return (fault.log_ratio(seen, 0, 1e-4) - fault.log_ratio(seen, 0, -1e-4)) / 2e-4, fault.promising(seen)[0]

    found = np.array([slope(CORRELATED.sample(seed)) for seed in range(200)])
    ratios = np.square(found[:, 0]) / found[:, 1]
    assert np.ptp(ratios) < 1e-4 * ratios[0]
    assert ratios[0] == pytest.approx(found[:, 0].var(), rel=0.3)  # 3 standard errors


def test_faults_of_a_coordinate_are_those_of_its_numbers():
    y = np.random.default_rng(2).standard_t(3, size=(400, 2)) / 3.0**0.5
    w = np.linspace(0.5, 1.5, 400)
    seen, fit = VectorScores(CORRELATED, y[None], w), Fit(0.2, 0.1, 0.3)
    for of_numbers in (HeavyTails(), Outliers(400.0)):
        fault, alone = OfCoordinate(2 * [of_numbers]), Scores(ct.Normal(np.zeros(400), 1.0), y[None, :, 1], w)
        assert fault.words(seen, 1, fit) == f"in coordinate 1 {of_numbers.words(alone, 0, fit)}"
        assert fault.size(seen, 1, 0.2) == of_numbers.size(alone, 0, 0.2)
        assert fault.log_ratio(seen, 1, 0.2) == pytest.approx(of_numbers.log_ratio(alone, 0, 0.2))
        assert (fault.place(1), fault.n_siblings) == ("coordinate 1", 2)
        assert fault.n_choices == 2 * (of_numbers.n_choices or 1)
    e = np.clip(y, -6.0, 6.0)
    third, fourth = (w @ one / w.sum() for one in (e**3 - 3.0 * e, e**4 - 6.0 * e**2 + 3.0))
    assert fault.promising(seen) == pytest.approx(np.square(third) / 6.0 + np.abs(fourth) / 24.0)
    wide = np.where(np.arange(400)[:, None] < [200, 201], 2.0, 0.0)
    promised = fault.promising(VectorScores(CORRELATED, wide[None], np.ones(400)))
    assert promised[1] == -np.inf < promised[0]


@pytest.mark.parametrize(("share", "promised"), [(0.49, -np.inf), (0.5, 0.0)])
def test_tails_of_all_coordinates_are_looked_for_where_half_of_the_errors_are_not_wide(share, promised):
    """As wide for the chi-squared law of two coordinates as 1.1 standard deviations are for its median, of one."""
    edge = 1.1 * (2.0 * np.log(2.0) / stats.chi2.ppf(0.5, 1)) ** 0.5
    radius = np.where(np.arange(400) < 400 * share, 0.999, 1.001) * edge
    seen = VectorScores(ct.MvNormal(np.zeros((400, 2)), 1.0), np.outer(radius, [0.6, 0.8])[None], np.ones(400))
    assert RadialTails().promising(seen) == [promised]


def test_words_about_tails_of_all_coordinates():
    """The share of errors outside of the region of 99 %, of which the squared radius is that of the chi-squared law."""
    y = np.zeros((400, 2))
    y[:12, 0] = 1.001 * stats.chi2.ppf(0.99, 2) ** 0.5
    y[12:100, 1] = 0.999 * stats.chi2.ppf(0.99, 2) ** 0.5
    seen = VectorScores(ct.MvNormal(np.zeros((400, 2)), 1.0), y[None], np.ones(400))
    words = RadialTails().words(seen, 0, Fit(0.2, 0.1, 0.25))
    assert words.endswith("t with 5 (4 to 10) degrees of freedom: 3 % of them are outside of the region for 99 %")


@pytest.mark.parametrize("n_members", [4, 5])
def test_correlations_of_errors_are_looked_for_from_five_members_on(n_members):
    pools = np.random.default_rng(1).normal(size=(40, n_members + 1, 2))
    kinds = as_sample(ct.Ensemble(pools[:, 1:]), pools[:, 0]).predictions.law.faults().kinds
    assert sum(isinstance(one, PoolCorrelation) for one in kinds) == (n_members == 5)


def test_correlations_of_ensembles_are_those_of_the_outcomes():
    """By densities of Student's t of two numbers; what is printed is the correlation, not how far it is off."""
    rng, m = np.random.default_rng(5), 7
    pools = rng.multivariate_normal([0.0, 0.0], [[1.0, 0.7], [0.7, 1.0]], (400, m + 1))
    sample, w = as_sample(ct.Ensemble(pools[:, 1:]), pools[:, 0]), rng.uniform(0.5, 2.0, 400)
    seen = VectorScores(sample.predictions.law, np.asarray(sample.targets)[None], w)
    errors = rng.normal(size=(5, 2))

    def density(z, r):
        return stats.multivariate_t([0.0, 0.0], [[1.0, r], [r, 1.0]], df=m - 1.0).logpdf(z)

    for r in (-0.5, 0.3, 0.9):
        logs = seen.log_of_correlation(errors, r) - seen.log_of_correlation(errors, 0.0)
        assert logs == pytest.approx(density(errors, r) - density(errors, 0.0), rel=1e-9)
    fault, known = PoolCorrelation([(0, 1)]), seen.correlation_of_members(0, 1)
    assert known == pytest.approx(0.7, abs=0.1)
    for t in (-0.4, 0.1):
        ratio = w @ (density(seen.errors, known + t) - density(seen.errors, known))
        assert fault.log_ratio(seen, 0, t) == pytest.approx(ratio, rel=1e-9)
        assert fault.size(seen, 0, t) == pytest.approx(known + t)
    members = np.clip(seen.errors_of_members, -6.0, 6.0).prod(axis=1).mean()
    own = np.average(np.clip(seen.errors, -6.0, 6.0).prod(axis=1), weights=w)
    assert fault.promising(seen) == pytest.approx([abs(own - members)])
    low, high = fault.bounds(seen, 0)
    assert known + low == pytest.approx(-known - high)
    assert 0.9 < known + high < 1.0


@pytest.mark.parametrize("t", [0, 2])
def test_errors_of_all_coordinates_are_named_together_in_places(t):
    rng = np.random.default_rng(t)
    m = rng.normal(size=(800, 3))
    y = m + np.where(m[:, t : t + 1] < 0.0, 1.5, 1.0) * rng.normal(size=(800, 3))
    found = ct.calibration_test(ct.MvNormal(m, np.ones((800, 3))), y, n_resamples=19, rng=1).finding
    assert found.kind == "local common scale"
    assert found.place.startswith(f"where predicted means of coordinate {t} are at most")
    assert found.interval.low < 1.5 < found.interval.high
    assert found.second is None


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("share", [0.05, 1 / 3, 1.0])
def test_coordinates_that_are_exchanged_are_named(seed, share):
    rng = np.random.default_rng(seed)
    spread = np.array([1.0, 1.5, 1.0])
    mean = rng.normal(size=(600, 3)) * 2.0 + [0.0, 3.0, 0.0]
    y = mean + spread * rng.normal(size=(600, 3))
    some = rng.random(600) < share
    y[some] = y[some][:, [1, 0, 2]]
    found = findings_of(as_sample(ct.MvNormal(mean, np.broadcast_to(spread**2, (600, 3))), y))[0]
    assert (found.kind, found.place) == ("exchanged", "coordinates 0 and 1")
    assert found.interval.low - 1e-9 <= share <= found.interval.high + 1e-3
    assert found.words.startswith("coordinates 0 and 1 are exchanged in about ")


@pytest.mark.parametrize("seed", range(4))
def test_outliers_in_all_coordinates_or_in_one_are_told_apart(seed):
    rng = np.random.default_rng(seed)
    covariance = np.array([[1.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 1.0]])
    errors = rng.normal(size=(1000, 3)) @ np.linalg.cholesky(covariance).T
    mean, far = rng.normal(size=(1000, 3)), rng.random(1000) < 0.03
    law = ct.MvNormal(mean, np.broadcast_to(covariance, (1000, 3, 3)))
    found = findings_of(as_sample(law, mean + np.where(far[:, None], 5.0, 1.0) * errors))[0]
    assert (found.kind, found.place) == ("outliers of all", "")
    assert found.interval.low < 0.03 < found.interval.high
    assert found.words.endswith("times as large as predicted, in all coordinates together")
    found = findings_of(as_sample(law, mean + np.where(far[:, None] & [False, False, True], 6.0, 1.0) * errors))[0]
    assert (found.kind, found.place) == ("outliers", "coordinate 2")


def test_errors_without_outliers_in_all_coordinates_are_normal():
    """The radius has the same probability beyond it as before, which far errors lose."""
    errors = np.array([[0.1, 0.2, 0.3], [1.0, -1.0, 0.5], [20.0, 10.0, 0.0]])
    seen = VectorScores(ct.MvNormal(np.zeros((3, 3)), 1.0), errors[None], np.ones(3))
    seen.__dict__["_outlier_scale_kept"] = {(): 6.0}
    moved = RadialOutliers(3.0).corrected(seen, 0, 0.03)
    squares, after = np.square(errors).sum(axis=1), np.square(moved).sum(axis=1)
    beyond = 0.97 * stats.chi2.sf(squares, 3) + 0.03 * stats.chi2.sf(squares / 36.0, 3)
    assert stats.chi2.sf(after, 3) == pytest.approx(beyond, rel=1e-9)
    assert moved / errors.clip(1e-9) == pytest.approx(np.sqrt(after / squares)[:, None] * (errors / errors.clip(1e-9)))
