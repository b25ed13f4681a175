"""Distances of discrete distributions: the cheapest coupling of two small ones, and that of step functions."""

import numpy as np

from caltest._basics.jit import jit
from caltest._basics.numerics import FloatArray, IntArray
from caltest._loops.stacks import stack

NOTHING = 1e-15
"""Mass that is left over by rounding."""

MOST = 10**6
"""Iterations that no coupling of mixtures takes, so that rounding cannot make them endless."""


@jit
def transport_cost(rows: FloatArray, columns: FloatArray, costs: FloatArray) -> float:
    """Smallest ``sum_ab T_ab C_ab`` over T >= 0 with the row sums (m,) and the column sums (k,) given, for C (m, k).

    Mass goes along the cheapest path from a row that has some left to a column that lacks some, where a path can take
    back what went before; every such step keeps the coupling optimal for the mass it has (Ahuja, Magnanti and Orlin
    1993, section 9.7).
    """
    supply, demand = rows.copy(), columns.copy()
    coupling = np.zeros(costs.shape)
    total = 0.0
    for _ in range(MOST):
        if supply.max() <= NOTHING or demand.max() <= NOTHING:
            return total
        to_column, from_column, from_row = _cheapest_paths(supply, coupling, costs)
        end = -1
        for b in range(demand.shape[0]):
            if demand[b] > NOTHING and to_column[b] < (np.inf if end < 0 else to_column[end]):
                end = b
        if end < 0:
            break
        total += _send(end, supply, demand, coupling, from_row, from_column) * to_column[end]
    raise ValueError("metric: got mixtures of which no coupling of smallest cost was found; use MMD(kernel)")


@jit
def _cheapest_paths(
    supply: FloatArray, coupling: FloatArray, costs: FloatArray
) -> tuple[FloatArray, IntArray, IntArray]:
    """Costs of the paths to columns, the column before each row (-1 at the start) and the row before each column."""
    m, k = costs.shape
    rounding = NOTHING * costs.max()
    to_row = np.where(supply > NOTHING, 0.0, np.inf)
    to_column = np.full(k, np.inf)
    from_column, from_row = np.full(m, -1), np.full(k, -1)
    for _ in range(m + k):
        changed = False
        for a in range(m):
            for b in range(k):
                if to_row[a] + costs[a, b] < to_column[b] - rounding:
                    to_column[b], from_row[b], changed = to_row[a] + costs[a, b], a, True
        for a in range(m):
            for b in range(k):
                if coupling[a, b] > NOTHING and to_column[b] - costs[a, b] < to_row[a] - rounding:
                    to_row[a], from_column[a], changed = to_column[b] - costs[a, b], b, True
        if not changed:
            break
    return to_column, from_column, from_row


@jit
def _send(
    end: int, supply: FloatArray, demand: FloatArray, coupling: FloatArray, from_row: IntArray, from_column: IntArray
) -> float:
    """Send as much as goes along the path to a column; how much that is."""
    amount, a = demand[end], from_row[end]
    while from_column[a] >= 0:
        b = from_column[a]
        amount = min(amount, coupling[a, b])
        a = from_row[b]
    amount = min(amount, supply[a])
    supply[a] -= amount
    demand[end] -= amount
    a = from_row[end]
    coupling[a, end] += amount
    while from_column[a] >= 0:
        b = from_column[a]
        coupling[a, b] -= amount
        a = from_row[b]
        coupling[a, b] += amount
    sent: float = amount
    return sent


@jit
def _write_costs(rows: FloatArray, columns: FloatArray, costs: FloatArray, out: FloatArray) -> None:
    for tile in range(out.shape[0]):
        for i in range(out.shape[1]):
            for j in range(out.shape[2]):
                out[tile, i, j] = transport_cost(rows[tile, i], columns[tile, j], costs[tile, i, j])


def transport_costs(rows: FloatArray, columns: FloatArray, costs: FloatArray) -> FloatArray:
    """``transport_cost`` for the weights (..., r, m) and (..., c, k) and costs (..., r, c, m, k): (..., r, c)."""
    batch, out = costs.shape[:-4], np.empty(costs.shape[:-2])
    left, right, flat = stack(rows, batch, 2), stack(columns, batch, 2), stack(costs, batch, 4)
    _write_costs(left, right, flat, out.reshape(-1, *out.shape[-2:]))
    return out


@jit
def _to_next_step(
    x: FloatArray, y: FloatArray, step: int, done: int, sizes: tuple[int, int], place: float, total: float
) -> tuple[int, float, float]:
    """Go on to the next of the steps of both functions, of which ``step`` are behind, ``done`` of them those of x."""
    a, b = x[done], y[step - done]
    nearest = min(a, b)
    gap = float(done * sizes[1] - (step - done) * sizes[0])
    # Written so that places that are infinite or no numbers do not lead beyond the end of either function.
    return min(done + (not b < a), sizes[0]), nearest, total + gap * gap * (nearest - place)


@jit
def squared_gaps(rows: FloatArray, columns: FloatArray, out: FloatArray) -> None:
    """Write ``integral (F_i - G_j)**2`` to ``out`` (B, r, c) for rows (B, r, m + 1) and columns (B, c, m' + 1).

    F and G have steps of equal heights at m and m' places in ascending order, which end with infinity. A sum of
    squares, so equal functions have 0 exactly. Four columns at a time, as a step has to wait for the one before.
    """
    n_rows, n_columns = out.shape[1:]
    sizes = rows.shape[2] - 1, columns.shape[2] - 1
    scale = 1.0 / float(sizes[0] * sizes[1]) ** 2
    last = n_columns - 1
    for batch in range(rows.shape[0]):
        for i in range(n_rows):
            x = rows[batch, i]
            for j in range(0, n_columns, 4):
                j1, j2, j3 = min(j + 1, last), min(j + 2, last), min(j + 3, last)
                y0, y1, y2, y3 = columns[batch, j], columns[batch, j1], columns[batch, j2], columns[batch, j3]
                p0 = p1 = p2 = p3 = 0
                # Before the first step there is no gap, so that any place is as good as its own.
                z0 = z1 = z2 = z3 = x[0]
                t0 = t1 = t2 = t3 = 0.0
                for step in range(sizes[0] + sizes[1]):
                    p0, z0, t0 = _to_next_step(x, y0, step, p0, sizes, z0, t0)
                    p1, z1, t1 = _to_next_step(x, y1, step, p1, sizes, z1, t1)
                    p2, z2, t2 = _to_next_step(x, y2, step, p2, sizes, z2, t2)
                    p3, z3, t3 = _to_next_step(x, y3, step, p3, sizes, z3, t3)
                out[batch, i, j] = t0 * scale
                out[batch, i, j1] = t1 * scale
                out[batch, i, j2] = t2 * scale
                out[batch, i, j3] = t3 * scale
