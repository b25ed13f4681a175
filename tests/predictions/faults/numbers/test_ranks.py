"""Ensembles of another shape than the outcomes are said to be that, and other faults of them are not."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

import caltest as ct
from caltest.estimators.combined.findings import findings_of
from caltest.predictions.faults.numbers.ranks import (
    RanksInCoordinates,
    RankSkew,
    RankTails,
    shapes_of_ranks,
    shifts_of_ranks,
)
from caltest.predictions.faults.numbers.scores import Scores
from caltest.predictions.faults.numbers.shapes import sinh_arcsinh
from caltest.predictions.faults.search import candidates_of
from caltest.predictions.faults.vectors.faults import VectorFaults
from caltest.predictions.faults.words import Fit
from caltest.predictions.inputs.convert import as_sample

N, VECTORS, M = 1000, 600, 24


def gamma(rng, shape):
    return (rng.gamma(2.0, 1.0, shape) - 2.0) / np.sqrt(2.0)


def finding(members, errors, seed):
    rng = np.random.default_rng(seed)
    signal = 3.0 * rng.normal(size=N)
    spread = rng.uniform(0.5, 2.0, N)
    members = signal[:, None] + spread[:, None] * members(rng, (N, M))
    return ct.calibration_test(ct.Ensemble(members), signal + spread * errors(rng, N), n_resamples=39, rng=1).finding


def normal(rng, shape):
    return rng.normal(size=shape)


@pytest.mark.every(3)
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


@pytest.mark.every(3)
@pytest.mark.parametrize("seed", range(3))
def test_other_faults_keep_their_names(seed):
    assert finding(gamma, gamma, seed) is None
    assert finding(normal, lambda rng, n: 0.4 + normal(rng, n), seed).kind == "shift"
    for factor in (0.7, 1.4):
        assert finding(normal, lambda rng, n, by=factor: by * normal(rng, n), seed).kind == "scale"
        assert finding(gamma, lambda rng, n, by=factor: by * gamma(rng, n), seed).kind == "scale"


def student(rng, shape):
    return rng.standard_t(3, shape) / np.sqrt(3.0)


def in_the_second(first, other):
    """Vectors whose second coordinate has another law."""

    def errors(rng, shape):
        drawn = first(rng, (*shape, 3))
        drawn[..., 1] = other(rng, shape)
        return drawn

    return errors


def vector_finding(members, errors, seed):
    rng = np.random.default_rng(seed)
    signal, spread = 3.0 * rng.normal(size=(VECTORS, 3)), rng.uniform(0.5, 2.0, (VECTORS, 3))
    members = signal[:, None] + spread[:, None] * members(rng, (VECTORS, M))
    found = findings_of(as_sample(ct.Ensemble(members), signal + spread * errors(rng, (VECTORS,))))[0]
    return found if found.gain > 0.0 else None


@pytest.mark.every(3)
@pytest.mark.parametrize("seed", range(3))
def test_shapes_of_coordinates_are_named(seed):
    right, skewed, heavy = (in_the_second(normal, one) for one in (normal, gamma, student))
    for members, errors, kind, words in (
        (right, skewed, "skew", "errors are skewed beside those of members, with the longer tail above: "),
        (skewed, right, "skew", "errors are skewed beside those of members, with the longer tail below: "),
        (right, heavy, "tails", "errors have heavier tails than members at the same spread: "),
    ):
        found = vector_finding(members, errors, seed)
        assert (found.kind, found.place) == (kind, "coordinate 1")
        assert found.words.startswith(f"in coordinate 1 {words}")
        assert vector_finding(members, members, seed) is None
    for factor in (0.7, 1.4):
        wide = in_the_second(normal, lambda rng, shape, by=factor: by * normal(rng, shape))
        assert vector_finding(right, wide, seed).kind == "scale"
    # Of several each is named by itself.
    words = vector_finding(right, in_the_second(gamma, gamma), seed).words
    first, *others = words.split("; and ")
    assert "errors are skewed beside those of members, with the longer tail above: " in first
    assert all(one.startswith("in coordinate ") and one[15:17] == ": " for one in others)
    assert {one[len("in coordinate ")] for one in (first, *others)} == set("012")


def test_ranks_of_coordinates_are_those_of_numbers():
    rng = np.random.default_rng(4)
    members, y, w = rng.normal(size=(50, 30, 2)), rng.normal(size=(50, 2)), rng.random(50)
    faults = VectorFaults(as_sample(ct.Ensemble(members), y).predictions, w)
    kinds = {one.kind: one for one in faults.following(y) if isinstance(one, RanksInCoordinates)}
    assert list(kinds) == ["skew", "tails"]
    seen = faults.seen(y[None])
    for t in range(2):
        pools = np.concatenate([members[:, :, t], y[:, [t]]], axis=1)
        for alone in shapes_of_ranks(seen_of(pools, y[:, t], w)):
            own = alone.log_ratio(seen_of(pools, y[:, t], w), 0, 0.4)
            assert kinds[alone.kind].log_ratio(seen, t, 0.4) == pytest.approx(own, rel=1e-9)
    assert candidates_of(SimpleNamespace(kinds=list(kinds.values()), weights=w), seen.after(seen.errors)) == []


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


def seen_of(pools, y, weights=None, corrected=None):
    law = ct.Ensemble(np.asarray(pools, dtype=float))
    weights = np.ones(len(y)) if weights is None else weights
    return Scores(law, np.asarray(y, dtype=float)[None], weights, None, corrected)


def test_shapes_are_those_of_enough_ranks():
    for size, kinds in ((9, []), (10, ["skew"]), (19, ["skew"]), (20, ["skew", "tails"])):
        pools = np.arange(size)[None].repeat(3, axis=0)
        faults = shapes_of_ranks(seen_of(pools, [0.0, 3.0, 8.0]))
        assert [one.kind for one in faults] == kinds
        assert [one.range for one in faults] == [(-2.0, 2.0)] * len(kinds)


@pytest.mark.parametrize("t", [-0.7, 0.4])
def test_likelihoods_are_those_of_middle_ranks(t):
    """Of scores at the middles of equal shares; values that are equal share theirs, and corrected ones have none."""
    pool, w = np.array([0.0, 1.0, 1.0, 1.0, *range(4, 24)]), np.array([1.0, 2.0, 0.5])
    z = stats.norm.ppf((np.arange(24) + 0.5) / 24)
    y, places = [0.0, 1.0, 23.0], [[0], [1, 2, 3], [23]]
    faults = shapes_of_ranks(seen_of([pool] * 3, y, w))
    for fault, law in zip(faults, ((t, 1.0), (0.0, np.exp(t))), strict=True):
        density = np.exp(sinh_arcsinh(z, *law))
        ratios = [24 * density[some].mean() / density.sum() for some in places]
        assert fault.log_ratio(seen_of([pool] * 3, y, w), 0, t) == pytest.approx(w @ np.log(ratios), rel=1e-12)
    of_ranks = SimpleNamespace(kinds=shifts_of_ranks(seen_of([pool] * 3, y, w)), weights=w)
    for corrected, number in ((None, 2), (np.zeros(3), 0)):
        assert len(candidates_of(of_ranks, seen_of([pool] * 3, y, w, corrected))) == number


OUTSIDE = np.array([0.0] * 4 + [19.0] * 2 + [9.0] * 14)
"""Of 20 outcomes in pools of 0 to 19 four below all others, two above and fourteen below the middle, of weight 2."""
BALANCED = np.repeat([19.0, 0.0, 19.0, 0.0], [5, 1, 6, 8])
"""Of the same weights half are below all others and half above."""


@pytest.mark.parametrize(
    ("y", "t", "words"),
    [
        (OUTSIDE, -1.0, "below: 12 % of the outcomes are below all members and 5.9 % above all, instead of 5 % each"),
        (
            19.0 - OUTSIDE,
            1.0,
            "above: 12 % of the outcomes are above all members and 5.9 % below all, instead of 5 % each",
        ),
        (OUTSIDE, 1.0, "above: 94 % of the outcomes are below the middle of the members"),
        (19.0 - OUTSIDE, -1.0, "below: 94 % of the outcomes are above the middle of the members"),
        (BALANCED, 1.0, "above: 50 % of the outcomes are below the middle of the members"),
    ],
)
def test_words_of_skewness_count_outcomes_by_their_weight(y, t, words):
    seen = seen_of([np.arange(20.0)] * 20, y, np.array([1.0] * 6 + [2.0] * 14))
    said = shapes_of_ranks(seen)[0].words(seen, 0, Fit(t, t, t))
    assert said == f"errors are skewed beside those of members, with the longer tail {words}"


FEW, MANY = np.array([0.0] + [9.0] * 13 + [1.0] * 7), np.array([0.0, 20.0] * 3 + [9.0] * 6 + [1.0] * 9)
"""Of 21 outcomes in pools of 21 values one outside of all others, or six, and 13 or six in the inner half."""


@pytest.mark.parametrize(
    ("y", "t", "words"),
    [
        (MANY, -1.0, "heavier tails {}: 29 % of the outcomes are outside of all members instead of 9.5 %"),
        (MANY, 1.0, "lighter tails {}: 29 % of the outcomes are in the inner half of the members instead of 52 %"),
        (FEW, -1.0, "heavier tails {}: 62 % of the outcomes are in the inner half of the members instead of 52 %"),
        (FEW, 1.0, "lighter tails {}: 4.8 % of the outcomes are outside of all members instead of 9.5 %"),
    ],
)
def test_words_of_tails_count_outcomes(y, t, words):
    seen = seen_of([np.arange(21.0)] * 21, y)
    said = f"errors have {words}".format("than members at the same spread")
    assert shapes_of_ranks(seen)[1].words(seen, 0, Fit(t, t, t)) == said


@pytest.mark.parametrize("t", [-1.0, 1.0])
def test_ranks_at_the_ends_of_the_inner_half_are_outside_of_it(t):
    """Of 22 ranks the sixth is at 1/4. As many outcomes are outside of all members as should be."""
    y = np.array([0.0, 21.0] + [5.0] * 8 + [16.0] * 7 + [6.0, 10.0, 11.0, 12.0, 15.0])
    seen = seen_of([np.arange(22.0)] * 22, y)
    said = f"errors have {'heavier' if t < 0.0 else 'lighter'} tails than members at the same spread: "
    said += "23 % of the outcomes are in the inner half of the members instead of 45 %"
    assert shapes_of_ranks(seen)[1].words(seen, 0, Fit(t, t, t)) == said


def test_outcomes_that_are_in_no_pool_are_at_their_ends():
    inside, outside = (seen_of([np.arange(20.0)] * 2, y) for y in ([0.0, 19.0], [-1.0, 30.0]))
    for own, other in zip(shapes_of_ranks(inside), shapes_of_ranks(outside), strict=True):
        assert own.log_ratio(inside, 0, 0.5) == other.log_ratio(outside, 0, 0.5)
        assert own.words(inside, 0, Fit(0.5, 0.5, 0.5)) == other.words(outside, 0, Fit(0.5, 0.5, 0.5))


def test_equal_values_are_outside_of_the_others_in_part():
    """Of four that are lowest together each is so a quarter of the times; one in the middle counts half.

    Six of the eight outcomes are lowest, one is highest, and one in the middle of the ranks.
    """
    pool = np.array([0.0] * 4 + [1.0] * 3 + [2.0] * 6 + [3.0] * 3 + [4.0] * 3 + [5.0])
    seen = seen_of([pool] * 8, [0.0] * 6 + [5.0, 2.0])
    skew, _ = shapes_of_ranks(seen)
    words = "errors are skewed beside those of members, with the longer tail "
    ends = "19 % of the outcomes are below all members and 12 % above all, instead of 5 % each"
    assert skew.words(seen, 0, Fit(-1.0, -1.0, -1.0)) == f"{words}below: {ends}"
    middle = "81 % of the outcomes are below the middle of the members"
    assert skew.words(seen, 0, Fit(1.0, 1.0, 1.0)) == f"{words}above: {middle}"
