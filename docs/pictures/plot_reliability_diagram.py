"""
Reliability diagram
===================

Accuracy against confidence of the most probable class. The bars show how far chance alone moves the points of a
calibrated model.
"""

import caltest as ct
from caltest.plots import reliability_diagram

predictions, labels = ct.datasets.load_digits_predictions()["random forest"]
ax = reliability_diagram(predictions, labels, rng=1)
