"""Calibration tests of data that come in chunks: from disk, or from several machines."""

from typing import TYPE_CHECKING, Any

import numpy as np

from caltest._numerics import seed_of
from caltest.estimators import Accumulator
from caltest.nulls import Null, SummableNull
from caltest.predictions import Sample
from caltest.results.result import CalibrationTestResult

if TYPE_CHECKING:
    from caltest.calibration_test import CalibrationTest


class CalibrationTestAccumulator(Accumulator[CalibrationTestResult]):
    """A test of data that come in chunks. Made by ``test.accumulator()``.

    The result of ``AsymptoticBlockSKCETest`` is that of all data at once. With ``MonteCarloTest(LowRankSKCE(...))``
    every chunk redraws its targets with the next random numbers, so the p-value is exact and depends on the seed and
    the chunks; accumulators that are merged need different seeds.

    Parameters
    ----------
    test
        Pair of a ``BlockSKCE`` and a ``NormalNull``, or of a ``LowRankSKCE`` and a ``ConditionalMonteCarlo``.
    rng
        Seed or ``numpy.random.Generator`` of the redraws.

    Raises
    ------
    TypeError
        For a test that needs all observations at once.
    ValueError
        For an estimator with settings that depend on all predictions.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.load_digits_predictions()["random forest"]
    >>> kernel = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), 0.5), ct.DeltaKernel())
    >>> accumulator = ct.AsymptoticBlockSKCETest(kernel, block_size=20).accumulator()
    >>> for start in range(0, 899, 100):
    ...     part = slice(start, start + 100)
    ...     accumulator = accumulator.update(p.take(part), y[part])
    >>> accumulator.result()
    <AsymptoticBlockSKCETest: p = 9.56e-17 (asymptotic), n = 899>
    """

    def __init__(self, test: "CalibrationTest", *, rng: Any = None) -> None:
        if not isinstance(getattr(test, "null", None), Null):
            raise TypeError(f"test: got {test!r}, wanted a test such as AsymptoticBlockSKCETest(kernel)")
        if not isinstance(test.null, SummableNull):
            raise TypeError(
                f"null: got {type(test.null).__name__}, which needs all observations at once; wanted NormalNull with "
                "BlockSKCE, or ConditionalMonteCarlo with LowRankSKCE"
            )
        super().__init__(test.estimator)
        test.null.check_summable(test.estimator)
        self.test = test
        self.null = test.null
        self.seed = seed_of(rng)
        self._rng = np.random.default_rng(self.seed)

    def result(self) -> CalibrationTestResult:
        """The result for all observations so far."""
        seen = self._seen()
        self.null.check_size(self.estimator, self.n)
        outcome = self.null.outcome_of(self.estimator, self._sums)
        effect_size = self.estimator.effect_size(outcome.estimate, seen, outcome.null_mean)
        return self.test.result_of(self.estimator, seen, self.n, outcome, effect_size, self.seed, self.notes())

    def _partial(self, sample: Sample) -> Any:
        return self.null.sums(self.estimator, sample, self._rng)

    def _settings(self) -> object:
        return self.test
