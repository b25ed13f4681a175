"""What estimators offer whose law for calibrated predictions is in textbooks."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from caltest._results.calibration_test_result import PValueKind
from caltest.predictions import Sample


@dataclass(frozen=True)
class TextbookTail:
    """A statistic and the probability that it is as large if the predictions are calibrated.

    ``df`` are the degrees of freedom of its law, if it has some, and ``notes`` what is known of the size of the test
    for such data.
    """

    statistic: float
    pvalue: float
    df: tuple[float, ...] | None = None
    notes: tuple[str, ...] = ()


@runtime_checkable
class HasTextbookLaw(Protocol):
    """The statistic has a law that does not depend on the predictions, at least for many observations."""

    @property
    def textbook_statistic(self) -> str:
        """What the statistic is, and its law."""

    @property
    def textbook_kind(self) -> PValueKind:
        """``"exact"`` if the law holds for every n, otherwise ``"asymptotic"``."""

    def textbook_tail(self, estimate: float, sample: Sample) -> TextbookTail:
        """The tail beyond the estimate from a sample."""
