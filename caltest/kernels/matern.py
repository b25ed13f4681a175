"""Matern kernels: between the exponential and the Gaussian kernel in smoothness."""

from dataclasses import dataclass
from math import sqrt

from caltest._loops.formulas.kernels import MATERN_3, MATERN_5
from caltest._validation import real_number
from caltest.kernels.radial import Function, RadialKernel


@dataclass(frozen=True)
class MaternKernel(RadialKernel):
    """Matern kernel of order 3/2 or 5/2 of a distance d, on predictions or on real targets.

    With ``x = sqrt(2 order) d / bandwidth``: ``(1 + x) exp(-x)`` and ``(1 + x + x**2 / 3) exp(-x)``. Order 1/2 is
    ``ExponentialKernel``; the limit of infinite order is ``GaussianKernel`` (Rasmussen and Williams 2006, eq. 4.17).
    It is a mixture of Gaussian kernels, so it is positive definite wherever these are.

    Parameters
    ----------
    metric
        Distance of two predicted distributions; a kernel of targets uses the Euclidean distance, so leave the default.
    bandwidth
        Positive number or ``"median"`` as in ``GaussianKernel``; for vector targets also one number per dimension.
    order
        1.5 or 2.5.

    Examples
    --------
    >>> import caltest as ct
    >>> kernel = ct.MaternKernel(bandwidth=1.0, order=1.5)
    >>> kernel.tile(ct.Normal([0.0], [1.0]), ct.Normal([1.0], [1.0])).round(4)
    array([[0.4834]])
    """

    order: float = 1.5

    def _check_settings(self) -> None:
        if real_number(self.order) not in (1.5, 2.5):
            raise ValueError(f"order: got {self.order!r}, wanted 1.5 or 2.5 (ExponentialKernel has order 0.5)")

    @property
    def function(self) -> Function:
        """A polynomial times ``exp(-u)``, ``u = sqrt(2 order) d / bandwidth``."""
        return Function(MATERN_3 if self.order == 1.5 else MATERN_5, sqrt(2.0 * self.order))

    @property
    def formula(self) -> str:
        return "Matern(" + f"{self.order:g}" + ", {d} / {w})"
