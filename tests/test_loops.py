import numpy as np
import pytest

from caltest._loops.gaussian import exp_of_negative


def test_exponential_of_negative_numbers():
    """To a few units in the last place of 1, over the whole range and at its ends."""
    for x in [0.0, -0.0, *-np.logspace(-300, 2.8, 4000), -708.0, -709.0, -1e300, -np.inf]:
        assert exp_of_negative(x) == pytest.approx(np.exp(x), abs=1e-15)
