"""Binary problems inside a k-class problem: the top label, and every class against the rest."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from caltest._basics.arrays import read_only
from caltest._basics.numerics import own_errstate
from caltest._basics.types import Array, ArrayLike, IntArray
from caltest._loops.rows import maxima
from caltest.predictions.base import Predictions
from caltest.predictions.classes.bernoulli import Bernoulli
from caltest.predictions.classes.categorical import Categorical
from caltest.predictions.convert import as_sample


@own_errstate
def top_label(
    predictions: ArrayLike, targets: ArrayLike, *, classes: Sequence[Any] | None = None
) -> tuple[Bernoulli, Array]:
    """Reduce to the question "is the most probable class right as often as its probability says?".

    The confidence is ``max_j p_j``; the outcome is 1 if the label is the most probable class, the first one
    among equals (Widmann et al. 2019, section 3.2.1 and appendix I.2).

    Parameters
    ----------
    predictions, targets, classes
        As in ``calibration_test``: predictions of k classes, (n, k) or ``Categorical``.

    Returns
    -------
    tuple
        ``(Bernoulli, outcomes)``, to be passed to any estimator or test: ``test(*top_label(p, y))``.

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

    Parameters
    ----------
    predictions, targets, classes
        As in ``calibration_test``: predictions of k classes, (n, k) or ``Categorical``.

    Returns
    -------
    list
        ``(Bernoulli, outcomes)`` for each class, to be passed to any estimator or test.

    Examples
    --------
    >>> import caltest as ct
    >>> [(p.probability.tolist(), y.tolist()) for p, y in ct.classwise([[0.2, 0.8], [0.7, 0.3]], [1, 1])]
    [([0.2, 0.7], [0, 0]), ([0.8, 0.3], [1, 1])]
    """
    categorical, y = categorical_sample(predictions, targets, classes)
    return one_against_rest(categorical, y)


def one_against_rest(categorical: Categorical, y: Array) -> list[tuple[Bernoulli, Array]]:
    """Predictions and outcomes of each class."""
    names = categorical.classes or range(categorical.n_classes)
    # Copies, since what is returned must not read the caller's array.
    columns = [column.copy() for column in categorical.probabilities.T]
    return [
        (Bernoulli.reduced(columns[c], f"class {name} against the rest", categorical.notes), (y == c).astype(np.intp))
        for c, name in enumerate(names)
    ]


def reduce_to_top_label(categorical: Categorical) -> tuple[Bernoulli, IntArray]:
    """Confidences of the most probable classes, and these classes, the first one among equals."""
    confidence, top = np.empty(len(categorical)), np.empty(len(categorical), dtype=np.intp)
    maxima(read_only(categorical.probabilities, np.float64), confidence, top)
    return Bernoulli.reduced(confidence, "top label", categorical.notes), top


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
        raise TypeError(
            f"predictions: got {sample.predictions.family} predictions, wanted Categorical ones or an (n, k) array; "
            "binary predictions need no reduction"
        )
    return sample.predictions, sample.targets
