"""What confidence misses."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import sqrt
from typing import Any

import numpy as np
import scipy

from caltest._basics.calls import own_errstate
from caltest._basics.numerics import ArrayLike, FloatArray, generator_apart, ranges, seed_of
from caltest._results.measures import percent
from caltest._results.tables import Bar, Grid, Page, Table
from caltest._results.values import ConfidenceInterval, Stored
from caltest._validation import fraction, whole_number
from caltest.decompositions.parts import AT_ONCE, table_of
from caltest.estimators.binned_errors import binned_predictions
from caltest.predictions import Bernoulli, Categorical
from caltest.predictions.convert import as_sample
from caltest.predictions.reductions import reduce_to_top_label

ERRORS = ("overconfidence", "underconfidence", "accuracy")


@dataclass(frozen=True)
class ConfidenceErrors(Stored):
    """How much confidence there is in wrong predictions, and how much is missing in right ones.

    Attributes
    ----------
    overconfidence
        Mean confidence ``max_k p_k`` where the most probable class is wrong; None if it never is.
    underconfidence
        Mean of one minus the confidence where it is right; None if it never is.
    accuracy
        Share of right predictions.
    intervals, calibrated
        If they were asked for: a confidence interval for each of the three, and their means if the predictions are
        calibrated, None if undefined in all redraws.

    Examples
    --------
    >>> import caltest as ct
    >>> errors = ct.confidence_errors([[0.1, 0.9], [0.2, 0.8], [0.75, 0.25]], [1, 0, 0])
    >>> errors.overconfidence, errors.underconfidence, round(errors.accuracy, 3)
    (0.8, 0.175, 0.667)
    """

    overconfidence: float | None
    underconfidence: float | None
    accuracy: float
    intervals: Mapping[str, ConfidenceInterval] | None = field(default=None, hash=False, repr=False)
    calibrated: Mapping[str, float | None] | None = field(default=None, hash=False, repr=False)
    seed: int | None = field(default=None, repr=False)

    picture = "forest"

    def bars(self) -> list[Bar]:
        """The errors with their intervals, if these were asked for, for ``plots.forest``."""
        intervals, calibrated = self.intervals or {}, self.calibrated or {}
        known = {name: getattr(self, name) for name in ERRORS}
        known |= {name: one.estimate for name, one in intervals.items()}
        return [
            Bar(name, one, intervals.get(name), calibrated.get(name), "mean if calibrated", "probability", False)
            for name, one in known.items()
            if one is not None
        ]

    def table(self) -> Table:
        return table_of(self, ERRORS)

    def sentence(self) -> str:
        found = [
            f"{self.overconfidence:.3g} on average where it is wrong" if self.overconfidence is not None else "",
            f"{1.0 - self.underconfidence:.3g} where it is right" if self.underconfidence is not None else "",
        ]
        claimed = " and ".join(filter(None, found))
        return (
            f"The most probable label is right in {percent(self.accuracy)} of the rows; its probability is {claimed}."
        )

    def summary(self) -> str:
        return Page("Errors of confidence", Grid(self.table()))


@own_errstate
def confidence_errors(
    predictions: ArrayLike,
    targets: ArrayLike,
    *,
    classes: Sequence[Any] | None = None,
    confidence_level: float | None = None,
    n_resamples: int = 999,
    rng: Any = None,
) -> ConfidenceErrors:
    """Overconfidence ``E[c | wrong]`` and underconfidence ``E[1 - c | right]`` of the top label with confidence c.

    For the ``ECE`` of the top label of any order and binning::

        |overconfidence P(wrong) - underconfidence P(right)| = |mean confidence - accuracy| <= ECE

    Parameters
    ----------
    predictions
        (n, k) probabilities or ``Categorical``; binary predictions count as two classes.
    targets, classes
        As in ``calibration_test``.
    confidence_level
        Between 0 and 1, for intervals and means under calibration; None for neither.
    n_resamples, rng
        As in ``calibration_test``, for these means.

    Notes
    -----
    They describe a model and are no test: both are above 0 for calibrated predictions, by how much ``calibrated`` says.
    Time O(n k), and O(n B) for the means under calibration.

    The intervals are that of Wilson 1927 for the accuracy, and that of Student's t for the others, cut at the smallest
    and the largest confidence. With fewer than two wrong (or right) predictions it is all between these, and Wilson's
    between these where several have one confidence and the rest do not.

    They are for the errors of these predictions, ``sum_i c_i P_i(wrong) / sum_i P_i(wrong)``, and wider than need be.
    Coverage of 95 % intervals for binary predictions of Beta(0.5, 0.5) and Beta(0.1, 0.1), calibrated, with 10 % and
    with 50 % label noise, n = 60 and 250, 500 data sets each: 94.0 to 98.4 % for overconfidence, 97.8 to 100 % for
    underconfidence, 93.4 to 98.0 % for the accuracy.

    Source: Wenger, Kjellstrom and Triebel 2020, section 2 and Theorem 1.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["naive Bayes"]
    >>> errors = ct.confidence_errors(p, y)
    >>> round(errors.overconfidence, 3), round(errors.underconfidence, 3)
    (0.962, 0.004)
    >>> print(ct.confidence_errors(p, y, confidence_level=0.95, n_resamples=199, rng=1))
    Errors of confidence
    --------------------
                       observed  estimate     95 % interval  if calibrated
      overconfidence     0.9617    0.9617  [0.9456, 0.9777]         0.7170
      underconfidence    0.0045    0.0045  [0.0021, 0.0069]         0.0075
      accuracy           0.8287    0.8287  [0.8027, 0.8519]         0.9900
    """
    level = None if confidence_level is None else fraction("confidence_level", confidence_level)
    number = whole_number("n_resamples", n_resamples, 1)
    sample = as_sample(predictions, targets, classes)
    law = binned_predictions(sample.predictions)
    confidence, top = reduce_to_top_label(Categorical(law.probabilities))
    c, right = confidence.probability, np.asarray(top == sample.targets)
    found = (_mean(c[~right]), _mean(1.0 - c[right]), float(right.mean()))
    if level is None:
        return ConfidenceErrors(*found)
    over, under = mean_interval(c[~right], c, level), mean_interval(1.0 - c[right], 1.0 - c, level)
    accuracy = ConfidenceInterval(*wilson(found[2], right.size, level), level, "Wilson", found[2])
    seed = seed_of(rng)
    intervals = dict(zip(ERRORS, (over, under, accuracy), strict=True))
    return ConfidenceErrors(*found, intervals, _calibrated_means(c, number, seed), seed)


def mean_interval(some: FloatArray, among: FloatArray, level: float) -> ConfidenceInterval:
    """For the mean of numbers that are some of others, between the smallest and the largest of these."""
    low, high = float(among.min()), float(among.max())
    mean, m = _mean(some), some.size
    if m < 2 or low == high:
        return ConfidenceInterval(low, high, level, "range of the confidences", mean)
    if some.min() == some.max():
        first, last = wilson((float(some[0]) - low) / (high - low), m, level)
        return ConfidenceInterval(low + (high - low) * first, low + (high - low) * last, level, "Wilson", mean)
    radius = float(scipy.special.stdtrit(m - 1, (1.0 + level) / 2.0)) * float(some.std(ddof=1)) / sqrt(m)
    middle = float(some.mean())
    return ConfidenceInterval(max(low, middle - radius), min(high, middle + radius), level, "Student's t", mean)


def wilson(share: float, n: int, level: float) -> tuple[float, float]:
    """The interval of Wilson 1927 for a frequency."""
    from statsmodels.stats.proportion import proportion_confint

    low, high = proportion_confint(share * n, n, alpha=1.0 - level, method="wilson")
    # Rounding must not put the ends on the wrong side of the share.
    return max(0.0, min(float(low), share)), min(1.0, max(float(high), share))


def _mean(some: FloatArray) -> float | None:
    return float(some.mean()) if some.size else None


def _calibrated_means(c: FloatArray, n_resamples: int, seed: int) -> dict[str, float | None]:
    """Means of the errors over redraws of which predictions are right, where there are such."""
    rng, law, sums = generator_apart(seed), Bernoulli(c), np.zeros(3)
    defined = np.zeros(3)
    for part in ranges(n_resamples, AT_ONCE // c.size):
        right = law.redraw(rng, part.stop - part.start)
        n_right, missing, wrong = right.sum(axis=1), right @ (1.0 - c), (1 - right) @ c
        with np.errstate(divide="ignore", invalid="ignore"):
            # Not a number where none are wrong, or right.
            errors = np.stack([wrong / (c.size - n_right), missing / n_right, n_right / c.size])
        sums += np.nansum(errors, axis=1)
        defined += np.isfinite(errors).sum(axis=1)
    means = [float(total / times) if times else None for total, times in zip(sums, defined, strict=True)]
    return dict(zip(ERRORS, means, strict=True))
