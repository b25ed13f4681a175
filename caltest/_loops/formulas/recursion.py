"""Probabilities of counts between counts at which they are known, by the recursion of Panjer (1981)."""

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
