"""Families of continuous distributions of a real target that are given by parameters."""

from abc import abstractmethod
from collections.abc import Iterator
from math import inf, isfinite, prod
from typing import Any, ClassVar, Self

import numpy as np

from caltest._arrays import in_one_order
from caltest._loops.quadrature import Settings
from caltest._numerics import generator_of, ranges
from caltest._types import Array, ArrayLike, BoolArray, FloatArray
from caltest._validation import real_array, same_length
from caltest.kernels import (
    Cityblock,
    Euclidean,
    ExponentialKernel,
    GaussianKernel,
    Metric,
    ProductKernel,
    TargetKernel,
    Wasserstein,
)
from caltest.predictions.base import ClosedFormMissing, Predictions, median_standard_deviation, require_family
from caltest.predictions.quadrature.forests import Forests, NotAccurate, Place, expectations, expectations_of_pairs
from caltest.predictions.quadrature.laws import Laws
from caltest.predictions.quadrature.radial import Radial, radial

LARGEST = float(np.finfo(np.float64).max)

SHARED = 16384
"""Predictions whose piecewise polynomials are all kept; those of more are made part by part."""

POLYNOMIALS = 3000
"""Coefficients of the piecewise polynomials of a prediction, about."""

SUMMED = 2**18
"""Expectations that are summed together."""

LEVELS = 32
"""Quantiles that represent a distribution for the 2-Wasserstein distance."""


class _Shared:
    """What all parts of some predictions share, computed once for all of them."""

    def __init__(self, family: "type[Univariate]", parameters: tuple[FloatArray, ...]) -> None:
        self.family = family
        self.parameters = tuple(values.reshape(-1) for values in parameters)
        self._start()

    def _start(self) -> None:
        self.forests = Forests(self.family.laws, *self.parameters)
        self._vectors: FloatArray | None = None

    def __getstate__(self) -> Any:
        return self.family, self.parameters

    def __setstate__(self, state: Any) -> None:
        self.family, self.parameters = state
        self._start()

    def vectors(self) -> FloatArray:
        """Vectors (n, d) for the 2-Wasserstein distance; several threads may compute the same ones."""
        vectors = self._vectors
        if vectors is None:
            vectors = self._vectors = self.family.quantile_vectors(*self.parameters)
        return vectors


class Univariate(Predictions):
    """n distributions of a family with a few parameters, each of which is an array (n,) or one number for all.

    Expectations of kernels that have no closed form come from quadrature that is exact to 1e-10 and far better in most
    cases; ``ClosedFormMissing`` where it is not.
    """

    known_metrics = "Wasserstein(), Euclidean(), Cityblock(), MMD(kernel)"
    parameter_names: ClassVar[tuple[str, ...]]
    support: ClassVar[tuple[float, float]] = (-inf, inf)
    """Smallest and largest possible targets."""
    is_open: ClassVar[bool] = False
    """Whether the ends of the support are no possible targets."""

    def __init__(self, *parameters: ArrayLike) -> None:
        self._start(*_broadcast(parameters, self.parameter_names))
        self._check()
        for values in self._parameters:
            values.flags.writeable = False

    def _start(self, *parameters: FloatArray) -> None:
        self._parameters = parameters
        self._shared = _Shared(type(self), parameters) if parameters[0].size <= SHARED else None
        self._rows = np.arange(parameters[0].size).reshape(self.shape) if self._shared else np.empty(0, np.intp)

    def _check(self) -> None:
        """Raise ``ValueError`` unless the parameters are in their ranges."""

    def _like(self, *parameters: FloatArray) -> Self:
        """Other distributions of the family."""
        new = object.__new__(type(self))
        new._start(*parameters)
        return new

    def _tempered(self, temperature: float, *parameters: FloatArray) -> Self:
        """The same with parameters at a temperature; ``ValueError`` if they are too large or too small for floats."""
        for name, before, after in zip(self.parameter_names, self._parameters, parameters, strict=True):
            wrong = ~np.isfinite(after) | ((after == 0.0) & (before != 0.0))
            if wrong.any():
                raise ValueError(
                    f"temperature: got {temperature:.6g}, with which {name} is {after[wrong][0]:g} in place of "
                    f"{before[wrong][0]:.6g}, wanted one that keeps it finite and positive"
                )
        new = self._like(*parameters)
        new._check()
        return new

    @property
    def parameters(self) -> tuple[FloatArray, ...]:
        """The parameters (..., n)."""
        return self._parameters

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape (..., n) of the stack."""
        return self._parameters[0].shape

    def take(self, index: Any) -> Self:
        """The predictions at a slice or an integer array of any shape."""
        parameters = tuple(values[index] for values in self._parameters)
        if self._shared is None:
            return self._like(*parameters)
        new = object.__new__(type(self))
        new._parameters, new._shared, new._rows = parameters, self._shared, self._rows[index]
        return new

    @staticmethod
    @abstractmethod
    def laws(*parameters: FloatArray) -> Laws:
        """Densities with parameters (n,), for quadrature."""

    @abstractmethod
    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
        """Independent draws from the predictions, of a shape (..., n)."""

    @staticmethod
    @abstractmethod
    def quantile_vectors(*parameters: FloatArray) -> FloatArray:
        """Vectors (n, d) for parameters (n,), the distances of which are 2-Wasserstein distances."""

    @abstractmethod
    def _features(self) -> FloatArray:
        """Vectors (..., n, d) for the Euclidean and the cityblock metric."""

    def sample(self, rng: Any = None, size: int | None = None) -> Array:
        """Targets (n,), or (size, n), drawn from the predictions, rounded to possible targets that are finite."""
        draws = self._draw(generator_of(rng), self.shape if size is None else (size, *self.shape))
        low, high = np.clip(self.support, -LARGEST, LARGEST)
        return np.clip(draws, np.nextafter(low, high) if self.is_open else low, high, out=draws)

    def check_targets(self, targets: ArrayLike, name: str = "targets") -> Array:
        """Real targets in the support as an (n,) float array."""
        values = real_array(targets, name, ndim=1)
        same_length(len(self), values.shape[0], name)
        self._check_support(values, name)
        return values

    def _check_support(self, values: FloatArray, name: str) -> None:
        low, high = self.support
        if not isfinite(low):
            return
        outside = (values < low) | (values > high)
        if self.is_open:
            outside |= (values == low) | (values == high)
        if outside.any():
            i = int(np.argmax(outside))
            above = f"numbers above {low:g}" if self.is_open else f"numbers of at least {low:g}"
            wanted = above if high == inf else f"numbers from {low:g} to {high:g}"
            raise ValueError(
                f"{name}: got {values.reshape(-1)[i]:.6g} at row {i}, wanted {wanted}, the support of {self.family} "
                "predictions"
            )

    def impossible(self, targets: Array) -> BoolArray:
        """None of the targets in the support."""
        return np.zeros(targets.shape, dtype=np.bool_)

    def check_continuous(self) -> None:
        """All of them are."""

    def check_compatible(self, other: Predictions, name: str) -> None:
        """Raise unless ``other`` is of the same family."""
        require_family(other, type(self), name)

    def embedding(self, metric: Metric) -> FloatArray:
        """Vectors of quantiles for the 2-Wasserstein distance, of parameters for the others."""
        if isinstance(metric, Wasserstein):
            if self._shared is not None:
                return self._shared.vectors()[self._rows]
            vectors = self.quantile_vectors(*(values.reshape(-1) for values in self._parameters))
            return vectors.reshape(*self.shape, -1)
        if isinstance(metric, (Euclidean, Cityblock)):
            return self._features()
        raise self.no_metric(metric)

    def width(self, kernel: TargetKernel) -> int:
        """The parameters, or the coefficients of the polynomials of each term of the kernel that takes quadrature."""
        terms = sum(self._quadrature(term) is not None for _, term in kernel.weighted_terms)
        return POLYNOMIALS * terms if terms else super().width(kernel)

    def target_scale(self) -> float:
        """Median of the standard deviations."""
        return median_standard_deviation(np.sqrt(self.moments()[1]))

    def prepared(self, kernel: TargetKernel) -> Self:
        """The same predictions; expectations of the kernel are prepared."""
        for _, term in kernel.weighted_terms:
            target_kernel = self._quadrature(term)
            if self._shared is not None and target_kernel is not None:
                self._place(term, target_kernel)
        return self

    def _quadrature(self, kernel: TargetKernel) -> Radial | None:
        """The kernel, if quadrature is what computes its expectations and knows it."""
        return radial(kernel)

    def _expected_kernel(self, kernel: TargetKernel, targets: Array) -> FloatArray:
        target_kernel = self._known(kernel)
        self._check_support(targets, "targets")
        if self._shared is not None:
            return expectations(self._place(kernel, target_kernel), targets, self._settings(target_kernel))
        is_stack = len(self.shape) > 1
        y = np.broadcast_to(targets, (*self.shape[:-1], targets.shape[-1])) if is_stack else targets
        tiles = [self.take(part)._expected_kernel(kernel, y[part] if is_stack else y) for part in self._parts(self)]
        return np.concatenate(tiles, axis=0 if is_stack else -2)

    def _expected_kernel2(self, kernel: TargetKernel, other: Self) -> FloatArray:
        target_kernel = self._known(kernel)
        if self._shared is not None and other._shared is not None:
            one, two = self._place(kernel, target_kernel), other._place(kernel, target_kernel)
            return expectations_of_pairs(one, two)
        if len(self.shape) > 1:
            tiles = [self.take(part)._expected_kernel2(kernel, other.take(part)) for part in self._parts(other)]
            return np.concatenate(tiles, axis=0)
        if self._shared is not None:
            return other._expected_kernel2(kernel, self).T
        return np.concatenate([self.take(part)._expected_kernel2(kernel, other) for part in self._parts(self)])

    def expectation_sums(self, kernel: TargetKernel, weights: FloatArray, targets: Array) -> FloatArray:
        """``sum_ij w_lij E k(Z_i, y_bj)`` for weights (L, n, c) and targets (B, c): (L, B), for many b at once."""
        at_once = max(1, SUMMED // weights[0].size)
        sums = [
            np.einsum("lij,bij->lb", weights, self.expected_kernel(kernel, targets[part]))
            for part in ranges(targets.shape[0], at_once)
        ]
        return np.concatenate(sums, axis=1)

    def _parts(self, other: "Univariate") -> Iterator[slice]:
        """Parts of the first dimension that are not too large, in these and in other predictions."""
        size = max(prod(self.shape), prod(other.shape)) // self.shape[0]
        return ranges(self.shape[0], max(1, SHARED // size))

    def _known(self, kernel: TargetKernel) -> Radial:
        target_kernel = self._quadrature(kernel)
        if target_kernel is None:
            raise self._no_closed_form(
                kernel, "a Gaussian, Laplacian, exponential, Matern or rational quadratic kernel"
            )
        return target_kernel

    def _settings(self, target_kernel: Radial) -> Settings:
        origin = self.support[1] if isfinite(self.support[1]) else 0.0
        return target_kernel.kernel[0], target_kernel.kernel[1], origin

    def _place(self, kernel: TargetKernel, target_kernel: Radial) -> Place:
        """Where the piecewise polynomials of these predictions are."""
        assert self._shared is not None
        try:
            forest, places = self._shared.forests.get(kernel, target_kernel)
        except NotAccurate as error:
            raise self._not_accurate(kernel, error) from None
        return forest, places[self._rows]

    def _not_accurate(self, kernel: TargetKernel, error: NotAccurate) -> ClosedFormMissing:
        assert self._shared is not None
        values = zip(self.parameter_names, (one[error.row] for one in self._shared.parameters), strict=True)
        law = ", ".join(f"{name} = {value:.6g}" for name, value in values)
        return ClosedFormMissing(
            f"target_kernel: got {kernel!r} for {self.family} predictions of which one has {law}: {error.reason}; use "
            "draws instead of the distributions: predictions.to_ensemble(n_members, rng)"
        )

    def default_kernel(self) -> ProductKernel:
        """``exp(-W2 / median) x Gaussian`` with the median standard deviation as the bandwidth of the targets."""
        return ProductKernel(ExponentialKernel(Wasserstein(), "median"), GaussianKernel(bandwidth="median"))

    def describe(self, n: int | None = None) -> str:
        """Family and dimensions in a few words."""
        return f"{self.family}, n = {len(self) if n is None else n}"

    def followed_by(self, other: Self) -> Self:
        """These predictions and others, in this order."""
        self.check_compatible(other, "predictions")
        return self._like(*(np.concatenate(pair) for pair in zip(self._parameters, other._parameters, strict=True)))


def _broadcast(parameters: tuple[ArrayLike, ...], names: tuple[str, ...]) -> list[FloatArray]:
    """Parameters as arrays (n,), some of which can be given as one number for all."""
    tables = in_one_order(parameters, names)
    arrays = [table.array(name) for table, name in zip(tables, names, strict=True)]
    lengths = {name: array.shape[0] for name, array in zip(names, arrays, strict=True) if array.ndim > 0 and array.size}
    n = next(iter(lengths.values()), 1)
    for name, length in lengths.items():
        if length != n:
            raise ValueError(f"{name}: got {length} values, wanted {n} as for {next(iter(lengths))}, or one number")
    return [
        real_array(np.full(n, array) if array.ndim == 0 else array, name, ndim=1)
        for name, array in zip(names, arrays, strict=True)
    ]


def check_positive(values: FloatArray, name: str) -> None:
    """Raise ``ValueError`` unless all values of a parameter are above 0."""
    if (values <= 0.0).any():
        i = int(np.argmax(values.reshape(-1) <= 0.0))
        raise ValueError(f"{name}: got {values.reshape(-1)[i]:.6g} at row {i}, wanted numbers above 0")


def check_shape(values: FloatArray, name: str) -> None:
    """Raise ``ValueError`` unless all values of a parameter without a unit have finite reciprocals and sums."""
    wrong = (values < 1e-300) | (values > 1e300)
    if wrong.any():
        i = int(np.argmax(wrong))
        raise ValueError(
            f"{name}: got {values.reshape(-1)[i]:.6g} at row {i}, wanted numbers above 0, from 1e-300 to 1e300"
        )


def quantile_levels() -> tuple[FloatArray, FloatArray]:
    """Levels in (0, 1) and weights: a Gauss-Legendre rule, with more levels towards 0 and 1."""
    points, weights = np.polynomial.legendre.leggauss(LEVELS)
    t = (1.0 + points) / 2.0
    return t**3 * (10.0 - 15.0 * t + 6.0 * t**2), 15.0 * weights * t**2 * (1.0 - t) ** 2


def with_length(vectors: FloatArray, lengths: FloatArray) -> FloatArray:
    """Vectors (n, d) scaled to some lengths (n,); those that are 0 get it in their last coordinate."""
    sizes = np.abs(vectors).max(axis=-1, keepdims=True)
    last = np.arange(vectors.shape[-1]) == vectors.shape[-1] - 1
    directions = np.where(sizes > 0.0, vectors / np.where(sizes > 0.0, sizes, 1.0), last)
    return np.asarray(directions * (lengths / np.sqrt(np.square(directions).sum(axis=-1)))[:, None])
