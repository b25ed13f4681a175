"""Sides of an interval."""

from math import inf
from typing import Literal, cast, get_args

from caltest._results.confidence_interval import ConfidenceInterval
from caltest._validation import one_of

Side = Literal["two-sided", "upper", "lower"]


def checked_side(side: str) -> Side:
    """Raise ``ValueError`` for anything else."""
    one_of("side", side, get_args(Side))
    return cast("Side", side)


def within(
    side: Side, low: float, high: float, largest: float, level: float, method: str, estimate: float
) -> ConfidenceInterval:
    """The interval of a side, between 0 and the largest possible value, as its estimate is."""
    low, high = -inf if side == "upper" else low, inf if side == "lower" else high
    low, high, estimate = min(max(0.0, low), largest), max(0.0, min(high, largest)), min(max(0.0, estimate), largest)
    return ConfidenceInterval(low, high, level, method, estimate)
