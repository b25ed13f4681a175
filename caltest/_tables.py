"""Predictions and outcomes in files: CSV with or without a header, compressed or not, and numpy arrays."""

import gzip
from pathlib import Path

import numpy as np

from caltest._types import Array
from caltest.predictions import Bernoulli, Categorical, Normal, Predictions, Sample, as_predictions, as_sample


def read_sample(predictions: Path, outcomes: Path, normal: bool = False) -> Sample:
    """Predictions and outcomes from files."""
    columns, table = _read_numbers(predictions)
    targets = _read_outcomes(outcomes, columns, table.shape[0])
    if table.shape[0] != targets.shape[0]:
        raise ValueError(
            f"{outcomes}: got {targets.shape[0]} outcomes, wanted {table.shape[0]}, one per row of {predictions}; "
            "a header must not be a number"
        )
    if normal:
        return as_sample(_normal(predictions, table), targets)
    names = columns if targets.dtype.kind == "U" else None
    sample = as_sample(table[:, 0] if table.shape[1] == 1 else table, targets, names)
    return sample if names is not None else Sample(_named(predictions, sample.predictions, columns), sample.targets)


def read_predictions(path: Path, normal: bool = False) -> tuple[Predictions, list[str] | None]:
    """Predictions from a file, without outcomes, and the names of its columns, if it has some."""
    names, table = _read_numbers(path)
    if normal:
        return _normal(path, table), names
    return _named(path, as_predictions(table[:, 0] if table.shape[1] == 1 else table), names), names


def _named(path: Path, predictions: Predictions, columns: list[str] | None) -> Predictions:
    """Predictions of classes with the names in the header, by which files are matched; 0, 1, 2, ... are none."""
    if not isinstance(predictions, Categorical) or columns in (None, [str(i) for i in range(predictions.n_classes)]):
        return predictions
    try:
        return Categorical(predictions.probabilities, classes=columns)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def write_predictions(path: Path, predictions: Predictions, names: list[str] | None) -> None:
    """Write predictions as they are read: a column per class, one of class 1, or mean and standard deviation."""
    if isinstance(predictions, Normal):
        table = np.stack([predictions.mean, predictions.scale], axis=1)
    elif isinstance(predictions, Bernoulli):
        table = predictions.probability[:, None]
    else:
        assert isinstance(predictions, Categorical)
        table = predictions.probabilities
    if path.suffix == ".npy":
        np.save(path, table)
    else:
        np.savetxt(path, table, fmt="%.17g", delimiter=",", header=",".join(names or []), comments="")


def _normal(path: Path, table: Array) -> Normal:
    if table.shape[1] != 2:
        raise ValueError(f"{path}: got {table.shape[1]} columns, wanted 2: mean and standard deviation")
    return Normal(table[:, 0], table[:, 1])


def _read_numbers(path: Path) -> tuple[list[str] | None, Array]:
    """Column names, if there are any, and the table of numbers."""
    if path.suffix == ".npy":
        array = np.load(path, allow_pickle=False)
        return None, array[:, None] if array.ndim == 1 else array
    lines, delimiter = _lines(path)
    first = _cells(lines[0], delimiter)
    header = not all(_is_number(cell) for cell in first) or _counts_up(first, lines[1:])
    if header and first[0] == "":
        raise ValueError(f"{path}: the first column has no name and looks like row numbers; save without the index")
    body = lines[1:] if header else lines
    if not body:
        raise ValueError(f"{path}: got no rows after the header, wanted one per observation")
    try:
        return first if header else None, np.loadtxt(body, delimiter=delimiter, ndmin=2, quotechar='"', comments=None)
    except ValueError as error:
        raise ValueError(f"{path}: {error} (rows are counted without the header)") from None


def _read_outcomes(path: Path, columns: list[str] | None, n: int) -> Array:
    """Outcomes as numbers, or as text where they are names; ``n`` are wanted."""
    if path.suffix == ".npy":
        array = np.asarray(np.load(path, allow_pickle=False))
        return array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array
    lines, _ = _lines(path)
    rows = [_cells(line, max(",;\t", key=lines[0].count)) for line in lines]
    if any(len(row) != 1 for row in rows):
        raise ValueError(f"{path}: got {len(rows[0])} columns, wanted 1: the outcome (save without the index)")
    values = [row[0] for row in rows]
    named = (
        not _is_number(values[0]) and values[0] not in (columns or []) and values[0].lower() not in ("true", "false")
    )
    # A column without a name is saved under the header 0.
    if named or (values[0] == "0" and len(values) == n + 1):
        values = values[1:]
    if not values:
        raise ValueError(f"{path}: got no outcomes")
    if all(_is_number(value) for value in values):
        return np.array(values, dtype=float)
    if all(value.lower() in ("true", "false") for value in values):
        return np.array([value.lower() == "true" for value in values])
    if columns is None:
        raise ValueError(
            f"{path}: got names such as {values[-1]!r}, wanted labels 0..k-1, or a header with the names in the "
            "file of predictions"
        )
    return np.array(values)


def _lines(path: Path) -> tuple[list[str], str | None]:
    """Lines that are not empty, and the delimiter of their cells: comma, semicolon, tab, or None for blanks."""
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8-sig") as file:
            lines = [line.strip() for line in file if line.strip()]
    except UnicodeDecodeError:
        raise ValueError(f"{path}: got bytes that are not UTF-8 text, wanted a CSV file in UTF-8, or .npy") from None
    if not lines:
        raise ValueError(f"{path}: got an empty file")
    delimiter = max(",;\t", key=lines[0].count)
    return lines, delimiter if delimiter in lines[0] else None


def _cells(line: str, delimiter: str | None) -> list[str]:
    return [cell.strip().strip('"') for cell in line.split(delimiter)]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _counts_up(cells: list[str], others: list[str]) -> bool:
    """Whether a row is 0, 1, 2, ..., the header of columns without names, among rows with decimals."""
    counts = cells == [str(i) for i in range(len(cells))]
    return counts and (len(cells) > 2 or any("." in line for line in others))
