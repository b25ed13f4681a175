"""Kernels of real targets as the compiled loops of quadrature take them."""

from math import expm1, sqrt
from typing import NamedTuple

import numpy as np

from caltest._loops import kernels as forms
from caltest._loops.radial import EXPONENTIAL, POWER, RATIONAL
from caltest._loops.trees import Kernel, Rule
from caltest.kernels import ExponentialKernel, TargetKernel
from caltest.kernels.forms import form_of

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


EXPONENTIALS = {
    forms.EXPONENTIAL: (0.0, 0.0, 1.0, 0.0, ROUNDING),
    forms.MATERN_3: (1.0, 0.0, 1.0, 0.0, 43.5),
    forms.MATERN_5: (1.0, 1.0 / 3.0, 1.0, 0.0, 46.5),
}
GAUSSIAN = 0.0, 0.0, 0.0, 0.5, sqrt(2.0 * ROUNDING)
"""Numbers a, b, c, d of ``(1 + a x + b x**2) exp(-c x - d x**2)``, and where it is 0 to rounding."""


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
    form = form_of(kernel)
    if form is None:
        return _of_power(kernel) if isinstance(kernel, ExponentialKernel) else None
    inverse = float(form.factors[0]) * (1.0 if form.root else sqrt(2.0))
    if form.kind == forms.RATIONAL:
        pole = sqrt(2.0 * form.shape)
        cut = pole * sqrt(expm1(min(ROUNDING / form.shape, 500.0)))
        settings = _kernel((RATIONAL, form.shape, 0.0, 0.0, 0.0), inverse, cut, pole)
        return Radial(settings, RATIONAL_RULE, min(1.0, pole) / inverse)
    linear, square, rate, precision, cut = GAUSSIAN if form.is_gaussian else EXPONENTIALS[form.kind]
    settings = _kernel((EXPONENTIAL, linear, square, rate, precision), inverse, cut, cut)
    return Radial(settings, GAUSSIAN_RULE, 1.0 / inverse) if rate == 0.0 else Radial(settings, EXPONENTIAL_RULE)


def _of_power(kernel: ExponentialKernel) -> Radial:
    cut = ROUNDING ** min(1.0 / kernel.exponent, 100.0)
    settings = _kernel((POWER, kernel.exponent, 0.0, 0.0, 0.0), min(1.0 / kernel.width, 1e300), cut, 1.0)
    return Radial(settings, POWER_RULE, 0.0, min(1.0, kernel.exponent))


def _kernel(values: tuple[int, float, float, float, float], inverse: float, cut: float, core: float) -> Kernel:
    return values, inverse, min(cut, FARTHEST) / inverse, core / inverse
