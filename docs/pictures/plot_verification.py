"""
Rank histogram of an ensemble
=============================

Ranks of outcomes among the members, with the band of all bars: members are too close to each other.
"""

import numpy as np

from caltest.fields import weather
from caltest.plots import verification

rng = np.random.default_rng(1)
truth = rng.normal(size=200)
members = 0.6 * rng.normal(size=(200, 12))
verification(weather.rank_histogram(members, truth, rng=1))
