"""Predicted distributions given by equally likely members: draws, dropout passes, ensemble forecasts."""

from typing import Any, Self

import numpy as np

from caltest._types import Array, ArrayLike, BoolArray, FloatArray
from caltest._validation import real_array, same_length, vector_targets
from caltest.kernels import (
    EnergyDistance,
    Euclidean,
    ExponentialKernel,
    GaussianKernel,
    Metric,
    ProductKernel,
    TargetKernel,
    Wasserstein,
)
from caltest.predictions.base import Predictions, median_standard_deviation, require_family


class Ensemble(Predictions):
    """n ensembles of m equally likely members, numbers or vectors of d numbers.

    Expectations are means over the members::

        E k(Z, y) = 1/m sum_a k(z_a, y),    E k(Z, Z') = 1/m**2 sum_ab k(z_a, z'_b)

    so every kernel of the targets is allowed.

    Parameters
    ----------
    members
        (n, m) array-like for scalar targets, (n, m, d) for vectors.

    Raises
    ------
    ValueError
        For values that are not finite, no members.

    Notes
    -----
    What is tested is that the outcome is distributed as a member drawn at random. An ensemble is a coarse picture of a
    smooth distribution, so with few members and many observations even the best ensemble is rejected; a mixture of
    distributions around the members (``Mixture``) does not have this limit.

    Examples
    --------
    >>> import caltest as ct
    >>> ct.Ensemble([[0.0, 1.0, 1.5], [2.0, 3.0, 4.5]])
    <Ensemble, n = 2, 3 members>
    """

    family = "Ensemble"

    def __init__(self, members: ArrayLike) -> None:
        array = np.asarray(members)
        self._members = real_array(members, "members", ndim=3 if array.ndim == 3 else 2)
        self._is_vector = self._members.ndim == 3
        self._source: Predictions | None = None
        self._members.flags.writeable = False

    @classmethod
    def drawn_from(cls, predictions: Predictions, n_members: int, rng: Any = None) -> "Ensemble":
        """Draws from other predictions, from which targets are redrawn too."""
        ensemble = cls(np.moveaxis(predictions.sample(rng, n_members), 0, 1))
        ensemble._source = predictions
        return ensemble

    def _like(self, members: FloatArray, source: Predictions | None) -> Self:
        new = object.__new__(type(self))
        new._members, new._is_vector, new._source = members, self._is_vector, source
        return new

    @property
    def members(self) -> FloatArray:
        """Members (..., n, m), or (..., n, m, d) for vectors."""
        return self._members

    @property
    def n_members(self) -> int:
        """Number m of members."""
        return int(self._members.shape[-2 if self._is_vector else -1])

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape (..., n) of the stack."""
        return self._members.shape[: -2 if self._is_vector else -1]

    def take(self, index: Any) -> Self:
        """The predictions at a slice or an integer array of any shape."""
        return self._like(self._members[index], None if self._source is None else self._source.take(index))

    def sample(self, rng: Any = None, size: int | None = None) -> Array:
        """Members drawn at random, or targets drawn from the predictions whose draws the members are."""
        if self._source is not None:
            return self._source.sample(rng, size)
        shape = self.shape if size is None else (size, *self.shape)
        index = np.random.default_rng(rng).integers(self.n_members, size=shape)
        if self._is_vector:
            return self._members[np.arange(len(self)), index]
        return self._members[np.arange(len(self)), index]

    @property
    def target_bytes(self) -> int:
        """Bytes of a redrawn target."""
        return 8 * (self._members.shape[-1] if self._is_vector else 1)

    def check_targets(self, targets: ArrayLike, name: str = "targets") -> Array:
        """Real targets as an (n,) float array, or (n, d) for vectors."""
        if self._is_vector:
            return vector_targets(targets, len(self), self._members.shape[-1], name)
        values = real_array(targets, name, ndim=1)
        same_length(len(self), values.shape[0], name)
        return values

    def impossible(self, targets: Array) -> BoolArray:
        """None of them: members stand for a distribution, they do not list the possible outcomes."""
        return np.zeros(len(self), dtype=np.bool_)

    def check_compatible(self, other: Predictions, name: str) -> None:
        """Raise unless ``other`` is an ensemble of the same kind of targets."""
        require_family(other, Ensemble, name)
        assert isinstance(other, Ensemble)
        mine = self._members.shape[-1] if self._is_vector else 0
        theirs = other._members.shape[-1] if other._is_vector else 0
        if mine != theirs:
            raise ValueError(f"{name}: got members of dimension {theirs}, wanted {mine} as in the predictions")

    def embedding(self, metric: Metric) -> FloatArray:
        """Sorted members over sqrt(m), for scalar targets."""
        if isinstance(metric, Wasserstein) and not self._is_vector:
            return np.asarray(np.sort(self._members, axis=-1) / np.sqrt(self.n_members))
        raise self._no_metric(metric, "EnergyDistance(), MMD(kernel), and Wasserstein() for scalar targets")

    def energy_distances(self, other: Self) -> FloatArray:
        """``2 E|Z - Z'| - E|Z - Z~| - E|Z' - Z'~|`` for each prediction (..., r) and each other one (..., c)."""
        squares = 2.0 * self._mean_distances(other)
        squares -= np.diagonal(self._mean_distances(self), axis1=-2, axis2=-1)[..., :, None]
        squares -= np.diagonal(other._mean_distances(other), axis1=-2, axis2=-1)[..., None, :]
        return squares

    def _mean_distances(self, other: Self) -> FloatArray:
        if self._is_vector:
            rows, columns = self._flat(self._members), self._flat(other._members)
            tile = Euclidean().tile(rows, columns)
        else:
            tile = np.abs(self._flat(self._members)[..., :, None] - self._flat(other._members)[..., None, :])
        return self._averaged(tile, other.n_members)

    def _flat(self, members: FloatArray) -> FloatArray:
        """Members (..., r m) or (..., r m, d)."""
        if self._is_vector:
            return members.reshape(*members.shape[:-3], -1, members.shape[-1])
        return members.reshape(*members.shape[:-2], -1)

    def _averaged(self, tile: FloatArray, n_columns: int) -> FloatArray:
        shape = tile.shape[:-2]
        parts = tile.reshape(*shape, -1, self.n_members, tile.shape[-1] // n_columns, n_columns)
        return np.asarray(parts.mean(axis=(-3, -1)))

    def target_scale(self) -> float:
        """Median over the predictions of the standard deviation (the root of the sum of variances for vectors)."""
        variances = self._members.var(axis=-2 if self._is_vector else -1)
        return median_standard_deviation(np.sqrt(variances.sum(axis=-1) if self._is_vector else variances))

    def target_tile(self, kernel: TargetKernel, rows: Array, columns: Array) -> FloatArray:
        """``k(y, y')`` for all targets in rows and in columns, (..., r, c)."""
        if self._is_vector:
            return kernel.vector_target_tile(rows, columns)
        return kernel.target_tile(rows, columns)

    def _expected_kernel(self, kernel: TargetKernel, targets: Array) -> FloatArray:
        return self._averaged(self.target_tile(kernel, self._flat(self._members), targets), 1)

    def _expected_kernel2(self, kernel: TargetKernel, other: Self) -> FloatArray:
        tile = self.target_tile(kernel, self._flat(self._members), self._flat(other._members))
        return self._averaged(tile, other.n_members)

    def default_kernel(self) -> ProductKernel:
        """``exp(-d / median) x Gaussian`` with d the 2-Wasserstein distance, the energy distance for vectors."""
        metric = EnergyDistance() if self._is_vector else Wasserstein()
        return ProductKernel(ExponentialKernel(metric, "median"), GaussianKernel(bandwidth="median"))

    def describe(self, n: int | None = None) -> str:
        """Family and dimensions in a few words."""
        dimension = f", d = {self._members.shape[-1]}" if self._is_vector else ""
        return f"Ensemble, n = {len(self) if n is None else n}, {self.n_members} members{dimension}"

    def followed_by(self, other: Self) -> Self:
        """These predictions and others, in this order."""
        self.check_compatible(other, "predictions")
        source = None
        if self._source is not None and other._source is not None:
            source = self._source.followed_by(other._source)
        return self._like(np.concatenate([self._members, other._members]), source)
