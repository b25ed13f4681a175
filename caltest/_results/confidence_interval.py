"""An interval for a calibration error, or for the size of a fault."""

from dataclasses import dataclass, replace
from math import sqrt
from typing import Any, Self

JACKKNIFE = "jackknife, normal limit"
"""The method of intervals from the jackknife variance."""


@dataclass(frozen=True)
class ConfidenceInterval:
    """An interval for the calibration error.

    Attributes
    ----------
    low, high
        Ends, ``inf`` where there is none.
    confidence_level
        Nominal coverage.
    method
        How it was computed.
    estimate
        What it is around, if there is one number; cut at 0 as the interval is.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> interval = ct.AsymptoticBlockSKCETest(p.default_kernel(), block_size=20)(p, y).confidence_interval()
    >>> low, high = interval
    >>> round(low, 6), high
    (0.000464, inf)
    """

    low: float
    high: float
    confidence_level: float
    method: str
    estimate: float | None = None

    def root(self) -> Self:
        """The interval for the square root of the quantity: for the KCE, if it is for the SKCE.

        It covers the root whenever the interval covers the quantity, which is at least 0.
        """
        estimate = None if self.estimate is None else sqrt(max(0.0, self.estimate))
        low, high = sqrt(max(0.0, self.low)), sqrt(max(0.0, self.high))
        return replace(self, low=low, high=high, estimate=estimate)

    def __iter__(self) -> Any:
        """The two ends, so that ``low, high = interval`` works."""
        return iter((self.low, self.high))

    def __str__(self) -> str:
        return f"[{self.low:.4g}, {self.high:.4g}] ({100 * self.confidence_level:g} %, {self.method})"
