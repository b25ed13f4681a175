"""Smaller problems inside a k-class problem: the top label, class against rest, the m most probable, groups."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from caltest._basics.arrays import index_of, read_only
from caltest._basics.calls import own_errstate
from caltest._basics.numerics import Array, ArrayLike, FloatArray, IntArray
from caltest._loops.rows import maxima
from caltest._validation import class_in_words, whole_number
from caltest._validation.groups import labels_of
from caltest.predictions.base import Predictions
from caltest.predictions.classes.categorical import Bernoulli, Categorical
from caltest.predictions.inputs.convert import as_sample


@own_errstate
def top_label(
    predictions: ArrayLike, targets: ArrayLike, *, classes: Sequence[Any] | None = None
) -> tuple[Bernoulli, Array]:
    """Reduce to the question "is the most probable class right as often as its probability says?".

    The confidence is ``max_j p_j``; the outcome is 1 if the label is the most probable class, the first one
    among equals (Widmann et al. 2019, section 3.2.1 and appendix I.2). What is returned, ``(Bernoulli, outcomes)``,
    can be passed to any estimator or test: ``test(*top_label(p, y))``.

    Parameters
    ----------
    predictions, targets, classes
        As in ``calibration_test``: predictions of k classes, (n, k) or ``Categorical``.

    Examples
    --------
    >>> import caltest as ct
    >>> confidence, correct = ct.top_label([[0.2, 0.8], [0.7, 0.3]], [1, 1])
    >>> confidence.probability.tolist(), correct.tolist()
    ([0.8, 0.7], [1, 0])
    """
    categorical, y = categorical_sample(predictions, targets, classes)
    confidence, top = reduce_to_top_label(categorical)
    return confidence, np.equal(top, y, out=top)


@own_errstate
def classwise(
    predictions: ArrayLike, targets: ArrayLike, *, classes: Sequence[Any] | None = None
) -> list[tuple[Bernoulli, Array]]:
    """Reduce to the k questions "does class c occur as often as its probability says?".

    The list has ``(Bernoulli, outcomes)`` of each class, for any estimator or test; parameters as in ``top_label``.

    Examples
    --------
    >>> import caltest as ct
    >>> [(p.probability.tolist(), y.tolist()) for p, y in ct.classwise([[0.2, 0.8], [0.7, 0.3]], [1, 1])]
    [([0.2, 0.7], [0, 0]), ([0.8, 0.3], [1, 1])]
    """
    categorical, y = categorical_sample(predictions, targets, classes)
    return one_against_rest(categorical, y)


@own_errstate
def top_m(
    predictions: ArrayLike, targets: ArrayLike, m: int, *, classes: Sequence[Any] | None = None
) -> tuple[Categorical, Array]:
    """Reduce to the m most probable classes, whichever they are, and the rest.

    Class r of the new predictions is the class with the (r + 1)-th largest probability, the first one among equals, and
    class m is every other one: ``q = (p_(1), ..., p_(m), 1 - p_(1) - ... - p_(m))``. If predictions are calibrated, so
    are these (Widmann et al. 2019, section 3.2.2: a calibration lens). What is returned is ``(Categorical, ranks)``
    with m + 1 classes, for any estimator or test: ``test(*top_m(p, y, 5))``.

    Parameters
    ----------
    predictions, targets, classes
        As in ``top_label``.
    m
        From 1 to k - 1 (``ValueError`` otherwise).

    Examples
    --------
    >>> import caltest as ct
    >>> ranked, ranks = ct.predictions.top_m([[0.25, 0.5, 0.125, 0.125], [0.25, 0.125, 0.125, 0.5]], [1, 2], 2)
    >>> ranked.probabilities.tolist(), ranks.tolist()
    ([[0.5, 0.25, 0.25], [0.5, 0.25, 0.25]], [0, 2])
    """
    categorical, y = categorical_sample(predictions, targets, classes)
    m = whole_number("m", m, 1, categorical.n_classes - 1)
    order = np.argsort(-categorical.probabilities, axis=1, kind="stable")
    ordered = np.take_along_axis(categorical.probabilities, order, axis=1)
    q = np.column_stack([ordered[:, :m], ordered[:, m:].sum(axis=1)])
    ranked = reduced(categorical, q)
    ranked.are_learned = False
    return ranked, np.minimum((order == y[:, None]).argmax(axis=1), m)


@own_errstate
def class_groups(
    predictions: ArrayLike, targets: ArrayLike, groups: Sequence[Any], *, classes: Sequence[Any] | None = None
) -> tuple[Categorical, Array]:
    """Reduce to groups of classes: "does one of these classes occur as often as their probabilities say together?".

    The probability of a group is the sum of those of its classes. If predictions are calibrated, so are these (Widmann
    et al. 2019, section 3.2.2: a calibration lens). What is returned is ``(Categorical, outcomes)``, for any estimator
    or test, with the groups as its classes, in sorted order.

    Parameters
    ----------
    predictions, targets, classes
        As in ``top_label``.
    groups
        The group of each class, in the order of the columns: k names or numbers, of which at least two differ
        (``ValueError`` otherwise, and if one is missing). A series of pandas whose index has the names of the classes
        can have another order.

    Examples
    --------
    >>> import caltest as ct
    >>> kinds = ["animal", "vehicle", "animal"]
    >>> grouped, outcomes = ct.predictions.class_groups([[0.25, 0.5, 0.25], [0.5, 0.25, 0.25]], [1, 2], kinds)
    >>> grouped.probabilities.tolist(), outcomes.tolist()
    ([[0.5, 0.5], [0.75, 0.25]], ['vehicle', 'animal'])
    """
    categorical, y = categorical_sample(predictions, targets, classes)
    names, group = labels_of(groups, "groups")
    index = index_of(groups)
    labels = [] if index is None else [str(name) for name in index]
    if labels and sorted(labels) == sorted(categorical._names):
        group = group[[labels.index(name) for name in categorical._names]]
    if group.size != categorical.n_classes or names.size < 2:
        raise ValueError(
            f"groups: got {group.size} values, {names.size} of them different, wanted one for each of "
            f"{categorical.n_classes} classes, and at least two different ones"
        )
    q = np.column_stack([categorical.probabilities[:, group == g].sum(axis=1) for g in range(names.size)])
    return reduced(categorical, q, names.tolist()), names[group[y]]


def reduced(categorical: Categorical, probabilities: FloatArray, names: Sequence[Any] | None = None) -> Categorical:
    """Predictions of other classes, with the notes of those that they are made from."""
    new = Categorical(probabilities, classes=names)
    new.notes = (*categorical.notes, *new.notes)
    return new._labelled(categorical.index)


def one_against_rest(categorical: Categorical, y: Array) -> list[tuple[Bernoulli, Array]]:
    """Predictions and outcomes of each class."""
    names = [class_in_words(name) for name in categorical.classes or range(categorical.n_classes)]
    # Copies, since what is returned must not read the caller's array.
    columns = [column.copy() for column in categorical.probabilities.T]
    laws = (
        Bernoulli.reduced(p, f"{name} against the rest", categorical.notes)
        for p, name in zip(columns, names, strict=True)
    )
    return [(one._labelled(categorical.index), (y == c).astype(np.intp)) for c, one in enumerate(laws)]


def reduce_to_top_label(categorical: Categorical) -> tuple[Bernoulli, IntArray]:
    """Confidences of the most probable classes, and these classes, the first one among equals."""
    confidence, top = np.empty(len(categorical)), np.empty(len(categorical), dtype=np.intp)
    maxima(read_only(categorical.probabilities, np.float64), confidence, top)
    return Bernoulli.reduced(confidence, "top label", categorical.notes)._labelled(categorical.index), top


def reduce_to_binary(predictions: Predictions) -> tuple[Bernoulli, IntArray]:
    """Probabilities that a class occurs, and which one: 1 of binary predictions, else the most probable class."""
    if isinstance(predictions, Bernoulli):
        return predictions, np.ones(len(predictions), dtype=np.intp)
    if isinstance(predictions, Categorical):
        return reduce_to_top_label(predictions)
    raise TypeError(
        f"predictions: got {predictions.family} predictions, wanted Bernoulli or Categorical ones or an array of "
        "probabilities"
    )


def categorical_sample(
    predictions: ArrayLike, targets: ArrayLike, classes: Sequence[Any] | None
) -> tuple[Categorical, Array]:
    """Predictions of several classes and their targets; ``TypeError`` for other predictions."""
    sample = as_sample(predictions, targets, classes)
    if not isinstance(sample.predictions, Categorical):
        family = sample.predictions.family
        why = "; binary predictions need no reduction" if isinstance(sample.predictions, Bernoulli) else ""
        raise TypeError(f"predictions: got {family} predictions, wanted Categorical ones or an (n, k) array{why}")
    return sample.predictions, sample.targets
