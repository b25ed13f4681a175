"""Exact conditional Monte Carlo: keep the predictions, redraw the targets."""

from dataclasses import dataclass

import numpy as np

from caltest._numerics import resampling_pvalue
from caltest._validation import whole_number
from caltest.estimators import Estimator
from caltest.nulls.base import Null, Outcome
from caltest.predictions import Sample


@dataclass(frozen=True)
class ConditionalMonteCarlo(Null):
    """The estimate against its values for B redraws of the targets from the predictions.

    Given all predictions, calibration says that the targets are independent draws from them: a simple hypothesis
    that can be simulated. With ``p = (1 + #{draw >= estimate}) / (1 + B)`` the observed and the drawn values are
    exchangeable under the null hypothesis, so P(p <= alpha) <= alpha for every n, every B and every estimator
    (Dwass 1957; Barnard 1963). Ties count against rejection.

    Samples are ranked by the number of outcomes that had predicted probability 0, then by the estimate. Redraws have
    none, so a sample with such an outcome gets the smallest p-value, 1 / (1 + B), whatever its estimate.

    Assumes that the targets are independent given the predictions, that kernel, bins and test locations do not
    depend on the targets, and that the data were not used to fit the model.

    Time for the SKCE with finitely many outcomes: O(n**2 (k + B)), one comparison per pair and draw. Memory O(n B).
    """

    n_resamples: int = 999

    pvalue_kind = "exact"
    statistic_name = "the estimate"
    uses_random_numbers = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_resamples", whole_number("n_resamples", self.n_resamples, 1))

    def check_estimator(self, estimator: Estimator) -> None:
        """Every estimator will do."""

    def check_sample(self, estimator: Estimator, sample: Sample) -> None:
        """No further condition."""

    def outcome(self, estimator: Estimator, sample: Sample, rng: np.random.Generator) -> Outcome:
        """Estimate and its rank among the redraws."""
        redraws = sample.predictions.sample(rng, self.n_resamples)
        values = estimator.estimates(sample.predictions, np.concatenate([sample.targets[None], redraws]))
        estimate, draws = float(values[0]), values[1:]
        # No redraw contains an outcome of probability 0, so a sample that does is more extreme than all of them.
        certain = sample.impossible.size > 0
        pvalue = 1.0 / (1 + draws.size) if certain else resampling_pvalue(estimate, draws)
        return Outcome(estimate, estimate, pvalue, null_distribution=draws)

    def describe(self) -> str:
        """The null in one line."""
        return f"targets redrawn from the predictions (conditional Monte Carlo), {self.n_resamples} draws"
