"""Families of predictive distributions, one per file, and the checked samples that tests work on."""

from caltest.predictions.bandwidth import MEDIAN_OF, ZeroBandwidth
from caltest.predictions.base import ClosedFormMissing, Predictions, assumed
from caltest.predictions.bernoulli import Bernoulli
from caltest.predictions.beta import Beta
from caltest.predictions.categorical import Categorical
from caltest.predictions.continuous import Continuous
from caltest.predictions.convert import Missing, as_predictions, as_sample, median_bandwidth
from caltest.predictions.counts import CountPredictions, NegativeBinomial, Poisson
from caltest.predictions.ensemble import DrawnEnsemble, Ensemble
from caltest.predictions.finite import FinitePredictions
from caltest.predictions.gamma import Gamma
from caltest.predictions.laplace import Laplace
from caltest.predictions.log_normal import LogNormal
from caltest.predictions.members import Members
from caltest.predictions.mixture import Mixture
from caltest.predictions.mvnormal import MvNormal
from caltest.predictions.normal import Normal
from caltest.predictions.ordinal import Ordinal
from caltest.predictions.quantiles import QuantileForecast
from caltest.predictions.reductions import classwise, reduce_to_top_label, top_label
from caltest.predictions.residuals import Residuals, pit_values, standardised_residuals
from caltest.predictions.sample import Sample
from caltest.predictions.scenarios import Pool, Scenarios
from caltest.predictions.student_t import StudentT
from caltest.predictions.unnormalised import Unnormalised

__all__ = [
    "MEDIAN_OF",
    "Bernoulli",
    "Beta",
    "Categorical",
    "ClosedFormMissing",
    "Continuous",
    "CountPredictions",
    "DrawnEnsemble",
    "Ensemble",
    "FinitePredictions",
    "Gamma",
    "Laplace",
    "LogNormal",
    "Members",
    "Missing",
    "Mixture",
    "MvNormal",
    "NegativeBinomial",
    "Normal",
    "Ordinal",
    "Poisson",
    "Pool",
    "Predictions",
    "QuantileForecast",
    "Residuals",
    "Sample",
    "Scenarios",
    "StudentT",
    "Unnormalised",
    "ZeroBandwidth",
    "as_predictions",
    "as_sample",
    "assumed",
    "classwise",
    "median_bandwidth",
    "pit_values",
    "reduce_to_top_label",
    "standardised_residuals",
    "top_label",
]
