"""
Reliability curve without bins
==============================

The increasing function of the predictions that fits the outcomes best, with the parts of the Brier score.
"""

import caltest as ct
from caltest.plots import reliability_curve

predictions, labels = ct.datasets.load_digits_predictions()["neural network"]
ax = reliability_curve(predictions, labels, rng=1)
