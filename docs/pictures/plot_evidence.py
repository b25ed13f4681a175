"""
Evidence over time
==================

A sequential test rejects where the curve first touches the line. It may be stopped at any time.
"""

import caltest as ct
from caltest.plots import evidence

predictions, labels = ct.datasets.load_digits_predictions()["random forest"]
ax = evidence(ct.SequentialCalibrationTest().update(predictions, labels))
