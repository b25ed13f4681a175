"""Pictures of calibration. They need matplotlib: ``pip install caltest[plots]``."""

from caltest.plots.power import power_curve
from caltest.plots.reliability import reliability_diagram

__all__ = ["power_curve", "reliability_diagram"]
