"""Likelihood ratios of mean 1 as evidence: Markov's inequality, and importance sampling."""

from dataclasses import dataclass
from math import exp

import numpy as np

from caltest._basics.jobs import Stream, run, streams
from caltest._basics.numerics import FloatArray
from caltest._validation import whole_number
from caltest.estimators import Estimator, LogLikelihoodRatio
from caltest.estimators.combined.findings import findings_of, named
from caltest.estimators.scores.likelihood_ratio import log_ratios_of
from caltest.nulls.base import Null, Outcome
from caltest.predictions import Sample
from caltest.predictions.alternatives import Alternatives


class LikelihoodRatioNull(Null):
    """A null of likelihood ratios."""

    statistic_name = "the estimate"
    requires = LogLikelihoodRatio
    wanted = "LogLikelihoodRatio()"


@dataclass(frozen=True)
class EValueBound(LikelihoodRatioNull):
    """``min(1, 1 / E)`` for the likelihood ratio E of ``LogLikelihoodRatio``, which has mean 1 if calibrated.

    By Markov's inequality ``P(1 / E <= alpha) <= alpha`` for every n. No redraws, no smallest value; conservative where
    the evidence is weak.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["naive Bayes"]
    >>> ct.CalibrationTest(ct.estimators.LogLikelihoodRatio(), ct.nulls.EValueBound())(p, y).pvalue < 1e-50
    True
    """

    pvalue_kind = "bound"
    allows_clusters = True

    def outcome(self, estimator: Estimator, sample: Sample, rng: np.random.Generator) -> Outcome:
        estimate = estimator.estimate(sample)
        pvalue = exp(-max(0.0, estimate))
        return Outcome(estimate, estimate, pvalue, findings=named(findings_of(sample), pvalue))

    def describe(self) -> str:
        return "1 / likelihood ratio (Markov's inequality)"


@dataclass(frozen=True)
class ImportanceSampling(LikelihoodRatioNull):
    """Exact p-values of the likelihood ratio far below 1 / (B + 1): targets are drawn from the alternatives.

    With B draws from the mixture ``Q = sum_k w_k Q_k`` of alternatives, each of which counts ``1 / E`` if calibrated::

        p = (1 / E_0 + sum_b 1{E_b >= E_0} / E_b) / (B + 1)

    is exactly valid for every B (Harrison 2012), and never above ``1 / E_0``.

    Parameters
    ----------
    n_resamples
        Number B >= 1 of draws (``ValueError`` otherwise).

    Notes
    -----
    Assumes that the targets are independent given the predictions. Time O(B n K) for K alternatives.

    Sources: Harrison 2012, Conservative hypothesis tests and confidence intervals using importance sampling.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["naive Bayes"]
    >>> ct.LikelihoodRatioTest(n_resamples=99)(p, y, rng=1).pvalue < 1e-50
    True
    """

    citations = ("harrison2012",)

    n_resamples: int = 999

    pvalue_kind = "exact"
    uses_random_numbers = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_resamples", whole_number("n_resamples", self.n_resamples, 1))

    def outcome(self, estimator: Estimator, sample: Sample, rng: np.random.Generator) -> Outcome:
        alternatives = sample.predictions.law.alternatives()
        assert alternatives is not None
        calls = [(alternatives, stream) for stream in streams(rng, self.n_resamples)]
        draws = np.concatenate(run(_draws, calls, "redraws"))
        observed = estimator.estimate(sample)
        tolerance = 1e-10 * max(1.0, abs(observed))
        # Weights in units of that of the observed targets, which is what exceeds none of those that count.
        weights = np.exp(np.minimum(observed - draws[draws >= observed - tolerance], 0.0))
        log_p = np.log((1.0 + weights.sum()) / (1 + self.n_resamples)) - observed
        pvalue = float(np.exp(min(0.0, log_p)))
        return Outcome(observed, observed, pvalue, findings=named(findings_of(sample), pvalue))

    def describe(self) -> str:
        return f"importance sampling from the alternatives, {self.n_resamples} draws"


def _draws(alternatives: Alternatives, stream: Stream) -> FloatArray:
    """``log E`` for targets drawn from the mixture of alternatives."""
    generator, size = stream
    members = generator.choice(alternatives.weights.size, size=size, p=alternatives.weights)
    targets = [alternatives.sample(int(member), generator, 1) for member in members]
    return log_ratios_of(alternatives, np.concatenate(targets))
