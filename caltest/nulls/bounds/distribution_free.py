"""Bounds of the p-value that hold for every sample size and every distribution."""

from dataclasses import dataclass

import numpy as np

from caltest.estimators import SKCE, BlockSKCE, Estimator
from caltest.nulls.base import Null, Outcome
from caltest.predictions import Sample


@dataclass(frozen=True)
class DistributionFreeBound(Null):
    """p = an upper bound of P(estimator >= estimate) for calibrated predictions; 1 for estimates of at most 0.

    The bounds are those of Lemma 2 of Widmann et al. 2019 (Theorems H.2 to H.4), see ``SKCE.tail_bound`` and
    ``BlockSKCE.tail_bound``, with the smallest B there is (``caltest.hstatistics.bound``). Valid always, with little
    power. The Julia reference squares negative estimates and so returns values below 1 for them. Cost: that of the
    estimate.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> test = ct.CalibrationTest(ct.SKCE(p.default_kernel(), unbiased=False), ct.nulls.DistributionFreeBound())
    >>> test(p, y).pvalue_kind
    'bound'
    """

    citations = ("hoeffding1963", "widmann2019")

    pvalue_kind = "bound"
    statistic_name = "the estimate"

    def check_estimator(self, estimator: Estimator) -> None:
        if not isinstance(estimator, (SKCE, BlockSKCE)) or (
            isinstance(estimator, BlockSKCE) and not estimator.unbiased
        ):
            raise self._illegal(
                estimator, "an estimator with a bound: SKCE(kernel) or unbiased BlockSKCE(kernel, block_size)"
            )

    def outcome(self, estimator: Estimator, sample: Sample, rng: np.random.Generator) -> Outcome:
        assert isinstance(estimator, (SKCE, BlockSKCE))
        estimate = estimator.estimate(sample)
        return Outcome(estimate, estimate, min(1.0, estimator.tail_bound(estimate, sample.predictions)))

    def describe(self) -> str:
        return "distribution-free bound"
