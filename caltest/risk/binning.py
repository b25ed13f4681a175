"""Error functions from bins of probabilities."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from caltest._basics.numerics import FloatArray
from caltest._validation import whole_number
from caltest.binning import quantile_ranks
from caltest.risk.base import BilinearForm, ErrorFunction, Fits, settings
from caltest.risk.data import CalibrationData

N_BINS = tuple(range(5, 101, 5))
"""Numbers of bins tried by Gruber and Bach 2024, appendix B."""


@dataclass(frozen=True)
class BinnedErrorFunction(ErrorFunction):
    """``h(p, p') = delta_b delta_b'`` with delta_b = mean confidence minus accuracy of the bin of p: binning.

    Bins are of equal width, (0, 1/B], (1/B, 2/B], ..., with 0 in the first. Where no probability fell into a bin h is
    0. The mean of h over the data it is fitted to (``plug_in``) is the square of the binned L2 calibration error.

    Parameters
    ----------
    n_bins
        Number B of bins, or several to try; default 5, 10, ..., 100.

    Notes
    -----
    For probabilities of one outcome only (``ct.top_label``, ``ct.classwise``). Time O(n log B) a fit, O(n) for a risk.

    Source: Gruber and Bach 2024, eq. 23.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = [0.1, 0.2, 0.7, 0.9], [0, 1, 1, 1]
    >>> round(ct.risk.BinnedErrorFunction(2).plug_in(p, y), 5)  # ((0.15 - 0.5)**2 + (0.8 - 1)**2) / 2
    0.08125
    """

    name: ClassVar[str] = "binning"
    parameter: ClassVar[str] = "bins"
    n_bins: Any = N_BINS

    def __post_init__(self) -> None:
        numbers = settings("n_bins", self.n_bins, lambda name, one: whole_number(name, one, 1), "positive whole number")
        object.__setattr__(self, "n_bins", numbers)

    def grid(self, dimension: int) -> tuple[float, ...]:
        """Numbers of bins; ``TypeError`` for probabilities of several classes."""
        if dimension > 1:
            raise TypeError(
                f"predictions: got probabilities of {dimension} classes, wanted those of one outcome for "
                f"{type(self).__name__}, because bins of a whole simplex hold next to no data; use ct.top_label or "
                "ct.classwise, or TwoStepRidgeErrorFunction"
            )
        return tuple(self.n_bins)

    def fits(self, data: CalibrationData) -> Fits:
        bins = [self._bins(data, b) for b in self.n_bins]
        return Fits(lambda points, which: (bins[index].form(points) for index in which))

    def _bins(self, data: CalibrationData, n_bins: int) -> "Bins":
        return Bins.of(np.arange(1, n_bins) / n_bins, data)


@dataclass(frozen=True)
class DebiasedBinnedErrorFunction(BinnedErrorFunction):
    """``h(p, p') = delta_b delta_b' - [same bin] acc_b (1 - acc_b) / (N_b - 1)``: binning without the bias of noise.

    Bins hold equal numbers of the probabilities it is fitted to: their edges are the order statistics ceil(n j / B),
    equal values share a bin. Where a bin holds less than two, h is 0. The mean over the data it is fitted to
    (``plug_in``) is the debiased estimate of Kumar et al. 2019, which can be negative.

    Settings, errors and predictions as for ``BinnedErrorFunction``.

    Notes
    -----
    Time O(n log n) a fit, O(n B**2) for a
    risk. Differs from the software of Kumar et al. in the edges, which there lie between two order statistics.

    Source: Kumar, Liang and Ma 2019, section 5.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = [0.1, 0.2, 0.7, 0.9], [0, 1, 1, 1]
    >>> round(ct.risk.DebiasedBinnedErrorFunction(2).plug_in(p, y), 5)  # 0.08125 - 0.25 / 2
    -0.04375
    """

    name: ClassVar[str] = "debiased binning"

    def _bins(self, data: CalibrationData, n_bins: int) -> "Bins":
        ordered = np.sort(data.points[:, 0])
        bins = Bins.of(np.unique(ordered[quantile_ranks(ordered.size, n_bins) - 1]), data)
        many = bins.sizes > 1
        variances = np.where(many, bins.frequencies * (1.0 - bins.frequencies) / np.maximum(bins.sizes - 1, 1), 0.0)
        return Bins(bins.edges, bins.sizes, bins.frequencies, np.where(many, bins.deviations, 0.0), variances)


@dataclass(frozen=True, eq=False)
class Bins:
    """Inner edges of bins, sizes, frequencies of the outcome, mean deviations, and what is taken off their squares."""

    edges: FloatArray
    sizes: FloatArray
    frequencies: FloatArray
    deviations: FloatArray
    variances: FloatArray | None = None

    @classmethod
    def of(cls, edges: FloatArray, data: CalibrationData) -> "Bins":
        """Bins that are closed above; empty ones have the deviation 0."""
        numbers = np.searchsorted(edges, data.points[:, 0], side="left")
        counts = np.bincount(numbers, minlength=edges.size + 1).astype(np.float64)
        sums, outcomes = (
            np.bincount(numbers, values, minlength=counts.size) for values in (data.deviations[:, 0], data.outcomes)
        )
        return cls(edges, counts, outcomes / np.maximum(counts, 1.0), sums / np.maximum(counts, 1.0))

    def form(self, points: FloatArray) -> BilinearForm:
        """``delta_b delta_b'``, less the variance where both points are in the same bin."""
        numbers = np.searchsorted(self.edges, points[:, 0], side="left")
        delta = self.deviations[numbers][:, None]
        if self.variances is None:
            return BilinearForm(delta)
        indicators = np.zeros((numbers.size, self.sizes.size))
        indicators[np.arange(numbers.size), numbers] = 1.0
        return BilinearForm(np.concatenate([delta, indicators], axis=1), np.concatenate([[1.0], -self.variances]))
