"""Chebyshev moments of laws of counts, which expectations of smooth functions of squared residuals follow from."""

from math import frexp

from caltest._basics.jit import jit
from caltest._basics.numerics import FloatArray


@jit
def chebyshev_moments(
    probabilities: FloatArray, means: FloatArray, precisions: FloatArray, first: int, never: float, out: FloatArray
) -> None:
    """Add ``p(u) T_k(x)`` of the squared residuals r of the counts u from first on to ``out`` (n, panels, K).

    r is at most 1/4 in the first panel, and from ``2**(i - 3)`` to twice that in panel i; x runs from -1 to 1. Counts
    of probabilities of at most ``never`` are left out.
    """
    for i in range(out.shape[0]):
        for u in range(probabilities.shape[1]):
            p = probabilities[i, u]
            if p > never:
                r = (first + u - means[i]) ** 2 * precisions[i]
                panel = min(max(frexp(4.0 * r)[1], 0), out.shape[1] - 1)
                x = 4.0 * r * 2.0 ** (2 - panel) - 3.0 if panel > 0 else 8.0 * r - 1.0
                before, value = x, 1.0
                for k in range(out.shape[2]):
                    out[i, panel, k] += p * value
                    before, value = value, 2.0 * x * value - before
