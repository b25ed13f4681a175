"""Calibration tests: pairs of an estimator of a calibration error and a null that turns it into a p-value."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from caltest._chunks import accumulate, are_chunks
from caltest._numerics import check_finite, seed_of
from caltest._progress import progress_bars
from caltest._types import ArrayLike
from caltest._validation import at_least, switch
from caltest.calibration_accumulator import CalibrationTestAccumulator
from caltest.estimators import SKCE, UCME, BlockSKCE, Estimator, LogLikelihoodRatio, Omnibus
from caltest.estimators.base import median_notes, some_predictions
from caltest.kernels import PairKernel, ProductKernel, RadialKernel
from caltest.nulls import (
    ArconesGineBootstrap,
    ConditionalMonteCarlo,
    ConsistencyResampling,
    DistributionFreeBound,
    HotellingNull,
    ImportanceSampling,
    NormalNull,
    Null,
    Outcome,
    PearsonNull,
)
from caltest.predictions import Predictions, Sample, ZeroBandwidth, as_sample
from caltest.result import CalibrationTestResult


@dataclass(frozen=True)
class CalibrationTest:
    """A test of the null hypothesis that predictions are calibrated, P(Y | P_X) = P_X.

    Call it with predictions and targets. Tests hold no data and no state: one object serves any number of samples.

    Parameters
    ----------
    estimator
        Which calibration error is estimated, and how.
    null
        How the estimate is turned into a p-value.

    Raises
    ------
    TypeError
        If the null does not apply to the estimator.

    Examples
    --------
    >>> import caltest as ct
    >>> test = ct.CalibrationTest(ct.ECE(ct.UniformBinning(10)), ct.ConditionalMonteCarlo(n_resamples=199))
    >>> result = test([0.1, 0.8, 0.6, 0.3], [1, 0, 0, 1], rng=1)
    >>> result.pvalue_kind, result.pvalue
    ('exact', 0.005)
    """

    estimator: Estimator
    null: Null

    def __post_init__(self) -> None:
        if not isinstance(self.estimator, Estimator):
            raise TypeError(f"estimator: got {self.estimator!r}, wanted an estimator such as SKCE(kernel)")
        if not isinstance(self.null, Null):
            raise TypeError(f"null: got {self.null!r}, wanted a null such as ConditionalMonteCarlo()")
        self.null.check_estimator(self.estimator)

    def __call__(
        self, predictions: ArrayLike, targets: ArrayLike, *, rng: Any = None, progress: bool = False
    ) -> CalibrationTestResult:
        """Test predictions against observed targets.

        Parameters
        ----------
        predictions
            ``Predictions``, or what becomes some: an array-like of (n, k) probabilities of k classes or (n,)
            probabilities of class 1, a distribution of scipy.stats or torch.distributions with parameters (n,), or a
            list of n of them. Dask arrays are taken chunk by chunk, on dask's workers, by tests that have an
            ``accumulator``.
        targets
            (n,) array-like of outcomes.
        rng
            Seed or ``numpy.random.Generator``; the result keeps the seed that reproduces it.
        progress
            Show a progress bar on standard error for what takes more than a second, except for dask arrays, whose
            progress dask shows.

        Returns
        -------
        CalibrationTestResult
            Estimate, statistic, p-value and all that describes them.

        Raises
        ------
        ValueError
            For bad data, or too few for the estimator or the null.
        TypeError
            For predictions of a family that the estimator or its kernel does not know.
        """
        shown = switch("progress", progress)
        if are_chunks(predictions) or are_chunks(targets):
            return self._on_chunks(predictions, targets, rng)
        return self.on(as_sample(predictions, targets), rng=rng, progress=shown)

    def on(self, sample: Sample, *, rng: Any = None, progress: bool = False) -> CalibrationTestResult:
        """Test a sample that is already checked; raises what a call raises for too few observations."""
        self.estimator.check(sample.predictions)
        self.null.check_size(self.estimator, len(sample))
        with progress_bars(switch("progress", progress)):
            estimator = self.estimator.resolve(sample.predictions)
            seed = seed_of(rng)
            outcome = self.null.outcome(estimator, sample, np.random.default_rng(seed))
        notes = (*sample.predictions.notes, *sample.notes, *self.estimator.notes(len(sample)))
        return self.result_of(estimator, sample.predictions, len(sample), outcome, seed, notes)

    def accumulator(self, *, rng: Any = None) -> "CalibrationTestAccumulator":
        """The test for data that come in chunks: ``update(predictions, targets)``, ``merge(other)``, ``result()``.

        For blocks with the normal limit, and for Monte Carlo with ``LowRankSKCE``; ``TypeError`` for others.
        """
        return CalibrationTestAccumulator(self, rng=rng)

    def _on_chunks(self, predictions: Any, targets: Any, rng: Any) -> CalibrationTestResult:
        seed = seed_of(rng)
        resolved = CalibrationTest(self.estimator.resolve(some_predictions(predictions)), self.null)
        granularity = resolved.accumulator().estimator.granularity

        def accumulators(n_chunks: int) -> list[CalibrationTestAccumulator]:
            return [resolved.accumulator(rng=child) for child in np.random.SeedSequence(seed).spawn(n_chunks)]

        total = accumulate(accumulators, predictions, targets, granularity)
        result: CalibrationTestResult = total.result()
        notes = (*result.notes, *self.estimator.notes(result.n))
        return replace(result, test=type(self).__name__, seed=None if result.seed is None else seed, notes=notes)

    def result_of(
        self,
        estimator: Estimator,
        predictions: Predictions,
        n: int,
        outcome: Outcome,
        seed: int,
        notes: tuple[str, ...],
    ) -> CalibrationTestResult:
        """The result of a resolved estimator for n predictions, of which some are given, and what the null found."""
        check_finite(outcome.estimate, outcome.statistic, outcome.pvalue)
        draws = outcome.null_distribution
        if draws is not None:
            draws.flags.writeable = False
        return CalibrationTestResult(
            test=type(self).__name__,
            hypothesis=estimator.hypothesis(predictions),
            predictions=predictions.describe(n),
            estimator=estimator.describe(predictions),
            null=self.null.describe(),
            n=n,
            n_used=estimator.n_used(n),
            estimate=outcome.estimate,
            statistic=outcome.statistic,
            statistic_name=self.null.statistic_name_of(estimator),
            pvalue=outcome.pvalue,
            pvalue_kind=self.null.pvalue_kind,
            standard_error=outcome.standard_error,
            df=outcome.df,
            null_distribution=draws,
            n_resamples=None if draws is None else draws.size,
            seed=seed if self.null.uses_random_numbers else None,
            notes=(*notes, *estimator.resolved_notes(), *self.null.notes(estimator, n), *outcome.notes),
            components=outcome.components,
            finding=outcome.finding,
        )


class MonteCarloTest(CalibrationTest):
    """Exact test with any estimator: the targets are redrawn from the predictions. See ``ConditionalMonteCarlo``.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.load_digits_predictions()["naive Bayes"]
    >>> ct.MonteCarloTest(ct.ECE(), n_resamples=99)(*ct.top_label(p, y), rng=1).pvalue
    0.01
    """

    def __init__(self, estimator: Estimator, n_resamples: int = 999) -> None:
        super().__init__(estimator, ConditionalMonteCarlo(n_resamples))


class OmnibusTest(CalibrationTest):
    """Exact test with kernels, scores and likelihood ratios together, the default test. See ``Omnibus``.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.load_digits_predictions()["random forest"]
    >>> result = ct.OmnibusTest(n_resamples=99)(p, y, rng=1)
    >>> result.pvalue, result.finding
    (0.01, 'predictions are underconfident: outcomes follow them at temperature 0.33')
    """

    def __init__(self, kernel: ProductKernel | None = None, n_resamples: int = 999) -> None:
        super().__init__(Omnibus(kernel), ConditionalMonteCarlo(n_resamples))


class LikelihoodRatioTest(CalibrationTest):
    """Exact test of a list of alternatives, with p-values far below 1 / (B + 1). See ``ImportanceSampling``.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.load_digits_predictions()["naive Bayes"]
    >>> ct.LikelihoodRatioTest(n_resamples=99)(p, y, rng=1).pvalue < 1e-50
    True
    """

    def __init__(self, n_resamples: int = 999) -> None:
        super().__init__(LogLikelihoodRatio(), ImportanceSampling(n_resamples))


class PearsonSKCETest(CalibrationTest):
    """Unbiased SKCE with its variance and skewness given the predictions, without redraws. See ``PearsonNull``.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.load_digits_predictions()["naive Bayes"]
    >>> ct.PearsonSKCETest(p.default_kernel())(p, y).pvalue < 1e-10
    True
    """

    def __init__(self, kernel: ProductKernel) -> None:
        super().__init__(SKCE(kernel), PearsonNull())


class ConsistencyTest(CalibrationTest):
    """Consistency resampling as published, kept to reproduce papers. See ``ConsistencyResampling`` for its faults.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.load_digits_predictions()["naive Bayes"]
    >>> ct.ConsistencyTest(ct.ECE(), n_resamples=99)(*ct.top_label(p, y), rng=1).pvalue
    0.01
    """

    def __init__(self, estimator: Estimator, n_resamples: int = 1000) -> None:
        super().__init__(estimator, ConsistencyResampling(n_resamples))


class DistributionFreeSKCETest(CalibrationTest):
    """Bound of the p-value that holds for all n and all distributions. See ``DistributionFreeBound``.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.load_digits_predictions()["naive Bayes"]
    >>> result = ct.DistributionFreeSKCETest(ct.SKCE(p.default_kernel(), unbiased=False))(p, y)
    >>> round(result.pvalue, 6)
    0.560061
    """

    def __init__(self, estimator: Estimator) -> None:
        super().__init__(estimator, DistributionFreeBound())


class AsymptoticSKCETest(CalibrationTest):
    """Unbiased SKCE with the Arcones-Gine bootstrap. See ``ArconesGineBootstrap``.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.load_digits_predictions()["naive Bayes"]
    >>> ct.AsymptoticSKCETest(p.default_kernel(), n_resamples=99)(p, y, rng=1).pvalue
    0.01
    """

    def __init__(self, kernel: PairKernel, n_resamples: int = 1000) -> None:
        super().__init__(SKCE(kernel), ArconesGineBootstrap(n_resamples))


class AsymptoticBlockSKCETest(CalibrationTest):
    """SKCE of blocks with its normal limit; ``block_size=2`` is the linear estimator. See ``NormalNull``.

    Larger blocks find more, as long as there are many of them: sqrt(n) is a good size for thousands of
    observations, 2 is the least powerful choice.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.load_digits_predictions()["naive Bayes"]
    >>> result = ct.AsymptoticBlockSKCETest(p.default_kernel(), block_size=30)(p, y)
    >>> round(result.pvalue, 7)
    4.69e-05
    """

    def __init__(self, kernel: PairKernel, block_size: int = 2, *, population_variance: bool = False) -> None:
        super().__init__(BlockSKCE(kernel, block_size), NormalNull(population_variance))


class AsymptoticCMETest(CalibrationTest):
    """Calibration mean embedding test with Hotelling's T-squared. See ``HotellingNull``.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.load_digits_predictions()["naive Bayes"]
    >>> ucme = ct.UCME(p.default_kernel(), test_predictions=p.take(slice(0, 3)), test_targets=[0, 1, 2])
    >>> ct.AsymptoticCMETest(ucme)(p, y).df
    (3.0, 896.0)
    """

    def __init__(self, ucme: UCME, distribution: Literal["F", "chi2"] = "F") -> None:
        super().__init__(ucme, HotellingNull(distribution))


def calibration_test(
    predictions: ArrayLike,
    targets: ArrayLike,
    *,
    kernel: PairKernel | None = None,
    n_resamples: int = 999,
    classes: Sequence[Any] | None = None,
    rng: Any = None,
    progress: bool = False,
) -> CalibrationTestResult:
    """Test whether predictions are calibrated, with a p-value that is valid for every sample size.

    The test combines kernel errors of several bandwidths, scores and the likelihood ratio of common errors, each
    compared with its values for targets redrawn from the predictions (``OmnibusTest``). The result says which of them
    speaks most against calibration, and in which direction.

    Parameters
    ----------
    predictions
        ``Predictions``, or what becomes some: an array-like of (n, k) probabilities of k classes or (n,)
        probabilities of class 1, a distribution of scipy.stats or torch.distributions with parameters (n,), e.g.
        ``scipy.stats.norm(mean, scale)``, or a list of n of them.
    targets
        Outcomes: (n,) labels 0..k-1, 0/1 or booleans, counts or real numbers; (n, d) for predictions of vectors.
    kernel
        Test with the unbiased squared kernel calibration error of this kernel alone (``MonteCarloTest(SKCE(kernel))``).
        By default kernels are that of the family, with the median bandwidth, and others: ``exp(-TV / median)`` times
        ``[y = y']`` for classes, ``exp(-W2 / median)`` times a Gaussian kernel of the targets for normal distributions;
        ``default_kernel()`` of the predictions returns it. Where most predictions are identical the median of the
        positive distances is used, and the result says so.
    n_resamples
        Number of redraws; the smallest possible p-value is 1 / (n_resamples + 1), or 0 if an outcome occurred that its
        prediction excludes.
    classes
        Names of the classes in the order of the columns, if the targets are names.
    rng
        Seed or ``numpy.random.Generator``.
    progress
        Show a progress bar on standard error for what takes more than a second.

    Returns
    -------
    CalibrationTestResult
        ``print`` it for a report.

    Raises
    ------
    ValueError
        For bad data.
    TypeError
        For swapped arguments or an unsuitable kernel.

    Notes
    -----
    Assumes that the targets are independent given the predictions and were not used to fit the model. Time O(n**2) for
    up to 10 000 predictions of classes or 500 of real targets, O(n n_resamples) for more and for binary predictions;
    memory O(n n_resamples). See ``Omnibus`` and ``ConditionalMonteCarlo``.

    Examples
    --------
    >>> import caltest as ct
    >>> predictions, labels = ct.load_digits_predictions()["random forest"]
    >>> result = ct.calibration_test(predictions, labels, rng=1)
    >>> result.pvalue, result.finding
    (0.001, 'predictions are underconfident: outcomes follow them at temperature 0.33')
    """
    sample = as_sample(predictions, targets, classes)
    at_least(len(sample), 2, "the unbiased SKCE")
    if kernel is not None:
        return MonteCarloTest(SKCE(kernel), n_resamples).on(sample, rng=rng, progress=progress)
    with progress_bars(switch("progress", progress)):
        chosen, notes = default_kernel(sample.predictions)
    result = OmnibusTest(chosen, n_resamples).on(sample, rng=rng, progress=progress)
    return replace(result, notes=(*result.notes, *notes))


def default_kernel(predictions: Predictions) -> tuple[ProductKernel, tuple[str, ...]]:
    """The kernel of the family, and a note where most predictions are identical so that the median distance is 0."""
    kernel = predictions.default_kernel()
    try:
        return kernel.resolve(predictions), median_notes(kernel, len(predictions))
    except ZeroBandwidth:
        metric_kernel = kernel.prediction_kernel
    assert isinstance(metric_kernel, RadialKernel)
    metric_kernel = metric_kernel.resolve_metric(predictions)
    bandwidth = predictions.median_positive_distance(metric_kernel.metric)
    note = "more than half of the pairs of predictions are identical; the bandwidth is the median of the others"
    return ProductKernel(metric_kernel.with_bandwidth(bandwidth), kernel.target_kernel), (note,)
