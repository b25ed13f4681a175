"""Kernels of real targets as the compiled loops of quadrature take them."""

from math import expm1, sqrt
from typing import NamedTuple

import numpy as np

from caltest._loops.radial import EXPONENTIAL, POWER, RATIONAL
from caltest._loops.trees import Kernel, Rule
from caltest.kernels import ExponentialKernel, GaussianKernel, MaternKernel, RationalQuadraticKernel, TargetKernel

ROUNDING = 39.2
"""Kernels are taken as 0 where they are below exp(-39.2) = 1e-17."""

FARTHEST = 2.0**256
"""They are so at this distance in bandwidths in any case."""


def gauss_rule(n: int) -> Rule:
    """Nodes and weights on [0, 1]."""
    points, weights = np.polynomial.legendre.leggauss(n)
    return (1.0 + points) / 2.0, weights / 2.0


def double_exponential_rule(step: float, last: float) -> Rule:
    """Nodes that cluster at both ends of [0, 1], for functions that are singular there (Takahasi and Mori 1974)."""
    t = step * np.arange(-int(last / step), int(last / step) + 1)
    points = 1.0 / (1.0 + np.exp(-np.pi * np.sinh(t)))
    return points, step * np.pi * np.cosh(t) * points * (1.0 - points)


GAUSSIAN_RULE = gauss_rule(24)
"""For Gaussian kernels, from their centre to where they are 0."""

EXPONENTIAL_RULE = gauss_rule(28)
"""For polynomials times exponential kernels, likewise."""

RATIONAL_RULE = gauss_rule(20)
"""For rational quadratic kernels, from their centre to the distance at which their poles are."""

POWER_RULE = double_exponential_rule(1.0 / 10.0, 3.3)
"""For kernels that are not analytic at their centre, from there to their bandwidth."""


class Radial(NamedTuple):
    """A kernel of targets: the function of a distance, and the rule that integrates it from its centre on.

    ``smoothness`` is the scale on which the kernel varies, 0 if it has a kink at its centre, where it is like
    ``1 - x**roughness`` then.
    """

    kernel: Kernel
    rule: Rule
    smoothness: float = 0.0
    roughness: float = 1.0


def radial(kernel: TargetKernel) -> Radial | None:
    """What compiled loops need to know of a kernel, or None if they do not know it."""
    if isinstance(kernel, GaussianKernel):
        return _gaussian(kernel.width, 0.5)
    if isinstance(kernel, MaternKernel):
        square = 0.0 if kernel.order == 1.5 else 1.0 / 3.0
        return _exponential(kernel.width / sqrt(2.0 * kernel.order), 1.0, square, 47.0)
    if isinstance(kernel, RationalQuadraticKernel):
        pole = sqrt(2.0 * kernel.shape)
        cut = pole * sqrt(expm1(min(ROUNDING / kernel.shape, 500.0)))
        values = RATIONAL, kernel.shape, 0.0, 0.0, 0.0
        return Radial(_kernel(values, kernel.width, cut, pole), RATIONAL_RULE, kernel.width * min(1.0, pole))
    if isinstance(kernel, ExponentialKernel):
        if kernel.exponent == 2.0:
            return _gaussian(kernel.width, 1.0)
        if kernel.exponent == 1.0:
            return _exponential(kernel.width, 0.0, 0.0, ROUNDING)
        cut = ROUNDING ** min(1.0 / kernel.exponent, 100.0)
        values = POWER, kernel.exponent, 0.0, 0.0, 0.0
        return Radial(_kernel(values, kernel.width, cut, 1.0), POWER_RULE, 0.0, min(1.0, kernel.exponent))
    return None


def _gaussian(width: float, factor: float) -> Radial:
    """``exp(-factor (d / width)**2)``."""
    cut = sqrt(ROUNDING / factor)
    return Radial(_kernel((EXPONENTIAL, 0.0, 0.0, 0.0, factor), width, cut, cut), GAUSSIAN_RULE, width)


def _exponential(width: float, linear: float, square: float, cut: float) -> Radial:
    """``(1 + linear x + square x**2) exp(-x)`` for x = d / width."""
    return Radial(_kernel((EXPONENTIAL, linear, square, 1.0, 0.0), width, cut, cut), EXPONENTIAL_RULE)


def _kernel(values: tuple[int, float, float, float, float], width: float, cut: float, core: float) -> Kernel:
    return values, min(1.0 / width, 1e300), min(cut, FARTHEST) * width, core * width
