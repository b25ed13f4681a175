"""Sequential stopping and joint statistics of the exact Monte Carlo test."""

import numpy as np
import pytest
from samples import TV, W2, samples
from scipy import stats
from slow import simulated_covariance

import caltest as ct
from caltest.hstatistics.variances.covariance import deviation_covariance, whitening
from caltest.nulls import monte_carlo
from caltest.predictions import Sample
from caltest.predictions.classes.finite import FinitePredictions
from caltest.predictions.inputs.convert import as_sample

P = np.random.default_rng(1).dirichlet(np.ones(3), 40)
Y = ct.Categorical(P).sample(2)
KERNEL = ct.Categorical(P).default_kernel()


def test_pvalues_of_two_coins_against_their_enumerated_law(replications):
    """The error of two coins is 0 or 1/2 with equal probability: of B = 3 redraws m are as large or larger."""
    rng, number = np.random.default_rng(2), replications(400, 4000)
    test = ct.MonteCarloTest(ct.ECE(ct.binning.UniformBinning(1)), 3)
    pvalues = np.array([test([0.5, 0.5], rng.integers(2, size=2), rng=rng).pvalue for _ in range(number)])
    law = {}
    for m in range(4):
        weight = stats.binom(3, 0.5).pmf(m) / 2.0
        # An observed error of 1/2 ties with the m redraws that have it; one of 0 is never larger than a redraw.
        for value in ((1 + m) / 4, 1.0):
            law[value] = law.get(value, 0.0) + weight
    for value, probability in law.items():
        share = np.mean(np.isclose(pvalues, value))
        assert share == pytest.approx(probability, abs=4.5 * np.sqrt(probability * (1 - probability) / number))


@pytest.mark.parametrize("estimator", [ct.SKCE(KERNEL.resolve(ct.Categorical(P))), ct.MMCE()], ids=["SKCE", "MMCE"])
def test_redraws_of_predictions_are_those_of_a_test(estimator):
    null, predictions = ct.nulls.ConditionalMonteCarlo(19), ct.Categorical(P)
    redraws = null.redraws(estimator, predictions, np.random.default_rng(3))
    _, _, draws = null.resample(estimator, as_sample(P, Y), np.random.default_rng(3))
    assert redraws == pytest.approx(draws, rel=1e-12)


@pytest.mark.parametrize("stop_after", [1, 3, 10, 40])
@pytest.mark.parametrize("seed", range(4))
def test_stopping_looks_at_the_same_redraws(stop_after, seed):
    y = ct.Categorical(P).sample(seed)
    whole = ct.MonteCarloTest(ct.SKCE(KERNEL), 150)(P, y, rng=5)
    stopped = ct.CalibrationTest(ct.SKCE(KERNEL), ct.nulls.ConditionalMonteCarlo(150, stop_after=stop_after))(
        P, y, rng=5
    )
    large = np.flatnonzero(whole.null_distribution >= whole.estimate)
    assert stopped.estimate == pytest.approx(whole.estimate, rel=1e-12)
    if large.size < stop_after:
        assert stopped.pvalue == whole.pvalue
        assert stopped.n_resamples == 150
    else:
        last = large[stop_after - 1] + 1
        assert stopped.pvalue == pytest.approx(stop_after / last)
        assert stopped.n_resamples == last
        assert stopped.null_distribution == pytest.approx(whole.null_distribution[:last], rel=1e-9, abs=1e-15)


@pytest.mark.statistical
@pytest.mark.usefixtures("without_findings")
def test_stopped_pvalues_are_valid(replications):
    (n_sets, n_resamples), rng = replications((120, 99), (4000, 199)), np.random.default_rng(3)
    test = ct.CalibrationTest(ct.SKCE(KERNEL), ct.nulls.ConditionalMonteCarlo(n_resamples, stop_after=5))
    pvalues = np.array([test(P, ct.Categorical(P).sample(rng), rng=rng).pvalue for _ in range(n_sets)])
    for alpha in (0.01, 0.05, 0.2, 0.5):
        assert np.sum(pvalues <= alpha) <= stats.binom(n_sets, alpha).ppf(0.995)


def test_bad_settings():
    with pytest.raises(ValueError, match="stop_after: got 0, wanted"):
        ct.nulls.ConditionalMonteCarlo(9, stop_after=0)
    with pytest.raises(TypeError, match=r"got Omnibus .* stop_after looks at redraws one by one"):
        ct.CalibrationTest(ct.estimators.Omnibus(), ct.nulls.ConditionalMonteCarlo(9, stop_after=5))


def test_descriptions():
    assert "until 5 are as large" in ct.nulls.ConditionalMonteCarlo(99, stop_after=5).describe()


def test_stopping_at_the_last_large_draw_of_all():
    y = ct.Categorical(P).sample(0)
    whole = ct.CalibrationTest(ct.SKCE(KERNEL), ct.nulls.ConditionalMonteCarlo(40))(P, y, rng=5)
    large = np.flatnonzero(whole.null_distribution >= whole.statistic)
    assert large.size > 0
    null = ct.nulls.ConditionalMonteCarlo(40, stop_after=int(large.size))
    assert ct.CalibrationTest(ct.SKCE(KERNEL), null)(P, y, rng=5).pvalue == large.size / (large[-1] + 1)


N = 40
_, P_CME, Y_CME, NORMAL, TARGETS = samples(N, 3)


def covariance(kernel, predictions, locations):
    return deviation_covariance(kernel, predictions, locations, np.random.default_rng(1))


@pytest.mark.parametrize("j", [1, 4])
def test_statistic_by_hand(j):
    ucme = ct.UCME(TV, P_CME[:j], Y_CME[:j])
    sums = ucme.deviations(Sample(ct.Categorical(P_CME), Y_CME)).sum(axis=0)
    v = covariance(TV, ct.Categorical(P_CME), Sample(ct.Categorical(P_CME[:j]), Y_CME[:j]))
    result = ct.ScoreCMETest(ucme, 2)(P_CME, Y_CME, rng=1)
    assert result.statistic == pytest.approx(sums @ np.linalg.solve(v, sums), rel=1e-8)
    assert result.estimate == pytest.approx(np.mean((sums / N) ** 2), rel=1e-12)


@pytest.mark.parametrize(("kernel", "p", "y"), [(TV, ct.Categorical(P_CME), Y_CME), (W2, NORMAL, TARGETS)])
def test_exact_version_by_hand(kernel, p, y):
    ucme = ct.UCME(kernel, p.take(slice(0, 3)), y[:3])
    result = ct.ScoreCMETest(ucme, n_resamples=40)(p, y, rng=4)
    v = covariance(kernel, p, Sample(p.take(slice(0, 3)), y[:3]))
    _, draws = np.random.default_rng(4).spawn(2)
    redraws = np.concatenate([p.sample(g, size) for g, size in zip(draws.spawn(2), (32, 8), strict=True)])
    values = []
    for targets in (y, *redraws):
        sums = ucme.deviations(Sample(p, targets)).sum(axis=0)
        values.append(sums @ np.linalg.solve(v, sums))
    assert result.statistic == pytest.approx(values[0], rel=1e-8)
    assert result.null_distribution == pytest.approx(values[1:], rel=1e-7)
    assert result.pvalue == (1 + np.sum(np.array(values[1:]) >= values[0])) / 41
    assert result.pvalue_kind == "exact"


def _rank(ucme, p):
    predictions = p if isinstance(p, ct.predictions.Predictions) else ct.Categorical(p)
    covariance = deviation_covariance(ucme.kernel, predictions, ucme.locations, np.random.default_rng(1))
    return whitening(covariance, monte_carlo.TOLERANCE).shape[1]


def test_more_locations_than_observations():
    ucme = ct.UCME(TV, P_CME[:20], Y_CME[:20])
    few = ct.ScoreCMETest(ucme, 400)(P_CME[:6], Y_CME[:6], rng=1)
    mean = few.null_distribution.mean()
    assert mean <= 12.0 + 4.0 * few.null_distribution.std() / 20.0  # six predictions with two free residuals each
    assert mean == pytest.approx(_rank(ucme, P_CME[:6]), rel=0.1)


def test_duplicate_locations_are_of_no_effect():
    once, twice = (ct.UCME(TV, P_CME[index], Y_CME[index]) for index in ([0, 1, 2], [0, 1, 2, 1]))
    one, other = (ct.ScoreCMETest(ucme, 9)(P_CME, Y_CME, rng=1) for ucme in (once, twice))
    assert other.statistic == pytest.approx(one.statistic, rel=1e-7)
    assert other.null_distribution == pytest.approx(one.null_distribution, rel=1e-7)
    assert _rank(twice, P_CME) == _rank(once, P_CME) == 3


@pytest.mark.parametrize(("distance", "rank"), [(1e-2, 2), (1.5e-4, 2), (7e-5, 1)])
def test_locations_that_are_nearly_the_same(distance, rank):
    """The ratio of the eigenvalues of the correlations, which are 1 -+ c, is about the square of their distance."""
    locations = ct.Normal([0.3, 0.3], 0.5), np.array([0.2, 0.2 + distance])
    v = covariance(W2, NORMAL, Sample(*locations))
    correlation = v[0, 1] / np.sqrt(v[0, 0] * v[1, 1])
    assert (1.0 - correlation) / (1.0 + correlation) == pytest.approx(distance**2, rel=0.05)
    assert _rank(ct.UCME(W2, *locations), NORMAL) == rank


def test_deviations_that_do_not_vary():
    for kernel, p, y in ((TV, ct.Categorical(np.eye(3)[Y_CME]), Y_CME), (W2, ct.Normal(NORMAL.mean, 0.0), NORMAL.mean)):
        ucme = ct.UCME(kernel, p.take(slice(0, 2)), y[:2])
        with pytest.raises(ValueError, match="the deviations do not vary at any location"):
            ct.ScoreCMETest(ucme, 9)(p, y)


def test_covariance_of_other_kernels_is_drawn():
    """Laplacian kernels have no formula here; the covariance of 256 draws for each prediction is close."""
    kernel = ct.ProductKernel(ct.ExponentialKernel(ct.Wasserstein(), 1.0), ct.LaplacianKernel(0.7))
    locations = Sample(NORMAL.take(slice(0, 3)), TARGETS[:3])
    assert not isinstance(NORMAL, FinitePredictions)
    mean, _ = simulated_covariance(kernel, NORMAL, locations, 1500)
    assert covariance(kernel, NORMAL, locations) == pytest.approx(mean, abs=0.1 * np.abs(mean).max())
    ucme = ct.UCME(kernel, locations.predictions, locations.targets)
    results = [ct.ScoreCMETest(ucme, 19)(NORMAL, TARGETS, rng=1) for _ in range(2)]
    assert results[0].statistic == results[1].statistic
