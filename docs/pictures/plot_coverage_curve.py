"""
Coverage of intervals
=====================

How many outcomes are in the central intervals of all levels, beside how many should be.
"""

import numpy as np

import caltest as ct

rng = np.random.default_rng(1)
mean = rng.normal(size=500)
ct.plots.coverage_curve(ct.Normal(mean, 1.0), mean + 1.4 * rng.normal(size=500))
