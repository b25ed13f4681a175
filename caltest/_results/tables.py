"""Tables as text, markdown, LaTeX, HTML and data frames, and pages of them."""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib import import_module
from textwrap import wrap
from typing import Any, NamedTuple
from unicodedata import category

Table = Sequence[Sequence[str]]
"""Rows of cells, the header first; the first column is text, the others are numbers."""

SENTENCE = 40
"""Numbers and names in a column have at most so many characters."""

_LATEX = str.maketrans(
    {character: f"\\{character}" for character in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {"<": r"\textless{}", ">": r"\textgreater{}"}
)


def aligned(table: Table) -> str:
    """Columns of equal width: the first to the left, as sentences in the last one, the others to the right."""
    widths = [max(len(row[c]) for row in table) for c in range(len(table[0]))]
    sides = [str.ljust, *[str.rjust] * (len(widths) - 1)]
    if widths[-1] > SENTENCE:
        sides[-1] = str.ljust
    lines = ((side(cell, width) for side, cell, width in zip(sides, row, widths, strict=True)) for row in table)
    return "\n".join("  ".join(line).rstrip() for line in lines)


def markdown(table: Table, remarks: Sequence[str] = ()) -> str:
    """A table in pipes, with bars and tags in cells escaped, and remarks below it."""
    header, *body = (
        [TAG.sub("&lt;", in_a_line(cell).replace("\\", "\\\\").replace("|", "\\|")) for cell in row] for row in table
    )
    rule = ["---", *(["---:"] * (len(header) - 1))]
    rows = "\n".join(f"| {' | '.join(row)} |" for row in (header, rule, *body))
    return "\n\n".join([rows, *remarks])


def latex(table: Table, remarks: Sequence[str] = ()) -> str:
    """A tabular with the rules of the package booktabs, and remarks below the last one."""
    header, *body = (" & ".join(escaped(cell) for cell in row) + r" \\" for row in table)
    columns = "l" + "r" * (len(table[0]) - 1)
    rules = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", header, r"\midrule", *body, r"\bottomrule"]
    rules += [rf"\multicolumn{{{len(table[0])}}}{{l}}{{{escaped(remark)}}} \\" for remark in remarks]
    return "\n".join([*rules, r"\end{tabular}"])


def escaped(text: str) -> str:
    """A line of text without characters that mean something to LaTeX."""
    return in_a_line(text).translate(_LATEX)


STANDS_OUT = 0.05
"""Level of what stands out in pictures."""


class Bar(NamedTuple):
    """A line of a forest plot: an estimate with its interval, if it has one, and what it should be."""

    name: str
    estimate: float
    interval: Iterable[float] | None
    reference: float | None
    of_reference: str
    unit: str
    stands_out: bool


class Grid(NamedTuple):
    """A table in a page."""

    rows: Table


Part = Mapping[str, str | None] | Sequence[str] | Grid
"""What a page is made of: names with their texts, none where the text is None; lines; or a table."""


def printable(text: str) -> str:
    """Text whose control and format characters, which terminals obey, are written as Python writes them."""
    plain = (one.isprintable() or one in "\n\t" or category(one)[0] != "C" for one in text)
    return "".join(one if is_plain else repr(one)[1:-1] for one, is_plain in zip(text, plain, strict=True))


def in_a_line(text: str) -> str:
    """The same with ends of lines and tabs written in this way, too."""
    return "".join(repr(one)[1:-1] if one in "\n\t" else one for one in printable(text))


TAG = re.compile(r"<(?=[A-Za-z/!])")
"""What markdown takes for HTML."""


class Page(str):
    """A report as text, which knows its parts so that it has an HTML form too."""

    heading: str
    parts: tuple[Part, ...]
    notes: tuple[str, ...]

    def __new__(cls, title: str, *parts: Part, notes: Sequence[str] = ()) -> "Page":
        """A title, parts below each other, and notes."""
        new = super().__new__(cls, _text(title, parts, notes, None))
        new.heading, new.parts, new.notes = title, parts, tuple(notes)
        return new

    def wrapped(self, width: int) -> str:
        """The text with lines of at most so many letters, but for tables."""
        return _text(self.heading, self.parts, self.notes, width)

    def html(self) -> str:
        """A fragment without scripts or colours of its own, readable on light and dark ground.

        Names with texts and tables that come first are shown, the rest can be opened.
        """
        shown, rest = _blocks(self.parts[:FIRST]), _blocks(self.parts[FIRST:])
        notes = "".join(f"<p>Note: {escape(note)}</p>" for note in self.notes)
        more = f"<details><summary>Details</summary>{rest}{notes}</details>" if rest or notes else ""
        return printable(f'<div class="caltest"><p><b>{escape(self.heading)}</b></p>{shown}{more}</div>')


def _text(title: str, parts: Sequence[Part], notes: Sequence[str], width: int | None) -> str:
    lines = [title, "-" * len(title)]
    for part in parts:
        if isinstance(part, Grid):
            lines += [f"  {line}" for line in aligned(part.rows).splitlines()]
        elif isinstance(part, Mapping):
            names = max([14, *(len(name) for name, text in part.items() if text is not None)])
            for name, text in part.items():
                lines += [] if text is None else _folded(f"{name:<{names}} {text}", width, " " * (names + 1))
        else:
            lines += part
    for note in notes:
        lines += _folded(f"Note: {note}", width, "      ")
    return printable("\n".join(lines))


def _folded(line: str, width: int | None, indent: str) -> list[str]:
    if width is None or len(line) <= width:
        return [line]
    return wrap(line, width, subsequent_indent=indent, drop_whitespace=True, break_long_words=False)


FIRST = 3
"""Parts of a page that its HTML form shows at once."""

_LEFT = ' style="text-align:left;vertical-align:top"'


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
    """A table whose first column is text and whose others are numbers."""
    header, *body = table
    head = "".join(f"<th{_LEFT if i == 0 else ''}>{escape(cell)}</th>" for i, cell in enumerate(header))
    rows = ("".join(f"<td{_LEFT if i == 0 else ''}>{escape(cell)}</td>" for i, cell in enumerate(row)) for row in body)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(f'<tr>{row}</tr>' for row in rows)}</tbody></table>"


class TabularResult(ABC):
    """A result with rows that can be exported."""

    @abstractmethod
    def table(self) -> Table:
        """Header and rows as text."""

    def remarks(self) -> list[str]:
        """What to say below the table, wherever it is printed."""
        return []

    def row_entries(self) -> list[dict[str, Any]]:
        """Plain numbers and strings of each of the ``rows``, by their names; of intervals the ends."""
        result: Any = self
        return [entries_of(row) for row in result.rows]

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
        return pandas.DataFrame(self.row_entries()).set_index("name")


def entries_of(row: Any) -> dict[str, Any]:
    """Fields of a row; in place of an ``interval`` its ends, beside others with a name of their own theirs."""
    entries: dict[str, Any] = {}
    ends: dict[str, Any] = {}
    for name, field in row.__dataclass_fields__.items():
        value = getattr(row, name)
        if "ConfidenceInterval" not in str(field.type):
            entries[name] = value
        elif name != "interval":
            entries[name] = None if value is None else value.estimate
            ends[f"{name}_low"], ends[f"{name}_high"] = value or (None, None)
    if hasattr(row, "interval"):
        ends["low"], ends["high"] = row.interval or (None, None)
    return entries | ends
