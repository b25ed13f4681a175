"""Tables as text, markdown, LaTeX, HTML and data frames, and pages of them."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from itertools import zip_longest
from math import floor, isfinite, log10
from textwrap import wrap
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from caltest._basics.calls import printable
from caltest._validation import fraction

Table = Sequence[Sequence[str]]
"""Rows of cells, the header first; the first column is text, the others are numbers."""

WIDTH, WIDEST = 80, 100
"""Characters in a line of a report, and in one of a table."""

SENTENCE = 40
"""Numbers and names in a column have at most so many characters; sentences get that many, or lines of their own."""

TINY = 1e-9
"""The least number whose digits are shown."""

LONG = 24
"""Characters of the longest word that folded columns keep whole."""

_LATEX = str.maketrans(
    {character: f"\\{character}" for character in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {"<": r"\textless{}", ">": r"\textgreater{}"}
)


def decimals(numbers: Iterable[float | None], least: int = 4) -> int:
    """Decimals of numbers of one kind: ``least``, and where all are below 0.01, three digits of the largest."""
    largest = max((abs(one) for one in numbers if one is not None and isfinite(one)), default=0.0)
    return 2 - floor(log10(largest)) if TINY <= largest < 0.01 else least


def in_decimals(numbers: Sequence[float | None], missing: str = "-", digits: int | None = None) -> list[str]:
    """Numbers of one kind as text, all with the same decimals."""
    digits = decimals(numbers) if digits is None else digits
    return [missing if one is None else f"{one:z.{digits}f}" for one in numbers]


def aligned(table: Table, width: int = WIDEST) -> list[str]:
    """Lines of columns of equal width: the first and words to the left, numbers to the right.

    Where lines would be too long, sentences after numbers are below their row, or cells are folded; columns that do not
    fit even so are below the others.
    """
    rows, said = sentences_apart(table, width)
    are_words = [any(row[c][:1].isalpha() for row in rows[1:]) for c in range(len(rows[0]))]
    sides = [str.ljust if c == 0 or are_words[c] else str.rjust for c in range(len(rows[0]))]
    tried = [_narrowed(rows, sides, width, spaces) for spaces in WHOLE]
    rows, widths = next((one for one in tried if _total(one[1]) <= width), tried[0])
    shown, lines = [0], []
    for c in range(1, len(widths) + 1):
        if c == len(widths) or _total([widths[one] for one in (*shown, c)]) > width:
            for row, sentence in zip(rows, said, strict=True):
                lines += _row([(row[one], widths[one], sides[one]) for one in shown])
                if sentence and c == len(widths):
                    lines += [f"    {line}" for line in _folded(sentence, width - 4)]
            shown = [0]
        shown.append(c)
    return [line.replace("\xa0", " ") for line in lines]


WHOLE = tuple(map(re.compile, (r" (?!\()", r" (?=%|to )|(?<=to) ", r" (?=%)|(?<=to) ")))
"""Spaces at which numbers are not folded: before brackets they are, and if columns fit then, after commas, or in ranges
too."""


def _narrowed(
    rows: Sequence[Sequence[str]], sides: Sequence[Any], width: int, spaces: re.Pattern[str]
) -> tuple[list[list[str]], list[int]]:
    """Rows with spaces within numbers that are none to fold at, and the widths to which columns are folded."""
    header, *body = (list(row) for row in rows)
    body = [
        [cell if side is str.ljust else spaces.sub("\xa0", cell) for cell, side in zip(row, sides, strict=True)]
        for row in body
    ]
    columns = list(zip(header, *body, strict=True))
    widths = [max(map(len, column)) for column in columns]
    for step in range(3):
        least = [_least(column, side is str.ljust, step) for column, side in zip(columns, sides, strict=True)]
        while _total(widths) > width and any(one > some for one, some in zip(widths, least, strict=True)):
            widths[max(range(len(widths)), key=lambda c: widths[c] - least[c])] -= 1
    return [header, *body], widths


def sentences_apart(table: Table, width: int = 0) -> tuple[list[list[str]], list[str]]:
    """Rows without their last cells, and these, the heading first; the whole rows and empty texts otherwise.

    Where numbers leave too little of a line for sentences in the last column.
    """
    rows = [[in_a_line(cell) for cell in row] for row in table]
    others, last = [row[:-1] for row in rows], [row[-1] for row in rows]
    room = width - _total([max(map(len, column)) for column in zip(*others, strict=True)]) - 2
    are_numbers = len(rows[0]) > 2 and not any(cell[:1].isalpha() for row in others[1:] for cell in row[1:])
    if are_numbers and room < SENTENCE < max(map(len, last)):
        return others, last
    return rows, [""] * len(rows)


def _least(column: Sequence[str], is_text: bool, step: int) -> int:
    """To which width a column is folded, words being whole: first headings and sentences, then names, then numbers."""
    header, *body = column
    is_whole = (step < 2 and not is_text) or (step == 0 and max(map(len, column)) <= SENTENCE)
    words = [*header.split(), *body] if is_whole else " ".join(column).split(" ")
    return min(LONG, max(map(len, words), default=0)) + 2 * (is_text and not is_whole)


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + 2 * (len(widths) - 1)


def _row(cells: Sequence[tuple[str, int, Callable[[str, int], str]]]) -> list[str]:
    """The lines of a row from its cells, their widths and sides."""
    folded = [_folded(cell, width, _hanging(cell) if side is str.ljust else "") for cell, width, side in cells]
    lines = zip_longest(*folded, fillvalue="")
    return [
        "  ".join(side(one, width) for one, (_, width, side) in zip(line, cells, strict=True)).rstrip()
        for line in lines
    ]


def markdown(table: Table, remarks: Sequence[str] = ()) -> str:
    """A table in pipes, with what means something to markdown escaped, and remarks below it."""
    header, *body = ([in_markdown(cell).replace("|", "\\|") for cell in row] for row in table)
    rule = ["---", *(["---:"] * (len(header) - 1))]
    rows = "\n".join(f"| {' | '.join(row)} |" for row in (header, rule, *body))
    return "\n\n".join([rows, *map(in_markdown, remarks)])


def in_markdown(text: str) -> str:
    """A line of text without tags, references to characters, links and marks of emphasis or code."""
    line = TAG.sub("&lt;", _ENTITY.sub("&amp;", in_a_line(text)))
    return _MARK.sub(r"\\\g<0>", line)


def latex(table: Table, remarks: Sequence[str] = ()) -> str:
    """A tabular with the rules of the package booktabs, and remarks below the last one."""
    # After the end of a row brackets and stars are arguments.
    rows = (" & ".join(escaped(cell) for cell in row) + r" \\" for row in table)
    header, *body = (f"{{{row[0]}}}{row[1:]}" if row[0] in "[*" else row for row in rows)
    columns = "l" + "r" * (len(table[0]) - 1)
    rules = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", header, r"\midrule", *body, r"\bottomrule"]
    rules += [rf"\multicolumn{{{len(table[0])}}}{{l}}{{{escaped(remark)}}} \\" for remark in remarks]
    return "\n".join([*rules, r"\end{tabular}"])


def escaped(text: str) -> str:
    """A line of text without characters that mean something to LaTeX."""
    return in_a_line(text).translate(_LATEX)


STANDS_OUT = 0.05
"""Level of what stands out in pictures."""


NUMBER = "number"
"""The unit of sums of counts, and of numbers of events."""


class Bar(NamedTuple):
    """A line of a forest plot: an estimate with its interval, if it has one, and what it should be.

    ``usual`` is the range of estimates that do not stand out, drawn in place of the reference; a ``part`` of a sum is
    drawn as long as it is.
    """

    name: str
    estimate: float
    interval: Iterable[float] | None
    reference: float | None
    of_reference: str
    unit: str
    stands_out: bool
    usual: tuple[float, float] | None = None
    part: bool = False

    def cells(self) -> list[str]:
        """A row of a table."""
        interval = "" if self.interval is None else " to ".join(f"{end:.3g}" for end in self.interval)
        return [self.name, f"{self.estimate:.3g}", interval, "" if self.reference is None else f"{self.reference:.3g}"]

    def entries(self) -> dict[str, Any]:
        """Its numbers by their names."""
        low, high = self.interval or (None, None)
        numbers = {"estimate": self.estimate, "low": low, "high": high, self.of_reference: self.reference}
        return {"name": self.name, **numbers}


def sharper(bars: Sequence[Bar]) -> list[str]:
    """A remark where intervals hold what the p-values of their lines reject."""
    some = [(one.reference, one.interval) for one in bars if one.stands_out and one.interval is not None]
    if not any(value is not None and low <= value <= high for value, (low, high) in some):
        return []
    return ["p-values and intervals come from different tests and can disagree"]


class Grid(NamedTuple):
    """A table in a page."""

    rows: Table


Part = Mapping[str, str | None] | Sequence[str] | Grid
"""What a page is made of: names with their texts, none where the text is None; lines; or a table."""


def in_a_line(text: str) -> str:
    """Printable text, with ends of lines and tabs written as Python writes them, too."""
    return "".join(repr(one)[1:-1] if one in "\n\t" else one for one in printable(text))


TAG, _ENTITY = re.compile(r"<(?=[A-Za-z/!?])"), re.compile(r"&(?=#?\w+;)")
"""What markdown takes for HTML."""

_MARK = re.compile(r"[\\`*$]|~(?=~)|(?<![^\W_])_|_(?![^\W_])|\](?=[(\[])")
"""Other characters that mean something to it; underscores do at ends of words."""


ASKED = "First check"
"""Name of questions about the data in a page."""


class Page(str):
    """A report as text, which knows its parts so that it has an HTML form too."""

    heading: str
    parts: tuple[Part, ...]
    notes: tuple[str, ...]

    def __new__(cls, title: str, *parts: Part, notes: Sequence[str] = ()) -> "Page":
        """A title, parts below each other, and notes; those that ask something come right after the verdict."""
        parts, notes = _with_questions(parts, notes)
        new = super().__new__(cls, _text(title, parts, notes, WIDEST))
        new.heading, new.parts, new.notes = title, parts, tuple(notes)
        return new

    def narrow(self) -> str:
        """The text with tables folded to its width."""
        return _text(self.heading, self.parts, self.notes, WIDTH)

    def html(self) -> str:
        """A fragment without scripts or colours of its own, readable on light and dark ground.

        Names with texts and tables that come first are shown, the rest can be opened.
        """
        shown, rest = _blocks(self.parts[:FIRST]), _blocks(self.parts[FIRST:])
        notes = "".join(f"<p>Note: {escape(note)}</p>" for note in self.notes)
        more = f"<details><summary>Details</summary>{rest}{notes}</details>" if rest or notes else ""
        return printable(f'<div class="caltest"><p><b>{escape(self.heading)}</b></p>{shown}{more}</div>')


def asked_in(notes: Sequence[str]) -> tuple[str | None, list[str]]:
    """What notes ask about the data, on whose answer all the rest depends, and the other notes."""
    asked = [note for note in notes if note.endswith("?")]
    return " ".join(asked) or None, [note for note in notes if note not in asked]


def _with_questions(parts: tuple[Part, ...], notes: Sequence[str]) -> tuple[tuple[Part, ...], Sequence[str]]:
    """Parts with what the notes ask after the verdict, and the other notes."""
    asked, others = asked_in(notes)
    if asked is None or not parts or not isinstance(parts[0], Mapping):
        return parts, notes
    first = list(parts[0].items())
    first.insert(int(dict(first[:1]).keys() == {"Verdict"}), (ASKED, asked))
    return (dict(first), *parts[1:]), others


def _text(title: str, parts: Sequence[Part], notes: Sequence[str], widest: int) -> str:
    lines = [*_folded(title), "-" * min(len(title), WIDTH)]
    for part in parts:
        if isinstance(part, Grid):
            lines += [f"  {line}" for line in aligned(part.rows, widest - 2)]
        elif isinstance(part, Mapping):
            names = max([14, *(len(name) for name, text in part.items() if text is not None)])
            for name, text in part.items():
                lines += [] if text is None else _folded(f"{name:<{names}} {text}", indent=" " * (names + 1))
        else:
            for line in part:
                lines += _folded(line, indent=_hanging(line))
    for note in notes:
        lines += _folded(f"Note: {note}", indent=" " * 6)
    return "\n".join(lines)


def _hanging(line: str) -> str:
    return " " * (len(line) - len(line.lstrip()) + 2)


def _folded(text: str, width: int = WIDTH, indent: str = "") -> list[str]:
    """Lines of at most a width, all but the first indented; at least one."""
    line = in_a_line(text)
    if len(line) <= width:
        return [line]
    # A number stays beside its percent sign.
    lines = wrap(line.replace(" %", "\xa0%"), width, subsequent_indent=indent, break_on_hyphens=False)
    return [line.replace("\xa0%", " %") for line in lines]


FIRST = 3
"""Parts of a page that its HTML form shows at once."""

_LEFT = ' style="text-align:left;vertical-align:top"'

_STAYS = ' style="position:sticky;left:0;max-width:90vw;white-space:normal"'
"""In view, whichever numbers of a wide table are."""


def _blocks(parts: Sequence[Part]) -> str:
    return "".join(_block(part) for part in parts if any(part))


def _block(part: Part) -> str:
    if isinstance(part, Grid):
        return html_table(part.rows)
    if isinstance(part, Mapping):
        rows = (
            f"<tr><th{_LEFT}>{escape(name)}</th><td{_LEFT}>{escape(text)}</td></tr>"
            for name, text in part.items()
            if text is not None
        )
        return f"<table>{''.join(rows)}</table>"
    return f"<pre>{escape(chr(10).join(part).strip(chr(10)))}</pre>"


def html_table(table: Table) -> str:
    """A table whose first column is text and whose others are numbers; sentences are below their row."""
    (header, *body), (name, *said) = sentences_apart(table)

    def line(tag: str, cells: Sequence[str], sentence: str) -> str:
        row = "".join(f"<{tag}{_LEFT if i == 0 else ''}>{escape(cell)}</{tag}>" for i, cell in enumerate(cells))
        below = f'<tr><{tag} colspan="{len(cells)}"{_LEFT}><div{_STAYS}>{escape(sentence)}</div></{tag}></tr>'
        return f"<tr>{row}</tr>{below if sentence else ''}"

    rows = "".join(line("td", row, sentence) for row, sentence in zip(body, said, strict=True))
    return f"<table><thead>{line('th', header, name)}</thead><tbody>{rows}</tbody></table>"


R = TypeVar("R")


class NamedRows(Generic[R]):
    """A result whose rows can be asked for by their names."""

    _rows: ClassVar[str] = "rows"
    """The field that has them."""

    def __getitem__(self, name: str) -> R:
        """The row of a name; ``KeyError`` says which there are."""
        known: dict[str, R] = {row.name: row for row in getattr(self, self._rows)}
        if name not in known:
            raise KeyError(f"got {name!r}, wanted one of {', '.join(map(repr, known))}")
        return known[name]


class AdjustedRows(NamedRows[R]):
    """A result whose rows have p-values that are adjusted for all of them."""

    _adjusted: ClassVar[str] = "adjusted"
    """The field of a row that has its one."""

    def rejected(self, alpha: float = 0.05) -> tuple[str, ...]:
        """Names of the rows with an adjusted p-value of at most alpha."""
        level = fraction("alpha", alpha)
        return tuple(one.name for one in getattr(self, self._rows) if getattr(one, self._adjusted) <= level)


def entries_of(row: Any) -> dict[str, Any]:
    """Stored fields of a row; in place of an ``interval`` its ends, beside others with a name of their own theirs."""
    entries: dict[str, Any] = {}
    ends: dict[str, Any] = {}
    for name, field in row.__dataclass_fields__.items():
        value = getattr(row, name)
        if name in getattr(row, "not_stored", ()):
            continue
        if "ConfidenceInterval" not in str(field.type):
            entries[name] = value
        elif name != "interval":
            entries[name] = None if value is None else value.estimate
            ends[f"{name}_low"], ends[f"{name}_high"] = value or (None, None)
    if hasattr(row, "interval"):
        ends["low"], ends["high"] = row.interval or (None, None)
    return entries | ends
