"""Calibration error of soft bins, to which observations belong in part."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy

from caltest._basics.numerics import Array, FloatArray
from caltest._validation import positive_number, whole
from caltest.estimators.binned_errors.ece import order_of_mean
from caltest.estimators.classical.base import BinaryStatistic
from caltest.predictions import Predictions


@dataclass(frozen=True)
class SoftBinnedECE(BinaryStatistic):
    """Soft-binned ECE (SB-ECE): each observation belongs to all bins of [0, 1], mostly to the nearest ones.

    ``u_j(p) = exp(-(p - m_j)^2 / T) / sum_l exp(-(p - m_l)^2 / T)`` are the shares of a prediction p in bins with the
    centres ``m_j = (j - 1/2) / M`` for ``j = 1, ..., M``, and ``S_j = sum_i u_j(p_i)`` the sizes of the bins. The
    estimate is ``(sum_j S_j/n |d_j|**q)**(1/q)`` with ``d_j = sum_i u_j(p_i) (y_i - p_i) / S_j``, the mean outcome of
    bin j minus its mean prediction.

    Parameters
    ----------
    n_bins
        Number M of bins.
    temperature
        T: shares fall off as a Gaussian with standard deviation ``sqrt(T / 2)``, by default 0.07, the width of a bin.
        As T goes to 0 the estimate becomes ``ECE(UniformBinning(n_bins), order=order)``, as it grows
        ``|mean(p) - mean(y)|``.
    order
        Order q of the mean over bins, finite; the source trains with 2.

    Raises
    ------
    ValueError
        For a number of bins below 1, a temperature that is not positive, an order below 1 or infinite.

    Notes
    -----
    Continuous in the predictions, unlike ``ECE``, so that it can be a loss in training; like it, biased: see
    ``result.effect_size``. ``MonteCarloTest(SoftBinnedECE())`` is exact. Time O(n M) for each redraw, memory O(n M).

    Source: Karandikar et al. 2021, equation 11.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> round(ct.estimators.SoftBinnedECE()(*ct.top_label(p, y)), 3)
    0.238
    """

    citations = ("karandikar2021",)
    biased_error = "soft-binned error"

    n_bins: int = 15
    temperature: float = 0.01
    order: float = 1.0
    _checks = {
        "n_bins": whole(1),
        "temperature": positive_number,
        "order": lambda name, order: positive_number(name, order_of_mean(name, order)),
    }

    def statistic_of(self, p: FloatArray) -> Callable[[Array], FloatArray]:
        centres = (np.arange(self.n_bins) + 0.5) / self.n_bins
        shares = scipy.special.softmax(-((p[:, None] - centres) ** 2) / self.temperature, axis=1)
        sizes = shares.sum(axis=0)
        # Of predictions that are all far from a bin its shares can be 0 in floating point.
        shares, sizes = shares[:, sizes > 0.0], sizes[sizes > 0.0]

        def of(outcomes: Array) -> FloatArray:
            errors = np.abs((outcomes - p) @ shares) / sizes
            return np.asarray((errors**self.order @ (sizes / p.size)) ** (1.0 / self.order))

        return of

    def describe(self, predictions: Predictions) -> str:
        of = "" if self.order == 1.0 else f" of order {self.order:g}"
        return f"soft-binned ECE{of}, {self.n_bins} bins at temperature {self.temperature:g}"
