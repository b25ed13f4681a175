import numpy as np
import pytest

from caltest.recalibration.gaussian_process.fit import (
    LARGEST_NOISE,
    LARGEST_SCALE,
    SMALLEST_LENGTHSCALE,
    Scale,
    _bounds,
    _negative_mean,
    bound_at,
    centres,
    first_process,
)
from caltest.recalibration.gaussian_process.objective import OnScale, softplus
from caltest.recalibration.gaussian_process.order import Order


def test_centres_are_a_fixed_point_of_k_means():
    inputs = np.random.default_rng(1).normal(size=(200, 5)) ** 3
    found = centres(inputs, 10)
    nearest = np.abs(inputs.ravel()[:, None] - found).argmin(axis=1)
    np.testing.assert_allclose(found, [inputs.ravel()[nearest == j].mean() for j in range(10)], rtol=1e-9)


def test_few_different_inputs_are_the_centres():
    np.testing.assert_array_equal(centres(np.array([[0.2, 0.8], [0.8, 0.2]]), 10), [0.2, 0.8])


def test_positive_parameters_have_the_largest_values_of_their_scale():
    low, high = _bounds(Scale(0.5, 10.0, 5.0), 2).T
    assert softplus(high[4:]) == pytest.approx([LARGEST_SCALE, LARGEST_SCALE, 10.0, 5.0, LARGEST_NOISE])
    assert softplus(low[6:7]) == pytest.approx(SMALLEST_LENGTHSCALE)
    assert np.isinf(low[[0, 1, 2, 3, 4, 5, 7, 8]]).all()
    assert np.isinf(high[:4]).all()


def test_what_is_minimised_is_the_mean_bound_less_the_penalty():
    rng = np.random.default_rng(3)
    scores = rng.dirichlet(np.ones(3), 40)
    data = OnScale.of(scores, rng.integers(0, 3, 40), "probability")
    process, order = first_process(data.inputs, 4, 0.5), Order.of(data, 30)
    vector = process.to_vector() + rng.normal(size=process.to_vector().size) * np.repeat([0.1, 3.0, 0.3], [4, 4, 7])
    bound, penalty = bound_at(process.from_vector(vector), data), order.penalty(vector)[0]
    assert penalty > 0.0
    assert _negative_mean(vector, data, None)[0] == pytest.approx(-bound / 40, rel=1e-9)
    for of_order in (None, order):
        value, gradient = _negative_mean(vector, data, of_order)
        assert value == pytest.approx((-bound + (0.0 if of_order is None else penalty)) / 40, rel=1e-9)
        steps = 1e-6 * np.eye(vector.size)
        ends = [[_negative_mean(vector + by * step, data, of_order)[0] for by in (-1, 1)] for step in steps]
        assert gradient == pytest.approx(np.diff(ends)[:, 0] / 2e-6, rel=1e-4, abs=1e-6)
