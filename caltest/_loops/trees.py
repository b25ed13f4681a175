"""Trees of a density on the real line, and of the expectation of a kernel under it as a function of the target.

A tree is grown from its root: a panel is halved until the function is a polynomial of degree 15 on it to rounding,
which its last coefficients say. They are blind to what happens between the nodes, so panels are halved in any case
while they are larger than a peak and than their distance from it.
"""

import numpy as np

from caltest._jit import jit
from caltest._loops.densities import LAPLACE, SPREAD, density
from caltest._loops.panels import (
    COEFFICIENTS,
    ENDS,
    NODES,
    ORDER,
    POWERS,
    VALUES,
    WEIGHTS,
    dot,
    lift,
    polynomial,
    times,
)
from caltest._loops.radial import Radial, is_polynomial, radial_values
from caltest._types import FloatArray, IntArray

TOLERANCE = 4e-15
"""Size of the last coefficients of a polynomial that are rounding."""

SMALLEST = 2.0**-48
"""Size of panels, relative to their place, that are not halved."""

KINK = 2.0**-23
"""Size of panels, in units of the scale of a density, on which a kink of it is rounding."""

NEGLIGIBLE = 1e-17
"""Probability that does not matter."""

DEPTH = 2048
"""Panels that wait to be looked at, at most."""

FULL = -1
"""What is returned when there is no room for the nodes of a tree, or for the panels that wait."""

Kernel = tuple[Radial, float, float, float]
"""A function of a distance, the inverse of its bandwidth, the distance beyond which it is 0 to rounding, and how far
its core goes: what happens beyond it happens on the scale of the distance."""

Rule = tuple[FloatArray, FloatArray]
"""Nodes and weights on [0, 1] of a quadrature rule for the core of a kernel, or a part of it that begins nearby."""

Panels = tuple[FloatArray, FloatArray, IntArray, FloatArray]
"""Lower ends of the panels of nodes, their lengths, ``skip``, and coefficients."""

Masses = tuple[FloatArray, FloatArray]
"""For the nodes of a density: the values at 16 points that integrate polynomials, and the coefficients of powers."""


@jit
def grow_density(
    kind: int,
    law: FloatArray,
    downwards: bool,
    centre: float,
    end: float,
    inverse: float,
    roughness: float,
    panels: Panels,
    first: int,
) -> int:
    """Add the tree of a density on one side of the origin; the number of nodes then.

    The panel of the root, node ``first``, is given. Where ``end`` is not 0 the density begins like ``x**(end - 1)``;
    there a panel is small enough when even the difference that a kernel like ``1 - (inverse x)**roughness`` makes on it
    does not matter for its mass.
    """
    low, width, skip, coefficients = panels
    lows, widths, values = np.empty(DEPTH), np.empty(DEPTH), np.empty(ORDER)
    lows[0], widths[0] = low[first], width[first]
    peak = law[SPREAD] * (KINK if kind == LAPLACE else 1.0)
    waiting, node = 1, first
    while waiting > 0:
        if node >= low.shape[0]:
            return FULL
        waiting -= 1
        x, size = lows[waiting], widths[waiting]
        low[node], width[node] = x, size
        is_leaf = size < SMALLEST * (x + size)
        if x == 0.0 and end > 0.0 and size < law[SPREAD]:
            mass = density(kind, law, size, size - centre, downwards) * size / end
            if mass * min(1.0, size * inverse) ** roughness < NEGLIGIBLE:
                is_leaf = True
                for k in range(ORDER):
                    coefficients[node, k] = mass * ENDS[0, k]
        if not is_leaf and size <= max(peak, distance(x, size, centre)):
            for q in range(ORDER):
                step = size * NODES[q]
                values[q] = size * density(kind, law, x + step, (x - centre) + step, downwards)
            is_leaf = fit(values, coefficients[node])
        waiting = halve(is_leaf, x, size, lows, widths, waiting)
        if waiting == FULL:
            return FULL
        skip[node] = node + 1 if is_leaf else 0
        node += 1
    lift(coefficients, skip, first, node, 1.0)
    return node


@jit
def distance(low: float, width: float, point: float) -> float:
    """Distance of a point from a panel."""
    return max(low - point, point - low - width, 0.0)


@jit
def fit(values: FloatArray, coefficients: FloatArray) -> bool:
    """Coefficients of the polynomial through some values, and whether the last ones are rounding."""
    times(COEFFICIENTS, values, coefficients)
    last = max(abs(coefficients[ORDER - 1]), abs(coefficients[ORDER - 2]), abs(coefficients[ORDER - 3]))
    small: bool = last < TOLERANCE
    return small


@jit
def halve(is_leaf: bool, low: float, width: float, lows: FloatArray, widths: FloatArray, waiting: int) -> int:
    """Let the halves of a panel wait, the lower one on top, unless it is a leaf; the number of those that wait."""
    if is_leaf:
        return waiting
    if waiting + 2 > lows.shape[0]:
        return FULL
    half = 0.5 * width
    lows[waiting], widths[waiting] = low + half, half
    lows[waiting + 1], widths[waiting + 1] = low, half
    return waiting + 2


@jit
def weigh(panels: Panels, masses: Masses, n: int) -> None:
    """Prepare the nodes of a density for integrals; those without mass are emptied."""
    _, _, _, coefficients = panels
    weights, powers = masses
    for node in range(n):
        if abs(coefficients[node, 0]) < 1e-3 * NEGLIGIBLE:
            coefficients[node] = 0.0
        times(VALUES, coefficients[node], weights[node])
        times(POWERS, coefficients[node], powers[node])
        for q in range(ORDER):
            weights[node, q] *= WEIGHTS[q]


@jit
def grow_mean(
    side: int,
    origin: float,
    centre: float,
    peak: float,
    edge: float,
    means: Panels,
    densities: Panels,
    masses: Masses,
    sides: IntArray,
    kernel: Kernel,
    rule: Rule,
    first: int,
) -> int:
    """Add the tree of ``E k(Z, y)`` for y on one side of the origin; the number of nodes then.

    The panel of the root, node ``first``, is given, and the nodes ``sides[0]`` to ``sides[1]`` and ``sides[2]`` of the
    density on both sides. ``peak`` and ``edge`` are the sizes of what happens at the centre and at 0.
    """
    low, width, skip, coefficients = means
    lows, widths, values, room = np.empty(DEPTH), np.empty(DEPTH), np.empty(ORDER), np.empty(ROOM)
    lows[0], widths[0] = low[first], width[first]
    waiting, node = 1, first
    while waiting > 0:
        if node >= low.shape[0]:
            return FULL
        waiting -= 1
        x, size = lows[waiting], widths[waiting]
        low[node], width[node] = x, size
        is_last = size < SMALLEST * (x + size)
        is_leaf = False
        if is_last or (size <= max(peak, distance(x, size, centre)) and size <= max(edge, x)):
            means_on_panel(x, size, side, origin, densities, masses, sides, kernel, rule, room, values)
            is_leaf = fit(values, coefficients[node]) or is_last
        waiting = halve(is_leaf, x, size, lows, widths, waiting)
        if waiting == FULL:
            return FULL
        skip[node] = node + 1 if is_leaf else 0
        node += 1
    lift(coefficients, skip, first, node, 0.5)
    return node


ROOM = 128
"""Nodes of a quadrature rule, at most."""


@jit
def means_on_panel(
    x: float,
    size: float,
    side: int,
    origin: float,
    panels: Panels,
    masses: Masses,
    sides: IntArray,
    kernel: Kernel,
    rule: Rule,
    room: FloatArray,
    out: FloatArray,
) -> None:
    """``E k(Z, y)`` for the targets at the nodes of a panel.

    A panel of the density on which the kernel is a polynomial for all the targets adds scalar products with the part of
    the density that polynomials see, whether it is a leaf or not. Differences of places are taken before steps inside
    of panels are added, which keeps their digits far from 0.
    """
    low, width, skip, coefficients = panels
    weights, powers = masses
    radial, inverse, cut, _ = kernel
    points, point_weights = rule
    for p in range(ORDER):
        out[p] = 0.0
    for one in range(2):
        sign = -1.0 if one == side else 1.0
        node = sides[one]
        while node < sides[one + 1]:
            length = width[node]
            start = low[node] - x if one == side else low[node] + x - origin
            gap = max(start + min(0.0, sign * size), -start - length - max(0.0, sign * size))
            if gap > cut or coefficients[node, 0] == 0.0:
                node = skip[node]
            elif is_polynomial(radial, length * inverse, gap * inverse):
                for p in range(ORDER):
                    place = start + sign * size * NODES[p]
                    out[p] += _where_polynomial(place, length, weights[node], radial, inverse, room)
                node = skip[node]
            elif skip[node] == node + 1:
                for p in range(ORDER):
                    place = start + sign * size * NODES[p]
                    if is_polynomial(radial, length * inverse, max(place, -place - length) * inverse):
                        out[p] += _where_polynomial(place, length, weights[node], radial, inverse, room)
                    else:
                        out[p] += on_leaf(place, length, powers[node], kernel, points, point_weights, room)
                node += 1
            else:
                node += 1


@jit
def _where_polynomial(
    start: float, length: float, weights: FloatArray, radial: Radial, inverse: float, room: FloatArray
) -> float:
    """Integral over a panel of a density times a kernel, which is a polynomial there, with its centre at 0."""
    for q in range(ORDER):
        room[q] = abs(start + length * NODES[q]) * inverse
    radial_values(radial, room, ORDER)
    return dot(room, weights)


@jit
def on_leaf(
    start: float,
    size: float,
    powers: FloatArray,
    kernel: Kernel,
    points: FloatArray,
    weights: FloatArray,
    room: FloatArray,
) -> float:
    """Integral over a panel of a polynomial times the kernel, the centre of which is 0.

    Above and below 0 the rule of the kernel goes as far as its core does, and the Gauss-Legendre rule on from there,
    with every part up to twice as far away as the one before.
    """
    radial, inverse, cut, core = kernel
    total = 0.0
    for sign in (1.0, -1.0):
        near = max(0.0, start) if sign > 0.0 else max(0.0, -start - size)
        far = min(cut, start + size) if sign > 0.0 else min(cut, -start)
        while near < far:
            end = min(far, max(core, 2.0 * near))
            if not end > near:
                break
            place, step = 2.0 * (sign * near - start) / size - 1.0, 2.0 * sign * (end - near) / size
            if near < core:
                part = _on_part(near, end - near, place, step, powers, radial, inverse, points, weights, room)
            else:
                part = _on_part(near, end - near, place, step, powers, radial, inverse, NODES, WEIGHTS, room)
            total += part * (end - near) / size
            near = end
    return total


@jit
def _on_part(
    near: float,
    length: float,
    place: float,
    step: float,
    powers: FloatArray,
    radial: Radial,
    inverse: float,
    points: FloatArray,
    weights: FloatArray,
    room: FloatArray,
) -> float:
    """Mean of a polynomial times the kernel, from one distance to another."""
    n = points.shape[0]
    if n > room.shape[0]:
        raise ValueError("more nodes than there is room for")
    for q in range(n):
        room[q] = (near + length * points[q]) * inverse
    radial_values(radial, room, n)
    for q in range(n):
        room[q] *= weights[q] * polynomial(powers, place + step * points[q])
    total = 0.0
    for q in range(n):
        total += room[q]
    return total
