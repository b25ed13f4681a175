"""
Power curves
============

How often tests reject the predictions of a model that is wrong, over the number of observations.
"""

import caltest as ct
from caltest.plots import power_curve

tests = {name: ct.MonteCarloTest(estimator, 99) for name, estimator in {"ECE": ct.ECE(), "MCE": ct.MCE()}.items()}
model = ct.generators.class_model("M2", 2)
ax = power_curve(ct.power_curve(tests, model, [20, 50, 100, 200], n_simulations=100, rng=1))
