"""
Errors and predicted spread
===========================

How large errors are where they were predicted to be small, and where large.
"""

import numpy as np

import caltest as ct

rng = np.random.default_rng(1)
mean, scale = rng.normal(size=600), rng.uniform(0.3, 2.0, 600)
ax = ct.plots.residual_spread(ct.Normal(mean, scale), mean + scale * rng.normal(size=600), rng=1, label="right")
ct.plots.residual_spread(ct.Normal(mean, scale), mean + 1.2 * rng.normal(size=600), rng=1, label="knows nothing", ax=ax)
