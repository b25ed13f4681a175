"""Predicted Student t distributions of a real target."""

from typing import Self

import numpy as np
import scipy

from caltest._basics.numerics import Array, ArrayLike, FloatArray
from caltest._validation import positive_number
from caltest.kernels import Euclidean, Metric, Wasserstein
from caltest.predictions.base import Parameter, Predictions, median_standard_deviation
from caltest.predictions.numbers.univariate import Univariate, check_positive, check_shape, of_distinct


class StudentT(Univariate):
    """n Student t distributions: ``Z = location + scale T`` with T of df degrees of freedom.

    The density is proportional to ``(1 + ((z - location) / scale)**2 / df)**(-(df + 1) / 2)``.

    Expectations and distances come from 32 quantiles of each distribution; see ``Univariate``.

    Parameters
    ----------
    df
        Degrees of freedom from 1e-300 to 1e300, not necessarily whole numbers: (n,) array-like or one number for all.
    location
        Medians, which are the means for df > 1, in units of the target: (n,) array-like or one number for all.
    scale
        Scales above 0, in units of the target: (n,) array-like or one number for all. The standard deviation is
        ``scale sqrt(df / (df - 2))``, infinite for df <= 2. ``ValueError`` for other parameters.

    Notes
    -----
    The 2-Wasserstein distance exists for df > 2; its relative error is below 0.1 for df >= 3. ``Euclidean()`` and
    ``Cityblock()`` are distances of (location, scale, 1 / df).

    Examples
    --------
    >>> import caltest as ct
    >>> ct.StudentT(df=4.0, location=[0.0, 1.0], scale=0.5)
    <StudentT, n = 2>
    """

    family = "StudentT"
    parameter_names = ("df", "location", "scale")
    df = Parameter(0, "Degrees of freedom (..., n).")
    location = Parameter(1, "Medians (..., n).")
    scale = Parameter(2, "Scales (..., n).")

    def __init__(self, df: ArrayLike, location: ArrayLike, scale: ArrayLike) -> None:
        super().__init__(df, location, scale)

    def _check(self) -> None:
        check_shape(self.df, "df")
        check_positive(self.scale, "scale")

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
        return self.location + self.scale * rng.standard_t(self.df, shape)

    def cdf(self, targets: Array) -> FloatArray:
        return np.asarray(scipy.special.stdtr(self.df, (targets - self.location) / self.scale))

    def survival(self, targets: Array) -> FloatArray:
        return np.asarray(scipy.special.stdtr(self.df, (self.location - targets) / self.scale))

    def log_density(self, targets: Array) -> FloatArray:
        return np.asarray(scipy.stats.t.logpdf(targets, self.df, self.location, self.scale))

    def _quantile(self, level: FloatArray) -> FloatArray:
        return np.asarray(self.location + self.scale * of_distinct(scipy.special.stdtrit, level, self.df))

    @property
    def around_middles(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        return self.location, self.scale, scipy.special.stdtrit(self.df, 0.75)

    def standardised(self, targets: Array) -> tuple[Predictions, Array]:
        law = self._like(self.df, np.zeros(self.shape), np.ones(self.shape))
        return law, (targets - self.location) / self.scale

    def transport_vectors(self) -> FloatArray:
        """Means and quantiles; ``TypeError`` where a variance is infinite."""
        if (self.df <= 2.0).any():
            i = int(np.argmax(self.df.reshape(-1) <= 2.0))
            raise TypeError(
                f"metric: got Wasserstein() for StudentT predictions with df = {self.df.reshape(-1)[i]:.6g} at row "
                f"{i}, the variance of which is infinite; wanted Euclidean(), Cityblock() or MMD(kernel)"
            )
        return super().transport_vectors()

    def parameter_vectors(self) -> FloatArray:
        return np.stack([self.location, self.scale, 1.0 / self.df], axis=-1)

    def moments(self) -> tuple[FloatArray, FloatArray]:
        if (self.df <= 2.0).any():
            raise TypeError("predictions: got StudentT predictions with df <= 2, the variance of which is infinite")
        return self.location, np.square(self.scale * _deviation(self.df))

    def target_scale(self) -> float:
        """Median of the standard deviations, or of the scales where df <= 2."""
        heavy = self.df <= 2.0
        return median_standard_deviation(self.scale * np.where(heavy, 1.0, _deviation(np.where(heavy, 3.0, self.df))))

    def affine(self, offset: FloatArray, factor: FloatArray | float) -> Self:
        return self._like(self.df, offset + factor * self.location, factor * self.scale)

    def at_temperature(self, temperature: float) -> Self:
        """``df' = (df + 1) / T - 1`` and ``scale' = scale sqrt(df / df')`` (with respect to the Lebesgue measure).

        ``ValueError`` for T of at least df + 1, where the power of the density has no finite integral.
        """
        df = (self.df + 1.0) / positive_number("temperature", temperature) - 1.0
        if (df <= 0.0).any():
            i = int(np.argmax(df <= 0.0))
            raise ValueError(
                f"temperature: got {temperature:.6g}, wanted less than df + 1 = {self.df.reshape(-1)[i] + 1.0:.6g} at "
                f"row {i}: the density to the power 1 / {temperature:.6g} has no finite integral"
            )
        return self._tempered(temperature, df, self.location, self.scale * np.sqrt(self.df / df))

    @property
    def _default_metric(self) -> Metric:
        return Euclidean() if (self.df <= 2.0).any() else Wasserstein()


def _deviation(df: FloatArray) -> FloatArray:
    """Standard deviations for df > 2."""
    return np.sqrt(df / (df - 2.0))
