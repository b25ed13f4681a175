"""
Reliability of every class
==========================

A reliability diagram for each class against the rest, with one legend.
"""

import caltest as ct
from caltest.plots import classwise_reliability

predictions, labels = ct.datasets.load_digits_predictions()["random forest"]
axes = classwise_reliability(predictions, labels, rng=1)
