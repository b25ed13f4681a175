"""On what one can bet against ensembles: which of the values of a pool is the outcome."""

from math import log
from typing import TYPE_CHECKING

import numpy as np

from caltest._basics.numerics import Array, FloatArray
from caltest.predictions.alternatives import SCALES, Odds, shared_weights, shifts_of

if TYPE_CHECKING:
    from caltest.predictions.ensembles.ensemble import Pool

FARTHEST = 1e100
"""Residuals count as at most this, so that their squares are finite."""


class PoolOdds(Odds):
    """Outcomes that are shifted, or farther from the members than these are from each other.

    Given the m + 1 values of a case, each of them is the outcome with the same probability if outcome and members are
    exchangeable. Otherwise with probabilities in proportion to ``f_k(r_j) / f(r_j)``, where r_j is the residual of
    value j by the other m, f the density of Student's t distribution of m - 1 degrees of freedom, which residuals of
    normal values have, and f_k the same shifted in one coordinate, or scaled. Whatever the values are, these
    probabilities have the sum 1, so that ratios have mean 1.
    """

    def __init__(self, law: "Pool") -> None:
        self._law = law
        self._d = law.members[0, 0].size
        self._shifts = list(zip(*shifts_of(self._d), strict=True))
        self.weights = shared_weights(len(self._shifts), len(SCALES))

    def log_ratio_terms(self, targets: Array) -> FloatArray:
        """From the residuals of all values: time and memory O(n m d) for each alternative in turn."""
        values = np.moveaxis(self._law.members, 1, 0)
        all_ratios, own = self._log_densities(values), self._log_densities(targets[None])
        terms = []
        for every, one in zip(all_ratios, own, strict=True):
            largest = every.max(axis=0)
            total = largest + np.log(np.exp(every - largest).sum(axis=0))
            terms.append(one[0] + log(len(values)) - total)
        return np.array(terms)

    def _log_densities(self, values: Array) -> list[FloatArray]:
        """``log f_k(r) / f(r)`` of values (B, n) or (B, n, d): K arrays (B, n)."""
        residuals = np.clip(self._law.pool_residuals(values), -FARTHEST, FARTHEST)
        residuals = residuals.reshape(*values.shape[:2], self._d)
        m = self._law.n_members - 1.0
        freedom = m - 1.0

        def log_density(r: FloatArray) -> FloatArray:
            return np.asarray(-0.5 * m * np.log1p(np.square(r) / freedom))

        plain = log_density(residuals)
        shifted = [log_density(residuals[..., t] - shift) - plain[..., t] for shift, t in self._shifts]
        scaled = [(log_density(residuals / scale) - plain).sum(axis=2) - self._d * log(scale) for scale in SCALES]
        return shifted + scaled
