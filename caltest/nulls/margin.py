"""Tests of a margin: whether a calibration error, of a kernel or of bins, is above it, or below it."""

from abc import abstractmethod
from dataclasses import dataclass, replace
from math import exp, sqrt

import numpy as np
import scipy

from caltest._validation import at_least, fraction, positive_number
from caltest.binning import UniformBinning
from caltest.estimators import ECE, SKCE, Estimator
from caltest.hstatistics.tiles import h_bound
from caltest.hstatistics.variances.jackknife import Jackknife, jackknife_of
from caltest.hstatistics.variances.null_variance import has_formula
from caltest.kernels import TotalVariation
from caltest.nulls.base import Null, Outcome
from caltest.predictions import Predictions, Sample

FEW, CLEAR = 15.0, 0.1
"""Up to this number times the largest KCE over n margins can be rejected too often, which p-values up to 0.1 say."""


@dataclass(frozen=True)
class MarginNull(Null[SKCE]):
    """The normal limit of the unbiased SKCE with its jackknife variance, around the square of a margin of the KCE."""

    citations = ("efron1981", "widmann2019")

    margin: float

    pvalue_kind = "asymptotic"
    _checks = {"margin": positive_number}

    def draws_for(self, estimator: SKCE, predictions: Predictions) -> bool:
        return not has_formula(estimator.kernel, predictions)

    def check_estimator(self, estimator: Estimator) -> None:
        self._check_unbiased(estimator)

    def check_size(self, estimator: SKCE, n: int) -> None:
        at_least(n, 3, "the jackknife of the SKCE")

    def outcome(self, estimator: SKCE, sample: Sample, rng: np.random.Generator) -> Outcome:
        largest = sqrt(h_bound(estimator.kernel, sample.predictions))
        if self.margin >= largest:
            raise ValueError(
                f"margin: got {self.margin:g}, wanted less than {largest:.4g}, the largest KCE with this kernel; "
                "margins are on the scale of the KCE, the root of the SKCE"
            )
        found = jackknife_of(estimator.kernel, sample, rng)
        if found.standard_error == 0.0:
            raise ValueError(
                "predictions: h does not vary over the observations, so the normal limit has no scale; use "
                "distribution_free_interval(predictions, targets, SKCE(kernel))"
            )
        z = self.z(found)
        return Outcome(found.estimate, z, float(scipy.special.ndtr(-z)), standard_error=found.standard_error)

    def describe(self) -> str:
        return f"normal limit with jackknife variance, margin {self.margin:g} of the KCE"

    @abstractmethod
    def z(self, found: Jackknife) -> float:
        """How far the estimate is from the margin, in standard errors; large values speak against the null."""


@dataclass(frozen=True)
class ToleranceNull(MarginNull):
    """``KCE <= margin``: rejected where the calibration error is larger than what is tolerated.

    ``z = (U - margin**2) / s`` with the unbiased SKCE U of all pairs and its standard error s, that of
    ``skce_interval``, and p-value ``Phi(-z)``: it rejects at level a where the lower bound ``skce_interval(...,
    confidence_level=1 - a, side="lower")`` is above ``margin**2``.

    Parameters
    ----------
    margin
        Of the KCE, the root of the SKCE: between 0 and its largest value, sqrt(2) for the default kernel of classes.

    Raises
    ------
    ValueError
        For another margin; in a test of fewer than 3 observations, or of observations over which h does not vary and
        is not expected to.

    Notes
    -----
    Assumes independent observations. Asymptotic and conservative for small errors: where the KCE is the margin, a test
    at the 5 % level rejected 0 to 4.8 % of 500 simulated data sets each of three classes of Dir(0.1) and Dir(1) with
    label noise and classes that are too frequent, n = 60 and 200, and 0 to 1.5 % of 400 of rare events (Beta(0.3, 12),
    n = 33; Beta(0.3, 60), n = 250; Beta(2, 98), n = 100), more or less frequent than predicted. Time O(n**2 k), memory
    O(n k).

    Source: Widmann et al. 2019, Theorem G.1, for the limit.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> result = ct.CalibrationTest(ct.SKCE(p.default_kernel()), ct.nulls.ToleranceNull(margin=0.03))(p, y)
    >>> round(result.statistic, 2), result.hypothesis
    (6.25, 'KCE <= 0.03')
    """

    question = "tolerance"
    statistic_name = "z = (estimate - margin^2) / standard error"

    def z(self, found: Jackknife) -> float:
        return (found.estimate - self.margin**2) / found.standard_error

    def hypothesis(self, estimator: SKCE, predictions: Predictions) -> str:
        return f"KCE <= {self.margin:g}"


@dataclass(frozen=True)
class EquivalenceNull(MarginNull):
    """``KCE >= margin``: rejected where the predictions are shown to be calibrated up to the margin.

    ``z = (margin**2 - U) / s(margin**2)`` with the unbiased SKCE U of all pairs and its standard error s(v) for an
    error as large as the margin, that of ``skce_interval``, and p-value ``Phi(-z)``: it rejects at level a where the
    upper bound ``skce_interval(..., confidence_level=1 - a, side="upper")`` is below ``margin**2``. A test of
    calibration that does not reject cannot show this. Margin, errors, assumptions, cost and source are those of
    ``ToleranceNull``.

    Notes
    -----
    Asymptotic: where the KCE is the margin, a test at the 5 % level rejected 0 to 4.6 % of 500 simulated data sets each
    of three classes, and 0 to 4.3 % of 400 of rare events (those of ``ToleranceNull``); but up to 9.9 % of 1000 of two
    classes where all events are more frequent than predicted and the margin is hardly larger than the smallest one that
    n rows can show (``docs/error-rates.md``), which a note then says. It takes about ``5 sqrt(B) / margin``
    observations, with the largest value B of the SKCE, to reject at all.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["neural network"]
    >>> result = ct.CalibrationTest(ct.SKCE(p.default_kernel()), ct.nulls.EquivalenceNull(margin=0.05))(p, y)
    >>> result.pvalue < 1e-3, result.verdict()
    (True, 'the calibration error is below the margin, at the 5 % level')
    """

    question = "equivalence"
    statistic_name = "z = (margin^2 - estimate) / standard error at the margin"

    def outcome(self, estimator: SKCE, sample: Sample, rng: np.random.Generator) -> Outcome:
        found = super().outcome(estimator, sample, rng)
        largest = sqrt(h_bound(estimator.kernel, sample.predictions))
        if found.pvalue > CLEAR or self.margin * len(sample) > FEW * largest:
            return found
        note = (
            "the margin is small for so few rows: where all errors are of one kind, an error as large as the margin is "
            "called smaller in up to 10 % of data sets at the 5 % level"
        )
        return replace(found, notes=(note,))

    def z(self, found: Jackknife) -> float:
        return (self.margin**2 - found.estimate) / found.error_at(self.margin**2)

    def hypothesis(self, estimator: SKCE, predictions: Predictions) -> str:
        return f"KCE >= {self.margin:g}"


@dataclass(frozen=True)
class BinnedEquivalenceBound(Null[ECE]):
    """``binned ECE >= margin``: a bound of the p-value, for bins that do not depend on data.

    ``p = exp(-n (margin - ECE)**2 / 2)`` where the estimate is below the margin, else 1. The estimate is the sum over
    bins of the norms of means of ``(e_Y - P) [P in the bin]``. Its expectation is at least the sum of the norms of
    their expectations, the binned error of the population (Jensen's inequality), and exchanging one observation
    changes it by at most 2 / n in total variation, so that McDiarmid's inequality bounds how far it falls below its
    expectation.

    Parameters
    ----------
    margin
        Of the error in total variation, between 0 and 1.

    Raises
    ------
    TypeError
        For other estimators than ``ECE`` with ``UniformBinning`` and ``TotalVariation``.

    Notes
    -----
    Assumes independent observations, nothing else. The binned error is at most the calibration error itself, which no
    test can bound from above without assumptions on how it varies within bins: what is shown is that the errors
    *averaged over the bins* are below the margin. It takes at least ``6 / (margin - ECE)**2`` observations for p below
    0.05. Cost: that of the estimate.

    Source: McDiarmid 1989 for the inequality.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["neural network"]
    >>> test = ct.CalibrationTest(ct.ECE(), ct.nulls.BinnedEquivalenceBound(margin=0.15))
    >>> result = test(*ct.top_label(p, y))
    >>> result.pvalue < 0.01, result.pvalue_kind, result.hypothesis
    (True, 'bound', 'binned ECE >= 0.15')
    """

    citations = ("mcdiarmid1989",)

    margin: float

    pvalue_kind = "bound"
    question = "equivalence"
    statistic_name = "margin - estimate"
    _checks = {"margin": fraction}

    def check_estimator(self, estimator: Estimator) -> None:
        if not (
            isinstance(estimator, ECE)
            and isinstance(estimator.binning, UniformBinning)
            and estimator.metric == TotalVariation()
        ):
            raise self._illegal(estimator, "ECE(UniformBinning(n_bins)), whose bins do not depend on data")

    def outcome(self, estimator: ECE, sample: Sample, rng: np.random.Generator) -> Outcome:
        estimate = estimator.estimate(sample)
        below = self.margin - estimate
        return Outcome(estimate, below, exp(-len(sample) * max(0.0, below) ** 2 / 2.0))

    def hypothesis(self, estimator: ECE, predictions: Predictions) -> str:
        return f"binned ECE >= {self.margin:g}"

    def describe(self) -> str:
        return f"distribution-free bound, margin {self.margin:g} of the binned error"
