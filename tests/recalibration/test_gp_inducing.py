import numpy as np

from caltest.recalibration.gaussian_process.fit import centres


def test_centres_are_a_fixed_point_of_k_means():
    inputs = np.random.default_rng(1).normal(size=(200, 5)) ** 3
    found = centres(inputs, 10)
    nearest = np.abs(inputs.ravel()[:, None] - found).argmin(axis=1)
    np.testing.assert_allclose(found, [inputs.ravel()[nearest == j].mean() for j in range(10)], rtol=1e-9)


def test_few_different_inputs_are_the_centres():
    np.testing.assert_array_equal(centres(np.array([[0.2, 0.8], [0.8, 0.2]]), 10), [0.2, 0.8])
