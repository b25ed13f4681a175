"""Debiased squared calibration error of cells, at several resolutions."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple

import numpy as np

from caltest._basics.arrays import read_only
from caltest._basics.numerics import Array, FloatArray, IntArray
from caltest._loops.statistics.binned import debiased_squares, sums_of_bins
from caltest._results.values import EffectSize
from caltest._validation import at_least, optional, whole
from caltest.binning import UniformBinning
from caltest.estimators.base import RedrawnEstimator
from caltest.estimators.classical.base import root_per_observation, some_at_a_time
from caltest.predictions import Predictions, Sample
from caltest.predictions.classes.finite import as_classes, outcome_scores

MOST_BINS = 2**12
"""The finest of the resolutions, in bins of a coordinate."""

ROUNDING = 1e-24
"""Variances of this size, relative to the number of pairs, are rounding errors."""


@dataclass(frozen=True)
class TCal(RedrawnEstimator):
    """Largest standardised debiased squared error of cells, over resolutions of 2, 4, 8, ... bins.

    For one resolution, with cells c of n_c predictions and residuals ``delta_i = e_{Y_i} - p_i``::

        T = sum_c (|sum_{i in c} delta_i|**2 - sum_{i in c} |delta_i|**2) / n_c

    of mean 0 if the predictions are calibrated, and ``max T / sd(T)`` over the resolutions with the standard deviation
    given the predictions, ``Var T = 2 sum_c n_c**-2 sum_{i != j in c} tr(S_i S_j)`` with the covariance matrices
    ``S_i = diag(p_i) - p_i p_i'``.

    Parameters
    ----------
    n_bins
        Number of bins of each coordinate, or None for all powers of 2 from 2 to half the number of observations, at
        most 4096. Cells are those of ``UniformBinning`` of P(Y = 1) for two classes, of all probabilities for more.

    Raises
    ------
    TypeError
        For predictions other than ``Bernoulli`` and ``Categorical``.

    Notes
    -----
    ``MonteCarloTest(TCal())`` is exact. Without bins to choose it adapts to errors that vary slowly or fast with the
    predictions. It is large for errors that are alike inside of cells, of either sign. Resolutions at which no two
    uncertain predictions share a cell say nothing and are left out; 0, with the p-value 1, if none is left.

    Differs from the paper in that each resolution is measured in units of its known standard deviation, where the paper
    simulates a threshold for each. Time O(n k**2) for each resolution, O(n + k times the cells) for each redraw of it.

    Source: Lee, Huang, Hassani and Dobriban 2023 (T-Cal).

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> ct.MonteCarloTest(ct.estimators.TCal(), n_resamples=99)(*ct.top_label(p, y), rng=1).pvalue
    0.01
    """

    citations = ("lee2023",)

    n_bins: int | None = None
    _checks = {"n_bins": optional(whole(1))}

    def check(self, predictions: Predictions) -> None:
        at_least(len(predictions), 1, "TCal")
        as_classes(predictions)

    def estimates(self, predictions: Predictions, targets: Array) -> FloatArray:
        p = as_classes(predictions).probabilities
        resolutions, squares = list(self._resolutions(p)), outcome_scores(p, "brier")
        return some_at_a_time(lambda labels: _standardised(resolutions, squares, labels).max(axis=0), targets)

    def _resolutions(self, p: FloatArray) -> Iterator["_Resolution"]:
        points = p if p.shape[1] > 2 else np.ascontiguousarray(p[:, 1:])
        finest = min(MOST_BINS, max(2, len(p) // 2))
        numbers = [2**j for j in range(1, finest.bit_length())] if self.n_bins is None else [self.n_bins]
        for n_bins in numbers:
            cells = UniformBinning(n_bins).assign(points)
            sizes = np.bincount(cells)
            variance = _variance(p, cells, sizes)
            if variance > ROUNDING * len(p):
                sums = sums_of_bins(read_only(p, np.float64), cells, sizes.size)
                yield _Resolution(cells, sizes, sums, sqrt(variance))

    def effect_size_of(self, estimate: float, sample: Sample, mean: float | None) -> EffectSize:
        """The root of ``T / n`` at the resolution of the largest standardised T; of one probability for two classes."""
        p = as_classes(sample.predictions).probabilities
        resolutions = list(self._resolutions(p))
        values = _standardised(resolutions, outcome_scores(p, "brier"), np.asarray(sample.targets)[None])[:, 0]
        best = int(values.argmax())
        squared = float(values[best]) * resolutions[best].deviation if resolutions else 0.0
        unit = "root of the mean squared error of cells"
        return root_per_observation(squared / (2.0 if p.shape[1] == 2 else 1.0), len(p), unit)

    def describe(self, predictions: Predictions) -> str:
        bins = "2, 4, 8, ... bins" if self.n_bins is None else f"{self.n_bins} bins"
        return f"debiased squared error of cells of {bins}, in units of its standard deviation (T-Cal)"


class _Resolution(NamedTuple):
    """Cells (n,), how many predictions (C,) and their sums (C, k) are in each cell, and sd(T)."""

    cells: IntArray
    sizes: IntArray
    sums: FloatArray
    deviation: float


def _standardised(resolutions: list[_Resolution], squares: FloatArray, labels: Array) -> FloatArray:
    """``T / sd(T)`` of each resolution for labels (B, n), (R, B); a row of zeros if there is none."""
    values = np.zeros((max(1, len(resolutions)), labels.shape[0]))
    for one, row in zip(resolutions, values, strict=False):
        weights = np.asarray(1.0 / (one.sizes * one.deviation), dtype=np.float64)
        debiased_squares(np.ascontiguousarray(labels), one.cells, one.sums, squares, weights, row)
    return values


def _variance(p: FloatArray, cells: IntArray, sizes: IntArray) -> float:
    """``2 sum_c n_c**-2 sum_{i != j in c} tr(S_i S_j)``, of cells with more than one prediction."""
    total = 0.0
    order, ends = np.argsort(cells, kind="stable"), np.cumsum(sizes)
    for c in np.flatnonzero(sizes > 1):
        q = p[order[ends[c] - sizes[c] : ends[c]]]
        together = np.diag(q.sum(axis=0)) - q.T @ q
        squares = np.square(q)
        # ``tr(S**2) = sum p**2 - 2 sum p**3 + (sum p**2)**2``.
        alone = (squares - 2.0 * squares * q).sum() + np.square(squares.sum(axis=1)).sum()
        total += (np.square(together).sum() - alone) / float(sizes[c]) ** 2
    return 2.0 * float(total)
