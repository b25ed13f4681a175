"""Estimators of calibration errors, each a call ``estimator(predictions, targets)``, and what tests need of them.

Kernel errors: ``SKCE``, ``BlockSKCE``, ``CrossSKCE``, ``LowRankSKCE``, ``MaxSKCE``, ``WeightedSKCE``, ``GroupSKCE``,
``FeatureSKCE``, ``ClusterSKCE``, ``UCME``, ``MMCE``. Binned errors: ``ECE``, ``MCE``, ``ClasswiseECE``,
``DebiasedSquaredECE``, ``SoftBinnedECE``, ``TCal``; of decisions ``ThresholdDecisionError``,
``CalibrationDecisionLoss``. Scores and likelihoods: ``ExcessBrierScore``, ``ExcessLogScore``, ``LogLikelihoodRatio``,
``ClusterLikelihoodRatio``. Classical statistics of binary outcomes: ``HosmerLemeshow``, ``CoxCalibration`` (with
``cox_calibration``, its fit), ``CalibrationBelt``, ``ECCE``, ``CORPMiscalibration``, ``SmoothECE``; of numbers:
``PIT``, ``QuantileCalibration``, ``ResidualMean``, ``ResidualSpread``. ``Omnibus`` and ``GroupMaximum`` combine others.

``Estimator`` is the base of all, and says which errors they raise, ``BinaryStatistic`` of the classical ones, for
predictions with two classes: reduce others by ``ct.top_label`` or ``ct.classwise``. Those that are an instance of
``HasTextbookLaw`` have a law in textbooks. ``one_per_cluster`` picks independent observations. ``FamilyKernel``, the
default of ``SKCE``, ``BlockSKCE`` and ``CrossSKCE``, is the kernel of whatever family the predictions have.
"""

from caltest._basics import offered as _offered
from caltest.estimators.base import (
    Estimator as Estimator,
    HasTextbookLaw as HasTextbookLaw,
    TextbookTail as TextbookTail,
)
from caltest.estimators.binned_errors.decision_loss import CalibrationDecisionLoss as CalibrationDecisionLoss
from caltest.estimators.binned_errors.ece import (
    ECE as ECE,
    MCE as MCE,
    ClasswiseECE as ClasswiseECE,
    DebiasedSquaredECE as DebiasedSquaredECE,
)
from caltest.estimators.binned_errors.smooth_ece import SmoothECE as SmoothECE
from caltest.estimators.binned_errors.soft_ece import SoftBinnedECE as SoftBinnedECE
from caltest.estimators.binned_errors.t_cal import TCal as TCal
from caltest.estimators.classical.base import BinaryStatistic as BinaryStatistic
from caltest.estimators.classical.belt import CalibrationBelt as CalibrationBelt
from caltest.estimators.classical.corp import CORPMiscalibration as CORPMiscalibration
from caltest.estimators.classical.cox import CoxCalibration as CoxCalibration, cox_calibration as cox_calibration
from caltest.estimators.classical.ecce import ECCE as ECCE
from caltest.estimators.classical.hosmer_lemeshow import HosmerLemeshow as HosmerLemeshow
from caltest.estimators.classical.pit import PIT as PIT
from caltest.estimators.classical.quantile_calibration import QuantileCalibration as QuantileCalibration
from caltest.estimators.classical.threshold_decisions import ThresholdDecisionError as ThresholdDecisionError
from caltest.estimators.combined.omnibus import Omnibus as Omnibus
from caltest.estimators.kernel_errors.cluster_skce import ClusterSKCE as ClusterSKCE, one_per_cluster as one_per_cluster
from caltest.estimators.kernel_errors.groups import (
    FeatureSKCE as FeatureSKCE,
    GroupMaximum as GroupMaximum,
    GroupSKCE as GroupSKCE,
    WeightedSKCE as WeightedSKCE,
)
from caltest.estimators.kernel_errors.kernel_estimator import FamilyKernel as FamilyKernel
from caltest.estimators.kernel_errors.low_rank import LowRankSKCE as LowRankSKCE
from caltest.estimators.kernel_errors.max_skce import MaxSKCE as MaxSKCE
from caltest.estimators.kernel_errors.mmce import MMCE as MMCE
from caltest.estimators.kernel_errors.skce import (
    SKCE as SKCE,
    UCME as UCME,
    BlockSKCE as BlockSKCE,
    CrossSKCE as CrossSKCE,
)
from caltest.estimators.scores import (
    ClusterLikelihoodRatio as ClusterLikelihoodRatio,
    ExcessBrierScore as ExcessBrierScore,
    ExcessLogScore as ExcessLogScore,
    LogLikelihoodRatio as LogLikelihoodRatio,
    ResidualMean as ResidualMean,
    ResidualSpread as ResidualSpread,
)

__all__ = _offered(globals())
