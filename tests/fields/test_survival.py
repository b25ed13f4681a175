import numpy as np
import pytest
from scipy import stats

import caltest as ct
from caltest.fields import Censored, censored_pit_values


def rejections(n, censoring, scale=1.0, n_sets=1500):
    found = 0
    for seed in range(n_sets):
        rng = np.random.default_rng((7, n, seed))
        mean = rng.normal(size=n)
        time, limit = np.exp(mean + scale * rng.normal(size=n)), np.exp(mean + censoring + rng.normal(size=n))
        targets = Censored(np.minimum(time, limit), time <= limit)
        _, u = censored_pit_values(ct.LogNormal(mean, np.ones(n)), targets, rng=rng)
        found += stats.kstest(u, "uniform").pvalue <= 0.05
    return found / n_sets


@pytest.mark.parametrize("censoring", [1.19, 0.0, -0.74])  # 20, 50 and 70 % censored
def test_uniformity_has_its_level(censoring):
    low, high = stats.binom.interval(0.99, 1500, 0.05)
    assert low <= 1500 * rejections(60, censoring) <= high


def test_wrong_scale_is_found():
    assert rejections(200, 0.0, 2.0, 100) > 0.5


@pytest.mark.parametrize(
    ("time", "event", "words"),
    [
        ([1.0, 0.0], [1, 0], "positive"),
        ([1.0, -2.0], [1, 0], "positive"),
        ([1.0, 2.0], [1, 2], "event"),
        ([1.0, 2.0], [1], "rows"),
        ([1.0, 2.0], [0, 0], "all times are censored"),
        ([1.0, np.nan], [1, 0], "time"),
    ],
)
def test_bad_times_are_refused(time, event, words):
    with pytest.raises(ValueError, match=words):
        Censored(time, event)


def test_counts_and_other_lengths_are_refused():
    with pytest.raises(TypeError, match="continuous"):
        censored_pit_values(ct.Poisson([1.0]), Censored([1.0], [1]))
    with pytest.raises(ValueError, match="2"):
        censored_pit_values(ct.LogNormal([0.0], [1.0]), Censored([1.0, 2.0], [1, 0]))
