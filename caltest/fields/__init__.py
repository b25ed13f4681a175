"""What single fields expect: clinical models, weather forecasts, times to an event, Bayesian computation.

``clinical``: ``validate``, ``validate_by_group``, ``decision_curve``, ``validation_size``. ``weather``:
``rank_histogram``, ``crps_decomposition``, ``exceedances``, ``pit_values``. ``bayesian``:
``simulation_based_calibration``, ``loo_pit``. Times to an event, as ``Censored`` targets: ``d_calibration``,
``a_calibration``, ``one_calibration``, ``censored_pit_values``.

All calls raise a ValueError for bad data or settings and a TypeError for predictions that they are not for: those of
``clinical`` want two classes, those of survival continuous families. What else they refuse is said there.
"""

from caltest._basics import offered as _offered
from caltest.fields import bayesian as bayesian, clinical as clinical, weather as weather
from caltest.fields._survival.bins import a_calibration as a_calibration, d_calibration as d_calibration
from caltest.fields._survival.horizon import one_calibration as one_calibration
from caltest.predictions.censored import Censored as Censored, censored_pit_values as censored_pit_values

__all__ = _offered(globals())
