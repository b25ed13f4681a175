"""Predictions that many rows have in common, whose outcomes are those of all rows: put in where they were missing."""

from collections.abc import Callable

import numpy as np

from caltest._basics.numerics import Array, FloatArray, IntArray, evenly_spaced
from caltest.predictions.base import Predictions
from caltest.predictions.questions.classes import RIGHT, WRONG, disagreement
from caltest.predictions.questions.order import ALIKE, AS_SPREAD
from caltest.predictions.questions.repeated import OUTLYING

SOME, FEWEST, SHARE, DIFFERENT = 2000, 10, 0.01, 0.9
"""Rows that are looked at, the fewest equal predictions and their share, and how many of the others are different."""


def filled(predictions: Predictions, targets: Array, numbers: IntArray) -> tuple[str, ...]:
    """What to ask about such predictions of classes, or means of normal laws, for rows with ``numbers`` (n,)."""
    rows = evenly_spaced(len(predictions), SOME)
    some, y, law = predictions.take(rows), targets[rows], predictions.normal
    is_wrong: Callable[[Predictions, Array, Array], bool]
    if predictions.finite is not None and some.finite is not None:
        values, is_wrong = predictions.finite.probabilities, _are_other_classes
        what = "the probability {:.6g} of class 1" if values.shape[1] == 2 else "the same probabilities"
    elif law is not None and targets.ndim == 1:
        values, is_wrong, what = law[0][:, None], _are_far, "the predicted mean {:.6g}"
    else:
        return ()
    equal = _equal(values[rows])
    if equal is None or not is_wrong(some, y, equal):
        return ()
    value = values[rows][equal.argmax()]
    places = np.flatnonzero((values == value).all(axis=1))
    which = f"{places.size} rows (row {numbers[places[0]]}, ...)"
    return (
        f"{which} have {what.format(value[-1])}, hardly any others are equal, and outcomes there are like those of all "
        "rows: was it put in for missing predictions (leave those rows out)?",
    )


def _equal(values: FloatArray) -> Array | None:
    """Which rows (n,) of values (n, k) have the most frequent of them, at most half, if the others are different."""
    n = len(values)
    least = max(FEWEST, SHARE * n)
    # Numbers are sorted in a fraction of the time that rows take.
    if np.unique(values[:, 0], return_counts=True)[1].max() < least:
        return None
    _, place, counts = np.unique(values, axis=0, return_inverse=True, return_counts=True)
    most = int(counts.max())
    if not least <= most <= n / 2 or counts.size - 1 < DIFFERENT * max(n - most, FEWEST):
        return None
    return np.asarray(place.reshape(-1) == counts.argmax())


def _are_other_classes(predictions: Predictions, labels: Array, equal: Array) -> bool:
    """Whether classes of equal predictions are as frequent as elsewhere, and not as they say."""
    assert predictions.finite is not None
    occurred = labels[:, None] == np.arange(predictions.finite.n_classes)
    shares = np.broadcast_to(occurred[~equal].mean(axis=0), (int(equal.sum()), occurred.shape[1]))
    own = predictions.finite.probabilities[equal]
    return disagreement(own, occurred[equal]) > WRONG and disagreement(shares, occurred[equal]) < RIGHT


def _are_far(predictions: Predictions, y: Array, equal: Array) -> bool:
    """Whether outcomes of equal means are far from these, and like those elsewhere."""
    scores = np.abs(predictions.standard_scores(np.asarray(y, dtype=np.float64)[None])[0])
    if np.median(scores[equal]) < OUTLYING or np.median(scores[~equal]) > 0.5 * np.median(scores[equal]):
        return False
    own, other = y[equal], y[~equal]
    apart = abs(float(own.mean() - other.mean())) / max(float(other.std()), 1e-300)
    return bool(apart < ALIKE / np.sqrt(own.size) and 1.0 / AS_SPREAD**2 < own.std() / other.std() < AS_SPREAD**2)
