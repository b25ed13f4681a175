"""Predictions and outcomes in files, matched with each other and checked."""

import re
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from caltest._basics.arrays import Table
from caltest._basics.files import LONGEST, read_rows, read_with_columns
from caltest._basics.numerics import Array, FloatArray
from caltest._basics.rows import Rows, column_in_words, decimals, is_number, number, numbers, texts, with_numbers
from caltest._validation import observation_weights, same_length
from caltest._validation.column_names import refuse_quantiles, require_mean_and_deviation
from caltest._validation.labels import names_in_columns, numbers_of, said_to_occur
from caltest.cli.inputs.headers import MISSING, TRUE_FALSE, headers, is_header
from caltest.cli.options import outcomes_of
from caltest.cli.outputs import check_different
from caltest.predictions import Ensemble, Normal, Predictions, Sample, SurvivalCurve
from caltest.predictions.inputs.convert import Missing, as_predictions, as_sample

NUMBERS = "are two columns, mean and standard deviation, with --normal, or members with --members"

Checks = Mapping[str, Callable[[Array], object]]
"""What raises ``ValueError`` for a wrong row of a column, by the name of this one."""

WHOLE = re.compile(r"[+-]?[0-9]+")
"""Whole numbers, which are read with all their digits."""


def read_outcomes(path: Path) -> Rows:
    """Outcomes as they are written in a file, to be matched with several predictions."""
    rows = read_rows(path, texts)
    width = len(rows.head) if rows.head is not None else rows.values.shape[1]
    if width != 1:
        raise ValueError(
            f"{rows.path}: got {width} columns, wanted 1: the outcome (save without the index; numbers with decimal "
            "commas need a header)"
        )
    return rows


def read_sample(
    predictions: Path,
    outcomes: Path | Rows | str,
    family: str = "",
    missing: Missing = "refuse",
    columns: Sequence[str] = (),
    others: Sequence[str] = (),
    classes: Sequence[str] = (),
    checks: Checks | None = None,
) -> tuple[Sample, int, dict[str, Array]]:
    """Predictions and outcomes from files, the number n of rows, missing outcomes included, and other columns (n,).

    Outcomes are a file, what was read of one, or the name of a column of the file of predictions, which the others are
    in too. Predictions are in the rest of the columns, or in those that are named; of numbers if there is a ``family``,
    ``"normal"`` or ``"members"``, of times if it is ``"curves"``; targets are then the times, not their intervals.
    ``classes`` are names of the outcomes 0, 1, ..., by default of the columns if outcomes are such names. ``checks``
    are of other columns. Errors name the file, and the line where there is one.
    """
    if isinstance(outcomes, str):
        given, taken = _read(predictions, family, columns, [outcomes, *others])
        found = {name: _column(taken, j) for j, name in enumerate(others, 1)}
        sample, n = _matched(given, replace(taken, values=taken.values[:, :1]), family, missing, classes)
        _check(found, checks, taken, sample)
        return sample, n, found
    if isinstance(outcomes, Path):
        check_different([predictions, outcomes])
    given, _ = _read(predictions, family, columns)
    observed = read_outcomes(outcomes) if isinstance(outcomes, Path) else outcomes
    return *_matched(given, observed, family, missing, classes), {}


def sample_of(
    options: Namespace, others: Sequence[str] = (), checks: Checks | None = None
) -> tuple[Sample, int, dict[str, Array]]:
    """The same of what the arguments of a command name."""
    how = options.family, options.missing, options.columns, others, options.classes, checks
    return read_sample(options.predictions, outcomes_of(options), *how)


def _read(path: Path, family: str, columns: Sequence[str] = (), others: Sequence[str] = ()) -> tuple[Rows, Rows]:
    """Columns of predictions, by default all, and others."""
    wrong = next((name for name in columns if name in others[:1] or columns.count(name) > 1), None)
    if wrong is not None:
        as_what = "the column of outcomes" if wrong in others[:1] else "a column named twice"
        raise ValueError(f"--columns: got {wrong!r}, {as_what}, wanted different columns of predictions")
    with columns_advised(bool(columns)):
        if columns or others:
            given, taken = read_with_columns(path, others, columns)
        else:
            given = taken = with_numbers(read_rows(path, numbers))
        if not family and not columns:
            check_columns(given)
    return given, taken


def read_models(
    path: Path, outcomes: str, missing: Missing, columns: Sequence[str], classes: Sequence[str]
) -> dict[str, Sample]:
    """Binary predictions of several models by the names of their columns, with the outcomes in another column."""
    given, observed = _read(path, "", columns, [outcomes])
    single = {
        name: replace(given, values=given.values[:, [j]], names=[name]) for j, name in enumerate(given.names or ())
    }
    return {name: _matched(one, observed, "", missing, classes)[0] for name, one in single.items()}


@contextmanager
def columns_advised(are_named: bool) -> Iterator[None]:
    """Errors of columns that are no predictions say how to name those that are."""
    try:
        yield
    except ValueError as error:
        if are_named or not re.search("wanted a number|wanted numbers|counts rows", str(error)):
            raise
        raise ValueError(f"{error}; or name the columns of predictions with --columns") from None


def _matched(given: Rows, observed: Rows, family: str, missing: Missing, classes: Sequence[str]) -> tuple[Sample, int]:
    if family and classes:
        raise ValueError(f"--classes: got {','.join(classes)} for predictions of numbers, wanted none")
    has_header, outcome_has_header = headers(given, observed, family)
    table, labels = given.with_head(has_header), observed.with_head(outcome_has_header)
    targets = targets_of(labels, table, classes)
    sample = paired(table, labels, targets, family, missing, names_of(table), classes or None)
    first = (observed.head or [""])[0]
    # Pandas writes 0 over a column without a name; where it also does so over the predictions, both say so.
    if outcome_has_header and is_number(first) and not all(map(is_number, given.head or [])):
        note = f"{observed.path}: the first line, {first}, was taken for a header, as there is one line more than rows"
        sample = replace(sample, matched=(*sample.matched, f"{note} of {given.path}"))
    return sample, len(targets)


def paired(
    table: Rows,
    labels: Rows,
    targets: Array,
    family: str,
    missing: Missing,
    names: tuple[str, ...] | None = None,
    classes: Sequence[str] | None = None,
) -> Sample:
    """Rows of predictions with the targets that labels became, not pooled; errors say where in the files they are.

    ``classes`` are names of classes if targets are such names; else these are ``names``, if targets are among them.
    """
    try:
        if family:
            sample = as_sample(_of_numbers(table, family), targets, missing=missing, pooled=False)
            return replace(sample, targets=kept_rows(targets, sample)) if family == "curves" else sample
        _check_names_differ(table)
        sample = as_sample(Table(table.values, names), targets, classes, missing=missing)
        return replace(sample, predictions=_named(sample.predictions, table.names))
    except ValueError as error:
        raise ValueError(_located(str(error), table, labels)) from None


def read_weights(path: Path, n: int) -> FloatArray:
    """A weight for each of n rows from a file of one column; a number over n others is its header."""
    rows = read_rows(path, numbers)
    is_header = rows.head is not None and (not all(map(is_number, rows.head)) or len(rows.values) == n)
    table = rows.with_head(is_header)
    width = table.values.shape[1]
    if width != 1:
        raise ValueError(f"{rows.path}: got {width} columns, wanted 1: the weight (save without the index)")
    try:
        same_length(n, len(observation_weights(table.values[:, 0])), "weights")
    except ValueError as error:
        where = re.sub(r"row (\d+)", lambda found: table.where(int(found[1])), str(error))
        raise ValueError(f"{rows.path}: {where}") from None
    return np.asarray(table.values[:, 0], dtype=np.float64)


def read_columns(path: Path, n: int, sample: Sample, checks: Checks | None = None) -> dict[str, Array]:
    """Columns of n rows by the names in the first line: numbers where all cells are, missing ones NaN, else text.

    Only the rows of a sample are kept.
    """
    table = read_rows(path, texts).with_head(True)
    try:
        same_length(n, len(table.values), "rows")
    except ValueError as error:
        raise ValueError(f"{table.path}: {error}, and a header with names") from None
    found = {name: _column(table, j) for j, name in enumerate(table.names or ())}
    _check(found, checks, table, sample)
    return {name: kept_rows(column, sample) for name, column in found.items()}


def _check(columns: Mapping[str, Array], checks: Checks | None, rows: Rows, sample: Sample) -> None:
    """Check some columns of the rows that a sample has; errors say where in the file they are."""
    places = np.arange(len(rows)) if sample.rows is None else sample.rows
    for name in columns.keys() & (checks or {}).keys():
        try:
            (checks or {})[name](columns[name][places])
        except ValueError as error:
            message = re.sub(r"\brow (\d+)", lambda found: rows.place(int(places[int(found[1])])), str(error))
            raise ValueError(f"{rows.path}, column {name!r}: {message}") from None


def kept_rows(column: Array, sample: Sample) -> Array:
    """The rows of a column that a sample has."""
    return column if sample.rows is None else column[sample.rows]


def _column(rows: Rows, j: int) -> Array:
    """Numbers where all cells are, missing ones NaN, else text; so are labels of too many digits for a number."""
    texts = [str(cell).strip() for cell in rows.values[:, j]]
    missing = [text.lower() in MISSING for text in texts]
    if not all(absent or is_number(text) for text, absent in zip(texts, missing, strict=True)):
        return np.array(texts)
    lines = rows.lines if rows.lines.size else np.arange(len(rows))
    texts = [text for (text,) in decimals(rows.path, [[text] for text in texts], lines.tolist())]
    present = [text for text, absent in zip(texts, missing, strict=True) if not absent]
    if all(map(WHOLE.fullmatch, present)):
        whole = np.array([int(text) for text in present])
        if len(present) == len(texts) and whole.dtype.kind in "iu":
            return whole
        if max(map(abs, whole.tolist()), default=0) > LONGEST:
            return np.array(["" if absent else text for text, absent in zip(texts, missing, strict=True)])
    return np.array([np.nan if absent else float(text) for text, absent in zip(texts, missing, strict=True)])


def read_predictions(path: Path, family: str = "", columns: Sequence[str] = ()) -> tuple[Predictions, list[str] | None]:
    """Predictions from a file, without outcomes, and the names of their columns, if it has some."""
    given, _ = _read(path, family, columns)
    table = given.with_head(is_header(given, family))
    try:
        if family:
            return _of_numbers(table, family), table.names
        _check_names_differ(table)
        return _named(as_predictions(table.values), table.names), table.names
    except ValueError as error:
        raise ValueError(_located(str(error), table, None)) from None


def _check_names_differ(table: Rows) -> None:
    """Raise ``ValueError`` if two columns of classes have the same name."""
    names = table.names or []
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(
            f"{table.path}: got {names.count(twice)} columns of predictions named {twice!r}, wanted names that are all "
            "different"
        )


def _named(predictions: Predictions, columns: list[str] | None) -> Predictions:
    """Predictions of classes with the names in the header, by which files are matched; 0, 1, 2, ... are none."""
    if columns is None or len(columns) < 2 or columns == [str(i) for i in range(len(columns))]:
        return predictions
    if predictions.finite is None or predictions.finite.classes is not None:
        return predictions
    return predictions.with_classes(columns)


def cluster_columns(columns: Mapping[str, Array], names: Sequence[str]) -> Array:
    """Labels of the clusters of the rows, (n,) or (n, 2)."""
    return columns[names[0]] if len(names) == 1 else np.column_stack([columns[name] for name in names])


def check_clusters(column: Array) -> None:
    """Raise ``ValueError`` unless the cluster of each row is known."""
    values = [str(one).strip().lower() for one in column.tolist()]
    missing = [i for i, one in enumerate(values) if one in MISSING]
    if missing:
        raise ValueError(
            f"--clusters: got {len(missing)} rows without one, the first of them row {missing[0]}, wanted the cluster "
            "of each row; leave these rows out, or give each a name of its own"
        )


def names_of(table: Rows) -> tuple[str, ...] | None:
    """Names of the columns, unless they only count."""
    names = table.names
    return None if names is None or names == [str(j) for j in range(len(names))] else tuple(names)


def targets_of(rows: Rows, predictions: Rows, classes: Sequence[str] = ()) -> Array:
    """Outcomes as numbers, booleans or names (of columns or ``classes``); missing are None, or NaN among numbers."""
    values = rows.values[:, 0]
    if values.dtype.kind not in "OU":
        return values
    values = values.astype(object)
    names = set(classes or predictions.names or ())
    present = np.array([value in names or value.lower() not in MISSING for value in values], dtype=bool)
    cells = [[value] for value in values[present]]
    targets = np.full(len(values), None, dtype=object)
    if classes and not names.isdisjoint(values[present]):
        targets[present] = values[present]
    elif all(is_number(cell) for (cell,) in cells):
        lines = (rows.lines if rows.lines.size else np.arange(len(values)))[present].tolist()
        targets = np.full(len(values), np.nan)
        targets[present] = [number(cell) for (cell,) in decimals(rows.path, cells, lines)]
    elif (booleans := _booleans(values[present].tolist(), predictions)) is not None:
        targets[present] = booleans
    else:
        targets[present] = values[present]
        _check_names(rows, values, present, predictions)
    return targets


def _booleans(words: list[str], predictions: Rows) -> list[bool] | None:
    """Outcomes in words such as yes and no, if no columns are named after them but one, yes; None for others.

    For several columns they are true and false, or the columns have such names.
    """
    names = predictions.names or ()
    is_clear = predictions.values.shape[1] == 1 or said_to_occur(names) or {one.lower() for one in words} <= TRUE_FALSE
    is_apart = not set(words).intersection(names) or said_to_occur(names) == [True]
    return said_to_occur(words) if is_clear and is_apart else None


def _check_names(rows: Rows, values: Array, present: Array, predictions: Rows) -> None:
    """Raise ``ValueError`` for outcomes that no column of the predictions is named after."""
    names = predictions.names
    if names is None:
        i = next(i for i in np.flatnonzero(present).tolist() if not is_number(values[i]))
        where = f"a header with the names in {predictions.path}"
        if not predictions.lines.size:
            where = f"predictions in a file with names of columns, which {predictions.path} has not"
        raise ValueError(
            f"{rows.path}, {rows.where(i)}: got names such as {values[i]!r}, wanted labels 0..k-1, or {where}"
        )
    if predictions.values.shape[1] == 1:
        raise ValueError(
            f"{rows.path}: got names such as {values[present][0]!r} for one column of predictions, wanted outcomes 0 "
            "and 1, no and yes or false and true, or the names of 0 and 1 with --classes, such as survived,died"
        )
    unknown = next((i for i in np.flatnonzero(present).tolist() if values[i] not in names), None)
    if unknown is not None:
        order = names_in_columns(names, np.unique(values[present].astype(str)).tolist())
        advice = "" if order is None else f"; write {','.join(order)} over these columns"
        raise ValueError(
            f"{rows.path}: got {values[unknown]!r} at {rows.place(unknown)}{_heading(rows, predictions)}, wanted one "
            f"of the names in the header of {predictions.path}: {', '.join(names)}{advice}"
        )


def _of_numbers(table: Rows, family: str) -> Predictions:
    """Predictions of numbers, ``"normal"`` or ``"members"`` of ensembles, or ``"curves"`` of survival."""
    if family == "curves":
        return SurvivalCurve(_times_of(table), table.values)
    names, of_normal = table.names or [], "mean and standard deviation"
    refuse_quantiles(names, table.path, "members" if family == "members" else of_normal)
    if family == "members":
        return Ensemble(table.values)
    if table.values.shape[1] != 2:
        raise ValueError(f"{table.path}: got {table.values.shape[1]} columns, wanted 2: {of_normal}")
    if names:
        require_mean_and_deviation(names, table.path)
    return Normal(table.values[:, 0], table.values[:, 1])


def _times_of(table: Rows) -> list[float]:
    """Times in the names of columns, such as ``t=2.5`` or ``12 months``."""
    wanted = (
        "survival curves, a column for each time, which is in its name: of probabilities of no event up to it; name "
        "these with --columns, or take --normal or --members"
    )
    found = [re.findall(r"\d+(?:\.\d*)?(?:[eE][+-]?\d+)?", name) for name in table.names or ()]
    wrong = next((name for name, times in zip(table.names or (), found, strict=True) if len(times) != 1), None)
    if table.names is None or wrong is not None:
        raise ValueError(f"{table.path}: got {'no header' if wrong is None else repr(wrong)}, wanted {wanted}")
    return [float(times[0]) for times in found]


def check_columns(table: Rows) -> None:
    """Raise ``ValueError`` if the first of several columns counts rows, or two are one with decimal commas."""
    values = table.values
    if values.dtype.kind not in "iuf" or values.shape[1] < 2 or not (np.floor(values[:, 0]) == values[:, 0]).all():
        return
    first = values[:, 0]
    if len(values) > 2 and first[0] in (0, 1, 2) and (np.diff(first) == 1.0).all():
        raise ValueError(f"{table.path}: the first column counts rows; save without the index")
    if values.shape[1] == 2 and np.isin(first, (0.0, 1.0)).all() and (values[:, 1] > 1.0).any():
        raise ValueError(
            f"{table.path}: got 2 columns of whole numbers that are no probabilities; if they are one with decimal "
            "commas, write a name in the first line"
        )


def _in_column(name: str, predictions: Rows) -> str:
    """Which column has the mean or the standard deviation, if it has a name."""
    place = {"mean": 0, "scale": 1}.get(name)
    return "" if place is None or predictions.names is None else f" in {column_in_words(place, predictions.names)}"


def _heading(outcomes: Rows, predictions: Rows) -> str:
    """Which column outcomes are in, if it is one of several in a file."""
    is_one_file = outcomes.path == predictions.path and bool(outcomes.names)
    return f", {column_in_words(0, outcomes.names)}" if is_one_file else ""


def _order_of_labels(names: list[str]) -> str | None:
    """Names that are numbers, or such as no and yes, in the order of the labels that they stand for."""
    labels = said_to_occur(names) or numbers_of(names)
    return None if labels is None else ",".join(name for _, name in sorted(zip(labels, names, strict=True)))


def _located(message: str, predictions: Rows, outcomes: Rows | None) -> str:
    """An error about arrays as one about files, with lines beside rows."""
    name, _, rest = message.partition(": ")
    rows = outcomes if name == "targets" and outcomes is not None else predictions
    if name not in ("targets", "predictions", "probabilities", "mean", "scale", "members", "times"):
        return message
    rest = re.sub(r"\bcolumn (\d+)", lambda found: column_in_words(int(found[1]), rows.names), rest)

    def place(found: re.Match[str]) -> str:
        row = int(found[2])
        if row >= len(rows):
            return found[0]
        return rows.place(row).replace("row", found[1], 1)

    rest = re.sub(r"\b(row|position) (\d+)", place, rest)
    if rows is not predictions:
        rest = re.sub(r"\brow \d+( \(line \d+\))?", rf"\g<0>{_heading(rows, predictions)}", rest, count=1)
    if predictions.names is not None and (order := _order_of_labels(predictions.names)) is not None:
        are_names = f"if labels are names, bring the columns into their order, --columns {order}"
        are_places = "if they are places, write other names over the columns"
        rest = re.sub("name the columns by words, or pass classes=.*", f"{are_names}; {are_places}", rest)
        in_order = f"the columns in the order of 0 and 1, --columns {order}"
        rest = rest.replace("wanted these names, or booleans", f"wanted these names, or {in_order}")
    rest = re.sub("need their family: .*", NUMBERS, rest)
    rest = rest.replace("leave out the column that numbers the rows", "name the members with --columns")
    if outcomes is not None:
        rest = rest.replace("has its column", "has its column, or name those of predictions with --columns")
    if name in ("mean", "scale", "times"):
        rest = f"{name}{_in_column(name, predictions)}: {rest}"
    return f"{rows.path}: {rest}".replace('pass missing="drop"', "pass --missing drop")
