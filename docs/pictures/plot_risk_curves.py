"""
Risk of estimators
==================

The risk of every estimator of the calibration error over its setting. A black ring marks the selected one.
"""

import caltest as ct
from caltest.plots import risk_curves

predictions, labels = ct.datasets.load_digits_predictions()["random forest"]
panels = risk_curves(ct.estimate_calibration_error(predictions, labels, "top_label", rng=1))
