"""What pictures of binary predictions share: outcomes, the histogram of predictions, labels."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from caltest._basics.jobs import streams
from caltest._basics.numerics import seed_of
from caltest._basics.threads import threaded
from caltest._basics.types import Array, FloatArray
from caltest.plots._axes import PALE
from caltest.predictions import Bernoulli, Sample
from caltest.predictions.reductions import reduce_to_binary

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HISTOGRAM_BINS = 30


def binary_of(sample: Sample) -> tuple[Bernoulli, Array]:
    """Binary predictions and outcomes: of top labels, if there are classes; ``TypeError`` for other families."""
    confidence, chosen = reduce_to_binary(sample.predictions)
    return confidence, (chosen == sample.targets).astype(np.intp)


def redrawn_ends(
    law: Bernoulli, function: Callable[[Array], FloatArray], n_resamples: int, rank: int, rng: Any
) -> tuple[FloatArray, FloatArray]:
    """The rank-th smallest and largest of the values (B, m) of a function of redrawn outcomes (B, n)."""
    parts = streams(np.random.default_rng(seed_of(rng)), n_resamples)
    values = threaded(lambda part: function(law.with_redraws(None, [part])), parts, len(parts), "redraws")
    redrawn = np.sort(np.concatenate(list(values)), axis=0)
    return redrawn[rank - 1], redrawn[-rank]


def draw_histogram(ax: "Axes", probability: FloatArray) -> None:
    """Where the predictions are, above the axes."""
    above = ax.inset_axes((0.0, 1.04, 1.0, 0.14))
    counts = above.hist(probability, bins=HISTOGRAM_BINS, range=(0.0, 1.0), color=PALE)[0]
    above.set(xlim=(0.0, 1.0), xticks=[], yticks=[np.max(counts)])
    above.tick_params(labelsize="small")
    above.spines[["top", "right"]].set_visible(False)


def label_axes(ax: "Axes", predictions: Bernoulli, title: str) -> None:
    """Limits, labels and title."""
    x_label, y_label = _axis_labels(predictions)
    ax.set(xlim=(0.0, 1.0), ylim=(0.0, 1.0), box_aspect=1.0, xlabel=x_label, ylabel=y_label)
    if title:
        ax.set_title(title, fontsize="medium")


def _axis_labels(predictions: Bernoulli) -> tuple[str, str]:
    if predictions.notion == "top label":
        return "confidence of the top label", "accuracy"
    if predictions.notion == "binary":
        outcome = f"class {1 if predictions.classes is None else predictions.classes[1]}"
        return f"predicted probability of {outcome}", f"observed frequency of {outcome}"
    return f"predicted probability, {predictions.notion}", "observed frequency"
