"""
Before and after recalibration
==============================

Reliability diagrams of data that were not used to fit the map.
"""

import caltest as ct
from caltest.plots import recalibration_report

predictions, labels = ct.datasets.load_digits_predictions()["random forest"]
report = ct.recalibration.report(predictions, labels, ct.recalibration.TemperatureScaling(), rng=1)
axes = recalibration_report(report, rng=1)
