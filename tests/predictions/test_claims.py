import numpy as np
import pytest

import caltest as ct
from caltest.predictions.claims import of_pools


def crps(members, outcome):
    """``mean |x - y| - mean |x - x'| / 2`` of equally likely members."""
    return np.abs(members - outcome).mean() - np.abs(members[:, None] - members).mean() / 2.0


def test_scores_of_pools_are_those_of_each_value_among_the_others():
    pools = np.random.default_rng(1).normal(size=(7, 6))
    alone = [[crps(np.delete(pool, j), pool[j]) for j in range(6)] for pool in pools]
    _, (score,) = of_pools(pools, pools[:, 2])
    assert score.name == "CRPS"
    assert score.claimed == pytest.approx(np.mean(alone), rel=1e-12)
    assert score.observed == pytest.approx(np.mean(alone, axis=0)[2], rel=1e-12)


@pytest.mark.parametrize(("n", "k"), [(1500, 3), (1500, 700)])
def test_slightly_wrong_labels_are_right_so_much_less_often(n, k):
    """Of many classes the temperature comes from some rows, and labels are drawn from some at a time."""
    p = np.random.default_rng(2).dirichlet(np.full(k, 3.0 / k), n)
    words, labels = ct.Categorical(p).slightly_wrong(1, 100)
    hits = labels == p.argmax(axis=1)
    assert words == "probabilities 2 points too sure on average"
    assert p.max(axis=1).mean() - hits.mean() == pytest.approx(0.02, abs=0.004)
    half = np.abs(p.max(axis=1)[::2].mean() - hits[:, ::2].mean() - p.max(axis=1)[1::2].mean() + hits[:, 1::2].mean())
    assert half < 0.008


def test_outcomes_that_are_slightly_too_high_are_so_in_predicted_standard_deviations():
    """Not in those of normal scores, of which a law with two humps makes another number."""
    law = ct.Mixture([ct.Normal(np.full(50, -3.0), 0.5), ct.Normal(np.full(50, 3.0), 0.5)], [0.5, 0.5])
    words, targets = law.slightly_wrong(1, 2000)
    assert words == "outcomes 0.1 predicted standard deviations too high"
    assert targets.mean() == pytest.approx(0.1 * np.sqrt(9.25), abs=4.0 * np.sqrt(9.25 / targets.size))
