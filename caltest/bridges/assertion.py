"""Calibration as an assertion of a test suite."""

from collections.abc import Sequence
from dataclasses import replace
from math import ceil
from typing import Any

from caltest._basics.calls import own_errstate
from caltest._basics.numerics import ArrayLike
from caltest._results.calibration_test_result import CalibrationTestResult
from caltest._results.measures import matters, widest
from caltest._results.report import EXCLUDED, format_pvalue
from caltest._results.tables import ASKED, asked_in
from caltest._validation import fraction, whole_number
from caltest.default_test import calibration_test


@own_errstate
def assert_calibrated(
    predictions: ArrayLike,
    targets: ArrayLike,
    *,
    classes: Sequence[Any] | None = None,
    margin: float | None = None,
    n_resamples: int = 999,
    alpha: float = 0.05,
    rng: Any = None,
) -> CalibrationTestResult:
    """Raise ``AssertionError`` where calibration is rejected and the error is not shown to be too small to matter.

    For test suites of models: the message has the verdict, what is wrong, how large it is, and the seed. Calibration is
    tested by ``calibration_test``. The error is the mean absolute difference of claimed and true probabilities, over
    tenths of similar predictions. It is too small to matter if its interval ends below the margin. If a part is named
    as wrong, the interval of that part has to end there, too.

    Parameters
    ----------
    predictions, targets, n_resamples, classes, rng
        As in ``calibration_test``. With a seed the assertion says the same in every run.
    margin
        Differences of probabilities up to this are too small to matter, between 0 and 1. Default: the margins of
        ``calibration_test``: 0.02, for rare events a fifth of their mean probability, of predicted numbers 0.02 for
        outcomes inside of intervals and 0.04 for those above the median. Where predictions have no such difference
        every rejection raises.
    alpha
        Level of the test: the probability, at most, that calibrated predictions raise.

    Returns
    -------
    CalibrationTestResult
        Of the test, with the margin. Passing is not proof: ``verdict()`` says whether errors that matter are ruled out.

    Raises
    ------
    AssertionError
        If the predictions are not calibrated. It is raised by ``python -O``, too.
    ValueError, TypeError
        As ``calibration_test`` does; also for so few redraws that nothing could be rejected at the level.

    Notes
    -----
    The size is that of the exact test, at most alpha for every n. The interval has 95 %, for all values of alpha.
    Assumes what ``calibration_test`` assumes, and costs the same.

    Examples
    --------
    >>> import caltest as ct
    >>> models = ct.datasets.load_digits_predictions()
    >>> ct.assert_calibrated(*models["neural network"], margin=0.05, rng=1)
    <OmnibusTest: p = 0.009 (exact), n = 899>
    >>> ct.assert_calibrated(*models["random forest"], margin=0.05, rng=1)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    AssertionError: reject calibration at the 5 % level: the error is large enough to matter
    why: predictions are underconfident: outcomes follow them at temperature 0.24 (0.2 to 0.29); ...
    """
    # pytest shows the line that calls this function, not one of this file.
    __tracebackhide__ = True
    level = fraction("alpha", alpha)
    largest = None if margin is None else fraction("margin", margin)
    enough = ceil(1.0 / level - 1.0 - 1e-9)
    if whole_number("n_resamples", n_resamples, 1) < enough:
        raise ValueError(
            f"n_resamples: got {n_resamples}, wanted at least {enough} to reject anything at alpha={level:g}"
        )
    result = calibration_test(predictions, targets, n_resamples=n_resamples, classes=classes, rng=rng)
    if largest is not None:
        measures = [replace(one, margin=largest) if one.gap is not None else one for one in result.measures]
        result = replace(result, measures=tuple(measures))
    # A row that was said to be impossible matters however small the error is on average.
    small = result.pvalue_otherwise is None and matters(result.measures) is False
    if result.pvalue <= level and not small:
        raise AssertionError(message(result, level))
    return result


def message(result: CalibrationTestResult, alpha: float) -> str:
    """Verdict, what is wrong, how large it is, and how to see it again."""
    p = format_pvalue(result.pvalue)
    if result.pvalue_otherwise is not None:
        p = f"0 ({EXCLUDED}); the other rows: {format_pvalue(result.pvalue_otherwise)}"
    asked, notes = asked_in(result.notes)
    said = {
        ASKED.lower(): asked,
        "why": result.why(alpha),
        "how much": widest(result.measures),
        "p-value": p,
        "data": result.predictions,
        "reproduce": f"rng={result.seed}",
    }
    lines = [*(f"{name}: {text}" for name, text in said.items() if text), *(f"note: {note}" for note in notes)]
    return "\n".join([result.verdict(alpha), *lines])
