"""Piecewise maps: histogram binning, Bayesian binning into quantiles, isotonic regression."""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, softmax

from caltest._basics.numerics import FloatArray, IntArray
from caltest._validation import choice, positive_number, switch, whole
from caltest.binning import quantile_ranks
from caltest.estimators.classical.corp import IsotonicGroups
from caltest.recalibration.base import ProbabilityCalibrator, ProbabilityMap
from caltest.recalibration.shared.inputs import SMALLEST, probabilities_of
from caltest.recalibration.shared.storage import require, require_increasing


@dataclass(frozen=True, eq=False, repr=False)
class StepMap(ProbabilityMap):
    """Values (b,) on ``[.., e_1], (e_1, e_2], ..., (e_{b-1}, ..]`` with inner edges e (b - 1,).

    ``on`` is ``"input"`` if the edges are on the scale of the input, ``"probabilities"`` if logits become these first.
    """

    on: str
    edges: FloatArray
    values: FloatArray

    binary = True
    ranges = {"values": (0.0, 1.0)}

    def _check(self) -> None:
        super()._check()
        require(self.on in ("input", "probabilities"), "on", self.on, "'input' or 'probabilities'")
        require_increasing("edges", self.edges, -np.inf, np.inf)
        shape = (self.edges.size + 1,)
        require(self.values.shape == shape, "values", self.values.shape, f"shape {shape}, one more than edges")

    def _apply(self, scores: FloatArray) -> FloatArray:
        points = probabilities_of(scores, self.input) if self.on == "probabilities" else scores
        return np.asarray(self.values[np.searchsorted(self.edges, points)])


def between(low: FloatArray, high: FloatArray) -> FloatArray:
    """Numbers half way between others, at least ``low`` and below ``high`` even if these are neighbours."""
    middle = low + (high - low) / 2.0
    return np.asarray(np.where(middle < high, middle, low))


def mid_points(edges: FloatArray) -> FloatArray:
    """Mid-points (b,) of the bins of [0, 1] with inner edges (b - 1,)."""
    ends = np.concatenate([[0.0], edges, [1.0]])
    return np.asarray((ends[:-1] + ends[1:]) / 2.0)


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

    Notes
    -----
    Time O(n log n). Bins without observations, which only uniform ones can be, have their mid-points as values. Bins
    with labels of one class have the values 0 or 1, so that the log loss of other data can be infinite.
    Source: Zadrozny and Elkan 2001.

    Examples
    --------
    >>> import caltest as ct
    >>> fitted = ct.recalibration.HistogramBinning(2).fit([0.1, 0.3, 0.4, 0.8], [0, 1, 0, 1])
    >>> fitted([0.2, 0.9]).tolist()
    [0.5, 0.5]
    """

    citations = ("zadrozny2001",)
    n_bins: int = 15
    bins: str = "quantile"

    binary = True
    _checks = {"n_bins": whole(1), "bins": choice(("quantile", "uniform"))}

    def _fit(self, scores: FloatArray, labels: IntArray) -> StepMap:
        p = probabilities_of(scores, self.input)
        if self.bins == "uniform":
            edges = np.arange(1, self.n_bins) / self.n_bins
        else:
            edges = quantile_edges(*np.unique(p, return_counts=True), self.n_bins)
        bins = np.searchsorted(edges, p)
        sizes = np.bincount(bins, minlength=edges.size + 1)
        events = np.bincount(bins, labels, minlength=edges.size + 1)
        values = np.divide(events, sizes, out=mid_points(edges), where=sizes > 0)
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


STRENGTH = 2.0
"""Number N' of observations that the prior of all bins together is worth."""


@dataclass(frozen=True)
class BBQ(ProbabilityCalibrator):
    """Bayesian binning into quantiles: histogram binnings of many sizes, weighted by their posterior probabilities.

    A binning with b bins of equal numbers of observations has the prior ``Beta(N' p_j / b, N' (1 - p_j) / b)`` for the
    frequency in bin j, with the mid-point p_j and N' = 2, and the marginal likelihood

        ``prod_j G(N'/b) / G(n_j + N'/b)  G(m_j + a_j) / G(a_j)  G(n_j - m_j + b_j) / G(b_j)``

    for m_j outcomes 1 among n_j. The map is the mean of ``(m_j + a_j) / (n_j + N'/b)`` over the binnings.

    Parameters
    ----------
    spread
        C in the range of b, from ``max(1, floor(n^(1/3) / C))`` to ``min(ceil(n/5), ceil(C n^(1/3)))``.
    input
        ``"probabilities"`` (n,) or ``"logits"``: log-odds (n,), which become probabilities first.

    Notes
    -----
    Time O(n log n + C^2 n^(2/3) log n). The values are never 0 or 1. Edges lie half way between predictions, and
    several b that give the same bins count once. Constant predictions have one bin; separated labels give values near 0
    and 1. Source: Naeini, Cooper and Hauskrecht 2015.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["naive Bayes"]
    >>> fitted = ct.recalibration.BBQ().fit(*ct.top_label(p, y))
    >>> fitted([0.5, 0.9, 1.0]).round(3).tolist()
    [0.592, 0.592, 0.914]
    """

    citations = ("naeini2015",)
    spread: float = 10.0

    binary = True
    _checks = {"spread": positive_number}

    def _fit(self, scores: FloatArray, labels: IntArray) -> StepMap:
        values, numbers, counts = np.unique(
            probabilities_of(scores, self.input), return_inverse=True, return_counts=True
        )
        events = np.bincount(numbers, labels, values.size).astype(np.float64)
        all_edges = [quantile_edges(values, counts, size) for size in self.sizes(labels.size)]
        # Binnings that coincide count once.
        binnings = list({inner.tobytes(): inner for inner in all_edges}.values())
        edges = np.unique(np.concatenate(binnings))
        weights, means = [], []
        for inner in binnings:
            likelihood, frequencies = _posterior(inner, values, counts, events)
            weights.append(likelihood)
            means.append(frequencies[np.searchsorted(inner, np.append(edges, 1.0))])
        averaged = np.einsum("l,lb->b", softmax(weights), np.stack(means))
        return StepMap(self.input, 2, on="probabilities", edges=edges, values=averaged)

    def sizes(self, n: int) -> range:
        """Numbers of bins of the binnings for n observations."""
        root = np.cbrt(n)
        low = max(1, int(np.floor(root / self.spread)))
        high = min(int(np.ceil(n / 5)), int(np.ceil(self.spread * root)))
        return range(low, max(low, high) + 1)


def _posterior(edges: FloatArray, values: FloatArray, counts: IntArray, events: FloatArray) -> tuple[float, FloatArray]:
    """Log marginal likelihood of a binning, and posterior mean of the frequency in each of its bins (b,)."""
    starts = np.concatenate([[0], np.searchsorted(values, edges, side="right")])
    n, m = np.add.reduceat(counts, starts).astype(np.float64), np.add.reduceat(events, starts)
    centres, share = mid_points(edges), STRENGTH / n.size
    # Mid-points of bins next to 0 or 1 can round to these.
    a, b = np.maximum(share * centres, SMALLEST), np.maximum(share * (1.0 - centres), SMALLEST)
    terms = gammaln(share) - gammaln(n + share) + gammaln(m + a) - gammaln(a) + gammaln(n - m + b) - gammaln(b)
    return float(terms.sum()), (m + a) / (n + share)


@dataclass(frozen=True, eq=False, repr=False)
class InterpolatedMap(ProbabilityMap):
    """The line through points (x, value), constant beyond the first and the last."""

    points: FloatArray
    values: FloatArray

    binary = True
    ranges = {"values": (0.0, 1.0)}

    def _check(self) -> None:
        super()._check()
        require_increasing("points", self.points, -np.inf, np.inf)
        same = self.points.size > 0 and self.values.shape == self.points.shape
        require(same, "values", self.values.shape, f"one for each of at least one of points, {self.points.shape}")

    def _apply(self, scores: FloatArray) -> FloatArray:
        return np.interp(scores, self.points, self.values)


@dataclass(frozen=True)
class Isotonic(ProbabilityCalibrator):
    """Isotonic regression of binary outcomes: the increasing function with the smallest Brier and log loss.

    Equal predictions are averaged, then adjacent violators are pooled to blocks of one value each.

    Parameters
    ----------
    interpolate
        False: constant on each block, with jumps half way between the last prediction of a block and the first of the
        next. True: linear between these, as in scikit-learn. Both agree on the predictions of the fit, and are constant
        beyond them.
    input
        ``"probabilities"`` (n,) or ``"logits"``: log-odds or other real scores (n,).

    Notes
    -----
    Time O(n log n). The first and the last block often have the values 0 and 1 exactly, so that the log loss of other
    data can be infinite. Separated labels give a step from 0 to 1, constant predictions a constant.
    Source: Zadrozny and Elkan 2002.

    Examples
    --------
    >>> import caltest as ct
    >>> fitted = ct.recalibration.Isotonic().fit([0.1, 0.3, 0.4, 0.8], [0, 1, 0, 1])
    >>> fitted([0.1, 0.15, 0.35, 0.7]).tolist()
    [0.0, 0.0, 0.5, 1.0]
    """

    citations = ("zadrozny2002",)
    interpolate: bool = False

    binary = True
    _checks = {"interpolate": switch}

    def _fit(self, scores: FloatArray, labels: IntArray) -> ProbabilityMap:
        groups = IsotonicGroups.of(scores)
        x, values = groups.values, groups.curves(labels[None])[0]
        starts = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
        if not self.interpolate:
            edges = between(x[starts[1:] - 1], x[starts[1:]])
            return StepMap(self.input, 2, on="input", edges=edges, values=values[starts])
        ends = np.concatenate([starts[1:] - 1, [x.size - 1]])
        kept = np.unique(np.concatenate([starts, ends]))
        return InterpolatedMap(self.input, 2, points=x[kept], values=values[kept])
