"""Costs of optimal transport between the weights of small mixtures."""

import numpy as np

from caltest._types import FloatArray


def transport_costs(rows: FloatArray, columns: FloatArray, costs: FloatArray) -> FloatArray:
    """Smallest ``sum_ab T_ab C_ab`` over couplings T of the weights (..., r, m) and (..., c, m'): (..., r, c).

    C has the shape (..., r, c, m, m'). A linear programme for each pair, milliseconds; an assignment problem,
    microseconds, where all weights are equal.
    """
    shape = costs.shape[:-2]
    left = np.broadcast_to(rows[..., :, None, :], (*shape, rows.shape[-1])).reshape(-1, rows.shape[-1])
    right = np.broadcast_to(columns[..., None, :, :], (*shape, columns.shape[-1])).reshape(-1, columns.shape[-1])
    flat = costs.reshape(-1, *costs.shape[-2:])
    solve = _assignment if _are_equal(rows, columns) else _programme
    return np.array([solve(*problem) for problem in zip(left, right, flat, strict=True)]).reshape(shape)


def _are_equal(rows: FloatArray, columns: FloatArray) -> bool:
    m = rows.shape[-1]
    return columns.shape[-1] == m and bool((rows == 1.0 / m).all() and (columns == 1.0 / m).all())


def _assignment(left: FloatArray, right: FloatArray, costs: FloatArray) -> float:
    from scipy.optimize import linear_sum_assignment

    return float(costs[linear_sum_assignment(costs)].mean())


def _programme(left: FloatArray, right: FloatArray, costs: FloatArray) -> float:
    from scipy.optimize import linprog

    m, k = costs.shape
    # The last constraint follows from the others, and rounding would make it contradict them.
    sums = np.concatenate([np.kron(np.eye(m), np.ones(k)), np.kron(np.ones(m), np.eye(k))])[:-1]
    weights = np.concatenate([left / left.sum(), right / right.sum()])[:-1]
    coupling = linprog(costs.ravel(), A_eq=sums, b_eq=weights, bounds=(0.0, None), method="highs-ds")
    if not coupling.success:
        raise RuntimeError(f"the transport problem of two mixtures was not solved: {coupling.message}")
    return float(max(0.0, coupling.x @ costs.ravel()))
