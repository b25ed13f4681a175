"""Laws of counts: probabilities between known ones, by the recursion of Panjer (1981), and Chebyshev moments.

Expectations of smooth functions of squared residuals follow from these moments.
"""

from caltest._basics.jit import jit
from caltest._basics.numerics import FloatArray

STEP = 32
"""Counts from one known probability to the next; the recursion adds up the rounding of half as many steps or more."""

TINY = 1e-150
"""Smaller probabilities are 0: processors are slow with products of them, and no sum sees them."""


@jit
def probabilities_between(
    known: FloatArray, slopes: FloatArray, constants: FloatArray, start: int, first: int, out: FloatArray
) -> None:
    """``p(u + 1) = p(u) (constant + slope u) / (u + 1)``, from the larger of two known probabilities to the smaller.

    ``known[i, s]`` is the probability of ``start + s STEP``; ``out`` (n, U) has a column for each count from first on.
    """
    last = first + out.shape[1] - 1
    for i in range(out.shape[0]):
        line, slope, constant = out[i], slopes[i], constants[i]
        for s in range(known.shape[1] - 1):
            low, one, two = start + s * STEP, known[i, s], known[i, s + 1]
            if two > one:
                p = two
                for u in range(low + STEP - 1, low - 1, -1):
                    p *= (u + 1.0) / (constant + slope * u)
                    if p < TINY:
                        p = 0.0
                    if first <= u <= last:
                        line[u - first] = p
            else:
                p = one
                for u in range(low, low + STEP):
                    if p < TINY:
                        p = 0.0
                    if first <= u <= last:
                        line[u - first] = p
                    p *= (constant + slope * u) / (u + 1.0)


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
