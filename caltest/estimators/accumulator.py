"""Estimates, and moments of their terms, from data that come in chunks: from disk, or from several machines."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Self, TypeVar
from uuid import uuid4

import numpy as np

from caltest._basics.numerics import OwnErrstate, check_finite
from caltest._basics.types import ArrayLike, FloatArray
from caltest.estimators.base import Estimator, SummableEstimator
from caltest.predictions import Predictions, Sample
from caltest.predictions.base import named_one
from caltest.predictions.convert import as_sample
from caltest.predictions.sample import impossible_note

R = TypeVar("R")

NAMED = 6
"""Rows of impossible outcomes that are kept, one more than notes name."""


class Accumulator(OwnErrstate, ABC, Generic[R]):
    """Takes chunks of predictions and targets, keeps their sums, and gives the result for all of them.

    Parameters
    ----------
    estimator
        ``BlockSKCE(kernel, block_size)``, or ``LowRankSKCE(kernel)`` resolved with some of the predictions.

    Raises
    ------
    TypeError
        For an estimator that needs all pairs of observations at once.
    ValueError
        For a setting that depends on all predictions.
    """

    def __init__(self, estimator: Estimator) -> None:
        if not isinstance(estimator, SummableEstimator):
            raise TypeError(
                f"estimator: got {type(estimator).__name__}, which needs all observations at once; wanted BlockSKCE "
                "or LowRankSKCE, whose cost is proportional to n"
            )
        estimator.check_resolved()
        self.estimator: SummableEstimator = estimator
        self._state = Seen(members=frozenset([uuid4().hex]))

    @property
    def n(self) -> int:
        """Number of observations so far."""
        return self._state.n

    def update(self, predictions: ArrayLike, targets: ArrayLike, *, classes: Sequence[Any] | None = None) -> Self:
        """Take the next observations, in their order; returns the accumulator itself.

        Observations that do not fill a block wait for those of the next chunk. Raises what a call of the estimator
        raises for bad data. ``classes`` are the names of the classes in the order of the columns, if the targets are
        names. Whatever is raised, an interruption too, the chunk is taken wholly or not at all: ``n`` says which.
        """
        sample, state = as_sample(predictions, targets, classes, copy=True), self._state
        if state.kind is not None:
            state.kind.check_compatible(sample.predictions, "predictions")
        rows, notes = sample.impossible, sample.predictions.notes
        state = state.noticed(sample.predictions, notes, rows[:NAMED].tolist(), rows.size, len(sample))
        self._state = self._taken(state, sample)
        return self

    def merge(self, other: Self) -> Self:
        """Take what another accumulator of the same estimator has seen, as if it came next; returns this one.

        Blocks of the other one stay as they are: if observations of this one wait to fill a block, they do so together
        with those of the other one that wait. Raises ``ValueError`` if the other one has other settings or landmarks,
        or observations that this one has taken already: is this one, a copy of it, or was merged before.
        """
        if type(other) is not type(self) or self._settings() != other._settings():
            raise ValueError("other: got an accumulator with other settings, wanted one of the same estimator")
        state, more = self._state, other._state
        if state.members & more.members:
            raise ValueError(
                "other: got this accumulator, or one that it was copied from or has taken before, wanted one of other "
                "observations: these would count twice"
            )
        state = self._joined(state, more)
        if more.kind is not None:
            if state.kind is not None:
                state.kind.check_compatible(more.kind, "other")
            state = state.noticed(more.kind, more.notes, more.impossible, more.n_impossible, more.n)
        state = replace(state.plus(more.sums), members=state.members | more.members)
        self._state = state if more.rest is None else self._taken(state, more.rest)
        return self

    @abstractmethod
    def result(self) -> R:
        """The result for all observations so far; ``ValueError`` if they are too few. More can follow."""

    @abstractmethod
    def _partial(self, state: "Seen", sample: Sample) -> "Seen":
        """What is seen with a sample that fills blocks."""

    def _settings(self) -> object:
        """What has to be the same in accumulators that are merged."""
        return self.estimator

    def _joined(self, state: "Seen", more: "Seen") -> "Seen":
        """What is seen with the random numbers of another one."""
        return state

    def _taken(self, state: "Seen", sample: Sample) -> "Seen":
        """What is seen with more observations, of which some may wait."""
        if state.rest is not None:
            sample = state.rest.followed_by(sample)
        whole = self.estimator.n_used(len(sample))
        rest = sample.take(slice(whole, None)) if whole < len(sample) else None
        state = replace(state, rest=rest)
        return self._partial(state, sample.take(slice(0, whole))) if whole else state

    def _seen(self) -> Predictions:
        """One of the predictions, to describe them all."""
        if self._state.kind is None or self._state.sums is None:
            raise ValueError(f"predictions: got {self.n} observations, too few for {type(self.estimator).__name__}")
        return self._state.kind

    def notes(self) -> tuple[str, ...]:
        """What readers of the result should know about predictions and outcomes."""
        state = self._state
        if not state.n_impossible:
            return state.notes
        return (*state.notes, *impossible_note(state.n_impossible, state.n, state.impossible))


@dataclass(frozen=True, eq=False)
class Seen:
    """What an accumulator keeps of its observations: replaced as a whole, so that no update is done by halves.

    ``members`` are the accumulators that it has taken, itself among them; ``seeds`` are those of their random numbers,
    ``streams`` the first that each of them used, and ``stream`` is the last.
    """

    members: frozenset[str]
    n: int = 0
    sums: Any = None
    rest: Sample | None = None
    kind: Predictions | None = None
    notes: tuple[str, ...] = ()
    impossible: tuple[int, ...] = ()
    n_impossible: int = 0
    seeds: frozenset[int] = frozenset()
    streams: frozenset[int] = frozenset()
    stream: int | None = None

    def noticed(
        self, predictions: Predictions, notes: tuple[str, ...], rows: Iterable[int], count: int, n: int
    ) -> Self:
        """With n more predictions, of the kind of these, and what the report says of them; rows count from 0."""
        return replace(
            self,
            n=self.n + n,
            kind=named_one(self.kind, predictions),
            notes=tuple(dict.fromkeys((*self.notes, *notes))),
            impossible=(*self.impossible, *(self.n + row for row in rows))[:NAMED],
            n_impossible=self.n_impossible + count,
        )

    def plus(self, sums: Any) -> Self:
        """With the sums of more."""
        if self.sums is None or sums is None:
            return replace(self, sums=self.sums if sums is None else sums)
        return replace(self, sums=self.sums + sums)


class EstimateAccumulator(Accumulator[float]):
    """An estimate from chunks. Made by ``BlockSKCE(...).accumulator()``.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> estimator = ct.BlockSKCE(ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), 0.5), ct.DeltaKernel()))
    >>> halves = estimator.accumulator(), estimator.accumulator()
    >>> first = halves[0].update(p.take(slice(0, 400)), y[:400])
    >>> second = halves[1].update(p.take(slice(400, 899)), y[400:])
    >>> abs(first.merge(second).result() - estimator(p, y)) < 1e-15
    True
    """

    def result(self) -> float:
        self._seen()
        estimate = self.estimator.value(self._state.sums)
        check_finite(estimate)
        return estimate

    def _partial(self, state: Seen, sample: Sample) -> Seen:
        return state.plus(self.estimator.sums(sample))


@dataclass(frozen=True)
class Moments:
    """Number of terms, their mean, the sum of their squared deviations from it, and the largest absolute value."""

    n: int
    mean: float
    squares: float
    largest: float

    @classmethod
    def of(cls, terms: FloatArray) -> "Moments":
        """Moments of some terms."""
        if terms.size == 0:
            return cls(0, 0.0, 0.0, 0.0)
        mean = float(terms.mean())
        return cls(terms.size, mean, float(np.sum((terms - mean) ** 2)), float(np.abs(terms).max()))

    def __add__(self, other: "Moments") -> "Moments":
        """Moments of both sets of terms (Chan, Golub and LeVeque 1983)."""
        n = self.n + other.n
        if n == 0:
            return self
        difference = other.mean - self.mean
        mean = self.mean + difference * other.n / n
        squares = self.squares + other.squares + difference**2 * self.n * other.n / n
        return Moments(n, mean, squares, max(self.largest, other.largest))
