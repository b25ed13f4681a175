"""Continuous distributions of a real target as the compiled loops of quadrature take them."""

from math import inf, isfinite
from typing import Any, NamedTuple

import numpy as np
import scipy

from caltest._types import FloatArray


class Laws(NamedTuple):
    """n densities of a kind.

    ``rows`` (n, 6) are described in ``caltest._loops.densities``. ``extents`` (n, 2) say how far all but 1e-15 of the
    mass of each density reaches upwards from 0, and downwards from the upper end of the support or from 0; they are not
    positive where it does not. ``ends`` (n, 2) are the exponents of the powers like which distribution functions begin
    there, or 0.
    """

    kind: int
    rows: FloatArray
    extents: FloatArray
    ends: FloatArray
    support: tuple[float, float] = (-inf, inf)

    @property
    def origin(self) -> float:
        """Where the side begins that is counted downwards."""
        return self.support[1] if isfinite(self.support[1]) else 0.0

    def reach(self, cut: float) -> tuple[float, float]:
        """How far targets can lie from the densities on each side before a kernel is 0, which it is from ``cut`` on."""
        low, high = self.support
        return 0.0 if isfinite(high) else cut, 0.0 if isfinite(low) else cut

    def centre(self, i: int, side: int) -> float:
        """The centre of a density as it is counted on a side."""
        centre = float(self.rows[i, 0])
        return self.origin - centre if side == 1 else centre

    def take(self, index: Any) -> "Laws":
        """Some of the densities."""
        return self._replace(rows=self.rows[index], extents=self.extents[index], ends=self.ends[index])


def real_laws(
    kind: int,
    centre: FloatArray,
    spread: FloatArray,
    reach: FloatArray,
    log_constant: FloatArray | float,
    first: FloatArray | float = 0.0,
) -> Laws:
    """Densities ``exp(log_constant) f((z - centre) / spread) / spread`` on the real line."""
    with np.errstate(divide="ignore"):
        rows = _rows(centre, spread, first, 0.0, log_constant - np.log(spread), 0.0)
    return Laws(kind, rows, np.stack([reach + centre, reach - centre], axis=-1), np.zeros((rows.shape[0], 2)))


def positive_laws(
    kind: int,
    centre: FloatArray,
    spread: FloatArray,
    reach: FloatArray,
    log_constant: FloatArray,
    first: FloatArray,
    end: FloatArray | float,
) -> Laws:
    """Densities on the positive numbers, which begin like ``x**(end - 1)``."""
    rows, nothing = _rows(centre, spread, first, 0.0, log_constant, 0.0), np.zeros(centre.shape)
    ends = np.stack([np.broadcast_to(end, centre.shape), nothing], axis=-1)
    return Laws(kind, rows, np.stack([reach, nothing], axis=-1), ends, (0.0, inf))


def unit_laws(
    kind: int,
    centre: tuple[FloatArray, FloatArray],
    spread: FloatArray,
    log_constant: FloatArray,
    first: FloatArray,
    second: FloatArray,
) -> Laws:
    """Densities on the unit interval, with distances of the centre from both ends and exponents of powers there."""
    rows = _rows(centre[0], spread, first, second, log_constant, centre[1])
    return Laws(kind, rows, np.full((rows.shape[0], 2), 0.5), np.stack([first, second], axis=-1), (0.0, 1.0))


def _rows(*numbers: FloatArray | float) -> FloatArray:
    shape = np.broadcast_shapes(*map(np.shape, numbers))
    return np.stack([np.broadcast_to(one, shape) for one in numbers], axis=-1)


def stirling_rest(x: FloatArray) -> FloatArray:
    """``log Gamma(x) - ((x - 1/2) log(x) - x + log(2 pi) / 2)``, which is small, without cancellation for large x."""
    small, large = np.minimum(x, 20.0), np.maximum(x, 20.0)
    direct = scipy.special.gammaln(small) - (small - 0.5) * np.log(small) + small - 0.5 * np.log(2.0 * np.pi)
    square = 1.0 / (large * large)
    series = (1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square / 1680.0))) / large
    return np.asarray(np.where(x < 20.0, direct, series))
