"""What is off if all observations are taken together, in words."""

from math import sqrt

import numpy as np

from caltest._basics.numerics import effective_number
from caltest._basics.types import FloatArray
from caltest.predictions import Sample
from caltest.predictions.standard_scores import mean_square

CLEAR = 3.0
"""Standard errors from which on a difference is named."""


def marginal_finding(sample: Sample, weights: FloatArray | None = None) -> str:
    """What is most off if all observations are taken together, with their weights, or that nothing is."""
    law = sample.predictions.law.finite
    if law is None:
        return bias_finding(sample, weights)
    p, w = law.probabilities, np.ones(len(sample)) if weights is None else weights
    counts, expected = np.bincount(sample.targets, w, minlength=law.n_classes), w @ p
    deviations = np.sqrt(np.maximum(np.square(w) @ (p * (1.0 - p)), 1e-300))
    z = (counts - expected) / deviations
    # The last of equal ones: of two classes class 1 is named.
    c = int(np.flatnonzero(np.abs(z) >= np.abs(z).max() * (1.0 - 1e-9))[-1])
    if abs(z[c]) < CLEAR:
        return "errors depend on the predictions and cancel overall"
    more = "more" if z[c] > 0.0 else "less"
    much = f"{counts[c]:.0f} times instead of {expected[c]:.1f}"
    if weights is not None:
        much = f"{100 * counts[c] / w.sum():.3g} % of the weight instead of {100 * expected[c] / w.sum():.3g} %"
    return f"{law.occurrence(c)} {more} often than predicted: {much}"


def bias_finding(sample: Sample, weights: FloatArray | None = None) -> str:
    """Whether outcomes are above or below what was predicted overall, in units of the predicted spread."""
    z = sample.predictions.law.standard_scores(np.asarray(sample.targets)[None])[0]
    vectors = z[:, None] if z.ndim == 1 else z
    means = np.average(vectors, axis=0, weights=weights)
    t = int(np.argmax(np.abs(means)))
    if abs(means[t]) * sqrt(len(vectors) if weights is None else effective_number(weights)) < CLEAR:
        return "errors depend on the predictions and cancel overall"
    where = "" if z.ndim == 1 else f" in coordinate {t}"
    side = "above" if means[t] > 0.0 else "below"
    mean = abs(means[t]) * in_predicted_units(sample)
    size = "1e+100 or more" if mean > 1e100 else f"{mean:.2g}"
    return f"outcomes are {side} what was predicted{where}, by {size} predicted standard deviations on average"


def in_predicted_units(sample: Sample) -> float:
    """A mean score of 1 in predicted standard deviations, which are those of the members for ensembles."""
    law = sample.predictions.law
    share = law.spread_shares(mean_square(law.standard_scores(np.asarray(sample.targets)[None])))
    return sqrt(law.weight / float(share[0]))
