"""Predictions with the targets observed for them, and words for outcomes that predictions exclude."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from caltest._basics.numerics import Array, BoolArray, IntArray
from caltest._results.report import EXCLUDED
from caltest.predictions.base import Predictions


@dataclass(frozen=True, eq=False)
class Sample:
    """Predictions and the targets observed for them, both checked, and their rows in the data, if some are left out."""

    predictions: Predictions
    targets: Array = field(repr=False)
    rows: IntArray | None = field(default=None, repr=False)
    remarks: tuple[str, ...] = ()
    """What was done to the rows when they were matched."""

    def __len__(self) -> int:
        return len(self.predictions)

    @property
    def impossible(self) -> IntArray:
        """Rows with outcomes that their predictions exclude: under the null hypothesis there are none."""
        return np.flatnonzero(self.predictions.impossible(self.targets))

    def excluded_outcomes(self, start: int = 0) -> tuple[str, ...]:
        """The first five of these outcomes in words, with rows that count from ``start``."""
        places = self.impossible[:5]
        words = [self.predictions.law.outcome_in_words(self.targets[i]) for i in places]
        return tuple(f"row {start + row}: {one}" for row, one in zip(self.rows_at(places), words, strict=True))

    def rows_at(self, places: IntArray) -> list[int]:
        """Numbers of rows as the user counts them."""
        rows = places if self.rows is None else self.rows[places]
        return [int(row) for row in rows]

    @property
    def exclusion(self) -> str | None:
        """That outcomes occurred which their predictions exclude, in words, if there are some."""
        rows = self.impossible
        return excluded_in_words(rows.size, self.excluded_outcomes()) if rows.size else None

    @property
    def notes(self) -> tuple[str, ...]:
        """What readers of a result should know about the outcomes."""
        places = self.impossible
        impossible = impossible_note(places.size, len(self), self.rows_at(places[:6])) if places.size else ()
        return (*self.remarks, *impossible)

    def followed_by(self, other: "Sample") -> "Sample":
        """These pairs and others of the same kind, in this order."""
        return Sample(self.predictions.followed_by(other.predictions), np.concatenate([self.targets, other.targets]))

    def take(self, index: Any) -> "Sample":
        """The pairs at a slice or an integer array of any shape."""
        rows = None if self.rows is None else self.rows[index]
        return Sample(self.predictions.take(index), self.targets[index], rows, self.remarks)

    def without(self, left_out: BoolArray) -> "Sample":
        """The others, with their rows."""
        return self.part(np.flatnonzero(~left_out))

    def part(self, places: IntArray) -> "Sample":
        """Some of the pairs, with their rows."""
        return replace(self.take(places), rows=places if self.rows is None else self.rows[places])


def impossible_note(count: int, n: int, rows: Sequence[int]) -> tuple[str]:
    """What to say about outcomes of predicted probability 0; of the rows only the first five are named."""
    which = ", ".join(str(row) for row in rows[:5]) + (", ..." if count > 5 else "")
    return (
        f"{count} of {n} outcomes had predicted probability 0 (row {which}); calibrated predictions exclude that, "
        "whatever the p-value says; if they were rounded, pass them with all digits",
    )


def excluded_in_words(count: int, outcomes: Sequence[str]) -> str:
    """Why a p-value is 0; the first outcomes are named by row and class."""
    which = "; ".join(outcomes[:5]) + ("; ..." if count > 5 else "")
    if count == 1:
        return f"{EXCLUDED} ({which})"
    return f"{count} outcomes occurred to which probability 0 was given ({which})"
