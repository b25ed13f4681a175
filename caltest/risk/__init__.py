"""Squared calibration errors from estimators that are chosen by a proper risk."""

from caltest.risk.base import ErrorFunction, FittedErrorFunction
from caltest.risk.binning import BinnedErrorFunction, DebiasedBinnedErrorFunction
from caltest.risk.density import DirichletErrorFunction
from caltest.risk.error_estimate import CalibrationErrorEstimate, CandidateRisk, ErrorSelection
from caltest.risk.pair_risk import RiskEstimate
from caltest.risk.pipeline import estimate_calibration_error
from caltest.risk.ridge import KroneckerRidgeErrorFunction, TwoStepRidgeErrorFunction

__all__ = [
    "BinnedErrorFunction",
    "CalibrationErrorEstimate",
    "CandidateRisk",
    "DebiasedBinnedErrorFunction",
    "DirichletErrorFunction",
    "ErrorFunction",
    "ErrorSelection",
    "FittedErrorFunction",
    "KroneckerRidgeErrorFunction",
    "RiskEstimate",
    "TwoStepRidgeErrorFunction",
    "estimate_calibration_error",
]
