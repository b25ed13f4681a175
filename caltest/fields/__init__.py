"""What single fields expect of a test of calibration: survival, clinical validation, forecasts of weather."""

from caltest._basics import names as _names
from caltest.fields import clinical as clinical, weather as weather
from caltest.fields.survival import Censored as Censored, censored_pit_values as censored_pit_values

__all__ = _names.offered(globals())
