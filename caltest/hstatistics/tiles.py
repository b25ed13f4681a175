"""h between ranges of a sample, in the fastest way there is for the family of predictions and the kernel.

Any family and kernel: from tiles of the kernel, its expectations and the kernel of predictions. Finitely many outcomes
and a function of a distance: compiled, without temporaries. Normal predictions with a Gaussian kernel of targets:
compiled. All agree to rounding.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from caltest._basics.numerics import Array, FloatArray, IntArray, ranges
from caltest._loops.pair_sums.gaussian import gaussian_tile
from caltest._loops.pair_sums.pairs import Settings, block_sums, finite_sums, finite_tile
from caltest.kernels import PairKernel, ProductKernel, SumKernel, TargetKernel
from caltest.kernels.radial import DistanceForm
from caltest.predictions import Predictions, Sample
from caltest.predictions.classes.finite import FinitePredictions

Place = tuple[slice, slice]
"""Ranges of rows and of columns."""

WIDE = 1024
"""Columns of tiles that are products of matrices; other tiles are squares, which stay in the cache."""

STACK = 2**15
"""Numbers in a stack of tiles, one of each block."""


def h_tile(kernel: PairKernel, rows: Sample, columns: Sample) -> FloatArray:
    """``h`` between all rows (..., r) and columns (..., c), of shape (..., r, c): the definition.

    For a product kernel and observations (p, y), (p', y') (Widmann et al. 2021, section 3.2)::

        h = k_P(p, p') [ k_Y(y, y') - E k_Y(Z, y') - E k_Y(y, Z') + E k_Y(Z, Z') ],    Z ~ p, Z' ~ p'

    and a sum of these for a sum of products. If the predictions are calibrated, E[h | p, p', y] = 0.
    """
    left, right = rows.predictions, columns.predictions

    def tile(one: ProductKernel) -> FloatArray:
        values = left.law.centred_kernel(one.target_kernel, rows.targets, right.law, columns.targets)
        values *= one.prediction_kernel.tile(left, right)
        return values

    return kernel.sum_of(tile)


def h_bound(kernel: PairKernel, predictions: Predictions) -> float:
    """``sup |h|`` over all predictions of a family and all targets, for a kernel ``sum_i k_i l_i``.

    With features phi_i of the target kernels, ``l_i(y, y') = phi_i(y) . phi_i(y')``, the deviations
    ``d_i = phi_i(y) - E phi_i(Z)``, and ``|k_i| <= Phi_i``, the inequality of Cauchy and Schwarz gives::

        |h| = |sum_i k_i(p, p') d_i . d_i'| <= sum_i Phi_i |d_i| |d_i'| <= sup sum_i Phi_i |d_i|**2

    which is at most the squared diameter of the features of the single kernel ``sum_i Phi_i l_i``, because ``E phi(Z)``
    lies in their convex hull. It is the supremum where all ``k_i(p, p) = Phi_i``: y and p concentrated on two targets
    at that distance attain it.

    For classes and matrices A_i it is ``max_ab (e_a - e_b)' A (e_a - e_b)`` with ``A = sum_i Phi_i A_i``. This is at
    most every ``B_{p;q} = 2**(1 + 1/p - 1/q) K_{p;q}`` of Lemma H.1 of Widmann et al. 2019, where the inequality of
    Hoelder bounds the same bilinear form of the same differences, and for ``k_P I`` it is the smallest of them,
    2 sup k_P (Example H.1). It can be smaller than each B_{p;q}, and than the sum of the bounds of the products.
    """
    if kernel.single is not None:
        one = kernel.single
        return one.prediction_kernel.bound * predictions.law.squared_diameter(one.target_kernel)
    target_kernels = (one.prediction_kernel.bound * one.target_kernel for one in kernel.products)
    return predictions.law.squared_diameter(SumKernel.of(*target_kernels))


class Tiles(ABC):
    """h of one sample and kernel, range by range."""

    @property
    def products(self) -> bool:
        """Whether tiles are products of matrices."""
        return False

    @property
    def are_strips(self) -> bool:
        """Whether sums need no tile, only lines of a few rows."""
        return False

    @abstractmethod
    def tile(self, place: Place) -> FloatArray:
        """``h`` between the rows and the columns, (r, c)."""

    @abstractmethod
    def block_sums(self, block_size: int) -> FloatArray:
        """Sum of ``h`` over the pairs i < j of each block of consecutive observations, which fill the sample."""

    def sums(self, strip: Place) -> tuple[float, float]:
        """Sums of ``h`` over the pairs i < j of a strip, and over its diagonal.

        The columns of a strip begin where its rows begin and go on beyond them.
        """
        rows, columns = strip
        square = self.tile((rows, rows))
        diagonal = float(np.trace(square))
        pairs = (float(square.sum()) - diagonal) / 2.0
        at_once = WIDE if self.products else rows.stop - rows.start
        for part in ranges(columns.stop - rows.stop, at_once):
            pairs += float(self.tile((rows, slice(rows.stop + part.start, rows.stop + part.stop))).sum())
        return pairs, diagonal


@dataclass(frozen=True, eq=False)
class SumTiles(Tiles):
    """Sum of the h of several kernels."""

    parts: list[Tiles]

    @property
    def products(self) -> bool:
        return any(part.products for part in self.parts)

    def tile(self, place: Place) -> FloatArray:
        first, *rest = (part.tile(place) for part in self.parts)
        for tile in rest:
            first += tile
        return first

    def sums(self, strip: Place) -> tuple[float, float]:
        pairs, diagonal = zip(*(part.sums(strip) for part in self.parts), strict=True)
        return sum(pairs), sum(diagonal)

    def block_sums(self, block_size: int) -> FloatArray:
        return np.asarray(np.sum([part.block_sums(block_size) for part in self.parts], axis=0))


@dataclass(frozen=True, eq=False)
class AnyTiles(Tiles):
    """From the definition."""

    kernel: ProductKernel
    sample: Sample

    @property
    def products(self) -> bool:
        return self.sample.predictions.law.discrete

    def tile(self, place: Place) -> FloatArray:
        rows, columns = place
        return h_tile(self.kernel, self.sample.take(rows), self.sample.take(columns))

    def block_sums(self, block_size: int) -> FloatArray:
        index = np.arange(len(self.sample)).reshape(-1, block_size)
        at_once = max(1, 4 * STACK // block_size**2)
        return np.concatenate([self._sums_within(index[part]) for part in ranges(len(index), at_once)])

    def _sums_within(self, index: IntArray) -> FloatArray:
        """Sums over the pairs within each row of indices: between its halves, and within these."""
        n_blocks, size = index.shape
        if size == 1:
            return np.zeros(n_blocks)
        if size % 2:
            return self._sums_between(index[:, :1], index[:, 1:]) + self._sums_within(index[:, 1:])
        left, right = np.split(index, 2, axis=1)
        within = self._sums_within(index.reshape(-1, size // 2)).reshape(n_blocks, 2)
        return np.asarray(self._sums_between(left, right) + within.sum(axis=1))

    def _sums_between(self, rows: IntArray, columns: IntArray) -> FloatArray:
        return np.asarray(h_tile(self.kernel, self.sample.take(rows), self.sample.take(columns)).sum(axis=(1, 2)))


class FiniteTiles(Tiles):
    """``f(d) (e_y - p)' A (e_y' - p')`` for finitely many outcomes."""

    are_strips = True

    def __init__(self, kernel: TargetKernel, form: DistanceForm, predictions: FinitePredictions, labels: Array) -> None:
        metric, function, residuals = form.metric, form.function, predictions.residuals(labels)
        points = np.ascontiguousarray(predictions.embedding(metric))
        self._vectors = points, predictions.times_gram(residuals, kernel), residuals
        factor = function.stretch * form.inverse_width * (1.0 if metric.root else metric.scale)
        self._settings = Settings(
            metric.kind, metric.root, function.kind, factor, function.exponent == 2.0, function.shape
        )

    def tile(self, place: Place) -> FloatArray:
        rows, columns = (_ends(part) for part in place)
        out = np.empty((rows[1] - rows[0], columns[1] - columns[0]))
        finite_tile(self._vectors, rows, columns, self._settings, out)
        return out

    def sums(self, strip: Place) -> tuple[float, float]:
        rows, columns = strip
        return finite_sums(self._vectors, _ends(rows), columns.stop, self._settings)

    def block_sums(self, block_size: int) -> FloatArray:
        return block_sums(self._vectors, self._settings, block_size)


@dataclass(frozen=True, eq=False)
class NormalTiles(AnyTiles):
    """Normal predictions with a Gaussian kernel of targets."""

    def tile(self, place: Place) -> FloatArray:
        predictions, gaussian = self.sample.predictions, self.kernel.target_kernel.gaussian
        normal = predictions.law.normal
        assert normal is not None
        assert gaussian is not None
        rows, columns = place
        tile = np.empty((rows.stop - rows.start, columns.stop - columns.start))
        self.kernel.prediction_kernel.fill(tile, predictions.take(rows), predictions.take(columns), {})
        precision = 1.0 / gaussian.width
        vectors = normal[0], normal[1] * precision, self.sample.targets
        gaussian_tile(vectors, precision, _ends(rows), _ends(columns), tile)
        return tile


def tiles_of(kernel: PairKernel, sample: Sample) -> Tiles:
    """The fastest way to h of a sample."""
    first, *rest = (_tiles_of_product(product, sample) for product in kernel.products)
    return SumTiles([first, *rest]) if rest else first


def _tiles_of_product(kernel: ProductKernel, sample: Sample) -> Tiles:
    predictions = sample.predictions
    if predictions.finite is not None and (form := kernel.prediction_kernel.distance_form) is not None:
        return FiniteTiles(kernel.target_kernel, form, predictions.finite, sample.targets)
    if predictions.law.normal is not None and kernel.target_kernel.gaussian is not None:
        return NormalTiles(kernel, sample)
    return AnyTiles(kernel, sample_for(kernel, sample))


def sample_for(kernel: ProductKernel, sample: Sample) -> Sample:
    """The sample, prepared for expectations of a kernel."""
    return Sample(sample.predictions.prepared(kernel.target_kernel), sample.targets)


def _ends(part: slice) -> tuple[int, int]:
    return part.start, part.stop
