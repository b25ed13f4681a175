"""Consistency resampling: redraw the predictions with replacement and the targets from them."""

from dataclasses import dataclass

import numpy as np

from caltest._types import FloatArray
from caltest.estimators import ECE, Estimator
from caltest.nulls.base import ResamplingNull
from caltest.predictions import Sample


@dataclass(frozen=True)
class ConsistencyResampling(ResamplingNull):
    """The estimate against its values for resampled predictions with targets drawn from them.

    As published by Broecker and Smith (2007) and Vaicenavicius et al. (2019), except for the p-value, which is
    (1 + #{draw >= estimate}) / (1 + B) instead of #{...} / B. Settings that depend on the predictions, such as
    a median bandwidth, are computed once, from the observed predictions; bins are formed anew.

    Parameters
    ----------
    n_resamples
        Number B >= 1 of resamples (``ValueError`` otherwise); the smallest p-value is 1 / (B + 1).

    Notes
    -----
    Not a valid test of binned errors: resampling leaves only 63 % of the predictions distinct, which fills fewer
    bins and lowers the estimate, so that calibrated models are rejected (always, for 10 classes at n = 250 with
    bins of the whole simplex). ``ConditionalMonteCarlo`` keeps the predictions and is exact.

    Time: B estimates. Memory: that of one.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.load_digits_predictions()["random forest"]
    >>> test = ct.CalibrationTest(ct.ECE(), ct.ConsistencyResampling(n_resamples=99))
    >>> test(*ct.top_label(p, y), rng=1).pvalue
    0.01
    """

    n_resamples: int = 1000

    pvalue_kind = "resampling"

    def resample(
        self, estimator: Estimator, sample: Sample, rng: np.random.Generator
    ) -> tuple[float, float, FloatArray]:
        """The estimate and its values for resampled predictions."""
        n = len(sample)
        estimate = estimator.estimate(sample)
        draws = np.empty(self.n_resamples)
        for b in range(self.n_resamples):
            predictions = sample.predictions.take(rng.integers(n, size=n))
            draws[b] = estimator.estimate(Sample(predictions, predictions.sample(rng)))
        return estimate, estimate, draws

    def notes(self, estimator: Estimator, n: int) -> tuple[str, ...]:
        """A caution for binned errors; for kernel errors repeated predictions do no harm."""
        if not isinstance(estimator, ECE):
            return ()
        return (
            "resampled predictions repeat themselves, which lowers binned errors: the test can reject calibrated "
            "models far too often; MonteCarloTest is exact",
        )

    def describe(self) -> str:
        """The null in one line."""
        return f"consistency resampling, {self.n_resamples} resamples"
