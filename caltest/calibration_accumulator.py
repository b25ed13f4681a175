"""Calibration tests of data that come in chunks: from disk, or from several machines."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from caltest._basics.numerics import seed_from, seed_of
from caltest._basics.types import Array
from caltest._results.calibration_test_result import CalibrationTestResult
from caltest._validation import whole_number
from caltest.estimators.accumulator import Accumulator, Seen
from caltest.nulls import Null, SummableNull
from caltest.predictions import Sample

if TYPE_CHECKING:
    from caltest.calibration_test import CalibrationTest


class CalibrationTestAccumulator(Accumulator[CalibrationTestResult]):
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
        super().__init__(test.estimator)
        null.check_summable(test.estimator)
        self.test = test
        self.null = null
        seed = seed_of(rng)
        self._start = seed_from(seed, np.array([whole_number("part", part, 0)]))
        self._state = replace(self._state, seeds=frozenset([seed]))

    def result(self) -> CalibrationTestResult:
        seen, state = self._seen(), self._state
        self.null.check_size(self.estimator, self.n)
        outcome = self.null.outcome_of(self.estimator, state.sums)
        effect_size = self.estimator.effect_size(outcome.estimate, seen, outcome.null_mean)
        seed, *others = sorted(state.seeds)
        result = self.test.result_of(self.estimator, seen, self.n, outcome, effect_size, seed, self.notes())
        if not others or result.seed is None:
            return result
        note = f"the random numbers are those of merged accumulators, rng={', '.join(map(str, sorted(state.seeds)))}"
        return replace(result, seed=None, notes=(*result.notes, note))

    def _partial(self, state: Seen, sample: Sample) -> Seen:
        stream = seed_from(self._start if state.stream is None else state.stream, *_content(sample))
        sums = self.null.sums(self.estimator, sample, np.random.default_rng(stream))
        streams = frozenset([stream]) if state.stream is None else state.streams
        return replace(state.plus(sums), stream=stream, streams=streams)

    def _joined(self, state: Seen, more: Seen) -> Seen:
        kind = state.kind
        if state.streams & more.streams and kind is not None and self.null.draws_for(self.estimator, kind):
            raise ValueError(
                "other: got an accumulator with the same rng and the same first chunk, and so the same random numbers, "
                "wanted other ones: test.accumulator(rng=rng, part=1), part=2, ..."
            )
        stream = seed_from((self._start, state.stream, more.stream))
        return replace(state, seeds=state.seeds | more.seeds, streams=state.streams | more.streams, stream=stream)

    def _settings(self) -> object:
        return self.test


def _content(sample: Sample) -> tuple[Array, ...]:
    """Arrays that differ for chunks that differ, whatever the family."""
    law, targets = sample.predictions.law, np.asarray(sample.targets)
    return (targets, *law.moments()) if law.finite is None else (targets, law.finite.probabilities)
