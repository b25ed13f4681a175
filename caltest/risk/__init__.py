"""Squared calibration errors from error functions that are chosen by a proper risk.

``estimate_calibration_error`` is the call; it chooses among error functions: ``BinnedErrorFunction``,
``DebiasedBinnedErrorFunction``, ``DirichletErrorFunction``, ``KroneckerRidgeErrorFunction``,
``TwoStepRidgeErrorFunction``. One of your own derives from ``ErrorFunction``; see its example.
``squared_error_interval`` has less bias than any of them, and an interval; ``variational_error`` is for other powers
of the error, and bounds them from below.
"""

from caltest._basics import offered as _offered
from caltest.risk.base import ErrorFunction as ErrorFunction, FittedErrorFunction as FittedErrorFunction
from caltest.risk.functions import (
    BinnedErrorFunction as BinnedErrorFunction,
    DebiasedBinnedErrorFunction as DebiasedBinnedErrorFunction,
    DirichletErrorFunction as DirichletErrorFunction,
    KroneckerRidgeErrorFunction as KroneckerRidgeErrorFunction,
    TwoStepRidgeErrorFunction as TwoStepRidgeErrorFunction,
)
from caltest.risk.interval import squared_error_interval as squared_error_interval
from caltest.risk.pipeline import estimate_calibration_error as estimate_calibration_error
from caltest.risk.variational import variational_error as variational_error

__all__ = _offered(globals())
