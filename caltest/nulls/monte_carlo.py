"""Exact nulls: targets redrawn from the predictions, and the known covariance at test locations."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from caltest._basics.calls import are_pvalues_enough
from caltest._basics.numerics import Array, FloatArray, IntArray, at_least_as_large, check_memory
from caltest._basics.threads import Stream, in_parts, run, streams
from caltest._results.measures import matters
from caltest._validation import optional, whole
from caltest.estimators import UCME, Estimator
from caltest.estimators.base import SummableEstimator
from caltest.estimators.combined.detectable import detectable
from caltest.estimators.combined.joint import JointEstimator
from caltest.estimators.combined.omnibus import Omnibus
from caltest.hstatistics.redraws.of_all_families import redrawn_deviation_means
from caltest.hstatistics.variances.covariance import deviation_covariance, whitening
from caltest.nulls.base import Outcome, Resampled, ResamplingNull, SummableNull, ranked
from caltest.predictions import Predictions, Sample

SMALL = 0.01
"""P-values up to which nobody asks what the test could have missed."""

FEW = 8
"""Predictions whose redraws say how many bytes those of all take."""

LARGEST = 2**30
"""Bytes of redrawn targets kept at a time; with more, the kernel is computed again for each part of them."""


@dataclass(frozen=True)
class ConditionalMonteCarlo(ResamplingNull[Estimator], SummableNull[Estimator]):
    """The estimate against its values for B redraws of the targets from the predictions.

    For independent rows calibration says that the targets are independent draws from the predictions: a simple
    hypothesis that can be simulated. With ``p = (1 + #{draw >= estimate}) / (1 + B)`` the observed and the drawn values
    are exchangeable under the null hypothesis, so P(p <= alpha) <= alpha for every n, every B and every estimator
    (Dwass 1957; Barnard 1963). Redraws that equal the estimate, up to a relative difference of 1e-10, count as larger.

    Parameters
    ----------
    n_resamples
        Number B >= 1 of redraws (``ValueError`` otherwise); the smallest p-value is 1 / (B + 1).
    stop_after
        Stop as soon as so many redraws are at least as large as the estimate, h of them among the first l: then
        ``p = h / l``, which is exact too (Besag and Clifford 1991). Saves time where calibration is not rejected, not
        where it is; 10 is a good number.

    Notes
    -----
    Assumes that the targets are independent given the predictions, that kernel, bins and test locations do not
    depend on the targets, and that the data were not used to fit the model.

    Time for the SKCE: with classes O(n**2 k) for the kernel, computed once, and for each redraw an addition per pair of
    labels that differ from their most probable class and agree with each other: at most n**2 / (2 k) for balanced
    classes, few for confident models. Binary predictions with an exponential kernel: O(n B) after sorting. Real
    targets: three exponentials per pair and redraw. ``LowRankSKCE``: O(n r B). Memory: n B labels, of a byte for up to
    256 classes, or numbers; beyond 1 GB redraws are made in passes that compute the kernel again. Inside
    ``joblib.parallel_config(...)`` redraws are shared among its workers, on which, as on threads and passes, they do
    not depend.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> test = ct.CalibrationTest(ct.SKCE(p.default_kernel()), ct.nulls.ConditionalMonteCarlo(n_resamples=99))
    >>> test(p, y, rng=1).pvalue
    0.01
    """

    stop_after: int | None = None
    _checks = {"stop_after": optional(whole(1))}

    pvalue_kind = "exact"

    @property
    def citations(self) -> tuple[str, ...]:  # type: ignore[override]
        """Sources, with that of stopping early where it is done."""
        always = ("barnard1963", "dwass1957", "phipson2010")
        return always if self.stop_after is None else ("besag1991", *always)

    def check_estimator(self, estimator: Estimator) -> None:
        """Raise for joint statistics, which need all redraws, if the redraws may stop before."""
        if self.stop_after is not None and isinstance(estimator, JointEstimator):
            raise self._illegal(estimator, "an estimator of one number: stop_after looks at redraws one by one")

    def statistic_name_of(self, estimator: Estimator) -> str:
        if isinstance(estimator, JointEstimator):
            return estimator.statistic_name
        return "absolute value of the estimate" if estimator.two_sided else self.statistic_name

    def outcome(self, estimator: Estimator, sample: Sample, rng: np.random.Generator) -> Outcome:
        if self.stop_after is not None:
            return self._stopped(estimator, sample, rng, self.stop_after)
        values = self.values(estimator, sample, rng)
        estimate = estimator.reported(sample, values) if isinstance(estimator, JointEstimator) else float(values[0, 0])
        if not isinstance(estimator, Omnibus):
            statistics = _statistics(estimator, values)
            return ranked(estimate, float(statistics[0]), statistics[1:])
        outcome = self._of_omnibus(estimator, sample, values).excluding(sample.exclusion)
        if not are_pvalues_enough() and outcome.pvalue > SMALL and matters(outcome.measures) is None:
            outcome = replace(outcome, detectable=detectable(estimator, sample, values, rng))
        return replace(outcome, estimate=estimate)

    @staticmethod
    def _of_omnibus(estimator: Omnibus, sample: Sample, values: FloatArray) -> Outcome:
        """From the numbers (J, B) of all observations, of which the sample has all or some."""
        statistics = estimator.combined(values)
        outcome = ranked(float(values[0, 0]), float(statistics[0]), statistics[1:])
        if not are_pvalues_enough():
            outcome = replace(outcome, **estimator.told(sample, values, outcome.pvalue))
        return outcome

    def resample(self, estimator: Estimator, sample: Sample, rng: np.random.Generator) -> Resampled:
        values = self.values(estimator, sample, rng)
        statistics = _statistics(estimator, values)
        return float(values[0, 0]), float(statistics[0]), statistics[1:]

    def redraws(self, estimator: Estimator, predictions: Predictions, rng: np.random.Generator) -> FloatArray:
        """Estimates (B,) for redraws of the targets; of joint statistics the first number."""
        return np.array(self.values(estimator, Sample(predictions, np.empty(0)), rng, observed=False)[0])

    def values(
        self, estimator: Estimator, sample: Sample, rng: np.random.Generator, observed: bool = True
    ) -> FloatArray:
        """Numbers (J, B + 1) of a resolved estimator: those of observed targets, if wanted, then those of redraws."""
        if isinstance(estimator, Omnibus):
            targets = sample.targets if observed else None
            values = estimator.drawn(sample.predictions, targets, self.n_resamples, rng)
            if values is not None:
                return values
        return self._values(estimator, sample, streams(rng, self.n_resamples), observed)

    def _values(self, estimator: Estimator, sample: Sample, some: list[Stream], observed: bool = True) -> FloatArray:
        """Numbers (J, B) of the estimator for the observed targets, if they are asked for, and for redraws of them."""
        predictions = sample.predictions
        few = predictions.evenly_spaced(FEW)
        drawn = few.with_redraws(None, [(np.random.default_rng(0), some[0][1])])
        least = drawn.nbytes * len(sample) // len(few)
        way_out = "use LowRankSKCE or BlockSKCE on chunks of the data"
        check_memory(least, "redrawn targets of a pass", (len(sample), "rows"), way_out)
        parts = in_parts(some, max(1, LARGEST // least))
        targets = [sample.targets if observed and i == 0 else None for i in range(len(parts))]
        calls = [(estimator, predictions, *pair) for pair in zip(targets, parts, strict=True)]
        return np.concatenate(run(_values, calls, "redraws"), axis=1)

    def _stopped(self, estimator: Estimator, sample: Sample, rng: np.random.Generator, stop_after: int) -> Outcome:
        """Redraws in passes of growing size, until enough of them are large."""
        rest, known, size = streams(rng, self.n_resamples), np.empty(0), 1
        estimate = statistic = 0.0
        while rest:
            values = self._values(estimator, sample, rest[:size], observed=known.size == 0)
            statistics = _statistics(estimator, values)
            if known.size == 0:
                estimate, statistic, statistics = float(values[0, 0]), float(statistics[0]), statistics[1:]
            known, rest, size = np.concatenate([known, statistics]), rest[size:], 2 * size
            at = np.flatnonzero(at_least_as_large(statistic, known))
            if at.size >= stop_after:
                last = int(at[stop_after - 1]) + 1
                return Outcome(estimate, statistic, stop_after / last, null_distribution=known[:last].copy())
        return ranked(estimate, statistic, known)

    def sums(self, estimator: Estimator, sample: Sample, rng: np.random.Generator, place: tuple[int, IntArray]) -> Any:
        """Sums over a part of the data, for the observed targets and for redraws of its own."""
        if isinstance(estimator, Omnibus):
            return estimator.sums(sample, self.n_resamples, *place)
        assert isinstance(estimator, SummableEstimator)
        targets = sample.predictions.with_redraws(sample.targets, streams(rng, self.n_resamples))
        return estimator.sums(sample.predictions, targets)

    def outcome_of(self, estimator: Estimator, sums: Any) -> Outcome:
        if isinstance(estimator, Omnibus):
            values = estimator.of_rows.values(sums.sums)
            outcome = self._of_omnibus(estimator, sums.kept, values)
            return replace(outcome, estimate=estimator.of_rows.reported(sums.sums, values))
        assert isinstance(estimator, SummableEstimator)
        values = estimator.of_sums(sums)
        statistics = _statistics(estimator, values[None])
        return ranked(float(values[0]), float(statistics[0]), statistics[1:])

    def excludes(self, estimator: Estimator) -> bool:
        return isinstance(estimator, Omnibus)

    def check_summable(self, estimator: Estimator) -> None:
        if self.stop_after is not None:
            raise TypeError(f"stop_after: got {self.stop_after} for data in chunks, wanted None: all redraws are made")
        if isinstance(estimator, Omnibus):
            return
        if not isinstance(estimator, SummableEstimator):
            wanted = "Omnibus(), LowRankSKCE(kernel), ECE() or an excess score, for data that come in chunks"
            raise self._illegal(estimator, wanted)
        estimator.check_summable()

    def describe(self, redraws: str = Predictions.redraws) -> str:
        until = "" if self.stop_after is None else f" or until {self.stop_after} are as large"
        return f"{redraws} (conditional Monte Carlo), {self.n_resamples} redraws{until}"

    def describe_for(self, predictions: Predictions) -> str:
        return self.describe(predictions.law.redraws)


def _values(
    estimator: Estimator, predictions: Predictions, observed: Array | None, part: Sequence[Stream]
) -> FloatArray:
    """Numbers (J, B) for the observed targets, if they are given, and for redraws."""
    targets = predictions.with_redraws(observed, part)
    if isinstance(estimator, JointEstimator):
        return estimator.values(predictions, targets)
    return estimator.estimates(predictions, targets)[None]


def _statistics(estimator: Estimator, values: FloatArray) -> FloatArray:
    """What is ranked, (B,): numbers (J, B) combined, or one number, or its absolute value."""
    if isinstance(estimator, JointEstimator):
        return estimator.combined(values)
    return np.abs(values[0]) if estimator.two_sided else np.asarray(values[0])


TOLERANCE = 1e-8
"""Eigenvalues of the correlations, over the largest one, that count as 0."""


@dataclass(frozen=True)
class KnownCovarianceMonteCarlo(ResamplingNull[UCME]):
    """``T**2 = s' V**+ s`` of the sum s of the deviations and its covariance V given the predictions, against redraws.

    ``V = sum_i Cov(D_i)`` follows from the predictions alone (``caltest.hstatistics.variances.covariance``), where
    Hotelling's T-squared estimates it from the targets; eigenvalues of its correlations of at most 1e-8 of the largest
    count as 0. Exact for every n, every B and every set of locations that does not depend on the targets, whatever V
    is, as it is the same for all redraws.

    Parameters
    ----------
    n_resamples
        As in ``ConditionalMonteCarlo``.

    Raises
    ------
    ValueError
        In a test in which the deviations do not vary at any location.

    Notes
    -----
    Works for any number of observations and locations, duplicates among them, too. Assumes that the targets are
    independent given the predictions. Time O(n J**2 k) for V and O(n J) for each redraw.

    Sources: Widmann et al. 2021, appendix C, for the deviations; Dwass 1957 for the p-value.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> ucme = ct.UCME(p.default_kernel(), test_predictions=p.take(slice(0, 2)), test_targets=[6, 3])
    >>> ct.CalibrationTest(ucme, ct.nulls.KnownCovarianceMonteCarlo(99))(p, y, rng=1).pvalue_kind
    'exact'
    """

    citations = ("dwass1957", "widmann2021")

    pvalue_kind = "exact"
    statistic_name = "T^2 with the covariance of the predictions"
    requires = UCME
    wanted = "UCME(kernel, test_predictions, test_targets)"

    def resample(self, estimator: UCME, sample: Sample, rng: np.random.Generator) -> Resampled:
        predictions = sample.predictions
        auxiliary, draws = rng.spawn(2)
        covariance = deviation_covariance(estimator.kernel, predictions, estimator.locations, auxiliary)
        whitener, largest = whitening(covariance, TOLERANCE), len(predictions) * estimator.kernel.bound**2
        if whitener.shape[1] == 0 or covariance.max() <= 1e-14 * largest:
            raise ValueError(
                "test_predictions: the deviations do not vary at any location: no prediction is close to one, or all "
                "predictions are certain; move the locations, or use MonteCarloTest"
            )
        parts = in_parts(streams(draws, self.n_resamples), 1)
        calls = [(estimator, predictions, sample.targets, part, whitener) for part in parts]
        means, values = zip(*run(_statistics_of_locations, calls, "redraws"), strict=True)
        observed, first = means[0], values[0][0]
        return float(np.mean(observed**2)), float(first), np.concatenate([part[1:] for part in values])

    def describe(self) -> str:
        return (
            "T^2 of the sum of the deviations with its known covariance, targets redrawn from the predictions, "
            f"{self.n_resamples} redraws"
        )


def _statistics_of_locations(
    estimator: UCME, predictions: Predictions, observed: Array, part: Sequence[Stream], whitener: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Mean deviations of the observed targets (J,), and T-squared of these and of redraws, (B + 1,)."""
    targets = predictions.with_redraws(observed, part)
    means = redrawn_deviation_means(estimator.kernel, predictions, targets, estimator.locations)
    return means[0], np.sum((len(predictions) * means @ whitener) ** 2, axis=1)
