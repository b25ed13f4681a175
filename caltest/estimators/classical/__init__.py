"""Classical statistics of calibration: of one number, or of a binary outcome."""

from caltest.estimators.classical.belt import Belt, CalibrationBelt, belt
from caltest.estimators.classical.corp import CORPMiscalibration
from caltest.estimators.classical.cox import CoxCalibration, CoxCalibrationResult, cox_calibration
from caltest.estimators.classical.ecce import ECCE
from caltest.estimators.classical.hosmer_lemeshow import HosmerLemeshow
from caltest.estimators.classical.pit import PIT
from caltest.estimators.classical.quantile_calibration import QuantileCalibration
from caltest.estimators.classical.t_cal import TCal

__all__ = [
    "ECCE",
    "PIT",
    "Belt",
    "CORPMiscalibration",
    "CalibrationBelt",
    "CoxCalibration",
    "CoxCalibrationResult",
    "HosmerLemeshow",
    "QuantileCalibration",
    "TCal",
    "belt",
    "cox_calibration",
]
