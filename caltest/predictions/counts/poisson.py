"""Predicted Poisson distributions of counts."""

from typing import Any

import numpy as np
import scipy

from caltest._basics.numerics import Array, ArrayLike, FloatArray, generator_of
from caltest._validation import LARGEST_COUNT, positive_number, real_array, refuse_negative, refuse_rows
from caltest.predictions.base import Parameter
from caltest.predictions.counts.law import HALF_LOG_2_PI, CountPredictions, stirling_error
from caltest.predictions.counts.negative_binomial import NegativeBinomial


class Poisson(CountPredictions):
    """n Poisson distributions of counts, ``p(u) = rate**u exp(-rate) / u!`` for u = 0, 1, ...

    The variance is the rate; ``scipy.stats.poisson(rate)``. Every kernel of numbers can be the kernel of targets::

        E k(Z, y) = sum_u p(u) k(u, y),    E k(Z, Z') = sum_u sum_v p(u) p'(v) k(u, v)

    The Euclidean and the cityblock distance are ``|sqrt(rate) - sqrt(rate')|``: the square root of a count has nearly
    the same variance for all rates, and twice this distance is the Fisher-Rao distance. ``TotalVariation``,
    ``Wasserstein1`` and ``EnergyDistance`` are those of the distributions, from sums.

    Parameters
    ----------
    rate
        (n,) array-like, expected counts of at least 0; a rate of 0 predicts the count 0 with certainty.

    Raises
    ------
    ValueError
        For values that are not finite or negative; in computations with the kernel, for rates that differ so much or
        are so large that more than 131 072 counts matter (rates up to about 1e5 are well below that). For those
        ``Normal(rate, np.sqrt(rate))`` is close, or take draws: ``to_ensemble``.

    Notes
    -----
    The sums run over a window of U counts that has all but 2e-18 of the mass of every prediction; expectations are
    right to 1e-13, and targets can lie outside of the window. U is about the largest rate minus the smallest, plus 9
    standard deviations on either side. Time O(n U**2) once for a kernel, for U above 2048 O(n U log U), O(U) for each
    pair; memory O(n U).

    Source: Widmann et al. 2021, appendix G, for countably infinite sets of targets.

    Examples
    --------
    >>> import caltest as ct
    >>> predictions = ct.Poisson([0.5, 4.0, 11.0])
    >>> predictions
    <Poisson, n = 3>
    >>> ct.calibration_test(predictions, [0, 4, 30], n_resamples=99, rng=1).pvalue
    0.01
    >>> predictions.expected_kernel(ct.GaussianKernel(bandwidth=2.0), predictions.check_targets([0, 4, 30])).round(4)
    array([[0.9245, 0.2394, 0.    ],
           [0.2699, 0.708 , 0.    ],
           [0.005 , 0.0982, 0.    ]])
    """

    family = "Poisson"
    rate = Parameter(0, "Rates (..., n).")
    mean = Parameter(0, "Means (..., n), the rates.")
    variance = Parameter(0, "Variances (..., n), the rates.")

    def __init__(self, rate: ArrayLike) -> None:
        values = real_array(rate, "rate", ndim=1)
        wanted = "expected counts from 0 to 2**53"
        refuse_negative(values, "rate", wanted)
        refuse_rows(values >= LARGEST_COUNT, values, "rate", wanted)
        values.flags.writeable = False
        self._parameters = (values,)

    def sample(self, rng: Any = None, size: int | None = None) -> Array:
        shape = self.shape if size is None else (size, *self.shape)
        return np.asarray(generator_of(rng).poisson(self.rate, shape))

    def cdf(self, targets: Array) -> FloatArray:
        y = np.floor(np.asarray(targets, dtype=np.float64))
        return np.where(y < 0.0, 0.0, scipy.special.gammaincc(np.maximum(y, 0.0) + 1.0, self.rate))

    def at_temperature(self, temperature: float) -> "Poisson":
        """Poisson predictions with the rates ``rate**(1/T)``: densities ``p**(1/T)`` with respect to 1 / u!.

        With respect to the measure ``mu({u}) = 1 / u!`` the density ``rate**u exp(-rate)`` is geometric in u, and so
        are its powers (Widmann et al. 2021, Definition F.1). The means change: T above 1 moves all rates towards 1.
        """
        t = positive_number("temperature", temperature)
        rate = self.rate ** (1.0 / t)
        if (rate >= LARGEST_COUNT).any():
            raise ValueError(
                f"temperature: got {t:.6g}, with which a rate is {rate.max():.6g}, wanted rates below 2**53"
            )
        return self._like(rate)._labelled(self.index)

    def _tail_exponent(self, counts: FloatArray) -> FloatArray:
        """``u log(u / rate) - u + rate``."""
        rate = self.rate[..., None]
        difference = np.abs(counts - rate)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            change = counts * np.log1p(difference / np.minimum(counts, rate)) - difference
        change = np.where(counts < rate, -change, change)
        return np.where(counts == 0.0, rate, change)

    def _log_factor(self, counts: FloatArray) -> FloatArray:
        """``-log(u! (e / u)**u)``."""
        return -stirling_error(counts) - 0.5 * np.log(counts) - HALF_LOG_2_PI

    def natural(self) -> tuple[FloatArray, FloatArray]:
        with np.errstate(divide="ignore"):
            return np.log(self.rate), self.rate

    def with_mean(self, mean: FloatArray) -> "Poisson":
        return self._like(mean)

    def with_dispersion(self, dispersion: FloatArray) -> NegativeBinomial:
        return NegativeBinomial.of(self.mean, 1.0 / dispersion)

    def _recursion(self) -> tuple[FloatArray, FloatArray]:
        return np.zeros(self.shape), self.rate

    def parameter_vectors(self) -> FloatArray:
        return np.sqrt(self.rate)[..., None]
