"""Files of rows: text, arrays of numpy, or tables of pyarrow, compressed or not, or standard input."""

import bz2
import csv
import gzip
import json
import lzma
import re
import sys
import zlib
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from importlib import import_module
from io import BufferedReader, BytesIO, FileIO, TextIOWrapper
from math import prod
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, cast
from zipfile import BadZipFile

import numpy as np

from caltest._basics.numerics import Array, ranges
from caltest._basics.rows import NO_LINES, Convert, Rows, at_once, joined, numbers, rows_of_text, texts, with_numbers

PACKED: dict[bytes, Callable[[Any], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
    b"\x28\xb5\x2f\xfd": lambda file: _pyarrow("compressed by zstd").CompressedInputStream(file, "zstd"),
}
"""What compressed files begin with, and what reads them."""

TABLES = (b"PAR1", b"ARROW1")
"""What Parquet and Feather files begin with."""

INDEX = re.compile(r"__index_level_\d+__")
"""What pandas calls an index without a name among the columns of such files."""

LIST = re.compile(rb"(\xef\xbb\xbf)?\s*\[\s*[\[{]")
"""What one list of JSON begins with, of objects or lists; a heading of a CSV file may begin with a bracket."""

LONGEST = 2**53
"""Up to here every whole number is a floating point number."""

T = TypeVar("T")


def read_rows(path: Path, convert: Convert) -> Rows:
    """A file whole; each chunk of its cells is converted when it is read, with the line of each row.

    ``ValueError`` names the file and the line, and says what was got and wanted.
    """
    return joined(list(read_chunks(path, convert)))


def read_chunks(
    path: Path,
    convert: Convert,
    begin: Callable[[list[str]], None] = lambda _: None,
    numbers_at_once: int | None = None,
) -> Iterator[Rows]:
    """The same in parts of at most 65 536 rows and so many numbers, without a limit only for text.

    ``begin`` is told the cells of the first line of text before, or the names that a comment has. Archives of numpy and
    JSON lines are one part; text has one at least, which can be without rows after the head.
    """
    name = name_of(path)
    with _opened(path) as file:
        if _begins(file, b"\x93NUMPY"):
            yield from _binary(name, file, numbers_at_once)
        elif _begins(file, b"PK\x03\x04"):
            yield _archive(name, file)
        elif any(_begins(file, magic) for magic in TABLES):
            yield from _tables_in(name, file, numbers_at_once)
        elif _first_of(file) == b"{":
            yield _json_lines(name, file)
        elif LIST.match(file.peek()):
            raise _of_a_list(name)
        else:
            encoding = "utf-16" if any(_begins(file, mark) for mark in (BOM_UTF16_LE, BOM_UTF16_BE)) else "utf-8-sig"
            with TextIOWrapper(file, encoding=encoding, newline="") as text:
                yield from rows_of_text(name, text, convert, begin, numbers_at_once)


def holds_objects(path: Path) -> bool:
    """Whether a file begins as JSON does, or is empty; standard input, which can be read once, may."""
    try:
        with _opened(path) as file:
            return is_stdin(path) or _first_of(file) in (b"", b"{", b"[")
    except (OSError, ValueError):
        return False


def holds_rows(path: Path) -> bool:
    """Whether it is a file that can be read in parts, again and again: no pipe, archive or JSON lines."""
    if is_stdin(path) or not path.is_file():
        return False
    with _opened(path) as file:
        return not _begins(file, b"PK\x03\x04") and _first_of(file) != b"{"


def read_objects(path: Path, convert: Callable[[str, dict[str, Any]], T]) -> list[T]:
    """What ``convert`` makes of each line of a file of JSON lines, from its place in words and its object.

    ``ValueError`` for other files, which say nothing of outcomes.
    """
    name = name_of(path)
    with _opened(path) as file:
        first = _first_of(file)
        if not first:
            raise ValueError(f"{name}: got an empty file, wanted a row or a line of JSON for each observation")
        if first == b"[":
            raise _of_a_list(name)
        if first != b"{":
            raise ValueError(
                f"{name}: got a file without outcomes, wanted OUTCOMES or --outcome-column NAME, or JSON lines with "
                "probabilities and an answer in each"
            )
        return [convert(f"{name}, line {line}", row) for line, row in _objects(name, file)]


def _of_a_list(name: str) -> ValueError:
    return ValueError(f"{name}: got one list of JSON, wanted JSON lines: an object in each line, without commas")


@contextmanager
def _opened(path: Path) -> Iterator[BufferedReader]:
    """Bytes of a file, decompressed if it is compressed; errors of reading name it."""
    name = name_of(path)
    try:
        with ExitStack() as stack:
            if is_stdin(path):
                if sys.stdin is None or sys.stdin.isatty():
                    raise ValueError("standard input: got nothing, wanted a file: caltest ... - < FILE")
                file = cast("BufferedReader", sys.stdin.buffer)
            else:
                file = stack.enter_context(path.open("rb"))
            unpack = next((one for magic, one in PACKED.items() if _begins(file, magic)), None)
            if unpack is not None:
                file = stack.enter_context(BufferedReader(cast("Any", stack.enter_context(unpack(file)))))
            yield file
    except ImportError as error:
        raise ValueError(f"{name}: {error}") from None
    except UnicodeDecodeError:
        raise ValueError(
            f"{name}: got bytes that are not UTF-8 text, wanted a CSV file in UTF-8 or UTF-16, or .npy"
        ) from None
    except csv.Error as error:
        raise ValueError(f"{name}: {error}; wanted a CSV file, or .npy") from None
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        # What unpacks a file gives errors without the number that those of the system have.
        if isinstance(error, OSError) and error.strerror:
            raise type(error)(f"{name}: {error.strerror.lower()}, wanted a file that can be read") from None
        raise ValueError(f"{name}: got a damaged or truncated file ({error}), wanted it whole; copy it again") from None


def read_with_columns(path: Path, columns: Sequence[str], numeric: Sequence[str] = ()) -> tuple[Rows, Rows]:
    """Columns of one file as text, by their names in the first line, and some, by default all others, as numbers.

    Numbers first; columns that are named have the order of the names, and one can be both text and numbers. The name of
    an array of an archive stands for its columns.
    """
    others, taken = zip(*chunks_with_columns(path, columns, numeric), strict=True)
    return joined(others), joined(taken)


def chunks_with_columns(
    path: Path,
    columns: Sequence[str],
    numeric: Sequence[str] = (),
    convert: Convert | None = None,
    numbers_at_once: int | None = None,
) -> Iterator[tuple[Rows, Rows]]:
    """The same in parts, as those of ``read_chunks``; cells of the others are converted to numbers, or otherwise."""
    names: list[str] = []

    def begin(found: Sequence[str]) -> None:
        names.extend(found)
        for column in (*columns, *numeric):
            times = names.count(column)
            if times != 1 or (len(names) <= len(columns) and not numeric):
                many = "no column" if times == 0 else "only the column" if times == 1 else f"{times} columns"
                got = f"{many} {column!r} among {', '.join(names[:20])}"
                raise ValueError(f"{name_of(path)}: got {got}, wanted it once, and columns of predictions")

    for rows in read_chunks(path, texts, begin, numbers_at_once):
        numeric = [column for one in numeric for column in rows.tables.get(one, [one])]
        if not names:
            begin(rows.names or [])
        if not len(rows):
            raise ValueError(f"{rows.path}: got no rows after the header, wanted one per observation")
        asked = map(names.index, dict.fromkeys(numeric)) if numeric else range(len(names))
        places = [i for i in asked if numeric or names[i] not in columns]
        apart = np.setdiff1d(np.arange(len(names)), places)
        taken, kept = rows.values[:, [names.index(one) for one in columns]], rows.values
        if rows.convert is not None:
            # Numbers in the places of these columns keep the numbers of the others in errors.
            kept[:, apart] = "0"
            kept = (convert or numbers)(rows.path, kept.tolist(), rows.lines.tolist(), names)
        kept = kept[:, places]
        chosen = [names[i] for i in places]
        if chosen in rows.tables.values():  # The columns of an array have no names of their own.
            chosen = [str(i) for i in range(len(places))]
        others = replace(rows, head=None, names=chosen, values=kept)
        yield (
            with_numbers(others) if convert is None else others,
            replace(rows, head=None, names=[*columns], values=taken, convert=None),
        )


def name_of(path: Path) -> str:
    """What errors call a file."""
    return "standard input" if is_stdin(path) else str(path)


def is_stdin(path: Path) -> bool:
    """Whether ``-`` stands for standard input."""
    return str(path) == "-"


def _pyarrow(what: str) -> Any:
    """The module that reads such files; ``ImportError`` says how to install it."""
    try:
        return import_module("pyarrow")
    except ImportError:
        raise ImportError(f"got a file {what}, which needs pyarrow: pip install caltest[files]") from None


def _begins(file: BufferedReader, magic: bytes) -> bool:
    return file.peek(len(magic))[: len(magic)] == magic


def _first_of(file: BufferedReader) -> bytes:
    """The first byte of text that is neither white space nor a mark of the order of bytes; none if there is none."""
    return file.peek().removeprefix(BOM_UTF8).lstrip()[:1]


def _archive(name: str, file: BinaryIO) -> Rows:
    """The arrays of an .npz file: one as it is, several as columns with their names."""
    try:
        with np.load(BytesIO(file.read()), allow_pickle=False) as archive:
            arrays = {key: archive[key] for key in archive.files}
    except (ValueError, AttributeError, BadZipFile) as error:
        raise ValueError(f"{name}: got an archive that is no .npz of arrays ({error}), wanted arrays") from None
    if len(arrays) == 1:
        return _checked(name, *arrays.values())
    if any(one.ndim not in (1, 2) for one in arrays.values()) or len({len(one) for one in arrays.values()}) > 1:
        shapes = ", ".join(f"{key} {array.shape}" for key, array in arrays.items())
        raise ValueError(f"{name}: got arrays of different shapes, {shapes}, wanted as many rows in each")
    rows = {key: np.atleast_2d(one.T) for key, one in arrays.items()}
    tables = {key: [f"{key}{j}" for j in range(len(one))] for key, one in rows.items() if len(one) != 1}
    columns: dict[str, Array] = {}
    for key, one in rows.items():
        columns |= dict(zip(tables.get(key, [key]), one, strict=True))
    return replace(_of_columns(name, columns), tables=tables)


def _tables_in(name: str, file: BufferedReader, numbers_at_once: int | None) -> Iterator[Rows]:
    """The rows of a Parquet or Feather file."""
    arrow, of_parquet = _pyarrow("in Parquet or Feather"), _begins(file, TABLES[0])
    parquet, ipc = import_module("pyarrow.parquet"), import_module("pyarrow.ipc")
    # Files that are compressed as a whole, and pipes, have no places to jump to.
    source = file if isinstance(file.raw, FileIO) and file.seekable() else BytesIO(file.read())
    try:
        table = parquet.ParquetFile(source, pre_buffer=False) if of_parquet else ipc.open_file(source)
        schema = table.schema_arrow if of_parquet else table.schema
        names = [key for key in schema.names if not INDEX.fullmatch(key)]
        if numbers_at_once is None:
            whole = table.read() if of_parquet else table.read_all()
            yield _of_columns(name, {key: whole.column(key).to_numpy() for key in names})
            return
        # A part without text or missing values is text where others have some.
        is_text = not all(arrow.types.is_integer(one) or arrow.types.is_floating(one) for one in schema.types)
        size, start = at_once(len(names), numbers_at_once), 0
        batches = table.iter_batches(size) if of_parquet else map(table.get_batch, range(table.num_record_batches))
        for batch in batches:
            for rows in ranges(batch.num_rows, size):
                part = arrow.Table.from_batches([batch.slice(rows.start, rows.stop - rows.start)])
                columns = {key: part.column(key).to_numpy() for key in names}
                yield _of_columns(name, columns, is_text).numbered(start)
                start += part.num_rows
    except (OSError, ValueError) as error:
        raise ValueError(f"{name}: got a damaged or truncated file ({error}), wanted it whole") from None


def _json_lines(name: str, file: BinaryIO) -> Rows:
    """Rows of a file with an object for each line, all with the same names."""
    columns: dict[str, list[Any]] = {}
    lines = []
    for i, row in _objects(name, file):
        if columns and row.keys() != columns.keys():
            wanted = f"an object with the names {', '.join(columns)}"
            raise ValueError(f"{name}, line {i}: got {', '.join(row)}, wanted {wanted}")
        lines.append(i)
        for key, value in row.items():
            if isinstance(value, (dict, list)):
                raise ValueError(
                    f"{name}, line {i}: got a list or an object as {key}, wanted a number or text; probabilities and "
                    "answers in each line are read by caltest test FILE, without OUTCOMES"
                )
            columns.setdefault(key, []).append(value)
    have_text = {key: any(one is None or isinstance(one, str) for one in column) for key, column in columns.items()}
    arrays = {key: np.array(column, dtype=object if have_text[key] else None) for key, column in columns.items()}
    return replace(_of_columns(name, arrays), lines=np.array(lines, dtype=np.intp))


def _objects(name: str, file: BinaryIO) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects in the lines of a file, with the numbers of these."""
    for i, line in enumerate(file, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line.removeprefix(BOM_UTF8).strip())
        except ValueError as error:
            reason = f"{error.msg}, column {error.colno}" if isinstance(error, json.JSONDecodeError) else error
            raise ValueError(f"{name}, line {i}: got text that is no JSON ({reason}), wanted an object") from None
        if not isinstance(row, dict):
            raise ValueError(f"{name}, line {i}: got {row}, wanted an object")
        yield i, row


def _of_columns(name: str, columns: dict[str, Array], is_text: bool | None = None) -> Rows:
    """Columns with names as rows, as the text that a CSV file would hold if some are text or have missing values.

    Unless it is said whether they are text, they are so too where whole numbers would lose digits beside fractions.
    """
    if not columns or len(next(iter(columns.values()))) == 0:
        raise ValueError(f"{name}: got no rows, wanted one for each observation")
    arrays = list(columns.values())
    are_numbers = all(array.dtype.kind in "buif" for array in arrays)
    if is_text is None:
        is_text = are_numbers and np.result_type(*arrays).kind == "f" and any(map(_has_long_numbers, arrays))
    if are_numbers and not is_text:
        values = np.stack(arrays, axis=1)
    else:
        values = np.empty((len(next(iter(columns.values()))), len(columns)), dtype=object)
        for j, array in enumerate(columns.values()):
            values[:, j] = ["" if value is None else str(value) for value in array.tolist()]
    return Rows(name, None, list(columns), values, NO_LINES)


def _has_long_numbers(array: Array) -> bool:
    """Whether some whole numbers, such as those of patients, are too long to be told apart as fractions."""
    return array.dtype.kind in "iu" and max(int(array.max()), -int(array.min())) > LONGEST


def _binary(name: str, file: BufferedReader, numbers_at_once: int | None) -> Iterator[Rows]:
    """The rows of an array, in parts if they follow each other in the file."""
    header = None if numbers_at_once is None else _header(file)
    if header is None:
        try:
            array = np.load(BytesIO(file.read()), allow_pickle=False)
        except ValueError as error:
            wanted = "an array of numbers or text, without objects; save array.astype(float) or array.astype(str)"
            raise ValueError(f"{name}: got an array that cannot be read ({error}), wanted {wanted}") from None
        yield _checked(name, array)
        return
    begins_at, (n, *others), dtype = header
    file.read(begins_at)
    for rows in ranges(n, at_once(prod(others), numbers_at_once)):
        part = min(rows.stop, n) - rows.start, *others
        data = file.read(prod(part) * dtype.itemsize)
        if len(data) < prod(part) * dtype.itemsize:
            raise EOFError(f"it ends before row {rows.start + part[0]} of {n}")
        yield _checked(name, np.frombuffer(data, dtype).reshape(part)).numbered(rows.start)


def _header(file: BufferedReader) -> tuple[int, tuple[int, ...], np.dtype[Any]] | None:
    """Where the rows of an array begin, its shape and type; None if it has no rows that follow each other."""
    beginning = BytesIO(file.peek())
    try:
        version = np.lib.format.read_magic(beginning)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, by_column, dtype = read(beginning)
    except ValueError:
        return None
    if by_column or dtype.hasobject or len(shape) not in (1, 2) or 0 in shape:
        return None
    return beginning.tell(), shape, dtype


def _checked(name: str, array: Array) -> Rows:
    if array.ndim not in (1, 2) or array.dtype.kind not in "buifUS":
        raise ValueError(f"{name}: got an array {array.shape} of {array.dtype}, wanted numbers or text, (n,) or (n, k)")
    if array.size == 0:
        raise ValueError(f"{name}: got an empty array {array.shape}, wanted a row for each observation")
    if array.dtype.kind == "S":
        array = np.char.decode(array, "utf-8")
    return Rows(name, None, None, array[:, None] if array.ndim == 1 else array, NO_LINES)
