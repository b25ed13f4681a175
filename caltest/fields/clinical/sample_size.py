"""How many cases a validation of predicted risks takes for intervals of given widths."""

from dataclasses import dataclass
from math import asinh, ceil, sqrt
from textwrap import fill
from typing import Any

import numpy as np
import scipy

from caltest._basics.calls import own_errstate
from caltest._basics.numerics import ArrayLike, FloatArray
from caltest._results.report import listed
from caltest._results.tables import Table
from caltest._results.values import Stored
from caltest._validation import fraction, positive_number
from caltest.estimators.classical.base import probability_of_event
from caltest.fields.clinical.validation import FEW
from caltest.predictions.inputs.convert import as_predictions

NARROWEST = 1e-6
"""The smallest width of an interval that is planned for."""


@dataclass(frozen=True)
class ValidationSize(Stored):
    """Cases that a validation takes. Printing it gives them for each interval.

    Attributes
    ----------
    oe_ratio, slope, concordance
        For the interval of the O:E ratio, of the calibration slope, and of the c-statistic.
    prevalence, c
        Mean risk, and the c-statistic of calibrated risks like these.

    Examples
    --------
    >>> import numpy as np
    >>> from caltest.fields import clinical
    >>> clinical.validation_size(np.random.default_rng(1).beta(1, 9, 5000)).n > 1000
    True
    """

    oe_ratio: int
    slope: int
    concordance: int
    prevalence: float
    c: float

    citations = ("newcombe2006", "riley2021")

    @property
    def n(self) -> int:
        """The largest of the three."""
        return max(self.oe_ratio, self.slope, self.concordance)

    no_picture = "three numbers need none"

    def row_entries(self) -> list[dict[str, Any]]:
        rows = {"O:E ratio": self.oe_ratio, "slope": self.slope, "c-statistic": self.concordance}
        return [{"name": name, "cases": n, "events": n * self.prevalence} for name, n in rows.items()]

    @property
    def notes(self) -> tuple[str, ...]:
        """For which intervals fewer than 10 events, or cases without, are expected."""
        rare = min(self.prevalence, 1.0 - self.prevalence)
        few = [one["name"] for one in self.row_entries() if one["cases"] * rare < FEW]
        said = f"fewer than {FEW} events, or cases without, are expected, and intervals of so few are often wider"
        return (f"for the {listed(few)} {said}",) if few else ()

    def table(self) -> Table:
        body = [[one["name"], str(one["cases"]), f"{one['events']:.0f}"] for one in self.row_entries()]
        return [["for the interval of", "cases", "events"], *body]

    def sentence(self) -> str:
        each = listed([f"{cases} for that of the {name}" for name, cases, _ in self.table()[1:]])
        return f"Intervals of the wanted widths take {self.n} cases: {each} (mean risk {self.prevalence:.3g})."

    def summary(self) -> str:
        lines = [f"{a:<12} {b:>8} cases, {c} events" for a, b, c in self.table()[1:]]
        return "\n".join(
            [f"The validation takes {self.n} cases.", *lines, *(fill(f"Note: {one}", 80) for one in self.notes)]
        )


@own_errstate
def validation_size(
    predictions: ArrayLike,
    *,
    oe_width: float = 0.2,
    slope_width: float = 0.3,
    c_width: float = 0.1,
    confidence_level: float = 0.95,
) -> ValidationSize:
    """Cases for which the intervals of O:E ratio, slope and c-statistic of a calibrated model have given mean widths.

    Parameters
    ----------
    predictions
        (m,) predicted risks, or ``Bernoulli``, as the validation will have them: those of a pilot, or of the
        development data.
    oe_width, slope_width, c_width
        Widths of the intervals, at least 1e-6. About half of such validations have wider ones.
    confidence_level
        Of the intervals.

    Raises
    ------
    ValueError
        For bad predictions or settings, or risks that are all equal.
    TypeError
        For predictions that are not binary.

    Notes
    -----
    With prevalence f, normal quantile z and standard error ``s = width / (2 z)``: O:E from the variance
    ``(1 - f) / (n f)`` of its logarithm, with ``s = asinh(width / 2) / z``; slope from
    ``s^2 = I_a / (n (I_a I_b - I_ab^2))`` with means I_a, I_ab and I_b of ``p (1 - p)`` times 1, x and x^2, where x is
    the log-odds of p; c from Newcombe's variance. How likely the exact test is to find a given error with n cases is
    what ``ct.power`` simulates.

    Source: Riley et al. 2021.

    Examples
    --------
    >>> import numpy as np
    >>> from caltest.fields import clinical
    >>> print(clinical.validation_size(np.random.default_rng(1).beta(1, 9, 5000), oe_width=1.0))
    The validation takes 2801 cases.
    O:E ratio         148 cases, 15 events
    slope            2801 cases, 283 events
    c-statistic       962 cases, 97 events
    """
    of_ratio, of_slope = positive_number("oe_width", oe_width), positive_number("slope_width", slope_width)
    of_c, level = positive_number("c_width", c_width), fraction("confidence_level", confidence_level)
    if min(of_ratio, of_slope, of_c) < NARROWEST:
        raise ValueError(f"oe_width, slope_width, c_width: got one below {NARROWEST:g}, wanted widths of at least that")
    z = float(scipy.special.ndtri((1.0 + level) / 2.0))
    p = probability_of_event(as_predictions(predictions), "clinical.validation_size")
    inner = p[(p > 0.0) & (p < 1.0)]
    if np.unique(inner).size < 2:
        raise ValueError("predictions: got one value beside 0 and 1, wanted several; with one there is no slope")
    f, x, v = float(p.mean()), scipy.special.logit(inner), inner * (1.0 - inner)
    # Predictions of 0 and 1 have no log-odds; a constant that is added to these changes nothing.
    i_a, i_ab, i_b = (float((v * (x - x.mean()) ** k).sum()) / p.size for k in range(3))
    c = _concordance(p)
    return ValidationSize(
        oe_ratio=ceil((1.0 - f) / (f * (asinh(of_ratio / 2.0) / z) ** 2)),
        slope=ceil(i_a / ((of_slope / (2.0 * z)) ** 2 * (i_a * i_b - i_ab**2))),
        concordance=_newcombe_size(c, f, of_c / (2.0 * z)),
        prevalence=f,
        c=c,
    )


def _concordance(p: FloatArray) -> float:
    """Of calibrated risks: pairs of an event and another case, weighted by the probabilities of being such a pair."""
    # With itself a case is no pair, which counts half of a win as a tie.
    _, places = np.unique(p, return_inverse=True)
    ones, zeros = np.bincount(places, p), np.bincount(places, 1.0 - p)
    itself = float((p * (1.0 - p)).sum())
    wins = float(ones @ (np.cumsum(zeros) - zeros / 2.0)) - itself / 2.0
    return wins / (float(ones.sum() * zeros.sum()) - itself)


def _newcombe_size(c: float, f: float, largest: float) -> int:
    """The smallest number of cases, of which a share f has the event, with at most this standard error of c.

    Newcombe's variance is ``c (1 - c) (1 + (n / 2 - 1) a) / (n^2 f (1 - f))``, which makes n a root of a square.
    """
    a = (1.0 - c) / (2.0 - c) + c / (1.0 + c)
    square, linear = largest**2 * f * (1.0 - f), c * (1.0 - c) / 2.0
    return max(2, ceil((linear * a + sqrt((linear * a) ** 2 + 8.0 * square * linear * (1.0 - a))) / (2.0 * square)))
