"""What tests and monitors have in common: bets on outcomes as they come in."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import log, log1p
from typing import Any, Generic, Literal, Self, TypeVar, cast, get_args

import numpy as np
import scipy

from caltest._basics.arrays import last_time, order_of, to_array
from caltest._basics.numerics import ArrayLike, FloatArray, IntArray, ranges, seed_of
from caltest._results.report import once
from caltest._results.values import Stored
from caltest._validation import CalledWithData, one_of, switch
from caltest.estimators.kernel_errors.kernel_estimator import a_product_or_none
from caltest.estimators.scores import log_mixture
from caltest.kernels import ProductKernel
from caltest.predictions import Predictions, Sample
from caltest.predictions.base import assumed
from caltest.predictions.inputs.convert import NAMED, Excluded, as_sample
from caltest.predictions.inputs.labelled import named_one
from caltest.sequential.bets import Bets, KernelBets, LikelihoodBets
from caltest.sequential.change import AT_ONCE

Strategy = Literal["both", "likelihood", "kernel"]


@dataclass(frozen=True, eq=False)
class Batch:
    """What one update adds: ``log E`` and ``-log p`` (b,) after each observation."""

    sample: Sample
    evidence: FloatArray
    bounds: FloatArray


@dataclass(frozen=True, eq=False)
class State:
    """What the next bets depend on, and how many batches count: replaced as a whole, when all of an update is done."""

    n: int = 0
    n_batches: int = 0
    excluded: Excluded = ()
    n_impossible: int = 0
    kind: Predictions | None = None
    notes: tuple[str, ...] = ()
    lag: int = 1
    weights: FloatArray = field(default_factory=lambda: np.empty(0))
    bets: tuple[tuple[Bets, ...], ...] = ()
    """Those of each of the interleaved streams."""
    capitals: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    """Logarithms of the capitals, (lag, K)."""
    now: FloatArray = field(default_factory=lambda: np.zeros(1))
    """``log E`` of each stream, (lag,)."""
    peaks: FloatArray = field(default_factory=lambda: np.zeros(1))
    """Its largest values so far."""
    latest: Any = None
    """The last time stamp of an index, if there was one."""

    def started(self, bets: tuple[Bets, ...], weights: FloatArray) -> Self:
        """Before the first bet, with gamblers of their own for each stream."""
        capitals, zeros = np.zeros((self.lag, weights.size)), np.zeros(self.lag)
        return replace(self, bets=(bets,) * self.lag, weights=weights, capitals=capitals, now=zeros, peaks=zeros)

    def played(self, sample: Sample) -> tuple[FloatArray, FloatArray, Self]:
        """``log E`` and the bound ``-log p`` after each of the next observations, and the state after them."""
        each, capitals = np.empty((self.lag, len(sample))), self.capitals.copy()
        factors, streams, bets = self._factors(sample)
        for k in range(self.lag):
            rows = np.flatnonzero(streams == k)
            logs = capitals[k][:, None] + np.cumsum(factors[:, rows], axis=1)
            each[k] = carried(self.now[k], log_mixture(logs, self.weights), rows, len(sample))
            capitals[k] = logs[:, -1] if rows.size else capitals[k]
        peaks = np.maximum.accumulate(np.column_stack([self.peaks, each]), axis=1)[:, 1:]
        equal = np.full(self.lag, 1.0 / self.lag)
        bounds = log_mixture(peaks, equal) - log(merging_factor(self.lag))
        n = self.n + len(sample)
        later = replace(self, n=n, bets=bets, capitals=capitals, now=each[:, -1].copy(), peaks=peaks[:, -1].copy())
        return log_mixture(each, equal), bounds, later

    def _factors(self, sample: Sample) -> tuple[FloatArray, IntArray, tuple[tuple[Bets, ...], ...]]:
        """Logarithms of factors (K, b), the stream of each observation (b,), and the bets of all streams after them."""
        streams, bets = (self.n + np.arange(len(sample))) % self.lag, list(self.bets)
        factors = np.empty((self.weights.size, len(sample)))
        for k in np.unique(streams).tolist():
            rows = np.flatnonzero(streams == k)
            some = sample if self.lag == 1 else sample.take(rows)
            parts, bets[k] = zip(*(one.log_factors(some) for one in bets[k]), strict=True)
            factors[:, rows] = np.concatenate(parts)
        return factors, streams, tuple(bets)


def carried(before: float, values: FloatArray, rows: IntArray, n: int) -> FloatArray:
    """What is known at each of n observations (n,) of values that are known from some rows on, and of one before."""
    return np.asarray(np.append(before, values)[np.searchsorted(rows, np.arange(n), "right")])


def merging_factor(number: int) -> float:
    """What the harmonic mean of p-values is multiplied by to be one, however they depend on each other.

    ``(y + K)^2 / ((y + 1) K)`` with ``y^2 = K ((y + 1) log(y + 1) - y)`` for K > 2 (Vovk and Wang 2020); 2 for two.
    """
    if number < 3:
        return float(number)
    y = scipy.optimize.brentq(lambda y: y * y - number * ((y + 1.0) * log1p(y) - y), 1e-3, 1e3 * number)
    return float((y + number) ** 2 / ((y + 1.0) * number))


Result = TypeVar("Result", bound=Stored)


class Betting(CalledWithData, ABC, Generic[Result]):
    """Gamblers who bet against predictions as outcomes come in."""

    strategy: Strategy
    kernel: ProductKernel | None
    classes: Sequence[Any] | None
    lag: int

    def __post_init__(self) -> None:
        one_of("strategy", self.strategy, get_args(Strategy))
        self.kernel = a_product_or_none(self.kernel)
        self._state = self._empty()
        self._batches: list[Batch] = []

    @abstractmethod
    def _empty(self) -> State:
        """The state before the first observation."""

    def _made_of(self) -> str:
        """Settings as the call that makes it has them."""
        classes = "" if self.classes is None else f", classes={self.classes!r}"
        lag = "" if self.lag == 1 else f", lag={self.lag}"
        return f"strategy={self.strategy!r}, kernel={self.kernel!r}{classes}{lag}"

    @abstractmethod
    def result(self) -> Result:
        """What was found so far; ``ValueError`` before the first observation. More can follow."""

    def __call__(
        self,
        predictions: ArrayLike,
        targets: ArrayLike,
        *,
        classes: Sequence[Any] | None = None,
        rng: Any = None,
        progress: bool = False,
    ) -> Result:
        """The result for observations that are all there, in the order of time; what was seen before does not count.

        Parameters
        ----------
        predictions, targets
            As in ``update``.
        classes, rng, progress
            As in ``calibration_test``: the same call as that of other tests. No random numbers are drawn, and there is
            no progress bar.
        """
        seed_of(rng)
        switch("progress", progress)
        given: Any = self
        fresh = replace(given, classes=self.classes if classes is None else classes)
        return cast("Result", fresh.update(predictions, targets).result())

    def _in_words(self) -> dict[str, Any]:
        """What results say of what was tested; ``ValueError`` before the first observation."""
        state = self._state
        if state.kind is None:
            raise ValueError("predictions: got none so far, wanted at least one observation: update(predictions, y)")
        return {
            "hypothesis": f"{state.kind.hypothesis}, at every time given the past",
            "predictions": state.kind.describe(self.n),
            "bets": " and ".join(one.describe() for one in state.bets[0]),
            "n": self.n,
        }

    @property
    def _notes(self) -> tuple[str, ...]:
        """What readers of a result should know."""
        state = self._state
        if state.lag == 1 or state.n > state.lag:
            return state.notes
        note = f"{state.n} rows and a lag of {state.lag}: so far each of the interleaved tests has one row or none"
        return *state.notes, note

    @property
    def n(self) -> int:
        """Number of observations so far."""
        return self._state.n

    def update(self, predictions: ArrayLike, targets: ArrayLike) -> Self:
        """Take the next observations, in the order of time; returns the test itself.

        Parameters
        ----------
        predictions
            What ``calibration_test`` takes; or, for one outcome, a probability or the (k,) probabilities of k classes.
        targets
            Outcomes, (b,) or (b, d); or one outcome.

        Raises
        ------
        ValueError
            For bad data, no rows, and an index of times of pandas that goes backwards, in an update or between them.

        Notes
        -----
        Whatever is raised, an interruption too, the batch is taken wholly or not at all: ``n`` says which. Rows of the
        same time are taken in the order in which they come, which must not depend on their outcomes.
        """
        if _is_empty(predictions) and _is_empty(targets):
            raise ValueError(
                "predictions: got an update without rows, wanted at least one observation; leave such updates out"
            )
        latest = last_time(order_of(targets, predictions).index, self._state.latest)
        sample = as_sample(*_as_batch(predictions, targets), self.classes, copy=True)
        state = self._state
        if state.kind is None:
            state = self._started(sample.predictions)
        else:
            state.kind.check_compatible(sample.predictions, "predictions")
        evidence, bounds = [], []
        for part in ranges(len(sample), AT_ONCE // state.weights.size):
            played, bound, state = state.played(sample.take(part))
            evidence.append(played)
            bounds.append(bound)
        state = replace(
            state,
            n_batches=state.n_batches + 1,
            excluded=(*state.excluded, *((self.n + row, words) for row, words in sample.excluded))[:NAMED],
            n_impossible=state.n_impossible + sample.impossible.size,
            kind=named_one(state.kind, sample.predictions),
            notes=once(*state.notes, *assumed(sample.predictions)),
            latest=latest,
        )
        # Those of an update that was not finished are none.
        del self._batches[self._state.n_batches :]
        self._batches.append(Batch(sample, np.concatenate(evidence), np.concatenate(bounds)))
        self._state = state
        return self

    @property
    def _taken(self) -> "list[Batch]":
        return self._batches[: self._state.n_batches]

    def _started(self, predictions: Predictions) -> "State":
        """The bets for the family."""
        known = predictions.law.odds() is not None
        if not known and self.strategy == "likelihood":
            raise TypeError(
                f"predictions: got {predictions.family} predictions, for which no likelihood ratios are known here; "
                'wanted strategy="kernel"'
            )
        bets: list[Bets] = [LikelihoodBets(predictions)] if known and self.strategy != "kernel" else []
        if self.strategy != "likelihood":
            bets.append(KernelBets(self.kernel, predictions))
        weights = np.concatenate([one.weights / len(bets) for one in bets])
        return self._state.started(tuple(bets), weights)

    def _joined(self, parts: list[FloatArray]) -> FloatArray:
        """One number for each observation, infinite from the first impossible outcome on."""
        numbers = np.concatenate([np.empty(0), *parts])
        if self._state.n_impossible:
            numbers[self._state.excluded[0][0] :] = np.inf
        return numbers

    def _samples(self) -> Sample:
        """All observations."""
        samples = [batch.sample for batch in self._taken]
        while len(samples) > 1:
            # In pairs, so that few rows are copied often.
            pairs = zip(samples[::2], samples[1::2], strict=False)
            samples = [one.followed_by(other) for one, other in pairs] + samples[len(samples) // 2 * 2 :]
        return samples[0]


def _is_empty(data: ArrayLike) -> bool:
    """Whether there are no rows."""
    shape = getattr(data, "shape", None)
    return shape[:1] == (0,) if isinstance(shape, tuple) else isinstance(data, (list, tuple)) and not data


def _as_batch(predictions: ArrayLike, targets: ArrayLike) -> tuple[ArrayLike, ArrayLike]:
    """One prediction and one outcome as a batch of one."""
    if isinstance(targets, (Predictions, list, tuple)) or np.ndim(targets) > 0:
        return predictions, targets
    if not isinstance(predictions, Predictions):
        predictions = to_array(predictions, "predictions")[None]
    return predictions, [targets]
