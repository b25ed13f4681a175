"""Probabilities that look as if they were those of other classes or labels, percentages, or made from the outcomes."""

from collections.abc import Sequence
from math import inf

import numpy as np
import scipy

from caltest._basics.numerics import Array, FloatArray, IntArray, evenly_spaced
from caltest.predictions.classes.finite import FinitePredictions
from caltest.predictions.faults.fault import ranks
from caltest.predictions.reductions.standard_scores import in_units

WRONG, RIGHT, RIGHT_OF_MANY, FEWEST = 6.0, 2.5, 3.5, 5
"""Standard deviations by which outcomes disagree with wrong predictions at least, with right ones and those of several
classes at most, and the fewest events of which percentages can be told."""

CLEAR = 6.0
"""Standard deviations by which outcomes follow other probabilities more closely, also if these are not right either."""

SHOWN, ENOUGH, TINY = 5, 20, 1e-300
"""Classes that a question names, outcomes that each has at least, and the smallest probability with a logarithm."""

SELDOM = -20.0
"""The logarithm of the probability up to which it is next to impossible that all outcomes are the same."""

SOME, SOME_OF_TWO = 1000, 10_000
"""Rows that are looked at, and those of two classes."""

MOST_CLASSES = SOME // ENOUGH
"""Of more classes each has too few outcomes among these."""


def of_classes(law: FinitePredictions, targets: Array) -> tuple[str, ...]:
    """What to ask about probabilities and labels."""
    rows = evenly_spaced(len(law), SOME_OF_TWO if law.n_classes == 2 else SOME)
    some, labels = law.take(rows), targets[rows]
    if _are_made_from(labels, some.probabilities):
        return (
            "all rows of an outcome have the same prediction, which no other rows have: are the predictions made from "
            "the outcomes?",
        )
    if law.n_classes == 2:
        return _of_two_classes(some.probabilities[:, 1], labels) or _of_one_class(some, labels)
    return _of_many_classes(some, labels) or _of_one_class(some, labels)


def _are_made_from(labels: Array, p: FloatArray) -> bool:
    """Whether predictions (n, k) are one for each label, of which several occur."""
    seen, first, codes = np.unique(labels, return_index=True, return_inverse=True)
    if seen.size < 2 or labels.size < ENOUGH or not np.array_equal(p, p[first][codes]):
        return False
    if p[first, seen].min() < 0.5:
        return False
    return len(np.unique(p[first], axis=0)) == seen.size


def _of_two_classes(p: FloatArray, targets: Array) -> tuple[str, ...]:
    """Whether outcomes disagree with probabilities, and would fit those of the other class, or percentages."""
    if targets.size < ENOUGH or disagreement(p, targets) < WRONG:
        return ()
    asked = "are these the probabilities of the other class?"
    if disagreement(1.0 - p, targets) < RIGHT:
        return (f"1 - p would fit the outcomes: {asked}",)
    if _following(p, targets) < -CLEAR:  # Models are seldom calibrated, but hardly ever the wrong way round.
        return (f"1 - p would fit the outcomes better: {asked}",)
    if targets.sum() >= FEWEST and disagreement(p / 100.0, targets) < RIGHT:
        return ("p / 100 would fit the outcomes: are these percentages?",)
    if disagreement(100.0 * p, targets) < RIGHT:
        return ("100 p would fit the outcomes: were percentages divided by 100 twice?",)
    return ()


def _of_many_classes(law: FinitePredictions, labels: Array) -> tuple[str, ...]:
    """Whether outcomes disagree with probabilities, and would fit those of other columns, or follow these instead."""
    p, each = law.probabilities, np.arange(law.n_classes)
    occurred = labels[:, None] == each
    # Some order of many fits few outcomes.
    enough, better = np.bincount(labels, minlength=each.size) >= ENOUGH, ""
    columns, disagree = _assigned(occurred.T @ np.log(np.maximum(p, TINY))), disagreement(p, occurred)
    moved = np.flatnonzero((columns != each) & occurred.any(axis=0))
    is_wrong = moved.size > 0 and enough[moved].all() and disagree > WRONG
    if not is_wrong or disagreement(p[:, columns], occurred) > RIGHT_OF_MANY:
        # Models are seldom calibrated, but each class is hardly ever more probable where another one occurs.
        columns, better = followed_columns(p, occurred), " better"
        moved = np.flatnonzero(columns != each)
    if law.errors_on_a_line(labels) is not None and _following(p @ law.positions, labels) < -CLEAR:
        # Of ordered classes several columns rise and fall alike, and those at the ends can have few outcomes.
        columns, moved = each[::-1], each[each != each[::-1]]
        better = "" if disagree > WRONG and disagreement(p[:, ::-1], occurred) < RIGHT_OF_MANY else " better"
    return columns_asked([law.outcome_in_words(c) for c in moved[:SHOWN].tolist()], columns[moved], better)


def followed_columns(p: FloatArray, occurred: Array) -> IntArray:
    """Columns of p (n, k) that what occurred (n, k) clearly follows more closely than its own, in which others stay."""
    each, following = np.arange(p.shape[1]), _following(p, occurred)
    columns = _assigned(following)
    own, other = following[each, each], following[each, columns]
    clear = (other - own > CLEAR) & (other > RIGHT_OF_MANY) & (occurred.sum(axis=0) >= ENOUGH)
    # No column is that of two: what takes the place of another one is clear only if that one's own place is.
    while (clear & ~clear[columns]).any():
        clear &= clear[columns]
    return np.where(clear, columns, each)


def columns_asked(names: Sequence[str], columns: IntArray, better: str, what: str = "classes") -> tuple[str, ...]:
    """A question about columns that would fit, of which the first have names."""
    if columns.size < 2:
        return ()
    found = [f"{name}: column {column}" for name, column in zip(names, columns.tolist(), strict=False)]
    found += ["..."] * (columns.size > len(names))
    return (
        f"columns in another order would fit the outcomes{better} ({', '.join(found)}): is theirs that of the {what}?",
    )


def _assigned(scores: FloatArray) -> IntArray:
    """A column for each class, so that the sum of the scores (class, column) is as large as can be."""
    return np.asarray(scipy.optimize.linear_sum_assignment(scores, maximize=True)[1])


def _following(p: FloatArray, occurred: Array) -> FloatArray:
    """How far what occurred (n, c) has higher ranks in the columns (n, j) than the rest, in standard deviations (c, j).

    Those of chance if both are independent (Wilcoxon 1945); only the order of the probabilities matters. For (n,) a
    number.
    """
    of_columns = np.stack([ranks(column) for column in p.reshape(len(p), -1).T], axis=1)
    events = occurred.reshape(len(p), -1).astype(np.float64)
    parts = [one - one.mean(axis=0) for one in (events, of_columns)]
    spreads = np.multiply.outer(*(np.sqrt((one * one).sum(axis=0)) for one in parts))
    found: FloatArray = np.sqrt(len(p) - 1.0) * in_units(parts[0].T @ parts[1], spreads)
    return found if p.ndim > 1 else found[0, 0]


def _of_one_class(law: FinitePredictions, labels: Array) -> tuple[str, ...]:
    """Whether all outcomes are of one class, although others were to be expected."""
    first = int(labels[0])
    # Several labels of which this is asked are named once.
    name = str(first) if law.notion.startswith("label ") else law.outcome_in_words(first)
    return all_one(name, law.probabilities[:, first], labels == first)


def all_one(name: str, probabilities: FloatArray, occurred: Array) -> tuple[str, ...]:
    """Whether an outcome of probabilities (n,) occurred in all rows, although that is next to impossible."""
    with np.errstate(divide="ignore"):
        if occurred.size < ENOUGH or not occurred.all() or np.log(probabilities).sum() > SELDOM:
            return ()
    return (f"all outcomes are {name}: were they read from the right column?",)


def disagreement(p: FloatArray, occurred: Array) -> float:
    """The largest standardised sum of ``y - p`` of any class, and of that times the log-odds, for p (n,) or (n, k).

    Infinite for impossible outcomes.
    """
    inner = (p > 0.0) & (p < 1.0)
    if (~inner & (occurred != p)).any():
        return inf
    q = np.where(inner, p, 0.5)
    errors, variances, odds = occurred - p, np.where(inner, q * (1.0 - q), 0.0), np.log(q) - np.log1p(-q)
    sums = (np.abs((one * errors).sum(axis=0)) for one in (1.0, odds))
    spreads = (np.sqrt((one * one * variances).sum(axis=0)) for one in (1.0, odds))
    return float(np.max([in_units(*pair) for pair in zip(sums, spreads, strict=True)]))


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
