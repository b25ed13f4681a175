import numpy as np
import pytest

from caltest.predictions.ensembles.claims import of_pools


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
