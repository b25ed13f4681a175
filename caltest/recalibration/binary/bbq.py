"""Bayesian binning into quantiles."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import gammaln, softmax

from caltest._basics.types import FloatArray, IntArray
from caltest._validation import positive_number
from caltest.recalibration.base import ProbabilityCalibrator
from caltest.recalibration.binary.histogram import quantile_edges
from caltest.recalibration.binary.steps import StepMap, bins_of, mid_points, probabilities_of

STRENGTH = 2.0
"""Number N' of observations that the prior of all bins together is worth."""

SMALLEST = np.finfo(np.float64).tiny
"""Least parameter of a prior: mid-points of bins next to 0 or 1 can round to these."""


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

    Raises
    ------
    ValueError
        When fitting, for bad data, logits in the place of probabilities and the reverse.
    TypeError
        For several columns; ``OneVsRest(BBQ())`` is for classes.

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

    spread: float = 10.0

    binary: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "spread", positive_number("spread", self.spread))

    def _fit(self, scores: FloatArray, labels: IntArray) -> StepMap:
        values, numbers, counts = np.unique(
            probabilities_of(scores, self.input), return_inverse=True, return_counts=True
        )
        events = np.bincount(numbers, labels, values.size).astype(np.float64)
        binnings = _binnings(values, counts, self.sizes(labels.size))
        edges = np.unique(np.concatenate(binnings))
        weights, means = [], []
        for inner in binnings:
            likelihood, frequencies = _posterior(inner, values, counts, events)
            weights.append(likelihood)
            means.append(frequencies[bins_of(inner, np.append(edges, 1.0))])
        averaged = np.einsum("l,lb->b", softmax(weights), np.stack(means))
        return StepMap(self.input, 2, on="probabilities", edges=edges, values=averaged)

    def sizes(self, n: int) -> range:
        """Numbers of bins of the binnings for n observations."""
        root = np.cbrt(n)
        low = max(1, int(np.floor(root / self.spread)))
        high = min(int(np.ceil(n / 5)), int(np.ceil(self.spread * root)))
        return range(low, max(low, high) + 1)


def _binnings(values: FloatArray, counts: IntArray, sizes: range) -> list[FloatArray]:
    """Inner edges of each binning, those that coincide once."""
    edges = [quantile_edges(values, counts, size) for size in sizes]
    return list({inner.tobytes(): inner for inner in edges}.values())


def _posterior(edges: FloatArray, values: FloatArray, counts: IntArray, events: FloatArray) -> tuple[float, FloatArray]:
    """Log marginal likelihood of a binning, and posterior mean of the frequency in each of its bins (b,)."""
    starts = np.concatenate([[0], np.searchsorted(values, edges, side="right")])
    n, m = np.add.reduceat(counts, starts).astype(np.float64), np.add.reduceat(events, starts)
    centres, share = mid_points(edges, 0.0, 1.0), STRENGTH / n.size
    a, b = np.maximum(share * centres, SMALLEST), np.maximum(share * (1.0 - centres), SMALLEST)
    terms = gammaln(share) - gammaln(n + share) + gammaln(m + a) - gammaln(a) + gammaln(n - m + b) - gammaln(b)
    return float(terms.sum()), (m + a) / (n + share)
