"""Labels of which an observation can have several, with columns in another order, or asked about one by one."""

from collections.abc import Sequence

import numpy as np

from caltest._basics.numerics import FloatArray, evenly_spaced
from caltest.predictions.questions.classes import SHOWN, SOME, columns_asked, followed_columns


def of_labels(p: FloatArray, outcomes: FloatArray, names: Sequence[str], asked: Sequence[tuple[str, ...]]) -> list[str]:
    """What to ask about p (n, L) and outcomes, 0, 1 or nan, given what there is to ask about each label."""
    rows = np.flatnonzero(~np.isnan(outcomes).any(axis=1))
    rows = rows[evenly_spaced(rows.size, SOME)]
    columns = followed_columns(p[rows], outcomes[rows])
    moved = np.flatnonzero(columns != np.arange(len(names)))
    about_order = columns_asked([f"label {names[j]}" for j in moved[:SHOWN]], columns[moved], " better", "labels")
    if about_order:
        return list(about_order)
    labels: dict[str, list[str]] = {}
    for name, questions in zip(names, asked, strict=True):
        for question in questions:
            labels.setdefault(question, []).append(name)
    return [f"{_named(which, len(names))}: {question}" for question, which in labels.items()]


def _named(which: list[str], n_labels: int) -> str:
    if len(which) == n_labels > 1:
        return "all labels"
    return f"label{'s' * (len(which) > 1)} {', '.join(which[:SHOWN])}{', ...' * (len(which) > SHOWN)}"
