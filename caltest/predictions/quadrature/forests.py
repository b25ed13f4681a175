"""Expectations of kernels of real targets under distributions that have a density but no closed form.

Every density, and the expectation of the kernel under it as a function of the target, is written as a piecewise
polynomial (``caltest._loops.trees``), once for all pairs. Then ``E k(Z, y)`` is the value of a polynomial and
``E k(Z, Z')``, the integral of an expectation times a density, a few scalar products of coefficients.
"""

from collections.abc import Callable
from itertools import chain
from math import ceil, inf, log2
from threading import Lock
from typing import NamedTuple

import numpy as np

from caltest._loops import quadrature, trees
from caltest._loops.densities import LAPLACE, SPREAD
from caltest._loops.panels import ORDER
from caltest._loops.stacks import stack
from caltest._numerics import ranges
from caltest._threads import threaded
from caltest._types import FloatArray, IntArray
from caltest.kernels import TargetKernel
from caltest.predictions.quadrature.laws import Laws
from caltest.predictions.quadrature.radial import Radial

ROOM = 16384
"""Nodes of the trees of one density, at most."""

PART = 32
"""Densities whose trees are grown together."""

KEPT = 8
"""Kernels whose trees are kept."""

KINK = 2.0**-20
"""Size of panels, in units of what they resolve, on which a kink of an expectation is rounding."""

MISSING = 1e-11
"""The most by which the integral of a density may differ from 1."""


class NotAccurate(ArithmeticError):
    """Expectations under a density cannot be computed to the accuracy that is promised."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.row = 0


class Trees(NamedTuple):
    """Trees of one density and of an expectation, one of each on each side, and what ``quadrature`` needs of them."""

    roots: list[int]
    exponents: list[int]
    densities: FloatArray
    densities_skip: IntArray
    means: FloatArray
    means_skip: IntArray
    lows: FloatArray
    widths: FloatArray
    bounds: list[int]


class Nursery:
    """Room in which the trees of one density after the other are grown."""

    def __init__(self, laws: Laws, target_kernel: Radial) -> None:
        self._laws = laws
        self._target_kernel = target_kernel
        self._densities, self._means = _room(), _room()
        self._masses = np.empty((ROOM, ORDER)), np.empty((ROOM, ORDER))
        self._sides = np.zeros(3, np.int64)

    def grow(self, i: int) -> Trees:
        """The trees of a density, none if it is that of a point."""
        roots, exponents = [-1] * 4, [0] * 4
        if self._laws.rows[i, SPREAD] == 0.0:
            nothing, skip = np.empty((0, ORDER)), np.empty(0, np.int64)
            return Trees(roots, exponents, nothing, skip, nothing, skip, np.empty(0), np.empty(0), [0, 0, 0])
        n = self._grow_densities(i, roots, exponents)
        bounds = self._grow_means(i, roots, exponents)
        lows, widths, means_skip, means = self._means
        m = bounds[-1]
        return Trees(
            roots,
            exponents,
            self._densities[3][:n].copy(),
            self._densities[2][:n].copy(),
            means[:m].copy(),
            means_skip[:m].copy(),
            lows[:m].copy(),
            widths[:m].copy(),
            bounds,
        )

    def _grow_densities(self, i: int, roots: list[int], exponents: list[int]) -> int:
        laws, law, (kernel, _, _, roughness) = self._laws, self._laws.rows[i], self._target_kernel
        mass, node = 0.0, 0
        for side in range(2):
            if laws.extents[i, side] > 0.0:
                roots[side], exponents[side] = node, _plant(self._densities, node, float(laws.extents[i, side]))
                place = side == 1, laws.centre(i, side), laws.ends[i, side], kernel[1], roughness
                node = _checked(trees.grow_density(laws.kind, law, *place, self._densities, node))
                mass += float(self._densities[3][roots[side], 0])
            self._sides[side + 1] = node
        if not abs(mass - 1.0) <= MISSING:
            raise NotAccurate(f"quadrature of the density is off by {abs(1.0 - mass):.1g}")
        trees.weigh(self._densities, self._masses, node)
        return node

    def _grow_means(self, i: int, roots: list[int], exponents: list[int]) -> list[int]:
        laws, (kernel, rule, _, _) = self._laws, self._target_kernel
        reach, sizes = laws.reach(kernel[2]), self._sizes(float(laws.rows[i, SPREAD]))
        bounds = [0]
        for side in range(2):
            node, extent = bounds[-1], float(laws.extents[i, side]) + reach[side]
            if extent > 0.0:
                roots[2 + side], exponents[2 + side] = node, _plant(self._means, node, extent)
                place = side, laws.origin, laws.centre(i, side), *sizes
                source = self._densities, self._masses, self._sides
                node = _checked(trees.grow_mean(*place, self._means, *source, kernel, rule, node))
            bounds.append(node)
        return bounds

    def _sizes(self, spread: float) -> tuple[float, float]:
        """The sizes of what happens to expectations at the centre and at the ends of the support.

        At the centre of a smooth density they vary on its scale and, if it is smooth, that of the kernel. Where a
        density jumps or has a kink the kernel alone makes them smooth.
        """
        width, smoothness = 1.0 / self._target_kernel.kernel[1], self._target_kernel.smoothness
        peak = spread + smoothness
        if self._laws.kind == LAPLACE:
            peak = smoothness if smoothness > 0.0 else KINK * min(spread, width)
        return peak, 2.0 * width if self._laws.support[0] == 0.0 else inf


def _room() -> trees.Panels:
    return np.empty(ROOM), np.empty(ROOM), np.empty(ROOM, np.int64), np.empty((ROOM, ORDER))


def _plant(panels: trees.Panels, node: int, extent: float) -> int:
    """Prepare the root of a tree; the exponent of its interval."""
    exponent = ceil(log2(min(extent, 1e300)))
    panels[0][_checked(node)], panels[1][node] = 0.0, 2.0**exponent
    return exponent


def _checked(node: int) -> int:
    if node == trees.FULL or node >= ROOM:
        raise NotAccurate(f"it takes more than {ROOM} polynomials")
    return node


def grow(laws: Laws, target_kernel: Radial) -> quadrature.Forest:
    """Trees of densities and of the expectations of a kernel under them; about a millisecond each."""

    def grow_part(part: slice) -> list[Trees]:
        nursery, grown = Nursery(laws, target_kernel), []
        for i in range(part.start, part.stop):
            try:
                grown.append(nursery.grow(i))
            except NotAccurate as error:
                error.row = i
                raise
        return grown

    n = laws.rows.shape[0]
    parts = list(ranges(n, PART))
    return _forest(
        laws.rows, list(chain.from_iterable(threaded(grow_part, parts, len(parts), "densities", work=1e6 * n)))
    )


def _forest(rows: FloatArray, grown: list[Trees]) -> quadrature.Forest:
    """Trees one after the other, with numbers of nodes that go on from one to the next."""
    starts = np.cumsum([0] + [one.densities.shape[0] for one in grown])[:-1]
    mean_starts = np.cumsum([0] + [one.means.shape[0] for one in grown])[:-1]
    roots = np.array([one.roots for one in grown])
    before = np.stack([starts, starts, mean_starts, mean_starts], axis=1)
    skips = np.concatenate([one.densities_skip + start for one, start in zip(grown, starts, strict=True)])
    mean_skips = np.concatenate([one.means_skip + start for one, start in zip(grown, mean_starts, strict=True)])
    leaves = np.flatnonzero(mean_skips == np.arange(1, mean_skips.shape[0] + 1))
    return (
        np.ascontiguousarray(rows),
        np.where(roots >= 0, roots + before, -1),
        np.array([one.exponents for one in grown]),
        np.concatenate([one.densities for one in grown]),
        skips,
        np.concatenate([one.means for one in grown]),
        mean_skips,
        np.concatenate([one.lows for one in grown])[leaves],
        np.concatenate([one.widths for one in grown])[leaves],
        leaves,
        np.searchsorted(leaves, np.array([one.bounds for one in grown]) + mean_starts[:, None]),
    )


class Forests:
    """The trees of n distributions for all kernels they were asked for; equal distributions share theirs."""

    def __init__(self, make_laws: Callable[..., Laws], *parameters: FloatArray) -> None:
        self._make_laws = make_laws
        self._parameters = parameters
        self._lock = Lock()
        self._laws: Laws | None = None
        self._first = self._places = np.empty(0, np.intp)
        self._grown: dict[TargetKernel, quadrature.Forest] = {}

    def get(self, kernel: TargetKernel, target_kernel: Radial) -> tuple[quadrature.Forest, IntArray]:
        """The forest for a kernel, and which tree belongs to each distribution, (n,)."""
        with self._lock:
            if self._laws is None:
                laws = self._make_laws(*self._parameters)
                _, self._first, places = np.unique(laws.rows, axis=0, return_index=True, return_inverse=True)
                self._laws, self._places = laws.take(self._first), places.reshape(-1)
            if kernel not in self._grown:
                while len(self._grown) >= KEPT:
                    self._grown.pop(next(iter(self._grown)))
                self._grown[kernel] = self._grow(self._laws, target_kernel)
            return self._grown[kernel], self._places

    def _grow(self, laws: Laws, target_kernel: Radial) -> quadrature.Forest:
        try:
            return grow(laws, target_kernel)
        except NotAccurate as error:
            error.row = int(self._first[error.row])
            raise


Place = tuple[quadrature.Forest, IntArray]
"""A forest, and the trees (..., n) of some distributions in it."""


def expectations(place: Place, targets: FloatArray, settings: quadrature.Settings) -> FloatArray:
    """``E k(Z, y)`` for distributions (..., r) and targets (..., c): (..., r, c)."""
    forest, rows = place
    batch = np.broadcast_shapes(rows.shape[:-1], targets.shape[:-1])
    out = np.empty((*batch, rows.shape[-1], targets.shape[-1]))
    tiles = out.reshape(-1, *out.shape[-2:])
    quadrature.mean_tiles(forest, _stack(rows, batch), stack(targets, batch, 1), settings, tiles)
    return out


def expectations_of_pairs(one: Place, two: Place) -> FloatArray:
    """``E k(Z, Z')`` for distributions (..., r) and others (..., c): (..., r, c)."""
    rows, columns = one[1], two[1]
    batch = np.broadcast_shapes(rows.shape[:-1], columns.shape[:-1])
    out = np.empty((*batch, rows.shape[-1], columns.shape[-1]))
    tiles = out.reshape(-1, *out.shape[-2:])
    quadrature.product_tiles(one[0], _stack(rows, batch), two[0], _stack(columns, batch), tiles)
    return out


def _stack(rows: IntArray, batch: tuple[int, ...]) -> IntArray:
    """Contiguous (m, n) of numbers of trees (..., n)."""
    return np.ascontiguousarray(np.broadcast_to(rows, (*batch, rows.shape[-1]))).reshape(-1, rows.shape[-1])
