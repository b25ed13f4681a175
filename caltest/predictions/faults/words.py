"""Sizes of faults in words, with their intervals."""

from collections.abc import Callable
from dataclasses import dataclass
from math import copysign, isfinite

from caltest._basics.numerics import FloatArray

AT_END = 1e-3
"""Of an interval, from the end of which sizes that are nearer are this end."""

MOST_DIGITS = 4
"""Of percentages, to which two or more are given."""

MOST_PLACES = 12
"""Digits of numbers that differ by little, up to which one looks for the difference."""


@dataclass(frozen=True)
class Fit:
    """The parameter t of largest likelihood, a 95 % interval of it, and whether the interval ends where t does."""

    t: float
    low: float
    high: float
    is_open_below: bool = False
    is_open_above: bool = False


def about(number: float, digits: int = 2) -> str:
    """A number to so many digits, without an exponent unless it is very large or small."""
    if not isfinite(number):
        return f"{number:g}"
    if abs(number) < 1e-100:
        return "0"
    if 1e-4 <= abs(number) < 1e6:
        text = f"{float(f'{number:.{digits - 1}e}'):f}"
        return text.rstrip("0").rstrip(".")
    return f"{number:.{digits}g}"


def told_apart(*numbers: float) -> list[str]:
    """Numbers with three digits, or as many more as it takes to tell those apart that are not equal."""
    for digits in range(3, MOST_PLACES):
        texts = [about(number, digits) for number in numbers]
        if len(set(texts)) == len(set(numbers)):
            break
    return texts


def count(number: float) -> str:
    """A count, or an expected one, without digits that nobody needs."""
    return f"{number:.0f}" if number >= 100.0 else f"{number:.1f}".removesuffix(".0")


def instead(found: float, expected: float, weights: FloatArray, unit: str = "") -> str:
    """A weight that was found and one that was expected: as numbers of observations if all have the same weight."""
    if (weights == weights[0]).all():
        return f"{count(found / weights[0])}{unit} instead of {count(expected / weights[0])}"
    return " of the weight instead of ".join(percents(found / weights.sum(), expected / weights.sum()))


def percent(share: float, digits: int = 2) -> str:
    """A share in percent, such as ``36 %``, with more digits where these would make it 100 %."""
    while share < 1.0 and digits < MOST_DIGITS and about(100.0 * share, digits) == "100":
        digits += 1
    return f"{about(100.0 * share, digits)} %"


def percents(*shares: float) -> list[str]:
    """Shares in percent, with as many digits as it takes to tell those apart that are not equal."""
    for digits in range(2, MOST_DIGITS + 1):
        texts = [percent(share, digits) for share in shares]
        if len(set(texts)) == len(set(shares)):
            break
    return texts


def sized(fit: Fit, size: Callable[[float], float], text: Callable[[float, int], str] = about) -> str:
    """A size with its interval, such as ``0.25 (0.2 to 0.31)``, with two digits or more.

    The digits tell the three numbers apart, and from the size of no fault if that is outside the interval. A size that
    is the end of those that are looked at is none, but the other end of its interval says something.
    """
    (low, is_open_below), (high, is_open_above) = sorted(
        [(size(fit.low), fit.is_open_below), (size(fit.high), fit.is_open_above)]
    )
    no_fault, margin = size(0.0), AT_END * (fit.high - fit.low)
    is_end = (fit.is_open_above and fit.high - fit.t < margin) or (fit.is_open_below and fit.t - fit.low < margin)
    for digits in (2, 3, 4):
        at, ends = text(size(fit.t), digits), [text(low, digits), text(high, digits)]
        is_told_apart = low <= no_fault <= high or text(no_fault, digits) not in ends
        if (len({at, *ends}) == 3 and is_told_apart) or is_open_below or is_open_above:
            break
    if is_open_above or is_open_below:
        bound = f"at least {ends[0]}" if is_open_above else f"at most {ends[1]}"
        # All and nothing are shares, as far as any can be.
        return bound if is_end and text is about else f"{at} ({bound})"
    return f"{at} ({ends[0]} to {ends[1]})"


def sized_shift(fit: Fit, size: Callable[[float], float] = float) -> str:
    """The size of a shift in its own direction, with its interval, which has a negative end if it contains 0."""
    along = copysign(1.0, size(fit.t))
    return sized(fit, lambda t: along * size(t))
