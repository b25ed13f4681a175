"""Histogram binning of binary predictions."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from caltest._basics.types import FloatArray, IntArray
from caltest._validation import one_of, whole_number
from caltest.binning import quantile_ranks
from caltest.recalibration.base import ProbabilityCalibrator
from caltest.recalibration.binary.steps import StepMap, between, bins_of, mid_points, probabilities_of

BINS = ("quantile", "uniform")


@dataclass(frozen=True)
class HistogramBinning(ProbabilityCalibrator):
    """Histogram binning of binary predictions: the frequency of outcome 1 in the bin of each prediction.

    Parameters
    ----------
    n_bins
        Number of bins.
    bins
        ``"quantile"``: bins of about equal numbers of observations, equal predictions together, with edges half way
        between predictions; ``"uniform"``: of equal width, (j/b, (j+1)/b].
    input
        ``"probabilities"`` (n,) or ``"logits"``: log-odds (n,), which become probabilities first.

    Raises
    ------
    ValueError
        When fitting, for bad data, logits in the place of probabilities and the reverse.
    TypeError
        For several columns; ``OneVsRest(HistogramBinning())`` is for classes.

    Notes
    -----
    Time O(n log n). Bins without observations, which only uniform ones can be, have their mid-points as values. Bins
    with labels of one class have the values 0 or 1, so that the log score of other data can be infinite.
    Source: Zadrozny and Elkan 2001.

    Examples
    --------
    >>> import caltest as ct
    >>> fitted = ct.recalibration.HistogramBinning(2).fit([0.1, 0.3, 0.4, 0.8], [0, 1, 0, 1])
    >>> fitted([0.2, 0.9]).tolist()
    [0.5, 0.5]
    """

    n_bins: int = 15
    bins: str = "quantile"

    binary: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "n_bins", whole_number("n_bins", self.n_bins, 1))
        one_of("bins", self.bins, BINS)

    def _fit(self, scores: FloatArray, labels: IntArray) -> StepMap:
        p = probabilities_of(scores, self.input)
        if self.bins == "uniform":
            edges = np.arange(1, self.n_bins) / self.n_bins
        else:
            edges = quantile_edges(*np.unique(p, return_counts=True), self.n_bins)
        bins = bins_of(edges, p)
        sizes = np.bincount(bins, minlength=edges.size + 1)
        events = np.bincount(bins, labels, minlength=edges.size + 1)
        values = np.where(sizes > 0, events / np.maximum(sizes, 1), mid_points(edges, 0.0, 1.0))
        return StepMap(self.input, 2, on="probabilities", edges=edges, values=values)


def quantile_edges(values: FloatArray, counts: IntArray, n_bins: int) -> FloatArray:
    """Inner edges of bins of about equal numbers of observations, strictly between distinct sorted values (m,).

    The j-th bin ends after the value of the observation of rank ceil(n j / b), so equal values are never parted and
    edges that coincide are one.
    """
    cumulated = np.cumsum(counts)
    last = np.unique(np.searchsorted(cumulated, quantile_ranks(cumulated[-1], n_bins)))
    last = last[last < values.size - 1]
    return between(values[last], values[last + 1])
