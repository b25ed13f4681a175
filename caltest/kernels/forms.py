"""Kernels of real targets as functions that compiled loops know by a number."""

from dataclasses import dataclass
from math import sqrt

import numpy as np

from caltest._loops.members import EXPONENTIAL, GAUSSIAN, MATERN_3, MATERN_5, RATIONAL
from caltest._types import FloatArray
from caltest.kernels.base import TargetKernel
from caltest.kernels.exponential import ExponentialKernel
from caltest.kernels.gaussian import GaussianKernel
from caltest.kernels.matern import MaternKernel
from caltest.kernels.radial import RadialKernel
from caltest.kernels.rational_quadratic import RationalQuadraticKernel


@dataclass(frozen=True, eq=False)
class Form:
    """A kernel as ``f(|factors (y - y')|)``, with f by the number of its kind."""

    kind: int
    factors: FloatArray
    shape: float = 0.0

    @property
    def is_exponential(self) -> bool:
        """Whether f is exp(-x) times a polynomial, whose degree is the kind."""
        return self.kind in (EXPONENTIAL, MATERN_3, MATERN_5)


def form_of(kernel: TargetKernel, d: int = 1, vectors: bool = False) -> Form | None:
    """A kernel of numbers, or of vectors of d numbers, that is no sum; None if compiled loops do not know it."""
    if not isinstance(kernel, RadialKernel):
        return None
    widths = kernel.widths(d) if vectors else np.array([kernel.width])
    with np.errstate(over="ignore"):
        # Finite numbers, so that their product with the distance 0 is 0.
        factors = np.minimum(1.0 / widths, 1e300)
    if isinstance(kernel, GaussianKernel):
        return Form(GAUSSIAN, factors)
    if isinstance(kernel, ExponentialKernel) and kernel.exponent == 1.0:
        return Form(EXPONENTIAL, factors)
    if isinstance(kernel, ExponentialKernel) and kernel.exponent == 2.0:
        return Form(GAUSSIAN, sqrt(2.0) * factors)
    if isinstance(kernel, MaternKernel):
        return Form(MATERN_3 if kernel.order == 1.5 else MATERN_5, sqrt(2.0 * kernel.order) * factors)
    if isinstance(kernel, RationalQuadraticKernel):
        return Form(RATIONAL, factors, kernel.shape)
    return None
