"""Sums of cosine and sine waves over points, the coordinates in which a kernel of a difference is a scalar product."""

from caltest._basics.jit import jit
from caltest._basics.numerics import FloatArray


@jit
def wave_sums(
    cosines: FloatArray, sines: FloatArray, weights: FloatArray, fades: FloatArray, state: FloatArray, out: FloatArray
) -> None:
    """Add ``sum_a w_ai cos(f x_ai)`` and ``sum_a w_ai sin(f x_ai)``, f = 0, 1, ..., to the halves of ``out`` (2F, r).

    Given are the cosines and sines of the phases x (m, r) and weights (m, r); those of multiples of the phases come
    from turning them on, in ``state`` (2, r). From the frequency 1 / fade to twice that, weights go down to 0.
    """
    size, n = out.shape[0] // 2, out.shape[1]
    for a in range(cosines.shape[0]):
        for i in range(n):
            state[0, i] = weights[a, i]
            state[1, i] = 0.0
        for f in range(size):
            for i in range(n):
                share = 2.0 - f * fades[a, i]
                share = 0.0 if share < 0.0 else share
                share = 1.0 if share > 1.0 else share
                real, imaginary = state[0, i], state[1, i]
                out[f, i] += share * real
                out[size + f, i] += share * imaginary
                state[0, i] = real * cosines[a, i] - imaginary * sines[a, i]
                state[1, i] = imaginary * cosines[a, i] + real * sines[a, i]


@jit
def values_of_waves(
    cosines: FloatArray, sines: FloatArray, coefficients: FloatArray, state: FloatArray, out: FloatArray
) -> None:
    """Write ``sum_jf p_fj cos(f x_bj) + q_fj sin(f x_bj)`` to ``out`` (B,), given p and q one below the other, (2F, c).

    The cosines and sines are those of the phases x (B, c); ``state`` is (3, c).
    """
    size, n = coefficients.shape[0] // 2, cosines.shape[1]
    for b in range(out.shape[0]):
        for j in range(n):
            state[0, j] = 1.0
            state[1, j] = state[2, j] = 0.0
        for f in range(size):
            for j in range(n):
                real, imaginary = state[0, j], state[1, j]
                state[2, j] += coefficients[f, j] * real + coefficients[size + f, j] * imaginary
                state[0, j] = real * cosines[b, j] - imaginary * sines[b, j]
                state[1, j] = imaginary * cosines[b, j] + real * sines[b, j]
        out[b] = 0.0
        for j in range(n):
            out[b] += state[2, j]
