"""What results are made of, intervals, effect sizes and findings, and how they become dictionaries and back."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import wraps
from html import escape
from importlib import import_module
from inspect import signature
from math import inf, isfinite, sqrt
from types import UnionType
from typing import Any, ClassVar, Literal, Self, Union, cast, get_args, get_origin, get_type_hints

import numpy as np
import scipy

from caltest._basics.calls import OwnErrstate
from caltest._laws import clopper_pearson
from caltest._results.citations import entries
from caltest._results.tables import Bar, Grid, Page, Part, Table, entries_of, in_a_line, latex, markdown
from caltest._validation import in_short, one_of

JACKKNIFE = "jackknife, normal limit"
"""The method of intervals from the jackknife variance."""

CLOPPER_PEARSON, KORN_GRAUBARD, GARWOOD = "Clopper and Pearson", "Korn and Graubard", "Garwood"
"""Those of intervals of frequencies, of independent outcomes and of dependent ones, and of numbers of events."""


def _say_in_a_line(kind: Any, *names: str) -> None:
    """Let methods of a class return one line of printable text, whatever is in names that users give."""
    for name in names:
        if name in vars(kind):
            setattr(kind, name, _in_a_line(vars(kind)[name]))


def _in_a_line(method: Any) -> Any:
    @wraps(method)
    def call(*arguments: Any, **named: Any) -> Any:
        text = method(*arguments, **named)
        return None if text is None else in_a_line(text)

    return call


class Entry:
    """A part of a result."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        _say_in_a_line(cls, "__repr__", "__str__")

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, strings and lists, ready for JSON; infinite numbers are strings."""
        return {name: plain(getattr(self, name)) for name in stored_fields(type(self))}


@dataclass(frozen=True)
class ConfidenceInterval(Entry):
    """An interval for an error, a difference or a rate. ``low, high = interval`` takes it apart.

    Attributes
    ----------
    low, high
        Ends, ``inf`` where there is none.
    confidence_level, method
        Between 0 and 1, and how the interval was made, in words.
    estimate
        What it is around, if there is one number; cut at 0 as the interval is.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> interval = ct.AsymptoticBlockSKCETest(p.default_kernel(), block_size=20)(p, y).confidence_interval()
    >>> low, high = interval
    >>> round(low, 6), high
    (0.000464, inf)
    """

    low: float
    high: float
    confidence_level: float
    method: str
    estimate: float | None = None

    @property
    def ends(self) -> tuple[float, float]:
        """Both ends."""
        return self.low, self.high

    def excludes(self, value: float) -> bool:
        """Whether a value is outside."""
        return not self.low <= value <= self.high

    def root(self) -> Self:
        """The interval for the square root of the quantity: for the KCE, if it is for the SKCE.

        It covers the root whenever the interval covers the quantity, which is at least 0.
        """
        estimate = None if self.estimate is None else sqrt(max(0.0, self.estimate))
        low, high = sqrt(max(0.0, self.low)), sqrt(max(0.0, self.high))
        return replace(self, low=low, high=high, estimate=estimate)

    def __iter__(self) -> Any:
        """The two ends, so that ``low, high = interval`` works."""
        return iter((self.low, self.high))

    def __str__(self) -> str:
        return f"[{self.low:.4g}, {self.high:.4g}] ({100 * self.confidence_level:g} %, {self.method})"


def is_of_number(interval: ConfidenceInterval | None) -> bool:
    """Whether it is for an expected number of events, or of counts."""
    return interval is not None and interval.method.startswith(GARWOOD)


Side = Literal["two-sided", "upper", "lower"]


def checked_side(side: str) -> Side:
    """Raise ``ValueError`` for anything else."""
    one_of("side", side, get_args(Side))
    return cast("Side", side)


def within(
    side: Side, low: float, high: float, largest: float, level: float, method: str, estimate: float
) -> ConfidenceInterval:
    """The interval of a side, between 0 and the largest possible value, as its estimate is."""
    low, high = -inf if side == "upper" else low, inf if side == "lower" else high
    low, high, estimate = min(max(0.0, low), largest), max(0.0, min(high, largest)), min(max(0.0, estimate), largest)
    return ConfidenceInterval(float(low), float(high), level, method, estimate)


def normal_interval(estimate: float, standard_error: float, level: float, method: str) -> ConfidenceInterval:
    """As far to both sides as a normal variable of that standard deviation is with a probability of the level."""
    reach = float(scipy.special.ndtri((1.0 + level) / 2.0)) * standard_error
    return ConfidenceInterval(estimate - reach, estimate + reach, level, method, estimate)


def share_interval(count: float, n: int, level: float, effect: float | None = None) -> ConfidenceInterval:
    """That of Clopper and Pearson around the observed share; with a design effect that of Korn and Graubard."""
    ends = clopper_pearson(count / (effect or 1.0), n / (effect or 1.0), level)
    return ConfidenceInterval(*ends, level, CLOPPER_PEARSON if effect is None else KORN_GRAUBARD, count / n)


@dataclass(frozen=True)
class EffectSize(Entry):
    """How large an error is, beside the p-value that says how surprising it is.

    The value is about 0 for calibrated predictions; the unit says what it is.

    Notes
    -----
    Kernel errors: the estimated KCE, the root of the SKCE, divided by the largest value that it can have with the
    kernel, a number between 0 and 1; 0 for negative estimates. Test locations: the root of the mean square of the
    witness function. Binned errors: the estimate minus its mean if the predictions are calibrated, which is positive;
    known from tests that redraw; others give the estimate, noise included. Scores: the excess over what the predictions
    expect, per observation. Log likelihood ratios: per observation.

    Statistics that grow with n are brought back to what they measure: those of Hosmer and Lemeshow, Anderson and
    Darling and of quantiles to root mean squares of standardised differences, likelihood ratios of logistic
    recalibration to nats per observation, cumulative differences to shares of the observations, T-Cal to the error of
    its cells; what calibrated predictions have on average is subtracted before. What is estimated from n observations
    still has noise in it: ``noise_floor`` says how much.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["naive Bayes"]
    >>> print(ct.calibration_test(p, y, rng=1).effect_size)
    0.068 (KCE as a share of its largest value)
    """

    value: float
    unit: str

    def __str__(self) -> str:
        return f"{self.value:.3g} ({self.unit})"


@dataclass(frozen=True)
class Finding(Entry):
    """The fault that explains the outcomes best, or a runner-up. Printing it gives the words.

    It depends on predictions and outcomes only, not on redraws, and is no part of the p-value.

    Attributes
    ----------
    words
        What is wrong and where, with the size and its interval.
    kind
        ``"temperature"``, ``"shift"``, ``"scale"``, ...: the kinds of each family are in the documentation of findings.
    place
        The class, coordinate or part of the predictions that is meant; empty if all are.
    estimate
        The size of largest likelihood: a factor, a share, a number of standard deviations.
    interval
        Its 95 % interval by the likelihood.
    gain
        Logarithm of the likelihood ratio to calibration, less a penalty for the choice; above 0 if the fault is clear.
    second
        What is clear in the same way once predictions are corrected for this fault, as the words say too; else None.
    scope
        What is wrong: ``"level"``, how often a rare event happens; ``"all"`` predictions, ``"places"`` among them, a
        ``"wave"`` of them, or the ``"shape"`` of what is predicted; empty where that is not known. It is not stored.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> finding = ct.calibration_test(p, y, rng=1).finding
    >>> finding.kind, round(finding.estimate, 2)
    ('temperature', 0.24)
    """

    words: str
    kind: str = ""
    place: str = ""
    estimate: float | None = None
    interval: ConfidenceInterval | None = None
    gain: float | None = None
    second: "Finding | None" = None
    scope: str = field(default="", repr=False, compare=False)

    not_stored = ("scope",)

    def __str__(self) -> str:
        return self.words

    @property
    def is_doubtful(self) -> bool:
        """Whether the fault is named only because the test rejects."""
        return self.words.startswith(PERHAPS)


PERHAPS = "perhaps: "
"""Before words of a fault that is not clear by itself."""


def impossible(words: str) -> Finding:
    """That outcomes occurred which their predictions exclude."""
    return Finding(words, "impossible outcome")


SCHEMA = 1
"""Version of the form of the dictionaries; another one cannot be read."""


class Stored(OwnErrstate, ABC):
    """A result with rows that can be exported; it becomes a dictionary of plain numbers, and is read back from it."""

    not_stored: ClassVar[tuple[str, ...]] = ()
    """Fields that are None in results that are read back."""
    picture: ClassVar[str] = ""
    """The function of ``caltest.plots`` that draws the result, or empty."""
    no_picture: ClassVar[str] = ""
    """Why there is no picture, where there is none."""
    derived: ClassVar[tuple[str, ...]] = ()
    """Properties that the dictionary has too."""

    citations: tuple[str, ...] = ()
    """Sources of the methods."""

    def __init_subclass__(cls, **options: Any) -> None:
        _say_in_a_line(cls, "__repr__", "sentence", "verdict", "why")
        super().__init_subclass__(**options)

    @abstractmethod
    def summary(self) -> str:
        """The report that ``print`` shows."""

    @abstractmethod
    def sentence(self) -> str:
        """One sentence for a paper, or for whoever asks."""

    def __str__(self) -> str:
        return self.summary()

    def plot(self, **settings: Any) -> Any:
        """The picture that explains the result, drawn by a function of ``caltest.plots`` with its settings.

        Returns the axes, those that are given as ``ax`` if there are some; of a picture with several panels, such as
        that of several lead times, the list of them, or of those given as ``axes``. Needs matplotlib. ``TypeError`` for
        results without a picture.
        """
        if not self.picture:
            raise TypeError(f"plot: there is no picture of {type(self).__name__}: {self.no_picture}")
        draw = getattr(import_module("caltest.plots"), self.picture)
        if "ax" in settings and "ax" not in signature(draw).parameters:
            settings["axes"] = [settings.pop("ax")]
        drawn = draw(self, **settings)
        return drawn[0] if isinstance(drawn, list) and len(drawn) == 1 else drawn

    def _repr_html_(self) -> str:
        """The summary for notebooks."""
        text = self.summary()
        return text.html() if isinstance(text, Page) else f"<pre>{escape(text)}</pre>"

    def bars(self) -> list[Bar]:
        """Estimates with their intervals, for ``plots.forest``."""
        return []

    def table(self) -> Table:
        """Header and rows as text, by default the bars."""
        bars = self.bars()
        return [["", bars[0].unit, "interval", bars[0].of_reference], *(one.cells() for one in bars)]

    def remarks(self) -> list[str]:
        """What to say below the table, wherever it is printed."""
        return []

    def row_entries(self) -> list[dict[str, Any]]:
        """Plain numbers and strings of each of the ``rows``, or else of the bars, by their names; of intervals ends."""
        rows: Any = getattr(self, "rows", None)
        return [one.entries() for one in self.bars()] if rows is None else list(map(entries_of, rows))

    def _page(
        self,
        title: str,
        found: Mapping[str, str | None],
        what: Mapping[str, str | None],
        *more: Part,
        notes: Sequence[str] = (),
    ) -> Page:
        """A report: what was found, the table with its remarks and more tables, what was done, and notes."""
        remarks = [f"  {one}" for one in self.remarks()]
        return Page(title, found, [""], Grid(self.table()), remarks, *more, [""], what, notes=notes)

    def to_markdown(self) -> str:
        """The table in markdown, with remarks below it."""
        return markdown(self.table(), self.remarks())

    def to_latex(self) -> str:
        """The table in LaTeX, for the package booktabs; names are escaped."""
        return latex(self.table(), self.remarks())

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame`` with the same rows; ``ImportError`` if pandas is missing."""
        try:
            pandas = import_module("pandas")
        except ImportError:
            raise ImportError("to_pandas: pandas is missing; pip install pandas, or use to_dict()") from None
        entries = self.row_entries()
        return pandas.DataFrame(entries, columns=None if entries else ["name"]).set_index("name")

    def bibtex(self) -> str:
        """BibTeX entries of the methods."""
        return entries(self.citations)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, strings and lists, ready for JSON and for ``from_dict``; infinite numbers are strings."""
        from caltest import __version__

        header = {"result": type(self).__name__, "schema": SCHEMA, "caltest": __version__}
        return header | {name: plain(getattr(self, name)) for name in (*stored_fields(self), *self.derived)}

    @classmethod
    def from_dict(cls, entries: Mapping[str, Any]) -> Self:
        """The result that ``to_dict`` described; what else the dictionary holds is ignored.

        ``TypeError`` for anything other than a dictionary, ``ValueError`` for another result, another schema, missing
        entries, or entries of another type.
        """
        name = cls.__name__
        if not isinstance(entries, Mapping):
            raise TypeError(f"entries: got {type(entries).__name__}, wanted the dictionary of {name}.to_dict()")
        if entries.get("result") != name:
            raise ValueError(f"entries: got the result {entries.get('result')!r}, wanted {name!r}, as to_dict() gives")
        if entries.get("schema") != SCHEMA:
            raise ValueError(
                f"entries: got schema {entries.get('schema')!r} of caltest {entries.get('caltest')}, wanted {SCHEMA}; "
                "read it with that version of caltest"
            )
        missing = [field for field in stored_fields(cls) if field not in entries]
        if missing:
            raise ValueError(f"entries: got no {', '.join(missing)}, wanted all that {name}.to_dict() gives")
        hints = get_type_hints(cls)
        found = {field: cls._restored(field, hints[field], entries[field]) for field in stored_fields(cls)}
        return cls(**found, **dict.fromkeys(cls.not_stored))

    @classmethod
    def _restored(cls, name: str, hint: Any, value: Any) -> Any:
        """A field from its entry."""
        return restored(hint, value, name)


def stored_fields(kind: Any) -> list[str]:
    """Names of the fields of a dataclass, but for those that it says are not stored."""
    return [item.name for item in fields(kind) if item.name not in getattr(kind, "not_stored", ())]


def plain(value: Any) -> Any:
    """What JSON knows: numbers, strings, lists and dictionaries."""
    if isinstance(value, (Stored, Entry)):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (tuple, list, np.ndarray)):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    return str(value) if isinstance(value, float) and not isfinite(value) else value


def restored(hint: Any, value: Any, name: str) -> Any:
    """A value of a type from what ``plain`` made of it; ``ValueError`` if it was made of something else."""
    origin, kinds = get_origin(hint) or hint, get_args(hint)
    if origin in (Union, UnionType):
        others = [kind for kind in kinds if kind is not type(None)]
        return None if value is None and len(others) < len(kinds) else restored(others[0], value, name)
    if origin is Literal:
        return _checked(value, value in kinds, name, f"one of {', '.join(map(repr, kinds))}")
    if origin is float:
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and value == value
        return float(_checked(value, is_number or value in ("inf", "-inf"), name, "a number"))
    if origin is int:
        return _checked(value, isinstance(value, int) and not isinstance(value, bool), name, "a whole number")
    if origin in (str, bool):
        return _checked(value, isinstance(value, origin), name, "a string" if origin is str else "True or False")
    if is_dataclass(origin) or origin is Mapping:
        _checked(value, isinstance(value, Mapping), name, "a dictionary")
        return _from_entries(origin, kinds, value, name)
    _checked(value, isinstance(value, list), name, "a list")
    if origin is tuple:
        return tuple(restored(kinds[0], item, f"{name}[{i}]") for i, item in enumerate(value))
    array = np.array([restored(float, item, f"{name}[{i}]") for i, item in enumerate(value)], dtype=np.float64)
    array.flags.writeable = False
    return array


def _from_entries(kind: Any, kinds: tuple[Any, ...], entries: Mapping[str, Any], name: str) -> Any:
    if kind is Mapping:
        return {key: restored(kinds[1], item, f"{name}[{key!r}]") for key, item in entries.items()}
    if issubclass(kind, Stored):
        return kind.from_dict(entries)
    hints, names = get_type_hints(kind), stored_fields(kind)
    missing = [field for field in names if field not in entries]
    _checked(dict(entries), not missing, name, f"{', '.join(missing)} too")
    return kind(**{field: restored(hints[field], entries[field], f"{name}.{field}") for field in names})


def _checked(value: Any, is_right: bool, name: str, wanted: str) -> Any:
    if not is_right:
        raise ValueError(f"{name}: got {in_short(value)}, wanted {wanted}")
    return value
