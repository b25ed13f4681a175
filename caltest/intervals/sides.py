"""Sides of an interval."""

from typing import Literal, cast, get_args

from caltest._validation import one_of

Side = Literal["two-sided", "upper", "lower"]


def checked_side(side: str) -> Side:
    """Raise ``ValueError`` for anything else."""
    one_of("side", side, get_args(Side))
    return cast("Side", side)


def ends(side: Side, low: float, high: float) -> tuple[float, float]:
    """The ends of an interval of that side."""
    return -float("inf") if side == "upper" else low, float("inf") if side == "lower" else high


def within(low: float, high: float, largest: float) -> tuple[float, float]:
    """The part of an interval between 0 and the largest possible value."""
    return min(max(0.0, low), largest), max(0.0, min(high, largest))
