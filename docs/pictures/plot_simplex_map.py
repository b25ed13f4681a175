"""
Map of three classes
====================

Arrows lead from what was predicted to what occurred. Vermillion arrows are longer than chance explains.
"""

import caltest as ct
from caltest.plots import simplex_map

predictions, labels = ct.generators.DirichletModel.m2(3).sample(500, rng=1)
ax = simplex_map(predictions, labels, rng=1)
