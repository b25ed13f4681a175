"""Maps of calibration over the predictions of three classes."""

from collections.abc import Sequence
from math import inf
from typing import Any, NamedTuple

import numpy as np

from caltest._basics.calls import own_errstate
from caltest._basics.numerics import (
    Array,
    ArrayLike,
    BoolArray,
    FloatArray,
    IntArray,
    generator_of,
    resampling_pvalue,
    seed_of,
)
from caltest._basics.threads import redrawn
from caltest._results.calibration_test_result import CalibrationTestResult
from caltest._validation import fraction, whole_number
from caltest.binning import Binning, UniformBinning, a_binning
from caltest.plots._axes import (
    DARK,
    INSIDE,
    OUTSIDE,
    PALE,
    Axes,
    axes_of,
    inches_of,
    legend,
    plain,
    set_title,
    title_of,
)
from caltest.predictions import Sample
from caltest.predictions.inputs.convert import as_sample

CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 0.75**0.5]])
"""Where the predictions that are certain of class 0, 1 and 2 are drawn."""


LEAST_IN_PIXELS = 500
"""Predictions above which these are pixels, in pictures that have lines else, so that files stay small."""


@own_errstate
def simplex_map(
    predictions: ArrayLike,
    targets: ArrayLike,
    *,
    classes: Sequence[Any] | None = None,
    binning: Binning | None = None,
    min_size: int = 5,
    n_resamples: int = 999,
    confidence_level: float = 0.95,
    result: CalibrationTestResult | None = None,
    rng: Any = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Arrows over the triangle of all predictions, from what was predicted to what occurred.

    A bin b of predictions is an arrow from its mean prediction to its class frequencies; the area of the point where it
    starts grows with the number of its observations. It is vermillion where it is longer than chance explains, else
    blue.

    Parameters
    ----------
    predictions
        (n, 3) probabilities or ``Categorical``.
    targets, classes, n_resamples, result, rng, ax
        As in ``reliability_diagram``.
    binning
        Default: ``UniformBinning(5)``.
    min_size
        Bins of fewer observations are not drawn; their predictions are, as all are, as pale points.
    confidence_level
        Probability with which an arrow is not vermillion if the predictions are calibrated.

    Raises
    ------
    ValueError, TypeError
        As ``reliability_diagram`` does; also for another number of classes than three.

    Notes
    -----
    The length of an arrow is the Euclidean distance of mean prediction and frequencies. It has rank 1 + #{redrawn
    length >= length} among B redraws of the outcomes, so an arrow of calibrated predictions is vermillion with
    probability at most 1 - confidence_level, each on its own. Time O(n B).

    Source: vectors of this kind are in Vaicenavicius et al. 2019; the comparison with redraws is that of Broecker and
    Smith 2007, with the predictions kept.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.generators.DirichletModel.m2(3).sample(500, rng=1)
    >>> ax = ct.plots.simplex_map(p, y, rng=1)
    >>> [text.get_text() for text in ax.texts]
    ['class 0', 'class 1', 'class 2']
    """
    sample = as_sample(predictions, targets, classes)
    law = sample.predictions.law.finite
    if law is None:
        raise TypeError(f"predictions: got {sample.predictions.family} predictions, wanted probabilities of 3 classes")
    if law.n_classes != 3:
        raise ValueError(f"predictions: got {law.n_classes} classes, wanted three, for which there is a triangle")
    binning = UniformBinning(5) if binning is None else binning
    a_binning("binning", binning)
    title = title_of(result, len(sample))
    level = fraction("confidence_level", confidence_level)
    number, least = whole_number("n_resamples", n_resamples, 1), whole_number("min_size", min_size, 1, inf)
    arrows = _arrows(sample, law.probabilities, binning, number, least, 1.0 - level, rng)
    ax = axes_of(ax, "simplex_map", (5.0, 4.6))
    ax.plot(*CORNERS[[0, 1, 2, 0]].T, color=DARK, linewidth=0.8, zorder=2)
    names, sides = law.classes or ("class 0", "class 1", "class 2"), ("right top", "left top", "center bottom")
    width, _ = inches_of(ax)
    size = "medium" if width > 3.0 else "x-small"
    for (x, y), name, side in zip(CORNERS.tolist(), names, sides, strict=True):
        across, along = side.split()
        ax.text(x, y, plain(name, max(12, min(20, int(6.1 * width)))), ha=across, va=along, fontsize=size)
    ax.set(xlim=(-0.12, 1.12), ylim=(-0.08, 0.95), aspect="equal")
    ax.axis("off")
    x, y = (law.probabilities @ CORNERS).T
    # Few points are large, so that they are seen.
    few = None if arrows.sizes.size else f"predictions, no bin of {least} or more"
    look: dict[str, Any] = {
        "c": PALE,
        "linewidths": 0,
        "zorder": 1,
        "label": few,
        "rasterized": len(x) > LEAST_IN_PIXELS,
    }
    ax.scatter(x, y, max(3.0, min(20.0, 1000.0 / len(x))), **look)
    _draw_arrows(ax, arrows, level)
    set_title(ax, title)
    return ax


class _Arrows(NamedTuple):
    """Arrows between probabilities (b, 3), with the sizes of the bins, and which are longer than chance explains."""

    starts: FloatArray
    ends: FloatArray
    sizes: IntArray
    long: BoolArray


def _arrows(
    sample: Sample, p: FloatArray, binning: Binning, n_resamples: int, min_size: int, alpha: float, rng: Any
) -> _Arrows:
    numbers = binning.assign(p)
    sizes = np.bincount(numbers)
    starts = np.stack([np.bincount(numbers, column) for column in p.T], axis=1) / sizes[:, None]

    def frequencies(labels: IntArray) -> FloatArray:
        counts = np.bincount(3 * numbers + labels, minlength=3 * sizes.size).reshape(-1, 3)
        return np.asarray(counts / sizes[:, None])

    def lengths(drawn: Array) -> FloatArray:
        return np.stack([np.linalg.norm(frequencies(labels) - starts, axis=1) for labels in drawn])

    labels, shown = np.asarray(sample.targets), sizes >= min_size
    ends, observed = frequencies(labels)[shown], lengths(labels[None])[0, shown]
    draws = redrawn(sample.predictions, lengths, n_resamples, generator_of(seed_of(rng)))[:, shown]
    long = [resampling_pvalue(float(one), of_arrow) <= alpha for one, of_arrow in zip(observed, draws.T, strict=True)]
    return _Arrows(starts[shown], ends, sizes[shown], np.array(long, dtype=bool))


def _draw_arrows(ax: "Axes", arrows: _Arrows, level: float) -> None:
    look: dict[str, Any] = {"angles": "xy", "scale_units": "xy", "scale": 1.0, "zorder": 4}
    longer = f"longer than {100 * level:g} % of redraws"
    kinds = (arrows.long, OUTSIDE, 1.0, longer), (~arrows.long, INSIDE, 0.6, "as long as chance explains")
    for chosen, colour, alpha, label in kinds:
        if not chosen.any():
            continue
        begin, end = arrows.starts[chosen] @ CORNERS, arrows.ends[chosen] @ CORNERS
        areas = np.maximum(130.0 * arrows.sizes[chosen] / arrows.sizes.max(), 6.0)
        (x, y), (u, v) = begin.T, (end - begin).T
        ax.scatter(x, y, areas, c=colour, alpha=0.5 * alpha, linewidths=0, zorder=3)
        ax.quiver(x, y, u, v, color=colour, alpha=alpha, width=0.009 * alpha, **look)
        ax.plot([], [], color=colour, alpha=alpha, linewidth=3, label=label)
    legend(ax, points=4.0)
