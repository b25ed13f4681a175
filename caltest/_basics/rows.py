"""Rows of files, and those of text with separators: cells, what is made of them, and the lines where they are."""

import csv
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from io import TextIOWrapper
from itertools import chain, islice
from typing import Any

import numpy as np

from caltest._basics.numerics import Array, IntArray

CHUNK = 2**16
"""Rows that are read at once."""

LINES = 200
"""Lines that are read together to find the separator."""

NO_LINES = np.empty(0, dtype=np.intp)

OF_EXCEL = re.compile('"?sep=.?"?')
"""A first line that names the separator."""

THOUSANDS = re.compile(r"[+-]?\d{1,3}([.,'\s]\d{3})+([.,]\d+)?")
"""A number with separators of thousands, or one with a comma or point and three decimals."""

NONE = "\x1f"
"""A separator that no text has, for files of one column."""

Cells = list[list[str]]
Convert = Callable[[str, Cells, list[int], Sequence[str]], Array]
"""What makes values of cells, from the name of a file, these, their lines, and names of columns, if they have some."""


@dataclass(frozen=True, eq=False)
class Rows:
    """What a file holds, by its name in errors."""

    path: str
    head: list[str] | None
    """Cells of the first line, which can be a header; None in a binary file, or if a comment names the columns."""
    names: list[str] | None
    """Names that a comment gives to the columns, as ``numpy.savetxt`` writes them."""
    values: Array
    """What ``convert`` made of the other rows, one chunk after another."""
    lines: IntArray
    """Where in the file these begin, counted from 1; that of the first line is ``head_line``."""
    head_line: int = 1
    convert: Convert | None = None
    rows: IntArray = field(default_factory=lambda: NO_LINES)
    """Numbers of the rows in the file, of a part of it."""
    tables: dict[str, list[str]] = field(default_factory=dict)
    """Names of the columns of each array of two dimensions in an archive."""

    def __len__(self) -> int:
        return len(self.values)

    def part(self, rows: slice | IntArray) -> "Rows":
        """Some of the rows after the first line."""
        lines, numbers = (one[rows] if one.size else one for one in (self.lines, self.rows))
        return replace(self, values=self.values[rows], lines=lines, rows=numbers)

    def numbered(self, start: int) -> "Rows":
        """The rows as a part of the file that begins at one of its rows."""
        return replace(self, rows=np.arange(start, start + len(self)))

    def row(self, row: int) -> int:
        """The number in the file of a row of the values."""
        return int(self.rows[row]) if self.rows.size else row

    def with_head(self, is_header: bool) -> "Rows":
        """The rows with the first line where it belongs: among the names or among the values."""
        if self.head is None or self.convert is None:
            return self
        if not is_header:
            first = self.convert(self.path, [self.head], [self.head_line], ())
            values = np.concatenate([first, self.values]) if len(self.values) else first
            return Rows(self.path, None, self.names, values, np.concatenate([[self.head_line], self.lines]))
        if self.head[0] == "" and len(self.head) > 1:
            raise ValueError(
                f"{self.path}: the first column has no name and looks like row numbers; save without the index"
            )
        if not len(self.values):
            raise ValueError(f"{self.path}: got no rows after the header, wanted one per observation")
        return Rows(self.path, None, self.head, self.values, self.lines)

    def where(self, row: int) -> str:
        """Which line has a row of the values."""
        return f"line {self.lines[row]}" if self.lines.size else f"row {self.row(row)}"

    def place(self, row: int) -> str:
        """Which row of the file it is, and which line."""
        return f"row {self.row(row)}" + (f" ({self.where(row)})" if self.lines.size else "")


def column_in_words(place: int, names: Sequence[str] | None) -> str:
    """A column by its heading, or by its place from 1 if it has none of its own, or one that can be a cell."""
    name = names[place] if names else ""
    if not name or is_number(name) or list(names or ()).count(name) > 1:
        return f"column {place + 1}"
    return f"column {name!r}"


def joined(parts: Sequence[Rows]) -> Rows:
    """All parts of a file as one."""
    arrays = zip(*((one.values, one.lines, one.rows) for one in parts), strict=True)
    values, lines, rows = (np.concatenate(some) for some in arrays)
    return replace(parts[0], values=values, lines=lines, rows=rows)


def with_numbers(rows: Rows) -> Rows:
    """Rows whose cells are numbers; ``ValueError`` names the first that is none."""
    if rows.values.dtype.kind != "O":
        return rows
    places = next((one for one in (rows.lines, rows.rows) if one.size), np.arange(len(rows))).tolist()
    unit = "line" if rows.lines.size else "row"
    return replace(rows, values=numbers(rows.path, rows.values.tolist(), places, rows.names or (), unit))


def at_once(width: int, numbers: int | None) -> int:
    """Rows of so many columns that are read at once."""
    return CHUNK if numbers is None else max(1, min(CHUNK, numbers // width))


def texts(_: str, cells: Cells, __: list[int], ___: Sequence[str]) -> Array:
    """Cells as they are."""
    return np.array(cells, dtype=object)


def numbers(name: str, cells: Cells, lines: list[int], names: Sequence[str], unit: str = "line") -> Array:
    """Cells as numbers; ``ValueError`` names the first that is none, and its line, or row."""
    try:
        return np.array([[number(cell) for cell in row] for row in cells])
    except ValueError:
        pass
    values = np.empty((len(cells), len(cells[0])))
    for i, row in enumerate(decimals(name, cells, lines)):
        for j, cell in enumerate(row):
            try:
                values[i, j] = number(cell)
            except ValueError:
                got = f"{cell!r}" if cell else "an empty cell"
                wanted = "a number" + "; take the % off and divide by 100" * cell.endswith("%")
                wanted += "; take separators of thousands out" * (THOUSANDS.fullmatch(cell) is not None)
                place = column_in_words(j, names)
                raise ValueError(f"{name}, {unit} {lines[i]}: got {got} in {place}, wanted {wanted}") from None
    return values


def rows_of_text(
    name: str, text: TextIOWrapper, convert: Convert, begin: Callable[[list[str]], None], numbers_at_once: int | None
) -> Iterator[Rows]:
    comments: list[str] = []
    while (line := text.readline()) and (line[0] == "#" or not line.strip() or OF_EXCEL.fullmatch(line.strip())):
        comments.append(line if line[0] == "#" else "\n")
    if "\0" in line:
        raise ValueError(f"{name}: got bytes of 0 in the first line, wanted text in UTF-8, or in UTF-16 with its mark")
    if not line:
        raise ValueError(f"{name}: got an empty file, or comments only, wanted a row for each observation")
    first = [line, *islice(text, LINES)]
    separator = _separator(first)
    rows = _records(chain(first, text), separator, len(comments))
    head_line, head = next(rows)
    names = _names_of_comments(comments, separator, len(head))
    if names is not None and all(map(is_number, head)):
        rows, head_line, head = chain([(head_line, head)], rows), head_line, []
    begin(head or names or [])
    width = len(names or head)
    part = Rows(name, head or None, None if head else names, np.empty((0, width)), NO_LINES, head_line, convert)
    size, start = at_once(width, numbers_at_once), 0
    while chunk := list(islice(rows, size)):
        _check_width(name, chunk, width, head_line, head)
        lines = np.array([line for line, _ in chunk], dtype=np.intp)
        values = convert(name, [cells for _, cells in chunk], lines.tolist(), head or names or ())
        yield replace(part, values=values, lines=lines).numbered(start)
        part, start = replace(part, head=None, names=head or names), start + len(lines)
    if not start:
        yield part


def _records(text: Iterator[str], separator: str | None, before: int) -> Iterator[tuple[int, list[str]]]:
    """The line where each row begins, and its cells; lines without text are rows of one empty cell, but at the end."""
    if separator is None:
        rows: Iterator[tuple[int, list[str]]] = ((i, line.split()) for i, line in enumerate(text, before + 1))
    else:
        rows = _of_csv(csv.reader(text, delimiter=separator, skipinitialspace=True, strict=True), before)
    blank: list[int] = []
    for line, cells in rows:
        if not cells or (cells == [""] and separator != NONE):
            blank.append(line)
            continue
        yield from ((one, [""]) for one in blank)
        blank.clear()
        yield line, cells


def _of_csv(reader: Any, before: int) -> Iterator[tuple[int, list[str]]]:
    line = before + 1
    try:
        for cells in reader:
            yield line, [cell.strip() for cell in cells]
            line = before + reader.line_num + 1
    except csv.Error as error:
        raise csv.Error(f"line {line}: {error}, in or after a quoted cell") from None


def _separator(first: list[str]) -> str | None:
    """Semicolon, tab, comma, None for blanks between numbers, or what does not occur, for one column.

    A separator divides the first two rows into as many cells; a comma that does not can be that of decimals.
    """
    numbers = next(line.split() for line in reversed(first) if line.strip())
    counts: dict[str | None, list[int]] = {}
    for separator in ";\t,":
        rows = _of_csv(csv.reader(first, delimiter=separator), 0)
        counts[separator] = [len(cells) for _, cells in rows if cells][:2]
        if separator == "\t" and len(numbers) > 1 and all(map(is_number, numbers)):
            counts[None] = [len(numbers)]
    for same in (True, False):
        for mark, (one, *other) in counts.items():
            if one > 1 and min([*other, 2]) > 1 and (not same or other in ([], [one])):
                return mark
    return NONE


def _names_of_comments(comments: list[str], separator: str | None, width: int) -> list[str] | None:
    """The last comment, if it has a name for each column, none of which is a number."""
    last = next((line.lstrip("#").strip() for line in reversed(comments) if line.strip("# \t\r\n")), "")
    cells = last.split() if separator is None else next(csv.reader([last], delimiter=separator), [])
    names = [cell.strip() for cell in cells]
    return names if width > 1 and len(names) == width and not any(map(is_number, names)) else None


def _check_width(name: str, chunk: list[tuple[int, list[str]]], width: int, head_line: int, head: list[str]) -> None:
    for line, cells in chunk:
        if len(cells) != width:
            if cells == [""]:
                raise ValueError(
                    f"{name}, line {line}: got a line without text, wanted {width} cells; delete it, and the "
                    "observation that it stands for in the other files"
                )
            kind = f"as in line {head_line}" if head else "one for each column"
            raise ValueError(
                f"{name}, line {line}: got {len(cells)} cells, wanted {width}, {kind}; write cells that "
                'have the separator in them in quotes, "..."'
            )


def number(text: str) -> float:
    """A number; ``ValueError`` for other text, such as 1_000."""
    if "_" in text:
        raise ValueError
    return float(text)


def is_number(text: str) -> bool:
    """Whether text is a number, with a decimal comma or point."""
    try:
        number(text.replace(",", ".", 1))
    except ValueError:
        return False
    return True


def decimals(name: str, cells: Cells, lines: list[int]) -> Cells:
    """Cells with decimal points for commas; ``ValueError`` if both occur, or all commas can be of thousands."""
    commas = [(i, j) for i, row in enumerate(cells) for j, cell in enumerate(row) if "," in cell and is_number(cell)]
    if not commas:
        return cells
    if all(THOUSANDS.fullmatch(cells[i][j]) and cells[i][j].lstrip("+-")[0] != "0" for i, j in commas):
        i, j = commas[0]
        raise ValueError(
            f"{name}, line {lines[i]}: got {cells[i][j]!r}, and three digits after all commas, which can be thousands "
            f"or decimals; wanted {cells[i][j].replace(',', '')} or {cells[i][j].replace(',', '.')}"
        )
    point = next((i for i, row in enumerate(cells) for cell in row if "." in cell and is_number(cell)), None)
    if point is not None:
        i, j = commas[0]
        raise ValueError(
            f"{name}, line {lines[i]}: got {cells[i][j]!r}, and numbers with a decimal point in line {lines[point]}; "
            "wanted one of both in the whole file"
        )
    return [[cell.replace(",", ".") if is_number(cell) else cell for cell in row] for row in cells]
