"""Sizes and powers for ensembles: perfect ones are no more rejected than they should, wrong ones are found."""

import numpy as np
import pytest
from grids import thinned
from samples import ensemble_and_outcomes
from scipy import stats

import caltest as ct

pytestmark = pytest.mark.statistical

SETS = {16: 1000, 100: 500, 500: 100}
"""Data sets of n cases in the full run."""
CELLS = [(m, d, n) for m in (1, 5, 20, 51) for d in (1, 3) for n in SETS]
KEPT = [(1, 1, 16), (5, 3, 16), (20, 1, 16), (51, 3, 16)]


@pytest.mark.every(3)
@pytest.mark.parametrize(("m", "d", "n"), thinned(CELLS, KEPT))
def test_perfect_ensembles_are_rejected_as_often_as_they_should(n, m, d, replications, without_findings):
    """Rejections between the 0.5 % and the 99.5 % quantile of the binomial law."""
    sets, n_resamples, alphas = replications((20, 19, (0.5, 0.05)), (SETS[n], 39, (0.05,)))
    rng, pvalues = np.random.default_rng([n, m, d]), []
    for _ in range(sets):
        sample = ensemble_and_outcomes(rng, n, m, d)
        pvalues.append(ct.calibration_test(*sample, n_resamples=n_resamples, rng=rng).pvalue)
    for alpha in alphas:
        low, high = stats.binom.ppf([0.005, 0.995], sets, alpha)
        assert low <= np.count_nonzero(np.array(pvalues) <= alpha) <= high


@pytest.mark.parametrize(("spread", "words"), [(0.8, "too narrow"), (1.25, "too wide")])
def test_wrong_spreads_are_found(spread, words, replications):
    """In 95 % of data sets with 500 cases and 20 members: at least the 0.5 % quantile of the binomial law."""
    sets, rng = replications(2, 200), np.random.default_rng(7)
    results = [
        ct.calibration_test(*ensemble_and_outcomes(rng, 500, 20, 1, spread), n_resamples=39, rng=rng)
        for _ in range(sets)
    ]
    found = [result for result in results if result.pvalue <= 0.05]
    assert len(found) >= stats.binom.ppf(0.005, sets, 0.95)
    assert words in found[0].finding.words
