"""What there is to ask about predictions of each kind and their targets, and whether these are rounded."""

from collections.abc import Callable, Sequence

import numpy as np

from caltest._basics.numerics import Array, FloatArray, IntArray, evenly_spaced
from caltest.predictions.base import Predictions
from caltest.predictions.ensembles.ensemble import Pool
from caltest.predictions.ensembles.members import Members
from caltest.predictions.quantile_forecast import QuantileForecast
from caltest.predictions.questions.classes import MOST_CLASSES, of_classes
from caltest.predictions.questions.coordinates import coordinates_of, in_another_order
from caltest.predictions.questions.filled import filled
from caltest.predictions.questions.inverses import of_inverses
from caltest.predictions.questions.members import copied_members, members_apart
from caltest.predictions.questions.order import misplaced
from caltest.predictions.questions.parameters import exchanged, of_failures, of_means, of_scales
from caltest.predictions.questions.repeated import constant, repeated
from caltest.predictions.questions.stretches import in_a_stretch
from caltest.predictions.questions.units import FEWEST, in_another_unit, some_in_another_unit, units_of_coordinates
from caltest.predictions.reductions.standard_scores import spreads

ENOUGH = 20
"""Outcomes from which on a step is asked about."""

ROUNDING = 1e-6
"""How far a multiple of a step may be from a whole number."""

SOME = 1000
"""Rows that are looked at."""


def misread(predictions: Predictions, targets: Array, numbers: IntArray | None = None) -> tuple[str, ...]:
    """What to ask about the data: units and order of outcomes, values they have too often, copies, classes of columns.

    Targets are checked ones, or of quantile forecasts the numbers that were given; ``numbers`` are those of the rows as
    the user counts them.
    """
    # Pools of members have the outcome among them.
    if len(predictions) < FEWEST or not predictions.has_scale or isinstance(predictions, Pool):
        return ()
    if predictions.finite is not None and predictions.finite.n_classes > MOST_CLASSES:
        return ()
    law: Predictions | None = predictions
    if isinstance(predictions, QuantileForecast):
        law = predictions.nearest_normal if targets.dtype.kind == "f" else None
    numbers = np.arange(len(targets)) if numbers is None else numbers
    asked = _of_all_rows(predictions, targets, numbers)
    if asked or law is None:
        return asked
    return in_a_stretch(
        law, targets, numbers, lambda part: _of_all_rows(predictions.take(part), targets[part], numbers[part])
    ) or some_in_another_unit(law, targets, numbers)


def _of_all_rows(predictions: Predictions, targets: Array, numbers: IntArray) -> tuple[str, ...]:
    finite = predictions.finite
    if isinstance(predictions, QuantileForecast):
        law = predictions.nearest_normal
        if law is None or targets.dtype.kind != "f":
            return ()
        return _of_numbers(law, targets, numbers, predictions.values, (misplaced, in_another_unit))
    if finite is not None:
        asked = of_classes(finite, targets) if finite.probabilities_differ else ()
        return asked or misplaced(finite, targets) or filled(predictions, targets, numbers)
    if predictions.discrete:
        asked = constant(predictions, targets, None) or _multiples(targets) or misplaced(predictions, targets)
        of_parameters = of_failures, of_means, of_inverses
        return asked or next(filter(None, (one(predictions, targets) for one in of_parameters)), ())
    if isinstance(predictions, Members) and (
        copies := members_apart(predictions) or copied_members(predictions, targets)
    ):
        return copies
    if targets.ndim == 1:
        own = predictions.members if isinstance(predictions, Members) else None
        of_one = exchanged, misplaced, of_scales, of_inverses, in_another_unit
        return _of_numbers(predictions, targets, numbers, own, of_one)
    rows = evenly_spaced(len(targets), SOME)
    coordinates, some = coordinates_of(predictions.take(rows), targets.shape[1]), targets[rows]
    reads = (
        lambda *_: in_another_order(coordinates, some),
        misplaced,
        in_another_unit,
        lambda *_: units_of_coordinates(coordinates, some),
    )
    return _of_numbers(predictions, targets, numbers, None, reads)


def _of_numbers(
    law: Predictions,
    targets: Array,
    numbers: IntArray,
    own: FloatArray | None,
    read: Sequence[Callable[[Predictions, Array], tuple[str, ...]]],
) -> tuple[str, ...]:
    if same := constant(law, targets, own):
        return same
    asked = (*next(filter(None, (one(law, targets) for one in read)), ()), *repeated(law, targets, numbers, own))
    return asked or filled(law, targets, numbers) or _rounded(law, targets, own)


def _off(multiples: FloatArray) -> FloatArray:
    return np.asarray(np.abs(multiples - np.rint(multiples)))


def _multiples(counts: Array) -> tuple[str, ...]:
    """Whether counts are multiples of a larger number than 1."""
    some = counts[evenly_spaced(len(counts), SOME)]
    some = some[some != 0]
    if some.size < ENOUGH or (step := int(np.gcd.reduce(some.astype(np.int64)))) < 2 or np.ptp(some) == 0:
        return ()
    return (f"all counts are multiples of {step}, which the predictions are not about: are they rounded?",)


def _rounded(law: Predictions, targets: Array, own: FloatArray | None) -> tuple[str, ...]:
    """Whether numbers are rounded to steps beyond what is predicted to be random, and their ``own`` values are not."""
    rows = evenly_spaced(len(law), SOME)
    steps = np.diff(np.unique(targets[rows]))
    if targets.ndim > 1 or not steps.size or (own is None and not law.is_continuous):
        return ()
    if rows.size < max(ENOUGH, 2 * steps.size):  # Any two numbers are a step apart.
        return ()
    step, first = float(steps.min()), targets[rows[0]]
    spread = float(np.median(spreads(law.take(rows))))
    if step < spread or _off(steps / step).max() > ROUNDING:
        return ()
    if own is not None and np.median(_off((own[rows] - first) / step)) < ROUNDING:
        return ()
    return (
        f"outcomes are in steps of {step:.3g}, and predicted standard deviations are {spread:.2g} or so: are outcomes "
        "rounded, which makes errors larger?",
    )
