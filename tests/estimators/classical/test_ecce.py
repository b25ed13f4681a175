"""Cumulative differences against loops over them."""

import numpy as np
import pytest

import caltest as ct
from caltest._laws import absolute_maximum_tail, range_tail


def by_hand(p, y):
    """Maximum absolute deviation and range; differences count where the next prediction is another one."""
    order, n = sorted(range(len(p)), key=lambda i: p[i]), len(p)
    total, values = 0.0, [0.0]
    for place, i in enumerate(order):
        total += y[i] - p[i]
        if place == n - 1 or p[order[place + 1]] > p[i]:
            values.append(total)
    deviation = sum(q * (1 - q) for q in p) ** 0.5
    return max(map(abs, values)) / deviation, (max(values) - min(values)) / deviation


@pytest.mark.parametrize("decimals", [1, 15])
def test_definition(decimals):
    rng = np.random.default_rng(1)
    predictions = ct.Bernoulli(np.round(rng.random(60), decimals))
    p, redraws = predictions.probability, predictions.sample(2, 9)
    expected = np.array([by_hand(p, y) for y in redraws])
    assert ct.estimators.ECCE("MAD").estimates(predictions, redraws) == pytest.approx(expected[:, 0], rel=1e-11)
    assert ct.estimators.ECCE("R").estimates(predictions, redraws) == pytest.approx(expected[:, 1], rel=1e-11)
    shuffled = rng.permutation(60)
    assert ct.estimators.ECCE()(p[shuffled], redraws[0][shuffled]) == pytest.approx(expected[0, 0], rel=1e-11)


@pytest.mark.parametrize(("kind", "tail"), [("MAD", absolute_maximum_tail), ("R", range_tail)])
def test_laws(kind, tail):
    rng = np.random.default_rng(3)
    p = rng.random(300)
    y = (rng.random(300) < p**0.8).astype(int)
    result = ct.ECCETest(kind)(p, y)
    assert result.pvalue == tail(result.estimate)
    assert 0.0 < ct.ECCETest(kind)(p, np.ones(300, dtype=int)).pvalue < 1e-40
    assert "Brownian motion" in result.statistic_name


def test_certain_predictions():
    for kind in ("MAD", "R"):
        result = ct.ECCETest(kind)([0.0, 1.0, 1.0], [0, 1, 1])
        assert (result.statistic, result.pvalue) == (0.0, 1.0)


def test_note_where_little_is_uncertain():
    rng = np.random.default_rng(4)
    p = rng.random(400)
    y = (rng.random(400) < p).astype(int)
    assert not ct.ECCETest()(p, y).notes
    assert "the sum of p (1 - p) is only" in ct.ECCETest()(p[:30], y[:30]).notes[0]


def test_bad_input():
    with pytest.raises(ValueError, match='statistic: got \'KS\', wanted "MAD" or "R"'):
        ct.estimators.ECCE("KS")
    with pytest.raises(TypeError, match="of 3 classes, wanted binary ones for ECCE"):
        ct.estimators.ECCE()(np.full((6, 3), 1 / 3), np.arange(6) % 3)
