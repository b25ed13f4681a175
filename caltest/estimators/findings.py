"""What is off if all observations are taken together, in words."""

from math import sqrt

import numpy as np

from caltest.hstatistics.scores import scores_of
from caltest.predictions import FinitePredictions, Sample

CLEAR = 3.0
"""Standard errors from which on a difference is named."""


def marginal_finding(sample: Sample) -> str:
    """What is most off if all observations are taken together, or that nothing is."""
    law = sample.predictions.law
    if not isinstance(law, FinitePredictions):
        return bias_finding(sample)
    p = law.probabilities
    counts = np.bincount(sample.targets, minlength=law.n_classes)
    deviations = np.sqrt(np.maximum((p * (1.0 - p)).sum(axis=0), 1e-300))
    z = (counts - p.sum(axis=0)) / deviations
    # The last of equal ones: of two classes class 1 is named.
    c = int(np.flatnonzero(np.abs(z) >= np.abs(z).max() * (1.0 - 1e-9))[-1])
    if abs(z[c]) < CLEAR:
        return "errors depend on the predictions and cancel overall"
    more = "more" if z[c] > 0.0 else "less"
    return f"{law.occurrence(c)} {more} often than predicted: {counts[c]} times instead of {p[:, c].sum():.1f}"


def bias_finding(sample: Sample) -> str:
    """Whether outcomes are above or below what was predicted overall, in units of the predicted spread."""
    z = scores_of(sample.predictions, np.asarray(sample.targets)[None])[0]
    vectors = z[:, None] if z.ndim == 1 else z
    means = vectors.mean(axis=0)
    t = int(np.argmax(np.abs(means)))
    if abs(means[t]) * sqrt(len(vectors)) < CLEAR:
        return "errors depend on the predictions and cancel overall"
    where = "" if z.ndim == 1 else f" in coordinate {t}"
    side = "above" if means[t] > 0.0 else "below"
    size = "1e+100 or more" if abs(means[t]) > 1e100 else f"{abs(means[t]):.2g}"
    return f"outcomes are {side} what was predicted{where}, by {size} predicted standard deviations on average"
