"""Sums of cosine and sine waves over points, the coordinates in which a kernel of a difference is a scalar product."""

import numpy as np

from caltest._basics.jit import jit
from caltest._basics.numerics import FloatArray


@jit
def wave_sums(cosines: FloatArray, sines: FloatArray, weights: FloatArray, fades: FloatArray, out: FloatArray) -> None:
    """Write ``sum_a w_ai cos(f x_ai)`` and ``sum_a w_ai sin(f x_ai)``, f = 0, 1, ..., to the halves of ``out`` (2F, r).

    Given are the cosines and sines of the phases x (m, r) and weights (m, r); those of multiples of the phases come
    from turning them on. From the frequency 1 / fade to twice that, weights go down to 0.
    """
    size = out.shape[0] // 2
    real, imaginary = np.empty(out.shape[1]), np.empty(out.shape[1])
    out[:] = 0.0
    for a in range(cosines.shape[0]):
        cosine, sine, fade = cosines[a], sines[a], fades[a]
        real[:] = weights[a]
        imaginary[:] = 0.0
        for f in range(size):
            one, two = out[f], out[size + f]
            for i in range(real.shape[0]):
                share = min(1.0, max(0.0, 2.0 - f * fade[i]))
                one[i] += share * real[i]
                two[i] += share * imaginary[i]
                turned = real[i] * cosine[i] - imaginary[i] * sine[i]
                imaginary[i] = imaginary[i] * cosine[i] + real[i] * sine[i]
                real[i] = turned


@jit
def values_of_waves(cosines: FloatArray, sines: FloatArray, coefficients: FloatArray, out: FloatArray) -> None:
    """Write ``sum_jf p_fj cos(f x_bj) + q_fj sin(f x_bj)`` to ``out`` (B,), given p and q one below the other, (2F, c).

    The cosines and sines are those of the phases x (B, c).
    """
    size, n = coefficients.shape[0] // 2, cosines.shape[1]
    real, imaginary, values = np.empty(n), np.empty(n), np.empty(n)
    for b in range(out.shape[0]):
        cosine, sine = cosines[b], sines[b]
        real[:] = 1.0
        imaginary[:] = 0.0
        values[:] = 0.0
        for f in range(size):
            p, q = coefficients[f], coefficients[size + f]
            for j in range(n):
                values[j] += p[j] * real[j] + q[j] * imaginary[j]
                turned = real[j] * cosine[j] - imaginary[j] * sine[j]
                imaginary[j] = imaginary[j] * cosine[j] + real[j] * sine[j]
                real[j] = turned
        out[b] = values.sum()
