"""The rows of data of a fit: where their latent function is evaluated, and the sum of their log-likelihoods."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from caltest._basics.numerics import FloatArray, IntArray, ranges
from caltest._basics.threads import threaded
from caltest._loops.statistics import latent

CELLS = 2000
"""Cells of the grid over the range of the inputs."""

WIDEST_CELL = 0.02
"""Cells of the coarsest grid are not wider where the range is large, as with logarithms of probabilities 0."""

PART = 100_000
"""Inputs in a part of the rows."""

NANOSECONDS = 30.0
"""About what an input takes."""


@dataclass(frozen=True)
class Rows(ABC):
    """Data with a likelihood of a latent function at nodes (g,): inputs and means of the prior (n, k), labels (n,)."""

    inputs: FloatArray
    prior: FloatArray
    labels: IntArray

    @property
    @abstractmethod
    def nodes(self) -> FloatArray:
        """Inputs (g,) at which the function is wanted."""

    @abstractmethod
    def likelihood(self, deviation: FloatArray, variance: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """Sum over the rows, and its derivatives by mean less prior and variance of the function at the nodes."""


@dataclass(frozen=True)
class AllInputs(Rows):
    """The nodes are all n k inputs."""

    @property
    def nodes(self) -> FloatArray:
        return self.inputs.ravel()

    def likelihood(self, deviation: FloatArray, variance: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        shape = self.prior.shape
        d_deviation, d_variance = np.empty(shape), np.empty(shape)
        deviation, variance = deviation.reshape(shape), variance.reshape(shape)

        def part(rows: slice) -> float:
            results = deviation[rows], variance[rows], d_deviation[rows], d_variance[rows]
            return latent.at_inputs(self.prior[rows], self.labels[rows], *results)

        return _summed(part, shape), d_deviation.ravel(), d_variance.ravel()


@dataclass(frozen=True)
class OnGrid(Rows):
    """The nodes are those of a grid; between them the function is interpolated by cubic polynomials."""

    n_cells: int = CELLS

    @cached_property
    def _grid(self) -> tuple[FloatArray, IntArray, FloatArray]:
        lowest, highest = float(self.inputs.min()), float(self.inputs.max())
        width = min((highest - lowest) / self.n_cells, WIDEST_CELL * CELLS / self.n_cells)
        cells = np.minimum((self.inputs - lowest) // width, np.floor((highest - lowest) / width)).astype(np.intp)
        places = (self.inputs - lowest) / width - cells
        used = np.unique(np.unique(cells)[:, None] + np.arange(4))
        # The nodes of a cell follow each other among those that are used too.
        return lowest + (used - 1) * width, np.searchsorted(used, cells), places

    @property
    def nodes(self) -> FloatArray:
        """The nodes of all cells with an input, and the next ones on either side."""
        return self._grid[0]

    def likelihood(self, deviation: FloatArray, variance: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        _, cells, places = self._grid
        slices = list(ranges(self.prior.shape[0], _rows_of_part(self.prior.shape)))
        slopes = np.zeros((len(slices), 2, deviation.size))

        def part(rows: slice) -> float:
            data = self.prior[rows], self.labels[rows], cells[rows], places[rows]
            return latent.on_grid(*data, deviation, variance, *slopes[slices.index(rows)])

        value = _summed(part, self.prior.shape)
        d_deviation, d_variance = slopes.sum(axis=0)
        return value, d_deviation, d_variance


def _rows_of_part(shape: tuple[int, ...]) -> int:
    return max(1, PART // shape[1])


def _summed(part: Callable[[slice], float], shape: tuple[int, ...]) -> float:
    slices = list(ranges(shape[0], _rows_of_part(shape)))
    work = shape[0] * shape[1] * NANOSECONDS
    return sum(threaded(part, slices, len(slices), "rows", work=work))
