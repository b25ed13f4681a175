import numpy as np
import pytest

from caltest._loops.steps import squared_gaps


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
