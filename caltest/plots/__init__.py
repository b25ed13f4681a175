"""Pictures of calibration. They need matplotlib: ``pip install caltest[plots]``."""

from caltest.plots.power import power_curve
from caltest.plots.reliability import reliability_diagram
from caltest.plots.simplex import simplex_map

__all__ = ["power_curve", "reliability_diagram", "simplex_map"]
