"""Curves: evidence over time, latent functions, power, and risks of error functions."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from caltest._basics.calls import own_errstate
from caltest._basics.numerics import FloatArray
from caltest._validation import fraction, instance_of, whole_number
from caltest.plots._axes import COLOURS, DARK, LINES, MARKERS, OUTSIDE, PALE, Axes, ended, panels_of, plain, started
from caltest.recalibration.base import ProbabilityMap
from caltest.recalibration.gaussian_process.map import GPMap
from caltest.risk.error_estimate import CalibrationErrorEstimate, CandidateRisk, ErrorSelection
from caltest.sequential.betting import Betting
from caltest.sequential.monitor import CalibrationMonitor, MonitorResult
from caltest.sequential.sequential_test import SequentialCalibrationTest, SequentialTestResult
from caltest.studies.power_curve import PowerCurve


@own_errstate
def evidence(
    test: SequentialCalibrationTest | CalibrationMonitor | SequentialTestResult | MonitorResult,
    *,
    alpha: float = 0.05,
    ax: "Axes | None" = None,
    label: str | None = None,
    color: str | None = None,
) -> "Axes":
    """Evidence of a sequential test or monitor over time, ``log10 E_t``, with the line of an alarm.

    A test rejects where the curve first touches the line ``1 / alpha``, which a calibrated model's does with
    probability at most alpha, however long it runs; a diamond marks that time, the alarm. From an outcome of predicted
    probability 0 on E is infinite: the curve ends there, at a vermillion line. With a lag the curve is that of 1 / p. A
    monitor starts anew after each of its alarms.

    Parameters
    ----------
    test
        A ``SequentialCalibrationTest`` or ``CalibrationMonitor`` that has seen observations, or its result.
    alpha
        The level of a test.
    ax, label, color
        As in ``reliability_diagram``.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> ax = ct.plots.evidence(ct.SequentialCalibrationTest().update(p, y))
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('observations', 'log10 evidence')
    """
    found: Any = test.result() if isinstance(test, Betting) else test
    wanted = "a SequentialCalibrationTest, a CalibrationMonitor or its result"
    result = instance_of((SequentialTestResult, MonitorResult), wanted)("test", found)
    curve, threshold, words, alarms = result.curve(fraction("alpha", alpha))
    finite = np.isfinite(curve)
    seen = np.arange(1, result.n + 1)
    ax, style = started(ax, "evidence", (6.0, 4.0), color, label)
    logs, threshold, line = curve / np.log(10.0), threshold / np.log(10.0), style.line("evidence")
    # A single observation is a point, since a line needs two.
    dot = style.marker if finite.sum() == 1 else ""
    ax.plot(seen[finite], logs[finite], marker=dot, **line)
    if style.first:
        ax.axhline(threshold, color=DARK, linewidth=0.8, linestyle=":", label=words)
        ax.set_ylim(-0.5, None)
    ax.set_ylim(min([ax.get_ylim()[0], *logs[finite]]), None)
    own = "" if style.alone else f"{line['label']}: "
    shown = [alarm for alarm in alarms if finite[alarm - 1]]
    if shown:
        look: dict[str, Any] = {"color": style.color, "markeredgecolor": DARK, "linestyle": "", "zorder": 4}
        text = f"alarm after {shown[0]}" if len(shown) == 1 else f"{len(shown)} alarms, after {shown[0]} first"
        ax.plot(shown, [logs[alarm - 1] for alarm in shown], "D", label=own + text, **look)
    if (excluded := curve == np.inf).any():
        first = int(seen[excluded][0])
        mark = OUTSIDE if style.first else style.color
        ax.axvline(first, color=mark, linestyle="-.")
        text = f"{own}outcome {first} was excluded, E is infinite"
        ax.axvspan(first, result.n + 1.0, color=mark, alpha=0.15, linewidth=0.0, label=text)
    low, high = ax.get_ylim()
    ax.set_ylim(low, max(high, 1.1 * threshold))
    ax.set_xlim(0.0, max(result.n + 1.0, 0.0 if style.first else ax.get_xlim()[1]))
    return ended(ax, "observations", "log10 evidence")


@own_errstate
def latent_function(
    map: ProbabilityMap | dict[str, ProbabilityMap],  # noqa: A002
    *,
    ax: "Axes | None" = None,
) -> "Axes":
    """Latent functions of recalibration maps over the one that changes nothing.

    Maps of one function g of all classes are ``softmax(g(z_1)..g(z_k))``, binary ones ``sigmoid(g(z))``. The dashed
    line is the g that changes nothing. Of a Gaussian process the line is the posterior mean, the band covers g with
    probability 0.95 at each input, and ticks mark the inducing inputs. Constants added to g do not change the
    predictions of several classes, so all lines are shifted to have mean 0.

    Parameters
    ----------
    map
        What ``fit`` gives of ``GPCalibrator``, ``TemperatureScaling``, ``Identity`` or a binary method; or several of
        them by name, on the same scale.

    Raises
    ------
    TypeError
        For other maps: of several classes with a function for each, such as ``OneVsRest``.
    ValueError
        For maps of probabilities and of logits, or of two and of several classes, together.

    Notes
    -----
    Drawn on the range of the calibration data of a Gaussian process, else for probabilities from 1e-6 to 1 or logits
    from -10 to 10; probabilities below 1e-6, and of binary maps those as close to 1, are left out. The axis of
    probabilities is logarithmic unless the kernel of the first process sees p itself, or maps are binary.
    Source: Wenger, Kjellstrom and Triebel 2020, figures 3 and 4.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> maps = {"GPcalib": ct.recalibration.GPCalibrator().fit(p, y)}
    >>> maps["temperature"] = ct.recalibration.TemperatureScaling().fit(p, y)
    >>> axes = ct.plots.latent_function(maps)
    >>> axes.get_ylabel()
    'latent function'
    """
    maps = map if isinstance(map, dict) else {"mean" if isinstance(map, GPMap) else "map": map}
    first = _first_of(maps)
    axes, _ = started(ax, "latent_function", (5.0, 4.0))
    inputs, logarithmic = _inputs(first)
    for i, (name, one) in enumerate(maps.items()):
        prior, mean, deviation = one.latent_function(inputs)
        shift = 0.0 if one.binary else mean.mean()
        if i == 0:
            axes.plot(inputs, prior - (0.0 if one.binary else prior.mean()), color=DARK, ls="--", label="no change")
        axes.plot(inputs, mean - shift, color=COLOURS[i % len(COLOURS)], ls=LINES[i % len(LINES)], label=plain(name))
        if isinstance(one, GPMap):
            low, high = mean - shift - 1.96 * deviation, mean - shift + 1.96 * deviation
            axes.fill_between(inputs, low, high, color=PALE, lw=0.0, zorder=0, label="95 % of the process")
            inducing = np.exp(one.inducing) if one.scale == "log" else one.inducing
            shown = inducing[(inducing >= inputs[0]) & (inducing <= inputs[-1])]
            places = axes.get_xaxis_transform()
            if shown.size:
                # Layouts take the place of nothing, if it is not clipped, for an infinite one.
                axes.plot(shown, np.zeros(shown.size), "|", color=DARK, ms=10, transform=places, clip_on=False)
    if logarithmic:
        axes.set_xscale("log")
    return ended(axes, "logit" if first.input == "logits" else "predicted probability", "latent function")


def _first_of(maps: dict[str, ProbabilityMap]) -> ProbabilityMap:
    """The one whose range is drawn, a Gaussian process if there is one, of maps that fit together."""
    for one in maps.values():
        if not isinstance(one, ProbabilityMap):
            raise TypeError(f"map: got {type(one).__name__}, wanted what fit(predictions, targets) gives, or a dict")
    kinds = {(one.input, one.binary) for one in maps.values()}
    if len(kinds) != 1:
        raise ValueError(
            f"map: got maps of {len(kinds)} kinds, wanted at least one, all of one scale and all binary or none"
        )
    return next((one for one in maps.values() if isinstance(one, GPMap)), next(iter(maps.values())))


def _inputs(map: ProbabilityMap) -> tuple[FloatArray, bool]:  # noqa: A002
    """Evenly spaced on the axis, over the range of the calibration data, or a little around a single input."""
    logits, least = map.input == "logits", 1e-6
    # Logits of 1 are infinite.
    most = 1.0 - least if map.binary else 1.0
    lowest, highest = (-10.0, 10.0) if logits else (least, most)
    logarithmic = not (logits or map.binary)
    if isinstance(map, GPMap):
        lowest, highest, logarithmic = map.lowest, map.highest, map.scale == "log"
        if logarithmic:
            lowest, highest = np.exp(lowest), np.exp(highest)
        if not logits:
            lowest, highest = max(lowest, least), min(max(highest, least), most)
        if highest <= lowest:
            lowest, highest = (lowest - 1.0, lowest + 1.0) if logits else (least, most)
    inputs = (np.geomspace if logarithmic else np.linspace)(lowest, highest, 400)
    return np.clip(inputs, lowest, highest), logarithmic


@own_errstate
def power_curve(result: PowerCurve, *, alpha: float | None = None, ax: "Axes | None" = None) -> "Axes":
    """Rates of rejection with their exact intervals, over n, or over the strength of deviations if n is fixed.

    Every test has a colour and a marker. Over n every generator has a kind of line. The dotted line is the level.

    Parameters
    ----------
    result
        What ``ct.power_curve`` returns.
    alpha
        Level of the tests; default: the first of the result.

    Examples
    --------
    >>> import caltest as ct
    >>> test = ct.MonteCarloTest(ct.ECE(ct.binning.UniformBinning(5)), n_resamples=19)
    >>> curve = ct.power_curve(test, ct.generators.class_model("M3", 3), [5, 10], n_simulations=20, rng=1)
    >>> ax = ct.plots.power_curve(curve)
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('observations n', 'power')
    """
    instance_of(PowerCurve, "what ct.power_curve returns")("result", result)
    level = result.alphas[0] if alpha is None else fraction("alpha", alpha)
    over_n = len(result.sizes) > 1 or len(result.generators) == 1
    ax, _ = started(ax, "power_curve", (6.0, 4.0))
    for label, x, y, low, high, style in _power_lines(result, level, over_n):
        ax.plot(x, y, label=label, markersize=5, **style)
        ax.fill_between(x, low, high, color=style["color"], alpha=0.15, linewidth=0)
    ax.axhline(level, color=DARK, linewidth=0.8, linestyle=":")
    ax.set_ylim(-0.02, 1.02)
    if over_n:
        ax.set(xscale="log", xticks=result.sizes, xticklabels=result.sizes)
        ax.minorticks_off()
    quantities = " and ".join(sorted({cell.quantity for cell in result.cells.values()}))
    several = len(ax.get_legend_handles_labels()[1]) > 1
    return ended(ax, "observations n" if over_n else "strength", quantities, named=several)


def _power_lines(result: PowerCurve, alpha: float, over_n: bool) -> Iterator[tuple[Any, ...]]:
    """Label, x, rates, their intervals and the style of each line."""
    tables = result.rates(alpha), result.lows(alpha), result.highs(alpha)
    for t, test in enumerate(result.tests):
        style = {"color": COLOURS[t % len(COLOURS)], "marker": MARKERS[t % len(MARKERS)]}
        if not over_n:
            strengths = [g if one is None else one for g, one in enumerate(result.strengths)]
            order = np.argsort(strengths)
            yield plain(test), np.array(strengths)[order], *(table[t, order, 0] for table in tables), style
            continue
        for g, generator in enumerate(result.generators):
            parts = ([test] if len(result.tests) > 1 else []) + ([generator] if len(result.generators) > 1 else [])
            line = {**style, "linestyle": LINES[g % len(LINES)]}
            # Each part has much room, so that names that differ in their middle stay apart.
            yield ", ".join(plain(part, 60) for part in parts), result.sizes, *(table[t, g] for table in tables), line


@own_errstate
def risk_curves(
    result: CalibrationErrorEstimate, *, problem: int = 0, axes: "Sequence[Axes] | None" = None
) -> "list[Axes]":
    """Risk of every error function over its setting, with standard errors.

    There is a panel for each kind of setting: bins, bandwidth, regularisation. Every function has a colour and a
    marker; its best setting is filled, and a black ring marks the selected one. The dotted line is that of h = 0.

    Parameters
    ----------
    result
        What ``ct.estimate_calibration_error`` returns.
    problem
        Which of its selections: the class, for class-wise errors.
    axes
        One for each panel; default: those of a new figure.

    Raises
    ------
    ValueError
        For a problem that the result does not have, or another number of axes than panels.

    Notes
    -----
    Bands reach one standard error to either side. The vertical axis is logarithmic where risks differ by more than a
    factor of 20. The standard errors are mostly those of the labels, which all candidates share: the table of the
    result has the differences of risks with their own.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> result = ct.estimate_calibration_error(p, y, "top_label", rng=1)
    >>> panels = ct.plots.risk_curves(result)
    >>> [ax.get_xlabel() for ax in panels]
    ['bins', 'bandwidth', 'regularisation']
    """
    instance_of(CalibrationErrorEstimate, "what ct.estimate_calibration_error returns")("result", result)
    if not 0 <= whole_number("problem", problem, 0) < len(result.selections):
        raise ValueError(f"problem: got {problem}, wanted less than {len(result.selections)}, the number of problems")
    selection = result.selections[problem]
    level = selection.zero.risk
    parameters = list(dict.fromkeys(candidate.parameter for candidate in selection.candidates))
    n = len(parameters)
    panels = panels_of(axes, "risk_curves", n, (0.5 + 3.5 * n, 3.8), sharey=True)
    names = list(dict.fromkeys(candidate.estimator for candidate in selection.candidates))
    for ax, parameter in zip(panels, parameters, strict=True):
        for style, name in enumerate(names):
            curve = [one for one in selection.candidates if (one.estimator, one.parameter) == (name, parameter)]
            if curve:
                _draw_risks(ax, sorted(curve, key=lambda one: one.value), selection, style)
        ax.axhline(level, color=DARK, linewidth=0.8, linestyle=":", label="h = 0" if ax is panels[0] else None)
        ax.set_xscale("linear" if parameter == "bins" else "log")
        ended(ax, parameter, plain(f"risk, {selection.problem}", 60) if ax is panels[0] else "")
    risks = [one.risk for one in selection.candidates]
    if 0.0 < 20.0 * min(risks) < max(risks):
        for ax in panels:
            ax.set_yscale("log")
    return panels


def _draw_risks(ax: "Axes", curve: list[CandidateRisk], selection: ErrorSelection, style: int) -> None:
    """A line in a band, the best setting filled and the selected one in a ring."""
    x = [one.value for one in curve]
    y = np.array([one.risk for one in curve])
    errors = np.array([one.standard_error for one in curve])
    colour, marker = COLOURS[style % len(COLOURS)], MARKERS[style % len(MARKERS)]
    ax.plot(x, y, color=colour, marker=marker, markersize=5, markerfacecolor="white", label=plain(curve[0].estimator))
    ax.fill_between(x, y - errors, y + errors, color=colour, alpha=0.15, linewidth=0)
    for place, one in enumerate(curve):
        if one.squared_error is not None:
            ax.plot(x[place], y[place], color=colour, marker=marker, markersize=6, zorder=4)
        if one is selection.selected:
            ax.plot(x[place], y[place], "o", markersize=13, markerfacecolor="none", color="black", zorder=5)
