"""Codes, copies and members far from all others are asked about; members that are wrong or equal by chance are not."""

import numpy as np
import pytest

import caltest as ct
from caltest.fields import weather
from caltest.predictions.inputs.convert import as_sample

N, M = 300, 20
COPIES = "no case has more than {} different values among its 20 members: are there copies, which make predictions "
WITHIN = "every outcome is one of its members: are outcomes among them?"


def temperatures(seed=1):
    rng = np.random.default_rng(seed)
    centre = rng.normal(15.0, 5.0, N)
    return centre[:, None] + rng.normal(size=(N, M)), centre + rng.normal(size=N)


def asked(members, y):
    return as_sample(ct.Ensemble(members), y).questions


def remarks(members, y):
    return as_sample(ct.Ensemble(members), y).remarks


@pytest.mark.parametrize("code", [-9999.0, -999.0, 999.0])
@pytest.mark.parametrize("where", ["a member", "some", "all of some rows"])
def test_codes_among_members(code, where):
    x, y = temperatures()
    rng = np.random.default_rng(2)
    chosen = {
        "a member": np.arange(M) == 3,
        "some": rng.random((N, M)) < 0.01,
        "all of some rows": (rng.random(N) < 0.03)[:, None],
    }[where]
    members = np.where(chosen, code, x)
    (words,) = asked(members, y)
    count = np.count_nonzero(members == code)
    wanted = f"{count} values of members are {code:g}: is that a code for missing ones"
    assert words == f"{wanted} (leave those members or rows out)?"
    assert weather.rank_histogram(members, y, rng=1).notes[0] == f"{count} values are {code:g}: " + (
        "is that a code for missing ones (pass nan)?"
    )


@pytest.mark.parametrize("number", [1, 3, 9])
@pytest.mark.parametrize("added", [273.15, -273.15])
def test_members_in_another_unit(number, added):
    x, y = temperatures()
    members = x + added * (np.arange(M) < number)
    which = f"{number} of 20 members {'are' if number > 1 else 'is'} far {'above' if added > 0.0 else 'below'} all"
    assert asked(members, y) == (f"in nearly all cases {which} others: another unit, or a code for missing ones?",)


@pytest.mark.parametrize("number", [1, 40, N])
@pytest.mark.parametrize("is_vector", [False, True])
def test_members_that_are_all_one_number(number, is_vector):
    """Of a sampler that stands still; rain that is 0, and members that are the outcome, are no such thing."""
    x, y = temperatures()
    still = np.arange(N)[:, None] < number
    stood = np.where(still, x[:, :1], x)
    words = f"in {number} of 300 cases all members are one number, which no other case has: does the sampler move?"
    if is_vector:
        assert asked(np.stack([x, stood], axis=2), np.stack([y, y], axis=1)) == (words,)
        return
    assert asked(stood, y) == (words,)
    assert asked(np.where(still, y[:, None], x), y) == ()
    assert asked(np.where(still, 0.0, np.maximum(x, 0.0)), np.maximum(y, 0.0)) == ()


def test_members_that_are_only_wrong(replications):
    for seed in range(replications(10, 100)):
        x, y = temperatures(seed)
        heavy = np.random.default_rng(seed).standard_cauchy((N, M + 1))
        assert asked(x + 3.0 * (np.arange(M) == 2), y) == ()
        assert asked(x + np.where(np.arange(M) < 10, 2.0, -2.0), y) == ()
        assert asked(np.maximum(x, 14.0), np.maximum(y, 14.0)) == ()
        assert asked(heavy[:, 1:], heavy[:, 0]) == ()


def test_codes_among_predicted_means():
    x, y = temperatures()
    mean = np.where(np.arange(N) % 50 == 7, -999.0, x.mean(axis=1))
    (words,) = as_sample(ct.Normal(mean, 1.0), y).questions
    assert words == "6 predicted means are -999 (row 7, ...): is that a code for missing ones (leave those rows out)?"
    assert as_sample(ct.Normal(mean, np.where(mean < 0.0, 1e4, 1.0)), y).questions == ()


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("different", [3, 6, 19])
def test_copies(seed, different):
    x, y = temperatures(seed)
    copied = x[:, np.resize(np.arange(different), M)]
    assert remarks(copied, y) == (f"{COPIES.format(different)}look too narrow?",)
    dry = remarks(np.maximum(copied, 0.0), np.maximum(y, 0.0))
    assert dry == (f"{COPIES.format(different)}look too narrow?",)
    vectors = np.stack([copied, copied], axis=2)
    assert remarks(vectors, np.stack([y, y], axis=1)) == (f"{COPIES.format(different)}look too narrow?",)


@pytest.mark.parametrize("seed", range(5))
def test_outcomes_among_members(seed):
    x, y = temperatures(seed)
    assert remarks(np.append(x[:, 1:], y[:, None], axis=1), y) == (WITHIN,)
    assert remarks(np.append(x[: 2 * N // 3, 1:], y[: 2 * N // 3, None], axis=1), y[: 2 * N // 3]) == (WITHIN,)


@pytest.mark.parametrize("seed", range(5))
def test_other_equal_members(seed):
    x, y = temperatures(seed)
    assert remarks(x, y) == ()
    assert remarks(np.maximum(x, 0.0), np.maximum(y, 0.0)) == ()
    for step in (0.1, 0.5, 1.0, 2.0):
        assert remarks(step * np.round(x / step), step * np.round(y / step)) == ()
    assert remarks(np.zeros((N, M)), np.zeros(N)) == ()
    few = slice(0, 19)
    assert remarks(x[few][:, np.resize(np.arange(3), M)], y[few]) == ()
