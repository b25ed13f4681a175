"""Sums over counts by faults of counts, against sums over all of them."""

import numpy as np
import pytest

import caltest as ct
from caltest.estimators.combined.findings import findings_of
from caltest.predictions.faults.counts.faults import CountFaults
from caltest.predictions.faults.counts.means import Step
from caltest.predictions.faults.counts.outliers import Outliers, _likeliest
from caltest.predictions.faults.counts.seen import CountView
from caltest.predictions.faults.counts.spreads import SpreadWave
from caltest.predictions.faults.waves import Wave
from caltest.predictions.inputs.convert import as_sample

RNG = np.random.default_rng(3)


@pytest.mark.every(3)
@pytest.mark.parametrize("t", [0.0, 1e-3, 0.4, 3.0, 20.0])
@pytest.mark.parametrize(
    "law",
    [
        ct.Poisson(np.exp(RNG.normal(1.0, 2.0, 40))),
        ct.NegativeBinomial(RNG.gamma(2.0, 2.0, 40), RNG.uniform(0.1, 0.9, 40)),
        ct.Poisson(np.array([1e-9, 0.0, 300.0])),
        ct.NegativeBinomial.from_mean(RNG.uniform(20.0, 2000.0, 40), RNG.uniform(0.01, 1.0, 40)),
    ],
)
def test_tilted_sums(law, t):
    view, p = CountView(law, None), law.probability_vectors()
    counts = np.arange(*law.window)
    variance = np.where(law.variance > 0.0, law.variance, np.inf)
    squares = np.square(counts - law.mean[:, None]) / variance[:, None]
    terms = p * np.exp(-t * squares)
    norms, sums = view.tilted(t)
    assert norms == pytest.approx(terms.sum(axis=1), rel=1e-13)
    assert sums == pytest.approx((terms * squares).sum(axis=1), rel=1e-13)


@pytest.mark.every(3)
@pytest.mark.parametrize("t", [-0.8, -1e-4, 0.0, 0.3])
@pytest.mark.parametrize(
    "law", [ct.Poisson(np.array([2.0, 5.0])), ct.NegativeBinomial.from_mean(np.array([2.0, 5.0]), np.full(2, 0.25))]
)
def test_waves_of_spreads_are_laws(law, t):
    """Likelihood ratios have the mean 1, and variances are larger where the wave has the sign of the size."""
    fault, counts = (
        SpreadWave([Wave(np.array([0.5, -1.0]), feature=law.mean, periods=np.arange(2.0))]),
        np.arange(120),
    )
    logs = law.log_probabilities(counts.astype(float))
    for i, sign in enumerate((1.0, -1.0)):
        faults = CountFaults(law, np.eye(2)[i])
        q = np.exp([logs[i, y] + fault.log_ratio(faults.seen(np.full((1, 2), y)), 0, t) for y in counts])
        times = q @ np.square(counts - q @ counts) / law.variance[i]
        assert q.sum() == pytest.approx(1.0, rel=1e-9)
        assert times == pytest.approx(1.0 + 2.0 * abs(t), rel=1e-6) if sign * t >= 0.0 else times < 1.0


def test_a_wave_of_one_sign_for_all_predictions_is_a_law_too():
    """Where no prediction has the other sign there are none of one of the two laws."""
    law, y = ct.Poisson(np.array([2.0, 5.0])), np.array([[1, 9]])
    fault = SpreadWave([Wave(np.ones(2), feature=law.mean, periods=np.arange(2.0))])
    seen = CountFaults(law).seen(y)
    narrow = -0.4 * seen.squares[0] - np.log(seen.view.tilted(0.4)[0])
    assert fault.log_ratio(seen, 0, -0.4) == pytest.approx(narrow.sum())
    wide = law.with_dispersion(0.8 / law.mean).log_density(y[0]) - law.log_density(y[0])
    assert fault.log_ratio(seen, 0, 0.4) == pytest.approx(wide.sum())


@pytest.mark.parametrize("t", [0.0, 0.03, 0.5])
def test_outliers_are_a_law_and_one_far_count_is_named(t):
    law, fault, counts = ct.Poisson(np.array([2.0])), Outliers(100.0), np.arange(400)
    seen = CountFaults(law).seen(np.array([[30]]))
    size = _likeliest(seen)[1]
    assert size == pytest.approx(15.0, rel=0.05)
    outlying = ct.NegativeBinomial.from_mean(2.0 * size, 0.25)
    p, r = (one.log_probabilities(counts.astype(float))[0] for one in (law, outlying))
    q = (1.0 - t) * np.exp(p) + t * np.exp(r)
    assert q.sum() == pytest.approx(1.0, rel=1e-6)
    assert fault.log_ratio(seen, 0, t) == pytest.approx(np.log(q[30]) - p[30])
    assert fault.promising(CountFaults(law).seen(np.array([[6]])))[0] == -np.inf
    rng = np.random.default_rng(0)
    mean = np.exp(rng.normal(size=200))
    y = rng.poisson(mean)
    y[7] = 10 * mean[7] + 40
    found = findings_of(as_sample(ct.Poisson(mean), y))[0]
    assert found.kind == "outliers"
    assert "of the counts are outliers, about" in found.words


@pytest.mark.parametrize(("factor", "kind"), [(1.0, "dispersion"), (1.4, "factor")])
def test_rare_counts_that_vary_more_are_no_outliers(factor, kind, replications):
    """A share of larger counts, none of which stands out, is another mean and another dispersion."""
    for seed in range(1, 1 + replications(2, 10)):
        rng = np.random.default_rng([seed, 5])
        m = rng.uniform(0.1, 0.5, 2000)
        first = findings_of(as_sample(ct.Poisson(m), rng.poisson(factor * m * rng.gamma(1.0, 1.0, m.size))))[0]
        kinds = {first.kind} | ({first.second.kind} if first.second else set())
        assert "dispersion" in kinds
        assert kinds & ({kind, "added"} if factor > 1.0 else {kind})


def test_rare_outliers_that_stand_out_are_named():
    rng = np.random.default_rng(5)
    m = rng.uniform(0.1, 0.5, 2000)
    far = rng.random(m.size) < 0.02
    first = findings_of(as_sample(ct.Poisson(m), rng.poisson(np.where(far, 30.0, 1.0) * m)))[0]
    assert first.kind == "outliers"
    assert not first.interval.excludes(0.02)


@pytest.mark.parametrize(
    ("law", "draw", "kind", "place", "size"),
    [
        (ct.Poisson, lambda rng, m: np.maximum(rng.poisson(m) - 1, 0), "step", "lower", 1.0),
        (ct.Poisson, lambda rng, m: rng.poisson(m) + (rng.random(m.size) < 0.5), "step", "higher", 0.5),
        (
            ct.Poisson,
            lambda rng, m: rng.poisson(m * np.where(m > np.median(m), rng.gamma(2.0, 0.5, m.size), 1.0)),
            "local dispersion",
            "where predicted means are above",
            0.5,
        ),
        (
            lambda m: ct.NegativeBinomial.from_mean(m, np.full(m.size, 0.2)),
            lambda rng, m: rng.poisson(
                m * np.where(m > np.median(m), rng.gamma(5.0, 0.2, m.size), rng.gamma(1.25, 0.8, m.size))
            ),
            "local dispersion",
            "where predicted means are at most",
            4.0,
        ),
        (
            ct.Poisson,
            lambda rng, m: rng.poisson(np.where(m > 3.0, m * m / 3.0, m)),
            "local elasticity",
            "where predicted means are above",
            2.0,
        ),
        (
            ct.Poisson,
            lambda rng, m: rng.poisson(m * np.where(m > np.median(m), 1.5, 1.0)),
            "local factor",
            "where predicted means are above",
            1.5,
        ),
    ],
)
def test_faults_of_some_counts(law, draw, kind, place, size, replications):
    for seed in range(replications(1, 10)):
        rng = np.random.default_rng([seed, 7])
        m = np.exp(1.0 + 0.7 * rng.normal(size=2000))
        first = findings_of(as_sample(law(m), draw(rng, m)))[0]
        assert (first.kind, first.place.startswith(place)) == (kind, True)
        assert first.estimate == pytest.approx(size, rel=0.3)


def test_means_that_are_cut_off():
    rng = np.random.default_rng(8)
    m = np.exp(1.0 + 0.7 * rng.normal(size=2000))
    first = findings_of(as_sample(ct.Poisson(np.minimum(m, 5.0)), rng.poisson(m)))[0]
    assert (first.kind, first.place) == ("local factor", "where predicted means are 5, the largest")
    assert 1.3 < first.estimate < 1.9


@pytest.mark.parametrize("sibling", [0, 1])
@pytest.mark.parametrize("t", [0.0, 0.3, 1.0])
def test_steps_are_laws(sibling, t):
    law, counts = ct.Poisson(np.array([2.0])), np.arange(60)
    logs = law.log_probabilities(counts.astype(float))[0]
    q = [np.exp(logs[y] + Step().log_ratio(CountFaults(law).seen(np.array([[y]])), sibling, t)) for y in counts]
    assert np.sum(q) == pytest.approx(1.0, rel=1e-9)
    assert np.sum(q * counts) == pytest.approx(2.0 + (t if sibling == 0 else -t * (1.0 - np.exp(-2.0))), rel=1e-9)
