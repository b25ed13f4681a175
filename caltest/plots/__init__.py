"""Pictures of calibration. They need matplotlib: ``pip install caltest[plots]``."""

from caltest.plots.evidence import evidence
from caltest.plots.power import power_curve
from caltest.plots.reliability import reliability_diagram
from caltest.plots.simplex import simplex_map

__all__ = ["evidence", "power_curve", "reliability_diagram", "simplex_map"]
