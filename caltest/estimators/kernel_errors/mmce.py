"""Maximum mean calibration error: the kernel calibration error of the top label."""

from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from caltest._basics.numerics import Array, FloatArray
from caltest._results.values import EffectSize
from caltest._validation import at_least, instance_of, switch
from caltest.estimators.base import Estimator
from caltest.estimators.kernel_errors.kernel_estimator import share_of_largest
from caltest.estimators.kernel_errors.skce import SKCE
from caltest.kernels import DeltaKernel, Euclidean, ExponentialKernel, PredictionKernel, ProductKernel
from caltest.predictions import Predictions, Sample
from caltest.predictions.classes.finite import as_classes
from caltest.predictions.reductions.classes import reduce_to_binary


@dataclass(frozen=True)
class MMCE(Estimator):
    """Maximum mean calibration error of the top label, squared: MMCE**2 = E[(a - c)(a' - c') k(c, c')].

    The confidence is c = max_j p_j, and a = [label is the top one]. Like ``SKCE`` this is the squared error, so that it
    can be estimated without bias. It is half the SKCE of the reduced problem (c, a) with the kernel k x [a = a']
    (Widmann et al. 2019, Example I.1, after Kumar et al. 2018).

    Parameters
    ----------
    kernel
        Kernel of two confidences; default: ``exp(-|c - c'| / 0.2)``.
    unbiased
        Average over the pairs i < j; otherwise over all n**2 pairs.

    Notes
    -----
    Predictions are categorical, or binary ones that already are confidences with outcomes right or wrong.
    n >= 2 observations, n >= 1 if biased. Time O(n**2), memory O(n k).

    Raises
    ------
    ValueError
        For too few observations.
    TypeError
        For predictions that are not of classes, or a kernel that is not one of predictions.

    Examples
    --------
    >>> import caltest as ct
    >>> round(ct.MMCE()([[0.1, 0.9], [0.8, 0.2]], [0, 1]), 6)
    0.436702
    """

    citations = ("kumar2018", "widmann2019")

    kernel: PredictionKernel = field(default_factory=lambda: ExponentialKernel(Euclidean(), bandwidth=0.2))
    unbiased: bool = True
    _checks = {
        "kernel": instance_of(
            PredictionKernel, "a kernel of predictions, e.g. ExponentialKernel(Euclidean(), bandwidth=0.2)"
        ),
        "unbiased": switch,
    }

    def check(self, predictions: Predictions) -> None:
        as_classes(predictions)
        at_least(len(predictions), 2 if self.unbiased else 1, "MMCE")

    def resolve(self, predictions: Predictions, rng: Any = None) -> Self:
        return replace(self, kernel=self.kernel.resolve(reduce_to_binary(predictions)[0]))

    def estimate(self, sample: Sample) -> float:
        confidences, chosen = reduce_to_binary(sample.predictions)
        return self._skce().estimate(Sample(confidences, (chosen == sample.targets).astype(np.uint8))) / 2.0

    def estimates(self, predictions: Predictions, targets: Array) -> FloatArray:
        confidences, chosen = reduce_to_binary(predictions)
        return self._skce().estimates(confidences, (chosen == targets).astype(np.uint8)) / 2.0

    def _skce(self) -> SKCE:
        return SKCE(ProductKernel(self.kernel, DeltaKernel()), self.unbiased)

    def notes(self, n: int) -> tuple[str, ...]:
        return self._skce().notes(n)

    def effect_size(self, estimate: float, predictions: Predictions, mean: float | None) -> EffectSize:
        """The MMCE as a share of its largest value; without the bias, where it is known."""
        bias = 0.0 if self.unbiased or mean is None else mean
        return share_of_largest(estimate - bias, self.kernel.bound, "MMCE")

    def describe(self, predictions: Predictions) -> str:
        bias = "unbiased" if self.unbiased else "biased"
        return f"MMCE^2 ({reduce_to_binary(predictions)[0].notion}, {bias}), k = {self.kernel.describe()}"

    def hypothesis(self, predictions: Predictions) -> str:
        return reduce_to_binary(predictions)[0].hypothesis
