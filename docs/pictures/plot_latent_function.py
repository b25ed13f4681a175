"""
Latent function of a Gaussian process calibrator
================================================

The line is what was learned, with its uncertainty. The dashed line is the map that changes nothing.
"""

import caltest as ct
from caltest.plots import latent_function

predictions, labels = ct.datasets.load_digits_predictions()["random forest"]
ax = latent_function(ct.recalibration.GPCalibrator().fit(predictions, labels))
