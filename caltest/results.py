"""What calls return, and what it is made of: results of tests and studies, tables of models, intervals, effect sizes.

You rarely make one yourself. Import them to annotate your own functions, or to read a stored result back:
``ct.results.CalibrationTestResult.from_dict(entries)``. ``bibtex`` gives the sources of a test or result.

Every result is printed as its ``summary()``, in lines of at most 80 characters, and becomes a dictionary by
``to_dict()``, a table by ``to_markdown()``, ``to_latex()`` and ``to_pandas()``, a sentence by ``sentence()`` and a
picture by ``plot()``, or says why there is none. What results are made of has none of these. Results of tests have a
``pvalue``, and ``summary(alpha)``, ``verdict(alpha)`` and ``sentence(alpha)`` with the decision at a level. An interval
at the level of the call is ``interval``, a ``ConfidenceInterval``; one at any level is made by
``confidence_interval(confidence_level)``. ``n`` observations were used, ``n_resamples`` redraws made, which
``rng=seed`` reproduces, with intervals at ``confidence_level``; ``notes`` are what the reader should know. Fields with
names such as these are not listed again where they are what they say.
"""

from caltest._basics import offered as _offered
from caltest._results.calibration_test_result import (
    CalibrationTestResult as CalibrationTestResult,
    ComponentResult as ComponentResult,
    FeatureResult as FeatureResult,
)
from caltest._results.citations import bibtex as bibtex
from caltest._results.group_result import (
    GroupCalibrationTestResult as GroupCalibrationTestResult,
    GroupResult as GroupResult,
)
from caltest._results.measures import Detectable as Detectable, Measure as Measure
from caltest._results.model_comparison import ComparedModel as ComparedModel, ModelComparison as ModelComparison
from caltest._results.multi_label_result import LabelResult as LabelResult, MultiLabelTestResult as MultiLabelTestResult
from caltest._results.values import (
    ConfidenceInterval as ConfidenceInterval,
    EffectSize as EffectSize,
    Finding as Finding,
)
from caltest.auditing.audit_result import Audit as Audit, ModelAudit as ModelAudit
from caltest.auditing.section import Section as Section
from caltest.comparisons.pairs import ComparedPair as ComparedPair, PairComparison as PairComparison
from caltest.decompositions.confidence_errors import ConfidenceErrors as ConfidenceErrors
from caltest.decompositions.score_decomposition import ScoreDecomposition as ScoreDecomposition
from caltest.estimators.classical.cox import CoxCalibrationResult as CoxCalibrationResult
from caltest.fields._survival.result import SurvivalCalibration as SurvivalCalibration, SurvivalGroup as SurvivalGroup
from caltest.fields.bayesian.calibration import (
    ParameterRanks as ParameterRanks,
    SimulationBasedCalibrationResult as SimulationBasedCalibrationResult,
)
from caltest.fields.clinical.centres import GroupValidation as GroupValidation, ValidationByGroup as ValidationByGroup
from caltest.fields.clinical.decisions import DecisionCurve as DecisionCurve, NetBenefit as NetBenefit
from caltest.fields.clinical.sample_size import ValidationSize as ValidationSize
from caltest.fields.clinical.validation_result import (
    CalibrationCurve as CalibrationCurve,
    ClinicalMeasure as ClinicalMeasure,
    ClinicalValidation as ClinicalValidation,
)
from caltest.fields.weather.result import (
    LeadResult as LeadResult,
    PartResult as PartResult,
    VerificationResult as VerificationResult,
)
from caltest.intervals.noise_floor import NoiseFloor as NoiseFloor
from caltest.risk.base import RiskEstimate as RiskEstimate
from caltest.risk.error_estimate import (
    CalibrationErrorEstimate as CalibrationErrorEstimate,
    CandidateRisk as CandidateRisk,
    ErrorSelection as ErrorSelection,
)
from caltest.sequential.change import Change as Change
from caltest.sequential.monitor import Alarm as Alarm, MonitorResult as MonitorResult
from caltest.sequential.sequential_test import SequentialTestResult as SequentialTestResult
from caltest.slices.slice_result import Slice as Slice, SliceSearchResult as SliceSearchResult
from caltest.studies.power import PowerResult as PowerResult
from caltest.studies.power_curve import PowerCurve as PowerCurve
from caltest.studies.sample_size import SampleSize as SampleSize

__all__ = _offered(globals())
