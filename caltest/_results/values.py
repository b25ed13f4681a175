"""What results are made of: intervals, effect sizes, and findings of what is wrong."""

from dataclasses import dataclass, replace
from math import inf, sqrt
from typing import Any, Literal, Self, cast, get_args

from caltest._validation import one_of

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


@dataclass(frozen=True)
class EffectSize:
    """How large an error is, beside the p-value that says how surprising it is.

    Attributes
    ----------
    value
        The number; about 0 for calibrated predictions.
    unit
        What it is.

    Notes
    -----
    Kernel errors: the estimated KCE, the root of the SKCE, divided by the largest value that it can have with the
    kernel, a number between 0 and 1; 0 for negative estimates. Test locations: the root of the mean square of the
    witness function. Binned errors: the estimate minus its mean if the predictions are calibrated, which is positive;
    known from tests that redraw; others give the estimate, noise included. Scores: the excess over what the predictions
    expect, per observation. Log likelihood ratios: per observation.

    Statistics that grow with n are brought back to what they measure: those of Hosmer and Lemeshow, Anderson and
    Darling and of quantiles to root mean squares of standardised differences, likelihood ratios of logistic
    recalibration to nats per observation, cumulative differences to shares of the observations, T-Cal to the error of
    its cells; what calibrated predictions have on average is subtracted before. What is estimated from n observations
    still has noise in it: ``noise_floor`` says how much.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["naive Bayes"]
    >>> print(ct.calibration_test(p, y, rng=1).effect_size)
    0.068 (KCE as a share of its largest value)
    """

    value: float
    unit: str

    def __str__(self) -> str:
        return f"{self.value:.3g} ({self.unit})"


@dataclass(frozen=True)
class Finding:
    """The fault that explains the outcomes best, or a runner-up. Printing it gives the words.

    It depends on predictions and outcomes only, not on redraws, and is no part of the p-value.

    Attributes
    ----------
    words
        What is wrong and where, with the size and its interval.
    kind
        ``"temperature"``, ``"shift"``, ``"scale"``, ...: the kinds of each family are in the documentation of findings.
    place
        The class, coordinate or part of the predictions that is meant; empty if all are.
    estimate
        The size of largest likelihood: a factor, a share, a number of standard deviations.
    interval
        Its 95 % interval by the likelihood.
    gain
        Logarithm of the likelihood ratio to calibration, less a penalty for the choice; above 0 if the fault is clear.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> finding = ct.calibration_test(p, y, rng=1).finding
    >>> finding.kind, round(finding.estimate, 2)
    ('temperature', 0.24)
    """

    words: str
    kind: str = ""
    place: str = ""
    estimate: float | None = None
    interval: ConfidenceInterval | None = None
    gain: float | None = None

    def __str__(self) -> str:
        return self.words


def impossible(words: str) -> Finding:
    """That outcomes occurred which their predictions exclude."""
    return Finding(words, "impossible outcome")
