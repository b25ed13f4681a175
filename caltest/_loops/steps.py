"""Distances of distribution functions that are step functions, by merging their sorted steps."""

from caltest._basics.jit import jit
from caltest._basics.numerics import FloatArray


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
