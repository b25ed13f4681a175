"""The exponential function and the logarithm in a form that compilers vectorise, which calls of a library prevent."""

import numpy as np

from caltest._basics.jit import jit

LOG2_E = 1.4426950408889634
LN2_HIGH = 6.93147180369123816490e-01
LN2_LOW = 1.90821492927058770002e-10
"""The natural logarithm of 2 in two parts, the first with trailing zeros so that its multiples are exact."""

LOWEST = -708.0
"""What is below it has the exponential function of this, so that no result is denormal."""

BITS_OF_ROOT_HALF = 0x3FE6A09E667F3BCD


@jit
def exp_of_negative(x: float) -> float:
    """``exp(x)`` for x <= 0 to a relative error of 4e-16; below -708, where it is less than 1e-307, that of -708.

    It is as exact for positive numbers up to 709.

    With n the integer next to x / log(2) it is 2**n exp(r), |r| <= log(2) / 2: a Taylor polynomial of degree 13, and
    n written into the exponent of a floating point number.
    """
    x = LOWEST if x < LOWEST else x
    n = np.rint(x * LOG2_E)
    r = (x - n * LN2_HIGH) - n * LN2_LOW
    p = 1.0 / 479001600.0 + r * (1.0 / 6227020800.0)
    p = 1.0 / 3628800.0 + r * (1.0 / 39916800.0 + r * p)
    p = 1.0 / 40320.0 + r * (1.0 / 362880.0 + r * p)
    p = 1.0 / 720.0 + r * (1.0 / 5040.0 + r * p)
    p = 1.0 / 24.0 + r * (1.0 / 120.0 + r * p)
    p = 1.0 / 2.0 + r * (1.0 / 6.0 + r * p)
    p = 1.0 + r * (1.0 + r * p)
    power: float = np.int64((np.int64(n) + 1023) << 52).view(np.float64)
    result: float = p * power
    return result


@jit
def logarithm(x: float) -> float:
    """``log(x)`` for finite x > 0, to a relative error of 4e-16; at 0 that of the smallest power of 2.

    With x = 2**n y and y between the root of 1/2 and that of 2 it is n log(2) + 2 artanh(s), s = (y - 1) / (y + 1),
    |s| < 0.172, by the first twelve terms of the series.
    """
    bits = np.float64(x).view(np.int64)
    n = (bits - BITS_OF_ROOT_HALF) >> 52
    y = np.int64(bits - (n << 52)).view(np.float64)
    s = (y - 1.0) / (y + 1.0)
    t = s * s
    p = 2.0 / 21.0 + t * (2.0 / 23.0)
    p = 2.0 / 17.0 + t * (2.0 / 19.0 + t * p)
    p = 2.0 / 13.0 + t * (2.0 / 15.0 + t * p)
    p = 2.0 / 9.0 + t * (2.0 / 11.0 + t * p)
    p = 2.0 / 5.0 + t * (2.0 / 7.0 + t * p)
    p = t * (2.0 / 3.0 + t * p)
    result: float = n * LN2_HIGH + (s * (2.0 + p) + n * LN2_LOW)
    return result
