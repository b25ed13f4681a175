"""The public names and their homes: what type checkers read, and the only list there is."""

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
    plots as plots,
    predictions as predictions,
    recalibration as recalibration,
    results as results,
    risk as risk,
)
from caltest.auditing.audit import audit as audit
from caltest.bridges.assertion import assert_calibrated as assert_calibrated
from caltest.comparisons.models import compare_classes as compare_classes, compare_models as compare_models
from caltest.comparisons.paired_test import PairedSKCETest as PairedSKCETest
from caltest.comparisons.pairs import compare_pairs as compare_pairs
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
from caltest.hypothesis_test import CalibrationTest as CalibrationTest
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

__version__: str
