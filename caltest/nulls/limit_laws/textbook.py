"""The laws of textbooks."""

from dataclasses import dataclass

import numpy as np

from caltest._results.calibration_test_result import PValueKind
from caltest.estimators import Estimator, HasTextbookLaw
from caltest.nulls.base import Null, Outcome
from caltest.predictions import Sample


@dataclass(frozen=True)
class TextbookNull(Null):
    """The statistic against the law that textbooks give for it: chi-squared, normal, that of a Brownian motion.

    For the classical estimators, which know their law and in which cases it is not reliable; results then have a note
    that says how often calibrated predictions were rejected in simulations. ``ConditionalMonteCarlo`` is exact for the
    same estimators.

    Notes
    -----
    Asymptotic, but for the laws of probability integral transforms that hold for every n. The p-value is 0 if an
    outcome occurred that its prediction excludes. Time: that of the estimate, no random numbers.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> result = ct.CalibrationTest(ct.estimators.ExcessBrierScore(), ct.nulls.TextbookNull())(*ct.top_label(p, y))
    >>> result.pvalue < 1e-20
    True
    """

    pvalue_kind = "asymptotic"
    statistic_name = "the estimate"
    requires = HasTextbookLaw
    wanted = "a classical estimator such as HosmerLemeshow(), or ConditionalMonteCarlo() as the null"

    def outcome(self, estimator: Estimator, sample: Sample, rng: np.random.Generator) -> Outcome:
        assert isinstance(estimator, HasTextbookLaw)
        estimate = estimator.estimate(sample)
        tail = estimator.textbook_tail(estimate, sample)
        found = Outcome(estimate, tail.statistic, tail.pvalue, df=tail.df, notes=tail.notes)
        return found.excluding(sample.exclusion)

    def statistic_name_of(self, estimator: Estimator) -> str:
        assert isinstance(estimator, HasTextbookLaw)
        return estimator.textbook_statistic

    def pvalue_kind_of(self, estimator: Estimator) -> PValueKind:
        assert isinstance(estimator, HasTextbookLaw)
        return estimator.textbook_kind

    def describe(self) -> str:
        return "law of the statistic in textbooks"
