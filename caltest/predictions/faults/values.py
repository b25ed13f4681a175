"""Single values that too many outcomes have: codes of missing ones, and ends at which outcomes are cut off."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from caltest._basics.numerics import Array, BoolArray, FloatArray, IntArray, evenly_spaced
from caltest.predictions.base import Predictions
from caltest.predictions.faults.fault import Mixed, Sees
from caltest.predictions.faults.words import Fit, instead, percent
from caltest.predictions.reductions.standard_scores import spreads

MOST_VALUES, LEAST_EQUAL = 3, 2
"""Values that are looked at, those with the largest excess, and outcomes that have to be equal."""

LEAST_ALONE = 5
"""Outcomes that are equal, where hardly any others are, from which on they are no copies of a row."""

AMONG = 64
"""Predictions that tell how often a value is expected, to choose among values."""

LEFT_BEYOND = 0.1
"""Share of the outcomes predicted beyond a value that may be there if the value is an end."""

BAND = 0.1
"""Predicted standard deviations to either side of a value that are one place, where outcomes may be rounded."""

STEPS = (2, 5, 10, 12, 20, 50, 100)
"""Of which outcomes are too often multiples, if people round them."""

CLEAR, MOST_OF, LEAST = 4.0, 0.75, 3
"""Standard deviations by which multiples are too frequent at least, and the share and number of them that are."""

WHOLE = 1e-6
"""How far a multiple may be from a whole number of steps."""

OF_RECORDS = ("same value", "cut off", "heaped", "exchanged")
"""Kinds of faults that are likelier of how outcomes were recorded than of the predictions."""

CERTAIN, LOWEST = 1e-9, -1e4
"""How far the probability of a value is from 1 at least, and its logarithm where a density is 0, as at an end."""


@dataclass(frozen=True)
class Value:
    """A value, which outcomes have it, the logarithms of its probabilities, and those of outcomes beyond it, (n,)."""

    value: float
    at: BoolArray
    log_p: FloatArray
    below: FloatArray
    above: FloatArray
    counted: str

    @property
    def text(self) -> str:
        """The value in words."""
        return f"{self.value:.6g}"


def repeated_values(law: Predictions, outcomes: Array, weights: FloatArray) -> list[Value]:
    """Values that several outcomes (n,) have, of the largest excess over what is predicted; of counts none of 0.

    The probability is that of a band around the value that is as wide as rounding may be. Of numbers with a density it
    has the smallest distance of two outcomes, or two tenths of a predicted standard deviation if that is more and more
    than three values are repeated, as where some outcomes are rounded; of counts the largest number that they are all
    multiples of; and as wide as a step of which many others are multiples.
    """
    found, counts = np.unique(outcomes, return_counts=True)
    several = (counts >= LEAST_EQUAL) & (law.is_continuous | (found != 0))
    if found.size < LEAST_EQUAL or not several.any():
        return []
    values, sizes = found[several], counts[several]
    unit = float(np.diff(found).min() if law.is_continuous else np.gcd.reduce(found.astype(np.int64)))
    is_rounded = law.is_continuous and (values.size > MOST_VALUES or sizes.max() < LEAST_ALONE)
    widths = np.maximum(2.0 * BAND * spreads(law) if is_rounded else 0.0, np.full(len(law), unit))
    among, places = law.evenly_spaced(AMONG), evenly_spaced(len(law), AMONG)

    def log_probabilities(some: Predictions, value: float, width: FloatArray) -> FloatArray:
        logs = some.log_density(np.full(len(some), value)) + np.log(width)
        return np.minimum(np.where(logs == -np.inf, LOWEST, logs), -CERTAIN)

    def expected(values: FloatArray, steps: FloatArray) -> FloatArray:
        width = np.maximum(widths[places], steps[:, None])
        shares = [np.exp(log_probabilities(among, v, w)).mean() for v, w in zip(values, width, strict=True)]
        return len(law) * np.array(shares)

    usual = expected(values, np.zeros(len(values)))
    # Others than those that are rounded have no step in common.
    grid = float(np.diff(values).min()) if law.is_continuous and values.size > 1 else unit
    steps = heaps(values, sizes, usual, grid, (1, *STEPS) if law.is_continuous else STEPS)
    usual = np.where(steps > 0.0, expected(values, steps), usual) if steps.any() else usual
    excess = sizes * np.log(sizes / np.maximum(usual, 1e-300)) - (sizes - usual)
    largest = np.sort(np.argsort(-np.where(sizes > usual, excess, -np.inf), kind="stable")[:MOST_VALUES])
    return [
        _value(law, outcomes, weights, values[i], log_probabilities(law, values[i], np.maximum(widths, steps[i])))
        for i in largest.tolist()
    ]


def heaps(
    values: FloatArray, counts: IntArray, expected: FloatArray, unit: float, steps: Sequence[int] = STEPS
) -> FloatArray:
    """The step (v,) of which each value is one of many multiples that are too frequent; 0 for none.

    Of values in whole units, with how often they occur and should. Most multiples other than the value itself occur too
    often, and clearly so together.
    """
    found = np.zeros(len(values))
    for step in steps:
        multiple = np.abs(values / (step * unit) - np.rint(values / (step * unit))) < WHOLE
        excess, too_many = np.where(multiple, counts - expected, 0.0), multiple & (counts > expected)
        rest, usual = excess.sum() - excess, np.where(multiple, expected, 0.0).sum() - expected
        number, others = too_many.sum() - too_many, multiple.sum() - 1
        clear = (rest > CLEAR * np.sqrt(np.maximum(usual, 1.0))) & (number >= np.maximum(LEAST, MOST_OF * others))
        found[multiple & clear] = step * unit
    return found


def _value(law: Predictions, outcomes: Array, weights: FloatArray, value: float, log_p: FloatArray) -> Value:
    at = outcomes == value
    up_to = law.cdf(np.full(len(law), value))
    below = up_to if law.is_continuous else up_to - np.exp(log_p)
    here = float(weights @ at)
    if not law.is_continuous:
        counted = instead(here, float(weights @ np.exp(log_p)), weights)
    elif (weights == weights[0]).all():
        counted = f"{here / weights[0]:.0f}"
    else:
        counted = f"{percent(here / weights.sum())} of the weight"
    return Value(float(value), at, log_p, np.maximum(below, 0.0), np.maximum(1.0 - up_to, 0.0), counted)


@dataclass(frozen=True)
class Others:
    """The rows (m,) that are left where those of a value are not looked at."""

    rows: IntArray


class SeesValues(Sees):
    """What these faults see of outcomes."""

    law: Predictions
    targets: Array
    corrected: FloatArray | None = None
    """Residuals of the first targets after a correction of the predictions."""

    @cached_property
    def outcomes(self) -> FloatArray:
        """The first targets, (n,)."""
        return np.asarray(self.targets[0].reshape(-1), dtype=np.float64)

    @cached_property
    def values(self) -> list[Value]:
        """Those that many outcomes have, of which each is a sibling; of counts none of 0."""
        return repeated_values(self.law, self.outcomes, self.weights)


class TooOften(Mixed[Any]):
    """A share t of the probability of some other outcomes is moved to one value.

    Which value that is follows from the outcomes, and costs as much as a choice among as many values as there are.
    """

    of_targets = says_what_happened = True

    def __init__(self, n: int) -> None:
        self.n_choices = n

    def promising(self, seen: SeesValues) -> FloatArray:
        return np.array([0.0 if self._is_likely(seen, one) else -np.inf for one in range(self.n_siblings)])

    def _is_likely(self, seen: SeesValues, sibling: int) -> bool:
        return sibling < len(seen.values)

    def _moved(self, seen: SeesValues, sibling: int) -> tuple[Value, FloatArray, BoolArray]:
        """The value, the log probabilities of what is moved there, and where outcomes are of these."""
        value = seen.values[sibling]
        return value, np.log(-np.expm1(value.log_p)), ~value.at

    def log_ratio(self, seen: SeesValues, sibling: int, t: float) -> float:
        return super().log_ratio(seen, sibling, t) if self._is_likely(seen, sibling) else 0.0

    def log_ratios(self, seen: SeesValues, sibling: int) -> FloatArray:
        value, log_others, others = self._moved(seen, sibling)
        gained = np.logaddexp(0.0, log_others - value.log_p)
        return np.where(value.at, gained, np.where(others, -np.inf, 0.0))


class SameValue(TooOften):
    """``Q = (1 - t) P + t 1{v}``: outcomes that are v whatever is predicted."""

    kind = "same value"
    n_siblings = MOST_VALUES

    def corrected(self, seen: SeesValues, sibling: int, t: float) -> Others:
        return Others(np.flatnonzero(~seen.values[sibling].at))

    def words(self, seen: SeesValues, sibling: int, fit: Fit) -> str:
        value = seen.values[sibling]
        much = f"about {self.sized(seen, sibling, fit, percent)} of the outcomes are {value.text} whatever is predicted"
        return f"{much}, such as a code for missing ones: {value.counted} are exactly that"


class CutOff(TooOften):
    """Outcomes beyond a value that are given as this value, a share t of them: above it, or below."""

    kind = "cut off"
    n_siblings = 2 * MOST_VALUES

    def _is_likely(self, seen: SeesValues, sibling: int) -> bool:
        """Hardly any of the outcomes that are predicted beyond an end are there."""
        if sibling // 2 >= len(seen.values):
            return False
        _, log_others, others = self._moved(seen, sibling)
        return bool(others.sum() < LEFT_BEYOND * np.exp(log_others).sum())

    def _moved(self, seen: SeesValues, sibling: int) -> tuple[Value, FloatArray, BoolArray]:
        value, is_above = seen.values[sibling // 2], sibling % 2 == 0
        others = seen.outcomes > value.value if is_above else seen.outcomes < value.value
        return value, np.log(np.maximum(value.above if is_above else value.below, 1e-300)), others

    def words(self, seen: SeesValues, sibling: int, fit: Fit) -> str:
        value, side = seen.values[sibling // 2], "below" if sibling % 2 else "above"
        much = f"about {self.sized(seen, sibling, fit, percent)} of those predicted {side} it"
        return f"outcomes are cut off at {value.text}: {value.counted} are exactly that, {much}"
