"""Bounds of the p-values of the unbiased estimate."""

from math import exp

import pytest

from caltest.estimators.kernel_errors.skce import hoeffding_bound

VALUES = [(0.1, 2.0, 500, exp(-0.625)), (0.2, 2.0, 500, exp(-2.5)), (0.1, 1.0, 500, exp(-2.5))]


@pytest.mark.parametrize(("estimate", "bound", "n_pairs", "expected"), VALUES)
def test_inequality_of_hoeffding(estimate, bound, n_pairs, expected):
    """Hoeffding 1963, theorem 2, for a mean of n variables in [-b, b]: ``exp(-2 n t**2 / (2 b)**2)``."""
    assert hoeffding_bound(estimate, bound, n_pairs) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("estimate", [0.0, -0.1])
def test_estimates_that_are_not_positive_say_nothing(estimate):
    assert hoeffding_bound(estimate, 1.0, 10) == 1.0
