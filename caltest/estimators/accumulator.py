"""Estimates from data that come in chunks: from disk, or from several machines."""

from abc import ABC, abstractmethod
from typing import Any, Generic, Self, TypeVar

from caltest._numerics import check_finite
from caltest._types import ArrayLike
from caltest.estimators.base import Estimator, SummableEstimator
from caltest.predictions import Predictions, Sample, as_sample
from caltest.predictions.base import impossible_note, named_one

R = TypeVar("R")


class Accumulator(ABC, Generic[R]):
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
        self.n = 0
        self._sums: Any = None
        self._rest: Sample | None = None
        self._kind: Predictions | None = None
        self._notes: tuple[str, ...] = ()
        self._impossible: list[int] = []
        self._n_impossible = 0

    def update(self, predictions: ArrayLike, targets: ArrayLike) -> Self:
        """Take the next observations, in their order; returns the accumulator itself.

        Observations that do not fill a block wait for those of the next chunk. Raises what a call of the estimator
        raises for bad data.
        """
        sample = as_sample(predictions, targets, copy=True)
        if self._kind is not None:
            self._kind.check_compatible(sample.predictions, "predictions")
        self._notice(sample.predictions, sample.impossible.tolist(), sample.impossible.size)
        self.n += len(sample)
        self._take(sample)
        return self

    def merge(self, other: Self) -> Self:
        """Take what another accumulator of the same estimator has seen, as if it came next; returns this one.

        Blocks of the other one stay as they are: if observations of this one wait to fill a block, they do so together
        with those of the other one that wait. Raises ``ValueError`` if the other one has other settings or landmarks.
        """
        if type(other) is not type(self) or self._settings() != other._settings():
            raise ValueError("other: got an accumulator with other settings, wanted one of the same estimator")
        if other._kind is not None:
            if self._kind is not None:
                self._kind.check_compatible(other._kind, "other")
            self._notice(other._kind, other._impossible, other._n_impossible)
            self._notes = tuple(dict.fromkeys((*self._notes, *other._notes)))
        self.n += other.n
        self._add(other._sums)
        if other._rest is not None:
            self._take(other._rest)
        return self

    @abstractmethod
    def result(self) -> R:
        """The result for all observations so far; ``ValueError`` if they are too few. More can follow."""

    @abstractmethod
    def _partial(self, sample: Sample) -> Any:
        """What a sample adds to the sums."""

    def _settings(self) -> object:
        """What has to be the same in accumulators that are merged."""
        return self.estimator

    def _take(self, sample: Sample) -> None:
        if self._rest is not None:
            sample = self._rest.followed_by(sample)
        whole = self.estimator.n_used(len(sample))
        self._rest = sample.take(slice(whole, None)) if whole < len(sample) else None
        if whole:
            self._add(self._partial(sample.take(slice(0, whole))))

    def _add(self, sums: Any) -> None:
        if self._sums is None:
            self._sums = sums
        elif sums is not None:
            self._sums = self._sums + sums

    def _notice(self, predictions: Predictions, rows: list[int], count: int) -> None:
        """Keep what the report says of the predictions; rows count from the first observation of all."""
        self._kind = named_one(self._kind, predictions)
        self._notes = tuple(dict.fromkeys((*self._notes, *predictions.notes)))
        self._impossible = (self._impossible + [self.n + row for row in rows])[:6]
        self._n_impossible += count

    def _seen(self) -> Predictions:
        """One of the predictions, to describe them all."""
        if self._kind is None or self._sums is None:
            raise ValueError(f"predictions: got {self.n} observations, too few for {type(self.estimator).__name__}")
        return self._kind

    def notes(self) -> tuple[str, ...]:
        """What readers of the result should know about predictions and outcomes."""
        if not self._n_impossible:
            return self._notes
        return (*self._notes, *impossible_note(self._n_impossible, self.n, self._impossible))


class EstimateAccumulator(Accumulator[float]):
    """An estimate from chunks. Made by ``BlockSKCE(...).accumulator()``.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.load_digits_predictions()["random forest"]
    >>> estimator = ct.BlockSKCE(ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), 0.5), ct.DeltaKernel()))
    >>> halves = estimator.accumulator(), estimator.accumulator()
    >>> first = halves[0].update(p.take(slice(0, 400)), y[:400])
    >>> second = halves[1].update(p.take(slice(400, 899)), y[400:])
    >>> abs(first.merge(second).result() - estimator(p, y)) < 1e-15
    True
    """

    def result(self) -> float:
        """The estimate from all observations so far."""
        self._seen()
        estimate = self.estimator.value(self._sums)
        check_finite(estimate)
        return estimate

    def _partial(self, sample: Sample) -> Any:
        return self.estimator.sums(sample)
