"""Decompositions of scores."""

import numpy as np
import pytest
from slow import pooled

import caltest as ct

RNG = np.random.default_rng(4)
P = np.round(RNG.random(200), 2)
Y = (RNG.random(200) < P**1.5).astype(int)


@pytest.mark.parametrize("score", ["brier", "log"])
def test_isotonic_decomposition_against_its_definition(score):
    p = np.clip(P, 0.01, 0.99)

    def mean(q):
        with np.errstate(divide="ignore", invalid="ignore"):
            log = -np.where(Y == 1, np.log(q), np.log1p(-q))
        return np.mean((Y - q) ** 2 if score == "brier" else log)

    parts = ct.score_decomposition(p, Y, score=score)
    own, best, climate = mean(p), mean(pooled(p, Y)), mean(np.full(200, Y.mean()))
    assert parts.score == pytest.approx(own, rel=1e-12)
    assert parts.miscalibration == pytest.approx(own - best, rel=1e-10)
    assert parts.discrimination == pytest.approx(climate - best, rel=1e-10)
    assert parts.uncertainty == pytest.approx(climate, rel=1e-12)
    assert min(parts.miscalibration, parts.discrimination) >= 0.0
    assert parts.score == pytest.approx(parts.miscalibration - parts.discrimination + parts.uncertainty, rel=1e-12)


def test_two_columns_are_the_same_as_one_but_for_the_scale_of_the_brier_score():
    one, two = ct.score_decomposition(P, Y), ct.score_decomposition(np.stack([1 - P, P], axis=1), Y)
    assert two.score == pytest.approx(2 * one.score, rel=1e-12)
    assert two.miscalibration == pytest.approx(2 * one.miscalibration, rel=1e-12)


@pytest.mark.parametrize("score", ["brier", "log"])
def test_binned_decomposition(score):
    """Miscalibration of predictions that are alike in each bin is the squared binned error."""
    p = np.repeat([[0.2, 0.3, 0.5], [0.7, 0.2, 0.1]], 30, axis=0)
    y = RNG.integers(0, 3, 60)
    parts = ct.score_decomposition(p, y, score=score, binning=ct.UniformBinning(10))
    f = np.array([np.bincount(y[:30], minlength=3), np.bincount(y[30:], minlength=3)]) / 30
    if score == "brier":
        assert parts.miscalibration == pytest.approx(((p[[0, 30]] - f) ** 2).sum(axis=1).mean(), rel=1e-10)
        squared = ct.ECE(ct.UniformBinning(10), ct.SquaredEuclidean())(p, y)
        assert parts.miscalibration == pytest.approx(squared, rel=1e-10)
    else:
        assert parts.miscalibration == pytest.approx((f * np.log(f / p[[0, 30]])).sum(axis=1).mean(), rel=1e-10)
    assert parts.score == pytest.approx(parts.miscalibration - parts.discrimination + parts.uncertainty, rel=1e-12)
    assert parts.discrimination >= 0.0


def test_perfect_and_constant_predictions():
    perfect = ct.score_decomposition([0.0, 1.0, 1.0], [0, 1, 1], score="log")
    assert (perfect.score, perfect.miscalibration) == (0.0, 0.0)
    constant = ct.score_decomposition([0.5, 0.5], [0, 1])
    assert (constant.miscalibration, constant.discrimination, constant.uncertainty) == (0.0, 0.0, 0.25)
    assert constant.to_dict()["score"] == 0.25


def test_errors():
    with pytest.raises(ValueError, match="predicted probability 0 at row 1"):
        ct.score_decomposition([0.5, 0.0], [0, 1], score="log")
    with pytest.raises(ValueError, match='wanted "brier" or "log"'):
        ct.score_decomposition(P, Y, score="crps")
    with pytest.raises(TypeError, match="3 classes"):
        ct.score_decomposition(np.full((4, 3), 1 / 3), [0, 1, 2, 0])
    with pytest.raises(TypeError, match="wanted a binning"):
        ct.score_decomposition(P, Y, binning=10)
    with pytest.raises(TypeError, match="Normal"):
        ct.score_decomposition(ct.Normal([0.0], 1.0), [0.0])
