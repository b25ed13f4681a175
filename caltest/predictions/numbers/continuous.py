"""Any continuous distributions of a number that scipy.stats knows, as predictions."""

import sys
from copy import copy
from typing import Any, Self
from warnings import catch_warnings, filterwarnings

import numpy as np

from caltest._basics.numerics import Array, ArrayLike, FloatArray
from caltest.predictions.base import Predictions, median_standard_deviation
from caltest.predictions.inputs.foreign import parameters_of_frozen, single_ones_at
from caltest.predictions.measures.law_sums import LEVEL_WEIGHTS, LawSums
from caltest.predictions.numbers.univariate import Univariate

SLOW = {
    *("argus", "dpareto_lognorm", "exponnorm", "foldcauchy", "foldnorm", "gausshyper", "genhyperbolic", "geninvgauss"),
    *("ksone", "levy_stable", "norminvgauss", "recipinvgauss", "rel_breitwigner", "studentized_range"),
}
"""Distributions of scipy.stats with quantiles that take more than 40 us each, as measured with scipy 1.17."""


class Continuous(Univariate):
    """n continuous distributions of a number, of any families of ``scipy.stats``.

    Only their own ``cdf``, ``sf``, ``logpdf``, ``ppf``, ``rvs``, ``mean`` and ``var`` are used. Expectations of a
    kernel k of targets come from 32 quantiles of each distribution, at the levels of equidistant normal quantiles, and
    polynomials between them::

        E k(Z, y) = int k(Q(Phi(t)), y) phi(t) dt,    Z = Q(Phi(T))

    Their errors move the SKCE by less than 1 % of its standard deviation given the predictions, for bandwidths from 0.1
    to 10 standard deviations and Gaussian, Laplacian, Matern, rational quadratic and exponential kernels; but exponents
    below 1 need densities without poles and scales within a factor of 10. P-values from redraws of the targets are
    exact all the same, as these are drawn from the distributions themselves.

    Parameters
    ----------
    distributions
        A frozen continuous distribution of ``scipy.stats`` with array parameters, such as
        ``scipy.stats.weibull_min([1.5, 2.0], scale=3.0)``, or a list of frozen ones, of different families too, each of
        one distribution or of several.

    Raises
    ------
    TypeError
        For objects that are no frozen continuous distributions of one number, or whose quantiles take too long.
    ValueError
        For parameters that are not finite or that the distribution does not allow, for distributions without spread,
        and for targets outside of the support.

    Notes
    -----
    ``Euclidean()`` and ``Cityblock()`` are distances of (median, half of the distance of the quantiles at 16 % and
    84 %), and the median of these halves is the default bandwidth for targets. The 2-Wasserstein distance is that of 32
    quantiles from 2e-6 to 1 - 2e-6, which is finite for all distributions.

    Cost: 32 quantiles of each distribution, of 0.1 to 40 us each; sums over pairs like those of ``Gamma``.

    Examples
    --------
    >>> import caltest as ct
    >>> from scipy import stats
    >>> ct.Continuous(stats.weibull_min([1.5, 2.0, 4.0], scale=3.0))
    <Continuous, n = 3>
    >>> ct.Continuous([stats.invgauss(0.5), stats.gumbel_r(1.0, 2.0)])
    <Continuous, n = 2>
    """

    family = "Continuous"
    parameter_names = ()

    def __init__(self, distributions: Any) -> None:
        items = list(distributions) if isinstance(distributions, (list, tuple)) else [distributions]
        if not items:
            raise ValueError("distributions: got an empty list, wanted at least one frozen distribution")
        rows = [_rows(one, i) for i, one in enumerate(items)]
        self._kinds = tuple(dict.fromkeys(kind for kind, _ in rows))
        width = max(len(parameters) for _, parameters in rows)
        table = [np.pad(parameters, ((0, width - len(parameters)), (0, 0))) for _, parameters in rows]
        numbers = [np.full(one.shape[1], self._kinds.index(kind)) for (kind, _), one in zip(rows, table, strict=True)]
        self._start(np.concatenate(numbers), *np.concatenate(table, axis=1))
        self._check()

    def _check(self) -> None:
        low, middle, high = (self._quantile(np.array(level)) for level in (0.16, 0.5, 0.84))
        wrong = ~np.isfinite(low + middle + high)
        if wrong.any():
            i = int(np.argmax(wrong))
            raise ValueError(f"distributions: got {self._named(i)} at row {i}, which scipy.stats has no quantiles of")
        if (low == high).any():
            i = int(np.argmax(low == high))
            raise ValueError(
                f"distributions: got {self._named(i)} at row {i}, all of which is {middle[i]:.6g} to rounding, wanted "
                "distributions with spread"
            )

    def _named(self, i: int) -> str:
        number, *parameters = (values[i] for values in self._parameters)
        kind = self._kinds[int(number)]
        return f"{kind.name}({', '.join(f'{value:.6g}' for value in parameters[: kind.numargs + 2])})"

    def _of_each(self, method: str, *values: FloatArray) -> FloatArray:
        """A method of every distribution, of values that broadcast against (..., n)."""
        shape = np.broadcast_shapes(self.shape, *(one.shape for one in values))
        numbers, *parameters = (np.broadcast_to(one, shape) for one in self._parameters)
        values, out = tuple(np.broadcast_to(one, shape) for one in values), np.empty(shape)
        for number, kind in enumerate(self._kinds):
            at = numbers == number
            if at.any():
                arguments = (one[at] for one in (*values, *parameters[: kind.numargs + 2]))
                with catch_warnings():
                    # Searches for quantiles that stop early are next to them.
                    filterwarnings("ignore", "Error in function boost", RuntimeWarning)
                    out[at] = getattr(kind, method)(*arguments)
        return out

    @property
    def starts_at_0(self) -> bool:
        low, high = (self._of_each("ppf", np.array(level)) for level in (0.0, 1.0))
        return bool(((low == 0.0) & np.isinf(high)).all())

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
        numbers, *parameters = self._parameters
        places = [np.flatnonzero(numbers == number) for number in range(len(self._kinds))]
        arguments = [
            [one[at] for one in parameters[: kind.numargs + 2]] for kind, at in zip(self._kinds, places, strict=True)
        ]
        out = np.empty(shape)
        # One redraw after the other, so that the first ones do not depend on how many follow.
        for row in out.reshape(-1, shape[-1]):
            for kind, at, some in zip(self._kinds, places, arguments, strict=True):
                if at.size:
                    row[at] = kind.rvs(*some, size=at.size, random_state=rng)
        return out

    def cdf(self, targets: Array) -> FloatArray:
        return self._of_each("cdf", targets)

    def survival(self, targets: Array) -> FloatArray:
        return self._of_each("sf", targets)

    def log_density(self, targets: Array) -> FloatArray:
        return self._of_each("logpdf", targets)

    def _quantile(self, level: FloatArray) -> FloatArray:
        return self._of_each("ppf", level)

    def affine(self, offset: FloatArray, factor: FloatArray | float) -> Self:
        numbers, *parameters = self._parameters
        moved = [one.copy() for one in parameters]
        for number, kind in enumerate(self._kinds):
            at = numbers == number
            location, scale = moved[kind.numargs], moved[kind.numargs + 1]
            location[at], scale[at] = (offset + factor * location)[at], (factor * scale)[at]
        return self._like(numbers, *moved)

    def moved(self, shift: FloatArray | float, factor: FloatArray | float) -> Predictions:
        """As of others; where all have a lower end only the distance from it times ``exp(shift)``."""
        low, high = (self._of_each("ppf", np.array(level)) for level in (0.0, 1.0))
        if not (np.isfinite(low) & np.isinf(high)).all():
            return super().moved(shift, factor)
        return self.affine(low - np.exp(shift) * low, np.exp(shift))

    def check_targets(self, targets: ArrayLike, name: str = "targets") -> Array:
        values = super().check_targets(targets, name)
        inside = (values >= self._of_each("ppf", np.array(0.0))) & (values <= self._of_each("ppf", np.array(1.0)))
        if not inside.all():
            i = int(np.argmin(inside))
            raise ValueError(
                f"{name}: got {values[i]:.6g} at row {i}, wanted a number in the support of {self._named(i)}"
            )
        return values

    def quantile_vectors(self, sums: LawSums) -> FloatArray:
        return np.asarray(np.sqrt(LEVEL_WEIGHTS) * sums.quantiles)

    def parameter_vectors(self) -> FloatArray:
        return np.stack([self._quantile(np.array(0.5)), self._halves()], axis=-1)

    def _halves(self) -> FloatArray:
        """Halves of the distances of the quantiles at 16 % and 84 %, (..., n)."""
        return (self._quantile(np.array(0.84)) - self._quantile(np.array(0.16))) / 2.0

    def target_scale(self) -> float:
        """Median of halves of the distances of quantiles at 16 % and 84 %, standard deviations of normal ones."""
        return median_standard_deviation(self._halves())

    def moments(self) -> tuple[FloatArray, FloatArray]:
        """Means and variances (..., n), by scipy; ``TypeError`` if one is infinite."""
        mean, variance = self._of_each("mean"), self._of_each("var")
        if not (np.isfinite(mean) & np.isfinite(variance)).all():
            i = int(np.argmin(np.isfinite(mean) & np.isfinite(variance)))
            raise TypeError(f"predictions: got {self._named(i)} at row {i}, which has no finite mean and variance")
        return mean, variance

    def followed_by(self, other: Self) -> Self:
        self.check_compatible(other, "predictions")
        kinds = tuple(dict.fromkeys((*self._kinds, *other._kinds)))
        tables = [one._table(kinds, max(len(self._parameters), len(other._parameters))) for one in (self, other)]
        new = copy(self)
        new._kinds = kinds
        return new._like(*np.concatenate(tables, axis=1))

    def _table(self, kinds: tuple[Any, ...], width: int) -> FloatArray:
        """Parameters (width, n), with the numbers of kinds among others."""
        numbers, *parameters = self._parameters
        places = np.array([kinds.index(kind) for kind in self._kinds], dtype=np.float64)
        table = np.stack([places[numbers.astype(np.intp)], *parameters])
        return np.pad(table, ((0, width - len(table)), (0, 0)))


def _rows(data: Any, i: int) -> tuple[Any, FloatArray]:
    """The kind of a frozen distribution, and its shape parameters, location and scale, (p, n)."""
    stats = sys.modules.get("scipy.stats")
    wanted = "wanted a frozen continuous distribution of scipy.stats, such as weibull_min([1.5, 2.0], scale=3.0)"
    if stats is None or not isinstance(data, stats.distributions.rv_frozen):
        if stats is not None and isinstance(data, stats.rv_continuous):
            wanted = f"wanted {data.name}(...) with arrays of its parameters"
            if isinstance(data, stats.rv_histogram):
                wanted = "wanted it frozen: pass histogram()"
        raise TypeError(f"distributions: got {data!r} at position {i}, {wanted}")
    if not isinstance(data.dist, stats.rv_continuous):
        raise TypeError(
            f"distributions: got {data.dist.name} at position {i}, which is discrete, {wanted}; for counts there are "
            "Poisson and NegativeBinomial, and Categorical(distribution.pmf(...)) for few outcomes"
        )
    if data.dist.name in SLOW:
        raise slow(data.dist.name)
    with single_ones_at(i):
        parameters = np.stack([np.atleast_1d(one) for one in parameters_of_frozen(data, True)])
    if parameters.ndim > 2:
        raise ValueError(
            f"distributions: got {data.dist.name} with parameters of shape {parameters.shape[1:]} at position {i}, "
            "wanted one dimension, one distribution for each target"
        )
    return data.dist, parameters


def slow(name: str) -> TypeError:
    """What to raise for distributions whose quantiles take too long."""
    return TypeError(
        f"distributions: got {name}, whose quantiles take scipy.stats too long; pass m draws from each instead: "
        "Ensemble(distribution.rvs((m, n)).T)"
    )
