"""Calibration tests of data that come in chunks: from disk, or from several machines."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self
from uuid import uuid4

import numpy as np

from caltest._basics.numerics import ArrayLike, OwnErrstate, seed_from, seed_of
from caltest._results.calibration_test_result import CalibrationTestResult
from caltest._validation import whole_number
from caltest.nulls import Null, SummableNull
from caltest.predictions import Predictions, Sample
from caltest.predictions.base import named_one
from caltest.predictions.convert import as_sample, impossible_note

if TYPE_CHECKING:
    from caltest.calibration_test import CalibrationTest

NAMED = 6
"""Rows of impossible outcomes that are kept, one more than notes name."""


class CalibrationTestAccumulator(OwnErrstate):
    """A test of data that come in chunks. Made by ``test.accumulator()``.

    The result of ``AsymptoticBlockSKCETest`` is that of all data at once. With ``MonteCarloTest(LowRankSKCE(...))``
    every chunk redraws its targets with random numbers of its own, which follow from the seed, the chunk and those
    before it. So the p-value is exact, the same for the same seed and chunks, and accumulators of one seed that see
    different data can be merged.

    Parameters
    ----------
    test
        Pair of a ``BlockSKCE`` and a ``NormalNull``, or of a ``LowRankSKCE`` and a ``ConditionalMonteCarlo``.
    rng
        Seed or ``numpy.random.Generator`` of the redraws.
    part
        Number of the part of the data, for accumulators of one seed whose first chunks are equal.

    Raises
    ------
    TypeError
        For a test that needs all observations at once.
    ValueError
        For an estimator with settings that depend on all predictions.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> kernel = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), 0.5), ct.DeltaKernel())
    >>> accumulator = ct.AsymptoticBlockSKCETest(kernel, block_size=20).accumulator()
    >>> for start in range(0, 899, 100):
    ...     part = slice(start, start + 100)
    ...     accumulator = accumulator.update(p.take(part), y[part])
    >>> accumulator.result()
    <AsymptoticBlockSKCETest: p = 3.14e-05 (asymptotic), n = 899>
    """

    def __init__(self, test: "CalibrationTest", *, rng: Any = None, part: int = 0) -> None:
        null = getattr(test, "null", None)
        if not isinstance(null, Null):
            raise TypeError(f"test: got {test!r}, wanted a test such as AsymptoticBlockSKCETest(kernel)")
        if not isinstance(null, SummableNull):
            raise TypeError(
                f"null: got {type(null).__name__}, which needs all observations at once; wanted NormalNull with "
                "BlockSKCE, or ConditionalMonteCarlo with LowRankSKCE"
            )
        null.check_summable(test.estimator)
        self.test, self.null, self.estimator = test, null, test.estimator
        seed = seed_of(rng)
        self._start = seed_from(seed, np.array([whole_number("part", part, 0)]))
        self._state = Seen(members=frozenset([uuid4().hex]), seeds=frozenset([seed]))

    @property
    def n(self) -> int:
        """Number of observations so far."""
        return self._state.n

    def update(self, predictions: ArrayLike, targets: ArrayLike, *, classes: Sequence[Any] | None = None) -> Self:
        """Take the next observations, in their order; returns the accumulator itself.

        Observations that do not fill a block wait for those of the next chunk. Raises what a call of the test raises
        for bad data. ``classes`` are the names of the classes in the order of the columns, if the targets are names.
        Whatever is raised, an interruption too, the chunk is taken wholly or not at all: ``n`` says which.
        """
        sample, state = as_sample(predictions, targets, classes, copy=True), self._state
        if state.kind is not None:
            state.kind.check_compatible(sample.predictions, "predictions")
        rows, notes = sample.impossible, sample.predictions.notes
        state = state.noticed(sample.predictions, notes, tuple(rows[:NAMED].tolist()), rows.size, len(sample))
        self._state = self._taken(state, sample)
        return self

    def merge(self, other: Self) -> Self:
        """Take what another accumulator of the same test has seen, as if it came next; returns this one.

        Blocks of the other one stay as they are: if observations of this one wait to fill a block, they do so together
        with those of the other one that wait. Raises ``ValueError`` if the other one has other settings or landmarks,
        the same random numbers, or observations that this one has taken already: is this one, a copy of it, or was
        merged before.
        """
        if type(other) is not type(self) or self.test != other.test:
            raise ValueError("other: got an accumulator with other settings, wanted one of the same test")
        state, more = self._state, other._state
        if state.members & more.members:
            raise ValueError(
                "other: got this accumulator, or one that it was copied from or has taken before, wanted one of other "
                "observations: these would count twice"
            )
        if state.streams & more.streams and state.kind is not None and self.null.draws_for(self.estimator, state.kind):
            raise ValueError(
                "other: got an accumulator with the same rng and the same first chunk, and so the same random numbers, "
                "wanted other ones: test.accumulator(rng=rng, part=1), part=2, ..."
            )
        stream = seed_from((self._start, state.stream, more.stream))
        if more.kind is not None:
            if state.kind is not None:
                state.kind.check_compatible(more.kind, "other")
            state = state.noticed(more.kind, more.notes, more.impossible, more.n_impossible, more.n)
        state = replace(
            state.plus(more.sums),
            members=state.members | more.members,
            seeds=state.seeds | more.seeds,
            streams=state.streams | more.streams,
            stream=stream,
        )
        self._state = state if more.rest is None else self._taken(state, more.rest)
        return self

    def result(self) -> CalibrationTestResult:
        """The result for all observations so far; ``ValueError`` if they are too few. More can follow."""
        state = self._state
        if state.kind is None or state.sums is None:
            raise ValueError(f"predictions: got {self.n} observations, too few for {type(self.estimator).__name__}")
        self.null.check_size(self.estimator, self.n)
        outcome = self.null.outcome_of(self.estimator, state.sums)
        effect_size = self.estimator.effect_size(outcome.estimate, state.kind, outcome.null_mean)
        seed, *others = sorted(state.seeds)
        notes = state.notes
        if state.n_impossible:
            notes = (*notes, *impossible_note(state.n_impossible, self.n, state.impossible))
        result = self.test.result_of(self.estimator, state.kind, self.n, outcome, effect_size, seed, notes)
        if not others or result.seed is None:
            return result
        note = f"the random numbers are those of merged accumulators, rng={', '.join(map(str, sorted(state.seeds)))}"
        return replace(result, seed=None, notes=(*result.notes, note))

    def _taken(self, state: "Seen", sample: Sample) -> "Seen":
        """What is seen with more observations, of which some may wait."""
        if state.rest is not None:
            sample = state.rest.followed_by(sample)
        whole = self.estimator.n_used(len(sample))
        state = replace(state, rest=sample.take(slice(whole, None)) if whole < len(sample) else None)
        if not whole:
            return state
        sample = sample.take(slice(0, whole))
        # Arrays that differ for chunks that differ, whatever the family.
        law, targets = sample.predictions.law, np.asarray(sample.targets)
        content = law.moments() if law.finite is None else (law.finite.probabilities,)
        stream = seed_from(self._start if state.stream is None else state.stream, targets, *content)
        streams = frozenset([stream]) if state.stream is None else state.streams
        sums = self.null.sums(self.estimator, sample, np.random.default_rng(stream))
        return replace(state.plus(sums), stream=stream, streams=streams)


@dataclass(frozen=True, eq=False)
class Seen:
    """What an accumulator keeps of its observations: replaced as a whole, so that no update is done by halves.

    ``members`` are the accumulators that it has taken, itself among them; ``seeds`` are those of their random numbers,
    ``streams`` the first that each of them used, and ``stream`` is the last.
    """

    members: frozenset[str]
    seeds: frozenset[int]
    n: int = 0
    sums: Any = None
    rest: Sample | None = None
    kind: Predictions | None = None
    notes: tuple[str, ...] = ()
    impossible: tuple[int, ...] = ()
    n_impossible: int = 0
    streams: frozenset[int] = frozenset()
    stream: int | None = None

    def noticed(
        self, predictions: Predictions, notes: tuple[str, ...], rows: tuple[int, ...], count: int, n: int
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
