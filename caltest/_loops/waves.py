"""Sums of cosine and sine waves over points, the coordinates in which a Gaussian kernel is a scalar product."""

import numpy as np

from caltest._jit import jit
from caltest._types import FloatArray


@jit
def wave_sums(cosines: FloatArray, sines: FloatArray, weights: FloatArray, out: FloatArray) -> None:
    """Write ``sum_a w_a cos(f x_ai)`` and ``sum_a w_a sin(f x_ai)``, f = 0, 1, ..., to the halves of ``out`` (2F, r).

    Given are the cosines and sines of the phases x (m, r); those of their multiples come from turning them on.
    """
    size = out.shape[0] // 2
    real, imaginary = np.empty(out.shape[1]), np.empty(out.shape[1])
    out[:] = 0.0
    for a in range(cosines.shape[0]):
        cosine, sine = cosines[a], sines[a]
        real[:] = weights[a]
        imaginary[:] = 0.0
        for f in range(size):
            one, two = out[f], out[size + f]
            for i in range(real.shape[0]):
                one[i] += real[i]
                two[i] += imaginary[i]
                turned = real[i] * cosine[i] - imaginary[i] * sine[i]
                imaginary[i] = imaginary[i] * cosine[i] + real[i] * sine[i]
                real[i] = turned
