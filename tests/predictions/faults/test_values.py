"""Values that too many outcomes have are named, with the share that they are, and ties that do no harm are not."""

import numpy as np
import pytest

import caltest as ct
from caltest.auditing.audit_result import REFUSE
from caltest.estimators.combined.findings import findings_of
from caltest.predictions.convert import as_sample
from caltest.predictions.faults.values import repeated_values

N = 1000


def numbers(rng, spread=4.0, sd=2.0):
    mean = rng.normal(15.0, spread, N)
    return ct.Normal(mean, sd), mean + sd * rng.normal(size=N)


def counts(rng):
    law = ct.Poisson(np.exp(0.4 * rng.normal(size=N) + 1.5))
    return law, law.sample(rng)


def first(predictions, outcomes):
    return findings_of(as_sample(predictions, outcomes))[0]


@pytest.mark.parametrize("value", [-1.0, -999.0, 0.0, 99.0])
def test_codes_of_missing_numbers(value):
    rng = np.random.default_rng(1)
    predictions, y = numbers(rng)
    y[:40] = value
    found = first(predictions, y)
    assert (found.kind, found.interval.low < 0.04 < found.interval.high) == ("same value", True)
    assert f"of the outcomes are {value:g} whatever is predicted" in found.words
    assert "40 are exactly that" in found.words
    assert found.estimate == pytest.approx(0.04, abs=2e-3)


def test_codes_where_the_density_is_0():
    """Errors of them are as large as can be, but a value explains them better than outliers."""
    rng = np.random.default_rng(5)
    predictions = ct.Gamma(np.full(N, 2.0), np.exp(0.6 * rng.normal(size=N)))
    y = np.where(rng.random(N) < 0.1, 0.0, predictions.sample(rng))
    found = first(predictions, y)
    assert found.estimate == pytest.approx(np.mean(y == 0.0), abs=1e-5)
    assert "(8.7 % to 13 %) of the outcomes are 0 whatever is predicted" in found.words
    assert found.second is None


def test_audits_say_to_look_at_the_outcomes():
    """And not to recalibrate, although a map may lower the log loss."""
    predictions, y = numbers(np.random.default_rng(1))
    y[::25] = -1.0
    audited = ct.audit(predictions, y, n_resamples=19, rng=1).models[0]
    assert audited.decision == REFUSE
    assert audited.reason.endswith(
        "First look at how these outcomes were recorded, which no map of the predictions mends"
    )


def test_codes_of_missing_counts_and_what_is_wrong_beside():
    rng = np.random.default_rng(2)
    predictions, y = counts(rng)
    y = rng.poisson(1.5 * predictions.mean)
    y[:30] = 99
    found = first(predictions, y)
    assert found.kind == "same value"
    assert found.second.kind in {"factor", "added"}
    assert "30 instead of 0 are exactly that; with that corrected, counts are" in found.words
    predictions, y = numbers(rng)
    y += 1.0
    y[:30] = -1.0
    assert (first(predictions, y).kind, first(predictions, y).second.kind) == ("same value", "shift")


@pytest.mark.parametrize("side", ["above", "below"])
def test_ends_at_which_outcomes_are_cut_off(side):
    for make, ends in ((numbers, (18.0, 13.0)), (counts, (6, 3))):
        predictions, y = make(np.random.default_rng(3))
        y = np.minimum(y, ends[0]) if side == "above" else np.maximum(y, ends[1])
        found = first(predictions, y)
        at = (y == (ends[0] if side == "above" else ends[1])).sum()
        assert found.kind == "cut off"
        assert f"cut off at {ends[side == 'below']:g}: {at}" in found.words
        assert found.words.endswith(f"of those predicted {side} it")
        assert found.interval.low > 0.95


@pytest.mark.every(2)
@pytest.mark.parametrize("step", [0.1, 1.0, 5.0])
def test_rounded_outcomes_have_no_such_values(step):
    """Neither a step that is small beside the predicted deviation, nor a large one."""
    rng = np.random.default_rng(4)
    predictions, y = numbers(rng)
    assert not {"same value", "cut off"} & {one.kind for one in findings_of(as_sample(predictions, y)) if one.gain > 0}
    some = rng.random(N) < 0.7
    for rounded in (step * np.round(y / step), np.where(some, np.round(y), y)):
        kinds = {one.kind for one in findings_of(as_sample(predictions, rounded)) if one.gain > 0.0}
        assert not {"same value", "cut off"} & kinds
    predictions, y = counts(rng)
    kinds = {one.kind for one in findings_of(as_sample(predictions, y // 5 * 5)) if one.gain > 0.0}
    assert not {"same value", "cut off"} & kinds


def test_zeros_of_which_some_are_ones_are_too_few():
    predictions, y = counts(np.random.default_rng(6))
    y[(y == 0) & (np.arange(N) % 4 > 0)] = 1
    assert first(predictions, y).kind == "few zeros"


def test_calibrated_outcomes_have_no_such_values():
    rng = np.random.default_rng(5)
    for make in (numbers, counts, lambda rng: (ct.Poisson(np.full(N, 0.02)), rng.poisson(0.02, N))):
        for _ in range(4):
            found = first(*make(rng))
            assert found.gain <= 0.0 or found.kind not in {"same value", "cut off"}


@pytest.mark.parametrize("kind", ["same value", "cut off"])
def test_ratios_have_mean_one(kind):
    """Over all counts, of which the value is one that others have."""
    law = ct.Poisson(np.array([3.0, 2.0, 4.0, 5.0, 2.5]))
    (fault,) = [one for one in law.faults().kinds if one.kind == kind]
    known = repeated_values(law, np.array([4, 4, 4, 9, 1]), np.ones(5))
    outcomes = np.arange(60)
    p = np.exp(law.log_probabilities(outcomes.astype(float)))[3]
    for sibling, t in ((0, 0.2), (0, 0.9), (1, 0.3)):
        ratios = []
        for u in outcomes:
            y = np.array([4, 4, 4, u, 5])
            seen = law.faults(np.array([0.0, 0.0, 0.0, 1.0, 0.0])).seen(y[None])
            at = y == 4
            seen.__dict__["values"] = [type(one)(one.value, at, one.log_p, one.below, one.above, "") for one in known]
            fault._is_likely = lambda seen, sibling: sibling < (1 if kind == "same value" else 2)
            ratios.append(np.exp(fault.log_ratio(seen, sibling, t)))
        assert p @ ratios == pytest.approx(1.0, abs=1e-8)


def test_values_of_few_outcomes():
    for y in ([1.0, 1.0], [1.0, 2.0], [3.0]):
        law = ct.Normal(np.zeros(len(y)), 1.0)
        assert len(repeated_values(law, np.array(y), np.ones(len(y)))) == 0
    assert ct.calibration_test(ct.Normal(np.zeros(5), 1.0), np.full(5, 0.3), n_resamples=19, rng=1).pvalue > 0.0


def test_two_outcomes_that_are_equal_are_a_repeated_value():
    outcomes = np.append(np.linspace(-1.0, 1.0, 8), [0.3, 0.3])
    assert [one.value for one in repeated_values(ct.Normal(np.zeros(10), 1.0), outcomes, np.ones(10))] == [0.3]
