"""Likelihood ratios of polynomials of log-odds for many rows and many outcomes, by sums over few places."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import scipy

from caltest._basics.numerics import BoolArray, FloatArray, IntArray

WIDTH = 0.25
"""Of the cells that log-odds are in."""

DEGREE = 10
"""Places in each cell, one more than the degree of the polynomials that stand for functions there."""

STEEPEST = 4.0
"""Slopes of log-odds in predicted log-odds up to which sums over places are as good as those over rows."""

FEWER = 8
"""So many rows for each place make them worthwhile."""

MOST_STEPS, SMALLEST_GAIN, ROUNDING = 20, 1e-11, 1e-8
"""Newton steps, the gain in log-likelihood of the last one, and a loss that may be rounding."""


@dataclass(frozen=True)
class Nodes:
    """Places x' (m,) and weights w (m,) with ``sum_j w_j f(x'_j) = sum_i f(x_i)`` for the log-odds x (n,) of rows.

    It is exact for polynomials of less than the tenth degree in each cell. The poles of ``log(1 + exp(z(x)' b))`` are
    pi over the slope away from the real line, so that the error of a row is about ``(4 pi / (slope WIDTH))**-DEGREE``:
    1e-17 for a slope of 1, 1e-11 for the steepest.
    """

    places: FloatArray
    weights: FloatArray

    @classmethod
    def of(cls, x: FloatArray) -> Self | None:
        """For log-odds (n,); None if there are not many more of them than places."""
        low = float(x.min())
        cells, members = np.unique(np.floor((x - low) / WIDTH), return_inverse=True)
        if FEWER * DEGREE * cells.size > x.size:
            return None
        # Sums of Chebyshev polynomials over the rows of a cell, and their values at the places.
        angles, orders = np.pi * (np.arange(DEGREE)[::-1] + 0.5) / DEGREE, np.arange(DEGREE)
        turns = np.arccos(np.clip(2.0 * ((x - low) / WIDTH - cells[members]) - 1.0, -1.0, 1.0))
        sums = np.stack([np.bincount(members, np.cos(order * turns), cells.size) for order in orders], axis=1)
        sums[:, 1:] = 2.0 * sums[:, 1:]
        places = low + WIDTH * (cells[:, None] + (np.cos(angles) + 1.0) / 2.0)
        return cls(places.ravel(), (sums @ np.cos(np.outer(orders, angles)) / DEGREE).ravel())

    def selected_ratios(
        self, design: FloatArray, sums: FloatArray, start: FloatArray, threshold: float
    ) -> tuple[FloatArray, IntArray, BoolArray]:
        """What the loop over rows gives: likelihood ratios (B,) of columns selected forward, and how many these are.

        Of the design (m, q) at the places and its sums (B, q) over rows with an event. True in the third array where
        they are not to be relied on, as for outcomes that are nearly separated.
        """
        fewest = min(2, start.size)
        first = sums @ start - self.weights @ np.logaddexp(0.0, design @ start)
        best, doubtful = self._maximised(design, sums, start, fewest)
        columns, some = np.full(len(sums), fewest), np.arange(len(sums))
        for m in range(fewest + 1, start.size + 1):
            larger, unsure = self._maximised(design, sums[some], start, m)
            doubtful[some] |= unsure
            adds = 2.0 * (larger - best[some]) >= threshold
            some = some[adds]
            best[some], columns[some] = larger[adds], m
        return 2.0 * (best - first), columns, doubtful

    def _maximised(
        self, design: FloatArray, sums: FloatArray, start: FloatArray, m: int
    ) -> tuple[FloatArray, BoolArray]:
        """Largest log-likelihoods (B,) of the first m columns by Newton's method from the start, and doubts."""
        z, b = design[:, :m], np.tile(start[:m], (len(sums), 1))
        squares = (z[:, :, None] * z[:, None, :]).reshape(len(z), m * m)
        lost = np.zeros(len(b), dtype=bool)
        values = np.full(len(b), -np.inf)
        for _ in range(MOST_STEPS):
            eta = b @ z.T
            now = np.einsum("bj,bj->b", sums[:, :m], b) - np.logaddexp(0.0, eta) @ self.weights
            lost |= ~(now >= values - ROUNDING)
            values = now
            chances = scipy.special.expit(eta)
            gradient = sums[:, :m] - (chances * self.weights) @ z
            hessian = ((chances * (1.0 - chances) * self.weights) @ squares).reshape(-1, m, m)
            lost |= ~(np.linalg.eigvalsh(hessian)[:, 0] > SMALLEST_GAIN)
            hessian[lost] = np.eye(m)
            step = np.where(lost[:, None], 0.0, np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0])
            if not (np.einsum("bj,bj->b", gradient, step) > SMALLEST_GAIN).any():
                break
            b += step
        else:
            lost[:] = True
        slopes = np.abs(np.diff(eta, axis=1) / np.diff(self.places)).max(axis=1)
        return values, lost | (slopes > STEEPEST)
