"""Checks of user data at the boundary: every error says what was got, what was wanted and how to fix it."""

from caltest._validation.arrays import (
    finite_array,
    observation_weights,
    positive_semidefinite,
    real_array,
    same_length,
    vector_targets,
)
from caltest._validation.labels import LARGEST_COUNT, class_labels, class_names, class_order, whole_counts
from caltest._validation.probabilities import (
    RENORMALISED_TOLERANCE,
    SUM_TOLERANCE,
    mixture_weights,
    not_numbers,
    not_swapped,
    probability_matrix,
    probability_vector,
)
from caltest._validation.settings import (
    at_least,
    fraction,
    levels,
    number_of_observations,
    one_of,
    positive_number,
    positive_numbers,
    real_number,
    switch,
    whole_number,
)

__all__ = [
    "LARGEST_COUNT",
    "RENORMALISED_TOLERANCE",
    "SUM_TOLERANCE",
    "at_least",
    "class_labels",
    "class_names",
    "class_order",
    "finite_array",
    "fraction",
    "levels",
    "mixture_weights",
    "not_numbers",
    "not_swapped",
    "number_of_observations",
    "observation_weights",
    "one_of",
    "positive_number",
    "positive_numbers",
    "positive_semidefinite",
    "probability_matrix",
    "probability_vector",
    "real_array",
    "real_number",
    "same_length",
    "switch",
    "vector_targets",
    "whole_counts",
    "whole_number",
]
