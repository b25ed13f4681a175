"""Logistic regressions on a few columns for many outcomes, by Newton's method.

Columns come as a design (n, q), outcomes 0 or 1 as (B, n), one row a redraw.
"""

import numpy as np

from caltest._basics.jit import jit
from caltest._basics.numerics import Array, FloatArray, IntArray
from caltest._loops.stacks import assign

MOST_STEPS = 100
"""Newton steps; separated outcomes, for which the likelihood has no maximum, take about 30."""

SMALLEST_GAIN = 1e-11
"""A step that is expected to add less than this to the log-likelihood is the last one."""

ROUNDING = 2.3e-16
"""By how much of itself rounding may change the log-likelihood, for each outcome: so little is no loss."""

SINGULAR = 1e-14
"""Pivots of this size, relative to the diagonal, count as 0."""


@jit
def _add_up(
    design: FloatArray, outcomes: Array, coefficients: FloatArray, m: int, gradient: FloatArray, hessian: FloatArray
) -> float:
    """The log-likelihood of the first m columns; its gradient, and minus its second derivatives, are overwritten."""
    gradient[:m] = 0.0
    hessian[:m, :m] = 0.0
    total, factor = 0.0, 1.0
    for i in range(design.shape[0]):
        eta = 0.0
        for j in range(m):
            eta += coefficients[j] * design[i, j]
        small = np.exp(-abs(eta))
        # A logarithm of some hundred factors, each of at most 2, instead of one of each.
        factor *= 1.0 + small
        if factor > 1e150:
            total -= np.log(factor)
            factor = 1.0
        likelier = 1.0 / (1.0 + small)
        rarer = small * likelier
        residual = rarer
        if (outcomes[i] == 1) != (eta >= 0.0):
            total -= abs(eta)
            residual = likelier
        if outcomes[i] == 0:
            residual = -residual
        weight = rarer * likelier
        for j in range(m):
            gradient[j] += residual * design[i, j]
            product = weight * design[i, j]
            for other in range(j + 1):
                hessian[j, other] += product * design[i, other]
    return float(total - np.log(factor))


@jit
def _solve(matrix: FloatArray, vector: FloatArray, m: int) -> bool:
    """Overwrite the vector by the solution for the lower half of a positive definite matrix; False if it is none."""
    for j in range(m):
        diagonal = matrix[j, j]
        for other in range(j):
            matrix[j, j] -= matrix[j, other] ** 2
        if not matrix[j, j] > SINGULAR * diagonal:
            return False
        matrix[j, j] = np.sqrt(matrix[j, j])
        for i in range(j + 1, m):
            for other in range(j):
                matrix[i, j] -= matrix[i, other] * matrix[j, other]
            matrix[i, j] /= matrix[j, j]
    for j in range(m):
        for other in range(j):
            vector[j] -= matrix[j, other] * vector[other]
        vector[j] /= matrix[j, j]
    for j in range(m - 1, -1, -1):
        for other in range(j + 1, m):
            vector[j] -= matrix[other, j] * vector[other]
        vector[j] /= matrix[j, j]
    return True


@jit
def maximise(design: FloatArray, outcomes: Array, coefficients: FloatArray, m: int) -> tuple[float, float]:
    """The log-likelihood of the first m columns at the coefficients (q,) and at its maximum, where they are then.

    The coefficients of separated outcomes grow until the log-likelihood is within about 1e-11 of its supremum.
    """
    gradient, hessian, step = np.zeros(m), np.zeros((m, m)), np.zeros(m)
    start = value = _add_up(design, outcomes, coefficients, m, gradient, hessian)
    rounding = ROUNDING * design.shape[0]
    for _ in range(MOST_STEPS):
        assign(gradient, step)
        if not _solve(hessian, step, m):
            break
        gain = np.dot(gradient, step)
        new = value - 1.0
        for _ in range(60):
            for j in range(m):
                coefficients[j] += step[j]
            new = _add_up(design, outcomes, coefficients, m, gradient, hessian)
            if new >= value - SMALLEST_GAIN - rounding * abs(value):
                break
            # The step was too long.
            for j in range(m):
                coefficients[j] -= step[j]
                step[j] *= 0.25
        value = max(value, new)
        if not gain > SMALLEST_GAIN:
            break
    return start, value


@jit
def selected_ratios(
    design: FloatArray, outcomes: Array, start: FloatArray, n_first: int, threshold: float
) -> tuple[FloatArray, IntArray]:
    """Likelihood ratios ``2 (maximum - value at the start)`` of the columns that are selected forward, and how many.

    The first columns are always taken; another one is added as long as it adds at least the threshold to the ratio.
    """
    coefficients, n_redraws = np.zeros(start.shape[0]), outcomes.shape[0]
    ratios, n_columns = np.empty(n_redraws), np.empty(n_redraws, dtype=np.int64)
    for b in range(n_redraws):
        assign(start, coefficients)
        m = n_first
        first, value = maximise(design, outcomes[b], coefficients, m)
        while m < design.shape[1]:
            _, larger = maximise(design, outcomes[b], coefficients, m + 1)
            if not 2.0 * (larger - value) >= threshold:
                break
            m, value = m + 1, larger
        ratios[b], n_columns[b] = 2.0 * (value - first), m
    return ratios, n_columns
