"""Couplings of smallest cost beside linear programming."""

import numpy as np
import pytest
from scipy.optimize import linprog

from caltest._loops.transport import squared_gaps, transport_costs


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


def ended(members):
    return np.concatenate([np.sort(members, axis=-1), np.full((*members.shape[:-1], 1), np.inf)], axis=-1)


def by_evaluation(x, y):
    """Both distribution functions between all their steps."""
    places = np.unique(np.concatenate([x, y]))
    gaps = [np.mean(x <= place) - np.mean(y <= place) for place in places[:-1]]
    return np.sum(np.square(gaps) * np.diff(places))


@pytest.mark.every(9)
@pytest.mark.parametrize(("m", "k"), [(1, 1), (1, 4), (5, 5), (6, 4), (7, 3)])
@pytest.mark.parametrize("n_columns", [1, 2, 3, 4, 5, 9])
@pytest.mark.parametrize("ties", [False, True])
def test_against_values_of_the_functions(m, k, n_columns, ties):
    rng = np.random.default_rng(m + k)
    rows, columns = rng.normal(size=(2, 3, m)), rng.normal(size=(2, n_columns, k))
    if ties:
        rows, columns = np.round(rows), np.round(columns)
    out = np.empty((2, 3, n_columns))
    squared_gaps(ended(rows), ended(columns), out)
    expected = [[[by_evaluation(x, y) for y in columns[b]] for x in rows[b]] for b in range(2)]
    assert out == pytest.approx(np.array(expected), rel=1e-13, abs=1e-15)


def test_equal_functions_have_exactly_zero():
    members = np.random.default_rng(1).normal(size=(1, 5, 7))
    out = np.empty((1, 5, 5))
    squared_gaps(ended(members), ended(members[..., ::-1]), out)
    assert (np.diagonal(out[0]) == 0.0).all()
    twice = np.empty((1, 5, 5))
    squared_gaps(ended(members), ended(np.repeat(members, 2, axis=-1)), twice)
    assert (np.diagonal(twice[0]) == 0.0).all()
    assert twice == pytest.approx(out, rel=1e-13)
