"""Counts that people round: too many multiples of 5, 10 or 12, as in numbers that are remembered or read off."""

from math import log

import numpy as np

from caltest._basics.calls import kept
from caltest._basics.numerics import BoolArray, FloatArray, IntArray
from caltest.predictions.faults.counts.seen import Counts
from caltest.predictions.faults.fault import Mixed
from caltest.predictions.faults.values import STEPS
from caltest.predictions.faults.words import Fit, percent

AMONG, PROMISING, CERTAIN = 64, 3.5, 1e-9
"""Predictions that tell how many multiples there should be, standard deviations from which on there are too many, and
the smallest variance."""

NEVER = 1e-12
"""Probability below which what is rounded to a count does not explain it either."""


class Heaped(Mixed[Counts]):
    """``Q = (1 - t) P + t R``: a share t of the counts is rounded to the nearest multiple of a step, by R.

    Those in the middle between two multiples are rounded up as often as down.
    """

    kind = "heaped"
    n_siblings = len(STEPS)

    def log_ratios(self, seen: Counts, sibling: int) -> FloatArray:
        at, rounded = _multiples(seen, STEPS[sibling]), _log_rounded(seen, STEPS[sibling])
        ratios = np.full(at.size, -np.inf)
        # Counts that are outliers, rounded or not, say nothing.
        ratios[at] = np.where(rounded > log(NEVER), rounded - seen.log_probabilities[at], 0.0)
        return ratios

    def words(self, seen: Counts, sibling: int, fit: Fit) -> str:
        at, weights = _multiples(seen, STEPS[sibling]), seen.view.weights
        if at.all():
            return f"all counts are multiples of {STEPS[sibling]}: they are rounded"
        share = percent(float(weights @ at) / float(weights.sum()), 2)
        much = self.sized(seen, sibling, fit, percent)
        return f"about {much} of the counts are rounded to multiples of {STEPS[sibling]}, which {share} of all are"

    def place(self, sibling: int) -> str:
        return f"multiples of {STEPS[sibling]}"

    def promising(self, seen: Counts) -> FloatArray:
        """By how many standard deviations multiples beside 0 are too frequent, as others next to them are not."""
        law, weights = seen.view.law.evenly_spaced(AMONG), seen.view.weights
        places, p = np.arange(*law.window), law.probability_vectors().mean(axis=0)
        found = np.array([_at_and_near(seen.first, step, weights / weights.sum()) for step in STEPS])
        usual = np.maximum([_at_and_near(places, step, p) for step in STEPS], CERTAIN)
        expected, share = usual[:, 0] * found[:, 1] / usual[:, 1], usual[:, 0] * (1.0 + usual[:, 0] / usual[:, 1])
        far = (found[:, 0] - expected) * np.sqrt(weights.sum() / share)
        return np.where(far > PROMISING, far, -np.inf)


def _at_and_near(values: IntArray, step: int, shares: FloatArray) -> list[float]:
    """Shares of the multiples of a step beside 0, and of what is next to one of these."""
    at, above, below = ((some % step == 0) & (some > 0) for some in (values, values - 1, values + 1))
    return [float(shares @ at), float(shares @ (above | below))]


def _multiples(seen: Counts, step: int) -> BoolArray:
    return np.asarray(seen.first % step == 0)


@kept
def _log_rounded(seen: Counts, step: int) -> FloatArray:
    """Log probabilities of what is rounded to the outcomes that are multiples."""
    at = _multiples(seen, step)
    law, y = seen.view.law.take(np.flatnonzero(at)), seen.first[at]
    halves = (step // 2, (step - 1) // 2), ((step - 1) // 2, step // 2)
    rounded = 0.5 * sum(law.cdf(y + above) - law.cdf(y - below - 1) for above, below in halves)
    return np.asarray(np.log(np.maximum(rounded, 1e-300)))
