"""Calibration tests of data that come in chunks: from disk, or from several machines."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self
from uuid import uuid4

import numpy as np

from caltest._basics.calls import OwnErrstate
from caltest._basics.numerics import ArrayLike, IntArray, seed_from, seed_of
from caltest._results.calibration_test_result import CalibrationTestResult, with_other_rows
from caltest._results.report import once
from caltest._validation import whole_number
from caltest.estimators import Estimator
from caltest.estimators.combined.omnibus import Omnibus
from caltest.estimators.combined.sums.parts import ROWS_OF_A_PART
from caltest.nulls import Null, SummableNull
from caltest.predictions import Predictions, Sample
from caltest.predictions.inputs.convert import NAMED, Excluded, as_sample, excluded_in_words, impossible_note
from caltest.predictions.inputs.labelled import named_one
from caltest.predictions.questions.misread import SOME

if TYPE_CHECKING:
    from caltest.hypothesis_test import CalibrationTest


class CalibrationTestAccumulator(OwnErrstate):
    """A test of data that come in chunks. Made by ``test.accumulator()``.

    That of ``OmnibusTest``, the default test, takes all families that can be redrawn row by row. Redraws are functions
    of the seed, the number of the row and that of the redraw; fewer than 65 536 rows wait for others before they are
    counted. Up to 32 unordered classes the test sees how often each label occurs in each of some cells of predictions:
    with kernel and cells from the same predictions, ``test.accumulator(predictions=some, ...)``, the result is the
    same to the last digit whatever the chunks, their order and who takes them. Of more classes the kernel compares
    predictions in blocks within a chunk, so that the result depends on the chunks. What is wrong is found from up to
    2**17 of the rows, those of the smallest random numbers. Memory: 71 MB for the counts of 10 classes and 999 redraws.

    For numbers, vectors, counts, ensembles, ordered classes and quantile forecasts kernels have low rank, and landmarks
    and ranks of features come from ``predictions=some``. Statistics of chunks are those of all data at once to 1e-9
    where expectations of kernels have closed forms (``Normal``, ``Laplace``, ``MvNormal``, counts, ensembles), and to
    about 1e-4 where they come from quadrature rules, which depend on the range of a chunk; p-values are exact for every
    choice of chunks. Memory: 55 MB for numbers and 999 redraws, 130 MB for vectors. Predictions without spread are
    refused.

    Results of ``AsymptoticBlockSKCETest``, ``LogScoreTest`` and ``SpiegelhalterTest`` are those of all data at once.
    ``MonteCarloTest`` takes ``LowRankSKCE``, ``ExcessLogScore``, ``ExcessBrierScore``, and ``ECE``, ``MCE`` and
    ``ClasswiseECE`` in bins that do not depend on the predictions: every chunk redraws its targets with random numbers
    that follow from the seed, the chunk and those before it: the p-value is exact, and accumulators of one seed that
    see different data can be merged. Memory of the ECE: 8 bytes for each redraw, occupied bin and class
    (``MemoryError`` for more than there are).

    Parameters
    ----------
    test
        Pair of a ``BlockSKCE`` and a ``NormalNull``, of an excess score and a ``TextbookNull``, or of an ``Omnibus``
        or one of the others and a ``ConditionalMonteCarlo``.
    rng
        Of the redraws.
    part
        Number of the part of the data, for accumulators of one seed: of those of ``OmnibusTest`` that do not get the
        numbers of their rows, and of others whose first chunks are equal.
    estimator
        That of the test with all settings that depend on predictions; see ``accumulator``.

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
    >>> accumulator = ct.OmnibusTest(n_resamples=99).accumulator(predictions=p, rng=1)
    >>> for start in range(0, 899, 100):
    ...     part = slice(start, start + 100)
    ...     accumulator = accumulator.update(p.take(part), y[part])
    >>> accumulator.result().finding.kind
    'temperature'
    """

    def __init__(
        self, test: "CalibrationTest", *, rng: Any = None, part: int = 0, estimator: Estimator | None = None
    ) -> None:
        null = getattr(test, "null", None)
        if not isinstance(null, Null):
            raise TypeError(f"test: got {test!r}, wanted a test such as AsymptoticBlockSKCETest(kernel)")
        if not isinstance(null, SummableNull):
            raise TypeError(
                f"null: got {type(null).__name__}, which needs all observations at once; wanted NormalNull with "
                "BlockSKCE, TextbookNull with a score, or ConditionalMonteCarlo with LowRankSKCE, ECE or a score"
            )
        if estimator is not None and type(estimator) is not type(test.estimator):
            wanted = f"None or {type(test.estimator).__name__}, that of the test"
            raise TypeError(f"estimator: got {estimator!r}, wanted {wanted}")
        null.check_summable(estimator or test.estimator)
        self.test, self.null, self.estimator = test, null, estimator or test.estimator
        seed = self._seed = seed_of(rng)
        self._part = whole_number("part", part, 0)
        self._start = seed_from(seed, np.array([self._part]))
        self._state = Seen(members=frozenset([uuid4().hex]), seeds=frozenset([seed]))

    def __repr__(self) -> str:
        return f"<accumulator of {type(self.test).__name__}: n = {self.n}, call result()>"

    def of_part(self, part: int) -> Self:
        """One of the same test, kernel and seed, without observations, for another part of the data."""
        return type(self)(self.test, rng=self._seed, part=part, estimator=self.estimator)

    @property
    def n(self) -> int:
        """Number of observations so far."""
        return self._state.n

    def update(
        self,
        predictions: ArrayLike,
        targets: ArrayLike,
        *,
        classes: Sequence[Any] | None = None,
        start: int | None = None,
    ) -> Self:
        """Take the next observations, in their order; returns the accumulator itself.

        ``start`` is the number of the first of them in the whole data, from which follow the redraws of ``OmnibusTest``
        (``TypeError`` for other tests, ``ValueError`` for rows that were taken before); by default it is the number of
        observations so far. With it results do not depend on the order of the chunks, nor on who takes which.

        Observations that do not fill a block wait for those of the next chunk. Raises what a call of the test raises
        for bad data. ``classes`` are the names of the classes in the order of the columns, if the targets are names.
        Whatever is raised, an interruption too, the chunk is taken wholly or not at all: ``n`` says which.
        """
        sample = as_sample(predictions, targets, classes, copy=True)
        if start is not None and not self.is_by_row:
            raise TypeError(f"start: got {start}, wanted None, because only redraws of OmnibusTest depend on it")
        first = self._part * ROWS_OF_A_PART + self.n if start is None else whole_number("start", start, 0)
        seen = Seen.of(sample).after(self.n) if start is None else replace(Seen.of(sample).after(first), is_placed=True)
        state = self._state.noticed(seen, "predictions")
        if self.is_by_row:
            state = state.with_rows(((first, first + len(sample)),), "start")
        # What was asked about is not kept with the rows that are.
        self._state = self._taken(state, Sample(sample.predictions, sample.targets), first + np.arange(len(sample)))
        return self

    @property
    def is_by_row(self) -> bool:
        """Whether redraws follow from the numbers of the rows."""
        return isinstance(self.estimator, Omnibus)

    def merge(self, other: Self) -> Self:
        """Take what another accumulator of the same test has seen, as if it came next; returns this one.

        Blocks of the other one stay as they are: if observations of this one wait to fill a block, they do so together
        with those of the other one that wait. Raises ``ValueError`` if the other one has other settings or landmarks,
        the same random numbers, or observations that this one has taken already: is this one, a copy of it, or was
        merged before.
        """
        if type(other) is not type(self) or self.test != other.test or self.estimator != other.estimator:
            raise ValueError("other: got an accumulator with other settings, wanted one of the same test")
        state, more = self._state, other._state
        draws = state.kind is not None and self.null.draws_for(self.estimator, state.kind)
        if state.members & more.members:
            raise ValueError(
                "other: got this accumulator, or one that it was copied from or has taken before, wanted one of other "
                "observations: these would count twice"
            )
        if self.is_by_row:
            state = state.with_rows(more.rows, "other")
            one, two = state.estimator, more.estimator
            if isinstance(one, Omnibus) and isinstance(two, Omnibus) and one.of_rows.key != two.of_rows.key:
                raise ValueError(
                    "other: got another kernel, or other cells or features of predictions, which follow from the first "
                    "chunk, wanted the same ones: test.accumulator(predictions=some of all predictions)"
                )
        elif draws and state.streams & more.streams:
            raise ValueError(
                "other: got an accumulator with the same rng and the same first chunk, and so the same random numbers, "
                "wanted other ones: test.accumulator(rng=rng, part=1), part=2, ..."
            )
        stream = seed_from((self._start, state.stream, more.stream))
        state = replace(
            state.noticed(more if more.is_placed else more.after(state.n), "other").plus(more.sums, more.apart),
            estimator=state.estimator or more.estimator,
            members=state.members | more.members,
            seeds=state.seeds | more.seeds,
            streams=state.streams | more.streams,
            stream=stream,
        )
        self._state = state if more.rest is None else self._taken(state, more.rest, more.rest_rows)
        return self

    def result(self) -> CalibrationTestResult:
        """The result for all observations so far; ``ValueError`` if they are too few. More can follow."""
        state = self._state
        if self.is_by_row and state.rest is not None:
            # With the sums of the observations that wait.
            state = self._state = self._counted_with(replace(state, rest=None), state.rest, state.rest_rows)
        result = self._result_of(state, self.n, added(state.sums, state.apart), state.exclusion)
        if state.exclusion is None or not self.null.excludes(self.estimator):
            return result
        n = self.n - state.n_impossible
        try:
            other = self._result_of(state, n, state.sums, None)
        except ValueError:
            other = None
        return with_other_rows(result, n, other)

    def _result_of(self, state: "Seen", n: int, sums: Any, exclusion: str | None) -> CalibrationTestResult:
        """From sums over n of the observations."""
        if state.kind is None or sums is None:
            raise ValueError(f"predictions: got {n} observations, too few for {type(self.estimator).__name__}")
        self.null.check_size(self.estimator, n)
        estimator = state.estimator or self.estimator
        outcome = self.null.outcome_of(estimator, sums)
        if self.null.excludes(estimator):
            outcome = outcome.excluding(exclusion)
        effect_size = estimator.effect_size(outcome.estimate, state.kind, outcome.null_mean)
        seed, *others = sorted(state.seeds)
        notes = (*sorted(state.asked or ()), *state.notes)
        if state.n_impossible:
            notes = (*notes, *impossible_note(state.n_impossible, self.n, state.excluded))
        result = self.test.result_of(estimator, state.kind, n, outcome, effect_size, seed, notes)
        if not others or result.seed is None:
            return result
        note = f"the random numbers are those of merged accumulators, rng={', '.join(map(str, sorted(state.seeds)))}"
        return replace(result, seed=None, notes=(*result.notes, note))

    def _taken(self, state: "Seen", sample: Sample, rows: IntArray) -> "Seen":
        """What is seen with more observations, of which some may wait; numbers of their rows are given."""
        if self.is_by_row:
            return self._taken_by_row(state, sample, rows)
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
        state = replace(state, stream=stream, streams=streams)
        return self._summed(state, self.estimator, sample, stream, np.arange(len(sample)))

    def _taken_by_row(self, state: "Seen", sample: Sample, rows: IntArray) -> "Seen":
        """Few observations wait for others, as sums of all redraws take as long to add as those of many."""
        estimator = state.estimator or self.estimator
        assert isinstance(estimator, Omnibus)
        estimator = estimator.resolve_for_chunks(sample.predictions, self._seed)
        estimator.of_rows.check(sample.predictions)
        state, at_least = replace(state, estimator=estimator), estimator.of_rows.kept_until
        if state.rest is not None and len(sample) < at_least:
            sample, rows = state.rest.followed_by(sample), np.concatenate([state.rest_rows, rows])
            state = replace(state, rest=None)
        if len(sample) < at_least:
            return replace(state, rest=sample, rest_rows=rows)
        return self._counted_with(state, sample, rows)

    def _counted_with(self, state: "Seen", sample: Sample, rows: IntArray) -> "Seen":
        assert state.estimator is not None
        return self._summed(state, state.estimator, sample, self._seed, rows)

    def _summed(self, state: "Seen", estimator: Estimator, sample: Sample, stream: int, rows: IntArray) -> "Seen":
        """With the sums over a sample, apart those of outcomes which make the p-value 0."""

        def sums(places: IntArray) -> Any:
            if not places.size:
                return None
            some = sample if places.size == len(sample) else sample.take(places)
            return self.null.sums(estimator, some, np.random.default_rng(stream), (self._seed, rows[places]))

        apart = sample.predictions.impossible(sample.targets) & self.null.excludes(estimator)
        return state.plus(sums(np.flatnonzero(~apart)), sums(np.flatnonzero(apart)))


@dataclass(frozen=True, eq=False)
class Seen:
    """What an accumulator keeps of its observations: replaced as a whole, so that no update is done by halves.

    ``members`` are the accumulators that it has taken, itself among them; ``seeds`` are those of their random numbers,
    ``streams`` the first that each of them used, and ``stream`` is the last.
    """

    members: frozenset[str] = frozenset()
    seeds: frozenset[int] = frozenset()
    n: int = 0
    sums: Any = None
    apart: Any = None
    """Sums over outcomes that make the p-value 0, because their predictions exclude them."""
    rest: Sample | None = None
    rest_rows: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    """Numbers of the rows that wait."""
    kind: Predictions | None = None
    notes: tuple[str, ...] = ()
    excluded: Excluded = ()
    is_placed: bool = False
    """Whether the numbers of its rows were given."""
    n_impossible: int = 0
    streams: frozenset[int] = frozenset()
    stream: int | None = None
    rows: tuple[tuple[int, int], ...] = ()
    """Where rows begin and end whose redraws follow from their numbers."""
    estimator: Estimator | None = None
    """The one whose settings follow from some of the predictions."""
    asked: frozenset[str] | None = None
    """Questions about the data that all chunks raise which have enough rows; None if none has."""

    @classmethod
    def of(cls, sample: Sample) -> Self:
        """What the report says of a sample."""
        predictions, n = sample.predictions, len(sample)
        asked = None if n < SOME else frozenset(one for one in sample.remarks if one.endswith("?"))
        return cls(
            n=n,
            kind=predictions,
            notes=predictions.notes,
            excluded=sample.excluded,
            n_impossible=sample.impossible.size,
            asked=asked,
        )

    def after(self, n: int) -> Self:
        """The same with n observations before it."""
        return replace(self, excluded=tuple((row + n, words) for row, words in self.excluded))

    @property
    def exclusion(self) -> str | None:
        """That outcomes occurred which their predictions exclude, in words, if there are some."""
        return excluded_in_words(self.n_impossible, self.excluded) if self.n_impossible else None

    def with_rows(self, more: tuple[tuple[int, int], ...], name: str) -> Self:
        """With the numbers of more rows, which must be others."""
        rows = [one for one in sorted((*self.rows, *more)) if one[0] < one[1]]
        joined: list[tuple[int, int]] = []
        for begin, end in rows:
            if joined and begin < joined[-1][1]:
                raise ValueError(
                    f"{name}: got row {begin} twice, wanted rows that were not taken before: "
                    "update(..., start=number of the first row), or test.accumulator(rng=rng, part=1), part=2, ..."
                )
            if joined and begin == joined[-1][1]:
                joined[-1] = (joined[-1][0], end)
            else:
                joined.append((begin, end))
        return replace(self, rows=tuple(joined))

    def noticed(self, more: "Seen", name: str) -> Self:
        """With the number of more observations, of the same kind, and what the report says of them."""
        if more.kind is None:
            return self
        if self.kind is not None:
            self.kind.check_compatible(more.kind, name)
        return replace(
            self,
            n=self.n + more.n,
            kind=named_one(self.kind, more.kind),
            notes=once(*self.notes, *more.notes),
            excluded=tuple(sorted((*self.excluded, *more.excluded))[:NAMED]),
            is_placed=self.is_placed or more.is_placed,
            n_impossible=self.n_impossible + more.n_impossible,
            asked=more.asked if self.asked is None else self.asked if more.asked is None else self.asked & more.asked,
        )

    def plus(self, sums: Any, apart: Any) -> Self:
        """With the sums of more."""
        return replace(self, sums=added(self.sums, sums), apart=added(self.apart, apart))


def added(sums: Any, more: Any) -> Any:
    """Sums of both, of which each may be None."""
    return more if sums is None else sums if more is None else sums + more
