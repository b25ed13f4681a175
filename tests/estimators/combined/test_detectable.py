"""The power against what is slightly wrong, from wrong data sets and redraws together."""

import numpy as np
import pytest
from scipy import stats

import caltest as ct
from caltest.estimators.combined.detectable import pooled
from caltest.predictions.numbers.claims import DEVIATION
from caltest.predictions.reductions.standard_scores import scores_of


def power(seed, shift=2.0, m=400, b=999, pooling=True):
    """Of a test that rejects for large normal numbers, with another number that tells more of the shift."""
    rng = np.random.default_rng(seed)
    right, wrong = rng.normal(size=(2, b)), rng.normal(size=(2, m)) + np.array([[0.5], [1.0]]) * shift
    right[0], wrong[0] = right.sum(axis=0) / np.sqrt(2.0), wrong.sum(axis=0) / np.sqrt(2.0)
    if not pooling:
        return np.mean(wrong[0][:, None] >= np.quantile(right[0], 0.95))
    # The log ratio of both numbers, of which the first is a sum, up to a constant.
    ratios = [shift * (0.5 * (np.sqrt(2.0) * one[0] - one[1]) + one[1]) for one in (wrong, right)]
    pvalues, weights = pooled((wrong[0], right[0]), [one + 17.0 for one in ratios])
    assert weights.sum() == pytest.approx(1.0, rel=1e-9)
    return weights[pvalues <= 0.05].sum()


def test_pooled_powers_are_right_and_vary_less():
    exact = stats.norm.sf(stats.norm.isf(0.05) - 3.0 / np.sqrt(2.0))
    found = np.array([power(seed) for seed in range(100)])
    assert found.mean() == pytest.approx(exact, abs=0.008)
    assert found.std() < 0.75 * np.std([power(seed, pooling=False) for seed in range(100)])


def test_pooled_powers_of_what_is_clear_are_one():
    wrong, right = np.arange(50.0) + 1000.0, np.arange(99.0)
    pvalues, weights = pooled((wrong, right), (wrong, right))
    assert pvalues[:50].max() == pytest.approx(0.0, abs=1e-9)
    assert weights[:50].sum() == pytest.approx(1.0)


@pytest.mark.parametrize("k", [2, 3, 40])
def test_the_excess_log_loss_tells_how_likely_labels_are_if_they_are_wrong(k):
    p = ct.Categorical(np.random.default_rng(k).dirichlet(np.full(k, 0.5), 60))
    _, labels, (name, n_rows, factor) = p.slightly_wrong(1, 20)
    moved = p.at_temperature(1.0 / (1.0 - factor / len(p)))
    expected = np.array([np.sum(moved.log_density(one) - p.log_density(one)) for one in labels])
    omnibus = ct.estimators.Omnibus().resolve(p)
    found = factor * omnibus.values(p, labels)[omnibus.row_of(name)]
    assert (n_rows, factor > 0.0) == (1, True)
    assert found - found[0] == pytest.approx(expected - expected[0], rel=1e-6, abs=1e-6)


MEAN, SD = np.random.default_rng(3).uniform(1.0, 3.0, (2, 40))
SHIFTED = {
    "normal": ct.Normal(MEAN, SD),
    "gamma": ct.Gamma(MEAN, SD),
    "beta": ct.Beta(MEAN, SD),
    "log-normal": ct.LogNormal(MEAN, SD),
    "Weibull": ct.predictions.Continuous(stats.weibull_min(MEAN, scale=SD)),
    "vectors": ct.MvNormal(np.stack([MEAN, SD], axis=1), np.tile([[2.0, 0.5], [0.5, 1.0]], (40, 1, 1))),
    "residuals": ct.standardised_residuals(ct.Normal(MEAN, SD), MEAN)[0],
}


@pytest.mark.parametrize("name", SHIFTED)
def test_the_first_rows_of_faults_tell_how_likely_shifted_outcomes_are(name):
    law = SHIFTED[name]
    wrong = law.slightly_wrong(1, 30)
    component, n_rows, factor = wrong.tilt
    omnibus = ct.estimators.Omnibus().resolve(law)
    start = omnibus.row_of(component)
    found = factor * omnibus.values(law, wrong.targets)[start : start + n_rows].sum(axis=0)
    z = scores_of(law.law, wrong.targets).reshape(30, -1)
    expected = np.sum(stats.norm.logpdf(z, DEVIATION) - stats.norm.logpdf(z), axis=1)
    assert found - found[0] == pytest.approx(expected - expected[0], rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(
    "law",
    [ct.Laplace(MEAN, SD), ct.StudentT(4.0, MEAN, SD), ct.Poisson(9.0 * MEAN)],
    ids=["Laplace", "StudentT", "counts"],
)
def test_outcomes_moved_in_their_own_units_have_no_such_rows(law):
    assert law.slightly_wrong(1, 3).tilt is None
