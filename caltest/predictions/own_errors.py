"""Columns of features that are made from the errors of the predictions, such as a loss or a residual."""

from collections.abc import Iterable
from math import log

import numpy as np

from caltest._basics.numerics import Array, BoolArray, FloatArray, evenly_spaced
from caltest._validation.columns import BY_CHANCE, log_orders, missing_in, numbers_in, said_by
from caltest.predictions.base import Predictions
from caltest.predictions.inputs.convert import Sample

MOST, MOST_OF_CLASSES, FEWEST = 1000, 10_000, 20
"""Rows that are looked at, at equal distances, more of classes, some of which are rare; how many show something."""

NUMBERS = 2**22
"""Probabilities that are looked at, of so many classes that fewer rows have them."""

ROUNDING = 1e-6
"""Share of the range of errors by which their order in a column may differ: numbers are stored in single precision."""

VALUES = 100
"""Different values, or half of those of errors, that a column has at least: coarse ones agree with errors by chance."""


def refuse_errors(columns: Iterable[tuple[str, Array]], sample: Sample, called: str = "features[{!r}]") -> None:
    """``ValueError`` for a column that says how far each outcome is from its prediction, in any unit, or on which side.

    Predictions that are right are wrong given these. Of classes they are the probability of what occurred, all its
    monotone functions, such as the log loss, the Brier score, and whether the most probable class is right; of numbers
    errors, their sizes and their sides. Of large data some rows are looked at.
    """
    given = list(columns)
    if not given or np.ndim(sample.targets) > 1 or len(sample) < FEWEST:
        return
    law = sample.predictions.law
    classes = law.of_classes
    most = MOST if classes is None else max(MOST, min(MOST_OF_CLASSES, NUMBERS // classes.n_classes))
    rows = evenly_spaced(len(sample), most)
    y = np.asarray(sample.targets)[rows]
    if _orders(y) < log(BY_CHANCE):
        return  # Predictions alone can be as far from the only outcome.
    found = _errors(law.take(rows), y)
    if found is None:
        return
    side, words, errors = found
    if _orders(side) < log(BY_CHANCE):
        return
    for name, values in given:
        own = np.asarray(values)[rows]
        present = ~missing_in(name, own)
        if present.sum() < FEWEST:
            continue
        if said_by(own[present], side[present]) is not None:
            raise ValueError(f"{called.format(name)}: got {words}, wanted what is known without the targets")
        numbers = numbers_in(own, ~present)
        if numbers is not None and any(_are_ordered_by(numbers[present], one[present]) for one in errors):
            raise ValueError(
                f"{called.format(name)}: got how far the targets are from their predictions, wanted what is known "
                "without the targets"
            )


def _orders(values: Array) -> float:
    return log_orders(np.unique(values, return_counts=True)[1])


def _errors(law: Predictions, y: Array) -> tuple[BoolArray, str, list[FloatArray]] | None:
    """On which side outcomes (n,) are, in words too, and errors (n,); None where no distance is known."""
    if (classes := law.of_classes) is not None:
        p = classes.probabilities
        occurred = p[np.arange(len(p)), y]
        brier = np.square(p).sum(axis=1) - 2.0 * occurred
        residuals = (y == 1) - p[:, 1]
        errors = [occurred, residuals] if p.shape[1] == 2 else [occurred, brier]
        return p.argmax(axis=1) == y, "whether the predicted class is right", errors
    try:
        middles = law.quantile(0.5) if law.is_continuous else law.moments()[0]
    except TypeError:
        return None
    errors = [y - middles, np.abs(y - middles)]
    if law.is_continuous:
        scores = law.standard_scores(y[None])[0]
        errors += [scores, np.abs(scores)]
    return y > middles, "which targets are above their predictions", errors


def _are_ordered_by(numbers: FloatArray, errors: FloatArray) -> bool:
    """Whether numbers rise or fall with errors throughout, to rounding, and are as fine."""
    finite = np.isfinite(numbers) & np.isfinite(errors)
    numbers, errors = numbers[finite], errors[finite]
    least = min(VALUES, np.unique(errors).size / 2.0)
    if errors.size < FEWEST or np.unique(numbers).size < least:
        return False
    slack = ROUNDING * np.ptp(errors)
    ordered = (errors[np.lexsort((errors, sign * numbers))] for sign in (1.0, -1.0))
    if slack <= 0.0 or not any(bool((np.maximum.accumulate(one) - one).max() <= slack) for one in ordered):
        return False
    # A few rare events of one group, or of one side of a number, are in order too: most errors have to follow from it.
    parts = np.unique(numbers, return_inverse=True)[1]
    left = sum(_orders(errors[parts == part]) for part in range(int(parts.max()) + 1))
    return left <= 0.5 * _orders(errors)
