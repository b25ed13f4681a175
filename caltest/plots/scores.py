"""Pictures of scores: for all losses at once, and their parts for several models."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from caltest._basics.calls import own_errstate
from caltest._basics.numerics import Array, ArrayLike, FloatArray
from caltest.decompositions.score_decomposition import ScoreDecomposition
from caltest.plots._axes import DARK, MODEL, PALE, Axes, binary_of, ended, observed_and_band, plain, started, style_of
from caltest.predictions import Sample
from caltest.predictions.inputs.convert import as_sample


@own_errstate
def murphy_diagram(
    predictions: ArrayLike,
    targets: ArrayLike,
    *,
    classes: Sequence[Any] | None = None,
    n_resamples: int = 999,
    confidence_level: float = 0.95,
    rng: Any = None,
    ax: "Axes | None" = None,
    label: str | None = None,
    color: str | None = None,
) -> "Axes":
    """Mean loss of decisions by the predictions, for each threshold of the probability (Murphy diagram).

    Who acts if ``p > t`` loses t for each action that was not needed and 1 - t for each that was missed::

        S(t) = mean((1 - t) [y = 1, p <= t] + t [y = 0, p > t])

    Every proper score is a weighted mean of S over t, so that a model whose curve is nowhere above that of another is
    at least as good for everyone. The Brier score is twice the area.

    Parameters
    ----------
    predictions, targets, classes, n_resamples, rng, ax, label, color
        As in ``reliability_diagram``; of several classes the top label is looked at.
    confidence_level
        As in ``pit_histogram``.

    Notes
    -----
    Above the band, decisions at this threshold lose more than the predictions promise. Time O(n B).

    Source: Ehm, Gneiting, Jordan and Krueger 2016.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> ct.plots.murphy_diagram(p, y, rng=1).get_xlabel()
    'threshold of the confidence of the top label'
    """
    law, outcomes = binary_of(as_sample(predictions, targets, classes))
    places = np.linspace(0.0, 1.0, 201)
    losses, drawn = _losses(law.probability, places), Sample(law, outcomes)
    observed, low, high = observed_and_band(drawn, losses, n_resamples, confidence_level, rng)
    ax, style = started(ax, "murphy_diagram", (5.0, 4.0), color, label)
    band = style.band(f"{100 * confidence_level:g} % range of the curve if calibrated", 0.2)
    ax.fill_between(places, np.maximum(low, 0.0), high, linewidth=0, **band)
    ax.plot(places, observed, zorder=3, **style.line("mean loss"))
    what = "confidence of the top label" if law.notion == "top label" else "predicted probability"
    top = 0.0 if style.first else ax.get_ylim()[1]
    ax.set(xlim=(0.0, 1.0), ylim=(0.0, max(top, 1.08 * float(max(observed.max(), high.max())))))
    return ended(ax, f"threshold of the {what}", "mean loss of decisions")


def _losses(p: FloatArray, places: FloatArray) -> Callable[[Array], FloatArray]:
    """The function of outcomes (B, n) with the mean losses (B, m) at thresholds (m,)."""
    order = np.argsort(p, kind="stable")
    below = np.searchsorted(p[order], places, side="right")

    def of(outcomes: Array) -> FloatArray:
        sums = np.concatenate([np.zeros((len(outcomes), 1)), np.cumsum(outcomes[:, order], axis=1)], axis=1)
        missed, events = sums[:, below], sums[:, -1:]
        return np.asarray(((1.0 - places) * missed + places * (p.size - below - events + missed)) / p.size)

    return of


@own_errstate
def score_plane(parts: Mapping[str, ScoreDecomposition], *, ax: "Axes | None" = None) -> "Axes":
    """Miscalibration and discrimination of several models, with lines of equal score.

    Up and to the left is better: the score is miscalibration less discrimination plus the uncertainty of the outcomes,
    which all models have in common.

    Parameters
    ----------
    parts
        What ``score_decomposition`` returns for each model, by its name: of the same outcomes, with the same score.
        Intervals are drawn where they were asked for.

    Raises
    ------
    ValueError
        For no model, or decompositions of different scores or outcomes.

    Notes
    -----
    Source: Dimitriadis, Gneiting, Jordan and Vogel 2024 for the picture.

    Examples
    --------
    >>> import caltest as ct
    >>> models = ct.datasets.load_digits_predictions()
    >>> parts = {name: ct.score_decomposition(*ct.classwise(p, y)[8]) for name, (p, y) in models.items()}
    >>> ct.plots.score_plane(parts).get_xlabel()
    'miscalibration'
    """
    found = _checked_parts(parts)
    ax, _ = started(ax, "score_plane", (5.0, 4.6))
    for i, (name, one) in enumerate(found.items()):
        style = style_of(ax)
        x, y = one.miscalibration, one.discrimination
        if one.intervals is not None:
            across, along = list(one.intervals["miscalibration"]), list(one.intervals["discrimination"])
            for line in (across, [y, y]), ([x, x], along):
                ax.plot(*line, color=style.color, linewidth=1.0, alpha=0.6, zorder=2)
        text = f"{plain(name)}, {one.score:.3g}"
        ax.plot([x], [y], style.marker, color=style.color, markersize=7, label=text, gid=MODEL, zorder=3 + i)
    ax.margins(0.15)
    first = next(iter(found.values()))
    _score_lines(ax, first.uncertainty)
    title = f"{first.name.split(', ')[0]} = miscalibration - discrimination + {first.uncertainty:.3g}"
    return ended(ax, "miscalibration", "discrimination", title, "model, score")


def _checked_parts(parts: Mapping[str, ScoreDecomposition]) -> dict[str, ScoreDecomposition]:
    if not isinstance(parts, Mapping) or not all(isinstance(one, ScoreDecomposition) for one in parts.values()):
        raise TypeError(f"parts: got {parts!r}, wanted a dict of names and what score_decomposition returns")
    found = dict(parts)
    if not found:
        raise ValueError("parts: got none, wanted at least one model")
    (name, first), *rest = found.items()
    for other, one in rest:
        if one.name != first.name or not np.isclose(one.uncertainty, first.uncertainty, rtol=1e-9):
            raise ValueError(
                f"parts: got {first.name} with uncertainty {first.uncertainty:.6g} for {name!r} and {one.name} with "
                f"{one.uncertainty:.6g} for {other!r}, wanted the same score of the same outcomes"
            )
    return found


def _score_lines(ax: "Axes", uncertainty: float) -> None:
    """Lines of equal score behind the models, with the score at their upper ends."""
    from matplotlib.ticker import MaxNLocator

    (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
    for score in MaxNLocator(7).tick_values(left - high + uncertainty, right - low + uncertainty):
        # Discrimination = miscalibration + uncertainty - score.
        offset = uncertainty - score
        ax.plot([left, right], [left + offset, right + offset], color=PALE, linewidth=0.8, zorder=1)
        look: dict[str, Any] = {"textcoords": "offset points", "fontsize": "x-small", "annotation_clip": False}
        if left + offset < high < right + offset:
            ax.annotate(f"{score:.3g}", (high - offset, high), (0, 1), ha="center", color=DARK, **look)
        elif low < right + offset <= high:
            ax.annotate(f"{score:.3g}", (right, right + offset), (2, 0), va="center", color=DARK, **look)
    ax.set(xlim=(left, right), ylim=(low, high))
