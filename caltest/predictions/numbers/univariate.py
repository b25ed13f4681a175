"""Families of continuous distributions of a real target that are given by parameters."""

from abc import abstractmethod
from collections.abc import Callable
from copy import copy
from functools import partial
from math import inf, isfinite
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from caltest._basics.arrays import in_one_order
from caltest._basics.numerics import Array, ArrayLike, BoolArray, FloatArray, generator_of
from caltest._validation import real_array, real_targets, refuse_negative, refuse_rows
from caltest.kernels import TargetKernel
from caltest.predictions.base import ClosedFormMissing, Drawer, Parameter, Predictions, median_standard_deviation
from caltest.predictions.measures.law_sums import LEVEL_WEIGHTS, LawSums, TooFine

T = TypeVar("T")
Other = TypeVar("Other", bound="Univariate")

ClosedForm = tuple[Callable[[Array], FloatArray], Callable[[Other], FloatArray]]
"""``_expected_kernel`` of targets, and ``_expected_kernel2`` of other predictions, by formulas."""

WAVES = 256
"""Numbers in the sums of waves of a distribution, about."""

LARGEST = float(np.finfo(np.float64).max)


class Univariate(Predictions):
    """n distributions of a family with a few parameters, each of which is an array (n,) or one number for all.

    A family is its ``family`` name, ``parameter_names``, ``_draw``, ``_quantile``, ``cdf``, ``log_density`` and
    ``moments``; ``affine``, for shifts and factors of ``recalibration.ShiftAndScale``, or ``moved`` where there is an
    end; ``survival``, where the upper tail can have all digits; ``support``, if it is not the whole line, and
    ``_check`` of parameters.

    Expectations of kernels of targets that have no closed form come from 32 quantiles of each distribution
    (``caltest.predictions.measures.law_sums``). They are accurate to about 1e-3 of the kernel, and SKCE to less than 1
    % of its standard deviation given the predictions; p-values from redraws of targets are exact all the same. The
    2-Wasserstein distance is that of these quantiles, exact between distributions that differ in location and scale
    only; ``Euclidean()`` and ``Cityblock()`` are distances of (mean, standard deviation), unless families say others.
    """

    known_metrics = "Wasserstein(), Euclidean(), Cityblock(), MMD(kernel)"
    parameter_names: ClassVar[tuple[str, ...]]
    support: ClassVar[tuple[float, float]] = (-inf, inf)
    """Smallest and largest possible targets."""
    is_open: ClassVar[bool] = False
    """Whether the ends of the support are no possible targets."""

    @property
    def starts_at_0(self) -> bool:
        """Whether targets are positive and have no upper end, so that they can be too large by a factor."""
        return self.support == (0.0, inf)

    def __init__(self, *parameters: ArrayLike) -> None:
        if len(parameters) != len(self.parameter_names):
            wanted = ", ".join(self.parameter_names)
            raise TypeError(f"{type(self).__name__}: got {len(parameters)} values, wanted {wanted}, in this order")
        self._start(*parameter_rows(parameters, self.parameter_names))
        self._check()
        for values in self._parameters:
            values.flags.writeable = False

    def _start(self, *parameters: FloatArray) -> None:
        self._parameters = parameters
        flat = copy(self)
        vars(flat).pop("_shared", None)
        flat._parameters = tuple(values.reshape(-1) for values in parameters)
        self._shared = LawSums(flat)
        self._rows = np.arange(parameters[0].size).reshape(self.shape)

    def _check(self) -> None:
        """Raise ``ValueError`` unless the parameters are in their ranges."""

    def _like(self, *parameters: FloatArray) -> Self:
        new = super()._like(*parameters)
        new._start(*parameters)
        return new._labelled(self.index)

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

    def take(self, index: Any) -> Self:
        parameters = tuple(values[index] for values in self._parameters)
        new = super()._like(*parameters)
        new._rows = self._rows[index]
        return new._labelled(self.index, index)

    @property
    def around_middles(self) -> tuple[FloatArray, FloatArray, FloatArray] | None:
        """Middles and scales of symmetric laws that have both, and upper quartiles of errors in units of the scales."""
        return None

    @abstractmethod
    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
        """Independent draws from the predictions, of a shape (..., n)."""

    @abstractmethod
    def _quantile(self, level: FloatArray) -> FloatArray:
        """Quantiles at levels that broadcast against (..., n)."""

    @abstractmethod
    def cdf(self, targets: Array) -> FloatArray:
        """``P(Z <= y)`` for the target y of each prediction, (..., n)."""

    @abstractmethod
    def log_density(self, targets: Array) -> FloatArray:
        """``log p(y)`` for the target y of each prediction, (..., n)."""

    @abstractmethod
    def moments(self) -> tuple[FloatArray, FloatArray]:
        """Means and variances (..., n)."""

    def quantile_vectors(self, sums: LawSums) -> FloatArray:
        """Vectors (n, d) whose distances are W2: means and centred quantiles, scaled to the standard deviation."""
        mean, variance = self.moments()
        quantiles = np.sqrt(LEVEL_WEIGHTS) * (sums.quantiles - mean[:, None])
        return np.concatenate([mean[:, None], with_length(quantiles, np.sqrt(variance))], axis=1)

    def transport_vectors(self) -> FloatArray:
        """``quantile_vectors`` of these predictions, computed once for all that were given together."""
        return self._shared.vectors[self._rows]

    def parameter_vectors(self) -> FloatArray:
        mean, variance = self.moments()
        return np.stack([mean, np.sqrt(variance)], axis=-1)

    def sample(self, rng: Any = None, size: int | None = None) -> Array:
        """Targets (n,), or (size, n), drawn from the predictions, rounded to possible targets that are finite."""
        return self._possible(self._draw(generator_of(rng), self.shape if size is None else (size, *self.shape)))

    def drawer(self) -> Drawer:
        self.check_continuous()
        return lambda uniforms: self._possible(self._quantile(uniforms(0)))

    def _possible(self, draws: FloatArray) -> FloatArray:
        low, high = np.clip(self.support, -LARGEST, LARGEST)
        return np.clip(draws, np.nextafter(low, high) if self.is_open else low, high, out=draws)

    def check_targets(self, targets: ArrayLike, name: str = "targets") -> Array:
        values = real_targets(targets, len(self), name)
        self._check_support(values, name)
        return values

    def _check_support(self, values: FloatArray, name: str) -> None:
        low, high = self.support
        if not isfinite(low):
            return
        outside = (values < low) | (values > high)
        if self.is_open:
            outside |= (values == low) | (values == high)
        above = f"numbers above {low:g}" if self.is_open else f"numbers of at least {low:g}"
        wanted = above if high == inf else f"numbers from {low:g} to {high:g}"
        refuse_rows(outside, values, name, f"{wanted}, the support of {self.family} predictions")

    def check_continuous(self) -> None:
        """All of them are."""

    def width(self, kernel: TargetKernel) -> int:
        """The parameters, and the waves of each term of the kernel, of which there are often so many."""
        return super().width(kernel) + WAVES * len(kernel.weighted_terms)

    def prepared(self, kernel: TargetKernel) -> Self:
        for _, term in kernel.weighted_terms:
            if self._closed_form(term) is None:
                self._by_rule(term, partial(self._shared.waved, term, self._shared))
        return self

    def _closed_form(self, kernel: TargetKernel) -> "ClosedForm[Self] | None":
        """Formulas of the family for expectations of a kernel that is no sum, if there are some."""
        return None

    def has_formulas(self, kernel: TargetKernel) -> bool:
        return all(self._closed_form(term) is not None for _, term in kernel.weighted_terms)

    def _expected_kernel(self, kernel: TargetKernel, targets: Array) -> FloatArray:
        if (formulas := self._closed_form(kernel)) is not None:
            return formulas[0](targets)
        self._check_support(targets, "targets")
        return self._by_rule(kernel, lambda: self._shared.expected(kernel, self._rows, targets))

    def _expected_kernel2(self, kernel: TargetKernel, other: Self) -> FloatArray:
        if (formulas := self._closed_form(kernel)) is not None:
            return formulas[1](other)
        pairs = self._rows, other._shared, other._rows
        return self._by_rule(kernel, lambda: self._shared.expected_of_pairs(kernel, *pairs))

    def _expectation_sums(self, kernel: TargetKernel, weights: FloatArray, targets: Array) -> FloatArray:
        sums = None
        if self._closed_form(kernel) is None:
            sums = self._by_rule(kernel, lambda: self._shared.sums_of_targets(kernel, self._rows, weights, targets))
        return super()._expectation_sums(kernel, weights, targets) if sums is None else sums

    def _by_rule(self, kernel: TargetKernel, function: Callable[[], T]) -> T:
        if kernel.is_identity or kernel.of_classes:
            raise self._no_closed_form(kernel, "a kernel of numbers, such as GaussianKernel()")
        try:
            return function()
        except TooFine:
            raise ClosedFormMissing(
                f"target_kernel: got {kernel!r} for {self.family} predictions of numbers so large that differences of "
                "the size of the bandwidth are lost to rounding, wanted a larger bandwidth, or targets and predictions "
                "from which a constant is subtracted"
            ) from None


def parameter_rows(parameters: tuple[ArrayLike, ...], names: tuple[str, ...]) -> list[FloatArray]:
    """Parameters as arrays (n,), some of which can be given as one number for all."""
    arrays = [table.array(name) for table, name in zip(in_one_order(parameters, names), names, strict=True)]
    rows = [real_array(np.atleast_1d(array), name, ndim=1) for array, name in zip(arrays, names, strict=True)]
    lengths = {name: len(one) for one, array, name in zip(rows, arrays, names, strict=True) if array.ndim}
    first, n = next(iter(lengths.items()), ("", 1))
    for name, length in lengths.items():
        if length != n:
            raise ValueError(f"{name}: got {length} values, wanted {n} as for {first}, or one number")
    return [one if array.ndim else np.full(n, one) for one, array in zip(rows, arrays, strict=True)]


def check_positive(values: FloatArray, name: str) -> None:
    """Raise ``ValueError`` unless all values of a parameter are above 0."""
    refuse_rows(values <= 0.0, values, name, "numbers above 0")


def check_shape(values: FloatArray, name: str) -> None:
    """Raise ``ValueError`` unless all values of a parameter without a unit have finite reciprocals and sums."""
    refuse_rows((values < 1e-300) | (values > 1e300), values, name, "numbers above 0, from 1e-300 to 1e300")


def of_distinct(function: Callable[..., Any], level: FloatArray, *parameters: FloatArray) -> FloatArray:
    """A quantile function of ``(*parameters, level)``, for levels (m, 1) called once for equal parameters (n,)."""
    if level.ndim < 2 or level.shape[-1] != 1 or parameters[0].ndim != 1:
        return np.asarray(function(*parameters, level))
    different, place = np.unique(np.stack(parameters), axis=1, return_inverse=True)
    return np.asarray(function(*different, level)[:, place.reshape(-1)])


def with_length(vectors: FloatArray, lengths: FloatArray) -> FloatArray:
    """Vectors (n, d) scaled to some lengths (n,); those that are 0 get it in their last coordinate."""
    sizes = np.abs(vectors).max(axis=-1, keepdims=True)
    last = np.arange(vectors.shape[-1]) == vectors.shape[-1] - 1
    directions = np.where(sizes > 0.0, vectors / np.where(sizes > 0.0, sizes, 1.0), last)
    return np.asarray(directions * (lengths / np.sqrt(np.square(directions).sum(axis=-1)))[:, None])


class LocationScale(Univariate):
    """``Z = mean + scale E`` with noise E of mean 0 whose distribution is that of the family."""

    parameter_names = ("mean", "scale")
    inverts_quickly = True
    deviation: ClassVar[float]
    """Standard deviation of E."""
    mean = Parameter(0, "Means (..., n).")
    scale = Parameter(1, "Scales (..., n).")

    def __init__(self, mean: ArrayLike, scale: ArrayLike) -> None:
        real_array(mean, "mean", ndim=1)
        super().__init__(mean, scale)

    def _check(self) -> None:
        if (self.mean > 0.0).all():
            refuse_rows(self.scale < 0.0, self.scale, "scale", "scales of at least 0; means come first, then scales")
        refuse_negative(self.scale, "scale", "scales of at least 0")

    @abstractmethod
    def _noise(self, rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
        """Independent draws of E."""

    @abstractmethod
    def _noise_cdf(self, values: FloatArray) -> FloatArray:
        """``P(E <= x)``."""

    @abstractmethod
    def _noise_quantile(self, level: FloatArray) -> FloatArray:
        """The inverse of ``_noise_cdf``."""

    @abstractmethod
    def _noise_log_density(self, values: FloatArray) -> FloatArray:
        """Logarithm of the density of E."""

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
        return self.mean + self.scale * self._noise(rng, shape)

    def cdf(self, targets: Array) -> FloatArray:
        certain = self.scale == 0.0
        z = (targets - self.mean) / np.where(certain, 1.0, self.scale)
        return np.where(certain, z >= 0.0, self._noise_cdf(z))

    def survival(self, targets: Array) -> FloatArray:
        """``P(Z > y)`` for the target y of each prediction, (..., n), as E is symmetric."""
        certain = self.scale == 0.0
        z = (targets - self.mean) / np.where(certain, 1.0, self.scale)
        return np.where(certain, z < 0.0, self._noise_cdf(-z))

    def _quantile(self, level: FloatArray) -> FloatArray:
        return np.asarray(self.mean + self.scale * self._noise_quantile(level))

    @property
    def around_middles(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        return self.mean, self.scale, self._noise_quantile(np.array(0.75))

    def moved(self, shift: FloatArray | float, factor: FloatArray | float) -> Self:
        """As of others, and points stay points."""
        return self._like(self.mean + shift * (self.deviation * self.scale), factor * self.scale)

    def affine(self, offset: FloatArray, factor: FloatArray | float) -> Self:
        return self._like(offset + factor * self.mean, factor * self.scale)

    def log_density(self, targets: Array) -> FloatArray:
        self.check_continuous()
        return self._noise_log_density((targets - self.mean) / self.scale) - np.log(self.scale)

    def check_continuous(self) -> None:
        if (self.scale == 0.0).any():
            raise ValueError(
                f"scale: got 0 at row {int(np.argmax(self.scale == 0.0))}, wanted positive scales: outcomes cannot be "
                "measured in units of a scale of 0; leave such rows out, or use calibration_test, which takes them"
            )

    def standardised(self, targets: Array) -> tuple[Predictions, Array]:
        self.check_continuous()
        law = self._like(np.zeros(self.shape), np.ones(self.shape))
        return law, (targets - self.mean) / self.scale

    def impossible(self, targets: Array) -> BoolArray:
        """Which of the targets differ from a point prediction by more than rounding."""
        return np.asarray((self.scale == 0.0) & ~np.isclose(targets, self.mean, rtol=1e-9, atol=0.0))

    def quantile_vectors(self, sums: LawSums) -> FloatArray:
        """Vectors (mean, standard deviation), the distance of which is the 2-Wasserstein distance."""
        return self.parameter_vectors()

    def parameter_vectors(self) -> FloatArray:
        return np.stack([self.mean, self.deviation * self.scale], axis=-1)

    def moments(self) -> tuple[FloatArray, FloatArray]:
        return self.mean, np.square(self.deviation * self.scale)

    def target_scale(self) -> float:
        """Median of the standard deviations, without squares that overflow."""
        return median_standard_deviation(self.deviation * self.scale)
