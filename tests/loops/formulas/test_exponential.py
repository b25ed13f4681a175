import numpy as np
import pytest

from caltest._loops.formulas.exponential import exp_of_negative, logarithm

LOWEST = -708.0


def exact(x):
    """In the precision of long double, which has eleven more bits."""
    return np.exp(np.asarray(x, dtype=np.longdouble))


def test_relative_error_is_at_most_two_units_in_the_last_place():
    rng = np.random.default_rng(1)
    middles = -(np.arange(1020) + 0.5) * np.log(2.0)
    arguments = np.concatenate(
        [
            [0.0, -0.0, -5e-324, -1e-300, -1e-17, LOWEST, np.nextafter(LOWEST, 0.0)],
            -np.logspace(-20, 2.8, 3000),
            rng.uniform(LOWEST, 0.0, 3000),
            middles,
            np.nextafter(middles, 0.0),
        ]
    )
    arguments = arguments[arguments >= LOWEST]
    values = np.array([exp_of_negative(x) for x in arguments])
    errors = np.abs(values / exact(arguments) - 1)
    assert errors.max() < 4e-16, arguments[errors.argmax()]
    assert exp_of_negative(0.0) == exp_of_negative(-0.0) == 1.0


@pytest.mark.parametrize("x", [-709.0, -745.2, -1e300, -np.inf])
def test_below_the_lowest_argument_the_value_stays(x):
    assert exp_of_negative(x) == exp_of_negative(LOWEST) > 0.0


def test_no_number_stays_none():
    assert np.isnan(exp_of_negative(np.nan))


def test_exponential_of_positive_numbers():
    arguments = np.concatenate([np.logspace(-20, 2.85, 500), np.linspace(0.0, 709.0, 1001)])
    values = np.array([exp_of_negative(x) for x in arguments])
    assert np.abs(values / exact(arguments) - 1).max() < 4e-16


def test_logarithm_is_exact_to_two_units_in_the_last_place():
    x = np.concatenate([1 + np.logspace(-15, 0, 500), np.logspace(0, 300, 3001), 2.0 ** np.arange(100), [np.sqrt(2.0)]])
    x = np.concatenate([x, 1 - np.logspace(-15, -1, 500), np.logspace(-300, 0, 3001)])
    exact_values = np.log(x.astype(np.longdouble))
    values = np.array([logarithm(one) for one in x])
    other = exact_values != 0.0
    assert np.abs(values[other] / exact_values[other] - 1).max() < 5e-16
    assert logarithm(1.0) == 0.0
    assert logarithm(0.0) < -708.0
