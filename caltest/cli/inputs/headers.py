"""Whether the first lines of files are headers."""

import numpy as np

from caltest._basics.rows import Rows, is_number, number

MISSING = {"", "na", "n/a", "#n/a", "<na>", "nan", "nat", "null", "none"}
"""How files write missing outcomes, in small letters, unless a class has the name."""

TRUE_FALSE = {"true", "false"}


def headers(given: Rows, observed: Rows, family: str) -> tuple[bool, bool]:
    """Whether the first lines of predictions and of outcomes are headers: where they can be both, numbers of rows say.

    Those of both files are where pandas writes 0, 1, ... over columns without names.
    """
    first, second = _can_be_header(given, family), _outcomes_can_be_header(observed, given, family)
    n, m = len(given.values), len(observed.values)
    fitting = [(a, b) for a in first for b in second if n + _is_row(given, a) == m + _is_row(observed, b)]
    for rows, readings in ((given, first), (observed, second)):
        if readings[0] and not fitting and not len(rows.values):
            raise ValueError(f"{rows.path}: got no rows after the header, wanted one per observation")
    if not fitting:
        got, wanted = m + _is_row(observed, second[0]), n + _is_row(given, first[0])
        raise ValueError(
            f"{observed.path}: got {got} outcomes, wanted {wanted}, one per row of {given.path}; lines without text at "
            "the end do not count, and a header must not be a number"
        )
    if len(fitting) == 1:
        return fitting[0]
    header = is_header(given, family) or not is_number((observed.head or ["0"])[0])
    if not header and not family and _is_excluded(given, observed):
        raise ValueError(
            f"{given.path}, line {given.head_line}: got {','.join(given.head or [])!r}, which can be a header or a "
            "certain prediction, of what did not occur; write names over the columns, or 1.0 for 1"
        )
    return header, header


def _is_row(rows: Rows, is_header: bool) -> int:
    return int(rows.head is not None and not is_header)


def _can_be_header(rows: Rows, family: str) -> list[bool]:
    """The readings of the first line of predictions: as a header, as a row."""
    if family == "curves":
        return [rows.head is not None and not _falls(rows.head)]
    if rows.head is None or any(is_number(cell) and not cell.isdecimal() for cell in rows.head):
        return [False]
    if not all(map(is_number, rows.head)):
        return [True]
    if len(set(rows.head)) < len(rows.head):
        return [False]
    return [True, False] if family or _can_be_certain(rows.head) else [True]


def _falls(cells: list[str]) -> bool:
    """Whether cells are probabilities as those of a survival curve, which are no times."""
    if not all(map(is_number, cells)):
        return False
    numbers = np.array([number(cell) for cell in cells])
    return bool((numbers <= 1.0).all() and (np.diff(numbers) <= 0.0).all())


def _can_be_certain(cells: list[str]) -> bool:
    """Whether whole numbers can be a prediction that is certain."""
    numbers = [int(cell) for cell in cells]
    return numbers in ([0], [1]) or (len(numbers) > 1 and sum(numbers) == max(numbers) == 1)


def _outcomes_can_be_header(rows: Rows, given: Rows, family: str) -> list[bool]:
    if rows.head is None:
        return [False]
    (cell,) = rows.head
    if cell != "0" and cell in (given.names or given.head or []):
        # The name of a class can be that of the column too.
        return [False] if is_number(cell) else [False, True]
    if cell.lower() in MISSING | TRUE_FALSE:
        return [False]
    if not is_number(cell) or cell == "0":
        return [True, False]
    return [cell.isdecimal() and not family and int(cell) > max(2, given.values.shape[1])]


def is_header(rows: Rows, family: str) -> bool:
    """Whether the first line of predictions is a header, as far as they say: 0, 1, ... over fractions is one."""
    can_be, *others = _can_be_header(rows, family)
    if not others:
        return can_be
    counts = rows.head == [str(j) for j in range(len(rows.head or []))]
    return counts and bool((np.floor(rows.values) != rows.values).any())


def _is_excluded(given: Rows, observed: Rows) -> bool:
    """Whether the first outcome has probability 0 by the first line of predictions, if both are observations."""
    numbers, outcome = [int(cell) for cell in given.head or []], (observed.head or [""])[0]
    certain = numbers[0] if len(numbers) == 1 else numbers.index(1)
    return outcome.isdecimal() and int(outcome) != certain
