"""The boundary: user data become checked samples here, once."""

from collections.abc import Sequence
from typing import Any

from caltest._arrays import to_array
from caltest._numerics import own_errstate
from caltest._progress import progress_bars
from caltest._types import ArrayLike
from caltest._validation import not_swapped, switch
from caltest.kernels import Metric
from caltest.predictions.bandwidth import median_distance
from caltest.predictions.base import Predictions, Sample
from caltest.predictions.bernoulli import Bernoulli
from caltest.predictions.categorical import Categorical
from caltest.predictions.foreign.families import from_foreign, is_foreign


def as_predictions(data: ArrayLike, classes: Sequence[Any] | None = None, *, copy: bool = True) -> Predictions:
    """``Predictions`` as they are, an (n, k) array-like as ``Categorical``, an (n,) array-like as ``Bernoulli``.

    Distributions of scipy.stats and torch.distributions become the family of that name, with one prediction for each
    of their parameters (n,), or for each distribution in a list.

    Without ``copy`` they can read the caller's array, and then last no longer than the call.
    """
    if isinstance(data, Predictions):
        if classes is not None:
            raise TypeError(f"classes: pass them to {data.family}(...), these predictions are already made")
        return data
    if is_foreign(data):
        return from_foreign(data, classes)
    array = to_array(data, "predictions")
    if array.ndim == 2:
        return Categorical(array, classes=classes) if copy else Categorical.borrowed(array, classes)
    if array.ndim == 1:
        return Bernoulli(array, classes=classes) if copy else Bernoulli.borrowed(array, classes)
    raise ValueError(
        f"predictions: got shape {array.shape}, wanted (n, k) probabilities of k classes "
        "or (n,) probabilities of class 1"
    )


def as_sample(
    predictions: ArrayLike,
    targets: ArrayLike,
    classes: Sequence[Any] | None = None,
    *,
    prefix: str = "",
    copy: bool = False,
    pooled: bool = True,
) -> Sample:
    """Predictions and targets, checked and matched by position; ``prefix`` is that of the names in errors.

    Ensembles are pooled with their targets, as tests take them, unless the pairs are for something else. Without
    ``copy`` the sample can read the caller's arrays, and then lasts no longer than the call.
    """
    if isinstance(targets, Predictions) or is_foreign(targets):
        raise TypeError("targets: got predictions; the arguments are swapped, pass the predictions first")
    if not isinstance(predictions, Predictions) and not is_foreign(predictions):
        predictions = to_array(predictions, f"{prefix}predictions")
        targets = to_array(targets, f"{prefix}targets")
        not_swapped(predictions, targets)
    converted = as_predictions(predictions, classes, copy=copy)
    checked = converted.check_targets(targets, f"{prefix}targets")
    checked = checked.copy() if copy else checked
    return Sample(converted.pooled(checked) if pooled else converted, checked)


@own_errstate
def median_bandwidth(
    predictions: ArrayLike, metric: Metric, include_diagonal: bool = False, *, progress: bool = False
) -> float:
    """Median distance of pairs of predictions, the bandwidth of the median heuristic.

    Parameters
    ----------
    predictions
        ``Predictions`` or an array-like that becomes some.
    metric
        Distance of two predictions, e.g. ``TotalVariation()``.
    include_diagonal
        False: median over the n(n-1)/2 pairs of different predictions, what ``bandwidth="median"`` uses (of 10 000
        evenly spaced predictions if there are more).
        True: over all n**2 entries of the distance matrix with its n zeros, as in the experiments of
        Widmann et al. 2019. The two differ by O(1/n) in the rank.
    progress
        Show a progress bar on standard error for what takes more than a second.

    Returns
    -------
    float
        The exact median; even numbers of distances give the mean of the middle two. Time O(n**2 k) a pass, with
        few passes; memory O(n k) and about 12 MB.

    Raises
    ------
    ValueError
        If the median is 0, because most predictions are identical.
    TypeError
        If the family does not have the metric.

    Examples
    --------
    >>> import caltest as ct
    >>> p = [[0.2, 0.8], [0.5, 0.5], [0.9, 0.1]]
    >>> round(ct.median_bandwidth(p, ct.TotalVariation()), 3)
    0.4
    """
    if not isinstance(metric, Metric):
        raise TypeError(f"metric: got {metric!r}, wanted a metric such as TotalVariation()")
    with progress_bars(switch("progress", progress)):
        return median_distance(as_predictions(predictions, copy=False), metric, include_diagonal)
