"""Logarithms of probabilities of counts in a form that loses no digits where the counts are large."""

from math import log, pi

import numpy as np

from caltest._types import FloatArray

HALF_LOG_2_PI = 0.5 * log(2.0 * pi)


def stirling_error(x: FloatArray) -> FloatArray:
    """``log Gamma(x + 1) - log(sqrt(2 pi x) (x / e)**x)`` for x > 0, to an absolute error of 1e-14.

    From 16 on by its asymptotic series. The logarithms of large factorials themselves are so large that their last
    digits are those of a relative error of the probabilities, which is why they are not used (Loader 2000).
    """
    from scipy.special import gammaln

    x = np.asarray(x, dtype=np.float64)
    large = np.maximum(x, 16.0)
    square = np.square(1.0 / large)
    series = 1.0 / 1260.0 - square * (1.0 / 1680.0 - square * (1.0 / 1188.0 - square * (691.0 / 360360.0)))
    errors: FloatArray = (1.0 / 12.0 - square * (1.0 / 360.0 - square * series)) / large
    few = x < 16.0
    small = x[few]
    errors[few] = gammaln(small + 1.0) - (small + 0.5) * np.log(small) + small - HALF_LOG_2_PI
    return errors
