"""Reliability of every class by itself, in a grid."""

from collections.abc import Sequence
from math import ceil
from typing import Any

import numpy as np

from caltest._basics.numerics import ArrayLike, own_errstate, seed_of
from caltest._validation import whole_number
from caltest.plots._axes import Axes, even_points, new_figure, plain
from caltest.plots.reliability import reliability_diagram
from caltest.predictions.convert import as_sample
from caltest.predictions.reductions import classwise


@own_errstate
def classwise_reliability(
    predictions: ArrayLike,
    targets: ArrayLike,
    *,
    classes: Sequence[Any] | None = None,
    max_classes: int = 12,
    n_resamples: int = 999,
    confidence_level: float = 0.95,
    rng: Any = None,
) -> "list[Axes]":
    """A reliability diagram for each class against the rest, in a new figure with one legend.

    Parameters
    ----------
    predictions, targets, classes, n_resamples, confidence_level, rng
        As in ``reliability_diagram``, for at least two classes.
    max_classes
        Of more classes those that occur most often are drawn.

    Returns
    -------
    list
        The axes, in the order of the classes.

    Raises
    ------
    ValueError, TypeError
        As ``reliability_diagram`` does.

    Notes
    -----
    Time O(n B) for each class that is drawn.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.generators.DirichletModel.m2(3).sample(100, rng=1)
    >>> axes = ct.plots.classwise_reliability(p, y, n_resamples=39, rng=1)
    >>> [ax.get_title() for ax in axes]
    ['class 0, n = 62', 'class 1, n = 24', 'class 2, n = 14']
    """
    most, sample = whole_number("max_classes", max_classes, 1), as_sample(predictions, targets, classes)
    law = sample.predictions.law.finite
    if law is None:
        raise TypeError(f"predictions: got {sample.predictions.family} predictions, wanted probabilities of classes")
    counts = np.bincount(np.asarray(sample.targets), minlength=law.n_classes)
    chosen = np.sort(np.argsort(-counts, kind="stable")[:most])
    columns = min(4, ceil(chosen.size**0.5))
    rows = ceil(chosen.size / columns)
    figure = new_figure("classwise_reliability", (2.2 * columns + 0.4, 2.7 * rows + 0.6))
    grid = figure.subplots(rows, columns, squeeze=False).ravel()
    streams = np.random.default_rng(seed_of(rng)).spawn(chosen.size)
    reduced = classwise(sample.predictions, sample.as_given)
    entries: dict[str, Any] = {}
    settings: dict[str, Any] = {"n_resamples": n_resamples, "confidence_level": confidence_level}
    for ax, one, stream in zip(grid, chosen, streams, strict=False):
        reliability_diagram(*reduced[one], rng=stream, ax=ax, **settings)
        entries |= dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
        ax.get_legend().remove()
        name = f"class {one}" if law.classes is None else plain(law.classes[one], 16)
        ax.set_title(f"{name}, n = {counts[one]}", fontsize="small")
        ax.set(xlabel="", ylabel="")
    for ax in grid[chosen.size :]:
        ax.remove()
    figure.supxlabel("predicted probability", fontsize="medium")
    figure.supylabel("observed frequency", fontsize="medium")
    where: dict[str, Any] = {"loc": "outside upper center", "ncols": len(entries) if columns > 1 else 1}
    even_points(figure.legend(list(entries.values()), list(entries), fontsize="small", frameon=False, **where))
    return list(grid[: chosen.size])
