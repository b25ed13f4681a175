"""The default test of all but unordered classes in chunks: sums over rows, and redraws by row."""

import pickle
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from grids import thinned
from scipy import stats

import caltest as ct
from caltest._basics.calls import pvalues_only
from caltest._loops.rows import fill_uniforms, row_state, uniform
from caltest.estimators.combined.sums.numbers import _targets

N = 120
TEST = ct.OmnibusTest(n_resamples=39)


@cache
def family(name):
    rng = np.random.default_rng(3)
    mean, scale = rng.normal(size=N), np.exp(0.3 * rng.normal(size=N))
    vectors = rng.normal(size=(N, 2))
    made = {
        "normal": ct.Normal(mean, scale),
        "laplace": ct.Laplace(mean, scale),
        "student": ct.StudentT(5.0, mean, scale),
        "gamma": ct.Gamma(2.0 + scale, scale),
        "log-normal": ct.LogNormal(mean, scale),
        "beta": ct.Beta(1.0 + scale, 2.0 * scale),
        "weibull": ct.Continuous(stats.weibull_min(1.0 + scale)),
        "mixture": ct.Mixture([ct.Normal(mean, scale), ct.Normal(-mean, 2.0 * scale)]),
        "mvnormal": ct.MvNormal(vectors, np.array([[1.0, 0.5], [0.5, 2.0]])[None].repeat(N, axis=0)),
        "poisson": ct.Poisson(np.exp(mean)),
        "negative binomial": ct.NegativeBinomial(np.exp(mean), np.minimum(0.4 * scale, 0.9)),
        "ordinal": ct.Ordinal(rng.dirichlet(np.ones(4), N)),
        "quantiles": ct.QuantileForecast([0.1, 0.5, 0.9], mean[:, None] + scale[:, None] * [-1.3, 0.0, 1.3]),
        "scenarios": ct.Scenarios(mean[:, None] + rng.normal(size=(N, 4))),
    }
    if name == "ensemble":
        return ct.Ensemble(mean[:, None] + rng.normal(size=(N, 5))), mean + rng.normal(size=N)
    if name == "ensemble of vectors":
        return ct.Ensemble(vectors[:, None] + rng.normal(size=(N, 4, 2))), vectors + rng.normal(size=(N, 2))
    return made[name], made[name].sample(5)


@pytest.fixture(autouse=True)
def nothing_simulated(monkeypatch):
    """What a test could have missed is simulated with data in memory and takes half of its time."""
    monkeypatch.setattr("caltest.nulls.monte_carlo.detectable", lambda *_: None)


ORDERED = ["ordinal", "quantiles"]


DRAWN = [
    *("normal", "laplace", "student", "gamma", "log-normal", "beta", "weibull", "mixture", "mvnormal", "poisson"),
    *("negative binomial", "scenarios"),
]
ALL = [*DRAWN, *ORDERED, "ensemble", "ensemble of vectors"]
KEPT = ["normal", "student", "mvnormal", "negative binomial", "quantiles", "ensemble of vectors"]


def accumulator(name, **options):
    return TEST.accumulator(predictions=family(name)[0], rng=4, **options)


def updated(one, name, begin, end, **options):
    predictions, targets = family(name)
    return one.update(predictions.take(slice(begin, end)), targets[begin:end], **options)


BY_QUADRATURE = ["student", "gamma", "log-normal", "beta", "weibull"]
"""Families whose expectations of kernels come from rules that depend on the range of a chunk."""


def assert_close(result, expected, rounding=1e-9):
    """To rounding, as sums of floats depend on their order."""
    assert result.pvalue == expected.pvalue
    assert result.n == expected.n
    assert result.statistic == pytest.approx(expected.statistic, rel=rounding)
    assert result.null_distribution == pytest.approx(expected.null_distribution, rel=rounding, abs=rounding)
    assert result.estimate == pytest.approx(expected.estimate, rel=10.0 * rounding, abs=1e-10)
    assert [one.words for one in result.findings] == [one.words for one in expected.findings]


@pytest.mark.every(5)
@pytest.mark.parametrize("name", thinned(ALL, KEPT))
def test_results_do_not_depend_on_chunks_or_their_order(name, monkeypatch):
    whole, rounding = updated(accumulator(name), name, 0, N).result(), 1e-4 if name in BY_QUADRATURE else 1e-9
    monkeypatch.setattr("caltest.estimators.combined.sums.numbers.KEPT", 30)
    monkeypatch.setattr("caltest.estimators.combined.sums.numbers.ROWS", {1: 25, 2: 25})
    one = accumulator(name)
    for start in range(0, N, 20):
        updated(one, name, start, start + 20)
    assert_close(one.result(), whole, rounding)
    first, *others = [
        updated(accumulator(name), name, *part, start=part[0]) for part in ((75, N), (0, 35), (35, 36), (36, 75))
    ]
    for other in others:
        first.merge(other)
    assert_close(first.result(), whole, rounding)
    # A result in between counts what waits, and changes nothing.
    with pvalues_only():
        one = updated(accumulator(name), name, 0, 20)
        assert one.result().n == 20
        assert_close(updated(one, name, 20, N).result(), replace(whole, findings=()), rounding)


@pytest.mark.every(3)
@pytest.mark.parametrize("name", ALL)
def test_numbers_are_those_of_the_components(name, monkeypatch):
    """Whose features are those of all predictions: exactly but for grids between whose nodes kernels are joined."""
    monkeypatch.setattr("caltest.hstatistics.sums.residuals.MANY", N + 1)
    predictions, targets = family(name)
    pools = predictions.pooled(targets)
    checked = pools.check_targets(targets)
    omnibus = ct.estimators.Omnibus().resolve_for_chunks(pools, 3)
    sums = omnibus.of_rows.sums(pools, checked, np.arange(N), np.uint64(1), range(-1, 0))
    expected = omnibus.values(pools, checked[None])[:, 0]
    np.testing.assert_allclose(omnibus.of_rows.values(sums)[:, 0], expected, rtol=2e-3, atol=2e-6)


def test_the_estimate_is_that_of_pairs_of_different_rows(without_findings):
    predictions, targets = family("normal")[0].take(slice(0, 20)), family("normal")[1][:20]
    result = TEST.accumulator(predictions=predictions, rng=4).update(predictions, targets).result()
    assert result.estimate == pytest.approx(ct.SKCE()(predictions, targets), rel=0.005)


@pytest.mark.every(2)
@pytest.mark.parametrize("name", thinned(ALL, KEPT))
def test_accumulators_go_to_other_machines(name, without_findings):
    one = pickle.loads(pickle.dumps(updated(accumulator(name), name, 0, 50)))
    other = updated(pickle.loads(pickle.dumps(accumulator(name))), name, 50, N, start=50)
    result = pickle.loads(pickle.dumps(one.merge(other))).result()
    assert result.pvalue == updated(accumulator(name), name, 0, N).result().pvalue


@pytest.mark.parametrize("name", DRAWN)
def test_redraws_follow_the_predictions(name):
    """By the distribution function at redraws of two predictions, and the mean of those of vectors."""
    predictions = family(name)[0].take(slice(0, 2))
    rng = np.random.default_rng(7)
    numbers = rng.random((3, 4000, 2))
    drawn = predictions.drawer()(lambda number: numbers[number])
    assert drawn.shape[:2] == (4000, 2)
    if name == "mvnormal":
        mean, covariance = predictions.mean[0], predictions.covariance[0]
        assert drawn[:, 0].mean(axis=0) == pytest.approx(mean, abs=0.1)
        assert np.cov(drawn[:, 0].T) == pytest.approx(covariance, rel=0.1)
        return
    below, up_to = predictions.cdf_below(drawn), predictions.cdf(drawn)
    levels = below + rng.random(below.shape) * (up_to - below)
    for column in levels.T:
        assert stats.kstest(column, "uniform").pvalue > 1e-4


def test_members_are_equally_likely_outcomes():
    predictions, targets = family("ensemble")
    pools = predictions.pooled(targets)
    numbers = np.random.default_rng(1).random((6000, N))
    drawn = pools.drawer()(lambda number: numbers)
    shares = (drawn[:, 0, None] == pools.members[0]).mean(axis=0)
    assert shares == pytest.approx(np.full(6, 1 / 6), abs=0.02)


def test_numbers_of_rows_and_redraws():
    states = np.array([row_state(np.uint64(5), row) for row in (3, 0, 8)], dtype=np.uint64)
    out = np.empty((4, 3))
    fill_uniforms(states, 10, out)
    assert out.tolist() == [[uniform(state, 10 + b) for state in states] for b in range(4)]
    assert ((out > 0.0) & (out < 1.0)).all()


@pytest.mark.every(2)
@pytest.mark.parametrize("name", ["normal", "laplace", "log-normal", "poisson", "negative binomial", "ensemble"])
def test_many_predictions_in_memory_have_the_redraws_of_chunks(name, monkeypatch, without_findings):
    monkeypatch.setattr("caltest.estimators.combined.components.MANY_IN_SUMS", 50)
    predictions, targets = family(name)
    kernel = predictions.pooled(targets).default_kernel().resolve(predictions.pooled(targets))
    whole = ct.OmnibusTest(kernel, n_resamples=39)(predictions, targets, rng=4)
    monkeypatch.setattr("caltest.estimators.combined.sums.numbers.LARGEST", 0)
    again = ct.OmnibusTest(kernel, n_resamples=119)(predictions, targets, rng=4)
    assert again.null_distribution.size == 119
    test = ct.OmnibusTest(kernel, n_resamples=39)
    one = test.accumulator(predictions=None if name == "ensemble" else predictions, rng=4)
    one.update(predictions, targets) if name == "ensemble" else None
    if name != "ensemble":
        for start in range(0, N, 50):
            one.update(predictions.take(slice(start, start + 50)), targets[start : start + 50])
    result = one.result()
    assert result.pvalue == whole.pvalue
    rounding = 1e-4 if name in BY_QUADRATURE else 1e-9
    assert result.statistic == pytest.approx(whole.statistic, rel=rounding)
    assert result.null_distribution == pytest.approx(whole.null_distribution, rel=rounding, abs=rounding)
    assert "kernels and features are computed from some of the predictions" in result.notes[-1]


@pytest.mark.parametrize("n", [99, 100])
def test_predictions_without_spread_are_redrawn_together_in_memory(n, monkeypatch):
    monkeypatch.setattr("caltest.estimators.combined.components.MANY_IN_SUMS", 50)
    scale = np.ones(n)
    scale[0] = 0.0
    result = ct.OmnibusTest(n_resamples=19)(ct.Normal(np.arange(n) * 1.0, scale), np.arange(n) * 1.0, rng=1)
    assert not any("those of some" in note for note in result.notes)


def bad_chunks():
    normal, targets = family("normal")[0].take(slice(0, 5)), np.zeros(5)
    late = targets.copy()
    late[3] = np.nan
    return {
        "nan": (normal, late, ValueError, "got nan at row 3"),
        "length": (normal, targets[:4], ValueError, "got 4 values, wanted 5"),
        "family": (ct.Laplace(targets, 1.0), targets, TypeError, "got Laplace predictions, wanted Normal"),
        "classes": (np.full((5, 3), 1 / 3), np.zeros(5, dtype=int), TypeError, "got Categorical predictions"),
        "vectors": (ct.MvNormal(np.zeros((5, 2)), 1.0), np.zeros((5, 2)), TypeError, "got MvNormal predictions"),
        "spread": (ct.Normal(targets, [1.0, 0.0, 1.0, 1.0, 1.0]), targets, ValueError, "scale: got 0 at row 1"),
        "twice": (normal, targets, ValueError, "got row 3 twice"),
    }


@pytest.mark.every(3)
@pytest.mark.parametrize("case", ["nan", "length", "family", "classes", "vectors", "spread", "twice"])
def test_bad_chunks_change_nothing(case):
    predictions, targets, error, message = bad_chunks()[case]
    expected = updated(accumulator("normal"), "normal", 0, N).result()
    one = updated(accumulator("normal"), "normal", 0, 50)
    with pytest.raises(error, match=message):
        one.update(predictions, targets, start=3 if case == "twice" else None)
    assert one.n == 50
    assert_close(updated(one, "normal", 50, N).result(), expected)


def test_ensembles_of_other_sizes_are_refused():
    one = updated(accumulator("ensemble"), "ensemble", 0, 50)
    with pytest.raises(ValueError, match="got 5 members, wanted 6"):
        one.update(ct.Ensemble(np.zeros((5, 4))), np.zeros(5))
    with pytest.raises(ValueError, match="members that are vectors"):
        one.update(ct.Ensemble(np.zeros((5, 4, 2))), np.zeros((5, 2)))
    assert one.n == 50


def test_other_features_are_refused():
    predictions, targets = family("normal")
    one = updated(accumulator("normal"), "normal", 0, 50)
    other = TEST.accumulator(predictions=predictions.take(slice(0, 30)), rng=4)
    other.update(predictions.take(slice(50, 90)), targets[50:90], start=50)
    with pytest.raises(ValueError, match="other: got "):
        one.merge(other)
    assert one.n == 50


def test_what_is_wrong_is_found():
    predictions = family("normal")[0]
    targets = predictions.sample(6)
    one = TEST.accumulator(predictions=predictions, rng=1)
    for start in range(0, N, 40):
        some = predictions.take(slice(start, start + 40))
        one.update(some, targets[start : start + 40] + 0.8 * some.scale)
    result = one.result()
    assert result.pvalue == 0.025
    assert result.finding.kind == "shift"
    assert result.finding.estimate == pytest.approx(0.8, abs=0.15)


@pytest.mark.statistical
@pytest.mark.every(3)
@pytest.mark.parametrize("name", ["ensemble", "normal", "poisson"])
def test_chunks_keep_the_level(name, replications, without_findings):
    simulations, rng = replications(30, 2000), np.random.default_rng(11)
    test, pvalues = ct.OmnibusTest(n_resamples=19), []
    for i in range(simulations):
        mean = rng.normal(size=30)
        if name == "normal":
            predictions, targets = ct.Normal(mean, 1.0), mean + rng.normal(size=30)
        elif name == "poisson":
            predictions, targets = ct.Poisson(np.exp(mean)), rng.poisson(np.exp(mean))
        else:
            predictions = ct.Ensemble(mean[:, None] + rng.normal(size=(30, 3)))
            targets = mean + rng.normal(size=30)
        one = test.accumulator(predictions=predictions.take(slice(0, 15)), rng=i)
        for part in (slice(0, 12), slice(12, 30)):
            one.update(predictions.take(part), targets[part])
        pvalues.append(one.result().pvalue)
    for level in (0.05, 0.2):
        assert np.count_nonzero(np.array(pvalues) <= level) <= stats.binom.ppf(0.998, simulations, level)


@pytest.mark.parametrize("seed", [7, 2**64 - 1])
def test_numbers_of_one_redraw_are_independent_and_of_their_rows(seed):
    """Two uniform numbers for each target, as for vectors."""

    def both(uniforms):
        return np.stack([uniforms(0), uniforms(1)], axis=2)

    def drawn(rows, redraws):
        return _targets(both, rows, np.uint64(seed), None, redraws)

    found = drawn(np.arange(50), range(40))
    assert abs(np.corrcoef(found.reshape(-1, 2).T)[0, 1]) * 2000**0.5 < 4.0
    np.testing.assert_array_equal(drawn(np.array([3, 8]), range(5, 7)), found[5:7, [3, 8]])
