"""Named tests: names for pairs of an estimator and a null, such as ``OmnibusTest``, and the test of data in chunks.

Most are at the front door too. Those of classical statistics are to compare with published p-values, with the law of
the literature; ``MonteCarloTest`` of their estimator is exact. A test of your own is a pair:
``ct.CalibrationTest(estimator, null)``.
"""

from typing import Any, Literal

from caltest import estimators, nulls
from caltest._basics.numerics import ArrayLike
from caltest.binning import UniformBinning
from caltest.calibration_accumulator import CalibrationTestAccumulator as CalibrationTestAccumulator
from caltest.estimators.kernel_errors.kernel_estimator import FAMILY_KERNEL
from caltest.hypothesis_test import CalibrationTest
from caltest.kernels import PairKernel, ProductKernel


class MonteCarloTest(CalibrationTest):
    """Exact test with any estimator: the targets are redrawn from the predictions.

    See ``ct.nulls.ConditionalMonteCarlo``.

    Parameters
    ----------
    estimator
        Which error is tested, one of ``ct.estimators``.
    n_resamples
        Redraws B of the outcomes; the smallest possible p-value is 1 / (B + 1).

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["naive Bayes"]
    >>> ct.MonteCarloTest(ct.ECE(), n_resamples=99)(*ct.top_label(p, y), rng=1).pvalue
    0.01
    """

    def __init__(self, estimator: estimators.Estimator, n_resamples: int = 999) -> None:
        super().__init__(estimator, nulls.ConditionalMonteCarlo(n_resamples))


class OmnibusTest(CalibrationTest):
    """Exact test with kernels, scores and likelihood ratios together, the default test.

    See ``ct.estimators.Omnibus``.

    Parameters
    ----------
    kernel
        Product kernel whose error is one of the components; by default that of the family of the predictions.
    n_resamples
        Redraws B of the outcomes; the smallest possible p-value is 1 / (B + 1).
    weights, features
        As in ``calibration_test``, but weights are above 0.
    clusters
        As in ``estimators.Omnibus``: p-values are then not exact but those of ``ct.nulls.ClusterBootstrap``.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> result = ct.OmnibusTest(n_resamples=99)(p, y, rng=1)
    >>> result.pvalue, result.finding.kind, round(result.finding.estimate, 2)
    (0.01, 'temperature', 0.24)
    """

    def __init__(
        self,
        kernel: ProductKernel | None = None,
        n_resamples: int = 999,
        weights: ArrayLike = None,
        features: Any = None,
        clusters: ArrayLike = None,
    ) -> None:
        null = nulls.ConditionalMonteCarlo if clusters is None else nulls.ClusterBootstrap
        super().__init__(estimators.Omnibus(kernel, weights, features, clusters), null(n_resamples))


class LikelihoodRatioTest(CalibrationTest):
    """Exact test against a list of alternatives, with p-values far below 1 / (B + 1).

    See ``ct.nulls.ImportanceSampling``.

    It says how small a tiny p-value is, and can miss faults that none of the alternatives resembles.

    Parameters
    ----------
    n_resamples
        Redraws B from the alternatives.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["naive Bayes"]
    >>> ct.LikelihoodRatioTest(n_resamples=99)(p, y, rng=1).pvalue < 1e-50
    True
    """

    def __init__(self, n_resamples: int = 999) -> None:
        super().__init__(estimators.LogLikelihoodRatio(), nulls.ImportanceSampling(n_resamples))


class PearsonSKCETest(CalibrationTest):
    """Unbiased SKCE with its variance and skewness given the predictions, without redraws.

    See ``ct.nulls.PearsonNull``.

    For small p-values of a kernel error where redraws would take too long.

    Parameters
    ----------
    kernel
        Of predictions and targets; by default that of the family of the predictions.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["naive Bayes"]
    >>> ct.PearsonSKCETest()(p, y).pvalue < 1e-10
    True
    """

    def __init__(self, kernel: PairKernel = FAMILY_KERNEL) -> None:
        super().__init__(estimators.SKCE(kernel), nulls.PearsonNull())


class ConsistencyTest(CalibrationTest):
    """Consistency resampling as published, kept to reproduce papers.

    See ``ct.nulls.ConsistencyResampling``.

    Parameters
    ----------
    estimator
        One of ``ct.estimators``.
    n_resamples
        Redraws of predictions and outcomes.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["naive Bayes"]
    >>> ct.ConsistencyTest(ct.ECE(), n_resamples=99)(*ct.top_label(p, y), rng=1).pvalue
    0.01
    """

    def __init__(self, estimator: estimators.Estimator, n_resamples: int = 999) -> None:
        super().__init__(estimator, nulls.ConsistencyResampling(n_resamples))


class DistributionFreeSKCETest(CalibrationTest):
    """Bound of the p-value that holds for all n and all distributions.

    See ``ct.nulls.DistributionFreeBound``.

    For predictions that cannot be drawn from, with independent outcomes. It has little power; where it does not reject,
    a note says how large an error it would have rejected.

    Parameters
    ----------
    estimator
        ``SKCE(kernel)``, ``SKCE(kernel, unbiased=False)`` or ``BlockSKCE(kernel, block_size)``.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["naive Bayes"]
    >>> result = ct.DistributionFreeSKCETest(ct.SKCE(unbiased=False))(p, y)
    >>> round(result.pvalue, 6)
    0.560061
    """

    def __init__(self, estimator: estimators.Estimator) -> None:
        super().__init__(estimator, nulls.DistributionFreeBound())


class AsymptoticSKCETest(CalibrationTest):
    """Unbiased SKCE with the Arcones-Gine bootstrap.

    See ``ct.nulls.ArconesGineBootstrap``.

    To follow the papers, and for predictions that cannot be drawn from; elsewhere ``MonteCarloTest`` is exact.

    Parameters
    ----------
    kernel
        Of predictions and targets; by default that of the family of the predictions.
    n_resamples
        Bootstrap redraws B; the smallest possible p-value is 1 / (B + 1).
    known_variance
        Give the redraws at least the variance that follows from the predictions; without it, as published, predictions
        of rare events are rejected too often.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["naive Bayes"]
    >>> ct.AsymptoticSKCETest(n_resamples=99)(p, y, rng=1).pvalue
    0.01
    """

    def __init__(
        self, kernel: PairKernel = FAMILY_KERNEL, n_resamples: int = 999, *, known_variance: bool = True
    ) -> None:
        super().__init__(estimators.SKCE(kernel), nulls.ArconesGineBootstrap(n_resamples, known_variance))


class AsymptoticBlockSKCETest(CalibrationTest):
    """SKCE of blocks with its normal limit; ``block_size=2`` is the linear estimator.

    See ``ct.nulls.NormalNull``.

    Larger blocks find more, as long as there are many of them: sqrt(n) is a good size for thousands of
    observations, 2 is the least powerful choice.

    Parameters
    ----------
    kernel
        Of predictions and targets; by default that of the family of the predictions.
    block_size
        Observations of a block, at least 2.
    population_variance
        Divide by the number of blocks in their variance, as the software of the 2019 paper did, instead of one less.
    known_variance
        As in ``AsymptoticSKCETest``, for the variance of the blocks.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["naive Bayes"]
    >>> result = ct.AsymptoticBlockSKCETest(block_size=30)(p, y)
    >>> round(result.pvalue, 7)
    4.69e-05
    """

    def __init__(
        self,
        kernel: PairKernel = FAMILY_KERNEL,
        block_size: int = 2,
        *,
        population_variance: bool = False,
        known_variance: bool = True,
    ) -> None:
        super().__init__(
            estimators.BlockSKCE(kernel, block_size), nulls.NormalNull(population_variance, known_variance)
        )


class AsymptoticCMETest(CalibrationTest):
    """Calibration mean embedding test with Hotelling's T-squared.

    See ``ct.nulls.HotellingNull``.

    To follow the paper; ``ScoreCMETest`` is the exact test of the same locations.

    Parameters
    ----------
    ucme
        Kernel and test locations, chosen without the outcomes that are tested.
    distribution
        ``"F"``, or ``"chi2"`` as in the paper.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["naive Bayes"]
    >>> ucme = ct.UCME(p.default_kernel(), test_predictions=p.take(slice(0, 3)), test_targets=[0, 1, 2])
    >>> ct.AsymptoticCMETest(ucme)(p, y).df
    (3.0, 896.0)
    """

    def __init__(self, ucme: estimators.UCME, distribution: Literal["F", "chi2"] = "F") -> None:
        super().__init__(ucme, nulls.HotellingNull(distribution))


class ClusterSKCETest(CalibrationTest):
    """Unbiased SKCE of the pairs between clusters, with a random sign for each cluster.

    See ``ct.nulls.ClusterBootstrap``.

    For outcomes that depend on each other within clusters: patients, households, days. With two labels for each row,
    patient and day say, outcomes may depend on each other where they share either (``estimators.ClusterSKCE``).

    Parameters
    ----------
    clusters
        (n,) labels, or two of them for each row.
    kernel
        Of predictions and targets; by default that of the family of the predictions.
    n_resamples
        Redraws of the signs; with C clusters the p-value cannot be below about 2 / 2**C either.

    Examples
    --------
    >>> import caltest as ct
    >>> import numpy as np
    >>> p, y = ct.datasets.load_digits_predictions()["naive Bayes"]
    >>> ct.ClusterSKCETest(np.arange(899) // 3, n_resamples=99)(p, y, rng=1).pvalue
    0.01
    >>> patient, day = np.arange(899) // 3, np.arange(899) % 60
    >>> ct.ClusterSKCETest((patient, day), n_resamples=99)(p, y, rng=1).pvalue
    0.01
    """

    def __init__(self, clusters: ArrayLike, kernel: PairKernel = FAMILY_KERNEL, n_resamples: int = 999) -> None:
        super().__init__(estimators.ClusterSKCE(kernel, clusters), nulls.ClusterBootstrap(n_resamples))


class ClusterLikelihoodRatioTest(CalibrationTest):
    """Bound of the p-value for any dependence within independent clusters.

    See ``ct.estimators.ClusterLikelihoodRatio``.

    For a few clusters or tiny p-values, where the signs of ``ClusterSKCETest`` are too few.

    Parameters
    ----------
    clusters
        (n,) labels of rows.

    Examples
    --------
    >>> import caltest as ct
    >>> import numpy as np
    >>> p, y = ct.datasets.load_digits_predictions()["naive Bayes"]
    >>> ct.named_tests.ClusterLikelihoodRatioTest(np.arange(899) // 3)(p, y).pvalue < 1e-9
    True
    """

    def __init__(self, clusters: ArrayLike) -> None:
        super().__init__(estimators.ClusterLikelihoodRatio(clusters), nulls.EValueBound())


class CertifiedCrossSKCETest(CalibrationTest):
    """SKCE between two halves with a p-value that is valid for every n, however small.

    See ``ct.nulls.CrossChernoffBound``.

    For tiny p-values of local errors that no alternative of ``LikelihoodRatioTest`` resembles.

    Parameters
    ----------
    kernel
        Of predictions and targets; by default that of the family of the predictions.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["naive Bayes"]
    >>> result = ct.named_tests.CertifiedCrossSKCETest()(p, y)
    >>> result.pvalue_kind, result.pvalue < 1e-100
    ('bound', True)
    """

    def __init__(self, kernel: PairKernel = FAMILY_KERNEL) -> None:
        super().__init__(estimators.CrossSKCE(kernel), nulls.CrossChernoffBound())


class ScoreCMETest(CalibrationTest):
    """Exact test of the mean embedding at test locations with its known covariance.

    See ``ct.nulls.KnownCovarianceMonteCarlo``.

    To see at which test locations predictions fail.

    Parameters
    ----------
    ucme
        As in ``AsymptoticCMETest``.
    n_resamples
        Redraws B of the outcomes; the smallest possible p-value is 1 / (B + 1).

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["naive Bayes"]
    >>> ucme = ct.UCME(p.default_kernel(), test_predictions=p.take(slice(0, 3)), test_targets=[0, 1, 2])
    >>> ct.ScoreCMETest(ucme, n_resamples=99)(p, y, rng=1).pvalue
    0.01
    """

    def __init__(self, ucme: estimators.UCME, n_resamples: int = 999) -> None:
        super().__init__(ucme, nulls.KnownCovarianceMonteCarlo(n_resamples))


class ToleranceTest(CalibrationTest):
    """Test of the hypothesis that the kernel calibration error is at most a margin; rejecting it shows a large error.

    See ``ct.nulls.ToleranceNull``.

    Parameters
    ----------
    margin
        Of the kernel calibration error (KCE, the root of the SKCE): above 0 and below its largest value, sqrt(2) for
        the default kernel of classes.
    kernel
        Of predictions and targets; by default that of the family of the predictions.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["naive Bayes"]
    >>> ct.ToleranceTest(margin=0.05)(p, y).verdict()
    'the calibration error is above the margin, at the 5 % level'
    """

    def __init__(self, margin: float, kernel: PairKernel = FAMILY_KERNEL) -> None:
        super().__init__(estimators.SKCE(kernel), nulls.ToleranceNull(margin))


class EquivalenceTest(CalibrationTest):
    """Test of the hypothesis that the kernel calibration error is at least a margin; rejecting it shows a small error.

    See ``ct.nulls.EquivalenceNull``.

    Parameters
    ----------
    margin, kernel
        As in ``ToleranceTest``.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["neural network"]
    >>> ct.EquivalenceTest(margin=0.05)(p, y).verdict()
    'the calibration error is below the margin, at the 5 % level'
    """

    def __init__(self, margin: float, kernel: PairKernel = FAMILY_KERNEL) -> None:
        super().__init__(estimators.SKCE(kernel), nulls.EquivalenceNull(margin))


class BinnedEquivalenceTest(CalibrationTest):
    """Test that shows that the binned error is below a margin, for every n.

    See ``ct.nulls.BinnedEquivalenceBound``.

    Parameters
    ----------
    margin
        Of the ECE, in total variation, between 0 and 1: 0.05 are 5 percentage points.
    n_bins
        Bins of equal width.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["neural network"]
    >>> ct.named_tests.BinnedEquivalenceTest(margin=0.15)(*ct.top_label(p, y)).pvalue < 0.01
    True
    """

    def __init__(self, margin: float, n_bins: int = 10) -> None:
        super().__init__(estimators.ECE(UniformBinning(n_bins)), nulls.BinnedEquivalenceBound(margin))


class CoxTest(CalibrationTest):
    """Likelihood ratio test of the intercept and the slope of the log-odds.

    See ``ct.estimators.CoxCalibration``.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> ct.CoxTest()(*ct.top_label(p, y)).df
    (2.0,)
    """

    def __init__(self) -> None:
        super().__init__(estimators.CoxCalibration(), nulls.TextbookNull())


class ECCETest(CalibrationTest):
    """Test of cumulative differences with the law of a Brownian motion.

    See ``ct.estimators.ECCE``.

    Parameters
    ----------
    statistic
        ``"MAD"``, the largest absolute cumulative difference, or ``"R"``, their range.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> ct.ECCETest("R")(*ct.top_label(p, y)).pvalue < 1e-9
    True
    """

    def __init__(self, statistic: Literal["MAD", "R"] = "MAD") -> None:
        super().__init__(estimators.ECCE(statistic), nulls.TextbookNull())


class HosmerLemeshowTest(CalibrationTest):
    """Chi-squared test of the events in groups of predictions.

    See ``ct.estimators.HosmerLemeshow``.

    Parameters
    ----------
    n_bins
        Groups of equal size, of predictions in their order.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> ct.HosmerLemeshowTest(n_bins=5)(*ct.top_label(p, y)).pvalue < 1e-9
    True
    """

    def __init__(self, n_bins: int = 10) -> None:
        super().__init__(estimators.HosmerLemeshow(n_bins), nulls.TextbookNull())


class LogScoreTest(CalibrationTest):
    """Two-sided normal test of the log loss.

    See ``ct.estimators.ExcessLogScore``.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> ct.LogScoreTest()(p, y).pvalue < 1e-9
    True
    """

    def __init__(self) -> None:
        super().__init__(estimators.ExcessLogScore(), nulls.TextbookNull())


class PITTest(CalibrationTest):
    """Test of the uniform law of probability integral transforms, without redraws.

    See ``ct.estimators.PIT``.

    The usual check of forecasts of numbers. It looks at all outcomes together, and cannot see errors that cancel.

    Parameters
    ----------
    statistic
        ``"KS"`` (Kolmogorov-Smirnov), ``"CvM"`` (Cramer-von Mises), ``"AD"`` (Anderson-Darling), or a combination of
        p-values of single transforms: ``"POT"``, ``"PRIT"``, ``"PIET"``, ``"PITOS"``.

    Examples
    --------
    >>> import caltest as ct
    >>> ct.PITTest("KS")(ct.Poisson([3.0, 1.0, 8.0]), [2, 0, 30], rng=1).pvalue_kind
    'exact'
    """

    def __init__(self, statistic: Literal["KS", "CvM", "AD", "POT", "PRIT", "PIET", "PITOS"] = "KS") -> None:
        super().__init__(estimators.PIT(statistic), nulls.TextbookNull())


class QuantileCalibrationTest(CalibrationTest):
    """Chi-squared test of the outcomes between predicted quantiles.

    See ``ct.estimators.QuantileCalibration``.

    Parameters
    ----------
    levels
        Increasing numbers between 0 and 1; by default 0.1, ..., 0.9, or those of a ``QuantileForecast``.

    Examples
    --------
    >>> import caltest as ct
    >>> forecast = ct.QuantileForecast([0.25, 0.75], [[0.0, 1.0], [2.0, 3.0], [1.0, 1.5], [0.5, 2.0]])
    >>> round(ct.QuantileCalibrationTest()(forecast, [-1.0, 2.5, 1.2, 3.0]).statistic, 12)
    0.0
    """

    def __init__(self, levels: Any = None) -> None:
        super().__init__(estimators.QuantileCalibration(levels), nulls.TextbookNull())


class SpiegelhalterTest(CalibrationTest):
    """Two-sided normal test of the Brier score.

    See ``ct.estimators.ExcessBrierScore``.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> ct.SpiegelhalterTest()(*ct.top_label(p, y)).pvalue < 1e-9
    True
    """

    def __init__(self) -> None:
        super().__init__(estimators.ExcessBrierScore(), nulls.TextbookNull())


__all__ = sorted(name for name in globals() if name.endswith(("Test", "Accumulator")) and name != "CalibrationTest")
