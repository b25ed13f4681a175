"""Bridges to test suites and to other libraries, each of which is imported where it is used.

``assert_calibrated`` is at the front door; ``predictions_of`` takes models and forecasts of statsmodels, lifelines,
ngboost, skpro, ArviZ and scipy. Imported by their own names: ``caltest.bridges.sklearn`` (a display,
scorers, folds), ``caltest.bridges.torch`` (a loss), ``caltest.bridges.torchmetrics`` (a metric over all batches).
"""

from caltest._basics import offered as _offered
from caltest.bridges.assertion import assert_calibrated as assert_calibrated
from caltest.bridges.predictions import predictions_of as predictions_of

__all__ = _offered(globals())
