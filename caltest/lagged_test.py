"""Exact tests of outcomes that overlap in time: of sets of rows that are a lag apart, and the smallest p-value."""

from dataclasses import replace
from math import ceil
from typing import Any

import numpy as np

from caltest._basics.arrays import last_time
from caltest._basics.calls import without_power
from caltest._basics.numerics import IntArray, seed_of
from caltest._results.calibration_test_result import CalibrationTestResult
from caltest.hypothesis_test import CalibrationTest
from caltest.nulls import ConditionalMonteCarlo
from caltest.predictions import Sample

ENOUGH = 5
"""Sets of rows that are tested apart for which the redraws of one test are enough."""


def with_lag(test: CalibrationTest, sample: Sample, lag: int, rng: Any, progress: bool) -> CalibrationTestResult:
    """The result of the set of rows that are a lag apart with the smallest p-value, times their number (Bonferroni)."""
    n = len(sample)
    last_time(sample.order.index)
    test.estimator.check_sample(sample)
    places = (np.arange(n) if sample.rows is None else sample.rows) % lag
    fewest = int(np.bincount(places, minlength=lag).min())
    if fewest < 2:
        raise ValueError(f"lag: got {lag} for {n} rows, wanted at most half of them: two or more that are {lag} apart")
    assert isinstance(test.null, ConditionalMonteCarlo)
    more = replace(test.null, n_resamples=test.null.n_resamples * ceil(lag / ENOUGH))
    found = _of_sets(test, more, sample, places, rng, progress)
    best = min(range(lag), key=lambda k: (found[k].pvalue, found[k].pvalue_otherwise or 0.0))
    first = found[best]

    def times(pvalue: float) -> float:
        return min(1.0, lag * pvalue)

    def times_some(pvalue: float | None) -> float | None:
        return None if pvalue is None else times(pvalue)

    note = (
        f"rows less than {lag} apart may depend on each other: {lag} sets of rows {lag} apart are tested; p-values, "
        f"estimate and statistic are those of the set from row {best} on, the p-values multiplied by {lag}"
    )
    of_redraws, of_rows = times(1.0 / (1 + more.n_resamples)), times(_rarest(sample, places))
    return replace(
        first,
        test=type(test).__name__,
        predictions=sample.predictions.describe(n),
        n=n,
        pvalue=times(first.pvalue),
        pvalue_otherwise=times_some(first.pvalue_otherwise),
        pvalue_kind="bound",
        components=tuple(
            replace(one, pvalue=times(one.pvalue), adjusted=times_some(one.adjusted)) for one in first.components
        ),
        features=tuple(replace(one, pvalue=times(one.pvalue), without=times(one.without)) for one in first.features),
        smallest=max(of_redraws, of_rows),
        has_few_rows=of_rows > of_redraws,
        assumes=first.assumes.replace("outcomes independent", f"outcomes {lag} rows or more apart independent"),
        notes=(note, *first.notes),
    )


@without_power()
def _of_sets(
    test: CalibrationTest, more: ConditionalMonteCarlo, sample: Sample, places: IntArray, rng: Any, progress: bool
) -> list[CalibrationTestResult]:
    """The result of each set of rows, with more redraws where the p-value is small.

    One that is not small stands, of others one of more redraws counts: at each level this is no more often below it
    than one of the two.
    """
    lag, seed, found = int(places.max()) + 1, seed_of(rng), []
    assert isinstance(test.null, ConditionalMonteCarlo)
    small = max(1.0 / lag, ENOUGH / (test.null.n_resamples + 1))
    for start in range(lag):
        rows = np.flatnonzero(places == start)
        one, part = replace(test, estimator=test.estimator.for_rows(rows)), sample.part(rows)
        result = one.on(part, rng=seed, progress=progress)
        if result.pvalue <= small and more != test.null:
            result = replace(one, null=more).on(part, rng=seed, progress=progress)
        found.append(result)
    return found


def _rarest(sample: Sample, places: IntArray) -> float:
    """The smallest probability of an outcome of a set of rows, which no p-value of it is below; 0 of numbers."""
    law = sample.predictions.law.finite
    if law is None:
        return 0.0
    least = np.where(law.probabilities > 0.0, law.probabilities, 1.0).min(axis=1)
    return float(np.exp(np.bincount(places, np.log(least)).min()))
