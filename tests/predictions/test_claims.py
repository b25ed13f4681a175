import numpy as np

import caltest as ct


def test_errors_without_a_square_have_no_root_mean_square():
    """Squares of 1e-170 are 0, which is no error of these forecasts."""
    rng = np.random.default_rng(1)
    z, unit = rng.normal(size=(2, 50)), np.ones(50)
    names = [
        {one.name for one in ct.Normal(size * z[0], size * unit).claims(size * z[1])[1]} for size in (1e-140, 1e-170)
    ]
    assert names[0] - names[1] == {"root mean squared error", "predicted standard deviation"}
