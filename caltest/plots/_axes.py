"""What pictures share: axes, colours and styles of models, legends, names, titles."""

import re
from collections.abc import Callable, Sequence
from html import escape
from importlib import import_module
from io import StringIO
from textwrap import wrap
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

import numpy as np
from scipy.special import expit, logit

from caltest._basics.calls import own_errstate, printable
from caltest._basics.numerics import Array, FloatArray, band_of_redraws, generator_of, seed_of
from caltest._basics.threads import redrawn
from caltest._results.calibration_test_result import CalibrationTestResult
from caltest._results.report import pvalue_phrase
from caltest._validation import fraction, instance_of, whole_number
from caltest.predictions import Bernoulli, Sample
from caltest.predictions.reductions.classes import classwise, reduce_to_binary

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
else:
    Axes = Any

# Blue and vermillion of Okabe and Ito, which readers with any colour vision can tell apart.
INSIDE, OUTSIDE, DARK, PALE = "#0072B2", "#D55E00", "#444444", "#D4D4D4"
COLOURS = (INSIDE, OUTSIDE, "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")
LETTERS = 52
"""In a line of a title."""
WIDE = 1.8
"""Times their height, pictures have room for longer lines, and for names beside each other."""
NARROW = 3.0
"""Inches below which labels are small."""
PER_INCH = 13.0
"""Letters of a small label."""
TITLE_PER_INCH = 16.2
"""Letters of the title of a legend."""
SIZES = (("small", 1.0), ("x-small", 1.2), ("xx-small", 1.44))
"""Of letters in a legend, and how many have the room of one."""
LINES, MARKERS = ("-", "--", ":", "-."), "oD^svPX*"


def _part_of_matplotlib(name: str, what: str) -> Any:
    try:
        return import_module(f"matplotlib.{name}")
    except ImportError as error:
        raise ImportError(f"{what} needs matplotlib: pip install caltest[plots]") from error


def new_figure(what: str, size: tuple[float, float]) -> Any:
    """A figure of a size in inches; errors name what is drawn."""
    pyplot = _part_of_matplotlib("pyplot", what)
    kind = import_module("caltest.plots._figure").PrintableFigure
    return pyplot.figure(figsize=size, layout="constrained", FigureClass=kind)


def axes_of(ax: "Axes | None", what: str, size: tuple[float, float]) -> "Axes":
    """The axes that are given, or those of a new figure."""
    made: Axes = new_figure(what, size).subplots() if ax is None else ax
    kind: type = _part_of_matplotlib("axes", what).Axes
    if not isinstance(made, kind):
        raise TypeError(f"ax: got {type(ax).__name__}, wanted matplotlib Axes, such as those of plt.subplots()")
    return made


def panels_of(
    axes: "Sequence[Axes] | None", what: str, n: int, size: tuple[float, float], *, sharey: bool = False
) -> "list[Axes]":
    """So many axes side by side: those that are given, or those of a new figure."""
    if axes is None:
        return list(new_figure(what, size).subplots(1, n, sharey=sharey, squeeze=False)[0])
    several = list(np.ravel(np.asarray(axes, dtype=object)))
    if len(several) != n:
        raise ValueError(f"axes: got {len(several)}, wanted {n}, such as those of plt.subplots(1, {n})")
    return [axes_of(ax, what, size) for ax in several]


MODEL = "caltest-model"
"""Marks the one artist that each model has in its axes."""


class Style(NamedTuple):
    """How a model is drawn: colour, marker and kind of line differ, so that a grey print tells models apart."""

    color: str
    marker: str
    kind: str
    number: int
    label: str | None

    @property
    def first(self) -> bool:
        """Whether the axes were empty."""
        return self.number == 0

    @property
    def alone(self) -> bool:
        """Whether the model needs no name."""
        return self.first and self.label is None

    def name(self, otherwise: str) -> str:
        """What the legend calls the model."""
        return otherwise if self.alone else plain(self.label or f"{otherwise}, model {self.number + 1}")

    def band(self, words: str, alpha: float) -> dict[str, Any]:
        """Settings of where chance leaves a calibrated model, which the legend explains once."""
        shade = {"color": PALE} if self.alone else {"color": self.color, "alpha": alpha}
        return {"label": words if self.first else None, "zorder": 1} | shade

    def line(self, otherwise: str, more: str = "") -> dict[str, Any]:
        """Settings of the line that stands for the model; more is in the legend where the model has a name."""
        label = self.name(otherwise) + (f", {more}" if more and self.label is not None else "")
        return {"color": self.color, "linestyle": self.kind, "label": label, "gid": MODEL}


def style_of(ax: "Axes", color: str | None = None, label: str | None = None) -> Style:
    """The style of the next model of some axes."""
    i = sum(1 for one in ax.get_children() if one.get_gid() == MODEL)
    return Style(color or COLOURS[i % len(COLOURS)], MARKERS[i % len(MARKERS)], LINES[i % len(LINES)], i, label)


def started(
    ax: "Axes | None", what: str, size: tuple[float, float], color: str | None = None, label: str | None = None
) -> "tuple[Axes, Style]":
    """The axes that are given, or those of a new figure, and the style of their next model."""
    made = axes_of(ax, what, size)
    return made, style_of(made, color, label)


def ended(
    ax: "Axes", x: str, y: str, title: str = "", over: str = "", named: bool = True, beside: float = 0.7
) -> "Axes":
    """The axes with their title, labels as in ``set_labels``, and a legend below some words, unless there is none."""
    set_title(ax, title)
    set_labels(ax, x, y, beside)
    if named:
        legend(ax, title=over, beside=beside)
    return ax


LONGEST = 40
"""Letters of a name in a picture."""


def plain(name: Any, longest: int = LONGEST) -> str:
    """A name as it is, not as a formula, on one line and cut in the middle if it is long."""
    words = printable(" ".join(str(name).split()))
    if len(words) > longest:
        words = f"{words[: longest // 2].strip()} ... {words[-(longest // 2 - 5) :].strip()}"
    # Legends leave out labels that begin with an underscore.
    return (" " if words.startswith("_") else "") + words.replace("$", r"\$")


def below(ax: "Axes", share: float, points: float) -> Any:
    """A transform whose origin is at the left, some share of the axes and some points below them."""
    from matplotlib.transforms import Affine2D, ScaledTranslation

    down = ScaledTranslation(0.0, -points / 72.0, ax.get_figure(root=False).dpi_scale_trans)  # type: ignore[union-attr]
    return Affine2D().translate(0.0, -share) + ax.transAxes + down


def legend(ax: "Axes", share: float = 0.0, points: float = 36.0, title: str = "", beside: float = 0.0) -> None:
    """One legend for all that is in the axes, each name once, below them, where it hides nothing.

    Its title is in lines as wide as the picture, less some inches on the left of the axes.
    """
    entries = dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
    points += 13.0 * ax.get_xlabel().count("\n")
    if entries:
        width, height = inches_of(ax)
        points -= 6.0 if width < NARROW else 0.0
        title = wrapped(title, max(20.0, TITLE_PER_INCH * (width - beside)))
        # As large as leaves the picture more than half of the height; beside each other where that is low.
        for one in SIZES[width <= 2.5 :]:
            size, ratio = one
            names = [wrapped(name, max(20.0, 14.0 * ratio * (width - 0.5))) for name in entries]
            widest = max(len(line) for name in names for line in name.split("\n")) / (14.0 * ratio) + 0.6
            columns = 1 if width < WIDE * height else max(1, min(len(names), int(width / widest)))
            lines = sum(name.count("\n") + 1 for name in names) / columns + len(title.splitlines())
            if 0.16 * lines / ratio <= 0.45 * height - (0.4 if width < NARROW else 0.0):
                break
        settings: dict[str, Any] = {"fontsize": size, "frameon": False, "borderaxespad": 0.0, "loc": "upper center"}
        where: dict[str, Any] = {"bbox_to_anchor": (0.5, 0.0), "bbox_transform": below(ax, share, points)}
        made = ax.legend(list(entries.values()), names, title=title or None, ncols=columns, **settings, **where)
        made.get_title().set_fontsize("small")
        even_points(made)


def even_points(made: Any) -> None:
    """Points of a legend in one size, as they are of any size where areas mean something."""
    from matplotlib.collections import PathCollection

    for handle in made.legend_handles:
        if isinstance(handle, PathCollection):
            handle.set_sizes([30.0])


def inches_of(ax: "Axes") -> tuple[float, float]:
    """Width and height of what the axes and their labels share."""
    place, figure = ax.get_subplotspec(), ax.get_figure(root=False)
    box = figure.bbox  # type: ignore[union-attr]
    width, height = float(box.width / figure.dpi), float(box.height / figure.dpi)  # type: ignore[union-attr]
    if place is None:
        return width, height
    rows, columns = place.get_gridspec().get_geometry()
    return width * len(place.colspan) / columns, height * len(place.rowspan) / rows


def wrapped(text: str, letters: float) -> str:
    """Text in lines of so many letters, with what belongs together in one."""
    together = re.sub(r" (?=[%=≤])|(?<=[=≤]) |(?<=\bclass) ", "\u00a0", text).split("\n")
    lines = [line for part in together for line in wrap(part, int(letters), break_long_words=False)]
    return "\n".join(lines).replace("\u00a0", " ")


def set_title(ax: "Axes", title: str) -> None:
    """A title in the lines it needs, but not in more than a quarter of the height; above markers at the upper edge.

    Of several parts, each on a line of its own, what does not fit is left out from the last colon or semicolon on, or
    as a whole; the first one is cut.
    """
    width, height = inches_of(ax)
    letters, size, longest = 10.0 * width, "medium", LETTERS if width < WIDE * height else 2 * LETTERS
    if wrapped(title, max(20.0, min(longest, letters))).count("\n") > 1:
        letters, size = 1.2 * letters, "small"
    if title:
        most, shown = max(2, int((0.25 * height - 0.2) / 0.15)), list[str]()
        for part in title.split("\n"):
            ends = [len(part), *(one.start() for one in reversed(list(re.finditer("[:;] ", part))))]
            ways = [wrapped(part[:end], max(20.0, min(longest, letters))).split("\n") for end in ends]
            cut = [] if shown else [*ways[0][: most - 1], f"{ways[0][min(most, len(ways[0])) - 1]} ..."]
            shown += next((lines for lines in ways if len(shown) + len(lines) <= most), cut)
        ax.set_title("\n".join(shown).replace("$", r"\$"), fontsize=size, pad=14.0)


def set_labels(ax: "Axes", x: str, y: str, beside: float) -> None:
    """Labels of both axes, in several lines where one is too long, with some inches on the left of the axes.

    After title and names, which take some height.
    """
    width, height = inches_of(ax)
    title, names = ax.get_title(), set(ax.get_legend_handles_labels()[1])
    height -= 0.95 + 0.16 * len(names) + (0.16 * (title.count("\n") + 1) if title else 0.0)
    size, ratio = SIZES[0] if width < NARROW else ("medium", 12.0 / 13.0)
    ax.set_xlabel(wrapped(x, max(12.0, PER_INCH * ratio * (width - beside))), fontsize=size)
    ax.set_ylabel(wrapped(y, max(12.0, PER_INCH * ratio * height)), fontsize=size)
    if isinstance(ax.xaxis.get_major_locator(), _part_of_matplotlib("ticker", "labels").AutoLocator):
        # Square axes are as narrow as they are high.
        is_square = ax.get_box_aspect() is not None or ax.get_aspect() != "auto"
        across = min(width - beside, height) if is_square else width - beside
        ax.locator_params(axis="x", nbins=max(2, min(9, int(1.5 * across + 1.0))))


@own_errstate
def save(ax: "Axes", path: Any, **settings: Any) -> None:
    """Save the figure of some axes for print: PDF and PS with TrueType fonts, SVG with text as text.

    Publishers refuse the Type 3 fonts that matplotlib writes by default. Figures that are made here have TrueType fonts
    with ``plt.savefig`` too; of a figure of your own say ``plt.rcParams["pdf.fonttype"] = 42`` before.

    Parameters
    ----------
    ax
        Axes, as the functions of ``caltest.plots`` return them.
    path
        Of the file, whose ending is its format, or an open one.
    **settings
        Of ``matplotlib.figure.Figure.savefig``, such as ``dpi``.

    Examples
    --------
    >>> from io import BytesIO
    >>> import caltest as ct
    >>> ax = ct.plots.reliability_diagram([0.2, 0.7, 0.9], [0, 1, 1], rng=1)
    >>> file = BytesIO()
    >>> ct.plots.save(ax, file, format="pdf")
    >>> b"/Type3" in file.getvalue()
    False
    """
    figure = axes_of(ax, "save", (1.0, 1.0)).get_figure(root=True)
    from matplotlib import rc_context

    assert figure is not None
    with rc_context({"pdf.fonttype": 42, "ps.fonttype": 42, "svg.fonttype": "none"}):
        figure.savefig(path, **settings)


def title_of(result: CalibrationTestResult | None, n: int) -> str:
    """The p-value of a test of the n observations that are drawn, if there is one, and what it found."""
    if result is None:
        return ""
    instance_of(CalibrationTestResult, "the result of a calibration test")("result", result)
    if result.n != n:
        raise ValueError(f"result: got a test of {result.n} observations, wanted one of the {n} that are drawn")
    p = pvalue_phrase(result.pvalue, result.pvalue_kind == "bound", result.pvalue_otherwise)
    found = [] if result.finding is None else [result.finding.words.replace("perhaps: ", "perhaps ", 1)]
    return "\n".join([f"{p.replace('<=', '≤')} ({result.test})", result.predictions, *found])


def rank_of_ends(n_resamples: int, confidence_level: float) -> int:
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


MOST_OF_THEM = 0.99
"""The share of the predictions beside which curves set the limits: at the ends they can be far from what is usual."""


def beside_most(x: FloatArray, predictions: Bernoulli, *curves: FloatArray) -> list[FloatArray]:
    """Curves at those places x where most of the predictions are."""
    low, high = np.quantile(predictions.probability, [(1.0 - MOST_OF_THEM) / 2.0, (1.0 + MOST_OF_THEM) / 2.0])
    among = (x >= low) & (x <= high)
    return [curve[among] for curve in curves if among.any()]


def limits_of(values: Sequence[Array]) -> tuple[float, float]:
    """From 0 to 1, or the part of it that has the values, if that is less than half, as for rare events."""
    low, high = min(float(np.min(one)) for one in values), max(float(np.max(one)) for one in values)
    edge = max(0.05 * (high - low), 0.01 if high <= low else 0.0)
    return (0.0, 1.0) if high - low > 0.5 else (max(low - edge, 0.0), min(high + edge, 1.0))


GRADES, ROOM, MOST_AT_AN_END = 20, 0.1, 0.5
"""Different predictions that are few, as of rating grades, and the share of the axes in which half are one spot."""


def are_grades(predictions: Bernoulli) -> bool:
    """Whether there are few different predictions, half of them in one spot near 0 or near 1.

    As of grades of rare events, each of which has some times the probability of the one before.
    """
    p = predictions.probability
    places = np.unique(p[(p > 0.0) & (p < 1.0)])
    if not 2 < places.size <= GRADES:
        return False
    low, high = limits_of([places])
    room = ROOM * (high - low)
    at_ends = float(np.mean(places < low + room)), float(np.mean(places > high - room))
    return max(at_ends) >= MOST_AT_AN_END


def has_log_odds(ax: "Axes", predictions: Bernoulli, style: Style) -> bool:
    """Whether axes are of log-odds: as those of the first model, which are if its predictions are grades."""
    return are_grades(predictions) if style.first else ax.get_xscale() == "logit"


def limits_of_odds(predictions: Bernoulli, values: Sequence[Array]) -> tuple[float, float]:
    """Limits of axes of log-odds, beyond which frequencies of 0 and 1 are."""
    p = predictions.probability
    every = np.concatenate([p, *(np.ravel(one) for one in values)])
    odds, reach = (logit(some[(some > 0.0) & (some < 1.0)]) for some in (p, every))
    # Of grades near 1 it is the low end that frequencies reach beyond the predictions.
    low = odds.min() - 1.0 if odds.mean() < 0.0 else reach.min() - 0.5
    high = odds.max() + 1.0 if odds.mean() > 0.0 else reach.max() + 0.5
    return float(expit(low)), float(expit(high))


def ticks_of_odds(low: float, high: float) -> list[float]:
    """Round probabilities in the limits, on both sides of one half: with the digit 1, if few also with 3 or 2 and 5."""
    for digits in ((1.0,), (1.0, 3.0), (1.0, 2.0, 5.0)):
        small = [digit * 10.0**power for power in range(-12, 0) for digit in digits]
        ticks = [one for one in [*small, 0.5, *(1.0 - one for one in reversed(small))] if low <= one <= high]
        if len(ticks) > 2:
            break
    return sorted(set(ticks))


OF_TOP_LABELS = "temperature", "temperature of a class", "random labels", "other rows"
"""Kinds of faults of several classes that are seen in top labels."""


def binary_of(sample: Sample, result: CalibrationTestResult | None = None) -> tuple[Bernoulli, Array]:
    """Binary predictions and outcomes: of the lowest class that a result names, else of top labels if there are.

    ``TypeError`` for other families.
    """
    law, finding = sample.predictions.finite, None if result is None else result.finding
    if law is not None and law.to_array().ndim == 2 and finding is not None and finding.kind not in OF_TOP_LABELS:
        # Faults of two classes are those of class 1.
        places = finding.place.split(", ") if law.n_classes > 2 else [law.outcome_in_words(1)]
        named = (c for c in range(law.n_classes) if law.outcome_in_words(c) in places)
        if (c := next(named, None)) is not None:
            return classwise(sample.predictions, sample.as_given)[c]
    confidence, chosen = reduce_to_binary(sample.predictions)
    return confidence, (chosen == sample.targets).astype(np.intp)


def observed_and_band(
    sample: Sample, function: Callable[[Array], FloatArray], n_resamples: int, level: Any, rng: Any
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Values (m,) of a function of outcomes, and ends that hold all of them together with the level if calibrated."""
    number, share = whole_number("n_resamples", n_resamples, 19), fraction("confidence_level", level)
    observed = function(np.asarray(sample.targets)[None])
    drawn = redrawn(sample.predictions, function, number, generator_of(seed_of(rng)))
    low, high, _ = band_of_redraws(np.vstack([observed, drawn]), share)
    return observed[0], low, high


HISTOGRAM = 0.2
"""The share of the height of the axes that the histogram takes below them, with its distance."""


def finish(
    ax: "Axes",
    predictions: Bernoulli,
    title: str,
    style: Style,
    shown: Sequence[Array],
    note: str = "",
    within: tuple[float, float] = (0.0, 1.0),
) -> "Axes":
    """The diagonal, where the predictions are below the axes, limits by what is shown, labels, legend and title.

    Predictions that are not within an interval are counted at its ends.
    """
    p = predictions.probability.clip(*within)
    under: Any
    before, of_odds = [] if style.first else [np.array(ax.get_xlim())], has_log_odds(ax, predictions, style)
    if of_odds:
        low, high = limits_of_odds(predictions, [*shown, *before])
        low, high = min([low, *(float(one[0]) for one in before)]), max([high, *(float(one[1]) for one in before)])
    else:
        low, high = limits_of([p, *shown, *before])
    if style.first:
        ax.plot(*[[low, high] if of_odds else [0, 1]] * 2, color=DARK, linewidth=0.8, zorder=2)
        under = ax.inset_axes((0.0, -HISTOGRAM, 1.0, HISTOGRAM - 0.04))
        under.tick_params(labelsize="small")
        under.yaxis.tick_right()
        under.spines[["top", "left"]].set_visible(False)
        filled: dict[str, Any] = {"color": PALE}
    else:
        under = ax.child_axes[0]
        filled = {"histtype": "step", "color": style.color, "linestyle": style.kind}
    # Bins of all models are equally wide, 30 for the first.
    if of_odds:
        edges = expit(np.linspace(logit(low), logit(high), 31))
    else:
        width = (high - low) / 30.0 if style.first else under.patches[0].get_width()
        edges = low + width * np.arange(int(np.ceil((high - low) / width - 1e-9)) + 1)
    counts = under.hist(p, bins=edges, **filled)[0]
    most = max(float(np.max(counts)), 0.0 if style.first else float(under.get_yticks()[0]))
    if of_odds:
        for some in (ax, under):
            some.set_xscale("logit", nonpositive="clip")
        ax.set_yscale("logit", nonpositive="clip")
    under.set(xlim=(low, high), ylim=(0.0, 1.05 * most))
    under.set_yticks([most], [f"{most:.0f} rows"])
    x_label, y_label = f"predicted probability, {predictions.notion}", "observed frequency"
    if predictions.notion == "top label":
        x_label, y_label = "confidence of the top label", "accuracy"
    elif predictions.notion == "binary":
        outcome = predictions.outcome_in_words(1)
        x_label, y_label = f"predicted probability of {outcome}", f"observed frequency of {outcome}"
    ax.set(xlim=(low, high), ylim=(low, high), box_aspect=1.0)
    ended(ax, plain(x_label, 60), plain(y_label, 60), title, named=False)
    if of_odds:
        ticks = ticks_of_odds(low, high)
        for axis in (ax.xaxis, ax.yaxis, under.xaxis):
            axis.set_ticks(ticks, [f"{one:g}" for one in ticks])
            axis.set_ticks([], minor=True)
    elif (low, high) != (0.0, 1.0):
        for one in (ax, under):
            one.locator_params(axis="x", nbins=2 if inches_of(ax)[0] < NARROW else 4)
    # The ticks are those of the histogram, and the label is below them.
    ax.tick_params(labelbottom=False)
    ax.xaxis.set_label_coords(0.5, 0.0, transform=below(ax, HISTOGRAM, 18.0))
    legend(ax, HISTOGRAM, title=note)
    return ax


def svg_of(draw: Callable[..., Any], alternative: str, size: tuple[float, float]) -> str:
    """An SVG element of what a function draws into ``ax``, with what it shows in words.

    The size is in inches; the page sets the width that is shown.
    """
    import matplotlib
    from matplotlib.figure import Figure

    figure, out = Figure(figsize=size, layout="constrained"), StringIO()
    fonts: Any = {"svg.fonttype": "none", "font.family": "sans-serif", "font.sans-serif": ["DejaVu Sans", "Verdana"]}
    with matplotlib.rc_context(fonts | {"svg.hashsalt": alternative}):
        draw(ax=figure.add_subplot())
        figure.savefig(out, format="svg", metadata={"Date": None})
    svg = out.getvalue()
    svg = svg[svg.index("<svg") :]
    # Hundredths of points are enough, and a page of several models stays small.
    svg = re.sub(r'\s(?:d|x|y)="[^"]+"', lambda place: re.sub(r"(\.\d\d)\d+", r"\1", place[0]), svg)
    # Names in several pictures of one page must differ.
    mark = f"p{crc32(svg.encode()):x}"
    svg = re.sub(r'(id="|href="#|url\(#)', rf"\g<1>{mark}-", svg)
    named = f'<svg role="img" aria-label="{escape(alternative)}" viewBox='
    return printable(re.sub(r"<svg [^>]*?viewBox=", lambda _: named, svg, count=1))
