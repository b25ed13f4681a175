"""Gaussian kernels of many vectors in single precision, for sums over many observations."""

from collections.abc import Iterator, Sequence

import numpy as np

from caltest._basics.numerics import Array, FloatArray, ranges
from caltest._basics.threads import threaded

ROWS, TILE, TOGETHER = 2048, 2**18, 32
"""Observations whose kernels are summed together, numbers in these, and redraws of a thread."""

LARGEST = 1e3
"""Coordinates count as at most this many bandwidths away from the mean of the points."""

DIGITS = 1e-8
"""Eigenvalues of the points' kernel, over the largest, above which features in single precision have digits."""


def squared_sums(
    psi: FloatArray, gaussians: "Gaussians", means: Sequence[FloatArray], maps: Sequence[FloatArray], vectors: Array
) -> FloatArray:
    """``|sum_i psi_i (k_l(y_i) - m_il)' W_l|**2`` of vectors (B, n, d) for each factor l of a bandwidth, (L, B).

    Features psi (n, r), kernels ``k_l(y)`` of the points (t,), their means (n, t), or (t,) for all, and maps W (t, s).
    Only the kernels and products with them have single precision.
    """
    n, size = vectors.shape[1], gaussians.n_points
    columns, means = np.ascontiguousarray(psi.T, dtype=np.float32), [one.astype(np.float32) for one in means]

    def of_redraws(part: slice) -> FloatArray:
        squares = np.empty((len(means), part.stop - part.start))
        for some in ranges(part.stop - part.start, max(1, TILE // (min(n, ROWS) * size))):
            matrices, here = np.zeros((len(means), some.stop - some.start, len(columns), size)), vectors[part][some]
            for rows in ranges(n, ROWS):
                tiles = gaussians.centred(here[:, rows], [one if one.ndim == 1 else one[rows] for one in means])
                for matrix, tile in zip(matrices, tiles, strict=True):
                    matrix += columns[:, rows] @ tile
            for place, (matrix, one) in enumerate(zip(matrices, maps, strict=True)):
                squares[place, some] = np.square(matrix @ one).sum(axis=(1, 2))
        return squares

    parts = list(ranges(len(vectors), TOGETHER))
    return np.concatenate(list(threaded(of_redraws, parts, len(parts), "redraws", products=True)), axis=1)


class Gaussians:
    """``exp(-|y - p|**2 / (2 (f w)**2))`` for points p (t, d) and falling factors f <= 1 of a bandwidth w.

    The bandwidth is a number, or one for each coordinate.
    """

    def __init__(self, points: FloatArray, width: FloatArray | float, factors: Sequence[float] = (1.0,)) -> None:
        self._width, self._factors, self._centre = width, factors, points.mean(axis=0)
        self.n_points, p = len(points), (points - self._centre) / width
        halves = -0.5 * np.square(p).sum(axis=1)
        self._columns = np.column_stack([p, np.ones(len(p)), halves]).T.astype(np.float32)

    def centred(self, vectors: Array, means: Sequence[Array]) -> Iterator[Array]:
        """The kernels (B, n, t) of vectors (B, n, d) less their means, for each factor until the next is asked for.

        For half of a bandwidth the kernel is the fourth power.
        """
        exponents, last = self._exponents(vectors), 0.0
        tile, out = np.empty((2, *exponents.shape), dtype=np.float32)
        for factor, mean in zip(self._factors, means, strict=True):
            if last == 2.0 * factor:
                np.square(np.square(tile, out=tile), out=tile)
            else:
                np.exp(np.multiply(exponents, np.float32(factor**-2.0), out=tile), out=tile)
            yield np.subtract(tile, mean, out=out, casting="same_kind")
            last = factor

    def _exponents(self, vectors: Array) -> Array:
        """``y p - |y|**2 / 2 - |p|**2 / 2`` around the mean of the points, which is one product of matrices."""
        d, t = self._columns.shape[0] - 2, self.n_points
        rows = np.empty((*vectors.shape[:-1], d + 2), dtype=np.float32)
        y, rows[..., d + 1] = rows[..., :d], 1.0
        with np.errstate(over="ignore"):
            np.subtract(vectors, self._centre, out=y, casting="same_kind")
            np.clip(np.divide(y, self._width, out=y, casting="same_kind"), -LARGEST, LARGEST, out=y)
        np.multiply(np.einsum("bid,bid->bi", y, y), np.float32(-0.5), out=rows[..., d])
        out = np.empty((*vectors.shape[:-1], t), dtype=np.float32)
        np.matmul(rows.reshape(-1, d + 2), self._columns, out=out.reshape(-1, t))
        return out
