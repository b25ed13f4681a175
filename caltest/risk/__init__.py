"""Squared calibration errors from estimators that are chosen by a proper risk."""

from caltest.risk.base import ErrorFunction, FittedErrorFunction
from caltest.risk.binning import BinnedErrorFunction, DebiasedBinnedErrorFunction
from caltest.risk.density import DirichletErrorFunction
from caltest.risk.pair_risk import RiskEstimate
from caltest.risk.ridge import KroneckerRidgeErrorFunction, TwoStepRidgeErrorFunction

__all__ = [
    "BinnedErrorFunction",
    "DebiasedBinnedErrorFunction",
    "DirichletErrorFunction",
    "ErrorFunction",
    "FittedErrorFunction",
    "KroneckerRidgeErrorFunction",
    "RiskEstimate",
    "TwoStepRidgeErrorFunction",
]
