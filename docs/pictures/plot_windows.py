"""
Windows of time
===============

What was predicted and what happened, window by window; here predictions are too low from observation 1500 on.
"""

import numpy as np

import caltest as ct

rng = np.random.default_rng(1)
p = rng.beta(2, 5, 3000)
y = rng.random(3000) < np.minimum(np.where(np.arange(3000) < 1500, p, 1.3 * p), 1.0)
ct.plots.windows(p, y.astype(int), rng=1, label="events")
