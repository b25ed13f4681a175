"""``caltest test`` of files that need not fit into memory: they are read in parts, three times, and never kept."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

import caltest as ct
from caltest._basics.arrays import to_array
from caltest._basics.files import chunks_with_columns, holds_rows, read_chunks
from caltest._basics.numerics import Array, IntArray, evenly_spaced, memory_size, seed_of
from caltest._basics.rows import Convert, Rows, at_once, joined, numbers, texts, with_numbers
from caltest._basics.threads import progress_bars, tracked
from caltest._results.calibration_test_result import CalibrationTestResult
from caltest._validation.labels import classes_of
from caltest.cli.inputs.headers import MISSING, headers
from caltest.cli.inputs.prediction_files import check_columns, columns_advised, names_of, paired, targets_of
from caltest.cli.named import kernel_of
from caltest.estimators.combined.sums.cells import MANY, MOST_CLASSES
from caltest.estimators.kernel_errors.kernel_estimator import median_notes
from caltest.predictions import Predictions, Sample
from caltest.predictions.bandwidth import MEDIAN_OF
from caltest.predictions.inputs.convert import Missing, missing_note

LARGE = 2**26
"""Bytes of a file of predictions from which on it is read in parts."""

AT_ONCE = 2**22
"""Numbers that are read at once."""

MOST = 2**16
"""Different outcomes beyond which these are no classes."""


@dataclass(frozen=True)
class Files:
    """Predictions, and the outcomes in another file or in a column of the same one."""

    predictions: Path
    outcomes: Path | str
    columns: Sequence[str]
    family: str
    missing: Missing
    classes: Sequence[str]

    @property
    def are_large(self) -> bool:
        """Whether they should be read in parts, and can be."""
        paths = [self.predictions, *([self.outcomes] if isinstance(self.outcomes, Path) else [])]
        return all(map(holds_rows, paths)) and self.predictions.stat().st_size >= LARGE

    def parts(self, convert: Convert | None) -> Iterator[tuple[Rows | None, Rows | None]]:
        """Those of predictions and of outcomes, which need not be of the same rows where there are two files."""
        if isinstance(self.outcomes, str):
            yield from chunks_with_columns(self.predictions, [self.outcomes], self.columns, convert, AT_ONCE)
            return
        given = read_chunks(self.predictions, convert or numbers, numbers_at_once=AT_ONCE)
        if convert is None:
            given = map(with_numbers, given)
        if self.columns:
            some = chunks_with_columns(self.predictions, (), self.columns, convert, AT_ONCE)
            given = (one for one, _ in some)
        yield from zip_longest(given, read_chunks(self.outcomes, texts, numbers_at_once=AT_ONCE))

    def pairs(self, convert: Convert | None, are_headers: tuple[bool, bool]) -> Iterator[tuple[Rows, Rows]]:
        """The same rows of both, with the first lines where they belong."""
        waiting: list[Rows | None] = [None, None]
        names, start = dict[int, list[str] | None](), 0
        for parts in self.parts(convert):
            for i, (before, part) in enumerate(zip(waiting, parts, strict=True)):
                if part is not None:
                    part = part.with_head(are_headers[i])
                    # Later parts take a first line for names whether it is or not.
                    part = replace(part, names=names.setdefault(i, part.names))
                    waiting[i] = part if before is None else joined([before, part])
            given, observed = waiting
            if given is not None and observed is not None:
                n = min(len(given), len(observed))
                yield given.part(slice(0, n)).numbered(start), observed.part(slice(0, n)).numbered(start)
                waiting = [one.part(slice(n, None)) if len(one) > n else None for one in (given, observed)]
                start += n


@dataclass
class Outcomes:
    """What is known of all outcomes: which there are, where each is first, and how many are missing."""

    names: set[str]
    """Of classes."""
    n: int = 0
    missing: int = 0
    first: dict[Any, tuple[int, int]] = field(default_factory=dict)
    """Row and line, by the outcome as it is written."""

    def add(self, rows: Rows) -> None:
        """Those of a part of the file."""
        column = rows.values[:, 0].tolist()
        counted = Counter(column)
        lacking = {value for value in counted if self.lacks(value)}
        self.n, self.missing = self.n + len(column), self.missing + sum(counted[value] for value in lacking)
        for value in counted if len(self.first) <= MOST else ():
            if value not in self.first and value not in lacking:
                place = column.index(value)
                self.first[value] = rows.row(place), int(rows.lines[place]) if rows.lines.size else 0

    def lacks(self, value: Any) -> bool:
        """Whether an outcome is a missing one."""
        if isinstance(value, str):
            return value not in self.names and value.lower() in MISSING
        return bool(value != value)

    def targets(self, like: Rows, table: Rows, classes: Sequence[str]) -> Array:
        """What each of them stands for, as it would in a file whole."""
        written = np.array(list(self.first), dtype=like.values.dtype)[:, None]
        rows, lines = np.array(list(self.first.values())).T
        known = replace(like, values=written, rows=rows, lines=lines if like.lines.size else lines[:0])
        return targets_of(known, table, classes)


@dataclass(frozen=True)
class Survey:
    """What has to be known of all rows before any is tested."""

    files: Files
    are_headers: tuple[bool, bool]
    table: Rows
    """The first part of the predictions."""
    outcomes: Outcomes
    targets: dict[Any, Any] | None
    """By outcomes as they are written, where these are texts of few kinds."""
    classes: Sequence[Any] | None
    """Names of classes if outcomes are such names."""

    @classmethod
    def of(cls, files: Files) -> "Survey":
        """Reads all rows, but turns only the first part of the predictions into numbers."""
        with columns_advised(bool(files.columns) or isinstance(files.outcomes, Path)):
            given, observed = next(files.parts(None))
            if given is None or observed is None:
                raise ValueError(f"{files.predictions}: got no rows, wanted some in both files")
            if not files.family and not files.columns:
                check_columns(given)
        n, outcomes = 0, Outcomes(set(files.classes or given.names or given.head or ()))
        for some, others in files.parts(_uncounted):
            n += 0 if some is None else len(some)
            if others is not None:
                outcomes.add(others)
        are_headers = headers(_as_if(given, n), _as_if(observed, outcomes.n), files.family)
        if observed.head is not None and not are_headers[1]:
            head = replace(
                observed, values=np.array([observed.head], dtype=object), lines=np.array([observed.head_line])
            )
            outcomes.add(head)
        table = given.with_head(are_headers[0])
        if files.family or not 0 < len(outcomes.first) <= MOST:
            return cls(files, are_headers, table, outcomes, None, None)
        targets, is_text = outcomes.targets(observed, table, files.classes), observed.values.dtype == object
        known = dict(zip(outcomes.first, targets.tolist(), strict=True)) if is_text else None
        classes = classes_of(names_of(table), to_array(targets, "targets"), files.classes or None)
        return cls(files, are_headers, table, outcomes, known, classes)

    @property
    def n(self) -> int:
        """Rows whose outcomes are not missing."""
        return self.outcomes.n - self.outcomes.missing

    @property
    def are_counted_as_they_come(self) -> bool:
        """Whether a test of all rows at once does nothing else, or cannot be made."""
        k = self.table.values.shape[1]
        return self.n >= MANY and (k <= MOST_CLASSES or 8 * self.n * k >= memory_size() / 4)

    def pairs(self, convert: Convert | None) -> Iterator[tuple[Rows, Rows, IntArray]]:
        """Parts of both, and which of their rows have outcomes, or all if none may be missing."""
        for given, observed in self.files.pairs(convert, self.are_headers):
            column = observed.values[:, 0].tolist()
            there = np.array([self.files.missing == "refuse" or not self.outcomes.lacks(one) for one in column])
            if there.any():
                yield given, observed, np.flatnonzero(there)

    def sample(self, given: Rows, observed: Rows) -> Sample:
        """A part as it is tested."""
        targets = (
            targets_of(observed, self.table, self.files.classes) if self.targets is None else self._known(observed)
        )
        return paired(given, observed, targets, self.files.family, self.files.missing, None, self.classes).pooled()

    def _known(self, observed: Rows) -> Array:
        assert self.targets is not None
        targets = [self.targets.get(one) for one in observed.values[:, 0].tolist()]
        return np.array(targets, dtype=object if None in targets else None)

    def evenly_spaced(self) -> Predictions:
        """Those of which bandwidths and cells are, the same as of all rows in memory."""
        wanted, start, found = evenly_spaced(self.n, MEDIAN_OF), 0, []
        for given, observed, there in self.pairs(texts):
            some = wanted[(wanted >= start) & (wanted < start + there.size)] - start
            start += there.size
            given, observed = (one.part(there[some]) for one in (given, observed))
            found.append((with_numbers(given), observed))
        return self.sample(*map(joined, zip(*found, strict=True))).predictions


def _uncounted(_: str, cells: Sequence[Sequence[str]], __: Sequence[int], ___: Sequence[str]) -> Array:
    """Cells that nobody looks at."""
    return np.zeros((len(cells), len(cells[0])), dtype=bool)


def _as_if(rows: Rows, n: int) -> Rows:
    """The first part with as many rows as the whole, which all are one of its own, with fractions if it has some."""
    if not len(rows):
        return rows
    values = rows.values
    first = int((np.floor(values) != values).any(axis=1).argmax()) if values.dtype.kind == "f" else 0
    return replace(rows, values=np.broadcast_to(values[first], (n, values.shape[1])))


def tested_in_parts(
    files: Files, bandwidth: float | None, n_resamples: int | None, rng: Any, progress: bool
) -> tuple[CalibrationTestResult, tuple[str, ...]] | None:
    """The default test of large files, and notes; None for those that are to be read whole.

    P-values are those of all rows at once, with bandwidths and cells from the same evenly spaced rows; with
    ``--normal`` the bandwidth of the outcomes is that of these rows too. More than 32 classes are compared within parts
    of the file, and only where all would take more than a quarter of the memory.
    """
    if not files.are_large:
        return None
    survey = Survey.of(files)
    if not survey.are_counted_as_they_come:
        return None
    some, seed, outcomes = survey.evenly_spaced(), seed_of(rng), survey.outcomes
    kernel, notes = kernel_of("omnibus", bandwidth, Sample(some, np.empty(0)))
    if bandwidth is None:
        notes = (*notes, *median_notes(some.default_kernel(), survey.n, some.default_median_of))
    if outcomes.missing:
        notes = (missing_note(outcomes.missing, outcomes.n), *notes)
    test = ct.OmnibusTest(kernel) if n_resamples is None else ct.OmnibusTest(kernel, n_resamples)
    accumulator = test.accumulator(predictions=some, rng=seed)
    with progress_bars(progress):
        number = -(-outcomes.n // at_once(survey.table.values.shape[1], AT_ONCE))
        parts = tracked(survey.pairs(None), number, "parts")
    for given, observed, _ in parts:
        sample = survey.sample(given, observed)
        accumulator.update(sample.predictions, sample.as_given)
    return accumulator.result(), (*test.estimator.notes(survey.n), *notes)
