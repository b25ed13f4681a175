"""
Calibration belt
================

Outcomes as a smooth function of predictions. Where the bands leave the diagonal, the predictions are wrong.
"""

import caltest as ct
from caltest.plots import calibration_belt

predictions, labels = ct.datasets.load_digits_predictions()["random forest"]
ax = calibration_belt(predictions, labels, n_resamples=199, rng=1)
