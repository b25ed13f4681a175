"""What confidence misses."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from caltest._basics.calls import own_errstate
from caltest._basics.numerics import ArrayLike, FloatArray, check_rng, generator_apart, ranges, seed_of
from caltest._results.measures import percent
from caltest._results.values import ConfidenceInterval, share_interval
from caltest._validation import fraction, whole_number
from caltest.decompositions.parts import AT_ONCE, WithIntervals
from caltest.estimators.binned_errors.ece import binned_predictions
from caltest.predictions import Bernoulli, Categorical
from caltest.predictions.inputs.convert import as_sample
from caltest.predictions.reductions.classes import reduce_to_top_label

ERRORS = ("overconfidence", "underconfidence", "accuracy")


@dataclass(frozen=True)
class ConfidenceErrors(WithIntervals):
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

    citations = ("gaffke2005", "wenger2020")
    overconfidence: float | None
    underconfidence: float | None
    accuracy: float
    intervals: Mapping[str, ConfidenceInterval] | None = field(default=None, hash=False, repr=False)
    calibrated: Mapping[str, float | None] | None = field(default=None, hash=False, repr=False)
    seed: int | None = field(default=None, repr=False)

    _names = ERRORS
    _words = "Errors of confidence", "probability"

    def sentence(self) -> str:
        found = [
            f"{self.overconfidence:.3g} on average where it is wrong" if self.overconfidence is not None else "",
            f"{1.0 - self.underconfidence:.3g} where it is right" if self.underconfidence is not None else "",
        ]
        claimed = " and ".join(filter(None, found))
        return (
            f"The most probable label is right in {percent(self.accuracy)} of the rows; its probability is {claimed}."
        )


@own_errstate
def confidence_errors(
    predictions: ArrayLike,
    targets: ArrayLike,
    *,
    classes: Sequence[Any] | None = None,
    n_resamples: int = 999,
    confidence_level: float | None = None,
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
    n_resamples, rng
        As in ``calibration_test``, for these means and for the intervals.
    confidence_level
        Between 0 and 1, for intervals and means under calibration; None for neither.

    Returns
    -------
    ConfidenceErrors
        ``overconfidence``, ``underconfidence`` and ``accuracy``, with ``intervals`` if there is a ``confidence_level``.

    Notes
    -----
    They describe a model and are no test: both are above 0 for calibrated predictions, by how much ``calibrated`` says.
    Time O(n k), and O(n B) for intervals and means under calibration.

    The interval for the accuracy is that of Clopper and Pearson. Those for the others, of Gaffke 2005, are quantiles of
    means with random weights: of the confidences of the wrong (or right) predictions, and of one more, the smallest or
    the largest confidence that there is. For two different confidences they are those of Clopper and Pearson; with no
    wrong (or right) prediction they reach from the smallest to the largest. Student's t is too short for a few of many
    similar confidences.

    They are for the errors of these predictions, ``sum_i c_i P_i(wrong) / sum_i P_i(wrong)``, and wider than need be.
    How often they hold stands in ``docs/validity.md``, "Intervals where few events occur".

    Sources: Wenger, Kjellstrom and Triebel 2020, section 2 and Theorem 1; Gaffke 2005, that these intervals hold is
    proved for two values and conjectured for others (Learned-Miller and Thomas 2019).

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
      overconfidence     0.9617    0.9617  [0.9386, 0.9763]         0.7170
      underconfidence    0.0045    0.0045  [0.0027, 0.0085]         0.0075
      accuracy           0.8287    0.8287  [0.8024, 0.8528]         0.9900
    """
    level = None if confidence_level is None else fraction("confidence_level", confidence_level)
    number = whole_number("n_resamples", n_resamples, 1)
    sample = as_sample(predictions, targets, classes)
    law = binned_predictions(sample.predictions)
    confidence, top = reduce_to_top_label(Categorical(law.probabilities))
    c, right = confidence.probability, np.asarray(top == sample.targets)
    found = (_mean(c[~right]), _mean(1.0 - c[right]), float(right.mean()))
    check_rng(rng)
    if level is None:
        return ConfidenceErrors(*found)
    seed = seed_of(rng)
    generator = generator_apart(seed)
    calibrated = _calibrated_means(c, number, generator)
    over, under = (
        mean_interval(*numbers, level, number, generator) for numbers in ((c[~right], c), (1.0 - c[right], 1.0 - c))
    )
    accuracy = share_interval(int(right.sum()), right.size, level)
    intervals = dict(zip(ERRORS, (over, under, accuracy), strict=True))
    return ConfidenceErrors(*found, intervals, calibrated, seed)


def mean_interval(
    some: FloatArray, among: FloatArray, level: float, n_resamples: int, rng: np.random.Generator
) -> ConfidenceInterval:
    """For the mean of numbers that are some of others, between the smallest and the largest of these.

    Quantiles of means with random weights, those of spacings of uniform numbers, of the numbers and one more, which is
    the smallest for the lower end and the largest for the upper one (Gaffke 2005). With too few redraws for a
    quantile the ends are these two.
    """
    low, high = float(among.min()), float(among.max())
    means = np.empty((2, n_resamples))
    for part in ranges(n_resamples, AT_ONCE // (some.size + 1)):
        weights = rng.standard_exponential((part.stop - part.start, some.size + 1))
        sums = weights[:, 1:] @ some
        means[:, part] = [(sums + weights[:, 0] * end) / weights.sum(axis=1) for end in (low, high)]
    below, above = np.sort(means, axis=1)
    beyond = int((1.0 - level) / 2.0 * (n_resamples + 1))
    first, last = (float(below[beyond - 1]), float(above[-beyond])) if beyond else (low, high)
    return ConfidenceInterval(max(low, first), min(high, last), level, "Gaffke", _mean(some))


def _mean(some: FloatArray) -> float | None:
    return float(some.mean()) if some.size else None


def _calibrated_means(c: FloatArray, n_resamples: int, rng: np.random.Generator) -> dict[str, float | None]:
    """Means of the errors over redraws of which predictions are right, where there are such."""
    law, sums = Bernoulli(c), np.zeros(3)
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
