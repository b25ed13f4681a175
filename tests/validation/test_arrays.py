"""Arrays at the ends of what is allowed."""

import numpy as np
import pytest

from caltest._validation.arrays import finite_array, in_unit, observation_weights, positive_semidefinite


def test_eigenvalues_may_be_negative_by_rounding_only():
    singular = 1e6 * np.ones((3, 3))
    assert positive_semidefinite(singular - 1e-5 * np.eye(3), "matrix").shape == (3, 3)
    assert positive_semidefinite(np.zeros((2, 2)), "matrix").tolist() == [[0.0, 0.0], [0.0, 0.0]]
    with pytest.raises(ValueError, match=r"matrix: got the eigenvalue -0.001, wanted a positive semi-definite matrix"):
        positive_semidefinite(singular - 1e-3 * np.eye(3), "matrix")


def test_asymmetry_is_named_where_it_is_largest():
    matrix = np.eye(3)
    matrix[0, 1], matrix[1, 2] = 0.1, 0.2
    with pytest.raises(ValueError, match=r"matrix: got 0.2 at row 1, column 2 but 0 at row 2, column 1"):
        positive_semidefinite(matrix, "matrix")


def test_weights_are_shares_of_the_largest():
    assert observation_weights([0.0, 1.0, 4.0]).tolist() == [0.0, 0.25, 1.0]
    with pytest.raises(ValueError, match=r"weights: got -2 at row 2, wanted numbers of at least 0"):
        observation_weights([1.0, -1.0, -2.0])
    with pytest.raises(ValueError, match=r"weights: got only zeros"):
        observation_weights([0.0, 0.0])


def test_the_first_number_that_is_not_finite_is_named_and_all_are_counted():
    with pytest.raises(ValueError, match=r"p: got nan at row 1, column 0 \(2 in all\), wanted finite numbers"):
        finite_array(np.array([[0.0, 1.0], [np.nan, np.inf]]), "p")


def test_the_ends_belong_to_the_unit_interval():
    assert in_unit(np.array([0.0, 1.0]))
    assert not in_unit(np.array([0.5, np.nextafter(1.0, 2.0)]))
    assert not in_unit(np.array([-1e-300]))
