"""Verification of forecasts of weather: ensembles at dates, lead times and stations, in arrays or xarray objects.

Results have a row for each lead time and, for ``exceedances``, each threshold.
"""

from caltest._basics import offered as _offered
from caltest.fields.weather.crps import crps_decomposition as crps_decomposition
from caltest.fields.weather.exceedance import exceedances as exceedances
from caltest.fields.weather.histogram import rank_histogram as rank_histogram
from caltest.fields.weather.rain import pit_values as pit_values

__all__ = _offered(globals())
