"""Moments of standardised residuals."""

from dataclasses import dataclass
from math import sqrt

import numpy as np

from caltest._basics.numerics import Array, FloatArray, effective_number
from caltest._results.values import EffectSize
from caltest._validation import at_least
from caltest.estimators.base import RedrawnEstimator
from caltest.predictions import Predictions, Sample
from caltest.predictions.standard_scores import mean_square


class ResidualMoment(RedrawnEstimator):
    """A moment of standardised residuals of numbers or vectors."""

    def check(self, predictions: Predictions) -> None:
        at_least(len(predictions), 1, type(self).__name__)
        if predictions.law.finite is not None:
            raise TypeError(
                f"predictions: got {predictions.family} predictions, wanted distributions of numbers or vectors for "
                f"{type(self).__name__}; for classes use ExcessLogScore() and ExcessBrierScore()"
            )


@dataclass(frozen=True)
class ResidualMean(ResidualMoment):
    """Squared length of the mean residual: are outcomes above or below what was predicted.

    ``n |mean z|**2 - d`` with the standard scores of the predictions: standardised residuals for normal ones,
    normal quantiles of ``F(Y)`` for other continuous ones. If those predictions are calibrated, it is a chi-squared
    variable of d degrees of freedom minus d.

    Notes
    -----
    Time O(n d) for each redraw. ``TypeError`` for classes.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.generators.GaussianModel(calibrated=False).sample(100, rng=1)
    >>> ct.MonteCarloTest(ct.estimators.ResidualMean(), n_resamples=99)(p, y, rng=1).pvalue
    0.01
    """

    def estimates(self, predictions: Predictions, targets: Array, weights: FloatArray | None = None) -> FloatArray:
        return self.moments(predictions.law.standard_scores(targets), weights)

    def moments(self, scores: FloatArray, weights: FloatArray | None = None) -> FloatArray:
        """``n |mean z|**2 - d``, with weights the effective number of observations for n."""
        mean = scores.mean(axis=1) if weights is None else np.einsum("bi...,i->b...", scores, weights / weights.sum())
        squares = np.square(mean) if mean.ndim == 1 else np.square(mean).sum(axis=1)
        n = scores.shape[1] if weights is None else effective_number(weights)
        return np.asarray(n * squares - (scores.shape[2] if scores.ndim == 3 else 1))

    def effect_size_of(self, estimate: float, sample: Sample, mean: float | None) -> EffectSize:
        """The length of the mean residual, without its part from noise."""
        unit = "length of the mean residual in predicted standard deviations"
        return EffectSize(sqrt(max(0.0, estimate) / len(sample)) * in_predicted_units(sample), unit)

    def describe(self, predictions: Predictions) -> str:
        return "squared mean of the standardised residuals"


@dataclass(frozen=True)
class ResidualSpread(ResidualMoment):
    """Mean of ``|z|**2 / d - 1`` for the residuals z of d coordinates: positive where predictions are too narrow.

    For normal predictions half of it, times d, is the excess of the log score. ``MonteCarloTest(ResidualSpread())`` is
    exact and two-sided. For ensembles it is ``(sum |e|**2 - v / m) / v - 1`` with the differences e of outcomes and
    means of the m members, and the sum v of the variances of the members, with divisors m - 1: unbiased in the parts.

    Notes
    -----
    Time O(n d) for each redraw. ``TypeError`` for classes, ``ValueError`` for ensembles of one member.

    Examples
    --------
    >>> import caltest as ct
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> y = 1.5 * rng.normal(size=100)
    >>> test = ct.MonteCarloTest(ct.estimators.ResidualSpread(), n_resamples=99)
    >>> test(ct.Normal(np.zeros(100), 1.0), y, rng=1).pvalue
    0.01
    """

    two_sided = True
    effect_unit = "variance of the residuals above what was predicted, relative to it"

    def check(self, predictions: Predictions) -> None:
        super().check(predictions)
        if not predictions.law.has_spread:
            raise ValueError(
                "members: got an outcome that is one of two values, which are equally far from their mean; wanted at "
                "least 2 members of ensembles, or 3 scenarios, for ResidualSpread(), or ResidualMean()"
            )

    def estimates(self, predictions: Predictions, targets: Array, weights: FloatArray | None = None) -> FloatArray:
        return predictions.law.excess_spread(targets, weights)

    def describe(self, predictions: Predictions) -> str:
        return "mean square of the standardised residuals - 1"


def in_predicted_units(sample: Sample) -> float:
    """A mean score of 1 in predicted standard deviations, which are those of the members for ensembles."""
    law = sample.predictions.law
    share = law.spread_shares(mean_square(law.standard_scores(np.asarray(sample.targets)[None])))
    return sqrt(law.weight / float(share[0]))
