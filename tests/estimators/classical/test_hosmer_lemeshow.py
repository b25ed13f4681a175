"""The statistic of Hosmer and Lemeshow against a slow version, and its chi-squared test."""

import numpy as np
import pytest
from scipy import stats

import caltest as ct


def by_hand(p, y, n_groups):
    """Statistic and number of groups that can vary; equal predictions stay together."""
    ordered, n = np.sort(p), len(p)
    edges = [ordered[-(-n * g // n_groups) - 1] for g in range(1, n_groups + 1)]
    total, groups, low = 0.0, 0, -np.inf
    for high in edges:
        members = [i for i in range(n) if low < p[i] <= high]
        low = high
        if not members:
            continue
        expected, observed = sum(p[i] for i in members), sum(y[i] for i in members)
        variance = expected * (1.0 - expected / len(members))
        if variance > 0.0:
            total += (observed - expected) ** 2 / variance
            groups += 1
    return total, groups


@pytest.mark.parametrize("n_groups", [1, 3, 10, 200])
@pytest.mark.parametrize("decimals", [1, 15])
def test_definition(n_groups, decimals):
    rng = np.random.default_rng(1)
    p = np.round(rng.uniform(0.06, 0.94, 103), decimals)
    y = rng.integers(0, 2, 103)
    statistic, groups = by_hand(p, y, n_groups)
    result = ct.HosmerLemeshowTest(n_groups)(p, y)
    assert result.estimate == pytest.approx(statistic, rel=1e-10)
    assert result.df == (groups,)
    assert result.pvalue == pytest.approx(stats.chi2.sf(statistic, groups), rel=1e-9)
    assert result.pvalue_kind == "asymptotic"


def test_equal_groups_without_ties():
    rng = np.random.default_rng(2)
    p, y = rng.random(100), rng.integers(0, 2, 100)
    order = np.argsort(p).reshape(10, 10)
    observed, expected = y[order].sum(axis=1), p[order].sum(axis=1)
    plain = np.sum((observed - expected) ** 2 / (expected * (1 - expected / 10)))
    assert ct.estimators.HosmerLemeshow()(p, y) == pytest.approx(plain, rel=1e-8)


def test_two_classes_are_as_binary():
    rng = np.random.default_rng(3)
    p, y = rng.random(50), rng.integers(0, 2, 50)
    one = ct.MonteCarloTest(ct.estimators.HosmerLemeshow(), 19)(p, y, rng=1)
    two = ct.MonteCarloTest(ct.estimators.HosmerLemeshow(), 19)(np.column_stack([1 - p, p]), y, rng=1)
    assert one.estimate == pytest.approx(two.estimate, rel=1e-12)
    assert one.pvalue_kind == two.pvalue_kind == "exact"


def test_many_redraws_equal_one_at_a_time(monkeypatch):
    from caltest.estimators.classical import base

    rng = np.random.default_rng(4)
    p = ct.Bernoulli(rng.random(40))
    redraws = p.sample(5, 7)
    expected = [by_hand(p.probability, y, 10)[0] for y in redraws]
    for at_once in (1, 90, 2**20):
        monkeypatch.setattr(base, "AT_ONCE", at_once)
        assert ct.estimators.HosmerLemeshow().estimates(p, redraws) == pytest.approx(expected, rel=1e-10)


def test_groups_that_cannot_vary_are_left_out():
    p = np.array([0.0] * 5 + [0.3] * 5 + [1.0] * 5)
    y = np.array([0] * 5 + [1, 0, 0, 1, 1] + [1] * 5)
    result = ct.HosmerLemeshowTest(3)(p, y)
    assert result.df == (1.0,)
    assert result.statistic == pytest.approx(1.5**2 / (1.5 * 0.7))
    certain = ct.HosmerLemeshowTest()([0.0, 1.0, 1.0], [0, 1, 1])
    assert (certain.statistic, certain.pvalue, certain.df) == (0.0, 1.0, (0.0,))
    impossible = ct.HosmerLemeshowTest()([0.0, 1.0, 1.0], [1, 1, 1])
    assert (impossible.statistic, impossible.pvalue) == (0.0, 0.0)
    assert impossible.finding.words == "an outcome occurred to which probability 0 was given (row 0: class 1)"


def test_note_where_few_events_are_expected():
    rng = np.random.default_rng(6)
    enough, few = rng.uniform(0.3, 0.7, 400), rng.uniform(0.01, 0.7, 400)
    y = rng.integers(0, 2, 400)
    assert not ct.HosmerLemeshowTest()(enough, y).notes
    assert "events or non-events are expected in a group" in ct.HosmerLemeshowTest()(few, y).notes[0]
    assert not ct.MonteCarloTest(ct.estimators.HosmerLemeshow(), 9)(few, y).notes


def test_bad_input():
    p, y = np.full((6, 3), 1 / 3), np.arange(6) % 3
    with pytest.raises(TypeError, match=r"of 3 classes, wanted binary ones .* ct.top_label\(p, y\).* ct.classwise"):
        ct.estimators.HosmerLemeshow()(p, y)
    with pytest.raises(TypeError, match="got Normal predictions, wanted Bernoulli ones"):
        ct.estimators.HosmerLemeshow()(ct.Normal([0.0], 1.0), [0.0])
    for wrong in (0, 2.5, "ten"):
        with pytest.raises(ValueError, match="n_bins"):
            ct.estimators.HosmerLemeshow(wrong)
    with pytest.raises(TypeError, match="got ECE for TextbookNull, wanted an estimator with textbook_statistic, "):
        ct.CalibrationTest(ct.ECE(), ct.nulls.TextbookNull())
