"""Parameters that look as if they were the reciprocals of those wanted: rates, or sizes of negative binomial laws."""

from collections.abc import Callable
from math import log
from typing import Any

import numpy as np

from caltest._basics.numerics import Array, FloatArray, evenly_spaced
from caltest.predictions.base import Predictions
from caltest.predictions.counts.negative_binomial import NegativeBinomial
from caltest.predictions.numbers.gamma import Gamma
from caltest.predictions.questions.classes import ENOUGH, RIGHT, WRONG
from caltest.predictions.questions.parameters import RECIPROCALS, SOME, TIMES, TINY, is_varied, largest_sum

MOST_DISPERSED, LARGEST_PRODUCT = 1e3, 1e15
"""The largest dispersion that is tried, and of a mean times a dispersion."""


def _with_dispersion(law: Any, dispersion: FloatArray) -> NegativeBinomial:
    """Negative binomial laws with the same means and other dispersions, or the largest that are tried."""
    most = min(MOST_DISPERSED, LARGEST_PRODUCT / max(1.0, float(law.mean.max())))
    return NegativeBinomial.from_mean(law.mean, np.minimum(dispersion, most))


Inverse = tuple[str, str, Callable[[Any], FloatArray], Callable[[Any, FloatArray], Predictions]]
INVERSES: dict[type[Predictions], Inverse] = {
    Gamma: ("scales", "rates", lambda law: law.scale, lambda law, scale: Gamma(law.shape_parameter, scale)),
    NegativeBinomial: ("dispersions", "sizes", lambda law: law.dispersion, _with_dispersion),
}
"""What a parameter of a family and its reciprocal are called, the parameter, and the law with another one."""


def of_inverses(predictions: Predictions, targets: Array) -> tuple[str, ...]:
    """Whether outcomes disagree with a parameter, and would fit its reciprocal, but no multiple of it.

    Of one that hardly varies the reciprocal is a multiple, which is to be far from it.
    """
    rows = evenly_spaced(len(predictions), SOME)
    if rows.size < ENOUGH or (inverse := INVERSES.get(type(predictions))) is None:
        return ()
    law, y, (name, other_name, parameter_of, with_parameter) = predictions.take(rows), targets[rows], inverse
    parameter = parameter_of(law)
    logs = np.log(np.maximum(parameter, TINY))
    reciprocal, multiple = np.exp(-logs), np.exp(logs - 2.0 * logs.mean())
    if _law_disagrees(law, y, logs) < WRONG or _law_disagrees(with_parameter(law, reciprocal), y, logs) > RIGHT:
        return ()
    if is_varied(parameter):
        if _law_disagrees(with_parameter(law, multiple), y, logs) < RIGHT:
            return ()
    elif abs(2.0 * logs.mean()) < log(TIMES[1]):
        return ()
    return (f"the {RECIPROCALS} predicted {name} would fit the outcomes: are these {other_name}?",)


def _law_disagrees(law: Predictions, y: Array, logs: FloatArray) -> float:
    """The largest standardised sum of whether transforms of outcomes are above 1/2, or in the inner half, as for means.

    Of counts transforms are drawn between those of the count and of the one below.
    """
    u = law.cdf(y)
    if law.has_jumps:
        below = law.cdf_below(y)
        u = below + np.random.default_rng(1).random(u.size) * (u - below)
    sides = np.where(u > 0.5, 0.5, -0.5), np.where(np.abs(u - 0.5) < 0.25, 0.5, -0.5)
    return max(largest_sum(side, np.full(u.size, 0.25), logs) for side in sides)
