"""Consistency resampling: redraw the predictions with replacement and the targets from them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from caltest._basics.jobs import Stream, in_parts, run, streams
from caltest._basics.numerics import FloatArray
from caltest.estimators import ECE, Estimator
from caltest.nulls.base import Resampled, ResamplingNull
from caltest.predictions import Predictions, Sample

PART = 4
"""Streams of random numbers whose resamples are made together, so that progress is seen between them."""


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

    Time: B estimates, shared among the workers of ``joblib.parallel_config(...)`` if there are some. Memory: that of
    one.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> test = ct.CalibrationTest(ct.ECE(), ct.nulls.ConsistencyResampling(n_resamples=99))
    >>> test(*ct.top_label(p, y), rng=1).pvalue
    0.01
    """

    citations = ("broecker2007",)

    n_resamples: int = 999

    pvalue_kind = "resampling"

    def resample(self, estimator: Estimator, sample: Sample, rng: np.random.Generator) -> Resampled:
        estimate = estimator.estimate(sample)
        parts = in_parts(streams(rng, self.n_resamples), PART)
        draws = run(_resampled_estimates, [(estimator, sample.predictions, part) for part in parts], "resamples")
        return estimate, estimate, np.concatenate(draws)

    def notes(self, estimator: Estimator, n: int) -> tuple[str, ...]:
        """A caution for binned errors; for kernel errors repeated predictions do no harm."""
        if not isinstance(estimator, ECE):
            return ()
        return (
            "resampled predictions repeat themselves, which lowers binned errors: the test can reject calibrated "
            "models far too often; MonteCarloTest is exact",
        )

    def describe(self) -> str:
        return f"consistency resampling, {self.n_resamples} resamples"


def _resampled_estimates(estimator: Estimator, predictions: Predictions, part: Sequence[Stream]) -> FloatArray:
    """Estimates for predictions drawn with replacement and targets drawn from them."""
    n = len(predictions)
    draws = []
    for generator, size in part:
        for _ in range(size):
            resampled = predictions.take(generator.integers(n, size=n))
            draws.append(estimator.estimate(Sample(resampled, resampled.redraw(generator))))
    return np.array(draws)
