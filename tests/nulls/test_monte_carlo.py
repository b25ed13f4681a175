"""Sequential stopping and joint statistics of the exact Monte Carlo test."""

import numpy as np
import pytest
from scipy import stats

import caltest as ct
from caltest.predictions.convert import as_sample

P = np.random.default_rng(1).dirichlet(np.ones(3), 40)
Y = ct.Categorical(P).sample(2)
KERNEL = ct.Categorical(P).default_kernel()


def test_pvalues_of_two_coins_against_their_enumerated_law(replications):
    """The error of two coins is 0 or 1/2 with equal probability: of B = 3 redraws m are as large or larger."""
    rng, number = np.random.default_rng(2), replications(1000, 4000)
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
def test_stopped_pvalues_are_valid(replications):
    n_sets, rng = replications(400, 4000), np.random.default_rng(3)
    test = ct.CalibrationTest(ct.SKCE(KERNEL), ct.nulls.ConditionalMonteCarlo(199, stop_after=5))
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
