"""Logarithms of factorials to the last digit."""

from decimal import Decimal, getcontext
from math import factorial

import numpy as np
import pytest

from caltest.predictions.counts.law import stirling_error

PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494")


@pytest.mark.parametrize("x", [1, 2, 5, 15, 16, 17, 20, 32, 33, 100, 1000])
def test_stirling_error_of_whole_numbers(x):
    """``log(x! / (sqrt(2 pi x) (x / e)**x))`` with 60 digits."""
    getcontext().prec = 60
    exact = Decimal(factorial(x)).ln() - (2 * PI * x).ln() / 2 - x * Decimal(x).ln() + x
    error = stirling_error(np.array([float(x)]))[0]
    # Below 16 it comes from the gamma function, which rounds.
    assert error == pytest.approx(float(exact), rel=0, abs=1e-14 if x < 16 else 1e-16)
