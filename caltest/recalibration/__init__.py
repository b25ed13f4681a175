"""Recalibration: maps, fitted to data that the model has not seen, that make predictions agree with outcomes.

A calibrator is a frozen dataclass of settings; ``fit`` estimates a map, a callable that takes predictions of the kind
it was fitted to and returns the same kind:

>>> import caltest as ct
>>> p, y = ct.load_digits_predictions()["random forest"]
>>> recalibrate = ct.recalibration.TemperatureScaling().fit(p.take(slice(450)), y[:450])
>>> recalibrate(p.take(slice(450, None)))
<Categorical, n = 449, 10 classes>

Maps are saved as arrays: ``recalibrate.save("map.npz")``, ``ct.recalibration.CalibrationMap.load("map.npz")``.
``CalibratedModel`` wraps classifiers of scikit-learn (``pip install caltest[sklearn]``).
"""

from typing import Any

from caltest.recalibration.affine import DirichletCalibration, MatrixScaling, VectorScaling
from caltest.recalibration.base import CalibrationMap, Calibrator, ProbabilityCalibrator, ProbabilityMap
from caltest.recalibration.bbq import BBQ
from caltest.recalibration.beta import BetaCalibration
from caltest.recalibration.family_temperature import FamilyTemperatureScaling
from caltest.recalibration.fit_best import BestFit, fit_best
from caltest.recalibration.gaussian_process.calibrator import GPCalibrator
from caltest.recalibration.gaussian_process.map import GPMap
from caltest.recalibration.histogram import HistogramBinning
from caltest.recalibration.identity import Identity
from caltest.recalibration.isotonic import Isotonic
from caltest.recalibration.one_vs_rest import OneVsRest
from caltest.recalibration.platt import Platt
from caltest.recalibration.quantiles import QuantileRecalibration
from caltest.recalibration.report import report
from caltest.recalibration.report_result import RecalibrationReport, RecalibrationRow
from caltest.recalibration.temperature import TemperatureScaling

__all__ = [
    "BBQ",
    "BestFit",
    "BetaCalibration",
    "CalibrationMap",
    "Calibrator",
    "DirichletCalibration",
    "FamilyTemperatureScaling",
    "GPCalibrator",
    "GPMap",
    "HistogramBinning",
    "Identity",
    "Isotonic",
    "MatrixScaling",
    "OneVsRest",
    "Platt",
    "ProbabilityCalibrator",
    "ProbabilityMap",
    "QuantileRecalibration",
    "RecalibrationReport",
    "RecalibrationRow",
    "TemperatureScaling",
    "VectorScaling",
    "fit_best",
    "report",
]


def __getattr__(name: str) -> Any:
    """``CalibratedModel``, which needs scikit-learn, is loaded when it is asked for."""
    if name != "CalibratedModel":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from caltest.recalibration.calibrated_model import CalibratedModel
    except ImportError as error:
        raise ImportError("CalibratedModel needs scikit-learn: pip install caltest[sklearn]") from error
    return CalibratedModel
