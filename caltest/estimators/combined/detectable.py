"""What the omnibus test could have found: its power against outcomes that are slightly wrong."""

import numpy as np

from caltest._basics.asked import is_power_read
from caltest._basics.numerics import FloatArray
from caltest._results.measures import Detectable
from caltest.estimators.combined.findings import LEVEL
from caltest.estimators.combined.omnibus import Omnibus
from caltest.predictions import Sample

MOST, FIRST, THEN = 20_000, 100, 300
"""Predictions up to which the power is simulated, and data sets, of which the first are enough where it is clear: of
vectors, of many classes, of laws with slow quantiles and of many observations."""

MANY = 2000
"""Observations from which on it is often clear, and redraws take most of the time."""

CLEAR, LOWEST = 0.94, 0.01
"""The share of the first that are found at this level, or missed at 0.05: power is within 0.05 in 95 % of cases."""


def detectable(estimator: Omnibus, sample: Sample, values: FloatArray, rng: np.random.Generator) -> Detectable | None:
    """P-values of outcomes that are slightly wrong, against the redraws whose numbers are given.

    None where redraws are not in memory or a single one, a family does not say what is slightly wrong, or nobody asks.
    """
    if not is_power_read():
        return None
    if estimator.weights is not None or estimator.draws_by_row or len(sample) > MOST or values.shape[1] < 3:
        return None
    rng, found = rng.spawn(1)[0], Detectable("", np.empty(0))
    # A second pass is worth its time where redraws take most of it.
    law = sample.predictions.law
    inverts_slowly = law.finite is None and law.is_continuous and not law.inverts_quickly
    is_slow = len(sample) >= MANY or estimator.has_many_classes or sample.targets.ndim > 1 or inverts_slowly
    for size in (FIRST, THEN) if is_slow else (FIRST + THEN,):
        wrong = sample.predictions.slightly_wrong(rng, size)
        if wrong is None:
            return None
        words, targets = wrong
        pvalues = estimator.pvalues_of(estimator.values(sample.predictions, targets), values, 1)
        found = Detectable(words, np.sort(np.append(found.pvalues, pvalues)))
        if found.power(LOWEST) >= CLEAR or found.power(LEVEL) <= 1.0 - CLEAR:
            break
    return found
