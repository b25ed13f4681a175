"""Calibration error of smoothed residuals, with a width that follows from the error itself."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from caltest._basics.numerics import Array, FloatArray, ranges
from caltest.estimators.classical.base import BinaryStatistic
from caltest.predictions import Predictions

CELLS, HALVINGS = 1024, 14
"""Cells on [0, 1], and how often the interval that holds the width is halved, to 6e-5: less than a tenth of a cell."""


@dataclass(frozen=True)
class SmoothECE(BinaryStatistic):
    """Smooth calibration error: the ECE of residuals smoothed by a reflected Gaussian kernel, without bins or settings.

    ``smECE_w = int_0^1 |(1 / n) sum_i (p_i - y_i) K_w(t, p_i)| dt`` decreases in the width w; the estimate is the
    width for which ``smECE_w = w``. ``K_w`` is the density of a normal number with standard deviation w, reflected at
    0 and 1.

    Notes
    -----
    A consistent measure in the sense of the source: small if and only if calibrated predictions are near. Noise is
    included: see ``result.effect_size``, or the estimates of redraws. ``MonteCarloTest(SmoothECE())`` is exact.

    In the basis ``cos(k pi t)`` the kernel is diagonal with ``exp(-(k pi w)^2 / 2)``, so that residuals in 1024 cells,
    between whose centres they are shared linearly, are smoothed by a cosine transform, with an error below 1e-3. Time
    O(n + 1024) for each redraw, about 0.3 ms.

    Source: Blasiok and Nakkiran 2024.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> round(ct.estimators.SmoothECE()(*ct.top_label(p, y)), 3)
    0.238
    """

    citations = ("blasiok2024",)
    biased_error = "smooth calibration error"

    def statistic_of(self, p: FloatArray) -> Callable[[Array], FloatArray]:
        dct, idct = scipy.fft.dct, scipy.fft.idct
        shares, squares = _shares(p), (np.pi * np.arange(CELLS)) ** 2 / 2.0

        def width_of(outcomes: Array) -> FloatArray:
            waves = dct((shares @ (outcomes - p).T).T / p.size, axis=1)
            low, high = np.zeros((2, outcomes.shape[0]))
            high += 1.0
            for _ in range(HALVINGS):
                width = (low + high) / 2.0
                smoothed = idct(waves * np.exp(-(width[:, None] ** 2) * squares), axis=1, overwrite_x=True)
                is_below = np.abs(smoothed, out=smoothed).sum(axis=1) <= width
                low, high = np.where(is_below, low, width), np.where(is_below, width, high)
            return np.asarray((low + high) / 2.0)

        def of(outcomes: Array) -> FloatArray:
            parts = [width_of(outcomes[part]) for part in ranges(len(outcomes), CELLS)]
            return np.concatenate([np.empty(0), *parts])

        return of

    def describe(self, predictions: Predictions) -> str:
        return "smooth calibration error (smECE)"


def _shares(p: FloatArray) -> Any:
    """How much of each observation is in each cell, a sparse matrix (CELLS, n): the two nearest centres share it."""
    place = np.clip(p * CELLS - 0.5, 0.0, CELLS - 1.0)
    left = np.minimum(place.astype(np.intp), CELLS - 2)
    right, rows = place - left, np.arange(p.size)
    cells, parts = np.concatenate([left, left + 1]), np.concatenate([1.0 - right, right])
    return scipy.sparse.csr_array((parts, (cells, np.tile(rows, 2))), shape=(CELLS, p.size))
