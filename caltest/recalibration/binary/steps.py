"""Piecewise constant maps, for all methods that bin."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit

from caltest._basics.types import FloatArray, IntArray
from caltest.recalibration.base import ProbabilityMap
from caltest.recalibration.shared.storage import require, require_increasing, require_range


@dataclass(frozen=True, eq=False, repr=False)
class StepMap(ProbabilityMap):
    """Values (b,) on ``[.., e_1], (e_1, e_2], ..., (e_{b-1}, ..]`` with inner edges e (b - 1,).

    ``on`` is ``"input"`` if the edges are on the scale of the input, ``"probabilities"`` if logits become these first.
    """

    on: str
    edges: FloatArray
    values: FloatArray

    binary: ClassVar[bool] = True

    def _check(self) -> None:
        super()._check()
        require(self.on in ("input", "probabilities"), "on", self.on, "'input' or 'probabilities'")
        require_increasing("edges", self.edges, -np.inf, np.inf)
        shape = (self.edges.size + 1,)
        require(self.values.shape == shape, "values", self.values.shape, f"shape {shape}, one more than edges")
        require_range("values", self.values, 0.0, 1.0)

    def _apply(self, scores: FloatArray) -> FloatArray:
        points = probabilities_of(scores, self.input) if self.on == "probabilities" else scores
        return np.asarray(self.values[bins_of(self.edges, points)])


def probabilities_of(scores: FloatArray, scale: str) -> FloatArray:
    """Probabilities (n,) as they are, those of log-odds (n,)."""
    return np.asarray(expit(scores)) if scale == "logits" else scores


def bins_of(edges: FloatArray, points: FloatArray) -> IntArray:
    """Number of the bin of each point, for fits and predictions alike."""
    return np.searchsorted(edges, points, side="left")


def between(low: FloatArray, high: FloatArray) -> FloatArray:
    """Numbers half way between others, at least ``low`` and below ``high`` even if these are neighbours."""
    middle = low + (high - low) / 2.0
    return np.asarray(np.where(middle < high, middle, low))


def mid_points(edges: FloatArray, low: float, high: float) -> FloatArray:
    """Mid-points (b,) of the bins with inner edges (b - 1,) that cover [low, high]."""
    ends = np.concatenate([[low], edges, [high]])
    return np.asarray((ends[:-1] + ends[1:]) / 2.0)
