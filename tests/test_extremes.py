"""Outcomes and parameters that are as extreme as floating point numbers get, and predictions that do not differ."""

import numpy as np
import pytest
from printed import unfolded

import caltest as ct

N = 40
RNG = np.random.default_rng(1)
MEAN, ZEROS, UNIT = RNG.normal(size=N), np.zeros(N), RNG.random(N)
CORRELATED = np.array([[1.0, 0.5], [0.5, 1.0]])


def tile(row, n=N):
    return np.broadcast_to(row, (n, *np.shape(row)))


OUTLYING = {
    "Normal": ct.Normal(MEAN, 1.0),
    "Laplace": ct.Laplace(MEAN, 1.0),
    "StudentT": ct.StudentT(30.0, MEAN, 1.0),
    "Gamma": ct.Gamma(2.0, 1.0 + UNIT),
    "LogNormal": ct.LogNormal(MEAN, 1.0),
    "MvNormal": ct.MvNormal(np.c_[MEAN, MEAN], 1.0),
    "MvNormal, full": ct.MvNormal(np.c_[MEAN, MEAN], tile(CORRELATED)),
    "Mixture": ct.Mixture([ct.Normal(MEAN, 1.0), ct.Normal(MEAN + 1.0, 1.0)]),
}


def with_outlier(predictions, outcome):
    y = predictions.sample(rng=1)
    y.reshape(N, -1)[7] = outcome
    return y


@pytest.mark.every(7)
@pytest.mark.parametrize("outcome", [1e30, 1e200, 1.7e308])
@pytest.mark.parametrize("predictions", OUTLYING.values(), ids=OUTLYING)
def test_one_outlier_has_the_smallest_pvalue(predictions, outcome):
    result = ct.calibration_test(predictions, with_outlier(predictions, outcome), n_resamples=99, rng=1)
    assert result.pvalue == 0.01
    assert np.isfinite([value for one in result.components for value in (one.statistic, one.pvalue)]).all()


@pytest.mark.parametrize("outcome", [1e200, 1e300])
@pytest.mark.parametrize("name", ["Normal", "MvNormal", "MvNormal, full", "Laplace"])
def test_sequential_test_of_an_outlier(name, outcome):
    test = ct.SequentialCalibrationTest().update(OUTLYING[name], with_outlier(OUTLYING[name], outcome))
    assert np.isfinite(test.history).all()
    assert test.history[7] > test.history[6] + 5.0
    assert test.pvalue < 1e-6


MEMBERS = MEAN[:, None] + RNG.normal(size=(N, 19))
POOLED = {
    "numbers": (ct.Ensemble(MEMBERS), ct.kernels.Wasserstein()),
    "one member": (ct.Ensemble(MEMBERS[:, :1]), ct.kernels.Wasserstein()),
    "vectors": (ct.Ensemble(np.stack([MEMBERS, MEMBERS[:, ::-1]], axis=2)), ct.kernels.EnergyDistance()),
}


@pytest.mark.every(8)
@pytest.mark.parametrize("name", POOLED)
@pytest.mark.parametrize("outcome", [1e155, 1e200, -1.7e308])
@pytest.mark.parametrize("rows", [[7], [7, 20], range(N)], ids=["one", "two", "all"])
def test_outliers_of_ensembles_are_as_far_as_distances_are_finite(name, outcome, rows):
    """Their p-values are those of nearer outliers, in every test, and the smallest if all outcomes are outliers."""
    predictions, metric = POOLED[name]
    kernel = ct.ProductKernel(ct.ExponentialKernel(metric, 1.0), ct.GaussianKernel(bandwidth=1.0))

    def answers(far):
        y = MEAN.copy() if name != "vectors" else np.c_[MEAN, MEAN]
        y.reshape(N, -1)[list(rows), 0] = far
        tests = [
            ct.calibration_test(predictions, y, n_resamples=39, rng=1),
            ct.MonteCarloTest(ct.SKCE(kernel), 39)(predictions, y, rng=1),
            ct.calibration_by_group(predictions, y, np.arange(N) % 2, n_resamples=39, rng=1),
            ct.SequentialCalibrationTest().update(predictions, y),
        ]
        return [test.pvalue for test in tests]

    found = answers(outcome)
    assert found == pytest.approx(answers(np.copysign(1e140, outcome)), rel=1e-12)
    assert len(rows) < N or found[:2] == [0.025, 0.025]


def test_pools_are_told_apart_beside_an_outlier():
    """The median distance is that of the others; rounding is that of most predictions, not of the farthest."""
    y = np.where(np.arange(N) == 7, 1e100, MEAN)
    kernel = ct.Ensemble(MEMBERS).default_kernel().resolve(ct.Ensemble(MEMBERS).pooled(y))
    assert 0.1 < kernel.prediction_kernel.bandwidth < 10.0


def test_ensembles_that_are_all_extreme_have_to_be_rescaled():
    with pytest.raises(ValueError, match="rescale targets and predictions"):
        ct.calibration_test(ct.Ensemble(1e200 * MEMBERS), 1e200 * MEAN, n_resamples=9, rng=1)


def test_upper_tails_have_the_digits_of_lower_ones():
    """Scores of Laplace outcomes are odd in them, far beyond where 1 - F(y) is 0."""
    y = np.array([[1.0, 5.0, 50.0, 500.0]])
    above, below = (ct.Laplace(np.zeros(4), 1.0).standard_scores(sign * y) for sign in (1.0, -1.0))
    assert above == pytest.approx(-below, rel=1e-12)
    assert above[0, 3] > 30.0


TAILS = {
    "Normal": ct.Normal([0.3, 0.1], [1.0, 2.0]),
    "Laplace": ct.Laplace([0.3, 0.1], [1.0, 0.0]),
    "StudentT": ct.StudentT([3.0, 9.0], 0.3, 1.0),
    "Gamma": ct.Gamma([0.3, 3.0], 1.0),
    "LogNormal": ct.LogNormal([0.3, 0.0], 1.0),
    "Beta": ct.Beta([0.3, 3.0], 2.0),
    "Mixture": ct.Mixture([ct.Normal([0.3, 0.0], 1.0), ct.Normal([1.0, 2.0], 0.5)]),
    "Poisson": ct.Poisson([0.3, 3.0]),
}


@pytest.mark.parametrize("predictions", TAILS.values(), ids=TAILS)
def test_both_tails_sum_to_one(predictions):
    y = np.array([0.2, 0.7])
    assert predictions.cdf(y) + predictions.survival(y) == pytest.approx(1.0, abs=1e-14)


CONSTANT = {
    "Bernoulli": ct.Bernoulli(np.full(N, 0.3)),
    "Bernoulli, rounded": ct.Bernoulli(0.5 + 1e-16 * np.arange(N)),
    "Bernoulli, certain": ct.Bernoulli(ZEROS),
    "Categorical": ct.Categorical(tile([0.2, 0.3, 0.5])),
    "Ordinal": ct.Ordinal(tile([0.2, 0.3, 0.5])),
    "Normal": ct.Normal(ZEROS, 1.0),
    "Normal, rounded": ct.Normal(1.0 + 1e-15 * np.arange(N), 1.0),
    "Normal, certain": ct.Normal(ZEROS, 0.0),
    "Laplace": ct.Laplace(ZEROS, 1.0),
    "StudentT": ct.StudentT(3.0, ZEROS, 1.0),
    "Gamma": ct.Gamma(2.0, np.ones(N)),
    "LogNormal": ct.LogNormal(ZEROS, 1.0),
    "Beta": ct.Beta(2.0, np.ones(N)),
    "Poisson": ct.Poisson(np.full(N, 3.0)),
    "Poisson, certain": ct.Poisson(ZEROS),
    "NegativeBinomial": ct.NegativeBinomial(2.0, np.full(N, 0.4)),
    "MvNormal": ct.MvNormal(np.zeros((N, 2)), 1.0),
    "MvNormal, full": ct.MvNormal(np.zeros((N, 2)), tile(CORRELATED)),
    "Mixture": ct.Mixture([ct.Normal(ZEROS, 1.0), ct.Normal(ZEROS + 1.0, 2.0)]),
    "Scenarios": ct.Scenarios(tile(RNG.normal(size=9))),
    "Residuals": ct.standardised_residuals(ct.Normal(ZEROS, 1.0), ZEROS)[0],
}


@pytest.mark.every(5)
@pytest.mark.parametrize("predictions", CONSTANT.values(), ids=CONSTANT)
def test_constant_predictions_have_an_answer(predictions):
    y = predictions.sample(rng=3)
    result = ct.calibration_test(predictions, y, n_resamples=99, rng=1)
    assert result.pvalue > 0.01
    assert "all predictions are identical, so that every bandwidth gives the same kernel" in unfolded(result)
    assert {one.name for one in result.components} >= {"kernel error"}
    assert ct.OmnibusTest(n_resamples=99)(predictions, y, rng=1).pvalue == result.pvalue
    groups = ct.calibration_by_group(predictions, y, np.arange(N) % 2, n_resamples=19, rng=1)
    assert groups.pvalue > 0.05
    table = ct.compare_models({"a": predictions, "b": predictions}, y, n_resamples=19, rng=1)
    assert [one.pvalue > 0.05 for one in table.rows] == [True, True]


@pytest.mark.parametrize("rate", [0.1, 0.9])
def test_constant_predictions_that_are_wrong_are_found(rate):
    y = (np.arange(N) < rate * N).astype(int)
    result = ct.calibration_test(np.full(N, 0.5), y, n_resamples=99, rng=1)
    assert result.pvalue == 0.01
    assert {one.name for one in result.components if one.pvalue == 0.01} >= {"kernel error", "likelihood ratio"}


def test_targets_most_of_which_are_certain():
    scale = np.r_[np.zeros(30), np.full(10, 2.0)]
    predictions = ct.Normal(MEAN, scale)
    result = ct.calibration_test(predictions, predictions.sample(rng=1), n_resamples=99, rng=1)
    assert "exp(-|y - y'|^2 / (2 2^2))" in result.estimator
    assert any("more than half of the targets are predicted with certainty" in note for note in result.notes)


@pytest.mark.parametrize("predictions", [ct.Normal(MEAN, 1.0), ct.Categorical(RNG.dirichlet(np.ones(3), N))], ids=repr)
def test_the_likelihood_ratio_of_a_group_is_that_of_its_members(predictions):
    rows = np.arange(N) >= N // 2
    y = predictions.sample(rng=2)
    estimator = ct.estimators.Omnibus(predictions.default_kernel().resolve(predictions)).resolve(predictions)
    (ratio,) = (one for one in estimator.components if one.name == "likelihood ratio")
    part = predictions.take(rows)
    assert ratio.values(part, y[rows][None], None)[0, 0] == pytest.approx(
        ct.estimators.LogLikelihoodRatio()(part, y[rows]), rel=1e-12
    )


@pytest.mark.every(4)
@pytest.mark.parametrize("ratio", [1e5, 1e10, 1e50, 1e154])
@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.99])
def test_rank_of_covariances_does_not_depend_on_units(ratio, correlation):
    scales = np.array([1.0, ratio, 1.0 / ratio])
    matrix = correlation + (1.0 - correlation) * np.eye(3)
    covariance = scales[:, None] * scales * matrix
    predictions = ct.MvNormal(np.zeros((N, 3)), tile(covariance))
    assert not predictions.is_singular
    y = predictions.sample(rng=1)
    assert not predictions.impossible(y).any()
    assert not predictions.impossible(np.random.default_rng(2).standard_normal((N, 3)) * scales).any()
    draws = predictions.sample(rng=1, size=2000).reshape(-1, 3) / scales
    assert np.cov(draws.T) == pytest.approx(matrix, abs=0.03)
    _, z = ct.standardised_residuals(predictions, predictions.of_standard_scores(y / scales))
    assert z == pytest.approx(y / scales, rel=1e-8, abs=1e-9)
    assert ct.calibration_test(predictions, y, n_resamples=99, rng=1).pvalue > 0.01


def test_residuals_of_correlated_coordinates_are_by_the_symmetric_root():
    factor = RNG.normal(size=(3, 3))
    covariance = factor @ factor.T
    values, vectors = np.linalg.eigh(covariance)
    y = RNG.normal(size=(N, 3))
    _, z = ct.standardised_residuals(ct.MvNormal(np.zeros((N, 3)), tile(covariance)), y)
    assert z == pytest.approx(y @ (vectors / np.sqrt(values)) @ vectors.T, rel=1e-9)


def test_nearly_singular_covariances_do_not_exclude_their_own_outcomes():
    """Correlations whose smallest eigenvalue counts as 0: deviations of that size are possible, larger ones are not."""
    for gap in (1e-9, 1e-11, 1e-13, 0.0):
        rho = 1.0 - gap
        predictions = ct.MvNormal(np.zeros((500, 2)), tile(np.array([[1.0, rho], [rho, 1.0]]), 500))
        common, own = np.random.default_rng(1).standard_normal((2, 500))
        y = np.stack([common, rho * common + np.sqrt(1.0 - rho**2) * own], axis=1)
        assert not predictions.impossible(y).any()
        assert not predictions.impossible(predictions.sample(rng=1)).any()
        assert predictions.impossible(y + np.array([0.01, 0.0]))[0] == (gap < 1e-10)


@pytest.mark.parametrize("scale", [1e-10, 1.0, 1e10])
def test_outcomes_outside_of_a_subspace_are_impossible_in_any_units(scale):
    """The last two of three coordinates are the same; the first is in units that make it much larger or smaller."""
    scales = np.array([scale, 1.0, 1.0])
    correlations = np.array([[1.0, 0.5, 0.5], [0.5, 1.0, 1.0], [0.5, 1.0, 1.0]])
    predictions = ct.MvNormal(np.zeros((N, 3)), tile(scales[:, None] * scales * correlations))
    y = predictions.sample(rng=1)
    assert not predictions.impossible(y).any()
    y[3, 2] += 0.01
    assert np.flatnonzero(predictions.impossible(y)).tolist() == [3]


NO_DISTANCE = {
    "LogNormal": lambda: ct.LogNormal(UNIT, 30.0),
    "LogNormal, wide": lambda: ct.LogNormal(UNIT, 1e5),
    "Gamma, narrow": lambda: ct.Gamma(1e300, 1.0 + UNIT),
}


@pytest.mark.parametrize("make", NO_DISTANCE.values(), ids=NO_DISTANCE)
def test_distances_that_are_no_numbers(make):
    with pytest.raises((ValueError, ct.predictions.ClosedFormMissing), match=r"wanted|to_ensemble"):
        ct.calibration_test(make(), np.full(N, 0.5), n_resamples=19, rng=1)


HOT = {
    "Poisson": (ct.Poisson([0.5, 3.0]), 1e-5, "temperature: got 1e-05, with which a rate is inf"),
    "Gamma": (ct.Gamma([3.0], 1.0), 1e-310, "temperature: got 1e-310, with which shape is inf in place of 3"),
    "Normal": (ct.Normal([0.0], 1e-300), 1e-300, "with which scale is 0 in place of 1e-300"),
    "Laplace": (ct.Laplace([0.0], 1e300), 1e300, "with which scale is inf in place of 1e\\+300"),
    "MvNormal": (ct.MvNormal([[0.0], [0.0]], [1e300, 1.0]), 1e300, "with which a covariance is infinite"),
}


@pytest.mark.parametrize(("predictions", "temperature", "message"), HOT.values(), ids=HOT)
def test_temperatures_beyond_floating_point_numbers(predictions, temperature, message):
    with pytest.raises(ValueError, match=message):
        predictions.at_temperature(temperature)


WIDE = {
    "Normal": ct.Normal([0.0], 1.7e308),
    "Laplace": ct.Laplace([0.0], 1.7e308),
    "StudentT": ct.StudentT(1e-300, [0.0], 1.0),
    "Gamma": ct.Gamma(1000.0, [1e308]),
    "LogNormal": ct.LogNormal([0.0], 1e300),
    "Mixture": ct.Mixture([ct.Normal([0.0], 1.7e308), ct.Normal([0.0], 1.7e308)]),
    "Residuals": ct.standardised_residuals(ct.StudentT(1e-300, [0.0], 1.0), [0.0])[0],
}


@pytest.mark.parametrize("predictions", WIDE.values(), ids=WIDE)
def test_draws_beyond_floating_point_numbers_are_the_last_of_them(predictions):
    largest = np.finfo(float).max
    draws = predictions.sample(rng=1, size=400)
    assert np.isfinite(draws).all()
    assert draws.max() == largest
    predictions.check_targets(draws[:, 0][:1])
    if predictions.family == "LogNormal":
        assert draws.min() == 5e-324
    elif predictions.family != "Gamma":
        assert draws.min() == -largest


SHAPES = {
    "df": lambda value: ct.StudentT([2.0, value], 0.0, 1.0),
    "shape": lambda value: ct.Gamma([2.0, value], 1.0),
    "a": lambda value: ct.Beta([2.0, value], 1.0),
    "b": lambda value: ct.Beta(1.0, [2.0, value]),
}


@pytest.mark.parametrize("value", [0.0, 5e-324, 1e-301, 1e301, 1.7e308])
@pytest.mark.parametrize("name", SHAPES)
def test_shapes_without_a_law_in_floating_point_numbers(name, value):
    with pytest.raises(
        ValueError, match=f"{name}: got {value:.6g}".replace("+", r"\+") + " at row 1, wanted numbers above 0"
    ):
        SHAPES[name](value)


def test_temperatures_that_leave_the_range_of_shapes():
    for predictions in (ct.Gamma([3.0], 1.0), ct.Beta([3.0], 1.0)):
        with pytest.raises(ValueError, match="wanted numbers above 0, from 1e-300 to 1e300"):
            predictions.at_temperature(1e-305)


def test_variances_of_log_normals_are_numbers():
    log_mean, log_scale = np.array([0.0, 0.3, 1e5, -1e5, -1.7e308]), np.array([1.0, 1e-3, 1e-300, 5e-324, 1e300])
    variance = ct.LogNormal(log_mean, log_scale).moments()[1]
    exact = [np.expm1(1.0) * np.e, np.expm1(1e-6) * np.exp(0.6 + 1e-6), np.inf, 0.0, np.inf]
    assert variance == pytest.approx(exact, rel=1e-13)


@pytest.mark.parametrize("family", [ct.Categorical, ct.Ordinal])
def test_members_drawn_from_classes(family):
    """What the classes exclude is excluded for draws from them too, and the distribution function is theirs."""
    predictions = family([[0.0, 0.5, 0.5]] * 4, classes=["a", "b", "c"])
    members = predictions.to_ensemble(3, rng=1)
    targets = members.check_targets(["a", "b", "c", "c"])
    assert members.impossible(targets).tolist() == [True, False, False, False]
    if family is ct.Ordinal:
        assert members.cdf(targets).tolist() == [0.0, 0.5, 1.0, 1.0]


def test_couplings_of_infinite_costs():
    far = ct.Mixture([ct.Normal([0.0, 1e300], 1.0), ct.Normal([1.0, 1.0], 1.0)])
    with pytest.raises(ValueError, match="rescale the targets"):
        far.distance(ct.kernels.MixtureWasserstein(), far)
