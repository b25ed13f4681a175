"""Exact conditional Monte Carlo: keep the predictions, redraw the targets."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from caltest._jobs import RESAMPLES_OF_A_STREAM, Stream, in_parts, run, streams
from caltest._numerics import check_memory
from caltest._types import Array, FloatArray
from caltest.estimators import Estimator, LowRankSKCE
from caltest.hfeatures import FeatureSums
from caltest.nulls.base import Outcome, ResamplingNull, SummableNull, ranked
from caltest.predictions import Predictions, Sample

LARGEST = 2**30
"""Bytes of redrawn targets kept at a time; with more, the kernel is computed again for each part of them."""


@dataclass(frozen=True)
class ConditionalMonteCarlo(ResamplingNull, SummableNull):
    """The estimate against its values for B redraws of the targets from the predictions.

    Given all predictions, calibration says that the targets are independent draws from them: a simple hypothesis
    that can be simulated. With ``p = (1 + #{draw >= estimate}) / (1 + B)`` the observed and the drawn values are
    exchangeable under the null hypothesis, so P(p <= alpha) <= alpha for every n, every B and every estimator
    (Dwass 1957; Barnard 1963). Ties count against rejection.

    Parameters
    ----------
    n_resamples
        Number B >= 1 of redraws (``ValueError`` otherwise); the smallest p-value is 1 / (B + 1).

    Notes
    -----
    Assumes that the targets are independent given the predictions, that kernel, bins and test locations do not
    depend on the targets, and that the data were not used to fit the model.

    Time for the SKCE: with classes O(n**2 k) for the kernel, computed once, and for each draw an addition per pair of
    labels that differ from their most probable class and agree with each other: at most n**2 / (2 k) for balanced
    classes, few for confident models. Binary predictions with an exponential kernel: O(n B) after sorting. Real
    targets: three exponentials per pair and draw. ``LowRankSKCE``: O(n r B).

    Memory: n B labels, of one byte for up to 256 classes, or numbers; beyond 1 GB the draws are made in passes that
    compute the kernel again. Inside ``joblib.parallel_config(...)`` the draws are shared among its workers. The draws
    do not depend on threads, workers or passes.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.load_digits_predictions()["random forest"]
    >>> test = ct.CalibrationTest(ct.SKCE(p.default_kernel()), ct.ConditionalMonteCarlo(n_resamples=99))
    >>> test(p, y, rng=1).pvalue
    0.01
    """

    n_resamples: int = 999

    pvalue_kind = "exact"

    def resample(
        self, estimator: Estimator, sample: Sample, rng: np.random.Generator
    ) -> tuple[float, float, FloatArray]:
        """The estimate and its values for redraws of the targets."""
        predictions = sample.predictions
        least = len(sample) * predictions.target_bytes * RESAMPLES_OF_A_STREAM
        check_memory(least, "redrawn targets of a pass", "use LowRankSKCE or BlockSKCE on chunks of the data")
        labels = max(1, LARGEST // least)
        parts = in_parts(streams(rng, self.n_resamples), labels)
        calls = [(estimator, predictions, None if i else sample.targets, part) for i, part in enumerate(parts)]
        values = np.concatenate(run(_estimates, calls, "redraws"))
        return float(values[0]), float(values[0]), values[1:]

    def sums(self, estimator: Estimator, sample: Sample, rng: np.random.Generator) -> FeatureSums:
        """Sums over a part of the data, for the observed targets and for redraws of its own."""
        assert isinstance(estimator, LowRankSKCE)
        targets = sample.predictions.with_redraws(sample.targets, streams(rng, self.n_resamples))
        return estimator.partial(sample.predictions, targets)

    def outcome_of(self, estimator: Estimator, sums: FeatureSums) -> Outcome:
        """The estimate, and its rank among its values for redraws of the targets."""
        assert isinstance(estimator, LowRankSKCE)
        values = estimator.estimates_from(sums)
        return ranked(float(values[0]), float(values[0]), values[1:])

    def check_summable(self, estimator: Estimator) -> None:
        """Raise unless the estimator keeps sums for many targets."""
        if not isinstance(estimator, LowRankSKCE):
            raise self._illegal(estimator, "LowRankSKCE(kernel), for data that come in chunks")

    def describe(self) -> str:
        """The null in one line."""
        return f"targets redrawn from the predictions (conditional Monte Carlo), {self.n_resamples} draws"


def _estimates(
    estimator: Estimator, predictions: Predictions, observed: Array | None, part: Sequence[Stream]
) -> FloatArray:
    """Estimates for the observed targets, if they are given, and for redraws."""
    return estimator.estimates(predictions, predictions.with_redraws(observed, part))
