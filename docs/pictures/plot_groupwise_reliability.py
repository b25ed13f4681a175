"""
Reliability of every group
==========================

A reliability diagram for each group, with one legend; of numbers a PIT histogram, of quantile forecasts coverage.
"""

import numpy as np

import caltest as ct
from caltest.plots import groupwise_reliability

rng = np.random.default_rng(1)
claimed, site = rng.uniform(size=1500), np.array(["north", "south", "east"])[np.arange(1500) % 3]
outcomes = (rng.random(1500) < np.where(site == "east", claimed**2, claimed)).astype(int)
axes = groupwise_reliability(ct.Bernoulli(claimed), outcomes, site, rng=1)
