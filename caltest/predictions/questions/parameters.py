"""Parameters that look as if they were others, or functions of those wanted: variances, precisions or logarithms."""

from collections.abc import Callable
from math import log, sqrt

import numpy as np

from caltest._basics.numerics import Array, FloatArray, evenly_spaced
from caltest.predictions.base import Predictions
from caltest.predictions.counts.negative_binomial import NegativeBinomial
from caltest.predictions.numbers.univariate import Univariate
from caltest.predictions.questions.classes import CLEAR, ENOUGH, RIGHT, WRONG
from caltest.predictions.questions.order import LARGEST
from caltest.predictions.questions.units import CLOSE, distance_of
from caltest.predictions.reductions.standard_scores import in_units

Functions = dict[str, tuple[Callable[[FloatArray], FloatArray], str]]
"""What may have to be done to parameters, and what they are then."""

VARIANCES, PRECISIONS, RECIPROCALS = "square roots of", "inverse square roots of", "reciprocals of"
SCALES: Functions = {
    VARIANCES: (np.sqrt, "variances"),
    PRECISIONS: (lambda scale: 1.0 / np.sqrt(scale), "precisions"),
    RECIPROCALS: (lambda scale: 1.0 / scale, "inverse scales"),
    "exponentials of": (np.exp, "logarithms of them"),
    "exponentials of half the": (lambda scale: np.exp(0.5 * scale), "logarithms of variances"),
}
MEANS: Functions = {"exponentials of": (np.exp, "logarithms"), "squares of": (np.square, "square roots")}

SOME, TINY = 1000, 1e-300
"""Rows that are looked at, and the smallest number with a logarithm."""

QUARTILE, TIMES = 0.6744897501960817, (1.5, 3.0)
"""Below which half of all standard normal errors are, and by which factors spreads are nearly right, or far from it."""

VARIED = 0.15
"""Standard deviation of the logarithms of parameters from which on a function of them is told from a factor."""

FIT, DISPERSED = 3.0, 10.0
"""How much better counts fit other means at least, and up to which variance, in units of that predicted."""


def of_scales(predictions: Predictions, targets: Array) -> tuple[str, ...]:
    """Whether outcomes disagree with predicted standard deviations or scales, and would fit functions of them.

    Their square roots also if they nearly fit.
    """
    rows = evenly_spaced(len(predictions), SOME)
    law = predictions.take(rows)
    if not isinstance(law, Univariate) or law.around_middles is None:
        return ()
    middle, scale, quartile = law.around_middles
    errors = np.abs(targets[rows] - middle) * (QUARTILE / quartile)
    if _spread_disagrees(errors, scale) < WRONG:
        return ()
    tried = _tried(SCALES, scale)
    if VARIANCES not in tried:
        return ()
    misfit = {words: _spread_disagrees(errors, one) for words, one in tried.items()}
    usual, near, varied = _ratio(errors, scale), _ratio(errors, tried[VARIANCES]), is_varied(scale)
    if varied and _spread_disagrees(errors, usual * scale) < RIGHT:
        return ()
    # Noise that is not predicted, as of the latent function of a Gaussian process.
    noisy = _spread_disagrees(errors, np.hypot(scale, _noise(errors, scale)))
    if varied and noisy < min(RIGHT, _spread_disagrees(errors, near * tried[VARIANCES]), *misfit.values()):
        return ()
    is_far = abs(log(usual)) > log(TIMES[1])
    # Multiples of all are alike where they hardly vary.
    powers = [one for one in (VARIANCES, PRECISIONS, RECIPROCALS) if one in misfit]
    best = min(misfit if varied else powers if is_far else powers[:1], key=misfit.__getitem__)
    if misfit[best] > RIGHT:
        if not (is_far and abs(log(near)) < log(TIMES[0])):
            return ()
        best = VARIANCES
    name = "scales" if law.normal is None else "standard deviations"
    return (f"the {best} predicted {name} would fit the outcomes: are these {SCALES[best][1]}?",)


def exchanged(predictions: Predictions, targets: Array) -> tuple[str, ...]:
    """Whether outcomes would fit means in the place of standard deviations, and these in theirs, clearly better."""
    rows = evenly_spaced(len(predictions), SOME)
    law = predictions.take(rows).normal
    if law is None or law[0].min() <= 0.0 or law[1].min() <= 0.0:
        return ()
    (mean, scale), y = law, targets[rows]
    squares = [
        np.minimum(np.square(in_units(y - one, other)), LARGEST) for one, other in ((mean, scale), (scale, mean))
    ]
    gains = 0.5 * (squares[0] - squares[1]) + np.log(scale / mean)
    if gains.mean() * np.sqrt(gains.size) <= CLEAR * gains.std() or distance_of((y - scale) / mean) > CLOSE:
        return ()
    return ("means and standard deviations in each other's place would fit the outcomes: are the two exchanged?",)


def of_means(predictions: Predictions, counts: Array) -> tuple[str, ...]:
    """Whether counts disagree with predicted means, and would fit functions of them."""
    rows = evenly_spaced(len(predictions), SOME)
    if rows.size < ENOUGH:
        return ()
    law, y = predictions.take(rows), np.asarray(counts[rows], dtype=np.float64)
    (mean, variance), ratios = law.moments(), {}
    own = _mean_disagrees(y, mean, variance)
    usual = y.sum() / mean.sum()
    if own < WRONG or not is_varied(mean) or _mean_disagrees(y, usual * mean, usual * variance) < RIGHT:
        return ()
    for words, other in _tried(MEANS, mean).items():
        moved = variance / mean * other
        dispersion = float(np.mean(in_units(np.square(y - other), moved)))
        least = min(own / FIT, RIGHT * sqrt(max(1.0, dispersion)))
        if dispersion < DISPERSED and _mean_disagrees(y, other, moved) < least:
            ratios[dispersion] = words
    if not ratios:
        return ()
    words = ratios[min(ratios)]
    return (f"the {words} predicted means would fit the outcomes: are these {MEANS[words][1]}?",)


def of_failures(predictions: Predictions, counts: Array) -> tuple[str, ...]:
    """Whether counts disagree with means of negative binomial laws, and would fit those with 1 - probability."""
    rows = evenly_spaced(len(predictions), SOME)
    law = predictions.take(rows)
    if rows.size < ENOUGH or not isinstance(law, NegativeBinomial) or law.probability.max() >= 1.0:
        return ()
    y, p = np.asarray(counts[rows], dtype=np.float64), law.probability
    of_other = law.size * p / (1.0 - p)
    disagree = [_mean_disagrees(y, *one) for one in (law.moments(), (of_other, of_other / (1.0 - p)))]
    if disagree[0] < WRONG or disagree[1] > RIGHT or not is_varied(law.moments()[0]):
        return ()
    return ("1 - probability would fit the outcomes: is it that of the other event, as torch has it?",)


def _ratio(errors: FloatArray, scale: FloatArray) -> float:
    """How many times as large as predicted the middle error is."""
    return max(float(np.median(in_units(errors, scale))), TINY) / QUARTILE


def _noise(errors: FloatArray, scale: FloatArray) -> float:
    """The standard deviation of noise that, added to what is predicted, makes half of all errors the inner half."""
    variances = np.square(errors / QUARTILE) - np.square(scale)
    return sqrt(max(float(np.median(variances)), 0.0))


def _tried(functions: Functions, parameters: FloatArray) -> dict[str, FloatArray]:
    """Functions of parameters that are finite and positive."""
    with np.errstate(all="ignore"):
        tried = {words: function(parameters) for words, (function, _) in functions.items()}
    return {words: one for words, one in tried.items() if np.isfinite(one).all() and (one > 0.0).all()}


def is_varied(parameters: FloatArray) -> bool:
    """Whether functions of parameters are told from multiples of them."""
    return float(np.log(np.maximum(parameters, TINY)).std()) > VARIED


def _spread_disagrees(errors: FloatArray, scale: FloatArray) -> float:
    """The larger standardised sum of whether errors are in the inner half, 1/2 or -1/2, and of that times log scales.

    It does not depend on how heavy the tails are, apart from the inner half.
    """
    inside = np.where(errors < QUARTILE * scale, 0.5, -0.5)
    return largest_sum(inside, np.full(len(scale), 0.25), np.log(np.maximum(scale, TINY)))


def _mean_disagrees(y: FloatArray, mean: FloatArray, variance: FloatArray) -> float:
    """The larger standardised sum of errors, and of these times logarithms of the means."""
    return largest_sum(y - mean, variance, np.log(np.maximum(mean, TINY)))


def largest_sum(errors: FloatArray, variances: FloatArray, logs: FloatArray) -> float:
    """The larger standardised sum of errors, and of these times logarithms."""
    weights = np.stack([np.ones(len(logs)), logs - logs.mean()])
    return float(np.abs(in_units(weights @ errors, np.sqrt(np.square(weights) @ variances))).max())
