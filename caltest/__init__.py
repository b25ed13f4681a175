"""Statistical hypothesis tests of calibration: whether predicted probabilities can be taken at face value.

The names here are what most analyses need. The rest is in submodules, each of which says what it offers:
``help(caltest.nulls)``.

Glossary, from the symbols in the papers to the names here:

====================================  ============================= ===================================
P_X, g(X): prediction                 ``Categorical``, ``Normal``   ``caltest.predictions``
Y: target, label                      ``targets``                   ``caltest.predictions.convert``
Z_X, drawn from P_X                   ``Predictions.sample``        ``caltest.predictions.base``
k_P, k_Y, k = k_P x k_Y               ``ProductKernel``             ``caltest.kernels.product``
sum_i k_i A_i: matrix-valued kernel   ``MatrixKernel``              ``caltest.kernels.matrix``
E k(Z, y), E k(Z, Z')                 ``expected_kernel``           ``caltest.predictions.base``
B_{p;q}: bound of h                   ``h_bound``                   ``caltest.hstatistics.bound``
W_2: 2-Wasserstein distance           ``Wasserstein``               ``caltest.kernels.metrics.vector_metrics``
MW_2: the same of mixtures            ``MixtureWasserstein``        ``caltest.kernels.metrics.discrepancies``
nu, lambda: bandwidth                 ``bandwidth``                 ``caltest.kernels.radial``
h((p, y), (p', y'))                   ``h_tile``                    ``caltest.hstatistics.tiles``
SKCE, SKCE_b, SKCE_uq                 ``SKCE``                      ``caltest.estimators.kernel_errors.skce``
SKCE_ul, SKCE_{k,B}: blocks           ``BlockSKCE``                 ``caltest.estimators.kernel_errors.skce``
SKCE with landmarks, for large n      ``LowRankSKCE``               ``caltest.estimators.kernel_errors.low_rank``
UCME, test locations T_j              ``UCME``                      ``caltest.estimators.kernel_errors.ucme``
ECE                                   ``ECE``                       ``caltest.estimators.binned_errors``
MMCE                                  ``MMCE``                      ``caltest.estimators.kernel_errors.mmce``
D_b, D_uq, D_l: bounds                ``DistributionFreeBound``     ``caltest.nulls.bounds``
A_l: normal limit                     ``NormalNull``                ``caltest.nulls.limit_laws``
A_uq: bootstrap                       ``ArconesGineBootstrap``      ``caltest.nulls.bootstraps``
C: consistency resampling             ``ConsistencyResampling``     ``caltest.nulls.bootstraps``
E: likelihood ratio, e-value          ``LogLikelihoodRatio``        ``caltest.estimators.scores``
Q_n: CME test                         ``HotellingNull``             ``caltest.nulls.limit_laws``
pairs between two halves              ``CrossSKCE``                 ``caltest.estimators.kernel_errors.cross``
h(p, p'), R_CE(h): squared errors     ``ErrorFunction``             ``caltest.risk.base``
h_bin, h_kde, h_kkr, h_ukkr           ``BinnedErrorFunction``, ...  ``caltest.risk``
E_t: martingale, evidence over time   ``SequentialCalibrationTest`` ``caltest.sequential``
k_G: groups, multicalibration         ``GroupSKCE``                 ``caltest.estimators.kernel_errors.groups``
s_p: score, KCCSD                     ``Unnormalised``              ``caltest.predictions.vectors.unnormalised``
====================================  ============================= ===================================
"""

import typing as _typing
from importlib import import_module as _import_module

from caltest import (
    binning as binning,
    bridges as bridges,
    datasets as datasets,
    estimators as estimators,
    fields as fields,
    generators as generators,
    kernels as kernels,
    named_tests as named_tests,
    nulls as nulls,
    predictions as predictions,
    results as results,
    risk as risk,
)
from caltest._basics import names as _names
from caltest.auditing.audit import audit as audit
from caltest.bridges.assertion import assert_calibrated as assert_calibrated
from caltest.calibration_test import CalibrationTest as CalibrationTest
from caltest.comparisons.models import compare_classes as compare_classes, compare_models as compare_models
from caltest.comparisons.pairs import PairedSKCETest as PairedSKCETest, compare_pairs as compare_pairs
from caltest.decompositions.confidence_errors import confidence_errors as confidence_errors
from caltest.decompositions.score_decomposition import score_decomposition as score_decomposition
from caltest.default_test import calibration_test as calibration_test
from caltest.estimators import (
    ECE as ECE,
    MCE as MCE,
    MMCE as MMCE,
    SKCE as SKCE,
    UCME as UCME,
    BlockSKCE as BlockSKCE,
    ClasswiseECE as ClasswiseECE,
    LowRankSKCE as LowRankSKCE,
)
from caltest.fields import Censored as Censored
from caltest.group_test import (
    GroupCalibrationTest as GroupCalibrationTest,
    calibration_by_group as calibration_by_group,
)
from caltest.intervals.binned_errors import binned_error_interval as binned_error_interval, ece_interval as ece_interval
from caltest.intervals.kernel_errors import (
    distribution_free_interval as distribution_free_interval,
    skce_interval as skce_interval,
)
from caltest.intervals.noise_floor import noise_floor as noise_floor
from caltest.kernels import (
    DeltaKernel as DeltaKernel,
    Euclidean as Euclidean,
    ExponentialKernel as ExponentialKernel,
    GaussianKernel as GaussianKernel,
    LaplacianKernel as LaplacianKernel,
    MaternKernel as MaternKernel,
    ProductKernel as ProductKernel,
    TotalVariation as TotalVariation,
    Wasserstein as Wasserstein,
)
from caltest.named_tests import (
    AsymptoticBlockSKCETest as AsymptoticBlockSKCETest,
    AsymptoticCMETest as AsymptoticCMETest,
    AsymptoticSKCETest as AsymptoticSKCETest,
    ClusterSKCETest as ClusterSKCETest,
    ConsistencyTest as ConsistencyTest,
    CoxTest as CoxTest,
    DistributionFreeSKCETest as DistributionFreeSKCETest,
    ECCETest as ECCETest,
    EquivalenceTest as EquivalenceTest,
    HosmerLemeshowTest as HosmerLemeshowTest,
    LikelihoodRatioTest as LikelihoodRatioTest,
    LogScoreTest as LogScoreTest,
    MonteCarloTest as MonteCarloTest,
    OmnibusTest as OmnibusTest,
    PearsonSKCETest as PearsonSKCETest,
    PITTest as PITTest,
    QuantileCalibrationTest as QuantileCalibrationTest,
    ScoreCMETest as ScoreCMETest,
    SpiegelhalterTest as SpiegelhalterTest,
    ToleranceTest as ToleranceTest,
)
from caltest.predictions import (
    Bernoulli as Bernoulli,
    Beta as Beta,
    Categorical as Categorical,
    Continuous as Continuous,
    Ensemble as Ensemble,
    Gamma as Gamma,
    Laplace as Laplace,
    LogNormal as LogNormal,
    Mixture as Mixture,
    MultiLabel as MultiLabel,
    MvNormal as MvNormal,
    NegativeBinomial as NegativeBinomial,
    Normal as Normal,
    Ordinal as Ordinal,
    Poisson as Poisson,
    QuantileForecast as QuantileForecast,
    Scenarios as Scenarios,
    StudentT as StudentT,
    Unnormalised as Unnormalised,
    classwise as classwise,
    median_bandwidth as median_bandwidth,
    pit_values as pit_values,
    standardised_residuals as standardised_residuals,
    top_label as top_label,
)
from caltest.risk import estimate_calibration_error as estimate_calibration_error
from caltest.sequential.monitor import CalibrationMonitor as CalibrationMonitor
from caltest.sequential.sequential_test import SequentialCalibrationTest as SequentialCalibrationTest
from caltest.slices.search import find_slices as find_slices
from caltest.studies.power import power as power
from caltest.studies.power_curve import power_curve as power_curve
from caltest.studies.sample_size import sample_size as sample_size

if _typing.TYPE_CHECKING:
    from caltest import plots as plots, recalibration as recalibration

__version__ = "0.2.0"

_LATER = ("plots", "recalibration")
"""Submodules that take long to import: loaded when they are asked for."""
_SUBMODULES = (
    *("binning", "bridges", "datasets", "estimators", "fields", "generators", "kernels", "named_tests", "nulls"),
    *("predictions", "results", "risk", *_LATER),
)

__all__ = sorted([*_names.offered(globals()), *_SUBMODULES])


def __dir__() -> list[str]:
    """The public names."""
    return [*__all__, "__version__"]


if not _typing.TYPE_CHECKING:  # for type checkers every name that is not here would otherwise be one of type Any

    def __getattr__(name: str) -> _typing.Any:
        """Load what takes long to import when it is asked for; where a name is that is not here, the error says so."""
        if name in _SUBMODULES:
            return _import_module(f"caltest.{name}")
        homes = [part for part in _SUBMODULES if name in getattr(globals().get(part), "__all__", ())]
        hint = f"; it is ct.{homes[0]}.{name}" if homes else ""
        raise AttributeError(f"module 'caltest' has no attribute {name!r}{hint}")
