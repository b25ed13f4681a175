"""What the omnibus test could have found: its power against outcomes that are slightly wrong."""

from collections.abc import Sequence

import numpy as np
import scipy

from caltest._basics.calls import is_power_read
from caltest._basics.numerics import FloatArray, resampling_pvalues
from caltest._basics.threads import streams
from caltest._results.measures import Detectable
from caltest.estimators.combined.findings import LEVEL
from caltest.estimators.combined.omnibus import Omnibus
from caltest.predictions import Sample

MOST, FIRST, THEN, MORE = 20_000, 100, 300, 1000
"""Predictions up to which the power is simulated; data sets, of which the first are enough where it is clear: of
vectors, of many classes, of laws with slow quantiles and of many observations; and redraws that others have beside as
many data sets again, where wrong and right ones do not tell of each other."""

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
    rng, predictions = rng.spawn(1)[0], sample.predictions
    # A second pass is worth its time where redraws take most of it.
    law = predictions.law
    inverts_slowly = law.finite is None and law.is_continuous and not law.inverts_quickly
    is_slow = len(sample) >= MANY or estimator.has_many_classes or sample.targets.ndim > 1 or inverts_slowly
    found, known = np.empty((len(values), 0)), None
    for size in (FIRST, THEN) if is_slow else (FIRST + THEN, FIRST + THEN):
        wrong = predictions.slightly_wrong(rng, size)
        if wrong is None:
            return None
        if found.size and not is_slow:
            more = predictions.with_redraws(None, streams(rng, MORE))
            values = np.concatenate([values, estimator.values(predictions, more)], axis=1)
        found = np.concatenate([found, estimator.values(predictions, wrong.targets)], axis=1)
        statistics, null = estimator.compared(found, values, 1)
        if wrong.tilt is None:
            weights = np.full(statistics.size, 1.0 / statistics.size)
            known = Detectable(wrong.deviation, resampling_pvalues(statistics, null), weights)
        else:
            name, n_rows, factor = wrong.tilt
            rows = slice(start := estimator.row_of(name), start + n_rows)
            ratios = [factor * some.sum(axis=0) for some in (found[rows], values[rows, 1:])]
            known = Detectable(wrong.deviation, *pooled((statistics, null), ratios))
        is_clear = known.power(LOWEST) >= CLEAR or known.power(LEVEL) <= 1.0 - CLEAR
        if is_clear or (wrong.tilt is not None and not is_slow):
            break
    return known


def pooled(statistics: Sequence[FloatArray], ratios: Sequence[FloatArray]) -> tuple[FloatArray, FloatArray]:
    """P-values (M + B,) of M wrong data sets and B redraws, and probabilities that each stands for among wrong ones.

    With log ratios x of wrong and right outcomes up to a constant, a data set comes from the wrong ones with the
    probability ``q = 1 / (1 + exp(c - x))``, where the constant c makes the sum of all q equal to M. It stands for the
    share q / M of wrong data sets, and for ``(1 - q) / B`` of right ones: both laws are known from all M + B. Source:
    Shirts and Chodera 2008, for two states.
    """
    m, b = (len(one) for one in ratios)
    x, both = np.concatenate(ratios), np.concatenate(statistics)
    far = 2.0 * float(np.ptp(x)) + 2.0 * np.log(m + b)
    c = scipy.optimize.brentq(lambda c: float(scipy.special.expit(x - c).sum()) - m, x.min() - far, x.max() + far)
    q = scipy.special.expit(x - c)
    # The redraws stand for the law itself here, and none is for the data at hand.
    return ((1.0 + b) * resampling_pvalues(both, both, 1.0 - q) - 1.0) / b, q / m
