"""Data that look as if they had been read wrongly: in another unit, scale or order, or with codes of missing ones."""

from collections.abc import Callable, Sequence
from math import inf, sqrt

import numpy as np

from caltest._basics.numerics import Array, FloatArray, evenly_spaced
from caltest.predictions.base import Predictions
from caltest.predictions.ensembles.ensemble import Pool
from caltest.predictions.ensembles.members import Members
from caltest.predictions.quantile_forecast import QuantileForecast
from caltest.predictions.questions.classes import CLEAR, MOST_CLASSES, of_classes
from caltest.predictions.questions.coordinates import coordinates_of, in_another_order
from caltest.predictions.questions.order import LARGEST, misplaced
from caltest.predictions.questions.parameters import of_means, of_scales
from caltest.predictions.questions.repeated import repeated
from caltest.predictions.standard_scores import in_units, spreads

Conversions = dict[str, tuple[float, float]]
"""From outcomes to what they are in another unit: by a factor, to which a number is added."""


def by_factors(factors: Sequence[float]) -> Conversions:
    """Multiplied or divided by each."""
    return {
        **{f"multiplied by {factor:g}": (factor, 0.0) for factor in factors},
        **{f"divided by {factor:g}": (1.0 / factor, 0.0) for factor in factors},
    }


OF_NUMBERS = {
    "plus 273.15": (1.0, 273.15),
    "minus 273.15": (1.0, -273.15),
    "converted from Fahrenheit to Celsius": (1.0 / 1.8, -32.0 / 1.8),
    "converted from Celsius to Fahrenheit": (1.8, 32.0),
    **by_factors([1000.0, 100.0, 10.0, 3.6, 60.0, 24.0, 7.0, 12.0, 30.44, 365.25]),
    **by_factors([2.54, 3.281, 1.609, 2.205]),
}
OF_TIMES = by_factors([7.0, 12.0, 24.0, 30.44, 52.18, 60.0, 365.25, 1000.0, 3600.0, 86400.0])

Curves = dict[str, Callable[[FloatArray], FloatArray]]
"""Functions of outcomes."""

CURVES: Curves = {
    "natural logarithms of": np.log,
    "logarithms to base 10 of": np.log10,
    "logarithms of 1 plus": np.log1p,
    "exponentials of": np.exp,
    "powers of 10 of": lambda y: np.power(10.0, y),
    "square roots of": np.sqrt,
    "squares of": np.square,
    "negatives of": np.negative,
}
"""Scales on which outcomes may have been modelled."""

FAR, NEAR, ZERO, WIDTHS, CLOSE = 3.0, 1.0, 1.5, (0.3, 4.0), 0.5
"""In predicted standard deviations: median distance from which on one asks, how far the middle outcome may be after a
conversion, median distance of 0 up to which it fits, how wide the middle half may be, 1.35 if calibrated, and how far
both together may be from this on another scale."""

ENOUGH, FEWEST = 20, 5
"""Outcomes from which on a step is asked about, and another unit."""

ONE_SIDED, BY_CHANCE = 0.5, 3.0
"""Mean side of outcomes in another unit, 1 or -1, towards larger numbers or away from 0, and that of errors, which have
any side, in standard errors: of few outcomes all are on one side."""

ROUNDING = 1e-6
"""How far a multiple of a step may be from a whole number."""

SOME = 1000
"""Rows that are looked at."""


def misread(predictions: Predictions, targets: Array) -> tuple[str, ...]:
    """What to ask about the data: units and order of outcomes, values they have too often, and classes of the columns.

    Targets are checked ones, or of quantile forecasts the numbers that were given.
    """
    # Pools of members have the outcome among them.
    if not len(predictions) or not predictions.has_scale or isinstance(predictions, Pool):
        return ()
    finite = predictions.finite
    if isinstance(predictions, QuantileForecast):
        law = predictions.nearest_normal
        if law is None or targets.dtype.kind != "f":
            return ()
        return _of_numbers(law, targets, predictions.values, (misplaced, in_another_unit))
    if finite is not None:
        if finite.n_classes > MOST_CLASSES:
            return ()
        return (of_classes(finite, targets) if finite.probabilities_differ else ()) or misplaced(finite, targets)
    if predictions.discrete:
        return _multiples(targets) or misplaced(predictions, targets) or of_means(predictions, targets)
    if targets.ndim == 2:
        reads = in_another_order, misplaced, in_another_unit, _units_of_coordinates
        return _of_numbers(predictions, targets, None, reads)
    own = predictions.members if isinstance(predictions, Members) else None
    return _of_numbers(predictions, targets, own, (_exchanged, misplaced, of_scales, in_another_unit))


def _of_numbers(
    law: Predictions,
    targets: Array,
    own: FloatArray | None,
    read: Sequence[Callable[[Predictions, Array], tuple[str, ...]]],
) -> tuple[str, ...]:
    asked = (*next(filter(None, (one(law, targets) for one in read)), ()), *repeated(law, targets, own))
    return asked or _rounded(law, targets, own)


def _exchanged(predictions: Predictions, targets: Array) -> tuple[str, ...]:
    """Whether outcomes would fit means in the place of standard deviations, and these in theirs, clearly better."""
    rows = evenly_spaced(len(predictions), SOME)
    law = predictions.take(rows).normal
    if law is None or law[0].min() <= 0.0 or law[1].min() <= 0.0:
        return ()
    (mean, scale), y = law, targets[rows]
    squares = [
        np.minimum(np.square(in_units(y - one, other)), LARGEST) for one, other in ((mean, scale), (scale, mean))
    ]
    gains = 0.5 * (squares[0] - squares[1]) + np.log(scale / mean)
    if gains.mean() * np.sqrt(gains.size) <= CLEAR * gains.std() or _distance((y - scale) / mean) > CLOSE:
        return ()
    return ("means and standard deviations in each other's place would fit the outcomes: are the two exchanged?",)


def in_another_unit(
    predictions: Predictions, targets: Array, what: str = "outcomes", within: float = inf
) -> tuple[str, ...]:
    """Whether outcomes lie far from their predictions, and would fit them after a conversion."""
    rows = evenly_spaced(len(predictions), SOME)
    # Taken anew, roots of matrices would be made anew.
    some = predictions if rows.size == len(predictions) else predictions.take(rows)
    y = np.asarray(targets[rows], dtype=np.float64)
    return converted(lambda values: some.standard_scores(values[None])[0], y, what, curves=CURVES, within=within)


def _units_of_coordinates(predictions: Predictions, targets: Array) -> tuple[str, ...]:
    """The same of each coordinate of vectors, which one of several may seem to be by chance."""
    asked: list[str] = []
    for t, one in enumerate(coordinates_of(predictions, targets.shape[1])):
        asked += in_another_unit(one, targets[:, t], f"outcomes of coordinate {t}", CLOSE)
    return tuple(asked)


def converted(
    scores: Callable[[FloatArray], FloatArray],
    y: FloatArray,
    what: str = "outcomes",
    conversions: Conversions = OF_NUMBERS,
    curves: Curves | None = None,
    far: float = FAR,
    within: float = inf,
) -> tuple[str, ...]:
    """The same of numbers whose standard scores are a function of them.

    ``within`` is how far the median and the width of the middle half may be, together, from those of normal scores.
    """
    own, of_zero = scores(y), scores(1e-9 * y)
    side, side_of_zero = np.sign(own), np.sign(of_zero)
    least = min(max(ONE_SIDED, BY_CHANCE / sqrt(own.size)), 1.0)
    is_one_sided = max(abs(float(side.mean())), abs(float((side * side_of_zero).mean()))) >= least
    if len(y) < FEWEST or not (np.median(np.abs(own)) > far and is_one_sided):
        return ()
    # Where 0 fits, so does every outcome that is divided by enough.
    zero_fits = np.median(np.abs(of_zero)) < ZERO
    tried = {
        f"{what} {words} or so would fit the predictions: are both in the same unit?": (factor * y + added, within)
        for words, (factor, added) in conversions.items()
        if factor >= 1.0 or not zero_fits
    }
    if curves is not None and not zero_fits:
        with np.errstate(all="ignore"):
            tried |= {
                f"{words} the {what} would fit the predictions: are both on the same scale?": (curve(y), CLOSE)
                for words, curve in curves.items()
            }
    found = {
        distance: words
        for words, (values, most) in tried.items()
        if np.isfinite(values).all() and (distance := _distance(scores(values))) < most
    }
    return (found[min(found)],) if found else ()


def _distance(scores: FloatArray) -> float:
    """How far the median and the width of the middle half are, together, from those of normal scores; or infinity."""
    low, middle, high = np.quantile(scores, [0.25, 0.5, 0.75]).tolist()
    if not (abs(middle) < NEAR and WIDTHS[0] < high - low < WIDTHS[1]):
        return inf
    return float(abs(middle) + abs(high - low - 1.35))


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
