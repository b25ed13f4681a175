"""Gaussian kernels of many vectors in single precision, for sums over many observations."""

from collections.abc import Iterator, Sequence
from math import prod

import numpy as np

from caltest._basics.numerics import Array, FloatArray

LARGEST = 1e3
"""Coordinates count as at most this many bandwidths away from the mean of the points."""

DIGITS = 1e-8
"""Eigenvalues of the points' kernel, over the largest, above which features in single precision have digits."""


class GaussianTiles:
    """``exp(-|y - p|**2 / (2 (f w)**2))`` of vectors y and points p (t, d), for factors f <= 1 of a bandwidth w.

    The bandwidth is a number, or one for each coordinate; factors fall. Each thread has its own, whose memory is used
    again and again: the system takes as long to provide new memory as the numbers in it take.
    """

    def __init__(self, points: FloatArray, width: FloatArray | float, factors: Sequence[float] = (1.0,)) -> None:
        self._width, self._factors, self._centre = width, factors, points.mean(axis=0)
        p = (points - self._centre) / width
        halves = -0.5 * np.square(p).sum(axis=1)
        self._columns = np.column_stack([p, np.ones(len(p)), halves]).T.astype(np.float32)
        self._kept: dict[str, Array] = {}

    def centred(self, vectors: Array, means: Sequence[Array]) -> Iterator[Array]:
        """The kernels (B, n, t) of vectors (B, n, d) less their means, for each factor until the next is asked for.

        For half of a bandwidth the kernel is the fourth power.
        """
        exponents, last = self._exponents(vectors), 0.0
        tile, out = (self._array(name, exponents.shape) for name in ("tile", "centred"))
        for factor, mean in zip(self._factors, means, strict=True):
            if last == 2.0 * factor:
                np.square(np.square(tile, out=tile), out=tile)
            else:
                np.exp(np.multiply(exponents, np.float32(factor**-2.0), out=tile), out=tile)
            yield np.subtract(tile, mean, out=out, casting="same_kind")
            last = factor

    def _exponents(self, vectors: Array) -> Array:
        """``y p - |y|**2 / 2 - |p|**2 / 2`` around the mean of the points, which is one product of matrices."""
        d, t = self._columns.shape[0] - 2, self._columns.shape[1]
        rows = self._array("rows", (*vectors.shape[:-1], d + 2))
        y, rows[..., d + 1] = rows[..., :d], 1.0
        with np.errstate(over="ignore"):
            np.subtract(vectors, self._centre, out=y, casting="same_kind")
            np.clip(np.divide(y, self._width, out=y, casting="same_kind"), -LARGEST, LARGEST, out=y)
        np.multiply(np.einsum("bid,bid->bi", y, y), np.float32(-0.5), out=rows[..., d])
        out = self._array("exponents", (*vectors.shape[:-1], t))
        np.matmul(rows.reshape(-1, d + 2), self._columns, out=out.reshape(-1, t))
        return out

    def _array(self, name: str, shape: tuple[int, ...]) -> Array:
        """Memory that is kept under a name, as an array of this shape."""
        size, kept = prod(shape), self._kept.get(name)
        if kept is None or kept.size < size:
            self._kept[name] = kept = np.empty(size, dtype=np.float32)
        return kept[:size].reshape(shape)
