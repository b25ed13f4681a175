"""Predicted probabilities of labels of which a row can have none, one or several."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from caltest._basics.arrays import Table, index_of
from caltest._basics.calls import OwnErrstate
from caltest._basics.numerics import Array, ArrayLike, FloatArray, IntArray
from caltest._validation import class_names, class_order, label_probabilities, switch
from caltest._validation.arrays import same_length
from caltest._validation.labels import in_order_of_columns
from caltest.predictions.classes.categorical import Bernoulli


class MultiLabel(OwnErrstate):
    """Probabilities of L labels of which a row can have none, one or several: they need not sum to 1.

    Parameters
    ----------
    probabilities
        (n, L) array-like, data frame or sparse matrix of numbers in [0, 1] (``ValueError`` otherwise): row i says how
        probable each label is for observation i.
    names
        L different names in the order of the columns; by default those of the columns of a data frame, or 0..L-1.
    independent
        Whether the predictions say that the labels of a row are independent of each other. By default they say nothing
        about that, and tests are valid however the labels depend on each other. If True, labels that occur together
        more often than that are an error of the predictions too, which no test here looks for, and p-values are exact
        only if it is none.

    Notes
    -----
    ``calibration_test(ct.MultiLabel(p), y)`` tests every label, ``label(name)`` gives the predictions of one, as
    ``Bernoulli``, for all other calls. The hypothesis of label l is ``P(Y_l = 1 | p_l) = p_l``, its p-value is exact,
    from B redraws of its outcomes, for rows that are independent given the predictions. P-values of at most 0.01 are
    computed again from ceil(L / 5) times as many redraws, and are then at most 0.01. They are adjusted by Holm's method
    (Holm 1979), or, for independent labels, by the step-down maximum of the statistics (Westfall and Young 1993). Time
    O(n B L), and that of the redraws of labels with small p-values.

    Targets are (n, L) of 0 and 1 or booleans, as an array, data frame (columns are
    matched by their names, where the labels have names) or sparse matrix, or a list with a set of names for each row.

    Examples
    --------
    >>> import caltest as ct
    >>> p = ct.MultiLabel([[0.9, 0.2, 0.7], [0.1, 0.1, 0.3]], names=["dog", "cat", "indoors"])
    >>> p, p.label("cat")
    (<MultiLabel, n = 2, 3 labels>, <Bernoulli (label cat), n = 2>)
    >>> ct.calibration_test(p, [{"dog"}, {"cat", "indoors"}], n_resamples=99, rng=1).pvalue
    0.39
    """

    def __init__(
        self, probabilities: ArrayLike, names: Sequence[Any] | None = None, *, independent: bool = False
    ) -> None:
        table = Table.of(probabilities, "probabilities")
        self.probabilities, note = label_probabilities(table.array("probabilities"))
        given = table.names if names is None else in_order_of_columns(table.names, names, "names")
        self.names = class_names(given, self.probabilities.shape[1])
        self.independent = switch("independent", independent)
        self.notes = (note,) if note else ()
        self._index = table.index

    def __len__(self) -> int:
        return len(self.probabilities)

    def __repr__(self) -> str:
        return f"<{self.describe()}>"

    def describe(self) -> str:
        """The predictions in a few words."""
        n_labels = self.probabilities.shape[1]
        return f"MultiLabel, n = {len(self)}, {n_labels} label{'s' * (n_labels > 1)}"

    @property
    def texts(self) -> tuple[str, ...]:
        """Names of the labels as text."""
        return tuple(str(name) for name in self._names)

    @property
    def _names(self) -> Sequence[Any]:
        return range(self.probabilities.shape[1]) if self.names is None else self.names

    def label(self, name: Any) -> Bernoulli:
        """The predictions of one label; ``ValueError`` if there is none of the name."""
        if name not in self._names:
            raise ValueError(f"name: got {name!r}, wanted one of the labels, such as {self._names[0]!r}")
        return self.column(self._names.index(name))

    def column(self, j: int) -> Bernoulli:
        """The predictions of the label in column j."""
        p = np.ascontiguousarray(self.probabilities[:, j])
        return Bernoulli.reduced(p, f"label {self.texts[j]}", self.notes)._labelled(self._index)

    def with_targets(self, targets: ArrayLike) -> tuple["MultiLabel", FloatArray, tuple[str, ...]]:
        """Predictions and targets (n, L) of 0, 1 and NaN for missing ones, in the same order, and notes on that."""
        rows = _rows_of_names(targets)
        if rows is None:
            table = Table.of(targets, "targets")
            observed = self._indicators(table)
        else:
            observed = self._occurrences(rows)
            same_length(len(self), len(observed))
            table = Table(observed, index=index_of(targets))
        given, notes = Table(self.probabilities, index=self._index).in_order_of(table, "predictions", "targets")
        if not notes:
            return self, observed, ()
        matched = MultiLabel(given.values, self.names, independent=self.independent)
        matched.notes = self.notes
        return matched, observed, notes

    def _occurrences(self, rows: Sequence[Any]) -> FloatArray:
        place = {name: j for j, name in enumerate(self._names)}
        observed = np.zeros((len(rows), len(place)))
        for i, row in enumerate(rows):
            for name in row:
                if name not in place:
                    known = [repr(one) for one in list(place)[:SHOWN]] + ["..."] * (len(place) > SHOWN)
                    raise ValueError(f"targets: got {name!r} at row {i}, wanted names of labels: {', '.join(known)}")
                observed[i, place[name]] = 1.0
        return observed

    def _indicators(self, table: Table) -> FloatArray:
        values, shape = table.values, self.probabilities.shape
        if values.ndim == 1 and shape[1] == 1:
            values = values[:, None]
        if values.shape != shape:
            raise ValueError(
                f"targets: got shape {values.shape}, wanted {shape}, one column of 0 and 1 for each label, or a set of "
                "names of labels for each row"
            )
        order: IntArray | None = class_order(table.names, self.names, "targets")
        observed = _as_numbers(values if order is None else values[:, order])
        wrong = ~(np.isin(observed, (0.0, 1.0)) | np.isnan(observed))
        if wrong.any():
            i, j = (int(place) for place in np.argwhere(wrong)[0])
            raise ValueError(
                f"targets: got {observed[i, j]:.6g} at row {i}, column {j}, wanted 0, 1 or booleans that say which "
                "labels a row has"
            )
        return observed


SHOWN = 10
"""Names of labels that an error lists."""


def _rows_of_names(targets: Any) -> Sequence[Any] | None:
    """A collection of names for each row, where the targets are that: sets, or lists of text."""
    is_column = getattr(targets, "ndim", 2) == 1 and str(getattr(targets, "dtype", "")) == "object"
    if not isinstance(targets, (list, tuple)) and not is_column:
        return None
    rows = list(targets)
    if not rows or not all(isinstance(row, (set, frozenset, list, tuple)) for row in rows):
        return None
    are_names = all(isinstance(row, (set, frozenset)) or all(isinstance(one, str) for one in row) for row in rows)
    if not are_names and len({len(row) for row in rows}) > 1:
        raise ValueError(
            "targets: got rows of different lengths, wanted 0 or 1 for each label in each row; if these are the labels "
            "that a row has, pass a set for each row"
        )
    return rows if are_names else None


def _as_numbers(values: Array) -> FloatArray:
    """Numbers, NaN where a value is missing; ``ValueError`` for text."""
    numbers = np.full(values.shape, np.nan)
    present = ~Table(values.reshape(-1, 1)).missing().reshape(values.shape)
    some = Table(np.ma.getdata(values)[present]).array("targets")
    if some.dtype.kind not in "buif":
        raise ValueError(
            f"targets: got text such as {str(some[0])!r}, wanted 0 and 1, or a set of names of labels for each row"
        )
    numbers[present] = some
    return numbers
