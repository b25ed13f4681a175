"""Predicted distributions of rain, which is 0 with positive probability."""

from typing import Any

import numpy as np

from caltest._basics.arrays import Table, order_of
from caltest._basics.calls import own_errstate
from caltest._basics.numerics import Array, ArrayLike, generator_apart
from caltest._validation import finite_array, real_array, refuse_rows, same_length
from caltest._validation.groups import rows_of
from caltest.predictions.inputs.convert import as_predictions, brought_into_order
from caltest.predictions.reductions.residuals import Residuals, pit_values as continuous_pit_values


@own_errstate
def pit_values(
    predictions: ArrayLike, targets: ArrayLike, *, dry: ArrayLike = None, rng: Any = None
) -> tuple[Residuals, Array]:
    """Reduce amounts of rain to ``(Residuals, u)`` as ``ct.pit_values``, uniform u if predictions are calibrated.

    ``u = F(y)`` for y > 0, and for y = 0 a number drawn uniformly from ``(0, F(0))``, where F is the distribution
    function of the predictions, all of whose probability below 0 is at 0 (a law that is censored at 0), or
    ``dry + (1 - dry) F``, its mixture with no rain.

    Parameters
    ----------
    predictions
        n continuous predictions: of what is censored at 0, such as ``Normal`` or a ``Mixture``; with ``dry`` of the
        amount if there is rain, such as ``Gamma``.
    targets
        (n,) array-like of amounts of at least 0, in the unit of the predictions.
    dry
        (n,) array-like of the probabilities of no rain, or one number.
    rng
        Of the draws, as in ``calibration_test``.

    Raises
    ------
    ValueError
        For negative amounts, amounts of 0 of probability 0, ``dry`` outside of [0, 1], other numbers of rows.
    TypeError
        For families that are not continuous, and ensembles, whose share of dry members is not a probability of no rain.

    Notes
    -----
    Exactly uniform given the prediction if calibrated, for any share of dry cases: the draws add noise, the more the
    drier it is. Cost O(n).

    Source: Czado, Gneiting and Held 2009 for randomised transforms.

    Examples
    --------
    >>> import caltest as ct
    >>> from caltest.fields import weather
    >>> _, u = weather.pit_values(ct.Normal([0.0, 1.0], [1.0, 1.0]), [0.0, 1.0], rng=1)
    >>> bool(u[0] < 0.5), float(u[1])
    (True, 0.5)
    >>> weather.pit_values(ct.Gamma([1.0], [2.0]), [2.0], dry=0.6)[1].round(3)
    array([0.853])
    """
    laws, _ = brought_into_order(Table.of(targets, "targets"), as_predictions(predictions))
    amounts = real_array(targets, "targets", 1)
    if laws.has_jumps or not laws.can_be_drawn:
        advice = "" if laws.can_be_drawn else "; ct.pit_values takes them, with equal values in random order"
        raise TypeError(f"predictions: got {laws.family} predictions, wanted a continuous family{advice}")
    same_length(len(laws), len(amounts))
    refuse_rows(amounts < 0.0, amounts, "targets", "amounts of at least 0")
    is_dry = amounts == 0.0
    # Of dry cases any amount will do, which some families want to be above 0.
    residuals, u = continuous_pit_values(laws, np.where(is_dry, 1.0, amounts))
    given = rows_of(0.0 if dry is None else dry, "dry", order_of(targets, predictions)).array("dry")
    atom = np.broadcast_to(finite_array(given, "dry"), amounts.shape)
    refuse_rows((atom < 0.0) | (atom > 1.0), atom, "dry", "probabilities")
    u = atom + (1.0 - atom) * u
    at_zero = atom + (1.0 - atom) * laws.cdf(np.zeros(len(amounts)))
    refuse_rows(is_dry & (at_zero <= 0.0), amounts, "targets", "an amount above 0, as the probability of 0 is 0")
    return residuals, np.where(is_dry, at_zero * generator_apart(rng).random(len(u)), u)
