"""
Ranks of simulation-based calibration
=====================================

Differences of the distributions of ranks from the diagonal, with a band for all of each curve.
"""

import numpy as np

from caltest.fields import bayesian
from caltest.plots import rank_ecdf

rng = np.random.default_rng(1)
truths = rng.normal(size=(100, 2))
draws = truths[:, None] * 0.5 + rng.normal(size=(100, 99, 2)) * [0.7, 0.4]
rank_ecdf(bayesian.simulation_based_calibration(draws, 0.5 * truths + 0.7 * rng.normal(size=(100, 2)), rng=1))
