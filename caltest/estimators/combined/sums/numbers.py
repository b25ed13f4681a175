"""The numbers of the omnibus statistic for numbers, vectors, counts and ordered classes, from sums over rows.

Each component is a function of sums (B, W) over the observations, for observed and redrawn targets: those of products
of features for kernels, moments of scores, log likelihood ratios, and the rows of faults. What features compare with,
landmarks and ranks, comes from some of the predictions, so that sums of parts of the data add up.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from caltest._basics.numerics import Array, FloatArray, IntArray, Sums, check_memory, ranges
from caltest._basics.threads import threaded
from caltest._loops.rows import fill_uniforms, row_states
from caltest.estimators.combined.sums.parts import OfRows
from caltest.estimators.scores import ResidualMean, log_mixture, log_ratios_of
from caltest.hstatistics.sums.features import Features, FeatureSums
from caltest.hstatistics.sums.residuals import ResidualSums, prediction_features, residual_means
from caltest.kernels import PredictionKernel
from caltest.predictions import Predictions
from caltest.predictions.alternatives import Alternatives
from caltest.predictions.base import Drawer
from caltest.predictions.faults import Faults
from caltest.predictions.reductions.standard_scores import scores_of

ROWS = {1: 2**16, 2: 2**13}
"""Predictions whose features are computed together, by the dimension of the array of targets."""

TARGETS, LEAST = 2**21, 8
"""Redrawn targets that are turned into sums together, of so many redraws at least."""

KEPT, NUMBERS = 2**16, 2**24
"""Rows that wait for others, and numbers that sums over pairs take for these together."""

LARGEST = 2**29
"""Bytes of sums that are kept at a time; with more redraws the predictions are read again."""

Adder = Callable[[Array], FloatArray]
"""Sums (B, W) for targets (B, n) or (B, n, d)."""

Numbers = Callable[[Predictions, Array, FloatArray | None], FloatArray]
"""Numbers (J, B), or (B,), for many targets; weights of the observations have the sum of their squares."""


class Summand(ABC):
    """Numbers of a component for targets in memory, or as a function of sums over the observations."""

    @abstractmethod
    def __call__(self, predictions: Predictions, targets: Array, weights: FloatArray | None) -> FloatArray:
        """The numbers (J, B), or (B,), of the predictions or of a group of them."""

    @abstractmethod
    def adder(self, predictions: Predictions) -> Adder:
        """What gives the sums of some predictions."""

    @abstractmethod
    def values(self, sums: FloatArray, n: int) -> FloatArray:
        """The numbers (J, B) from the sums (B, W) of all n observations."""


@dataclass(frozen=True, eq=False)
class KernelSums(Summand):
    """The SKCE of a kernel of low rank with all pairs, ``|M|**2 / n**2``."""

    features: tuple[Features, ...]
    unbiased = False

    def __call__(self, predictions: Predictions, targets: Array, weights: FloatArray | None) -> FloatArray:
        """In single precision for numbers and vectors, whose pairs i = j stay in: rounding is part of the statistic."""
        return np.stack(
            [one.estimates(predictions, targets, self.unbiased, weights, np.float32) for one in self.features]
        )

    def adder(self, predictions: Predictions) -> Adder:
        add = self.features[0].adder(predictions)
        return lambda targets: add(targets).reshape(len(targets), -1)

    def values(self, sums: FloatArray, n: int) -> FloatArray:
        return np.asarray(np.square(sums).sum(axis=1)[None] / n**2)


class KernelSumsOfClasses(KernelSums):
    """The SKCE of kernels of low rank, without the pairs i = j."""

    unbiased = True

    def adder(self, predictions: Predictions) -> Adder:
        def add(targets: Array) -> FloatArray:
            sums = (one.sums(predictions, targets) for one in self.features)
            return np.concatenate(
                [np.column_stack([one.matrices.reshape(len(targets), -1), one.diagonal]) for one in sums], axis=1
            )

        return add

    def values(self, sums: FloatArray, n: int) -> FloatArray:
        means, first = [], 0
        for one in self.features:
            shape = len(one.target_map), one.prediction_map.shape[1]
            last = first + shape[0] * shape[1]
            matrices = sums[:, first:last].reshape(-1, *shape)
            means.append(one.means(FeatureSums(n, matrices, sums[:, last]), unbiased=True))
            first = last + 1
        return np.stack(means)


@dataclass(frozen=True, eq=False)
class MeanSums(Summand):
    """A number that is a mean over the observations."""

    numbers: Numbers

    def __call__(self, predictions: Predictions, targets: Array, weights: FloatArray | None) -> FloatArray:
        return self.numbers(predictions, targets, weights)

    def adder(self, predictions: Predictions) -> Adder:
        return lambda targets: self.numbers(predictions, targets, None)[:, None] * len(predictions)

    def values(self, sums: FloatArray, n: int) -> FloatArray:
        return np.asarray(sums.T / n)


class ResidualKernelSums(Summand):
    """The SKCE of the scores of targets, which are standard normal given the predictions, for several bandwidths."""

    def __init__(self, kernel: PredictionKernel, widths: Sequence[float], among: Predictions) -> None:
        self._kernel, self._widths, self._among = kernel, widths, among
        self._features = prediction_features(kernel, among)
        few = among.take(slice(0, 1))
        scores = _flat(scores_of(few.law, few.redraw(0, 1)))
        self._sums = ResidualSums(kernel, widths, among, 1 if scores.ndim == 2 else scores.shape[2])

    def __call__(self, predictions: Predictions, targets: Array, weights: FloatArray | None) -> FloatArray:
        is_known = predictions is self._among
        features = self._features if is_known else prediction_features(self._kernel, predictions)
        return residual_means(features, self._widths, scores_of(predictions.law, targets), weights)

    def adder(self, predictions: Predictions) -> Adder:
        add, law = self._sums.adder(predictions), predictions.law
        return lambda targets: add(_flat(scores_of(law, targets)))

    def values(self, sums: FloatArray, n: int) -> FloatArray:
        return self._sums.means(sums, n)


def _flat(scores: FloatArray) -> FloatArray:
    """Scores of vectors of one number as numbers."""
    return scores[:, :, 0] if scores.ndim == 3 and scores.shape[2] == 1 else scores


class ResidualMeanSums(Summand):
    """``n |mean z|**2 - d`` of scores."""

    def __call__(self, predictions: Predictions, targets: Array, weights: FloatArray | None) -> FloatArray:
        return ResidualMean().estimates(predictions, targets, weights)

    def adder(self, predictions: Predictions) -> Adder:
        law = predictions.law
        return lambda targets: scores_of(law, targets).sum(axis=1).reshape(len(targets), -1)

    def values(self, sums: FloatArray, n: int) -> FloatArray:
        return np.asarray(np.square(sums).sum(axis=1)[None] / n - sums.shape[1])


@dataclass(frozen=True, eq=False)
class LikelihoodSums(Summand):
    """``log E`` of a mixture of alternatives, in which each observation has the power of its weight."""

    predictions: Predictions
    weights: FloatArray | None
    alternatives: Alternatives

    def __call__(self, predictions: Predictions, targets: Array, weights: FloatArray | None) -> FloatArray:
        if predictions is self.predictions and weights is self.weights:
            return log_ratios_of(self.alternatives, targets)
        alternatives = predictions.law.alternatives(weights)
        assert alternatives is not None
        return log_ratios_of(alternatives, targets)

    def adder(self, predictions: Predictions) -> Adder:
        alternatives = predictions.law.alternatives()
        assert alternatives is not None
        return lambda targets: alternatives.log_ratios(targets).T

    def values(self, sums: FloatArray, n: int) -> FloatArray:
        return log_mixture(sums.T, self.alternatives.weights)[None]


@dataclass(frozen=True, eq=False)
class FaultSums(Summand):
    """The rows of all faults of the family; in sums with ranks of features among the predictions that are known."""

    predictions: Predictions
    weights: FloatArray | None
    faults: Faults

    def __call__(self, predictions: Predictions, targets: Array, weights: FloatArray | None) -> FloatArray:
        """The rows of some of the faults after those of others, for a few of the redraws at a time."""
        is_known = predictions is self.predictions and weights is self.weights
        faults = self.faults if is_known else predictions.faults(weights)
        assert faults is not None
        parts = list(ranges(len(targets), max(1, faults.at_once // targets[0].size)))
        if len(parts) == 1:
            return faults.rows(targets)
        rows = threaded(lambda part: faults.rows(targets[part]), parts, len(parts), "faults", work=20.0 * targets.size)
        return np.concatenate(list(rows), axis=1)

    def adder(self, predictions: Predictions) -> Adder:
        faults = predictions.faults(among=self.predictions)
        assert faults is not None
        return lambda targets: faults.sums(targets).T

    def values(self, sums: FloatArray, n: int) -> FloatArray:
        compared = self.faults.compared
        ends = np.cumsum([one.n_sums for one in compared])
        parts = zip(compared, np.split(sums.T, ends[:-1]), strict=True)
        return np.concatenate([one.rows_of_sums(part) for one, part in parts])


@dataclass(frozen=True, eq=False)
class RowSums(Sums):
    """Sums (B, W) over n observations, and those of the pairs i = j of the observed targets, for the first kernel."""

    redrawn = {"sums": 0}

    n: int
    sums: FloatArray
    diagonal: float


class NumberSums(OfRows[RowSums]):
    """Sums over parts of the rows, and the numbers (J, B) of all of them.

    Parameters
    ----------
    summands
        Those of the components, in their order.
    among
        The predictions from which features come.
    """

    note = "kernels and features are computed from some of the predictions, as there are many"

    def __init__(self, summands: Sequence[Summand], among: Predictions) -> None:
        self._summands, self._among = tuple(summands), among
        few = among.take(slice(0, 2))
        self._target_ndim = few.redraw(0, 1).ndim - 1
        self._widths = [int(one.adder(few)(few.redraw(0, 1)).shape[1]) for one in summands]
        self._width = sum(self._widths)

    @property
    def kept_until(self) -> int:
        width = self._among.width(self._first.features[0].kernel.target_kernel)
        return min(KEPT, max(1, NUMBERS // width))

    @property
    def key(self) -> bytes:
        kernel = self._first.features[0]
        maps = (kernel.prediction_map, np.asarray(kernel.targets, dtype=np.float64), kernel.target_map)
        return repr(kernel.kernel).encode() + b"".join(np.ascontiguousarray(one).tobytes() for one in maps)

    @property
    def _first(self) -> KernelSums:
        first = self._summands[0]
        assert isinstance(first, KernelSums)
        return first

    def check(self, predictions: Predictions) -> None:
        predictions.drawer()

    def at_once(self) -> int:
        return max(256, LARGEST // (8 * self._width))

    def sums(
        self, predictions: Predictions, observed: Array | None, rows: IntArray, seed: np.uint64, redraws: range
    ) -> RowSums:
        size = 8 * self._width * len(redraws)
        check_memory(size, "sums of features for all redraws", (len(redraws), "redraws"))
        total, diagonal = np.zeros((len(redraws), self._width)), 0.0
        for part in ranges(len(predictions), ROWS[self._target_ndim]):
            here, own = predictions.take(part), None if observed is None else observed[part]
            self._add(total, here, partial(_targets, here.drawer(), rows[part], seed, own), redraws)
            if own is not None and redraws.start < 0 and not self._first.unbiased:
                diagonal += self._first.features[0].diagonal(here, own)
        return RowSums(len(predictions), total, diagonal)

    def _add(
        self, total: FloatArray, predictions: Predictions, drawn: Callable[[range], Array], redraws: range
    ) -> None:
        adders = [one.adder(predictions) for one in self._summands]

        def sums(columns: slice) -> FloatArray:
            targets = drawn(redraws[columns])
            return np.concatenate([one(targets) for one in adders], axis=1)

        parts, work = list(ranges(len(redraws), max(LEAST, TARGETS // len(predictions)))), 100.0 * len(predictions)
        some = threaded(sums, parts, len(parts), "redraws", work=work * len(redraws), products=True)
        for columns, part in zip(parts, some, strict=True):
            total[columns] += part

    def values(self, sums: RowSums) -> FloatArray:
        parts = np.split(sums.sums, np.cumsum(self._widths)[:-1], axis=1)
        return np.concatenate([one.values(part, sums.n) for one, part in zip(self._summands, parts, strict=True)])

    def reported(self, sums: RowSums, values: FloatArray) -> float:
        """Without the pairs i = j."""
        if self._first.unbiased:
            return float(values[0, 0])
        return float((values[0, 0] * sums.n**2 - sums.diagonal) / (sums.n * (sums.n - 1.0)))


def _targets(drawer: Drawer, rows: IntArray, seed: np.uint64, observed: Array | None, redraws: range) -> Array:
    """Of some redraws (B, n) or (B, n, d), which depend on a seed and the numbers of rows only; -1 is the observed."""
    first = max(redraws.start, 0)
    parts = [observed[None]] if redraws.start < 0 and observed is not None else []

    def uniforms(number: int) -> FloatArray:
        states = np.empty(rows.size, dtype=np.uint64)
        row_states(np.uint64((int(seed) + number) % 2**64), rows, states)
        out = np.empty((redraws.stop - first, rows.size))
        fill_uniforms(states, first, out)
        return out

    if redraws.stop > first:
        parts.append(drawer(uniforms))
    return np.concatenate(parts) if len(parts) > 1 else parts[0]
