"""The largest of the kernel calibration errors of several kernels, each in units of its own standard deviation."""

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from caltest._basics.numerics import Array, FloatArray
from caltest._validation import at_least, positive_numbers
from caltest.estimators.combined.joint import JointEstimator, standardised
from caltest.estimators.kernel_errors.kernel_estimator import KernelEstimator
from caltest.hstatistics.redraws.of_all_families import redrawn_means
from caltest.hstatistics.variances.moments import standard_deviations
from caltest.kernels import ProductKernel
from caltest.kernels.product import a_product_kernel
from caltest.predictions import Predictions

FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)

MANY = 20_000
"""Predictions from which on standard deviations are those of the redraws."""


def _of_a_distance(name: str, kernel: Any) -> ProductKernel:
    product = a_product_kernel(name, kernel)
    if not product.prediction_kernel.has_bandwidth:
        raise TypeError(
            f"{name}: got {product.prediction_kernel!r} for the predictions, wanted a kernel of a distance, the "
            "bandwidth of which can be multiplied"
        )
    return product


@dataclass(frozen=True)
class MaxSKCE(KernelEstimator, JointEstimator):
    """Maximum over several kernels of ``SKCE_k / sd_k``, with the standard deviation that it has if calibrated.

    One bandwidth sees errors that vary on its own scale. The maximum sees all scales, and a test that redraws the
    targets accounts for the choice: ``MonteCarloTest(MaxSKCE(kernel))`` is exact.

    Parameters
    ----------
    kernel
        Product of a kernel of a distance of predictions and a kernel of targets. The estimate that is reported is the
        SKCE with this kernel.
    factors
        Positive numbers by which its bandwidth is multiplied; 1 is always among them.

    Raises
    ------
    TypeError
        For kernels that are not product kernels of a distance of the predictions.

    Notes
    -----
    The standard deviations given the predictions are closed forms for classes, counts, and normal predictions with a
    Gaussian kernel (``caltest.hstatistics.variances.moments``); for others they are those of observed and redrawn
    values together, which needs a null that redraws targets. Time that of one kernel and little more: distances, labels
    and kernels of targets are shared.

    Source: Schrab et al. 2023 for several bandwidths in one test, there by adjusted levels.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["naive Bayes"]
    >>> ct.MonteCarloTest(ct.estimators.MaxSKCE(p.default_kernel()), n_resamples=99)(p, y, rng=1).pvalue
    0.01
    """

    citations = ("schrab2023", "widmann2021")

    kernel: ProductKernel
    factors: tuple[float, ...] = FACTORS
    _deviations: FloatArray | None = field(default=None, init=False, repr=False, compare=False)
    statistic_name = "largest SKCE in units of its standard deviation"

    _checks = {
        "kernel": _of_a_distance,
        "factors": lambda name, factors: tuple(dict.fromkeys((1.0, *positive_numbers(name, factors)))),
    }

    @property
    def kernels(self) -> tuple[ProductKernel, ...]:
        """The kernels that the maximum is taken over; bandwidths are numbers."""
        radial, target_kernel = self.kernel.prediction_kernel, self.kernel.target_kernel
        return tuple(ProductKernel(radial.scaled(factor), target_kernel) for factor in self.factors)

    def check(self, predictions: Predictions) -> None:
        at_least(len(predictions), 2, "the unbiased SKCE")

    def resolve(self, predictions: Predictions, rng: Any = None) -> Self:
        resolved = super().resolve(predictions)
        # Not where they take longer than the sums.
        found = standard_deviations(resolved.kernels, predictions) if len(predictions) <= MANY else None
        return resolved._with(_deviations=found if found is not None and found.all() else None)

    def values(self, predictions: Predictions, targets: Array) -> FloatArray:
        return redrawn_means(self.kernels, predictions, targets)

    def combined(self, values: FloatArray) -> FloatArray:
        ratios = standardised(values) if self._deviations is None else values / self._deviations[:, None]
        return np.asarray(ratios.max(axis=0))

    def describe(self, predictions: Predictions) -> str:
        times = ", ".join(f"{factor:g}" for factor in sorted(self.factors))
        return f"maximum of SKCE / sd over bandwidths times {times}, k = {self.kernel.describe()}"
