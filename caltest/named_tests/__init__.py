"""Named tests: names for pairs of an estimator and a null, such as ``OmnibusTest``, and the test of data in chunks.

Most are at the front door too. A test of your own is a pair: ``ct.CalibrationTest(estimator, null)``.
"""

from caltest._basics import names as _names
from caltest.calibration_accumulator import CalibrationTestAccumulator as CalibrationTestAccumulator
from caltest.named_tests.classical import (
    CoxTest as CoxTest,
    ECCETest as ECCETest,
    HosmerLemeshowTest as HosmerLemeshowTest,
    LogScoreTest as LogScoreTest,
    PITTest as PITTest,
    QuantileCalibrationTest as QuantileCalibrationTest,
    SpiegelhalterTest as SpiegelhalterTest,
)
from caltest.named_tests.kernels import (
    AsymptoticBlockSKCETest as AsymptoticBlockSKCETest,
    AsymptoticCMETest as AsymptoticCMETest,
    AsymptoticSKCETest as AsymptoticSKCETest,
    BinnedEquivalenceTest as BinnedEquivalenceTest,
    CertifiedCrossSKCETest as CertifiedCrossSKCETest,
    ClusterLikelihoodRatioTest as ClusterLikelihoodRatioTest,
    ClusterSKCETest as ClusterSKCETest,
    ConsistencyTest as ConsistencyTest,
    DistributionFreeSKCETest as DistributionFreeSKCETest,
    EquivalenceTest as EquivalenceTest,
    LikelihoodRatioTest as LikelihoodRatioTest,
    MonteCarloTest as MonteCarloTest,
    OmnibusTest as OmnibusTest,
    PearsonSKCETest as PearsonSKCETest,
    ScoreCMETest as ScoreCMETest,
    ToleranceTest as ToleranceTest,
)

__all__ = _names.offered(globals())
