"""Counts and numbers that people round: the words say so, and do not take a round number for a code."""

import numpy as np
import pytest

import caltest as ct
from caltest.auditing.audit_result import REFUSE
from caltest.estimators.combined.findings import findings_of
from caltest.predictions.faults.counts.heaped import Heaped
from caltest.predictions.faults.values import STEPS, heaps
from caltest.predictions.inputs.convert import as_sample


def first(predictions, outcomes):
    return findings_of(as_sample(predictions, outcomes))[0]


def rounded(y, step, share, rng):
    return np.where(rng.random(len(y)) < share, step * np.rint(y / step), y).astype(int)


@pytest.mark.every(5)
@pytest.mark.parametrize("n", [300, 2000])
@pytest.mark.parametrize(("step", "share"), [(2, 0.5), (5, 0.3), (10, 0.3), (12, 0.3)])
def test_counts_of_which_a_share_is_rounded(step, share, n):
    rng = np.random.default_rng(step)
    mean = rng.gamma(3.0, 5.0, n)
    for law in (ct.Poisson(mean), ct.NegativeBinomial.from_mean(mean, 0.3)):
        found = first(law, rounded(law.sample(rng), step, share, rng))
        assert (found.kind, found.place) == ("heaped", f"multiples of {step}")
        assert found.interval.low - 0.03 < share < found.interval.high + 0.03
        assert f"of the counts are rounded to multiples of {step}, which" in found.words


def test_all_counts_of_another_mean_are_rounded_and_others_are_not():
    rng = np.random.default_rng(2)
    mean = rng.gamma(3.0, 5.0, 600)
    y = rng.poisson(mean)
    assert first(ct.Poisson(mean), rounded(y, 10, 1.0, rng)).words == "all counts are multiples of 10: they are rounded"
    both = first(ct.Poisson(0.8 * mean), rounded(y, 5, 0.3, rng))
    assert (both.kind, both.second.kind) == ("factor", "heaped")
    for predictions in (ct.Poisson(mean), ct.Poisson(0.8 * mean), ct.NegativeBinomial.from_mean(mean, 0.3)):
        kinds = [one.kind for one in findings_of(as_sample(predictions, y)) if one.gain > 0.0]
        assert "heaped" not in kinds
        assert "same value" not in kinds


@pytest.mark.every(2)
@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_round_numbers_of_a_continuous_law_are_no_codes(share):
    """Blood pressures read off in tens: nothing is wrong with their predictions, but for a code that is one."""
    rng = np.random.default_rng(3)
    mean = rng.normal(130.0, 12.0, 2000)
    predictions, y = ct.Normal(mean, 12.0), rounded(mean + 12.0 * rng.normal(size=2000), 10, share, rng)
    assert not {"same value", "cut off"} & {
        one.kind for one in findings_of(as_sample(predictions, y)) if one.gain > 0.0
    }
    y[:20] = 999
    assert "outcomes are 999 whatever is predicted" in first(predictions, y).words
    ended = np.minimum(y[20:], 150)
    assert "outcomes are cut off at 150" in first(predictions.take(slice(20, None)), ended).words


@pytest.mark.parametrize("step", [0.5, 5.0])
def test_round_numbers_among_others_are_no_codes(step):
    """Half of the outcomes are read off at a coarse scale, and the others are not rounded at all."""
    rng = np.random.default_rng(5)
    mean = step * rng.normal(10.0, 2.0, 2000)
    y = mean + 0.8 * step * rng.normal(size=2000)
    y = np.where(rng.random(2000) < 0.5, step * np.rint(y / step), y)
    found = findings_of(as_sample(ct.Normal(mean, 0.8 * step), y))
    assert not {"same value", "cut off"} & {one.kind for one in found if one.gain > 0.0}
    y[:20] = -step
    assert first(ct.Normal(mean, 0.8 * step), y).kind == "same value"


def test_audits_say_to_look_at_the_records():
    rng = np.random.default_rng(4)
    law = ct.Poisson(rng.gamma(3.0, 5.0, 600))
    audited = ct.audit(law, rounded(law.sample(rng), 10, 0.3, rng), n_resamples=19, rng=1).models[0]
    assert audited.decision == REFUSE
    assert "First look at how these outcomes were recorded" in audited.reason


@pytest.mark.parametrize("sibling", range(len(STEPS)))
def test_ratios_have_mean_one(sibling):
    law = ct.Poisson([7.3])
    p = np.exp(law.log_probabilities(np.arange(80.0)))[0]
    fault, faults = Heaped(), law.faults()
    ratios = [np.exp(fault.log_ratio(faults.seen(np.array([[u]])), sibling, 0.3)) for u in range(80)]
    assert p @ ratios == pytest.approx(1.0, abs=1e-9)


def test_a_heap_is_told_by_other_multiples():
    values, expected = np.arange(1.0, 41.0), np.full(40, 10.0)
    one = np.where(values == 20.0, 60, 10)
    assert not heaps(values, one, expected, 1.0).any()
    many = np.where(values % 5 == 0, 30, 6)
    assert set(heaps(values, many, expected, 1.0)[values % 5 == 0]) == {5.0, 10.0}
    assert not heaps(values, many, expected, 1.0)[values % 5 != 0].any()
    few = np.where(np.isin(values, [10.0, 20.0]), 60, 9)
    assert heaps(values, few, expected, 1.0)[values == 5.0].tolist() == [0.0]


def test_too_many_zeros_and_large_counts_are_no_rounding():
    rng = np.random.default_rng(1)
    mean = np.exp(0.7 * rng.normal(size=2000) + 1.0)
    y = rng.poisson(mean)
    y = np.where(rng.random(2000) < 0.4, np.maximum(y - 1, 0), y)
    found = first(ct.Poisson(mean), y)
    assert (found.kind, found.place) == ("step", "lower")
    assert not found.interval.excludes(0.4)
    assert "rounded" not in found.words


def test_too_many_zeros_of_small_means_and_outliers_are_no_rounding():
    rng = np.random.default_rng([1, 2000, 77])
    mean = np.exp(0.7 * rng.normal(size=2000) + 1.0)
    y = rng.poisson(mean) * (rng.random(2000) > np.where(mean < np.e, 0.3, 0.0))
    found = first(ct.Poisson(mean), y)
    assert found.kind == "local zeros"
    small = mean <= np.median(mean)
    assert f"{np.sum(y[small] == 0)} instead of {np.exp(-mean[small]).sum():.0f}; about" in found.words
    assert "rounded" not in found.words
    y = rng.poisson(mean[:200])
    y[-1] = 100_000
    for law in (ct.Poisson(mean[:200]), ct.NegativeBinomial.from_mean(mean[:200], 0.3)):
        found = findings_of(as_sample(law, y))
        assert found[0].kind == "outliers"
        assert "heaped" not in {one.kind for one in found if one.gain > 0.0}
        assert "rounded" not in found[0].words


@pytest.mark.parametrize("unit", [1.0, 0.1])
@pytest.mark.parametrize(
    ("excess", "found"),
    [
        ([11] * 5, [10] * 5),  # Of each the others are 4.4 standard deviations too frequent,
        ([9] * 5, [0] * 5),  # or 3.6;
        ([15] * 4, [10] * 4),  # three others at least are,
        ([40] * 3, [0] * 3),
        ([20] * 4 + [-1], [10] * 5),  # and three quarters of them.
        ([20] * 4 + [-1] * 2, [0] * 4 + [10] * 2),
    ],
)
def test_multiples_are_heaps_where_most_others_are_too_frequent(excess, found, unit):
    expected = np.full(len(excess), 25.0)
    values = 10.0 * unit * np.arange(1, len(excess) + 1)
    assert heaps(values, expected + excess, expected, unit) == pytest.approx(unit * np.array(found))
