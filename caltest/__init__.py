"""Statistical hypothesis tests of calibration: whether predicted probabilities can be taken at face value.

Glossary, from the symbols in the papers to the names here:

====================================  ============================= ===================================
P_X, g(X): prediction                 ``Categorical``, ``Normal``   ``caltest.predictions``
Y: target, label                      ``targets``                   ``caltest.predictions.sample.Sample``
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
h(p, p'), R_CE(h): squared errors     ``ErrorFunction``             ``caltest.risk.base``
h_bin, h_kde, h_kkr, h_ukkr           ``BinnedErrorFunction``, ...  ``caltest.risk``
E_t: martingale, evidence over time   ``SequentialCalibrationTest`` ``caltest.sequential``
k_G: groups, multicalibration         ``GroupSKCE``                 ``caltest.estimators.groups``
s_p: score, KCCSD                     ``Unnormalised``              ``caltest.predictions.unnormalised``
====================================  ============================= ===================================
"""

from importlib import import_module
from types import ModuleType
from typing import Any

from caltest import generators
from caltest.binning import Binning, EdgeBinning, MedianVarianceBinning, QuantileBinning, UniformBinning
from caltest.calibration_accumulator import CalibrationTestAccumulator
from caltest.calibration_test import CalibrationTest
from caltest.comparisons import (
    ComparedModel,
    ComparedPair,
    ModelComparison,
    PairComparison,
    PairedSKCETest,
    compare_classes,
    compare_models,
    compare_pairs,
)
from caltest.datasets import load_digits_predictions
from caltest.decompositions import ConfidenceErrors, ScoreDecomposition, confidence_errors, score_decomposition
from caltest.default_test import calibration_test
from caltest.estimators import (
    ECCE,
    ECE,
    MCE,
    MMCE,
    PIT,
    SKCE,
    UCME,
    BlockSKCE,
    CalibrationBelt,
    ClasswiseECE,
    ClusterLikelihoodRatio,
    ClusterSKCE,
    CORPMiscalibration,
    CoxCalibration,
    CoxCalibrationResult,
    DebiasedSquaredECE,
    EstimateAccumulator,
    Estimator,
    ExcessBrierScore,
    ExcessLogScore,
    GroupMaximum,
    GroupSKCE,
    HosmerLemeshow,
    LogLikelihoodRatio,
    LowRankSKCE,
    MaxSKCE,
    Omnibus,
    QuantileCalibration,
    ResidualMean,
    ResidualSpread,
    TCal,
    WeightedSKCE,
    cox_calibration,
    one_per_cluster,
)
from caltest.group_test import GroupCalibrationTest, calibration_by_group
from caltest.intervals import binned_error_interval, distribution_free_interval, ece_interval, skce_interval
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
from caltest.named_tests.classical import (
    CoxTest,
    ECCETest,
    HosmerLemeshowTest,
    LogScoreTest,
    PITTest,
    QuantileCalibrationTest,
    SpiegelhalterTest,
)
from caltest.named_tests.kernels import (
    AsymptoticBlockSKCETest,
    AsymptoticCMETest,
    AsymptoticSKCETest,
    ClusterLikelihoodRatioTest,
    ClusterSKCETest,
    ConsistencyTest,
    DistributionFreeSKCETest,
    LikelihoodRatioTest,
    MonteCarloTest,
    OmnibusTest,
    PearsonSKCETest,
    ScoreCMETest,
)
from caltest.named_tests.margins import BinnedEquivalenceTest, EquivalenceTest, ToleranceTest
from caltest.noise_floor import NoiseFloor, noise_floor
from caltest.nulls import (
    ArconesGineBootstrap,
    BinnedEquivalenceBound,
    ClusterBootstrap,
    ConditionalMonteCarlo,
    ConsistencyResampling,
    DistributionFreeBound,
    EquivalenceNull,
    EValueBound,
    HotellingNull,
    ImportanceSampling,
    KnownCovarianceMonteCarlo,
    NormalNull,
    Null,
    PearsonNull,
    TextbookNull,
    ToleranceNull,
)
from caltest.predictions import (
    Bernoulli,
    Beta,
    Categorical,
    ClosedFormMissing,
    Continuous,
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
    Scenarios,
    StudentT,
    Unnormalised,
    classwise,
    median_bandwidth,
    pit_values,
    standardised_residuals,
    top_label,
)
from caltest.results.calibration_test_result import CalibrationTestResult, ComponentResult, ConfidenceInterval
from caltest.results.citations import bibtex
from caltest.results.effect_size import EffectSize
from caltest.results.group_result import GroupCalibrationTestResult, GroupResult
from caltest.risk import (
    BinnedErrorFunction,
    CalibrationErrorEstimate,
    CandidateRisk,
    DebiasedBinnedErrorFunction,
    DirichletErrorFunction,
    ErrorFunction,
    ErrorSelection,
    FittedErrorFunction,
    KroneckerRidgeErrorFunction,
    RiskEstimate,
    TwoStepRidgeErrorFunction,
    estimate_calibration_error,
)
from caltest.sequential import SequentialCalibrationTest, SequentialTestResult
from caltest.studies import PowerCurve, PowerResult, SampleSize, power, power_curve, sample_size

__version__ = "0.1.0"

__all__ = [
    "ECCE",
    "ECE",
    "MCE",
    "MMCE",
    "MMD",
    "PIT",
    "SKCE",
    "UCME",
    "ArconesGineBootstrap",
    "AsymptoticBlockSKCETest",
    "AsymptoticCMETest",
    "AsymptoticSKCETest",
    "Bernoulli",
    "Beta",
    "BinnedEquivalenceBound",
    "BinnedEquivalenceTest",
    "BinnedErrorFunction",
    "Binning",
    "BlockSKCE",
    "CORPMiscalibration",
    "CalibrationBelt",
    "CalibrationErrorEstimate",
    "CalibrationTest",
    "CalibrationTestAccumulator",
    "CalibrationTestResult",
    "CandidateRisk",
    "Categorical",
    "Cityblock",
    "ClasswiseECE",
    "ClosedFormMissing",
    "ClusterBootstrap",
    "ClusterLikelihoodRatio",
    "ClusterLikelihoodRatioTest",
    "ClusterSKCE",
    "ClusterSKCETest",
    "ComparedModel",
    "ComparedPair",
    "ComponentResult",
    "ConditionalMonteCarlo",
    "ConfidenceErrors",
    "ConfidenceInterval",
    "ConsistencyResampling",
    "ConsistencyTest",
    "Continuous",
    "CoxCalibration",
    "CoxCalibrationResult",
    "CoxTest",
    "DebiasedBinnedErrorFunction",
    "DebiasedSquaredECE",
    "DeltaKernel",
    "DirichletErrorFunction",
    "DistributionFreeBound",
    "DistributionFreeSKCETest",
    "ECCETest",
    "EValueBound",
    "EdgeBinning",
    "EffectSize",
    "EnergyDistance",
    "Ensemble",
    "EquivalenceNull",
    "EquivalenceTest",
    "ErrorFunction",
    "ErrorSelection",
    "EstimateAccumulator",
    "Estimator",
    "Euclidean",
    "ExcessBrierScore",
    "ExcessLogScore",
    "ExponentialKernel",
    "FittedErrorFunction",
    "Gamma",
    "GaussianKernel",
    "GroupCalibrationTest",
    "GroupCalibrationTestResult",
    "GroupMaximum",
    "GroupResult",
    "GroupSKCE",
    "HosmerLemeshow",
    "HosmerLemeshowTest",
    "HotellingNull",
    "ImportanceSampling",
    "KernelWarning",
    "KnownCovarianceMonteCarlo",
    "KroneckerRidgeErrorFunction",
    "Laplace",
    "LaplacianKernel",
    "LikelihoodRatioTest",
    "LogLikelihoodRatio",
    "LogNormal",
    "LogScoreTest",
    "LowRankSKCE",
    "MaternKernel",
    "MatrixKernel",
    "MaxSKCE",
    "MedianVarianceBinning",
    "Mixture",
    "MixtureWasserstein",
    "ModelComparison",
    "MonteCarloTest",
    "MvNormal",
    "NegativeBinomial",
    "NoiseFloor",
    "Normal",
    "NormalNull",
    "Null",
    "Omnibus",
    "OmnibusTest",
    "Ordinal",
    "PITTest",
    "PairComparison",
    "PairedSKCETest",
    "PearsonNull",
    "PearsonSKCETest",
    "Poisson",
    "PowerCurve",
    "PowerResult",
    "Predictions",
    "ProductKernel",
    "QuantileBinning",
    "QuantileCalibration",
    "QuantileCalibrationTest",
    "QuantileForecast",
    "RationalQuadraticKernel",
    "ResidualMean",
    "ResidualSpread",
    "Residuals",
    "RiskEstimate",
    "SampleSize",
    "Scenarios",
    "ScoreCMETest",
    "ScoreDecomposition",
    "SequentialCalibrationTest",
    "SequentialTestResult",
    "SpiegelhalterTest",
    "SquaredEuclidean",
    "StudentT",
    "SumKernel",
    "SumOfProducts",
    "TCal",
    "TextbookNull",
    "ToleranceNull",
    "ToleranceTest",
    "TotalVariation",
    "TwoStepRidgeErrorFunction",
    "UniformBinning",
    "Unnormalised",
    "Wasserstein",
    "Wasserstein1",
    "WeightedSKCE",
    "bibtex",
    "binned_error_interval",
    "calibration_by_group",
    "calibration_test",
    "classwise",
    "compare_classes",
    "compare_models",
    "compare_pairs",
    "confidence_errors",
    "cox_calibration",
    "distribution_free_interval",
    "ece_interval",
    "estimate_calibration_error",
    "generators",
    "load_digits_predictions",
    "median_bandwidth",
    "noise_floor",
    "one_per_cluster",
    "pit_values",
    "power",
    "power_curve",
    "sample_size",
    "score_decomposition",
    "skce_interval",
    "standardised_residuals",
    "top_label",
]


_LATER = ("plots", "recalibration")


def __dir__() -> list[str]:
    """The public names, with the submodules, also those that are not loaded yet."""
    modules = (name for name, value in globals().items() if isinstance(value, ModuleType) and name[0] != "_")
    return sorted({*__all__, *modules, "__version__", *_LATER})


def __getattr__(name: str) -> Any:
    """Load what takes long to import when it is asked for: ``ct.recalibration`` and ``ct.plots``."""
    if name in _LATER:
        return import_module(f"caltest.{name}")
    raise AttributeError(f"module 'caltest' has no attribute {name!r}")
