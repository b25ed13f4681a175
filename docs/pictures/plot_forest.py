"""
Results side by side
====================

Intervals of the slices in which predictions are wrong. ``result.plot()`` draws this, or what explains another result.
"""

import numpy as np

import caltest as ct

rng = np.random.default_rng(1)
age, site = rng.integers(18, 90, 6000), rng.choice(["north", "south", "west"], 6000)
risk = rng.uniform(0.1, 0.8, 6000)
event = rng.random(6000) < risk + 0.15 * (site == "west") - 0.08 * (age < 30)
ct.find_slices(risk, event, {"age": age, "site": site}, rng=1).plot()
