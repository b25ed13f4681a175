"""Pictures of calibration. They need matplotlib: ``pip install caltest[plots]``."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from caltest._jobs import Stream, streams
from caltest._numerics import seed_of
from caltest._progress import progress_bars
from caltest._threads import threaded
from caltest._types import Array, ArrayLike, BoolArray, FloatArray, IntArray
from caltest._validation import fraction, switch, whole_number
from caltest.binning import Binning, UniformBinning
from caltest.predictions import Bernoulli, Categorical, Sample, as_sample, reduce_to_top_label
from caltest.result import CalibrationTestResult, format_pvalue
from caltest.risk import CalibrationErrorEstimate, CandidateRisk, ErrorSelection
from caltest.studies import PowerCurve

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Blue and vermillion of Okabe and Ito, which readers with any colour vision can tell apart.
INSIDE, OUTSIDE, DARK, PALE = "#0072B2", "#D55E00", "#444444", "#D4D4D4"
COLOURS = (INSIDE, OUTSIDE, "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")
LINES, MARKERS = ("-", "--", ":", "-."), "oD^svPX*"
LARGEST, SMALLEST = 130.0, 14.0
BAR_WIDTH = 0.02
HISTOGRAM_BINS = 30


def reliability_diagram(
    predictions: ArrayLike,
    targets: ArrayLike,
    *,
    binning: Binning | None = None,
    n_resamples: int = 999,
    confidence_level: float = 0.95,
    result: CalibrationTestResult | None = None,
    rng: Any = None,
    ax: "Axes | None" = None,
    progress: bool = False,
) -> "Axes":
    """Observed frequency against mean prediction, with bars that say how far chance alone moves the points.

    A bin b with n_b observations is a point at ``(sum p_i / n_b, sum y_i / n_b)``, whose area grows with n_b. Its
    consistency bar is the central part of the frequencies ``sum z_i / n_b`` for outcomes z_i drawn from the
    predictions p_i. Bins whose point lies outside their bar are vermillion diamonds, the others blue circles. The
    histogram above shows where the predictions are.

    Parameters
    ----------
    predictions
        Probabilities of class 1, (n,) or ``Bernoulli``; or of k classes, (n, k) or ``Categorical``, which are
        reduced to the confidence of the top label. ``ct.classwise`` makes the ``Bernoulli`` of one class.
    targets
        (n,) array-like of outcomes, not yet reduced if the predictions are not.
    binning
        Default: ``UniformBinning(15)``, as in ``ECE``.
    n_resamples
        Number B of redraws of the outcomes.
    confidence_level
        Probability that a point is inside its bar if the predictions are calibrated.
    result
        A test of these data, whose p-value becomes the title.
    rng
        Seed or ``numpy.random.Generator`` of the redraws.
    ax
        Where to draw; default: a new figure.
    progress
        Show a progress bar on standard error for what takes more than a second.

    Returns
    -------
    matplotlib.axes.Axes
        The axes of the diagram; the histogram is its inset ``ax.child_axes[0]``.

    Raises
    ------
    ValueError
        For bad data or settings, or fewer redraws than the ends of the bars need.
    TypeError
        If the predictions are not of classes, or for a setting of another kind.
    ImportError
        If matplotlib is missing.

    Notes
    -----
    With r = floor((B + 1) (1 - confidence_level) / 2) the ends of a bar are the r-th smallest and the r-th largest
    redrawn frequency. If the predictions are calibrated, observed and redrawn frequencies are exchangeable, so a
    point falls outside its bar with probability at most 1 - confidence_level, for every n_b, however small. This
    holds for each bin on its own: of 20 bins of a calibrated model about one is outside a 95 % bar. The question
    whether all points together speak against calibration is that of a test.

    Assumes that the targets are independent given the predictions. Time O(n B), memory O(n + B).

    Source: consistency bars of Broecker and Smith 2007. Differs from the paper in that the predictions are kept
    and only the outcomes are redrawn, which makes the bars exact given the predictions.

    Examples
    --------
    >>> import caltest as ct
    >>> from caltest.plots import reliability_diagram
    >>> from matplotlib.figure import Figure
    >>> p, y = ct.load_digits_predictions()["random forest"]
    >>> ax = reliability_diagram(p, y, rng=1, ax=Figure().add_subplot())
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('confidence of the top label', 'accuracy')
    """
    probabilities, outcomes = _binary(as_sample(predictions, targets))
    binning = _checked_binning(binning)
    rank = _rank_of_ends(n_resamples, confidence_level)
    title = "" if result is None else _title(result, len(probabilities))
    generator = np.random.default_rng(seed_of(rng))
    with progress_bars(switch("progress", progress)):
        bins = _reliability(probabilities, outcomes, binning, n_resamples, rank, generator)
    ax = _axes(ax, "reliability_diagram", (4.5, 5.0))
    _draw_bins(ax, bins, f"{100 * confidence_level:g} % range if calibrated")
    _draw_histogram(ax, probabilities.probability)
    _label(ax, probabilities, title)
    return ax


@dataclass(frozen=True)
class _Reliability:
    """Arrays with one value per occupied bin."""

    sizes: IntArray
    predictions: FloatArray
    frequencies: FloatArray
    low: FloatArray
    high: FloatArray

    @property
    def outside(self) -> BoolArray:
        return (self.frequencies < self.low) | (self.frequencies > self.high)


def _binary(sample: Sample) -> tuple[Bernoulli, Array]:
    predictions = sample.predictions
    if isinstance(predictions, Bernoulli):
        return predictions, sample.targets
    if isinstance(predictions, Categorical):
        confidence, top = reduce_to_top_label(predictions)
        return confidence, (top == sample.targets).astype(np.intp)
    raise TypeError(
        f"predictions: got {predictions.family} predictions, wanted Bernoulli or Categorical ones or an array of "
        "probabilities, because a reliability diagram compares probabilities with frequencies"
    )


def _checked_binning(binning: Binning | None) -> Binning:
    if binning is not None and not isinstance(binning, Binning):
        raise TypeError(f"binning: got {binning!r}, wanted a binning such as UniformBinning(10)")
    return UniformBinning() if binning is None else binning


def _rank_of_ends(n_resamples: int, confidence_level: float) -> int:
    """How many redrawn frequencies, from either side, the ends of the bars are."""
    # The margin makes up for rounding: 1 - 0.9 is slightly less than 0.1.
    tail = (1.0 - fraction("confidence_level", confidence_level)) / 2.0 * (1.0 + 1e-12)
    whole_number("n_resamples", n_resamples, 1)
    rank = int(tail * (n_resamples + 1))
    if rank < 1:
        raise ValueError(
            f"n_resamples: got {n_resamples}, wanted at least {int(np.ceil((1.0 - 1e-9) / tail)) - 1} for bars with "
            f"confidence level {confidence_level:g}"
        )
    return rank


def _reliability(
    predictions: Bernoulli, outcomes: Array, binning: Binning, n_resamples: int, rank: int, rng: np.random.Generator
) -> _Reliability:
    p = predictions.probability
    bins = binning.assign(p[:, None])
    sizes = np.bincount(bins)
    redrawn = np.sort(_redrawn_frequencies(predictions, bins, n_resamples, rng), axis=0)
    return _Reliability(
        sizes=sizes,
        predictions=np.bincount(bins, p) / sizes,
        frequencies=np.bincount(bins, outcomes) / sizes,
        low=redrawn[rank - 1],
        high=redrawn[-rank],
    )


def _redrawn_frequencies(predictions: Bernoulli, bins: Array, n_resamples: int, rng: np.random.Generator) -> FloatArray:
    """Frequencies (B, number of bins) of outcomes drawn from the predictions."""
    sizes = np.bincount(bins)

    def frequencies(stream: Stream) -> FloatArray:
        return np.stack([np.bincount(bins, redrawn) / sizes for redrawn in predictions.with_redraws(None, [stream])])

    parts = streams(rng, n_resamples)
    return np.concatenate(list(threaded(frequencies, parts, len(parts), "redraws")))


def _axes(ax: "Axes | None", what: str, size: tuple[float, float]) -> "Axes":
    try:
        from matplotlib.axes import Axes
    except ImportError as error:
        raise ImportError(f"{what} needs matplotlib: pip install caltest[plots]") from error
    if ax is None:
        from matplotlib import pyplot as plt

        return plt.subplots(figsize=size, layout="constrained")[1]
    if not isinstance(ax, Axes):
        raise TypeError(f"ax: got {type(ax).__name__}, wanted matplotlib Axes, such as those of plt.subplots()")
    return ax


def _draw_bins(ax: "Axes", bins: _Reliability, bar_label: str) -> None:
    ax.plot([0, 1], [0, 1], color=DARK, linewidth=0.8, zorder=2)
    ax.bar(bins.predictions, bins.high - bins.low, BAR_WIDTH, bins.low, color=PALE, label=bar_label, zorder=1)
    areas = np.maximum(LARGEST * bins.sizes / bins.sizes.max(), SMALLEST)
    styles = ((~bins.outside, "bin", INSIDE, "o"), (bins.outside, "bin outside its bar", OUTSIDE, "D"))
    for chosen, label, colour, marker in styles:
        if chosen.any():
            x, y = bins.predictions[chosen], bins.frequencies[chosen]
            ax.scatter(x, y, areas[chosen], c=colour, marker=marker, alpha=0.8, label=label, clip_on=False, zorder=3)
    # The ends of the bars are in front: the largest points belong to the shortest bars and would hide them.
    for ends in (bins.low, bins.high):
        ax.scatter(bins.predictions, ends, 40, c=DARK, marker="_", linewidths=1, clip_on=False, zorder=4)
    ax.legend(fontsize="small", frameon=False)


def _draw_histogram(ax: "Axes", probability: FloatArray) -> None:
    above = ax.inset_axes((0.0, 1.04, 1.0, 0.14))
    counts = above.hist(probability, bins=HISTOGRAM_BINS, range=(0.0, 1.0), color=PALE)[0]
    above.set(xlim=(0.0, 1.0), xticks=[], yticks=[np.max(counts)])
    above.tick_params(labelsize="small")
    above.spines[["top", "right"]].set_visible(False)


def _label(ax: "Axes", predictions: Bernoulli, title: str) -> None:
    x_label, y_label = _axis_labels(predictions)
    ax.set(xlim=(0.0, 1.0), ylim=(0.0, 1.0), box_aspect=1.0, xlabel=x_label, ylabel=y_label)
    if title:
        ax.set_title(title, fontsize="medium")


def _axis_labels(predictions: Bernoulli) -> tuple[str, str]:
    if predictions.notion == "top label":
        return "confidence of the top label", "accuracy"
    if predictions.notion == "binary":
        outcome = f"class {1 if predictions.classes is None else predictions.classes[1]}"
        return f"predicted probability of {outcome}", f"observed frequency of {outcome}"
    return f"predicted probability, {predictions.notion}", "observed frequency"


def _title(result: CalibrationTestResult, n: int) -> str:
    if not isinstance(result, CalibrationTestResult):
        raise TypeError(f"result: got {result!r}, wanted the result of a calibration test")
    if result.n != n:
        raise ValueError(f"result: got a test of {result.n} observations, wanted one of the {n} that are drawn")
    sign = "≤" if result.pvalue_kind == "bound" else "="
    return f"p {sign} {format_pvalue(result.pvalue)} ({result.test})\n{result.predictions}"


def power_curve(result: PowerCurve, *, alpha: float | None = None, ax: "Axes | None" = None) -> "Axes":
    """Rates of rejection with their binomial intervals, over n, or over the strength of deviations if n is fixed.

    Every test has a colour and a marker. Over n every generator has a kind of line. The dotted line is the level.

    Parameters
    ----------
    result
        What ``ct.power_curve`` returns.
    alpha
        Level of the tests; default: the first of the result.
    ax
        Where to draw; default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    ValueError
        For a level that is not between 0 and 1.
    TypeError
        For an argument of another kind.
    ImportError
        If matplotlib is missing.

    Notes
    -----
    The bands are the exact intervals of the result, each for its own point.

    Examples
    --------
    >>> import caltest as ct
    >>> from caltest.plots import power_curve
    >>> from matplotlib.figure import Figure
    >>> test = ct.MonteCarloTest(ct.ECE(ct.UniformBinning(5)), n_resamples=19)
    >>> curve = ct.power_curve(test, ct.generators.class_model("M3", 3), [5, 10], n_simulations=20, rng=1)
    >>> ax = power_curve(curve, ax=Figure().add_subplot())
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('observations n', 'power')
    """
    if not isinstance(result, PowerCurve):
        raise TypeError(f"result: got {result!r}, wanted what ct.power_curve returns")
    level = result.alphas[0] if alpha is None else fraction("alpha", alpha)
    over_n = len(result.sizes) > 1 or len(result.generators) == 1
    ax = _axes(ax, "power_curve", (6.0, 4.0))
    for label, x, y, low, high, style in _power_lines(result, level, over_n):
        ax.plot(x, y, label=label, markersize=5, **style)
        ax.fill_between(x, low, high, color=style["color"], alpha=0.15, linewidth=0)
    ax.axhline(level, color=DARK, linewidth=0.8, linestyle=":")
    quantities = sorted({cell.quantity for cell in result.cells.values()})
    ax.set(ylim=(-0.02, 1.02), ylabel=" and ".join(quantities), xlabel="observations n" if over_n else "strength")
    if over_n:
        ax.set(xscale="log", xticks=result.sizes, xticklabels=result.sizes)
        ax.minorticks_off()
    if len(ax.get_legend_handles_labels()[1]) > 1:
        ax.legend(fontsize="small", frameon=False)
    return ax


def _power_lines(result: PowerCurve, alpha: float, over_n: bool) -> Iterator[tuple[Any, ...]]:
    """Label, x, rates, their intervals and the style of each line."""
    tables = result.rates(alpha), result.lows(alpha), result.highs(alpha)
    for t, test in enumerate(result.tests):
        style = {"color": COLOURS[t % len(COLOURS)], "marker": MARKERS[t % len(MARKERS)]}
        if not over_n:
            strengths = [g if one is None else one for g, one in enumerate(result.strengths)]
            order = np.argsort(strengths)
            yield test, np.array(strengths)[order], *(table[t, order, 0] for table in tables), style
            continue
        for g, generator in enumerate(result.generators):
            parts = ([test] if len(result.tests) > 1 else []) + ([generator] if len(result.generators) > 1 else [])
            line = {**style, "linestyle": LINES[g % len(LINES)]}
            yield ", ".join(parts), result.sizes, *(table[t, g] for table in tables), line


def risk_curves(
    result: CalibrationErrorEstimate,
    *,
    problem: int = 0,
    excess: bool = False,
    axes: "Sequence[Axes] | None" = None,
) -> "list[Axes]":
    """Risk of every calibration estimation function over its setting, with standard errors.

    There is a panel for each kind of setting: bins, bandwidth, regularisation. Every function has a colour and a
    marker; its best setting is filled, and a black ring marks the selected one. The dotted line is that of h = 0.

    Parameters
    ----------
    result
        What ``ct.estimate_calibration_error`` returns.
    problem
        Which of its selections: the class, for class-wise errors.
    excess
        Draw the risk less that of the selected candidate, with the standard error of this difference, instead of the
        risk with its own. The standard errors of risks are mostly those of the labels, which all candidates share.
    axes
        Where to draw, one for each panel; default: a new figure.

    Returns
    -------
    list of matplotlib.axes.Axes
        The panels.

    Raises
    ------
    ValueError
        For a problem that the result does not have, or another number of axes than panels.
    TypeError
        For an argument of another kind.
    ImportError
        If matplotlib is missing.

    Notes
    -----
    Bands reach one standard error to either side. The vertical axis is logarithmic where risks differ by more than a
    factor of 20, or an excess is more than 100 times the median standard error; near 0 it stays linear then.

    Examples
    --------
    >>> import caltest as ct
    >>> from caltest.plots import risk_curves
    >>> from matplotlib.figure import Figure
    >>> p, y = ct.load_digits_predictions()["random forest"]
    >>> result = ct.estimate_calibration_error(p, y, "top_label", rng=1)
    >>> panels = risk_curves(result, axes=Figure().subplots(1, 3))
    >>> [ax.get_xlabel() for ax in panels]
    ['bins', 'bandwidth', 'regularisation']
    """
    if not isinstance(result, CalibrationErrorEstimate):
        raise TypeError(f"result: got {result!r}, wanted what ct.estimate_calibration_error returns")
    if not 0 <= whole_number("problem", problem, 0) < len(result.selections):
        raise ValueError(f"problem: got {problem}, wanted less than {len(result.selections)}, the number of problems")
    switch("excess", excess)
    selection = result.selections[problem]
    level = selection.zero.excess if excess else selection.zero.risk
    parameters = list(dict.fromkeys(candidate.parameter for candidate in selection.candidates))
    panels = _panels(axes, len(parameters))
    names = list(dict.fromkeys(candidate.estimator for candidate in selection.candidates))
    for ax, parameter in zip(panels, parameters, strict=True):
        for style, name in enumerate(names):
            curve = [one for one in selection.candidates if (one.estimator, one.parameter) == (name, parameter)]
            if curve:
                _draw_risks(ax, sorted(curve, key=lambda one: one.value), selection, excess, style)
        ax.axhline(level, color=DARK, linewidth=0.8, linestyle=":")
        ax.set(xlabel=parameter, xscale="linear" if parameter == "bins" else "log")
        ax.legend(fontsize="small", frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    across = panels[0].get_yaxis_transform()
    panels[0].text(0.99, level, "h = 0", transform=across, ha="right", va="bottom", fontsize="small")
    panels[0].set_ylabel(f"risk{' less that of the selected' if excess else ''}, {selection.problem}")
    _scale_risks(panels, selection, excess)
    return panels


def _panels(axes: "Sequence[Axes] | None", n: int) -> "list[Axes]":
    if axes is not None:
        several = list(np.ravel(np.asarray(axes, dtype=object)))
        if len(several) != n:
            raise ValueError(f"axes: got {len(several)}, wanted {n}, one for each kind of setting")
        return [_axes(ax, "risk_curves", (0.0, 0.0)) for ax in several]
    first = _axes(None, "risk_curves", (0.5 + 3.5 * n, 3.8))
    figure, place = first.figure, first.get_subplotspec()
    assert place is not None
    first.remove()
    return list(place.subgridspec(1, n).subplots(sharey=True, squeeze=False)[0]) if figure else []


def _scale_risks(panels: "list[Axes]", selection: ErrorSelection, excess: bool) -> None:
    """A logarithmic axis where a linear one would show a few large values only."""
    candidates = selection.candidates
    if excess:
        unit = float(np.median([one.excess_error for one in candidates]))
        if 0.0 < 100.0 * unit < max(one.excess for one in candidates):
            lowest = min(one.excess - one.excess_error for one in candidates)
            for ax in panels:
                ax.set_yscale("symlog", linthresh=unit)
                ax.set_ylim(bottom=max(lowest, -unit) - unit)
    elif 0.0 < 20.0 * min(one.risk for one in candidates) < max(one.risk for one in candidates):
        for ax in panels:
            ax.set_yscale("log")


def _draw_risks(ax: "Axes", curve: list[CandidateRisk], selection: ErrorSelection, excess: bool, style: int) -> None:
    """A line in a band, the best setting filled and the selected one in a ring."""
    x = [one.value for one in curve]
    y = np.array([one.excess if excess else one.risk for one in curve])
    errors = np.array([one.excess_error if excess else one.standard_error for one in curve])
    colour, marker = COLOURS[style % len(COLOURS)], MARKERS[style % len(MARKERS)]
    ax.plot(x, y, color=colour, marker=marker, markersize=5, markerfacecolor="white", label=curve[0].estimator)
    ax.fill_between(x, y - errors, y + errors, color=colour, alpha=0.15, linewidth=0)
    for place, one in enumerate(curve):
        if one.squared_error is not None:
            ax.plot(x[place], y[place], color=colour, marker=marker, markersize=6, zorder=4)
        if one is selection.selected:
            ax.plot(x[place], y[place], "o", markersize=13, markerfacecolor="none", color="black", zorder=5)
