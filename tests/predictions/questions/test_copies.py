"""Members that are copied are asked about, those that are equal for other reasons are not."""

import numpy as np
import pytest

import caltest as ct
from caltest.predictions.convert import as_sample

N, M = 100, 12
COPIES = "no case has more than {} different values among its 12 members: are there copies, which make predictions "
WITHIN = "every outcome is one of its members: are outcomes among them?"


def data(seed):
    rng = np.random.default_rng(seed)
    centre = 3.0 * rng.normal(size=N)
    return centre[:, None] + rng.normal(size=(N, M)), centre + rng.normal(size=N)


def asked(members, y):
    return as_sample(ct.Ensemble(members), y).remarks


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("different", [3, 6, 11])
def test_copies(seed, different):
    x, y = data(seed)
    copied = x[:, np.resize(np.arange(different), M)]
    assert asked(copied, y) == (f"{COPIES.format(different)}look too narrow?",)
    dry = asked(np.maximum(copied, 0.0), np.maximum(y, 0.0))
    assert dry == (f"{COPIES.format(different)}look too narrow?",)
    vectors = np.stack([copied, copied], axis=2)
    assert asked(vectors, np.stack([y, y], axis=1)) == (f"{COPIES.format(different)}look too narrow?",)


@pytest.mark.parametrize("seed", range(5))
def test_outcomes_among_members(seed):
    x, y = data(seed)
    assert asked(np.append(x[:, 1:], y[:, None], axis=1), y) == (WITHIN,)
    assert asked(np.append(x[: 2 * N // 3, 1:], y[: 2 * N // 3, None], axis=1), y[: 2 * N // 3]) == (WITHIN,)


@pytest.mark.parametrize("seed", range(5))
def test_other_equal_members(seed):
    x, y = data(seed)
    assert asked(x, y) == ()
    assert asked(np.maximum(x, 0.0), np.maximum(y, 0.0)) == ()
    for step in (0.1, 0.5, 1.0, 2.0):
        assert asked(step * np.round(x / step), step * np.round(y / step)) == ()
    assert asked(np.zeros((N, M)), np.zeros(N)) == ()
    few = slice(0, 19)
    assert asked(x[few][:, np.resize(np.arange(3), M)], y[few]) == ()
