"""Recalibration: maps, fitted to data that the model has not seen, that make predictions agree with outcomes.

A calibrator is a frozen dataclass of settings; ``fit`` estimates a map, a callable that takes predictions of the kind
it was fitted to and returns the same kind:

>>> import caltest as ct
>>> p, y = ct.datasets.load_digits_predictions()["random forest"]
>>> recalibrate = ct.recalibration.TemperatureScaling().fit(p.take(slice(450)), y[:450])
>>> recalibrate(p.take(slice(450, None)))
<Categorical, n = 449, 10 classes>

Maps are saved as arrays: ``recalibrate.save("map.npz")``, ``ct.recalibration.CalibrationMap.load("map.npz")``.
``CalibratedModel`` wraps classifiers of scikit-learn (``pip install caltest[sklearn]``).
"""

from typing import Any as _Any

from caltest._basics import offered as _offered
from caltest.recalibration.base import (
    CalibrationMap as CalibrationMap,
    Calibrator as Calibrator,
    ProbabilityCalibrator as ProbabilityCalibrator,
    ProbabilityMap as ProbabilityMap,
)
from caltest.recalibration.binary.logistic import BetaCalibration as BetaCalibration, Platt as Platt
from caltest.recalibration.binary.piecewise import (
    BBQ as BBQ,
    HistogramBinning as HistogramBinning,
    Isotonic as Isotonic,
)
from caltest.recalibration.classes.affine import (
    DirichletCalibration as DirichletCalibration,
    MatrixScaling as MatrixScaling,
    VectorScaling as VectorScaling,
)
from caltest.recalibration.classes.one_vs_rest import OneVsRest as OneVsRest
from caltest.recalibration.classes.temperature import Identity as Identity, TemperatureScaling as TemperatureScaling
from caltest.recalibration.distributions import (
    FamilyTemperatureScaling as FamilyTemperatureScaling,
    QuantileRecalibration as QuantileRecalibration,
    ShiftAndScale as ShiftAndScale,
)
from caltest.recalibration.fit_best import BestFit as BestFit, fit_best as fit_best
from caltest.recalibration.gaussian_process.map import GPCalibrator as GPCalibrator, GPMap as GPMap
from caltest.recalibration.multicalibration import Multicalibration as Multicalibration
from caltest.recalibration.multicalibration_report import (
    MulticalibrationReport as MulticalibrationReport,
    SliceRepair as SliceRepair,
    multicalibration_report as multicalibration_report,
)
from caltest.recalibration.report import (
    RecalibrationReport as RecalibrationReport,
    RecalibrationRow as RecalibrationRow,
    report as report,
)

__all__ = _offered(globals())


def __getattr__(name: str) -> _Any:
    """``CalibratedModel``, which needs scikit-learn, is loaded when it is asked for."""
    if name != "CalibratedModel":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from caltest.recalibration.calibrated_model import CalibratedModel
    except ImportError as error:
        raise ImportError("CalibratedModel needs scikit-learn: pip install caltest[sklearn]") from error
    return CalibratedModel
