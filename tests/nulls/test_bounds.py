"""Markov's bound and importance sampling."""

import itertools

import numpy as np
import pytest
from contracts import CASES
from samples import TV, W2, samples
from scipy import optimize, special, stats

import caltest as ct
from caltest.estimators.scores import log_ratios_of
from caltest.hstatistics.tiles import h_tile
from caltest.nulls.bounds import OutcomeSum
from caltest.predictions.inputs.convert import Sample


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
@pytest.mark.usefixtures("without_findings")
@pytest.mark.parametrize("family", ["classes", "numbers"])
def test_size(family, replications):
    n_sets, n_resamples, alphas = replications(60, 3000), replications(19, 49), (0.5, 0.2, 0.1, 0.05, 0.01)
    rng = np.random.default_rng([1, len(family)])
    rejected = np.zeros(5)
    for _ in range(n_sets):
        if family == "classes":
            predictions = ct.Categorical(rng.dirichlet(np.full(3, 0.3), 25))
        else:
            predictions = ct.Normal(rng.random(25), 0.1)
        pvalue = ct.LikelihoodRatioTest(n_resamples)(predictions, predictions.sample(rng), rng=rng).pvalue
        rejected += pvalue <= np.array(alphas)
    for count, alpha in zip(rejected, alphas, strict=True):
        assert count <= stats.binom(n_sets, alpha).ppf(0.995)


N = 31
_, P, Y, NORMAL, TARGETS = samples(N, 3)
FINITE = [case for case in CASES if case[0]().predictions.law.finite is not None]


@pytest.mark.every(4)
@pytest.mark.parametrize(("maker", "kernel"), CASES[::3], ids=lambda part: getattr(part, "__name__", ""))
def test_terms_are_means_of_h(maker, kernel, monkeypatch):
    sample, estimator = maker(), ct.estimators.CrossSKCE(kernel)
    first, other = estimator.halves(len(sample))
    assert sorted([*first, *other]) == list(range(len(sample)))
    assert first.size - other.size == len(sample) % 2
    h = h_tile(kernel, sample, sample)
    terms = h[np.ix_(first, other)].mean(axis=1)
    assert estimator.terms(sample) == pytest.approx(terms, abs=1e-14)
    monkeypatch.setattr("caltest.estimators.kernel_errors.skce.ROWS", 3)
    monkeypatch.setattr("caltest.estimators.kernel_errors.skce.COLUMNS", 4)
    assert estimator.terms(sample) == pytest.approx(terms, abs=1e-14)
    assert estimator.estimate(sample) == pytest.approx(terms.mean(), abs=1e-14)


def test_split():
    assert [half.tolist() for half in ct.estimators.CrossSKCE(TV).halves(5)] == [[0, 2, 4], [1, 3]]


@pytest.mark.parametrize(("maker", "kernel"), FINITE, ids=lambda part: getattr(part, "__name__", ""))
def test_terms_of_all_outcomes(maker, kernel, monkeypatch):
    """The terms for other targets of the first half are those that the estimator has for them."""
    monkeypatch.setattr("caltest.estimators.kernel_errors.skce.ROWS", 5)
    monkeypatch.setattr("caltest.estimators.kernel_errors.skce.COLUMNS", 4)
    sample, estimator = maker(), ct.estimators.CrossSKCE(kernel)
    values, probabilities, observed = estimator.outcome_terms(sample)
    assert observed == pytest.approx(estimator.terms(sample), abs=1e-13)
    first, _ = estimator.halves(len(sample))
    for label in range(values.shape[1]):
        targets = sample.targets.copy()
        targets[first] = label
        assert values[:, label] == pytest.approx(estimator.terms(Sample(sample.predictions, targets)), abs=1e-13)
    means = np.einsum("ik,ik->i", values, probabilities)
    assert means == pytest.approx(np.zeros(means.size), abs=1e-14)


def enumerated(n, k, seed, concentration=1.0):
    """Predictions, labels, the law of the sum of the terms, and all its values with their probabilities."""
    rng = np.random.default_rng(seed)
    p = ct.Categorical(rng.dirichlet(np.full(k, concentration), n))
    sample = Sample(p, p.sample(rng))
    terms, probabilities, observed = ct.estimators.CrossSKCE(TV).outcome_terms(sample)
    size = observed.size
    labels = np.array(list(itertools.product(range(k), repeat=size)))
    values = terms[np.arange(size), labels].sum(axis=1)
    chances = probabilities[np.arange(size), labels].prod(axis=1)
    return sample, OutcomeSum(terms, probabilities), values, chances


@pytest.mark.parametrize(("n", "k"), [(6, 3), (12, 3), (16, 2)])
@pytest.mark.parametrize("seed", range(3))
def test_moments_of_the_law_against_enumeration(n, k, seed):
    _, law, values, chances = enumerated(n, k, seed)
    assert chances.sum() == pytest.approx(1.0, rel=1e-12)
    assert chances @ values == pytest.approx(0.0, abs=1e-13)
    assert law.variance == pytest.approx(chances @ values**2, rel=1e-11)
    for t in (-3.0, 0.0, 1.5, 40.0):
        log, slope = law.tilted(t)
        weights = chances * np.exp(t * values)
        assert log == pytest.approx(np.log(weights.sum()), rel=1e-10, abs=1e-13)
        assert slope == pytest.approx(weights @ values / weights.sum(), rel=1e-9, abs=1e-12)
    top, chance = law.top()
    assert top == pytest.approx(values.max(), rel=1e-12)
    assert chance == pytest.approx(chances[values >= values.max() - 1e-12].sum(), rel=1e-11)


@pytest.mark.every(4)
@pytest.mark.parametrize("concentration", [0.1, 1.0])
@pytest.mark.parametrize(("n", "k"), [(4, 2), (6, 3), (12, 3), (16, 2)])
@pytest.mark.parametrize("seed", range(3))
def test_bound_is_never_below_the_probability(n, k, seed, concentration):
    """For every outcome of the first half; so P(p <= alpha) <= alpha at every level."""
    sample, _, values, chances = enumerated(n, k, seed, concentration)
    estimator = ct.estimators.CrossSKCE(TV)
    first, _ = estimator.halves(n)
    bound = ct.CalibrationTest(estimator, ct.nulls.CrossChernoffBound())
    labels = list(itertools.product(range(k), repeat=first.size))
    for number in np.random.default_rng(1).choice(len(labels), min(len(labels), 30), replace=False):
        if chances[number] == 0.0:
            continue
        targets = sample.targets.copy()
        targets[first] = labels[number]
        exact = chances[values >= values[number] - 1e-12].sum()
        certified = bound(sample.predictions, targets).pvalue
        assert certified >= exact * (1.0 - 1e-9)


def test_bound_of_a_binomial_sum():
    """Equal predictions of two classes: Chernoff's bound is exp(-n KL(q || p))."""
    n, p, q = 80, 0.3, 0.7
    predictions = np.full(n, p)
    y = np.zeros(n, dtype=int)
    y[1::2] = 1
    y[0 : int(2 * q * n / 2) : 2] = 1
    kernel = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), 1.0), ct.DeltaKernel())
    result = ct.named_tests.CertifiedCrossSKCETest(kernel)(predictions, y)
    half = n // 2
    observed = y[::2].mean()
    assert observed == q
    divergence = special.rel_entr(observed, p) + special.rel_entr(1 - observed, 1 - p)
    assert result.pvalue == pytest.approx(np.exp(-half * divergence), rel=1e-8)
    assert stats.binom.sf(round(q * half) - 1, half, p) <= result.pvalue


def test_pvalues_of_the_largest_value_and_beyond():
    p = np.full(8, 0.3)
    y = np.ones(8, dtype=int)
    test = ct.named_tests.CertifiedCrossSKCETest(TV)
    assert test(p, y).pvalue == pytest.approx(0.3**4, rel=1e-12)
    excluded = np.array([[1.0, 0.0], [0.5, 0.5], [0.6, 0.4], [0.5, 0.5]])
    assert test(excluded, [1, 1, 1, 1]).pvalue == 0.0


def test_certain_predictions_say_nothing():
    result = ct.named_tests.CertifiedCrossSKCETest(TV)(np.eye(3)[Y], Y)
    assert (result.statistic, result.pvalue) == (0.0, 1.0)


def test_tails_need_finitely_many_outcomes():
    with pytest.raises(TypeError, match="predictions: got Normal predictions, wanted finitely many outcomes"):
        ct.named_tests.CertifiedCrossSKCETest(W2)(NORMAL, TARGETS)


def test_pvalues_reach_far_below_those_of_simulations():
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.ones(3), 600)
    certified = ct.named_tests.CertifiedCrossSKCETest(TV)(p, p.argmin(axis=1))
    assert 0.0 < certified.pvalue < 1e-60
    assert certified.pvalue_kind == "bound"
    sample = Sample(ct.Categorical(p), p.argmin(axis=1))
    terms, probabilities, observed = ct.estimators.CrossSKCE(TV).outcome_terms(sample)
    s = observed.sum()
    t = optimize.brentq(lambda t: OutcomeSum(terms, probabilities).tilted(t)[1] - s, 0.0, 1e4)
    tilted = probabilities * np.exp(t * (terms - terms.max(axis=1, keepdims=True)))
    log_mean = np.sum(np.log(tilted.sum(axis=1)) + t * terms.max(axis=1))
    assert certified.pvalue == pytest.approx(np.exp(log_mean - t * s), rel=1e-8)


@pytest.mark.parametrize("s", [-3.0, 0.0])
def test_sums_that_are_not_positive_have_the_bound_one(s):
    law = OutcomeSum(np.array([[-1.0, 1.0], [2.0, -2.0]]), np.full((2, 2), 0.5))
    assert law.tail_bound(s) == 1.0


@pytest.mark.parametrize("estimator", [ct.SKCE(TV), ct.SKCE(TV, unbiased=False), ct.BlockSKCE(TV, 3)], ids=str)
def test_a_bound_that_does_not_reject_says_which_errors_it_would(estimator):
    """The share is the root of the estimate whose bound is 0.05, of the largest estimate, 2."""
    rng = np.random.default_rng(1)
    p = ct.Categorical(rng.dirichlet(np.ones(3), 400))
    y = p.sample(rng)
    result = ct.DistributionFreeSKCETest(estimator)(p, y)
    (note,) = [one for one in result.notes if "of its largest value or more" in one]
    share = float(note.split("KCE is ")[1].split(" of")[0])
    assert (
        estimator.tail_bound(2.0 * (share + 0.005) ** 2, p) < 0.05 < estimator.tail_bound(2.0 * (share - 0.005) ** 2, p)
    )
    few = ct.DistributionFreeSKCETest(estimator)(p.take(slice(0, 6)), y[:6])
    assert any("rejects nothing at the 5 % level for n = 6" in one for one in few.notes)
    certain = ct.Categorical(np.tile([0.98, 0.01, 0.01], (400, 1)))
    wrong = ct.DistributionFreeSKCETest(estimator)(certain, np.ones(400, dtype=int))
    assert wrong.pvalue <= 0.05
    assert not any("the bound rejects" in one for one in wrong.notes)
