"""Sums over points on a line: of pairs with the kernel exp(-|x - x'|), of waves, and at the nodes of a grid.

One pass is enough for the pairs, as their kernel is a product along the line.
"""

import numpy as np

from caltest._basics.jit import jit
from caltest._basics.numerics import FloatArray, IntArray
from caltest._loops.formulas.exponential import exp_of_negative


def sums_to_the_left(decays: FloatArray, weights: FloatArray) -> FloatArray:
    """``sum_{j < i} exp(-(x_i - x_j)) weights[j]`` for sorted points, of the shape (n, m) of the weights.

    ``decays[i]`` is exp(-(x_i - x_{i-1})), so that the sum of a point is that of the point before it, with the weight
    of that point, times the decay.
    """
    sums = np.zeros(weights.shape)
    _add_to_the_left(decays, weights, sums)
    return sums


@jit
def _add_to_the_left(decays: FloatArray, weights: FloatArray, sums: FloatArray) -> None:
    for i in range(1, weights.shape[0]):
        for b in range(weights.shape[1]):
            sums[i, b] = decays[i] * (sums[i - 1, b] + weights[i - 1, b])


SHORT = 1000
"""Points of several lines for which steps of numpy take about as long as a compiled loop."""


def pair_sums(decays: FloatArray, weights: FloatArray) -> FloatArray:
    """``sum_{j < i} exp(-(x_i - x_j)) w_i w_j`` for lines of decays (L, n) and columns w of the weights (n, m), (L, m).

    No sum depends on how many columns there are.
    """
    if len(decays) == 1 or len(weights) > SHORT:
        return np.stack([np.einsum("ib,ib->b", weights, sums_to_the_left(one, weights)) for one in decays])
    left, sums = np.zeros((2, len(decays), weights.shape[1]))
    term = np.empty_like(sums)
    for decay, before, weight in zip(decays.T[1:], weights, weights[1:], strict=False):
        left += before
        left *= decay[:, None]
        sums += np.multiply(left, weight, out=term)
    return sums


CELL = 1.0
"""How far, in units of the kernel, the numbers of the rows are used before they are moved along the line."""

NOTHING = 750.0
"""A distance at which nothing is left of an exponential function."""


@jit
def _move(states: FloatArray, x: float) -> None:
    """Turn ``sum_a v_a**k exp(v_a)`` of each row (k, r) into the same sums for v_a - x."""
    if x > NOTHING:
        states[:] = 0.0
        return
    decay = exp_of_negative(-x)
    for i in range(states.shape[1]):
        if states.shape[0] == 3:
            states[2, i] = decay * (states[2, i] - x * (2.0 * states[1, i] - x * states[0, i]))
        if states.shape[0] > 1:
            states[1, i] = decay * (states[1, i] - x * states[0, i])
        states[0, i] *= decay


@jit
def _add_row_point(states: FloatArray, i: int, x: float, weight: float) -> None:
    term = weight / exp_of_negative(-x)
    for k in range(states.shape[0]):
        states[k, i] += term
        term *= x


@jit
def _add_states(states: FloatArray, x: float, weight: float, out: FloatArray) -> None:
    """Add to ``out`` (r,) what the rows have to the left of a point x, a distance x - v_a away."""
    decay = weight * exp_of_negative(-x)
    first = states[0]
    if states.shape[0] == 1:
        for i in range(out.shape[0]):
            out[i] += decay * first[i]
        return
    second = states[1]
    if states.shape[0] == 2:
        zero = decay * (1.0 + x)
        for i in range(out.shape[0]):
            out[i] += zero * first[i] - decay * second[i]
        return
    third = states[2]
    zero, one, two = decay * (1.0 + x + x * x / 3.0), decay * (1.0 + 2.0 * x / 3.0), decay / 3.0
    for i in range(out.shape[0]):
        out[i] += zero * first[i] - one * second[i] + two * third[i]


@jit
def add_from_the_left(
    degree: int, factor: float, points: FloatArray, owners: IntArray, weights: FloatArray, out: FloatArray
) -> None:
    """Add ``sum_ab u_a v_b f(factor (y_b - x_a))`` over the x_a before y_b to ``out`` (B, c, r).

    Points come in ascending order, (B, p), with their weights. Those of row i have the owner i, those of column j the
    owner -1 - j. f(x) is exp(-x) times 1, 1 + x or 1 + x + x**2 / 3 for degree 0, 1 or 2. Time O(p r).
    """
    states = np.empty((degree + 1, out.shape[2]))
    for batch in range(points.shape[0]):
        states[:] = 0.0
        place = points[batch, 0]
        for p in range(points.shape[1]):
            x = factor * (points[batch, p] - place)
            if x > CELL:
                _move(states, x)
                place, x = points[batch, p], 0.0
            owner = owners[batch, p]
            if owner >= 0:
                _add_row_point(states, owner, x, weights[batch, p])
            else:
                _add_states(states, x, weights[batch, p], out[batch, -1 - owner])


@jit
def _value(states: FloatArray, j: int, x: float) -> float:
    """What column j of the states has to the left of a point x."""
    value: float = states[0, j]
    if states.shape[0] == 2:
        value = (1.0 + x) * states[0, j] - states[1, j]
    elif states.shape[0] == 3:
        value = (1.0 + x + x * x / 3.0) * states[0, j] - (1.0 + 2.0 * x / 3.0) * states[1, j] + states[2, j] / 3.0
    return value * exp_of_negative(-x)


@jit
def add_mixtures_from_the_left(
    degree: int, factor: float, points: FloatArray, owners: IntArray, weights: FloatArray, out: FloatArray
) -> None:
    """Add ``sum_ij w_ij sum_a f(factor (y_bj - x_ia))`` over the x_ia before y_bj to ``out`` (B,), for weights (r, c).

    As ``add_from_the_left``, but the owner of y_bj is -1 - (b c + j). Time O(p c) for the points of rows, O(1) for the
    others.
    """
    n_columns = weights.shape[1]
    states = np.zeros((degree + 1, n_columns))
    place = points[0]
    for p in range(points.shape[0]):
        x = factor * (points[p] - place)
        if x > CELL:
            _move(states, x)
            place, x = points[p], 0.0
        owner = owners[p]
        if owner >= 0:
            term, line = 1.0 / exp_of_negative(-x), weights[owner]
            for k in range(degree + 1):
                state = states[k]
                for j in range(n_columns):
                    state[j] += term * line[j]
                term *= x
        else:
            b = (-1 - owner) // n_columns
            out[b] += _value(states, (-1 - owner) - b * n_columns, x)


@jit
def add_to_grid(places: FloatArray, features: FloatArray, out: FloatArray) -> None:
    """Add features (n, s) to the nodes around places (B, n), with the weights of a cubic polynomial through four nodes.

    Places are in steps of the grid from its first node; those outside of its second and its last but one count as
    these. For any function f on the nodes ``sum_g f(g) out[b, g]``, of the sums (B, G, s), is
    ``sum_i f(places[b, i]) features[i]`` with f interpolated.
    """
    last = out.shape[1] - 2.0
    for b in range(places.shape[0]):
        for i in range(places.shape[1]):
            x = min(max(places[b, i], 1.0), last)
            node = min(np.int64(x), out.shape[1] - 3)
            u = x - node
            v, w, x = u + 1.0, u - 1.0, u - 2.0
            one, two, three, four = -u * w * x / 6.0, v * w * x / 2.0, -u * v * x / 2.0, u * v * w / 6.0
            for t in range(features.shape[1]):
                value = features[i, t]
                out[b, node - 1, t] += one * value
                out[b, node, t] += two * value
                out[b, node + 1, t] += three * value
                out[b, node + 2, t] += four * value


@jit
def wave_sums(
    cosines: FloatArray, sines: FloatArray, weights: FloatArray, fades: FloatArray, state: FloatArray, out: FloatArray
) -> None:
    """Add ``sum_a w_ai cos(f x_ai)`` and ``sum_a w_ai sin(f x_ai)``, f = 0, 1, ..., to the halves of ``out`` (2F, r).

    Given are the cosines and sines of the phases x (m, r) and weights (m, r); those of multiples of the phases come
    from turning them on, in ``state`` (2, r). From the frequency 1 / fade to twice that, weights go down to 0.
    """
    size, n = out.shape[0] // 2, out.shape[1]
    for a in range(cosines.shape[0]):
        for i in range(n):
            state[0, i] = weights[a, i]
            state[1, i] = 0.0
        for f in range(size):
            for i in range(n):
                share = 2.0 - f * fades[a, i]
                share = 0.0 if share < 0.0 else share
                share = 1.0 if share > 1.0 else share
                real, imaginary = state[0, i], state[1, i]
                out[f, i] += share * real
                out[size + f, i] += share * imaginary
                state[0, i] = real * cosines[a, i] - imaginary * sines[a, i]
                state[1, i] = imaginary * cosines[a, i] + real * sines[a, i]


@jit
def values_of_waves(
    cosines: FloatArray, sines: FloatArray, coefficients: FloatArray, state: FloatArray, out: FloatArray
) -> None:
    """Write ``sum_jf p_fj cos(f x_bj) + q_fj sin(f x_bj)`` to ``out`` (B,), given p and q one below the other, (2F, c).

    The cosines and sines are those of the phases x (B, c); ``state`` is (3, c).
    """
    size, n = coefficients.shape[0] // 2, cosines.shape[1]
    for b in range(out.shape[0]):
        for j in range(n):
            state[0, j] = 1.0
            state[1, j] = state[2, j] = 0.0
        for f in range(size):
            for j in range(n):
                real, imaginary = state[0, j], state[1, j]
                state[2, j] += coefficients[f, j] * real + coefficients[size + f, j] * imaginary
                state[0, j] = real * cosines[b, j] - imaginary * sines[b, j]
                state[1, j] = imaginary * cosines[b, j] + real * sines[b, j]
        out[b] = 0.0
        for j in range(n):
            out[b] += state[2, j]
