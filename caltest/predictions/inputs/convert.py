"""Predictions with the targets observed for them; user data become such checked samples here, once."""

from collections.abc import Sequence
from copy import copy as copy_of
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from caltest._basics.arrays import Table, column, index_of, order_of
from caltest._basics.calls import are_pvalues_enough, own_errstate
from caltest._basics.numerics import Array, ArrayLike, BoolArray, FloatArray, IntArray
from caltest._basics.threads import progress_bars
from caltest._results.report import EXCLUDED, once
from caltest._validation import not_a_pair, not_numbers, not_swapped, switch
from caltest._validation.labels import classes_of, not_named, require_order_of
from caltest.kernels import Metric
from caltest.predictions.bandwidth import median_distance
from caltest.predictions.base import Predictions
from caltest.predictions.classes.categorical import Bernoulli, Categorical
from caltest.predictions.classes.finite import FinitePredictions, at_labels
from caltest.predictions.classes.multi_label import MultiLabel
from caltest.predictions.inputs.foreign import from_foreign, is_foreign
from caltest.predictions.questions.misread import misread

NO_ORDER = Table(np.empty(0))

NAMED = 6
"""Rows of excluded outcomes that are kept, one more than notes name."""

Excluded: TypeAlias = tuple[tuple[int, str], ...]
"""Rows with outcomes that their predictions exclude, the first ones, and these outcomes in words."""


@dataclass(frozen=True, eq=False)
class Sample:
    """Predictions and the targets observed for them, both checked, and their rows in the data, if some are left out."""

    predictions: Predictions
    targets: Array = field(repr=False)
    rows: IntArray | None = field(default=None, repr=False)
    matched: tuple[str, ...] = ()
    """What was done to the rows when they were matched."""
    as_read: tuple[Predictions, Array, IntArray | None] | None = field(default=None, repr=False)
    """All of both as they came, about which there may be something to ask, and their rows if some are left out."""
    order: Table = field(default=NO_ORDER, repr=False)
    """Labels of the rows of the call, without values: settings of rows that have labels too are matched by them."""
    values: Array | None = field(default=None, repr=False)
    """Targets (n,) as numbers, where those that are tested are the intervals of quantiles."""

    def __len__(self) -> int:
        return len(self.predictions)

    @cached_property
    def questions(self) -> tuple[str, ...]:
        """What to ask about the data."""
        return misread(*(self.as_read or (self.predictions, self.targets, self.rows)))

    @property
    def remarks(self) -> tuple[str, ...]:
        """What was done to the rows, and what to ask about the data if they came from a user and somebody reads it."""
        return self.matched if self.as_read is None or are_pvalues_enough() else (*self.matched, *self.questions)

    @property
    def as_given(self) -> Array:
        """Targets as a call takes them: names of classes, numbers in the intervals of quantiles and of times."""
        law = self.predictions
        if self.values is not None:
            return self.values
        if law.classes is not None:
            return np.array(law.classes, dtype=object)[self.targets]
        return (
            law.observed(self.targets, np.random.default_rng(0)) if isinstance(law, FinitePredictions) else self.targets
        )

    @property
    def impossible(self) -> IntArray:
        """Rows with outcomes that their predictions exclude: under the null hypothesis there are none."""
        return np.flatnonzero(self.predictions.impossible(self.targets))

    @property
    def excluded(self) -> Excluded:
        """The first of these rows, and their outcomes in words."""
        places = self.impossible[:NAMED]
        words = [self.predictions.law.outcome_in_words(self.targets[i]) for i in places]
        return tuple(zip(self.rows_at(places), words, strict=True))

    def rows_at(self, places: IntArray) -> list[int]:
        """Numbers of rows as the user counts them."""
        rows = places if self.rows is None else self.rows[places]
        return [int(row) for row in rows]

    @property
    def exclusion(self) -> str | None:
        """That outcomes occurred which their predictions exclude, in words, if there are some."""
        rows = self.impossible
        return excluded_in_words(rows.size, self.excluded) if rows.size else None

    @property
    def notes(self) -> tuple[str, ...]:
        """What readers of a result should know about the outcomes."""
        places = self.impossible
        if not places.size:
            return self.remarks
        certain = are_certain(self.predictions)
        return (*self.remarks, *impossible_note(places.size, len(self), self.excluded, certain), *(LABELS,) * certain)

    def pooled(self) -> "Sample":
        """The same as tests take it, with ensembles that have their targets among them."""
        pools = self.predictions.pooled(self.targets)
        if pools is self.predictions:
            return self
        pools.notes = once(*self.predictions.notes, *pools.notes)
        return replace(self, predictions=pools, targets=pools.check_targets(self.targets))

    @property
    def losses(self) -> FloatArray:
        """Losses (n,) of the predictions, as their family has it."""
        return self.predictions.law.losses(self.targets if self.values is None else self.values)

    def followed_by(self, other: "Sample") -> "Sample":
        """These pairs and others of the same kind, in this order."""
        law, targets = self.predictions.followed_by(other.predictions), np.concatenate([self.targets, other.targets])
        if self.as_read is None or other.as_read is None:
            return Sample(law, targets)
        (read, values, _), (more, others, _) = self.as_read, other.as_read
        joined = law if read is self.predictions and more is other.predictions else read.followed_by(more)
        given = targets if values is self.targets and others is other.targets else np.concatenate([values, others])
        return Sample(law, targets, as_read=(joined, given, None))

    def take(self, index: Any) -> "Sample":
        """The pairs at a slice or an integer array of any shape."""
        rows = None if self.rows is None else self.rows[index]
        law, values = self.predictions.take(index), None if self.values is None else self.values[index]
        return Sample(law, self.targets[index], rows, self.matched, self.as_read, values=values)

    def without(self, left_out: BoolArray) -> "Sample":
        """The others, with their rows."""
        return self.part(np.flatnonzero(~left_out))

    def part(self, places: IntArray) -> "Sample":
        """Some of the pairs, with their rows."""
        return replace(self.take(places), rows=places if self.rows is None else self.rows[places])


def are_certain(predictions: Predictions) -> bool:
    """Whether all predictions are of probability 0 and 1, as predicted labels are."""
    finite = predictions.law.finite
    return finite is not None and bool((at_labels(finite.stored, finite.stored.argmax(axis=-1)) == 1.0).all())


LABELS = "all predictions are 0 or 1: are they labels, of predict in place of predict_proba?"


def impossible_note(count: int, n: int, excluded: Excluded, certain: bool = False) -> tuple[str]:
    """What to say about outcomes of predicted probability 0; of the rows only the first five are named.

    ``certain`` says that all predictions are of probability 0 and 1, and so not rounded.
    """
    which = ", ".join(str(row) for row, _ in excluded[:5]) + (", ..." if count > 5 else "")
    advice = "; if they were rounded, pass them with all digits" * (not certain)
    return (
        f"{count} of {n} outcomes had predicted probability 0 (row {which}); calibrated predictions exclude that, "
        f"whatever the p-value says{advice}",
    )


def excluded_in_words(count: int, excluded: Excluded) -> str:
    """Why a p-value is 0; the first outcomes are named by row and class."""
    which = "; ".join(f"row {row}: {words}" for row, words in excluded[:5]) + ("; ..." if count > 5 else "")
    if count == 1:
        return f"{EXCLUDED} ({which})"
    return f"{count} outcomes occurred to which probability 0 was given ({which})"


Missing: TypeAlias = Literal["refuse", "drop"]
"""What becomes of observations without an outcome."""


def _are_distributions(data: object) -> bool:
    """Whether data are predictions of a family, or distributions of another package."""
    return isinstance(data, (Predictions, MultiLabel)) or (not isinstance(data, np.ndarray) and is_foreign(data))


def as_predictions(data: ArrayLike, classes: Sequence[Any] | None = None, *, copy: bool = True) -> Predictions:
    """``Predictions`` as they are, an (n, k) array-like as ``Categorical``, (n,) or (n, 1) as ``Bernoulli``.

    Distributions of scipy.stats and torch.distributions become the family of that name, with one prediction for each
    of their parameters (n,), or for each distribution in a list. Predictions of classes without names take those given.

    Without ``copy`` they can read the caller's array, and then last no longer than the call.
    """
    if not isinstance(data, (Predictions, MultiLabel)) and _are_distributions(data):
        data = from_foreign(data)
    if isinstance(data, Predictions):
        return data if classes is None else data.with_classes(classes)
    if isinstance(data, MultiLabel):
        raise TypeError(
            f"predictions: got {data.describe()}, which only calibration_test takes as a whole; pass one label, "
            f"p.label({next(iter(data.names or (0,)))!r}), with its column of the targets"
        )
    table = Table.of(data, "predictions")
    array = column(table.array("predictions"))
    if array.ndim not in (1, 2):
        pairs = array if array.ndim == 3 and array.shape[2] == 2 and array.dtype.kind == "f" else None
        if pairs is not None and np.allclose(pairs.sum(axis=2), 1.0):
            raise ValueError(
                f"predictions: got {len(pairs)} arrays {pairs.shape[1:]}, as predict_proba of several outputs gives; "
                "pass ct.MultiLabel(numpy.stack([q[:, 1] for q in predictions], axis=1))"
            )
        raise ValueError(
            f"predictions: got shape {array.shape}, wanted (n, k) probabilities of k classes "
            "or (n,) probabilities of class 1; for members of ensembles wrap them in ct.Ensemble"
        )
    kind: type[Categorical | Bernoulli] = Bernoulli if array.ndim == 1 else Categorical
    rows = Table(array, None if array.ndim == 1 else table.names, table.index)
    return kind(rows, classes=classes) if copy else kind.borrowed(rows, classes)


def as_sample(
    predictions: ArrayLike,
    targets: ArrayLike,
    classes: Sequence[Any] | None = None,
    *,
    prefix: str = "",
    copy: bool = False,
    missing: Missing | None = None,
    pooled: bool = True,
) -> Sample:
    """Predictions and targets, checked and matched; ``prefix`` is that of the names in errors.

    Rows are matched by position, or by the index where both are pandas objects with the same labels; then the order is
    that of the targets. Names of columns are those of the classes if the targets are such names. ``missing`` says what
    becomes of missing targets; None refuses them where the caller has no choice.

    Ensembles are pooled with their targets, as tests take them, unless the pairs are for something else. Without
    ``copy`` the sample can read the caller's arrays, and then lasts no longer than the call.
    """
    if _are_distributions(targets):
        raise TypeError("targets: got predictions; the arguments are swapped, pass the predictions first")
    if missing not in (None, *get_args(Missing)):
        raise ValueError(f'missing: got {missing!r}, wanted "refuse" or "drop"')
    names = f"{prefix}predictions", f"{prefix}targets"
    observed, given, columns, remarks = _in_one_order(predictions, targets, names)
    order = order_of(targets, given)
    if isinstance(given, Table):
        given = Table(given.array(names[0]), columns)
    kept, outcomes = _complete(observed, names[1], missing)
    if isinstance(given, Table):
        not_swapped(given.values, outcomes)
    classes = classes_of(columns, outcomes, classes)
    try:
        converted = as_predictions(given, classes, copy=copy)
        checked = converted.check_targets(outcomes, names[1])
        read = converted.as_read(outcomes, checked)
    except ValueError:
        values = given.values if isinstance(given, Table) else given
        if getattr(values, "ndim", 1) > 0:
            not_a_pair(outcomes, len(values), names[1])
        if classes is None:
            if isinstance(given, Table):
                not_numbers(given.values, outcomes, names[1])
            not_named(columns, outcomes, names[1])
        raise
    if order.index is not None and converted.index is not order.index:
        converted = copy_of(converted)._labelled(order.index)
    if kept is not None:
        remarks = (*remarks, missing_note(len(checked) - kept.size, len(checked)))
        converted, checked, read = converted.take(kept), checked[kept], read[kept]
    elif copy:
        is_same, checked = read is checked, checked.copy()
        read = checked if is_same else read.copy()
    values = None if converted.levels is None else read
    sample = Sample(converted, checked, kept, remarks, (converted, read, kept), order, values)
    return sample.pooled() if pooled else sample


def missing_note(count: int, n: int) -> str:
    """What to say about outcomes that are missing."""
    were, its = ("was", "its prediction") if count == 1 else ("were", "their predictions")
    return (
        f"{count} of {n} outcomes {were} missing and left out, with {its}; "
        "this assumes that whether an outcome is missing does not depend on it, given the prediction"
    )


def observed_targets(targets: ArrayLike) -> Array:
    """Targets as an array; ``ValueError`` that says what to do if some are missing."""
    return _complete(Table.of(targets, "targets"), "targets", None)[1]


def _complete(observed: Table, name: str, missing: Missing | None) -> tuple[IntArray | None, Array]:
    """Rows of the targets that are not missing, None if none is, and targets with others in the place of the missing.

    These stay as long as the predictions, so that errors name rows of the data.
    """
    lacking = observed.missing() if observed.values.ndim and observed.values.size else np.zeros(1, dtype=bool)
    if not lacking.any():
        return None, observed.array(name)
    count, row = int(lacking.sum()), int(lacking.argmax())
    if missing != "drop":
        advice = "leave those rows out of predictions and targets"
        if missing == "refuse":
            advice = 'or pass missing="drop" if those that are missing are like the others with the same predictions'
        try:
            observed.array(name)
        except ValueError as error:
            raise ValueError(f"{error}, {advice}" if missing else str(error)) from None
        got = "NaT" if observed.values.dtype.kind in "mM" else "nan"
        advice = f"drop those rows of predictions and targets, {advice}" if missing else advice
        raise ValueError(f"{name}: got {got} at row {row} ({count} in all), wanted finite numbers; {advice}")
    kept = np.flatnonzero(~lacking)
    if kept.size == 0:
        raise ValueError(f"{name}: got only missing values ({count}), wanted at least one that is observed")
    places = kept[np.maximum(np.searchsorted(kept, np.arange(lacking.size), side="right") - 1, 0)]
    return kept, observed.take(places).array(name)


def brought_into_order(
    observed: Table, predictions: Any, names: tuple[str, str] = ("predictions", "targets")
) -> tuple[Any, tuple[str, ...]]:
    """Distributions in the order of targets with the same labels of rows, and notes if they were in another."""
    require_order_of(predictions._coordinates, observed.names, names[1])
    index = index_of(predictions)
    if index is None:
        return predictions, ()
    rows, notes = Table(np.arange(len(index)), index=index).in_order_of(observed, *names)
    return predictions.take(rows.values) if notes else predictions, notes


def _unused_names(predictions: Any) -> tuple[Any, ...] | None:
    """Names of columns that predictions were made of, where their classes have no names."""
    return predictions._columns if isinstance(predictions, Predictions) and predictions.classes is None else None


def columns_given(predictions: ArrayLike) -> tuple[str, ...]:
    """Names of the columns of a table, or of that which predictions without names of classes were made of."""
    are_made = _are_distributions(predictions)
    names = _unused_names(predictions) if are_made else Table.of(predictions, "predictions").names
    return tuple(map(str, names)) if names is not None and len(names) > 1 else ()


def in_order_of_targets(
    predictions: ArrayLike, targets: ArrayLike, classes: Sequence[Any] | None
) -> tuple[ArrayLike, Sequence[Any] | None]:
    """Predictions with their rows as ``as_sample`` matches them, and names of their classes."""
    observed, given, columns, _ = _in_one_order(predictions, targets, ("predictions", "targets"))
    return given, classes_of(columns, observed.array("targets"), classes)


def _in_one_order(
    predictions: ArrayLike, targets: ArrayLike, names: tuple[str, str]
) -> tuple[Table, Any, tuple[Any, ...] | None, tuple[str, ...]]:
    """Targets, predictions of a family or a table of some in their order, names of columns, and notes on the order."""
    if _are_distributions(predictions):
        law = as_predictions(predictions)
        observed = Table.of(targets, names[1])
        law, notes = brought_into_order(observed, law, names)
        return observed, law, _unused_names(law), notes
    table, observed = Table.of(predictions, names[0]), Table.of(targets, names[1])
    table, notes = table.in_order_of(observed, *names)
    return observed, table, table.names, notes


@own_errstate
def median_bandwidth(
    predictions: ArrayLike, metric: Metric, include_diagonal: bool = False, *, progress: bool = False
) -> float:
    """Median distance of pairs of predictions, the bandwidth of the median heuristic.

    Parameters
    ----------
    predictions
        ``Predictions`` or an array-like that becomes some.
    metric
        Distance of two predictions, e.g. ``TotalVariation()``.
    include_diagonal
        False: median over the n(n-1)/2 pairs of different predictions, what ``bandwidth="median"`` uses (of 10 000
        evenly spaced predictions if there are more).
        True: over all n**2 entries of the distance matrix with its n zeros, as in the experiments of
        Widmann et al. 2019. The two differ by O(1/n) in the rank.
    progress
        Show a progress bar on standard error for what takes more than a second.

    Returns
    -------
    float
        The exact median; even numbers of distances give the mean of the middle two. Time O(n**2 k) a pass, with
        few passes; memory O(n k) and about 12 MB.

    Raises
    ------
    ValueError
        If the median is 0, because most predictions are identical.
    TypeError
        If the family does not have the metric.

    Examples
    --------
    >>> import caltest as ct
    >>> p = [[0.2, 0.8], [0.5, 0.5], [0.9, 0.1]]
    >>> round(ct.median_bandwidth(p, ct.TotalVariation()), 3)
    0.4
    """
    if not isinstance(metric, Metric):
        raise TypeError(f"metric: got {metric!r}, wanted a metric such as TotalVariation()")
    with progress_bars(switch("progress", progress)):
        return median_distance(as_predictions(predictions, copy=False), metric, include_diagonal)
