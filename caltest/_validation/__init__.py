"""Checks of user data at the boundary: every error says what was got, what was wanted and how to fix it."""

from caltest._validation.arrays import (
    finite_array as finite_array,
    increasing_numbers as increasing_numbers,
    observation_weights as observation_weights,
    positive_semidefinite as positive_semidefinite,
    real_array as real_array,
    real_targets as real_targets,
    refuse_negative as refuse_negative,
    refuse_rows as refuse_rows,
    same_length as same_length,
)
from caltest._validation.labels import (
    LARGEST_COUNT as LARGEST_COUNT,
    class_in_words as class_in_words,
    class_labels as class_labels,
    class_names as class_names,
    class_order as class_order,
    whole_counts as whole_counts,
)
from caltest._validation.probabilities import (
    RENORMALISED_TOLERANCE as RENORMALISED_TOLERANCE,
    SUM_TOLERANCE as SUM_TOLERANCE,
    label_probabilities as label_probabilities,
    mixture_weights as mixture_weights,
    not_a_pair as not_a_pair,
    not_numbers as not_numbers,
    not_swapped as not_swapped,
    probability_matrix as probability_matrix,
    probability_vector as probability_vector,
)
from caltest._validation.settings import (
    CalledWithData as CalledWithData,
    Settings as Settings,
    at_least as at_least,
    choice as choice,
    fraction as fraction,
    in_short as in_short,
    increasing_levels as increasing_levels,
    instance_of as instance_of,
    levels as levels,
    number_of_observations as number_of_observations,
    one_of as one_of,
    optional as optional,
    positive_number as positive_number,
    positive_numbers as positive_numbers,
    real_number as real_number,
    switch as switch,
    whole as whole,
    whole_number as whole_number,
)
