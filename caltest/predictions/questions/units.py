"""Outcomes that look as if they were in another unit, or on another scale, than the predictions."""

from collections.abc import Callable, Sequence
from math import inf, sqrt

import numpy as np

from caltest._basics.numerics import Array, FloatArray, IntArray, evenly_spaced
from caltest.predictions.base import Predictions

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

IN_UNITS = "{} {} or so would fit the predictions: are both in the same unit?"

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

SOME = 1000
"""Rows that are looked at."""

FEWEST = 5
"""Outcomes from which on one asks."""

FARTHER, FEWEST_FAR, USUAL, APART = 6.0, 10, 1.5, 1.5
"""In predicted standard deviations: how far outcomes of some rows are, the fewest of these, the median distance of all
rows up to which most are as was predicted, and how much the predictions of those rows differ at least."""

ONE_SIDED, BY_CHANCE = 0.5, 3.0
"""Mean side of outcomes in another unit, 1 or -1, towards larger numbers or away from 0, and that of errors, which have
any side, in standard errors: of few outcomes all are on one side."""


def in_another_unit(
    predictions: Predictions, targets: Array, what: str = "outcomes", within: float = inf
) -> tuple[str, ...]:
    """Whether outcomes lie far from their predictions, and would fit them after a conversion."""
    rows = evenly_spaced(len(predictions), SOME)
    # Taken anew, roots of matrices would be made anew.
    some = predictions if rows.size == len(predictions) else predictions.take(rows)
    y = np.asarray(targets[rows], dtype=np.float64)
    return converted(lambda values: some.standard_scores(values[None])[0], y, what, curves=CURVES, within=within)


def some_in_another_unit(predictions: Predictions, targets: Array, numbers: IntArray) -> tuple[str, ...]:
    """The same of rows here and there, where the others are as was predicted; rows have ``numbers`` (n,)."""
    if targets.ndim > 1 or predictions.finite is not None:
        return ()
    rows = evenly_spaced(len(predictions), 2 * SOME)
    distances = np.abs(predictions.take(rows).standard_scores(np.asarray(targets[rows], dtype=np.float64)[None])[0])
    far = rows[distances > FARTHER]
    if not FEWEST_FAR <= far.size <= rows.size / 2 or np.median(distances) > USUAL:
        return ()
    mean, variance = predictions.take(far).moments()
    # Any number is a multiple of another.
    if mean.std() < APART * np.sqrt(np.median(variance)):
        return ()
    return in_another_unit(
        predictions.take(far),
        targets[far],
        f"outcomes of some rows (row {numbers[far[0]]}, {numbers[far[1]]}, ...)",
        CLOSE,
    )


def units_of_coordinates(coordinates: list[Predictions], targets: Array) -> tuple[str, ...]:
    """The same of each coordinate of vectors, which one of several may seem to be by chance."""
    asked: list[str] = []
    for t, one in enumerate(coordinates):
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
    own = scores(y)
    if len(y) < FEWEST or not np.median(np.abs(own)) > far:
        return ()
    of_zero = scores(1e-9 * y)
    side, side_of_zero = np.sign(own), np.sign(of_zero)
    least = min(max(ONE_SIDED, BY_CHANCE / sqrt(own.size)), 1.0)
    if max(abs(float(side.mean())), abs(float((side * side_of_zero).mean()))) < least:
        return ()
    # Where 0 fits, so does every outcome that is divided by enough.
    zero_fits = np.median(np.abs(of_zero)) < ZERO
    tried = {
        IN_UNITS.format(what, words): (factor * y + added, within)
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
        if np.isfinite(values).all() and (distance := distance_of(scores(values))) < most
    }
    return (found[min(found)],) if found else ()


def distance_of(scores: FloatArray) -> float:
    """How far the median and the width of the middle half are, together, from those of normal scores; or infinity."""
    low, middle, high = np.quantile(scores, [0.25, 0.5, 0.75]).tolist()
    if not (abs(middle) < NEAR and WIDTHS[0] < high - low < WIDTHS[1]):
        return inf
    return float(abs(middle) + abs(high - low - 1.35))
