"""Statistical hypothesis tests of calibration: whether predicted probabilities can be taken at face value.

Glossary, from the symbols in the papers to the names here:

====================================  ============================  ===================================
P_X, g(X): prediction                 ``Categorical``, ``Normal``   ``caltest.predictions``
Y: target, label                      ``targets``                   ``caltest.predictions.base.Sample``
Z_X, drawn from P_X                   ``Predictions.sample``        ``caltest.predictions.base``
k_P, k_Y, k = k_P x k_Y               ``ProductKernel``             ``caltest.kernels.product``
sum_i k_i A_i: matrix-valued kernel   ``MatrixKernel``              ``caltest.kernels.matrix``
E k(Z, y), E k(Z, Z')                 ``expected_kernel``           ``caltest.predictions.base``
B_{p;q}: bound of h                   ``h_bound``                   ``caltest.hstatistics.bound``
W_2, MW_2                             ``Wasserstein``               ``caltest.kernels.metrics``
nu, lambda: bandwidth                 ``bandwidth``                 ``caltest.kernels.radial``
h((p, y), (p', y'))                   ``h_tile``                    ``caltest.hstatistics.tiles``
SKCE, SKCE_b, SKCE_uq                 ``SKCE``                      ``caltest.estimators.skce``
SKCE_ul, SKCE_{k,B}: blocks           ``BlockSKCE``                 ``caltest.estimators.skce``
SKCE with landmarks, for large n      ``LowRankSKCE``               ``caltest.estimators.low_rank``
UCME, test locations T_j              ``UCME``                      ``caltest.estimators.ucme``
ECE                                   ``ECE``                       ``caltest.estimators.ece``
MMCE                                  ``MMCE``                      ``caltest.estimators.mmce``
D_b, D_uq, D_l: bounds                ``DistributionFreeBound``     ``caltest.nulls.distribution_free``
A_l: normal limit                     ``NormalNull``                ``caltest.nulls.normal``
A_uq: bootstrap                       ``ArconesGineBootstrap``      ``caltest.nulls.bootstrap``
C: consistency resampling             ``ConsistencyResampling``     ``caltest.nulls.consistency``
E: likelihood ratio, e-value          ``LogLikelihoodRatio``        ``caltest.estimators.likelihood_ratio``
Q_n: CME test                         ``HotellingNull``             ``caltest.nulls.hotelling``
eigenvalues of h: limit law           ``SpectralNull``              ``caltest.nulls.spectral``
pairs between two halves              ``CrossSKCE``                 ``caltest.estimators.cross``
E_t: martingale, evidence over time   ``SequentialCalibrationTest`` ``caltest.sequential``
k_G: groups, multicalibration         ``GroupSKCE``                 ``caltest.estimators.groups``
s_p: score, KCCSD                     ``Unnormalised``              ``caltest.predictions.unnormalised``
====================================  ============================  ===================================
"""

from caltest import generators
from caltest.binning import Binning, MedianVarianceBinning, QuantileBinning, UniformBinning
from caltest.calibration_accumulator import CalibrationTestAccumulator
from caltest.calibration_test import CalibrationTest
from caltest.datasets import load_digits_predictions
from caltest.default_test import calibration_test
from caltest.estimators import (
    ECE,
    MMCE,
    SKCE,
    UCME,
    BlockSKCE,
    ClusterCrossSKCE,
    ClusterLikelihoodRatio,
    ClusterSKCE,
    CrossSKCE,
    EstimateAccumulator,
    Estimator,
    ExcessBrierScore,
    ExcessLogScore,
    GroupMaximum,
    GroupSKCE,
    LogLikelihoodRatio,
    LowRankSKCE,
    MaxSKCE,
    Omnibus,
    ResidualMean,
    ResidualSpread,
    WeightedSKCE,
    one_per_cluster,
)
from caltest.group_result import GroupCalibrationTestResult, GroupResult
from caltest.group_test import GroupCalibrationTest, calibration_by_group
from caltest.kernels import (
    MMD,
    Cityblock,
    DeltaKernel,
    EnergyDistance,
    Euclidean,
    ExponentialKernel,
    GaussianKernel,
    KernelWarning,
    LaplacianKernel,
    MaternKernel,
    MatrixKernel,
    MixtureWasserstein,
    ProductKernel,
    RationalQuadraticKernel,
    SquaredEuclidean,
    SumKernel,
    SumOfProducts,
    TotalVariation,
    Wasserstein,
    Wasserstein1,
)
from caltest.named_tests import (
    AsymptoticBlockSKCETest,
    AsymptoticCMETest,
    AsymptoticSKCETest,
    CertifiedCrossSKCETest,
    ClusterLikelihoodRatioTest,
    ClusterSKCETest,
    ConditionalSpectralSKCETest,
    ConsistencyTest,
    CrossSKCETest,
    DistributionFreeSKCETest,
    GammaSKCETest,
    LikelihoodRatioTest,
    MonteCarloTest,
    MultiplierSKCETest,
    OmnibusTest,
    PearsonSKCETest,
    ScoreCMETest,
    SpectralSKCETest,
    StudentisedCrossSKCETest,
)
from caltest.nulls import (
    ArconesGineBootstrap,
    ClusterBootstrap,
    ConditionalMonteCarlo,
    ConditionalSpectralNull,
    ConsistencyResampling,
    CrossChernoffBound,
    CrossNormalNull,
    CrossSaddlepointNull,
    DistributionFreeBound,
    EValueBound,
    GammaNull,
    HotellingNull,
    ImportanceSampling,
    KnownCovarianceMonteCarlo,
    KnownCovarianceNull,
    MultiplierBootstrap,
    NormalNull,
    Null,
    PearsonNull,
    SpectralNull,
)
from caltest.predictions import (
    Bernoulli,
    Beta,
    Categorical,
    ClosedFormMissing,
    Ensemble,
    Gamma,
    Laplace,
    LogNormal,
    Mixture,
    MvNormal,
    NegativeBinomial,
    Normal,
    Ordinal,
    Poisson,
    Predictions,
    QuantileForecast,
    Residuals,
    StudentT,
    Unnormalised,
    classwise,
    median_bandwidth,
    pit_values,
    standardised_residuals,
    top_label,
)
from caltest.result import CalibrationTestResult, ComponentResult, ConfidenceInterval
from caltest.sequential import SequentialCalibrationTest, SequentialTestResult
from caltest.studies import PowerCurve, PowerResult, SampleSize, power, power_curve, sample_size

__version__ = "0.1.0"

__all__ = [
    "ECE",
    "MMCE",
    "MMD",
    "SKCE",
    "UCME",
    "ArconesGineBootstrap",
    "AsymptoticBlockSKCETest",
    "AsymptoticCMETest",
    "AsymptoticSKCETest",
    "Bernoulli",
    "Beta",
    "Binning",
    "BlockSKCE",
    "CalibrationTest",
    "CalibrationTestAccumulator",
    "CalibrationTestResult",
    "Categorical",
    "CertifiedCrossSKCETest",
    "Cityblock",
    "ClosedFormMissing",
    "ClusterBootstrap",
    "ClusterCrossSKCE",
    "ClusterLikelihoodRatio",
    "ClusterLikelihoodRatioTest",
    "ClusterSKCE",
    "ClusterSKCETest",
    "ComponentResult",
    "ConditionalMonteCarlo",
    "ConditionalSpectralNull",
    "ConditionalSpectralSKCETest",
    "ConfidenceInterval",
    "ConsistencyResampling",
    "ConsistencyTest",
    "CrossChernoffBound",
    "CrossNormalNull",
    "CrossSKCE",
    "CrossSKCETest",
    "CrossSaddlepointNull",
    "DeltaKernel",
    "DistributionFreeBound",
    "DistributionFreeSKCETest",
    "EValueBound",
    "EnergyDistance",
    "Ensemble",
    "EstimateAccumulator",
    "Estimator",
    "Euclidean",
    "ExcessBrierScore",
    "ExcessLogScore",
    "ExponentialKernel",
    "Gamma",
    "GammaNull",
    "GammaSKCETest",
    "GaussianKernel",
    "GroupCalibrationTest",
    "GroupCalibrationTestResult",
    "GroupMaximum",
    "GroupResult",
    "GroupSKCE",
    "HotellingNull",
    "ImportanceSampling",
    "KernelWarning",
    "KnownCovarianceMonteCarlo",
    "KnownCovarianceNull",
    "Laplace",
    "LaplacianKernel",
    "LikelihoodRatioTest",
    "LogLikelihoodRatio",
    "LogNormal",
    "LowRankSKCE",
    "MaternKernel",
    "MatrixKernel",
    "MaxSKCE",
    "MedianVarianceBinning",
    "Mixture",
    "MixtureWasserstein",
    "MonteCarloTest",
    "MultiplierBootstrap",
    "MultiplierSKCETest",
    "MvNormal",
    "NegativeBinomial",
    "Normal",
    "NormalNull",
    "Null",
    "Omnibus",
    "OmnibusTest",
    "Ordinal",
    "PearsonNull",
    "PearsonSKCETest",
    "Poisson",
    "PowerCurve",
    "PowerResult",
    "Predictions",
    "ProductKernel",
    "QuantileBinning",
    "QuantileForecast",
    "RationalQuadraticKernel",
    "ResidualMean",
    "ResidualSpread",
    "Residuals",
    "SampleSize",
    "ScoreCMETest",
    "SequentialCalibrationTest",
    "SequentialTestResult",
    "SpectralNull",
    "SpectralSKCETest",
    "SquaredEuclidean",
    "StudentT",
    "StudentisedCrossSKCETest",
    "SumKernel",
    "SumOfProducts",
    "TotalVariation",
    "UniformBinning",
    "Unnormalised",
    "Wasserstein",
    "Wasserstein1",
    "WeightedSKCE",
    "calibration_by_group",
    "calibration_test",
    "classwise",
    "generators",
    "load_digits_predictions",
    "median_bandwidth",
    "one_per_cluster",
    "pit_values",
    "power",
    "power_curve",
    "sample_size",
    "standardised_residuals",
    "top_label",
]
