"""Probabilities at the ends of what is allowed."""

import numpy as np
import pytest

import caltest as ct
from caltest._validation.probabilities import (
    _are_distributions,
    _nearly_probabilities,
    mixture_weights,
    probability_matrix,
    probability_vector,
)

ROWS = np.array([[0.25, 0.75], [0.5, 0.5], [0.1, 0.9]])


def off_by(deviation):
    rows = ROWS.copy()
    rows[1, 0] += deviation
    return rows


def test_sums_are_kept_renormalised_or_refused_by_their_distance_from_1():
    for deviation in (0.9e-6, -0.9e-6):
        matrix, note = probability_matrix(off_by(deviation))
        assert np.array_equal(matrix, off_by(deviation))
        assert note == ""
    for deviation in (1.1e-6, -1e-2, 1e-2):
        matrix, note = probability_matrix(off_by(deviation))
        assert matrix[1] == pytest.approx(off_by(deviation)[1] / (1.0 + deviation), rel=1e-14)
        assert note == f"rows of the probabilities summed to 1 only within {abs(deviation):.1g}; they were renormalised"
    with pytest.raises(ValueError, match=r"got row 1 that sums to 1.011, wanted rows that sum to 1 \(within 0.01\)"):
        probability_matrix(off_by(0.011))


@pytest.mark.parametrize("row", [0, 17, 49])
@pytest.mark.parametrize("column", [0, 3, 4])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, -1e-300, 0.5, 1.5])
def test_one_bad_value_makes_a_matrix_bad(row, column, value):
    matrix = np.random.default_rng(1).dirichlet(np.ones(5), 50)
    assert _are_distributions(matrix)
    matrix[row, column] = value
    assert not _are_distributions(matrix)


def test_bad_values_that_cancel():
    for rows in ([[np.inf, -np.inf]], [[1.5, -0.5]], [[-1e-17, 1.0]], [[np.nan, np.nan], [0.5, 0.5]], [[1e308, 1e308]]):
        assert not _are_distributions(np.array(rows))
    assert _are_distributions(np.array([[0.0, 1.0], [-0.0, 1.0]]))


def test_numbers_in_single_precision_are_added_in_double_precision():
    matrix = np.full((1, 2**20), 2.0**-20 * (1.0 + 2.0**-21), dtype=np.float32)
    matrix[0, 0] = 3e-6
    assert not _are_distributions(matrix)


def test_the_row_that_is_farthest_from_1_is_named():
    rows = off_by(0.02)
    rows[2, 0] += 0.3
    with pytest.raises(ValueError, match=r"got row 2 that sums to 1.3"):
        probability_matrix(rows)


def test_binary_probabilities_may_exceed_1_by_rounding_only():
    vector, note = probability_vector([0.0, 1.0, 1.0 + 0.9e-6])
    assert vector.tolist() == [0.0, 1.0, 1.0]
    assert note == "probabilities exceeded 1 by up to 9e-07; they were taken as 1"
    for wrong in (1.0 + 1.1e-6, -1e-300):
        with pytest.raises(ValueError, match=r"at row 1, wanted probabilities between 0 and 1"):
            probability_vector([0.5, wrong])


def test_the_first_probability_beyond_rounding_is_named():
    with pytest.raises(ValueError, match=r"got 1.2 at row 2"):
        probability_vector([0.5, 1.0 + 0.5e-6, 1.2, 1.3])


def test_weights_of_a_mixture_are_given_once_or_for_each_row():
    for data in (np.array([0.25, 0.75]), np.array([[0.25, 0.75]] * 3)):
        assert mixture_weights(data, 3, 2)[0].tolist() == [[0.25, 0.75]] * 3
    with pytest.raises(ValueError, match=r"weights: got 0.9, wanted 1 for one component"):
        mixture_weights(np.array([[1.0], [0.9]]), 2, 1)


def test_columns_that_are_left_out_are_not_taken_for_predicted_numbers():
    p, y = np.full((12, 4), 0.25), np.arange(12) % 4
    with pytest.raises(ValueError, match=r"sums to 0.5, .* check that every class has its column"):
        ct.calibration_test(p[:, :2], y)
    with pytest.raises(ValueError, match=r"predicted numbers need their family: wrap them in ct.Ensemble"):
        ct.calibration_test(p[:, :2], y + 0.5)


@pytest.mark.parametrize("digits", [1, 2])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rounded_probabilities_of_several_classes_are_recognised(digits, dtype):
    p = np.random.default_rng(1).dirichlet(np.full(10, 2.0), 2000)
    rounded = np.round(p, digits).astype(dtype)
    assert np.abs(rounded.sum(axis=1) - 1.0).max() > 0.015
    said = rf"sums to \S+, .* these are rounded to {digits} digits?: pass .* or p / p.sum\(axis=1, keepdims=True\)"
    with pytest.raises(ValueError, match=said):
        ct.calibration_test(rounded, np.arange(2000) % 10)
    with pytest.raises(ValueError, match=r"check that every class has its column"):
        ct.calibration_test(rounded[:, :8], np.arange(2000) % 8)
    with pytest.raises(ValueError, match=r"check that every class has its column"):
        ct.calibration_test(p + 0.003, np.arange(2000) % 10)


def test_numbers_of_which_some_are_labels_are_numbers():
    with pytest.raises(ValueError, match=r"targets: got 2.7 at row 1, wanted .* wrap them in ct.Normal"):
        ct.calibration_test([2.5, 3.1, 4.2], [1.0, 2.7, 0.0])


def test_means_and_standard_deviations_in_an_array_are_recognised():
    y = np.arange(12) + 0.5
    for pair in (np.column_stack([y, np.ones(12)]), (y, np.ones(12))):
        with pytest.raises(ValueError, match=r"or means and standard deviations in ct.Normal\(mean, scale\)"):
            ct.calibration_test(pair, y)
    with pytest.raises(ValueError, match=r"wrap them in ct.Ensemble\(members\)"):
        ct.calibration_test(np.column_stack([y] * 5), y)


def test_missing_values_in_the_place_of_choices_that_a_row_does_not_have():
    ragged = np.array([[0.5, 0.5, np.nan], [0.2, 0.3, 0.5]])
    with pytest.raises(ValueError, match=r"got nan at row 0 \(1 in all\), where the other .* pass numpy.nan_to_num"):
        probability_matrix(ragged)
    with pytest.raises(ValueError, match=r"got nan at row 0, column 2 .* leave those rows out"):
        probability_matrix(np.array([[0.5, 0.4, np.nan], [0.2, 0.3, 0.5]]))


def test_the_most_probable_classes_alone_lack_a_column_for_the_rest():
    p = np.random.default_rng(1).dirichlet(np.ones(30), 20)
    with pytest.raises(ValueError, match=r"give the rest a column: 1 - p.sum\(axis=1\)"):
        probability_matrix(np.sort(p)[:, -5:])
    with pytest.raises(ValueError, match=r"wrap them in ct.MultiLabel$"):
        probability_matrix(np.random.default_rng(1).random((20, 5)))


@pytest.mark.parametrize(
    ("numbers", "are_meant"),
    [
        ([0.0, 1.5], True),
        ([0.0, 1.51], False),
        ([-0.01, 0.5], False),
        ([[0.45, 0.46], [0.55, 0.54]], True),
        ([[0.5, 0.5], [0.6, 0.51]], False),
        ([[0.5, 0.5], [0.4, 0.49]], False),
        ([[45.0, 46.0], [55.0, 54.0]], True),
        ([[50.0, 50.0], [60.0, 51.0]], False),
        ([[1.1, -0.1]], False),
    ],
)
def test_numbers_within_a_tenth_of_sums_of_1_or_100_are_meant_as_probabilities(numbers, are_meant):
    assert _nearly_probabilities(np.array(numbers)) == are_meant
