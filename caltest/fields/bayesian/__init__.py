"""Bayesian computation: whether draws from posteriors are what they should be."""

from caltest._basics import names as _names
from caltest.fields.bayesian.calibration import simulation_based_calibration as simulation_based_calibration

__all__ = _names.offered(globals())
