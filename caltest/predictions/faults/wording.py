"""Sizes of faults in words: two digits, with their intervals."""

from collections.abc import Callable
from math import isfinite

from caltest.predictions.faults.fault import Fit


def about(number: float) -> str:
    """A number to two digits, without an exponent where it has few digits."""
    if not isfinite(number) or number == 0.0:
        return f"{number:g}"
    if 1e-4 <= abs(number) < 1e6:
        text = f"{float(f'{number:.1e}'):f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    return f"{number:.1e}"


def number(count: float) -> str:
    """A count, or an expected one, without digits that nobody needs."""
    return f"{count:.0f}" if count >= 100.0 or count == round(count) else f"{count:.1f}"


def percent(share: float) -> str:
    """A share in percent, to two digits, such as ``36 %``."""
    return f"{about(100.0 * share)} %"


def span(
    fit: Fit, size: Callable[[float], float], *, signed: bool = False, text: Callable[[float], str] = about
) -> str:
    """The interval of a size in words, such as ``0.2 to 0.31``.

    Sizes that have a direction are printed without their signs, unless the interval contains 0.
    """
    low, high = sorted((size(fit.low), size(fit.high)))
    if signed and high <= 0.0:
        low, high = -high, -low
    if fit.is_open_above:
        return f"at least {text(low)}"
    return f"at most {text(high)}" if fit.is_open_below else f"{text(low)} to {text(high)}"
