"""Recalibration: maps, fitted to data that the model has not seen, that make predictions agree with outcomes.

A calibrator is a frozen dataclass of settings; ``fit`` estimates a map, a callable that takes predictions of the kind
it was fitted to and returns the same kind::

>>> import caltest as ct
>>> p, y = ct.load_digits_predictions()["random forest"]
>>> recalibrate = ct.recalibration.TemperatureScaling().fit(p.take(slice(450)), y[:450])
>>> recalibrate(p.take(slice(450, None)))
<Categorical, n = 449, 10 classes>

Maps are saved as arrays: ``recalibrate.save("map.npz")``, ``ct.recalibration.CalibrationMap.load("map.npz")``.
"""

from caltest.recalibration.base import CalibrationMap, Calibrator, ProbabilityCalibrator, ProbabilityMap
from caltest.recalibration.bbq import BBQ
from caltest.recalibration.beta import BetaCalibration
from caltest.recalibration.gaussian_process.calibrator import GPCalibrator
from caltest.recalibration.gaussian_process.map import GPMap
from caltest.recalibration.histogram import HistogramBinning
from caltest.recalibration.isotonic import Isotonic
from caltest.recalibration.one_vs_rest import OneVsRest
from caltest.recalibration.platt import Platt
from caltest.recalibration.temperature import TemperatureScaling

__all__ = [
    "BBQ",
    "BetaCalibration",
    "CalibrationMap",
    "Calibrator",
    "GPCalibrator",
    "GPMap",
    "HistogramBinning",
    "Isotonic",
    "OneVsRest",
    "Platt",
    "ProbabilityCalibrator",
    "ProbabilityMap",
    "TemperatureScaling",
]
