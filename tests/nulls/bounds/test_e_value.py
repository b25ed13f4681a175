"""Markov's bound and importance sampling."""

import numpy as np
import pytest
from scipy import stats

import caltest as ct
from caltest.estimators.scores.likelihood_ratio import log_ratios_of


def shifted(n, seed, share=0.1, k=10):
    """A tenth of the labels is of class 0, whatever was predicted."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(k, 0.1), n)
    q = (1.0 - share) * p
    q[:, 0] += share
    return ct.Categorical(p), ct.Categorical(q).sample(rng)


def test_pvalue_by_its_formula():
    p, y = shifted(60, 1, k=3)
    alternatives = p.law.alternatives()
    rng = np.random.default_rng(np.random.default_rng(3).spawn(1)[0])
    members = rng.choice(alternatives.weights.size, size=20, p=alternatives.weights)
    targets = np.concatenate([alternatives.sample(int(member), rng, 1) for member in members])
    ratios, observed = np.exp(log_ratios_of(alternatives, targets)), np.exp(ct.estimators.LogLikelihoodRatio()(p, y))
    expected = (1.0 / observed + np.sum((ratios >= observed) / ratios)) / 21
    result = ct.LikelihoodRatioTest(20)(p, y, rng=3)
    assert result.pvalue == pytest.approx(min(1.0, expected), rel=1e-10)
    assert result.pvalue_kind == "exact"


def test_tiny_pvalues_with_few_draws():
    p, y = shifted(250, 2)
    result = ct.LikelihoodRatioTest(999)(p, y, rng=1)
    assert result.pvalue < 1e-9
    bound = ct.CalibrationTest(ct.estimators.LogLikelihoodRatio(), ct.nulls.EValueBound())(p, y)
    assert bound.pvalue == pytest.approx(np.exp(-result.statistic))
    assert result.pvalue <= bound.pvalue
    assert bound.pvalue_kind == "bound"
    assert "of the outcomes are class 0 whatever is predicted" in result.finding.words


def test_bound_is_never_above_one():
    p = np.random.default_rng(1).dirichlet(np.ones(3), 50)
    assert (
        ct.CalibrationTest(ct.estimators.LogLikelihoodRatio(), ct.nulls.EValueBound())(
            p, ct.Categorical(p).sample(1)
        ).pvalue
        == 1.0
    )


def test_results_are_reproduced_by_their_seed():
    p, y = shifted(50, 3)
    one = ct.LikelihoodRatioTest(99)(p, y)
    assert ct.LikelihoodRatioTest(99)(p, y, rng=one.seed).pvalue == one.pvalue


def test_other_estimators_are_refused():
    for null in (ct.nulls.EValueBound(), ct.nulls.ImportanceSampling(9)):
        with pytest.raises(TypeError, match=r"got ECE for .*, wanted LogLikelihoodRatio\(\)"):
            ct.CalibrationTest(ct.ECE(), null)


@pytest.mark.statistical
@pytest.mark.parametrize("family", ["classes", "numbers"])
def test_size(family, replications):
    n_sets = replications(300, 3000)
    rng = np.random.default_rng([1, len(family)])
    rejected = np.zeros(3)
    for _ in range(n_sets):
        if family == "classes":
            predictions = ct.Categorical(rng.dirichlet(np.full(3, 0.3), 25))
        else:
            predictions = ct.Normal(rng.random(25), 0.1)
        pvalue = ct.LikelihoodRatioTest(49)(predictions, predictions.sample(rng), rng=rng).pvalue
        rejected += pvalue <= np.array([0.1, 0.05, 0.01])
    for count, alpha in zip(rejected, (0.1, 0.05, 0.01), strict=True):
        assert count <= stats.binom(n_sets, alpha).ppf(0.995)
