"""Chebyshev moments of laws of counts, which expectations of smooth functions of squared residuals follow from."""

from caltest._basics.jit import jit
from caltest._basics.numerics import FloatArray


@jit
def chebyshev_moments(
    probabilities: FloatArray,
    means: FloatArray,
    precisions: FloatArray,
    first: int,
    never: float,
    ends: FloatArray,
    out: FloatArray,
) -> None:
    """Add ``p(u) T_k(x)`` of the squared residuals r of the counts u from first on to ``out`` (n, panels, 4 J).

    The first panel is for r from 0 to its end, each other one from the end of the one before to twice that; x runs from
    -1 to 1. Counts of probabilities of at most ``never`` are left out.
    """
    for i in range(out.shape[0]):
        panel = 0
        for u in range(probabilities.shape[1]):
            p = probabilities[i, u]
            if p > never:
                r = (first + u - means[i]) ** 2 * precisions[i]
                while panel + 1 < ends.shape[0] and r > ends[panel]:
                    panel += 1
                while panel > 0 and r <= ends[panel - 1]:
                    panel -= 1
                x = 4.0 * r / ends[panel] - 3.0 if panel > 0 else 2.0 * r / ends[0] - 1.0
                # Four at a time, T_{k + 4} = 2 T_4 T_k - T_{k - 4}, which do not wait for each other.
                one, two = x, 2.0 * x * x - 1.0
                three, four = 2.0 * x * two - x, 2.0 * two * two - 1.0
                a, b, c, d = p, p * one, p * two, p * three
                e, f, g, h = p * four, d, c, b
                for k in range(0, out.shape[2], 4):
                    out[i, panel, k] += a
                    out[i, panel, k + 1] += b
                    out[i, panel, k + 2] += c
                    out[i, panel, k + 3] += d
                    a, e = 2.0 * four * a - e, a
                    b, f = 2.0 * four * b - f, b
                    c, g = 2.0 * four * c - g, c
                    d, h = 2.0 * four * d - h, d
