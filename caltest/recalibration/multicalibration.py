"""A map that makes predictions right in slices of features: the worst slice is corrected, again and again."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from caltest._basics.arrays import order_of
from caltest._basics.numerics import Array, ArrayLike, BoolArray, FloatArray, IntArray
from caltest._results.report import counted
from caltest._validation import positive_number, whole
from caltest._validation.columns import Coding, Column, columns_for
from caltest.predictions import Bernoulli, Sample
from caltest.predictions.own_errors import refuse_errors
from caltest.recalibration.base import ProbabilityCalibrator, ProbabilityMap
from caltest.recalibration.shared.inputs import probabilities_of
from caltest.recalibration.shared.storage import require
from caltest.slices.errors import BinaryErrors
from caltest.slices.search import ALL, Search, Tables

RIDGE = 10.0
"""Precision of the normal prior of changes of logits: slices of few events change little."""

PATIENCE = 10
"""Steps without gain on held-out folds after which no more are tried."""

PREDICTION = "prediction"
"""The name of the column of the predictions themselves."""

Columns = Sequence[tuple[str, Array]]


@dataclass(frozen=True, eq=False, repr=False)
class MulticalibrationMap(ProbabilityMap):
    """Logits changed in slices, one after the other.

    ``columns`` are JSON: how each column is cut, that of the predictions first; ``max_depth`` is 2 for pairs of columns
    too. Each of the ``steps`` (m, 6) has column and bin of a slice, those of a second column or -1, and a, b of
    ``l + a + b l`` for logits l.
    """

    max_depth: int
    columns: str
    steps: FloatArray

    binary = True

    def _check(self) -> None:
        super()._check()
        require(self.max_depth in (1, 2), "max_depth", self.max_depth, "1 or 2")
        require(self.steps.size % 6 == 0, "steps", self.steps, "six numbers for each step")
        object.__setattr__(self, "steps", self.steps.reshape(-1, 6))
        codings = self.codings
        for j, code in (pair for step in self.steps for pair in (step[:2], step[2:4])):
            is_place = 0 <= j < len(codings) and 0 <= code < len(codings[int(j)].words)
            require(is_place or j == code == -1, "steps", self.steps, "columns and bins that there are")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {counted(len(self.steps), 'step')}: {'; '.join(self.slices) or 'none'}>"

    @property
    def codings(self) -> list[Coding]:
        """How each column is cut."""
        try:
            made = []
            for one in json.loads(self.columns):
                settings: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in one.items()}
                made.append(Coding(**settings))
            right = all(one.words and (one.edges is None or np.isfinite(one.edges).all()) for one in made)
        except (TypeError, ValueError, AttributeError):
            right = False
        require(right and made, "columns", self.columns, "the bins of columns, as fit() writes them")
        return made

    @property
    def slices(self) -> tuple[str, ...]:
        """The slice of each step, in words."""
        words = [one.words for one in self.codings]
        named = ([words[int(j)][int(code)] for j, code in (step[:2], step[2:4]) if j >= 0] for step in self.steps)
        return tuple(" and ".join(some) or ALL for some in named)

    def columns_in(self, given: Mapping[str, Array]) -> "Columns":
        """The columns of the fit in some by name; ``ValueError`` if one is missing."""
        names = [one.name for one in self.codings[1:]]
        lacking = [name for name in names if name not in given]
        if lacking:
            raise ValueError(f"features: got no column {', '.join(lacking)}, wanted the columns of the fit")
        return [(name, given[name]) for name in names]

    def __call__(self, predictions: ArrayLike, features: Any = None, *, classes: Sequence[Any] | None = None) -> Any:
        """Predictions that are corrected in the slices of the fit, of the kind that is given.

        ``features`` are the columns of the fit, in any order and with others; rows with categories that are new, or
        with missing values where the fit had none, are in no slice of that column. ``ValueError`` if a column is
        missing.
        """
        return self._mapped(predictions, classes, partial(self._corrected, features, predictions))

    def _apply(self, scores: FloatArray) -> FloatArray:
        return self._corrected(None, None, scores)

    def _corrected(self, features: Any, index: Any, scores: FloatArray) -> FloatArray:
        p = probabilities_of(scores, self.input)
        given = {} if features is None else dict(columns_for(features, index, p.size))
        columns = [(PREDICTION, p), *self.columns_in(given)]
        codes = [one.codes(values) for one, (_, values) in zip(self.codings, columns, strict=True)]
        # No outcome is asked for.
        errors = BinaryErrors(p, np.zeros_like(p))
        for j, code, k, other, *change in self.steps:
            rows = np.ones(p.size, dtype=bool)
            for column, own in ((j, code), (k, other)):
                rows &= column < 0 or codes[int(column)] == own
            errors = errors.changed(rows, np.array(change))
        return errors.p


@dataclass(frozen=True)
class Multicalibration(ProbabilityCalibrator):
    """Probabilities that are right in slices of features: bins, categories and pairs of them, and of the prediction.

    In each step the slice with the largest statistic of ``find_slices`` is corrected, all rows being one of them:
    logits l of its rows become ``l + a + b l``, with b = 0 where the frequency is wrong, and a, b of the largest
    likelihood times a normal prior of precision 10, which keeps slices of few events nearly as they are. How many steps
    are made is decided by cross-validation of the log loss in the data of the fit: the smallest number that is within
    one standard error of the best one, which is 0 where nothing is clearly wrong.

    Parameters
    ----------
    max_steps
        How many steps there are at most. No more are tried after 10 that help no held-out fold.
    n_bins, max_depth, min_variance
        Of the slices, as in ``find_slices``. The prediction is a column as others are, whose bins stay those of the
        predictions that are given.
    n_folds
        Parts of the data of the fit that decide the number of steps. Rows are spread over them in the order of
        outcomes and predictions: there is no random number.

    Raises
    ------
    ValueError
        For bad settings; when fitting for bad data, or columns of another length.
    TypeError
        When fitting, for predictions of several classes.

    Notes
    -----
    ``fit(predictions, targets, features)`` and ``map(predictions, features)`` take a data frame, a mapping of columns
    or an (n, d) array, with numbers, categories, times and missing values. Without features only slices of the
    prediction are corrected. ``multicalibration_report`` judges the map on held-out data. Assumes independent
    observations. Time O(n_folds n L) for each step, with L tables of columns and their pairs.

    Sources: Hebert-Johnson, Kim, Reingold and Rothblum 2018, whose steps have a fixed size and who stop when no slice
    is wrong by more than a bound.

    Examples
    --------
    >>> import caltest as ct
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> p, site = rng.uniform(0.2, 0.7, 3000), rng.choice(["a", "b", "c"], 3000)
    >>> y = rng.random(3000) < p + 0.2 * (site == "b")
    >>> fitted = ct.recalibration.Multicalibration().fit(p, y, {"site": site})
    >>> fitted.slices[0], fitted(np.array([0.4, 0.4]), {"site": ["a", "b"]}).round(1).tolist()
    ('site = b', [0.4, 0.6])
    """

    citations = ("hebertjohnson2018",)
    max_steps: int = 100
    n_bins: int = 5
    max_depth: int = 2
    min_variance: float = 5.0
    n_folds: int = 5

    binary = True

    _checks = {
        "max_steps": whole(0, 10_000),
        "n_bins": whole(2, 1000),
        "max_depth": whole(1, 2),
        "n_folds": whole(2, 100),
        "min_variance": positive_number,
    }

    def fit(
        self, predictions: ArrayLike, targets: ArrayLike, features: Any = None, *, classes: Sequence[Any] | None = None
    ) -> MulticalibrationMap:
        """The map estimated from predictions, targets and features of the same rows, which the model has not seen."""

        def fit(scores: FloatArray, labels: IntArray) -> MulticalibrationMap:
            order = order_of(targets, predictions)
            columns = [] if features is None else columns_for(features, order, labels.size, labels)
            return self._fit(scores, labels, columns)

        return self._fitted(predictions, targets, classes, fit)

    def _fit(self, scores: FloatArray, labels: IntArray, columns: Columns = ()) -> MulticalibrationMap:
        p = probabilities_of(scores, self.input)
        refuse_errors(columns, Sample(Bernoulli(p), labels))
        others = (Coding.of(name, values, self.n_bins) for name, values in columns)
        codings = [Coding.of_numbers(PREDICTION, p, self.n_bins), *others]
        tables = cells(codings, columns, p, self.max_depth)
        errors = BinaryErrors(p, labels.astype(np.float64))
        boosting = Boosting(errors, tables, np.ones(p.size, dtype=bool), self.min_variance)
        for _ in range(self._best_number(errors, tables)):
            boosting.step()
        # Only times have edges in words of their own.
        text = json.dumps([{k: v for k, v in asdict(one).items() if k != "shown" or v} for one in codings])
        return MulticalibrationMap(self.input, 2, self.max_depth, text, np.array(boosting.steps).reshape(-1, 6))

    def _best_number(self, errors: BinaryErrors, tables: Tables) -> int:
        """The smallest number of steps whose log loss on held-out folds is within a standard error of the best."""
        n = errors.p.size
        folds = np.empty(n, dtype=np.intp)
        folds[np.lexsort((errors.p, errors.y))] = np.arange(n) % self.n_folds
        runs = [Boosting(errors, tables, folds != fold, self.min_variance) for fold in range(self.n_folds)]
        losses: list[FloatArray] = []
        best = 0
        for number in range(self.max_steps + 1):
            losses.append(np.concatenate([one.held_out_losses() for one in runs]))
            best = number if losses[number].mean() < losses[best].mean() else best
            if number - best >= PATIENCE or not any([one.step() for one in runs]):  # noqa: C419
                break
        more = [one - losses[best] for one in losses[: best + 1]]
        return next(i for i, one in enumerate(more) if one.mean() <= one.std() / np.sqrt(n))


def cells(codings: Sequence[Coding], columns: Columns, p: FloatArray, max_depth: int) -> Tables:
    """The cells of rows, of the fit or others; some can be empty."""
    values = [p, *(one for _, one in columns)]
    coded = [Column(one.codes(some), one.words) for one, some in zip(codings, values, strict=True)]
    return Tables.of(coded, max_depth)


class Boosting:
    """Predictions of all rows, corrected step by step by the outcomes of some of them."""

    def __init__(self, errors: BinaryErrors, tables: Tables, used: BoolArray, min_variance: float) -> None:
        self._tables, self._used = tables, used
        self._some = replace(tables, layouts=np.ascontiguousarray(tables.layouts[:, used]))
        self._errors, self._others = _rows(errors, used), _rows(errors, ~used)
        self._search = Search(self._errors, self._some, "both", min_variance)
        self.steps: list[list[float]] = []

    def step(self) -> bool:
        """Correct the worst slice; False if there is none."""
        if not self._search.slices.size:
            return False
        z = self._search.with_errors(self._errors).observed()
        channel, place = np.unravel_index(int(np.abs(z).argmax()), z.shape)
        cell = int(self._search.slices[place])
        rows = self._tables.rows_of(cell)
        change = self._errors.best_change(rows[self._used], int(channel), RIDGE)
        self._errors = self._errors.changed(rows[self._used], change)
        self._others = self._others.changed(rows[~self._used], change)
        bins = [float(number) for pair in self._tables.bins_of(cell) for number in pair]
        self.steps.append([*bins, *[-1.0] * (4 - len(bins)), *change.tolist()])
        return True

    def held_out_losses(self) -> FloatArray:
        """Log losses of the rows that are not used; 0 for certain predictions, which no step changes."""
        return np.where(self._others.v > 0.0, self._others.losses(), 0.0)


def _rows(errors: BinaryErrors, rows: BoolArray) -> BinaryErrors:
    return BinaryErrors(errors.p[rows], errors.y[rows])
