"""Couplings of smallest cost beside linear programming."""

import numpy as np
import pytest
from scipy.optimize import linprog

from caltest._loops.transport import transport_costs


def by_linear_programming(rows, columns, costs):
    m, k = costs.shape
    sums = np.vstack([np.kron(np.eye(m), np.ones(k)), np.kron(np.ones(m), np.eye(k))])
    return linprog(costs.ravel(), A_eq=sums, b_eq=np.concatenate([rows, columns])).fun


def transport_cost(rows, columns, costs):
    """Of one pair, by the loop over pairs: it is compiled for the metric, too, one pair for nothing else."""
    return transport_costs(rows[None], columns[None], costs[None, None]).item()


def test_costs_of_random_distributions():
    rng = np.random.default_rng(1)
    for _ in range(20):
        rows, columns, costs = rng.dirichlet(np.ones(5)), rng.dirichlet(np.ones(6)), rng.random((5, 6))
        assert transport_cost(rows, columns, costs) == pytest.approx(by_linear_programming(rows, columns, costs))


def test_sources_that_are_used_up_are_sent_elsewhere():
    """Much of an early coupling is taken back where costs of a column are nearly the same for all rows."""
    rng = np.random.default_rng(2)
    for _ in range(10):
        rows, columns = rng.dirichlet(np.ones(7)), rng.dirichlet(np.ones(7))
        costs = np.abs(rng.normal(size=7)[:, None] - rng.normal(size=7)) ** 3
        assert transport_cost(rows, columns, costs) == pytest.approx(by_linear_programming(rows, columns, costs))


@pytest.mark.parametrize("batches", [((2,), (2,)), ((2,), ()), ((), (2,))])
def test_costs_of_stacks_are_those_of_each_pair(batches):
    """Distributions of rows and columns that have no batch of their own belong to all."""
    rng = np.random.default_rng(3)
    rows, columns = (rng.dirichlet(np.ones(k), (*batch, k - 2)) for batch, k in zip(batches, (4, 5), strict=True))
    costs = rng.random((2, 2, 3, 4, 5))
    left, right = (np.broadcast_to(one, (2, *one.shape[-2:])) for one in (rows, columns))
    found = transport_costs(rows, columns, costs)
    for b, i, j in np.ndindex(2, 2, 3):
        assert found[b, i, j] == transport_cost(left[b, i], right[b, j], costs[b, i, j])
