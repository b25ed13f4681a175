"""Families of predictive distributions, and calls that reduce predictions to simpler ones.

Of classes: ``Bernoulli``, ``Categorical``, ``Ordinal``, and ``MultiLabel`` for several labels of a row. Of numbers:
``Normal``, ``Laplace``, ``StudentT``, ``Gamma``, ``LogNormal``, ``Beta``, and ``Continuous`` for those of scipy.stats.
Of vectors: ``MvNormal``. Of counts: ``Poisson``, ``NegativeBinomial``. Of numbers or vectors: ``Mixture``,
``Ensemble``, ``Scenarios``, ``QuantileForecast``, ``Unnormalised``. Of times to an event: ``SurvivalCurve``.
``interval_coverage`` and ``set_coverage`` take prediction intervals and conformal sets; ``Residuals`` is what
``standardised_residuals`` and ``pit_values`` give. ``Predictions`` is the base of all, a ``Sample`` predictions with
their targets; ``ClosedFormMissing`` is raised where a family and a kernel have no formula. A family of your own
derives from ``Univariate`` or ``CountPredictions``.
"""

from caltest._basics import offered as _offered
from caltest.predictions.base import ClosedFormMissing as ClosedFormMissing, Predictions as Predictions
from caltest.predictions.classes.categorical import Bernoulli as Bernoulli, Categorical as Categorical
from caltest.predictions.classes.multi_label import MultiLabel as MultiLabel
from caltest.predictions.classes.ordinal import Ordinal as Ordinal
from caltest.predictions.classes.survival_curve import SurvivalCurve as SurvivalCurve
from caltest.predictions.counts.law import CountPredictions as CountPredictions
from caltest.predictions.counts.negative_binomial import NegativeBinomial as NegativeBinomial
from caltest.predictions.counts.poisson import Poisson as Poisson
from caltest.predictions.ensembles.ensemble import Ensemble as Ensemble, Scenarios as Scenarios
from caltest.predictions.inputs.convert import Sample as Sample, median_bandwidth as median_bandwidth
from caltest.predictions.mixture import Mixture as Mixture
from caltest.predictions.numbers.beta import Beta as Beta
from caltest.predictions.numbers.continuous import Continuous as Continuous
from caltest.predictions.numbers.gamma import Gamma as Gamma
from caltest.predictions.numbers.laplace import Laplace as Laplace
from caltest.predictions.numbers.log_normal import LogNormal as LogNormal
from caltest.predictions.numbers.normal import Normal as Normal
from caltest.predictions.numbers.student_t import StudentT as StudentT
from caltest.predictions.numbers.univariate import Univariate as Univariate
from caltest.predictions.quantile_forecast import QuantileForecast as QuantileForecast
from caltest.predictions.reductions.classes import (
    class_groups as class_groups,
    classwise as classwise,
    top_label as top_label,
    top_m as top_m,
)
from caltest.predictions.reductions.coverage import interval_coverage as interval_coverage, set_coverage as set_coverage
from caltest.predictions.reductions.residuals import (
    Residuals as Residuals,
    pit_values as pit_values,
    standardised_residuals as standardised_residuals,
)
from caltest.predictions.vectors.mvnormal import MvNormal as MvNormal
from caltest.predictions.vectors.unnormalised import Unnormalised as Unnormalised

__all__ = _offered(globals())
