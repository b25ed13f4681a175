"""Bayesian computation: whether draws from posteriors are what they should be."""

from caltest._basics import offered as _offered
from caltest.fields.bayesian.calibration import simulation_based_calibration as simulation_based_calibration
from caltest.fields.bayesian.leave_one_out import loo_pit as loo_pit

__all__ = _offered(globals())
