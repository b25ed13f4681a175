"""Pictures of calibration. They need matplotlib: ``pip install caltest[plots]``."""

from caltest._basics import names as _names
from caltest.plots.belt import calibration_belt as calibration_belt
from caltest.plots.evidence import evidence as evidence
from caltest.plots.latent import latent_function as latent_function
from caltest.plots.power import power_curve as power_curve
from caltest.plots.recalibration import recalibration_report as recalibration_report
from caltest.plots.reliability import reliability_curve as reliability_curve, reliability_diagram as reliability_diagram
from caltest.plots.risk import risk_curves as risk_curves
from caltest.plots.simplex import simplex_map as simplex_map

__all__ = _names.offered(globals())
