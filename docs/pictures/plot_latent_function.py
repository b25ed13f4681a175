"""
Latent functions of recalibration maps
======================================

The solid lines are what was learned; the band is the uncertainty of the Gaussian process. The dashed line is the map
that changes nothing.
"""

import caltest as ct
from caltest.plots import latent_function

predictions, labels = ct.datasets.load_digits_predictions()["random forest"]
maps = {
    "GPcalib": ct.recalibration.GPCalibrator().fit(predictions, labels),
    "temperature scaling": ct.recalibration.TemperatureScaling().fit(predictions, labels),
}
ax = latent_function(maps)
