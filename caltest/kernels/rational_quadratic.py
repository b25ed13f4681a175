"""The rational quadratic kernel: heavier tails than any exponential."""

from dataclasses import dataclass
from math import sqrt

from caltest._basics.numerics import FloatArray
from caltest._loops.formulas.kernels import RATIONAL
from caltest._validation import positive_number
from caltest.kernels.radial import Function, RadialKernel


@dataclass(frozen=True)
class RationalQuadraticKernel(RadialKernel):
    """``(1 + d**2 / (2 shape bandwidth**2))**-shape`` of a distance d, on predictions or on real targets.

    A mixture of Gaussian kernels of bandwidths that are Gamma distributed (Rasmussen and Williams 2006, eq. 4.19); it
    sees differences on many scales. For a large shape it is ``GaussianKernel``.

    Parameters
    ----------
    metric
        Distance of two predicted distributions; a kernel of targets uses the Euclidean distance, so leave the default.
    bandwidth
        Positive number or ``"median"`` as in ``GaussianKernel``; for vector targets also one number per dimension.
    shape
        Positive number.

    Examples
    --------
    >>> import caltest as ct
    >>> kernel = ct.kernels.RationalQuadraticKernel(bandwidth=1.0, shape=1.0)
    >>> kernel.tile(ct.Normal([0.0], [1.0]), ct.Normal([2.0], [1.0])).round(4)
    array([[0.3333]])
    """

    shape: float = 1.0

    def _check_settings(self) -> None:
        object.__setattr__(self, "shape", positive_number("shape", self.shape))

    def derivatives(self, squares: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """``(1 + r u / shape)**-shape`` with ``r = 1 / (2 bandwidth**2)``, and its derivatives."""
        if isinstance(self.bandwidth, tuple):
            return super().derivatives(squares)
        rate = 0.5 / self.width**2
        base = 1.0 + rate * squares / self.shape
        value = base**-self.shape
        return value, -rate * value / base, rate**2 * (1.0 + 1.0 / self.shape) * value / base**2

    @property
    def function(self) -> Function:
        """``(1 + u / shape)**-shape``, ``u = (d / (sqrt(2) bandwidth))**2``."""
        return Function(RATIONAL, sqrt(0.5), 2.0, self.shape)

    @property
    def formula(self) -> str:
        a = f"{self.shape:.4g}"
        return "(1 + {d}^2 / (2 " + a + " {w}^2))^-" + a
