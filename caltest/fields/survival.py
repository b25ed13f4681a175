"""Survival times, of which some are known only to be longer than what was seen."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from caltest._basics.numerics import Array, ArrayLike, FloatArray, OwnErrstate, generator_of, own_errstate
from caltest._validation.arrays import finite_array, real_array, refuse_rows, same_length
from caltest.predictions.convert import as_predictions
from caltest.predictions.residuals import Residuals, StandardUniform, pit_values


@dataclass(frozen=True, eq=False)
class Censored(OwnErrstate):
    """Right-censored times: `time` is that of the event where `event`, else the last time without it.

    Parameters
    ----------
    time
        (n,) array-like of positive times, in the unit of the predictions.
    event
        (n,) array-like of booleans, or of 0 and 1: whether the event was seen. One kind of event; competing risks are
        not covered, as a competing event does not censor independently.

    Raises
    ------
    ValueError
        For times that are not positive, other events than 0 and 1, other lengths, or no event at all.

    Examples
    --------
    >>> from caltest.fields import Censored
    >>> len(Censored([2.0, 3.5, 1.0], [True, False, True]))
    3
    """

    time: ArrayLike
    event: ArrayLike

    def __post_init__(self) -> None:
        time = finite_array(real_array(self.time, "time", 1), "time")
        refuse_rows(time <= 0, time, "time", "positive times")
        event = finite_array(real_array(self.event, "event", 1), "event")
        refuse_rows((event != 0) & (event != 1), event, "event", "1 where the event was seen, 0 where it was not")
        if len(time) != len(event):
            raise ValueError(f"time has {len(time)} rows but event has {len(event)}; give one of each per subject")
        if not event.any():
            raise ValueError("event has no 1: all times are censored, so they say nothing about when events happen")
        object.__setattr__(self, "time", time)
        object.__setattr__(self, "event", event.astype(bool))

    def __len__(self) -> int:
        return len(np.asarray(self.time))

    def __array__(self, *_: Any, **__: Any) -> Array:
        """None: what takes arrays of outcomes does not know that some are censored."""
        raise TypeError(
            "targets: got ct.Censored, which calibration_test takes; other functions take the pair "
            "caltest.fields.censored_pit_values(predictions, targets)"
        )

    @property
    def n_censored(self) -> int:
        """How many times are censored."""
        return len(self) - int(np.count_nonzero(self.event))


@own_errstate
def censored_pit_values(predictions: ArrayLike, targets: Censored, *, rng: Any = None) -> tuple[Residuals, Array]:
    """Reduce censored survival times to integral transforms that are uniform if predictions are calibrated.

    ``u = F(time)`` where the event was seen; where it was censored, u is drawn uniformly from ``(F(time), 1)``. If the
    time of the event is independent of that of censoring given the prediction, u is exactly uniform given the
    prediction for calibrated predictions, for any share of censored rows, so that tests of u stay exact.

    Parameters
    ----------
    predictions
        n continuous predictions, such as ``LogNormal`` or ``Gamma``; or (n,) predicted probabilities ``F_i(time_i)`` of
        an event up to the time of the row, which any survival curve gives as ``1 - S_i(time_i)``. As these are known
        with the times only, tests of the pair then look at the distribution of u alone, not given the predictions.
    targets
        n censored times.
    rng
        Seed or ``numpy.random.Generator`` of the draws.

    Returns
    -------
    tuple
        ``(Residuals, u)``, as from ``pit_values``.

    Raises
    ------
    ValueError
        For other numbers of rows, and times that the predictions do not take.
    TypeError
        For families that are not continuous.

    Notes
    -----
    Cost O(n). The draws add noise: the more rows are censored, the less a test finds.

    Examples
    --------
    >>> import caltest as ct
    >>> from caltest.fields import Censored, censored_pit_values
    >>> predictions = ct.LogNormal([0.0, 1.0, 0.5], [1.0, 1.0, 1.0])
    >>> _, u = censored_pit_values(predictions, Censored([1.0, 2.0, 3.0], [1, 1, 0]), rng=1)
    >>> u.round(3)
    array([0.5  , 0.379, 0.765])
    """
    u = levels_of(predictions, targets)
    drawn = u + (1.0 - u) * generator_of(rng).random(len(u))
    laws, law, hypothesis = as_predictions(predictions), StandardUniform((len(u),)), "F(Y) is uniform given P_X"
    if laws.finite is not None:
        # F(time) is known with the time only, so it is nothing to condition on.
        laws, hypothesis = as_predictions(np.full(len(u), 0.5)), "F(Y) is uniform"
    return Residuals(laws, law, hypothesis, (0.25, 0.5, 1.0)), np.where(np.asarray(targets.event), u, drawn)


def levels_of(predictions: ArrayLike, targets: Censored) -> FloatArray:
    """``F(time)`` of each row (n,), or the probabilities that are given instead of distributions."""
    laws = as_predictions(predictions)
    if not isinstance(targets, Censored):
        raise TypeError(f"targets: got {type(targets).__name__}, wanted ct.Censored(time, event)")
    if laws.finite is not None and laws.finite.n_classes == 2:
        same_length(len(laws), len(targets))
        return np.asarray(laws.finite.probabilities[:, 1])
    if laws.has_jumps:
        raise TypeError(f"predictions: got {laws.family} predictions, wanted a continuous family for censored times")
    same_length(len(laws), len(targets))
    return pit_values(laws, targets.time)[1]
