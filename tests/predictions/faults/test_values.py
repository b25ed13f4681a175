"""Values that too many outcomes have are named, with the share that they are, and ties that do no harm are not."""

import numpy as np
import pytest

import caltest as ct
from caltest.auditing.audit_result import REFUSE
from caltest.estimators.combined.findings import findings_of
from caltest.predictions.faults.values import repeated_values
from caltest.predictions.inputs.convert import as_sample

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
    assert audited.reason.endswith("First look at how these outcomes were recorded, which no recalibration mends")


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


def vectors(rng, correlation):
    covariance = np.full((3, 3), correlation) + (1.0 - correlation) * np.eye(3)
    mean = rng.normal(4.0, 1.0, (N, 3))
    law = ct.MvNormal(mean, np.broadcast_to(covariance, (N, 3, 3)))
    return law, mean + rng.normal(size=(N, 3)) @ np.linalg.cholesky(covariance).T


def ensembles(rng, shape=(N,)):
    centre = rng.normal(4.0, 1.0, shape)
    return ct.Ensemble(centre[:, None] + rng.normal(size=(N, 12, *shape[1:]))), centre + rng.normal(size=shape)


@pytest.mark.parametrize("make", [lambda r: vectors(r, 0.0), lambda r: vectors(r, 0.6), lambda r: ensembles(r, (N, 3))])
def test_values_of_one_coordinate(make):
    rng = np.random.default_rng(7)
    predictions, y = make(rng)
    assert first(predictions, y).gain < 0.0
    missing, cut = y.copy(), y.copy()
    missing[:50, 1] = 0.0
    found = first(predictions, missing)
    assert (found.kind, found.place, found.second) == ("same value", "coordinate 1", None)
    assert found.words.startswith("in coordinate 1 about 5 % (")
    assert found.words.endswith("whatever is predicted, such as a code for missing ones: 50 are exactly that")
    cut[:, 2] = np.minimum(cut[:, 2], 5.0)
    found = first(predictions, cut)
    assert (found.kind, found.place) == ("cut off", "coordinate 2")
    assert found.words.startswith(f"in coordinate 2 outcomes are cut off at 5: {(cut[:, 2] == 5.0).sum()} are exactly")


@pytest.mark.parametrize("value", [-999.0, 0.0, 4.0])
def test_values_beside_ensembles(value):
    rng = np.random.default_rng(8)
    predictions, y = ensembles(rng)
    assert first(predictions, y).gain < 0.0
    rounded = ct.Ensemble(np.rint(2.0 * np.asarray(predictions.members)) / 2.0)
    for law, outcomes in ((predictions, np.rint(2.0 * y) / 2.0), (rounded, np.rint(2.0 * y) / 2.0)):
        assert first(law, outcomes).gain < 0.0
    cut = first(predictions, np.maximum(y, 3.0))
    assert cut.kind == "cut off"
    assert cut.words.startswith("outcomes are cut off at 3: ")
    y[:40] = value
    found = first(predictions, y)
    assert (found.kind, found.interval.low < 0.04 < found.interval.high) == ("same value", True)
    assert f"of the outcomes are {value:g} whatever is predicted" in found.words


def test_equal_outcomes_are_no_outliers_where_no_others_are_equal():
    """Small numbers in place of zeros, which are not far away beside their errors."""
    rng = np.random.default_rng(9)
    predictions = ct.Gamma(np.full(N, 3.0), rng.uniform(1.0, 3.0, N))
    y = np.where(np.arange(N) % 20 == 0, 0.01, predictions.sample(rng))
    found = first(predictions, y)
    assert (found.kind, found.second) == ("same value", None)
    assert found.interval.low < 0.05 < found.interval.high


def test_a_few_equal_outcomes_are_those_of_copied_rows():
    rng = np.random.default_rng(10)
    predictions, y = numbers(rng)
    rows = np.append(np.arange(N - 8), [3, 3, 3, 5, 5, 9, 9, 9])
    assert first(predictions.take(rows), y[rows]).gain < 0.0
