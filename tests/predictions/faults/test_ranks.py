"""Ensembles of another shape than the outcomes are said to be that, and other faults of them are not."""

import numpy as np
import pytest

import caltest as ct
from caltest.predictions.faults.ranks import RankSkew, RankTails
from caltest.predictions.faults.scores import Scores

N, M = 1000, 24


def gamma(rng, shape):
    return (rng.gamma(2.0, 1.0, shape) - 2.0) / np.sqrt(2.0)


def finding(members, errors, seed):
    rng = np.random.default_rng(seed)
    signal = 3.0 * rng.normal(size=N)
    spread = rng.uniform(0.5, 2.0, N)
    members = signal[:, None] + spread[:, None] * members(rng, (N, M))
    return ct.calibration_test(ct.Ensemble(members), signal + spread * errors(rng, N), n_resamples=99, rng=1).finding


def normal(rng, shape):
    return rng.normal(size=shape)


@pytest.mark.parametrize("seed", range(3))
def test_shapes_are_named(seed):
    skewed = finding(gamma, normal, seed)
    assert skewed.kind == "skew"
    assert "with the longer tail below: " in skewed.words
    assert "below all members" in skewed.words
    assert "4 % each" in skewed.words
    assert skewed.gain > 10.0
    assert "with the longer tail above: " in finding(normal, gamma, seed).words
    heavy = finding(normal, lambda rng, n: rng.standard_t(3, n) / np.sqrt(3.0), seed)
    assert heavy.kind == "tails"
    assert heavy.words.startswith("errors have heavier tails than members at the same spread: ")
    light = finding(lambda rng, n: rng.standard_t(3, n) / np.sqrt(3.0), normal, seed)
    assert light.words.startswith("errors have lighter tails than members at the same spread: ")


@pytest.mark.parametrize("seed", range(3))
def test_other_faults_keep_their_names(seed):
    assert finding(gamma, gamma, seed) is None
    assert finding(normal, lambda rng, n: 0.4 + normal(rng, n), seed).kind == "shift"
    for factor in (0.7, 1.4):
        assert finding(normal, lambda rng, n, by=factor: by * normal(rng, n), seed).kind == "scale"
        assert finding(gamma, lambda rng, n, by=factor: by * gamma(rng, n), seed).kind == "scale"


@pytest.mark.parametrize("kind", [RankSkew, RankTails])
@pytest.mark.parametrize("t", [-1.2, 0.0, 0.5])
def test_ranks_have_probabilities(kind, t):
    """Over all ranks, with shares for equal values, likelihood ratios have the mean 1 given the pool."""
    pool = np.array([0.0, 0.0, 0.0, 1.0, 2.0, 2.0, *range(3, 17)])
    ratios = []
    for y in pool:
        below, equal = np.array([(pool < y).sum()]), np.array([(pool == y).sum()])
        fault = kind(below, equal, pool.size)
        seen = Scores(ct.Normal([0.0], 1.0), np.zeros((1, 1)), np.ones(1))
        ratios.append(np.exp(fault.log_ratio(seen, 0, t)))
    np.testing.assert_allclose(np.mean(ratios), 1.0, rtol=1e-12)
    assert (np.ptp(ratios) > 0.01) == (t != 0.0)
