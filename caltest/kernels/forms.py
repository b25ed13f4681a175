"""Kernels of real targets as functions that compiled loops know by a number."""

from dataclasses import dataclass

import numpy as np

from caltest._basics.types import FloatArray
from caltest._loops.formulas.kernels import EXPONENTIAL, RATIONAL
from caltest.kernels.base import TargetKernel
from caltest.kernels.radial import RadialKernel


@dataclass(frozen=True, eq=False)
class Form:
    """A kernel as ``f(u)``, with f by the number of its kind, and u the norm of ``factors (y - y')`` or its square."""

    kind: int
    factors: FloatArray
    shape: float = 0.0
    root: bool = True

    @property
    def is_exponential(self) -> bool:
        """Whether f is exp(-u) times a polynomial of a distance u, whose degree is the kind."""
        return self.root and self.kind < RATIONAL

    @property
    def is_gaussian(self) -> bool:
        """Whether it is exp(-u) of a square u."""
        return not self.root and self.kind == EXPONENTIAL

    @property
    def settings(self) -> tuple[int, float, bool, FloatArray]:
        """As loops take it."""
        return self.kind, self.shape, self.root, self.factors


def form_of(kernel: TargetKernel, d: int = 1, vectors: bool = False) -> Form | None:
    """A kernel of numbers, or of vectors of d numbers, that is no sum; None if compiled loops do not know it."""
    if not isinstance(kernel, RadialKernel) or kernel.function is None or not kernel.function.is_compiled:
        return None
    function, widths = kernel.function, kernel.widths(d) if vectors else np.array([kernel.width])
    with np.errstate(over="ignore"):
        # Finite numbers, so that their product with the distance 0 is 0.
        factors = np.minimum(function.stretch / widths, 1e300)
    return Form(function.kind, factors, function.shape, function.exponent == 1.0)
