"""Pictures of calibration. They need matplotlib: ``pip install caltest[plots]``."""

from caltest.plots.belt import calibration_belt
from caltest.plots.evidence import evidence
from caltest.plots.isotonic import reliability_curve
from caltest.plots.latent import latent_function
from caltest.plots.power import power_curve
from caltest.plots.recalibration import recalibration_report
from caltest.plots.reliability import reliability_diagram
from caltest.plots.risk import risk_curves
from caltest.plots.simplex import simplex_map

__all__ = [
    "calibration_belt",
    "evidence",
    "latent_function",
    "power_curve",
    "recalibration_report",
    "reliability_curve",
    "reliability_diagram",
    "risk_curves",
    "simplex_map",
]
