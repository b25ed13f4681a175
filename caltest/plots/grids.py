"""Reliability side by side: of each class, of each group, before and after recalibration."""

from collections.abc import Sequence
from math import ceil
from typing import Any

import numpy as np

from caltest._basics.arrays import order_of
from caltest._basics.calls import own_errstate
from caltest._basics.numerics import ArrayLike, seed_of
from caltest._results.report import pvalue_phrase
from caltest._validation import instance_of, same_length, whole_number
from caltest._validation.groups import as_groups, large_enough
from caltest.plots._axes import Axes, even_points, new_figure, panels_of, plain, set_title
from caltest.plots.reliability import reliability_diagram
from caltest.plots.transforms import coverage_curve, pit_histogram
from caltest.predictions import Sample
from caltest.predictions.inputs.convert import as_sample
from caltest.predictions.reductions.classes import classwise
from caltest.recalibration import RecalibrationReport


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
    reduced = classwise(sample.predictions, sample.as_given)
    names = [f"class {one}" if law.classes is None else plain(law.classes[one], 16) for one in chosen]
    return _grid(
        "classwise_reliability",
        [f"{name}, n = {counts[one]}" for name, one in zip(names, chosen, strict=True)],
        [Sample(*reduced[one]) for one in chosen],
        rng,
        ("predicted probability", "observed frequency"),
        n_resamples=n_resamples,
        confidence_level=confidence_level,
    )


@own_errstate
def groupwise_reliability(
    predictions: ArrayLike,
    targets: ArrayLike,
    groups: ArrayLike,
    *,
    classes: Sequence[Any] | None = None,
    max_groups: int = 12,
    n_resamples: int = 999,
    confidence_level: float = 0.95,
    rng: Any = None,
) -> "list[Axes]":
    """The reliability of each group, in a new figure with one legend.

    Reliability diagrams of classes, coverage curves of quantile forecasts and, of other predictions, PIT histograms: of
    vectors that of the first coordinate.

    Parameters
    ----------
    predictions, targets, classes, n_resamples, confidence_level, rng
        As in ``reliability_diagram``.
    groups
        As in ``calibration_by_group``.
    max_groups
        Of more groups the largest are drawn.

    Returns
    -------
    list
        The axes, in the order of the groups.

    Notes
    -----
    Each diagram is of one group by itself: of many calibrated ones some have points outside of their bars, and
    ``calibration_by_group`` says which groups are wrong. Time O(n B) for each group that is drawn.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> axes = ct.plots.groupwise_reliability(p, y, {"low": y < 5, "high": y >= 5}, n_resamples=39, rng=1)
    >>> [ax.get_title() for ax in axes]
    ['low, n = 451', 'high, n = 448']
    """
    most, sample = whole_number("max_groups", max_groups, 1), as_sample(predictions, targets, classes)
    members = as_groups(groups, order_of(targets, predictions), fewest=0)
    same_length(len(sample), members.n, "groups")
    members, _ = large_enough(members)
    chosen = np.sort(np.argsort(-members.sizes, kind="stable")[:most])
    return _grid(
        "groupwise_reliability",
        [f"{plain(members.names[g], 16)}, n = {members.sizes[g]}" for g in chosen],
        [sample.take(members.rows[g]) for g in chosen],
        rng,
        n_resamples=n_resamples,
        confidence_level=confidence_level,
    )


@own_errstate
def recalibration_report(
    report: RecalibrationReport, *, n_resamples: int = 999, rng: Any = None, axes: "Sequence[Axes] | None" = None
) -> "list[Axes]":
    """The held-out data before and after recalibration, side by side.

    Reliability diagrams of classes, coverage curves of quantile forecasts and, of other predictions, PIT histograms: of
    vectors that of the first coordinate.

    Parameters
    ----------
    report
        What ``ct.recalibration.report`` returns.
    n_resamples, rng
        As in ``reliability_diagram``.
    axes
        Two; default: those of a new figure. Titles have log loss and p-value.

    Raises
    ------
    ValueError
        For a number of axes other than two, or a report that ``from_dict`` read, which has no data.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> report = ct.recalibration.report(p, y, ct.recalibration.TemperatureScaling(), n_resamples=99, rng=1)
    >>> axes = ct.plots.recalibration_report(report, rng=1)
    >>> axes[0].get_title()
    'before: log loss 0.38, p = 0.01'
    """
    wanted = "what ct.recalibration.report returns"
    instance_of(RecalibrationReport, wanted)("report", report)
    if report.samples is None:
        raise ValueError(f"report: got one that was read back, without data, wanted {wanted}")
    panels = panels_of(axes, "recalibration_report", 2, (9.0, 4.5))
    streams = np.random.default_rng(seed_of(rng)).spawn(2)
    for ax, row, sample, stream in zip(panels, report.rows, report.samples, streams, strict=True):
        _draw(sample, stream, ax, n_resamples, 0.95)
        p = pvalue_phrase(row.pvalue, otherwise=row.pvalue_otherwise)
        set_title(ax, f"{row.name}: {report.score_name} {row.score:.3g}, {p}")
    return panels


def _grid(
    what: str,
    titles: Sequence[str],
    samples: Sequence[Sample],
    rng: Any,
    labels: tuple[str, str] | None = None,
    **settings: Any,
) -> "list[Axes]":
    """The reliability of some samples, a few in a row of a new figure, with one legend and one pair of labels."""
    columns = min(4, ceil(len(titles) ** 0.5))
    rows = ceil(len(titles) / columns)
    figure = new_figure(what, (2.2 * columns + 0.4, 2.7 * rows + 0.6))
    grid = figure.subplots(rows, columns, squeeze=False).ravel()
    entries: dict[str, Any] = {}
    streams = np.random.default_rng(seed_of(rng)).spawn(len(titles))
    for ax, title, one, stream in zip(grid, titles, samples, streams, strict=False):
        _draw(one, stream, ax, **settings)
        entries |= dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
        ax.get_legend().remove()
        ax.set_title(title, fontsize="small", pad=9.0)
        # Not in the lines that one panel has room for.
        labels = labels or (" ".join(ax.get_xlabel().split()), " ".join(ax.get_ylabel().split()))
        ax.set(xlabel="", ylabel="")
    for ax in grid[len(titles) :]:
        ax.remove()
    assert labels is not None
    figure.supxlabel(labels[0], fontsize="medium")
    figure.supylabel(labels[1], fontsize="medium")
    where: dict[str, Any] = {"loc": "outside upper center", "ncols": len(entries) if columns > 2 else 1}
    even_points(figure.legend(list(entries.values()), list(entries), fontsize="small", frameon=False, **where))
    return list(grid[: len(titles)])


def _draw(sample: Sample, rng: Any, ax: "Axes", n_resamples: int, confidence_level: float) -> None:
    """The picture of reliability that the predictions have."""
    law, y = sample.predictions, sample.as_given
    settings: dict[str, Any] = {"confidence_level": confidence_level, "rng": rng, "ax": ax}
    if law.levels is not None:
        coverage_curve(law, y, **settings)
    elif law.finite is not None:
        reliability_diagram(law, y, n_resamples=n_resamples, **settings)
    else:
        first = law.coordinate(0) if y.ndim > 1 else None
        pit_histogram(first or law, y if first is None else y[:, 0], **settings)
