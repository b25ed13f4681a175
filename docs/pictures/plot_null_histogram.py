"""
A statistic among its redrawn values
====================================

The ECE of a network beside what calibrated predictions of this size give.
"""

import caltest as ct

predictions, labels = ct.datasets.load_digits_predictions()["neural network"]
ct.MonteCarloTest(ct.ECE())(*ct.top_label(predictions, labels), rng=1).plot()
