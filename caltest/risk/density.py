"""Error functions from ratios of Dirichlet kernel densities."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy

from caltest._basics.arrays import read_only
from caltest._basics.numerics import FloatArray, ranges
from caltest._loops.statistics.class_shares import class_shares, shares_on_line
from caltest.risk.base import BilinearForm, ErrorFunction, Fits, positive_settings
from caltest.risk.data import CalibrationData

BANDWIDTHS = (*np.logspace(-5, -1, 15).tolist(), 0.2, 0.4, 0.6, 0.8, 1.0)
"""Bandwidths tried by Gruber and Bach 2024 (their software; the exponent printed in appendix B is garbled)."""

SMALLEST = 1e-30
"""Probabilities below it count as this one where their logarithm is taken."""

SCORES = 2**20
"""Scores of pairs computed together, 8 MB."""


@dataclass(frozen=True)
class DirichletErrorFunction(ErrorFunction):
    """``h(p, p') = <d(p), d(p')>``, ``d(p) = p - sum_i w_i(p) e_{y_i}``, from Dirichlet kernel densities.

    The weight w_i is proportional to the density at p of the Dirichlet distribution with parameters x_i / h + 1, for
    the prediction x_i it is fitted to and the bandwidth h. Probabilities c of one outcome are pairs (c, 1 - c).

    Parameters
    ----------
    bandwidth
        Positive h, or several to try; default 15 from 1e-5 to 0.1, then 0.2, 0.4, 0.6, 0.8 and 1.

    Notes
    -----
    Weights are computed from logarithms, less the largest of them, with probabilities of at least 1e-30: they are
    finite for every bandwidth and for predictions of exactly 0 and 1. Time O(n m d) to evaluate at m points, less for
    one outcome, where weights below 3e-20 of the largest are left out; memory 8 MB beside the data. ``plug_in`` has
    observation i among the weights at x_i, as in eq. 26 of Gruber and Bach 2024; Popordanoska et al. 2022 leave it out.

    Source: Popordanoska, Sayer and Blaschko 2022; Gruber and Bach 2024, eq. 25.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> round(ct.risk.DirichletErrorFunction(0.01).plug_in(*ct.top_label(p, y)), 4)
    0.0775
    """

    name: ClassVar[str] = "Dirichlet density"
    parameter: ClassVar[str] = "bandwidth"
    bandwidth: Any = BANDWIDTHS

    def __post_init__(self) -> None:
        object.__setattr__(self, "bandwidth", positive_settings("bandwidth", self.bandwidth))

    def grid(self, dimension: int) -> tuple[float, ...]:
        return tuple(self.bandwidth)

    def fits(self, data: CalibrationData) -> Fits:
        """The predictions, in an order that makes sums of weights short."""
        bandwidths = self.grid(data.dimension)
        if data.dimension == 1:
            return _on_line(bandwidths, data)
        order = np.argsort(data.outcomes, kind="stable")
        centres = data.points[order]
        bounds = np.concatenate([[0], np.cumsum(np.bincount(data.outcomes, minlength=data.dimension))]).astype(np.intp)

        def forms(points: FloatArray, which: Sequence[int]) -> Iterator[BilinearForm]:
            offsets = [scipy.special.gammaln(centres / bandwidths[index] + 1.0).sum(axis=1) for index in which]
            logs = np.log(np.maximum(points, SMALLEST))
            shares = np.empty((len(which), len(points), centres.shape[1]))
            for part in ranges(len(points), max(1, SCORES // len(centres))):
                scores = read_only(logs[part] @ centres.T, np.float64)
                for q, index in enumerate(which):
                    class_shares(scores, 1.0 / bandwidths[index], offsets[q], bounds, shares[q, part])
            return (BilinearForm(points - one) for one in shares)

        return Fits(forms)


def _on_line(bandwidths: tuple[float, ...], data: CalibrationData) -> Fits:
    """From the different probabilities of one outcome in order, how often each occurs, and with the outcome.

    The logarithm of a weight is a concave function of its centre c, whose derivative changes its sign where
    ``psi(c / h + 1) - psi((1 - c) / h + 1)`` passes ``log p - log(1 - p)``, with the digamma function psi.
    """
    centres, numbers = np.unique(data.points[:, 0], return_inverse=True)
    counts, ones = np.bincount(numbers).astype(np.float64), np.bincount(numbers, data.outcomes).astype(np.float64)

    def forms(points: FloatArray, which: Sequence[int]) -> Iterator[BilinearForm]:
        p = points[:, 0]
        log_odds = np.log(np.maximum(p, SMALLEST)) - np.log(np.maximum(1.0 - p, SMALLEST))
        for index in which:
            a, b = (side / bandwidths[index] + 1.0 for side in (centres, 1.0 - centres))
            peaks = np.searchsorted(scipy.special.psi(a) - scipy.special.psi(b), log_odds)
            frequencies = np.empty(p.size)
            slopes, offsets = log_odds / bandwidths[index], scipy.special.gammaln(a) + scipy.special.gammaln(b)
            shares_on_line(slopes, centres, offsets, peaks, counts, ones, frequencies)
            yield BilinearForm(points - frequencies[:, None])

    return Fits(forms)
