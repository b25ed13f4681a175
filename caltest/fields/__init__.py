"""What single fields expect of a test of calibration: censored survival times, clinical validation, posterior draws."""

from caltest._basics import names as _names
from caltest.fields import bayesian as bayesian, clinical as clinical
from caltest.fields.survival import Censored as Censored, censored_pit_values as censored_pit_values

__all__ = _names.offered(globals())
