from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from caltest._loops.formulas.normal_tails import exponential, exponential_mean


def by_quadrature(x, s, a, b):
    def term(d):
        return (1.0 + a * abs(d) + b * d * d) * np.exp(-abs(d)) * norm.pdf(d, x, s)

    ends = [max(x - 40.0 * s, -800.0), *sorted({0.0, x - 5.0 * s, x, x + 5.0 * s}), min(x + 40.0 * s, 800.0)]
    ends = [end for end in ends if ends[0] <= end <= ends[-1]]
    return sum(quad(term, low, high, epsabs=0.0, epsrel=1e-12)[0] for low, high in pairwise(ends))


@pytest.mark.every(9)
@pytest.mark.parametrize(("a", "b"), [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0 / 3.0)])
@pytest.mark.parametrize("s", [0.1, 0.8, 3.0, 20.0])
@pytest.mark.parametrize("x", [0.0, 0.3, 2.0, 30.0])
def test_against_quadrature(x, s, a, b):
    assert exponential_mean(x, s * s, a, b) == pytest.approx(by_quadrature(x, s, a, b), rel=1e-9)


def test_constants_have_no_variance():
    x = np.array([0.0, 0.5, 4.0])
    means, nothing = np.stack([x, np.zeros(3)]), np.zeros((2, 3))
    found = exponential((means[:1], nothing[:1]), (means[1:, :1], nothing[1:, :1]), 1.0, 0.5)
    np.testing.assert_allclose(found[0, :, 0], (1.0 + x + 0.5 * x * x) * np.exp(-x), rtol=1e-14)


def test_means_and_variances_count_by_their_difference_and_sum():
    found = exponential((np.array([1.0]), np.array([0.3])), (np.array([3.0]), np.array([0.2])), 1.0, 0.0)
    assert found[0, 0] == pytest.approx(exponential_mean(2.0, 0.5, 1.0, 0.0), rel=1e-14)
