"""Upper bounds of p-values that hold for every n."""

from dataclasses import dataclass
from math import exp, inf, sqrt

import numpy as np
import scipy

from caltest._basics.calls import are_pvalues_enough
from caltest._basics.numerics import FloatArray
from caltest._basics.threads import Stream, run, streams
from caltest._validation import whole
from caltest.estimators import SKCE, BlockSKCE, ClusterLikelihoodRatio, CrossSKCE, Estimator, LogLikelihoodRatio
from caltest.estimators.combined.findings import LEVEL, told
from caltest.estimators.scores import log_ratios_of
from caltest.hstatistics.tiles import h_bound
from caltest.nulls.base import Null, Outcome
from caltest.predictions import Sample
from caltest.predictions.alternatives import Alternatives


@dataclass(frozen=True)
class DistributionFreeBound(Null[SKCE | BlockSKCE]):
    """p = an upper bound of P(estimator >= estimate) for calibrated predictions; 1 for estimates of at most 0.

    The bounds are those of Lemma 2 of Widmann et al. 2019 (Theorems H.2 to H.4), see ``SKCE.tail_bound`` and
    ``BlockSKCE.tail_bound``, with the smallest B there is (``caltest.hstatistics.tiles``). Valid for every n if
    outcomes are independent given the predictions, with little power: above 0.05 a note says from which KCE on it is
    smaller. The Julia reference squares negative estimates and so returns values below 1 for them. Cost: that of the
    estimate.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> test = ct.CalibrationTest(ct.SKCE(p.default_kernel(), unbiased=False), ct.nulls.DistributionFreeBound())
    >>> test(p, y).pvalue_kind
    'bound'
    """

    citations = ("hoeffding1963", "widmann2019")

    pvalue_kind = "bound"
    statistic_name = "the estimate"
    wanted = "an estimator with a bound: SKCE(kernel) or unbiased BlockSKCE(kernel, block_size)"

    def check_estimator(self, estimator: Estimator) -> None:
        if not (isinstance(estimator, SKCE) or (isinstance(estimator, BlockSKCE) and estimator.unbiased)):
            raise self._illegal(estimator, self.wanted)

    def outcome(self, estimator: SKCE | BlockSKCE, sample: Sample, rng: np.random.Generator) -> Outcome:
        estimate = estimator.estimate(sample)
        pvalue = min(1.0, estimator.tail_bound(estimate, sample.predictions))
        is_told = pvalue > LEVEL and not are_pvalues_enough()
        return Outcome(estimate, estimate, pvalue, notes=(_note_on_power(estimator, sample),) if is_told else ())

    def describe(self) -> str:
        return "distribution-free bound"


def _note_on_power(estimator: SKCE | BlockSKCE, sample: Sample) -> str:
    """Which estimates the bound would reject, as it rejects few that are not calibrated."""

    def excess(estimate: float) -> float:
        return estimator.tail_bound(estimate, sample.predictions) - LEVEL

    largest = h_bound(estimator.kernel, sample.predictions)
    if excess(largest) > 0.0:
        found = f"rejects nothing at the 5 % level for n = {len(sample)}, however wrong predictions are"
    else:
        share = sqrt(float(scipy.optimize.brentq(excess, 0.0, largest)) / largest)
        found = f"rejects at the 5 % level if the KCE is {share:.2g} of its largest value or more"
    return f"the bound {found}; calibration_test and MonteCarloTest find smaller errors"


TIE = 1e-10
"""Difference of terms, in standard deviations of their sum, below which they count as equal."""


@dataclass(frozen=True, eq=False)
class OutcomeSum:
    """The law of ``S = sum_i v_i(Z_i)`` with independent Z_i: values v (n, k), of mean 0, and their probabilities."""

    values: FloatArray
    probabilities: FloatArray

    @property
    def variance(self) -> float:
        """``sum_i E v_i**2``."""
        return float(np.vdot(self.probabilities, self.values**2))

    def top(self) -> tuple[float, float]:
        """The largest value of S, and its probability."""
        possible = np.where(self.probabilities > 0.0, self.values, -inf)
        largest = possible.max(axis=1)
        at_top = possible >= largest[:, None] - TIE * sqrt(self.variance)
        chances = np.sum(np.where(at_top, self.probabilities, 0.0), axis=1)
        return float(largest.sum()), exp(float(np.sum(np.log(chances))))

    def tilted(self, t: float) -> tuple[float, float]:
        """``K(t) = sum_i log E exp(t v_i)`` and K'(t), the mean of the tilted law."""
        exponents = np.where(self.probabilities > 0.0, t * self.values, -inf)
        largest = exponents.max(axis=1, keepdims=True)
        weights = self.probabilities * np.exp(exponents - largest)
        totals = weights.sum(axis=1, keepdims=True)
        weights /= totals
        return float(np.sum(np.log(totals) + largest)), float(np.vdot(weights, self.values))

    def tail_bound(self, s: float) -> float:
        """Chernoff's bound ``exp(K(t) - t s)`` of ``P(S >= s)`` at the best t >= 0; exact from the largest value on."""
        supremum, chance = self.top()
        if s > supremum + TIE:
            return 0.0
        if s >= supremum - TIE:
            return chance
        if s <= 0.0:
            return 1.0
        # The law that is tilted to the mean s, which is between 0 and the largest value.
        low, high = 1.0, 1.0
        while self.tilted(low)[1] > s and low > 1e-300:
            low /= 2.0
        while self.tilted(high)[1] < s and high < 1e300:
            high *= 2.0
        t = float(scipy.optimize.brentq(lambda t: self.tilted(t)[1] - s, low, high, xtol=1e-300, rtol=1e-12))
        return min(1.0, exp(self.tilted(t)[0] - t * s))


@dataclass(frozen=True)
class CrossChernoffBound(Null[CrossSKCE]):
    """A certified p-value of the ``CrossSKCE``: ``p = min_t exp(K(t) - t s) >= P(S >= s)``.

    ``K(t) = sum_i log E exp(t (w_i(Z_i) - E w_i(Z_i)))`` is the cumulant generating function of the sum S of the terms
    given the predictions and the targets of the other half, a finite sum over outcomes. By Markov's inequality the
    bound holds for every t, so P(p <= alpha) <= alpha for every n, and p can be as small as the evidence: 1e-100
    without a simulation.

    Notes
    -----
    For predictions with finitely many outcomes (``TypeError`` otherwise). Assumes that the targets are independent
    given the predictions. Conservative: at the 5 % level it rejects about 1 % of calibrated models. 1 for
    estimates of at most 0, and the exact probability where the estimate is as large as it can be. Time O(n**2 k),
    memory O(n k), no random numbers.

    Sources: Shekhar, Kim and Ramdas 2022 for the statistic; Chernoff 1952 for the bound.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["naive Bayes"]
    >>> test = ct.CalibrationTest(ct.estimators.CrossSKCE(p.default_kernel()), ct.nulls.CrossChernoffBound())
    >>> test(p, y).pvalue < 1e-100
    True
    """

    citations = ("chernoff1952", "shekhar2022")

    pvalue_kind = "bound"
    statistic_name = "sum of the terms, in standard deviations"
    requires = CrossSKCE
    wanted = "CrossSKCE(kernel)"

    def outcome(self, estimator: CrossSKCE, sample: Sample, rng: np.random.Generator) -> Outcome:
        if sample.predictions.law.finite is None:
            raise TypeError(
                f"predictions: got {sample.predictions.family} predictions, wanted finitely many outcomes, over which "
                "sums can be taken; use MonteCarloTest(CrossSKCE(kernel))"
            )
        values, probabilities, observed = estimator.outcome_terms(sample)
        deviation, estimate = sqrt(OutcomeSum(values, probabilities).variance), float(observed.mean())
        if deviation <= 1e-14 * observed.size * float(np.abs(values).max()):
            return Outcome(estimate, 0.0, 1.0)
        z = float(observed.sum()) / deviation
        pvalue = OutcomeSum(1.0 / deviation * values, probabilities).tail_bound(z)
        return Outcome(estimate, z, pvalue).excluding(sample.exclusion if pvalue == 0.0 else None)

    def describe(self) -> str:
        return "Chernoff's bound given the predictions and the targets of the other half"


class LikelihoodRatioNull(Null[LogLikelihoodRatio]):
    """A null of likelihood ratios."""

    statistic_name = "the estimate"
    requires = LogLikelihoodRatio
    wanted = "LogLikelihoodRatio()"


@dataclass(frozen=True)
class EValueBound(LikelihoodRatioNull):
    """``min(1, 1 / E)`` for the likelihood ratio E of ``LogLikelihoodRatio``, of mean 1 for right independent rows.

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

    def outcome(self, estimator: LogLikelihoodRatio, sample: Sample, rng: np.random.Generator) -> Outcome:
        estimate = estimator.estimate(sample)
        pvalue = exp(-max(0.0, estimate))
        clusters = estimator.clusters if isinstance(estimator, ClusterLikelihoodRatio) else None
        return Outcome(estimate, estimate, pvalue, **told(sample, pvalue, clusters=clusters))

    def describe(self) -> str:
        return "1 / likelihood ratio (Markov's inequality)"


@dataclass(frozen=True)
class ImportanceSampling(LikelihoodRatioNull):
    """Exact p-values of the likelihood ratio far below 1 / (B + 1): targets are drawn from the alternatives.

    With B redraws from the mixture ``Q = sum_k w_k Q_k`` of alternatives, each counting ``1 / E`` if calibrated::

        p = (1 / E_0 + sum_b 1{E_b >= E_0} / E_b) / (B + 1)

    is exactly valid for every B (Harrison 2012), and never above ``1 / E_0``.

    Parameters
    ----------
    n_resamples
        Number B >= 1 of redraws (``ValueError`` otherwise).

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
    _checks = {"n_resamples": whole(1)}

    pvalue_kind = "exact"
    uses_random_numbers = True

    def outcome(self, estimator: LogLikelihoodRatio, sample: Sample, rng: np.random.Generator) -> Outcome:
        observed, pvalue = self.pvalue(estimator, sample, rng)
        return Outcome(observed, observed, pvalue, **told(sample, pvalue))

    def pvalue(self, estimator: LogLikelihoodRatio, sample: Sample, rng: np.random.Generator) -> tuple[float, float]:
        """The estimate and its p-value."""
        alternatives = sample.predictions.law.alternatives()
        assert alternatives is not None
        calls = [(alternatives, stream) for stream in streams(rng, self.n_resamples)]
        draws = np.concatenate(run(_draws, calls, "redraws"))
        observed = estimator.estimate(sample)
        tolerance = 1e-10 * max(1.0, abs(observed))
        # Weights in units of that of the observed targets, which is what exceeds none of those that count.
        weights = np.exp(np.minimum(observed - draws[draws >= observed - tolerance], 0.0))
        log_p = np.log((1.0 + weights.sum()) / (1 + self.n_resamples)) - observed
        return observed, float(np.exp(min(0.0, log_p)))

    def describe(self) -> str:
        return f"importance sampling from the alternatives, {self.n_resamples} redraws"


def _draws(alternatives: Alternatives, stream: Stream) -> FloatArray:
    """``log E`` for targets drawn from the mixture of alternatives."""
    generator, size = stream
    members = generator.choice(alternatives.weights.size, size=size, p=alternatives.weights)
    targets = [alternatives.sample(int(member), generator, 1) for member in members]
    return log_ratios_of(alternatives, np.concatenate(targets))
