"""Predicted negative binomial distributions: counts that vary more than those of a Poisson distribution."""

from typing import Any, Self

import numpy as np
import scipy

from caltest._basics.numerics import Array, ArrayLike, FloatArray, generator_of
from caltest._validation import LARGEST_COUNT, positive_number, refuse_negative, refuse_rows
from caltest.predictions.base import Parameter
from caltest.predictions.counts.law import HALF_LOG_2_PI, CountPredictions, stirling_error
from caltest.predictions.inputs.labelled import indices_of
from caltest.predictions.numbers.univariate import parameter_rows


class NegativeBinomial(CountPredictions):
    """n negative binomial distributions of counts with size s > 0 and probability q in (0, 1].

    ``p(u) = Gamma(u + s) / (Gamma(s) u!) q**s (1 - q)**u`` for u = 0, 1, ...; ``scipy.stats.nbinom(s, q)``. For a whole
    number s it is the number of failures before the s-th success, for every s a Poisson distribution whose rate has a
    Gamma distribution. With the mean m = s (1 - q) / q and the dispersion a = 1 / s the variance is m + a m**2;
    ``NegativeBinomial.from_mean(m, a)`` takes these. Kernels of targets and their expectations, and distances of the
    distributions, are as for ``Poisson``.

    The Euclidean and the cityblock distance compare the vectors ``(sqrt(m), sqrt(m sqrt(a)))``: the roots of mean and
    standard deviation of the rate, in the limit a = 0 those of ``Poisson``.

    Parameters
    ----------
    size
        (n,) array-like or one number for all, above 0; not only whole numbers.
    probability
        (n,) array-like or one number for all, in (0, 1]; 1 predicts the count 0 with certainty. Models that predict
        means, such as those of statsmodels, go to ``from_mean``.

    Raises
    ------
    ValueError
        For values that are not finite or not in these ranges; in computations with the kernel, if more than 131 072
        counts matter. That is so for means of some thousands where the standard deviation is as large as the mean; take
        draws then: ``to_ensemble``.

    Notes
    -----
    As for ``Poisson``, but tails are exponential, so U is about 42 times the largest m a, plus 9 sqrt(m).

    Examples
    --------
    >>> import caltest as ct
    >>> predictions = ct.NegativeBinomial.from_mean([2.0, 10.0], dispersion=0.5)
    >>> predictions
    <NegativeBinomial, n = 2>
    >>> predictions.size, predictions.probability.round(4), predictions.variance
    (array([2., 2.]), array([0.5   , 0.1667]), array([ 4., 60.]))
    """

    family = "NegativeBinomial"
    mean = Parameter(0, "Means (..., n).")
    size = Parameter(1, "Sizes (..., n), scipy's n.")

    def __init__(self, size: ArrayLike, probability: ArrayLike) -> None:
        size, probability = parameter_rows((size, probability), ("size", "probability"))
        refuse_rows(size <= 0.0, size, "size", "numbers above 0")
        wrong = (probability <= 0.0) | (probability > 1.0)
        refuse_rows(wrong, probability, "probability", "numbers above 0 and at most 1 (for means use from_mean)")
        with np.errstate(over="ignore"):
            self._fill(size * (1.0 - probability) / probability, size, "probability")

    @classmethod
    def from_mean(cls, mean: ArrayLike, dispersion: ArrayLike) -> Self:
        """Distributions with means m and variances ``m + dispersion m**2``: size 1 / dispersion.

        Parameters
        ----------
        mean
            (n,) array-like, at least 0.
        dispersion
            (n,) array-like or one number for all, above 0: the ``alpha`` of statsmodels, 1 / ``size`` in R. Of order
            1e-9 or less it makes no difference to a Poisson distribution, which has dispersion 0.
        """
        new = object.__new__(cls)
        new._indices = indices_of(cls, (mean, dispersion), {})
        mean, dispersion = parameter_rows((mean, dispersion), ("mean", "dispersion"))
        refuse_negative(mean, "mean", "expected counts of at least 0")
        # Smaller numbers have no finite reciprocal.
        wanted = "numbers above 0 (without dispersion use Poisson(mean))"
        refuse_rows(dispersion <= 1e-300, dispersion, "dispersion", wanted)
        new._fill(mean, 1.0 / dispersion, "mean")
        return new

    def _fill(self, mean: FloatArray, size: FloatArray, name: str) -> None:
        with np.errstate(over="ignore"):
            largest = np.maximum(mean, mean / size)
        if (largest >= LARGEST_COUNT).any():
            i = int(largest.argmax())
            raise ValueError(
                f"{name}: got the mean {mean[i]:.6g} and the size {size[i]:.6g} at row {i}, wanted means, and means "
                "divided by sizes, up to 2**53"
            )
        mean.flags.writeable = size.flags.writeable = False
        self._parameters = (mean, size)

    @property
    def probability(self) -> FloatArray:
        """Probabilities (..., n), scipy's p."""
        return np.asarray(self.size / (self.size + self.mean))

    @property
    def dispersion(self) -> FloatArray:
        return np.asarray(1.0 / self.size)

    @property
    def variance(self) -> FloatArray:
        return self.mean * (1.0 + self.mean / self.size)

    def sample(self, rng: Any = None, size: int | None = None) -> Array:
        """Counts (n,), or (size, n), drawn from Poisson distributions with Gamma distributed rates."""
        generator = generator_of(rng)
        unit = self.mean / self.size

        def draw() -> Array:
            return np.asarray(generator.poisson(generator.standard_gamma(self.size) * unit))

        return draw() if size is None else np.stack([draw() for _ in range(size)])

    def cdf(self, targets: Array) -> FloatArray:
        y = np.floor(np.asarray(targets, dtype=np.float64))
        above = np.maximum(y, 0.0) + 1.0
        is_large, out = self.mean > self.size, np.zeros(np.broadcast_shapes(y.shape, self.shape))
        # Of a probability next to 1 and its complement only the complement has all its digits.
        scipy.special.betainc(self.size, above, self.probability, out=out, where=is_large & (y >= 0.0))
        complement = self.mean / (self.size + self.mean)
        scipy.special.betaincc(above, self.size, complement, out=out, where=~is_large & (y >= 0.0))
        return out

    def at_temperature(self, temperature: float) -> "NegativeBinomial":
        """Negative binomial predictions of the same size with the probability ``1 - (1 - q)**(1/T)``.

        With respect to the measure ``mu({u}) = Gamma(u + s) / (Gamma(s) u!)`` the density ``q**s (1 - q)**u`` is
        geometric in u, and so are its powers (Widmann et al. 2021, Definition F.1). The means change: they grow with T.
        """
        power = 1.0 / positive_number("temperature", temperature)
        with np.errstate(divide="ignore", over="ignore"):
            # The logarithm of 1 - q is -log(1 + size / mean).
            odds = 1.0 / np.expm1(power * np.log1p(self.size / self.mean))
        new = object.__new__(type(self))
        new._fill(self.size * odds, self.size, "temperature")
        return new._labelled(self.index)

    def _tail_exponent(self, counts: FloatArray) -> FloatArray:
        """``u log(u / m) - (u + s) log((u + s) / (m + s))`` in terms that do not cancel."""
        mean, size = self.mean[..., None], self.size[..., None]
        low, high = np.minimum(counts, mean), np.maximum(counts, mean)
        difference = high - low
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            change = counts * np.log1p(difference / low * (size / (size + high)))
            change -= size * np.log1p(difference / (size + low))
            change = np.where(counts < mean, -change, change)
            return np.where(counts == 0.0, size * np.log1p(mean / size), change)

    def _log_factor(self, counts: FloatArray) -> FloatArray:
        """``log(Gamma(u + s) / (Gamma(s) u!)) + u log(u / s) - (u + s) log((u + s) / s)``, which has no mean in it."""
        if counts.ndim > 1:
            return _log_factor(counts, self.size[..., None])
        # One size for all predictions, as regression models have it, is computed once.
        sizes, places = np.unique(self.size, return_inverse=True)
        return _log_factor(counts, sizes[:, None])[places.reshape(self.size.shape)]

    def natural(self) -> tuple[FloatArray, FloatArray]:
        with np.errstate(divide="ignore"):
            eta = -np.logaddexp(0.0, np.log(self.size) - np.log(self.mean))
        return eta, self.size * np.log1p(self.mean / self.size)

    def with_mean(self, mean: FloatArray) -> "NegativeBinomial":
        return self._like(mean, self.size)

    def with_dispersion(self, dispersion: FloatArray) -> "NegativeBinomial":
        return self._like(self.mean, 1.0 / dispersion)

    @classmethod
    def of(cls, mean: FloatArray, size: FloatArray) -> Self:
        """With parameters that are known to be in their ranges."""
        new = object.__new__(cls)
        new._parameters = (mean, size)
        return new

    def _recursion(self) -> tuple[FloatArray, FloatArray]:
        """Slope ``1 - q = mean / (mean + size)`` and constant ``size (1 - q)``."""
        return self.mean / (self.mean + self.size), self.mean / (1.0 + self.mean / self.size)

    def parameter_vectors(self) -> FloatArray:
        """Square roots of the means and of the standard deviations of the rates."""
        return np.sqrt(np.stack([self.mean, self.mean / np.sqrt(self.size)], axis=-1))


def _log_factor(counts: FloatArray, size: FloatArray) -> FloatArray:
    factor = stirling_error(counts + size) - stirling_error(size) - stirling_error(counts)
    with np.errstate(divide="ignore"):
        factor += 0.5 * np.log(size / (size + counts))
    return np.asarray(factor - (0.5 * np.log(counts) + HALF_LOG_2_PI))
