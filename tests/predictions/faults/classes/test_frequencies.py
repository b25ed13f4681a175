import numpy as np
import pytest
from scipy import optimize

import caltest as ct
from caltest.predictions.faults.classes.several import ClassFaults, Frequencies
from caltest.predictions.faults.search import candidates_of, finding_of, refined

SHARES = np.array([0.5, 0.2, 0.12, 0.1, 0.08])


def learned_elsewhere(rng, n, shares=SHARES):
    p = rng.dirichlet(np.ones(shares.size), n)
    q = p * shares
    return p, (rng.random((n, 1)) * q.sum(axis=1, keepdims=True) > np.cumsum(q, axis=1)).sum(axis=1)


def faults_of(p, y):
    faults = ClassFaults(ct.Categorical(p).finite)
    (fault,) = (one for one in faults.kinds if isinstance(one, Frequencies))
    return fault, faults.seen(y[None])


def test_most_likely_factors_and_interval_are_those_of_a_profile():
    p, y = learned_elsewhere(np.random.default_rng(1), 1500)
    fault, seen = faults_of(p, y)

    def log_ratio(b, sign=1.0):
        q = p * np.exp(b)
        return sign * np.log(q[np.arange(y.size), y] / q.sum(axis=1) / p[np.arange(y.size), y]).sum()

    a, c = fault._pair(seen)
    best = optimize.minimize(log_ratio, np.zeros(5), (-1.0,), tol=1e-10).x
    t = float(best[a] - best[c])
    low, high = fault.bounds(seen, 0)
    assert (low + high) / 2.0 == pytest.approx(t, abs=0.01)
    assert fault.log_ratio(seen, 0, t) == pytest.approx(log_ratio(best), abs=0.01)
    for moved in (t - 0.15, t + 0.15):
        fixed = {"type": "eq", "fun": lambda b, moved=moved: b[a] - b[c] - moved}
        profile = -optimize.minimize(log_ratio, best, (-1.0,), constraints=[fixed], tol=1e-9).fun
        assert fault.log_ratio(seen, 0, moved) == pytest.approx(profile, abs=0.05)


def test_corrected_predictions_have_the_law_of_the_likelihood():
    p, y = learned_elsewhere(np.random.default_rng(2), 300)
    fault, seen = faults_of(p, y)
    q = fault.corrected(seen, 0, 1.4)
    rows = np.arange(y.size)
    assert np.log(q[rows, y] / p[rows, y]).sum() == pytest.approx(fault.log_ratio(seen, 0, 1.4))


def test_interval_of_the_odds_covers():
    covered = 0
    for seed in range(60):
        p, y = learned_elsewhere(np.random.default_rng(seed), 600)
        faults = ClassFaults(ct.Categorical(p).finite)
        faults.kinds = tuple(one for one in faults.kinds if isinstance(one, Frequencies))
        (one,) = candidates_of(faults, seen := faults.seen(y[None]))
        finding = finding_of(refined(one), seen)
        a, c = (int(word.rstrip(":")) for word in finding.words.split("the odds of class ")[1].split()[:3:2])
        covered += finding.interval.low <= SHARES[a] / SHARES[c] <= finding.interval.high
    assert covered >= 53


def test_one_class_alone_is_named_alone():
    rng = np.random.default_rng(3)
    p, y = learned_elsewhere(rng, 2000, np.array([3.0, 1.0, 1.0, 1.0, 1.0]))
    assert ct.calibration_test(p, y, n_resamples=39, rng=1).finding.kind == "frequency"


def test_classes_without_outcomes_have_finite_factors():
    p, y = learned_elsewhere(np.random.default_rng(4), 400, np.array([1.0, 1.0, 4.0, 0.0, 0.0]))
    found = ct.calibration_test(p, y, rng=1).finding
    assert np.isfinite([found.estimate, found.interval.low, found.interval.high]).all()


def test_strong_shifts_of_claims_name_a_cause_and_weak_ones_do_not():
    rng = np.random.default_rng(5)
    p, y = learned_elsewhere(rng, 2000, np.array([0.9, 0.1]))
    assert "class weights" in ct.calibration_test(p[:, 1], y, n_resamples=39, rng=1).finding.words
    p, y = learned_elsewhere(rng, 20_000, np.array([0.55, 0.45]))
    found = ct.calibration_test(p[:, 1], y, n_resamples=39, rng=1).finding
    assert found.kind == "frequency"
    assert "class weights" not in found.words


def test_hits_ranks_and_coverage_have_no_cause_in_training():
    rng = np.random.default_rng(6)
    p = rng.dirichlet(np.ones(4), 600)
    y = rng.integers(0, 4, 600)
    intervals = np.column_stack([np.full(600, -1.0), np.ones(600)])
    pairs = (
        ct.top_label(p, y),
        ct.predictions.top_m(p, y, 2),
        ct.predictions.interval_coverage(intervals, rng.normal(size=600), confidence_level=0.9),
    )
    for law, outcomes in pairs:
        found = ct.calibration_test(law, outcomes, n_resamples=19, rng=1).findings
        assert found
        assert not any("training" in one.words for one in found)


def test_verdict_is_on_the_classes_most_off():
    """The most probable class is right about as often as claimed, and the others are far off."""
    rng = np.random.default_rng(1)
    p = rng.dirichlet([6.0, 2.0, 2.0, 2.0], 2000)
    q = p * np.array([1.0, 2.5, 0.6, 0.3])
    y = (q.cumsum(axis=1) < rng.random((2000, 1)) * q.sum(axis=1, keepdims=True)).sum(axis=1)
    result = ct.calibration_test(p, y, n_resamples=39, rng=1)
    assert (result.finding.kind, result.finding.place) == ("frequencies", "class 1, class 3")
    assert "the error is large enough to matter" in str(result).replace("\n               ", " ")
