"""Likelihood ratios have mean 1, and alternatives are what they say."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

import caltest as ct
from caltest.estimators.scores import log_ratios_of
from caltest.predictions import alternatives as counts_module
from caltest.predictions.alternatives import SCALES, SHIFTS

P = np.random.default_rng(1).dirichlet(np.full(3, 0.5), 3)


def test_ratios_of_classes_have_mean_one_by_enumeration():
    """That of each alternative, and of their mixture; outcomes of probability 0 included."""
    p = P.copy()
    p[1] = [0.25, 0.0, 0.75]
    alternatives = ct.Categorical(p).alternatives()
    labels = np.array(list(product(range(3), repeat=3)))
    probabilities = p[0, labels[:, 0]] * p[1, labels[:, 1]] * p[2, labels[:, 2]]
    possible = probabilities > 0.0
    assert alternatives.weights.sum() == pytest.approx(1.0, rel=1e-14)
    ratios = np.exp(alternatives.log_ratios(labels[possible]))
    means = ratios @ probabilities[possible]
    # What leaves the support is missing from the mean.
    laws = np.stack([alternatives._law(member) for member in range(alternatives.weights.size)])
    kept = np.array([np.prod([law[0, a] * law[1, b] * law[2, c] for a, b, c in [y]]) for law in laws for y in labels])
    kept = kept.reshape(len(laws), -1)[:, possible].sum(axis=1)
    assert means == pytest.approx(kept, rel=1e-12)
    assert (means <= 1.0 + 1e-12).all()
    interior = ct.Categorical(P).alternatives()
    weights = P[0, labels[:, 0]] * P[1, labels[:, 1]] * P[2, labels[:, 2]]
    assert np.exp(log_ratios_of(interior, labels)) @ weights == pytest.approx(1.0, rel=1e-12)


def test_ratios_of_classes_are_ratios_of_probabilities():
    alternatives = ct.Categorical(P).alternatives()
    y = np.array([2, 0, 1])
    for member, ratio in enumerate(alternatives.log_ratios(y[None])[:, 0]):
        law = alternatives._law(member)
        assert law.sum(axis=1) == pytest.approx(np.ones(3), rel=1e-14)
        assert ratio == pytest.approx(np.log(law[np.arange(3), y] / P[np.arange(3), y]).sum(), rel=1e-11, abs=1e-13)


def test_laws_of_classes():
    """Other temperatures, shares of random labels, and shares of each label."""
    powers = [P[0] ** (1.0 / t) for t in (1 / 3, 1 / 2, 2 / 3, 0.8, 0.9, 1.1, 1.25, 1.5, 2.0, 3.0)]
    mixed = [
        (1.0 - share) * P[0] + share * one
        for ones in ([np.full(3, 1 / 3)], np.eye(3))
        for share in (0.02, 0.05, 0.1, 0.2, 0.4)
        for one in ones
    ]
    alternatives = ct.Categorical(P).alternatives()
    found = [alternatives._law(member)[0] for member in range(alternatives.weights.size)]
    assert np.array(found) == pytest.approx(np.array([*(one / one.sum() for one in powers), *mixed]), rel=1e-13)


@pytest.mark.parametrize(
    "predictions",
    [
        ct.Normal([0.0, 1.0, -2.0], [1.0, 0.5, 3.0]),
        ct.Gamma([1.0, 4.0, 2.5], [1.0, 0.5, 2.0]),
        ct.MvNormal(np.arange(6.0).reshape(3, 2), [[1.0, 2.0], [0.5, 0.1], [1.0, 1.0]]),
    ],
    ids=lambda p: p.family,
)
def test_ratios_of_numbers_are_ratios_of_densities(predictions):
    alternatives = predictions.alternatives()
    rng = np.random.default_rng(4)
    y = predictions.sample(rng)
    z = y if predictions.family != "Gamma" else stats.norm.ppf(predictions.cdf(y))
    if predictions.family == "Normal":
        z = (y - predictions.mean) / predictions.scale
    if predictions.family == "MvNormal":
        z = (y - predictions.mean) / np.sqrt(predictions.covariance)
    vectors = z.reshape(3, -1)
    ratios = alternatives.log_ratios(y[None])[:, 0]
    for member, ratio in enumerate(ratios):
        drawn = alternatives.sample(member, np.random.default_rng(5), 4000)
        shift, scale = np.zeros(vectors.shape[1]), 1.0
        if member < alternatives._shifts.size:
            shift[alternatives._coordinates[member]] = alternatives._shifts[member]
        else:
            scale = SCALES[member - alternatives._shifts.size]
        densities = stats.norm(shift, scale).logpdf(vectors) - stats.norm.logpdf(vectors)
        assert ratio == pytest.approx(densities.sum(), rel=1e-10, abs=1e-10)
        assert drawn.shape == (4000, *y.shape)
        if predictions.family == "Normal":
            scores = (drawn - predictions.mean) / predictions.scale
            assert scores.mean() == pytest.approx(shift[0], abs=4.5 * scale / np.sqrt(12000))
            assert scores.std() == pytest.approx(scale, rel=0.04)
    assert alternatives.weights.sum() == pytest.approx(1.0, rel=1e-14)


def test_shifts_and_scales_of_numbers():
    """In standard deviations, of errors z of 1: ``z shift - shift**2 / 2``, and the logarithm of densities."""
    shifts = np.array([sign * shift for shift in (0.05, 0.1, 0.2, 0.4, 0.8, 1.6) for sign in (1.0, -1.0)])
    scales = np.array([1 / 3, 1 / 2, 2 / 3, 0.8, 0.9, 1.1, 1.25, 1.5, 2.0, 3.0])
    ratios = ct.Normal([2.0], [3.0]).alternatives().log_ratios(np.array([[5.0]]))[:, 0]
    expected = [*(shifts - shifts**2 / 2.0), *(stats.norm.logpdf(1.0, 0.0, scales) - stats.norm.logpdf(1.0))]
    assert ratios == pytest.approx(np.array(expected), rel=1e-12)


def test_mean_of_the_ratio_of_numbers_is_one():
    predictions = ct.Gamma(np.array([2.0, 5.0]), 1.0)
    alternatives = predictions.alternatives()
    ratios = np.exp(log_ratios_of(alternatives, predictions.sample(6, 200_000)))
    assert ratios.mean() == pytest.approx(1.0, abs=4.5 * ratios.std() / np.sqrt(200_000))


def test_families_without_densities():
    assert ct.Ensemble([[0.0, 1.0]]).alternatives() is None
    assert ct.MvNormal([[0.0, 1.0]], [[1.0, 0.0]]).alternatives() is None
    with pytest.raises(TypeError, match="got Ensemble predictions, for which no likelihood ratios are known"):
        ct.estimators.LogLikelihoodRatio()(ct.Ensemble([[0.0, 1.0]]), [1.0])


@pytest.mark.parametrize("dispersion", [None, [0.1] * 4, [0.1, 0.3, 0.01, 2.0]])
@pytest.mark.parametrize("mean", [[1e-6, 0.3, 4.0, 60.0], [0.0, 5.0, 900.0, 9e4], [1e-3, 2.0, 1e6, 1e12]])
def test_ratios_of_counts_of_any_size_are_differences_of_log_probabilities(mean, dispersion):
    """On a curve, or not where its digits would be lost."""
    predictions = ct.Poisson(mean) if dispersion is None else ct.NegativeBinomial.from_mean(mean, dispersion)
    y = np.floor(np.array(mean) + 1.5 * np.sqrt(predictions.variance))
    weights = np.array([1.0, 0.5, 2.0, 3.0])
    alternatives = predictions.alternatives(weights)
    terms = alternatives.log_ratio_terms(y)
    for law, found in zip(alternatives._laws, terms, strict=True):
        expected = weights * (law.log_probabilities(y[:, None]) - predictions.log_probabilities(y[:, None]))[:, 0]
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert alternatives.log_ratios(np.array([y, y]))[:, 1] == pytest.approx(terms.sum(axis=1), rel=1e-12, abs=1e-8)


@pytest.mark.parametrize(
    "predictions",
    [
        ct.Poisson([0.4, 1.1, 0.0]),
        ct.Poisson([0.4, 1.1, 0.0, 0.0, 0.0]),
        ct.NegativeBinomial.from_mean([0.4, 1.1, 0.0], [0.3, 0.1, 0.5]),
        ct.NegativeBinomial.from_mean([0.4, 1.1, 0.0, 0.0, 0.0], np.full(5, 0.3)),
    ],
    ids=lambda p: f"{p.family}, {len(p)}",
)
def test_ratios_of_counts(predictions, monkeypatch):
    """Mean 1 by enumeration, and ratios of probabilities."""
    alternatives = predictions.alternatives()
    counts = np.arange(40)
    y = np.array([(a, b, *[0] * (len(predictions) - 2)) for a, b in product(counts, counts)])
    pmf = np.exp(predictions.log_probabilities(counts.astype(float)))
    weights = pmf[0, y[:, 0]] * pmf[1, y[:, 1]]
    ratios = alternatives.log_ratios(y)
    assert np.exp(ratios) @ weights == pytest.approx(np.ones(len(ratios)), rel=1e-6)
    for law, ratio in zip(alternatives._laws, ratios, strict=True):
        of = [stats.poisson(law.mean) if law.family == "Poisson" else stats.nbinom(law.size, law.probability)][0]
        own = stats.poisson(predictions.mean)
        if predictions.family == "NegativeBinomial":
            own = stats.nbinom(predictions.size, predictions.probability)
        with np.errstate(invalid="ignore"):
            expected = (of.logpmf(y[:80]) - own.logpmf(y[:80]))[:, :2].sum(axis=1)
        assert ratio[:80] == pytest.approx(expected, rel=1e-7, abs=1e-9)
    assert alternatives.weights.sum() == pytest.approx(1.0, rel=1e-14)
    monkeypatch.setattr(counts_module, "TABLE", 10)
    assert alternatives.log_ratios(y[:50]) == pytest.approx(ratios[:, :50], rel=1e-12)


@pytest.mark.every(3)
@pytest.mark.parametrize("largest", [3.0, 1e6])
@pytest.mark.parametrize("smallest", [0.0, 1e-310])
def test_ratios_of_many_counts_are_sums_of_those_of_each(largest, smallest):
    """Of counts that are equal mostly, and of those that hardly ever are; most rows expect hardly any."""
    n = 30
    mean = np.where(np.arange(n) < 20, smallest, np.linspace(0.0, largest, n))
    for predictions in (ct.Poisson(mean), ct.NegativeBinomial.from_mean(mean, np.full(n, 0.3))):
        y = predictions.sample(8, size=5)
        each = (predictions.take(np.full(5, i)).alternatives() for i in range(n))
        own = np.stack([one.log_ratio_terms(counts) for one, counts in zip(each, y.T, strict=True)])
        for weights in (None, np.random.default_rng(2).random(n)):
            expected = np.tensordot(np.ones(n) if weights is None else weights, own, 1)
            assert predictions.alternatives(weights).log_ratios(y) == pytest.approx(expected, rel=1e-9, abs=1e-7)


@pytest.mark.parametrize(
    "predictions",
    [
        ct.Categorical(P),
        ct.Bernoulli([0.2, 0.0, 0.9]),
        ct.Poisson([0.4, 1.1, 0.0]),
        ct.Normal([0.0, 1.0, -2.0], [1.0, 0.5, 3.0]),
        ct.Gamma([1.0, 4.0, 2.5], [1.0, 0.5, 2.0]),
        ct.MvNormal(np.arange(6.0).reshape(3, 2), [[1.0, 2.0], [0.5, 0.1], [1.0, 1.0]]),
    ],
    ids=lambda p: p.family,
)
def test_ratios_of_a_sample_are_sums_over_its_observations(predictions, monkeypatch):
    monkeypatch.setattr(counts_module, "TABLE", 10)
    alternatives = predictions.alternatives()
    y = predictions.sample(8)
    terms = alternatives.log_ratio_terms(y)
    assert terms.shape == (alternatives.weights.size, 3)
    assert terms.sum(axis=1) == pytest.approx(alternatives.log_ratios(y[None])[:, 0], rel=1e-12, abs=1e-12)
    for i in range(3):
        alone = predictions.take(slice(i, i + 1)).alternatives().log_ratio_terms(y[i : i + 1])
        assert terms[:, i] == pytest.approx(alone[:, 0], rel=1e-12, abs=1e-12)


def test_rows_of_single_precision_are_normalised():
    """Rounding of the sums of rows, 1e-7 each, does not add up."""
    p = np.tile(P, (1000, 1)) * (1.0 + 5e-7)
    y = np.random.default_rng(9).integers(0, 3, 3000)
    ratios = [ct.Categorical(one).alternatives().log_ratios(y[None])[:, 0] for one in (p, np.tile(P, (1000, 1)))]
    assert ratios[0] == pytest.approx(ratios[1], abs=1e-9)


@pytest.mark.every(2)
@pytest.mark.parametrize("covariance", [(60,), (60, 1), (60, 1, 1)])
def test_vectors_of_length_one_are_numbers(covariance):
    """Also where targets are drawn from the alternatives."""
    rng = np.random.default_rng(3)
    mean = rng.normal(size=60)
    y = mean + 1.3 * rng.normal(size=60)
    numbers, vectors = ct.Normal(mean, np.ones(60)), ct.MvNormal(mean[:, None], np.ones(covariance))
    wanted, got = ct.LikelihoodRatioTest()(numbers, y, rng=1), ct.LikelihoodRatioTest()(vectors, y[:, None], rng=1)
    assert got.pvalue == pytest.approx(wanted.pvalue, rel=1e-12)
    assert got.statistic == pytest.approx(wanted.statistic, rel=1e-12)


def pool(m, d=(), n=40, scale=1.0, seed=1):
    rng = np.random.default_rng(seed)
    members, outcomes = rng.normal(size=(n, m, *d)), scale * rng.normal(size=(n, *d))
    members[0], outcomes[0] = 2.0, 2.0  # without spread
    members[1], outcomes[1] = 3.0, -1e150
    members[2, 0] = outcomes[2]  # ties
    law = ct.Ensemble(members).pooled(outcomes)
    return law, law.check_targets(outcomes)


@pytest.mark.parametrize("d", [(), (3,)])
@pytest.mark.parametrize("m", [2, 9])
def test_ratios_of_all_values_have_mean_one(m, d):
    law, _ = pool(m, d)
    odds = law.odds()
    ratios = np.exp([odds.log_ratio_terms(law.members[:, j]) for j in range(m + 1)])
    assert np.isfinite(ratios).all()
    assert ratios.mean(axis=0) == pytest.approx(np.ones(ratios.shape[1:]), rel=1e-9)
    assert odds.weights.sum() == pytest.approx(1.0)


def test_ratios_are_those_of_student_t_of_residuals():
    """By scipy, value by value: the residual by the others, under t shifted or scaled, as a share of all values."""
    rng = np.random.default_rng(2)
    members, outcomes = rng.normal(size=(5, 4)), rng.normal(size=5)
    found = ct.Ensemble(members).pooled(outcomes).odds().log_ratio_terms(outcomes)
    for i, values in enumerate(np.column_stack([outcomes, members])):
        others = [np.delete(values, j) for j in range(5)]
        r = np.array([(v - o.mean()) / (o.std(ddof=1) * np.sqrt(1.25)) for v, o in zip(values, others, strict=True)])
        laws = [stats.t(3, sign * shift) for shift in SHIFTS for sign in (1, -1)] + [stats.t(3, 0, c) for c in SCALES]
        ratios = [law.pdf(r) / stats.t(3).pdf(r) for law in laws]
        assert found[:, i] == pytest.approx(np.log([5.0 * one[0] / one.sum() for one in ratios]))


def test_pairs_have_no_scale():
    assert pool(1)[0].odds() is None


def test_narrow_ensembles_are_found_by_those_who_bet_on_scales():
    rng = np.random.default_rng(5)
    centre = rng.normal(size=200)
    members, outcomes = centre[:, None] + rng.normal(size=(200, 20)), centre + 2.0 * rng.normal(size=200)
    for strategy, least in (("likelihood", 1e6), ("both", 1e6)):
        test = ct.SequentialCalibrationTest(strategy).update(ct.Ensemble(members), outcomes)
        assert test.evalue > least
    assert ct.SequentialCalibrationTest("likelihood").update(ct.Ensemble(members[:, 1:]), members[:, 0]).evalue < 20.0
