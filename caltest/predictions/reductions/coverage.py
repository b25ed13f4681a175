"""Coverage of prediction intervals and of conformal sets, as binary predictions."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from caltest._basics.arrays import Table, order_of
from caltest._basics.calls import own_errstate
from caltest._basics.numerics import Array, ArrayLike, BoolArray
from caltest._validation import class_labels, class_names, fraction, real_targets, same_length
from caltest._validation.labels import classes_of
from caltest.predictions.classes.categorical import Bernoulli
from caltest.predictions.inputs.convert import observed_targets

OUTCOMES = ("missed", "covered")


@own_errstate
def interval_coverage(intervals: ArrayLike, targets: ArrayLike, *, confidence_level: float) -> tuple[Bernoulli, Array]:
    """Reduce prediction intervals to the question "do they cover as often as they claim?".

    Each interval claims ``P(low <= Y <= high) = confidence_level``. What is returned, ``(Bernoulli, outcomes)`` with
    the outcomes "missed" and "covered", can be passed to any test; all probabilities are the same.

    Parameters
    ----------
    intervals
        (n, 2) array-like of lower and upper ends, in units of the target, which can be infinite; also (n, 2, 1), as
        MAPIE has them. Ends belong to the interval.
    targets
        (n,) array-like of real numbers, matched by the index where both are pandas objects.
    confidence_level
        The probability that each interval claims, such as 0.9.

    Raises
    ------
    ValueError
        For other shapes, missing values, a lower end above the upper one, and levels outside (0, 1).

    Notes
    -----
    What is tested are the intervals at hand. Split conformal ones that m rows calibrate are right on average over such
    rows; given these they cover a share with the law Beta(m + 1 - l, l), l = floor((m + 1) a), for the level 1 - a and
    continuous outcomes (Vovk 2012, Conditional validity of inductive conformal predictors), 90 % give or take 3 % for
    m = 100. With many rows a test finds such a difference. Time O(n).

    Examples
    --------
    >>> import caltest as ct
    >>> p, outcomes = ct.predictions.interval_coverage([[0.0, 1.0], [2.0, 5.0]], [0.5, 6.0], confidence_level=0.9)
    >>> p.probability.tolist(), outcomes.tolist()
    ([0.9, 0.9], ['covered', 'missed'])
    """
    table, y = _matched(intervals, targets, "intervals")
    ends = _of_one_level(table, "intervals")
    if ends.ndim != 2 or ends.shape[1] != 2 or ends.dtype.kind not in "iuf":
        raise ValueError(
            f"intervals: got shape {ends.shape} of {ends.dtype}, wanted (n, 2) numbers, lower and upper ends; of "
            "several levels pass one: intervals[:, :, 0]; sets of classes are for ct.predictions.set_coverage"
        )
    low, high = ends.T.astype(np.float64)
    wrong = ~(low <= high)
    if wrong.any():
        i = int(wrong.argmax())
        raise ValueError(
            f"intervals: got {low[i]:.6g} and {high[i]:.6g} at row {i} ({int(wrong.sum())} in all), wanted a lower end "
            "and then an upper one; if an interval is empty because its ends crossed, put their mean in both places"
        )
    values = real_targets(y, low.size, "targets")
    return _reduced((low <= values) & (values <= high), confidence_level, order_of(targets, intervals))


@own_errstate
def set_coverage(
    sets: ArrayLike, targets: ArrayLike, *, classes: Sequence[Any] | None = None, confidence_level: float
) -> tuple[Bernoulli, Array]:
    """Reduce sets of classes, such as conformal ones, to the question "do they hold the label as often as they claim?".

    As ``interval_coverage``, for sets that claim ``P(Y in set) = confidence_level``; the size of the set is the feature
    on which coverage most often depends: ``features={"size": sets.sum(axis=1)}``.

    Parameters
    ----------
    sets
        (n, k) array-like of booleans, or of 0 and 1: which classes each set has; also (n, k, 1), as MAPIE has them. A
        set can be empty.
    targets
        (n,) labels 0..k-1, or names of the classes.
    classes
        Names of the classes in the order of the columns, if the labels are not 0..k-1; default: those of the columns
        of a data frame.
    confidence_level
        The probability that each set claims, such as 0.9.

    Raises
    ------
    ValueError
        For other shapes, other values than 0 and 1, labels of no class, and levels outside (0, 1).

    Examples
    --------
    >>> import caltest as ct
    >>> sets = [[True, True, False], [False, False, True]]
    >>> p, outcomes = ct.predictions.set_coverage(sets, [1, 0], confidence_level=0.9)
    >>> p.probability.tolist(), outcomes.tolist()
    ([0.9, 0.9], ['covered', 'missed'])
    """
    if isinstance(sets, (list, tuple)) and (any(map(_has_names, sets)) or len(set(map(np.size, sets))) > 1):
        raise ValueError(
            "sets: got names of classes, or lists of different lengths, wanted (n, k) booleans, which classes each set "
            "has; sklearn.preprocessing.MultiLabelBinarizer(classes=classes).fit_transform(sets) makes them"
        )
    table, y = _matched(sets, targets, "sets")
    members = _of_one_level(table, "sets")
    if members.ndim != 2 or members.shape[1] < 2 or not np.isin(members, (0, 1)).all():
        raise ValueError(
            f"sets: got shape {members.shape} of {members.dtype}, wanted (n, k) booleans, which classes each set has; "
            "of several levels pass one: sets[:, :, 0]"
        )
    k = members.shape[1]
    labels = class_labels(y, k, class_names(classes_of(table.names, y, classes), k))
    same_length(len(members), labels.size)
    return _reduced(members[np.arange(labels.size), labels] == 1, confidence_level, order_of(targets, sets))


def _has_names(row: Any) -> bool:
    """Whether a row lists classes by their names, or is a set of them."""
    if isinstance(row, (list, tuple)):
        return any(isinstance(one, str) for one in row)
    return isinstance(row, (set, frozenset))


def _matched(data: ArrayLike, targets: ArrayLike, name: str) -> tuple[Table, Array]:
    """Intervals or sets in the order of the targets, and these."""
    observed = Table.of(targets, "targets")
    return Table.of(data, name).in_order_of(observed, name, "targets")[0], observed_targets(observed)


def _of_one_level(table: Table, name: str) -> Array:
    array = table.array(name)
    return array[..., 0] if array.ndim == 3 and array.shape[2] == 1 else array


def _reduced(covered: BoolArray, confidence_level: float, order: Table) -> tuple[Bernoulli, Array]:
    claimed = np.full(covered.size, fraction("confidence_level", confidence_level))
    law = Bernoulli(claimed, classes=OUTCOMES)._labelled(order.index)
    law.are_learned = False
    return law, np.array(OUTCOMES)[covered.astype(np.intp)]
