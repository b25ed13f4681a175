"""
Histogram of integral transforms
================================

Where outcomes are among the predicted quantiles: a U shape, because the predictions are too narrow.
"""

import numpy as np

import caltest as ct

rng = np.random.default_rng(1)
mean = rng.normal(size=500)
ct.plots.pit_histogram(ct.Normal(mean, 1.0), mean + 1.4 * rng.normal(size=500))
