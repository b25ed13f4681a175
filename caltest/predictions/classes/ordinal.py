"""Predicted distributions on k ordered classes."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from caltest._basics.numerics import Array, ArrayLike, FloatArray
from caltest._validation import increasing_numbers, real_array
from caltest._validation.labels import numbers_of
from caltest.kernels import LaplacianKernel, SquaredEuclidean, Wasserstein1
from caltest.predictions.base import Predictions
from caltest.predictions.claims import Claim
from caltest.predictions.classes.categorical import Categorical
from caltest.predictions.classes.finite import at_labels
from caltest.predictions.faults import Faults


class Ordinal(Categorical):
    """n probability vectors on k ordered classes, points on a line: ratings, grades, binned quantities.

    Everything that ``Categorical`` has, and distances that see the order. With the positions x_c of the classes and the
    distribution functions ``F_c = p_0 + ... + p_c``::

        W1(p, p')          = sum_c (x_{c+1} - x_c) |F_c - F'_c|
        energy(p, p')**2   = 2 sum_c (x_{c+1} - x_c) (F_c - F'_c)**2
        E k(Z, y)          = sum_c p_c k(x_c, x_y)

    Kernels of targets are kernels of positions; ``DeltaKernel`` and ``MatrixKernel`` see the classes only. Labels are
    0..k-1 or names, never positions.

    Parameters
    ----------
    probabilities
        (n, k) array-like, one row per observation, with the columns in the order of the classes; as in ``Categorical``.
    classes
        Names of the classes in the order of the columns, if the labels are not 0..k-1. ``ValueError`` if these, or
        those of columns, are numbers that are not in order, as in a table whose columns were sorted as text.
    positions
        (k,) array-like of increasing numbers, in the unit of bandwidths of targets; by default 0..k-1. ``ValueError``
        for others.

    Examples
    --------
    >>> import caltest as ct
    >>> p = ct.Ordinal([[0.7, 0.2, 0.1], [0.1, 0.2, 0.7]], classes=["low", "middle", "high"])
    >>> p
    <Ordinal, n = 2, 3 classes>
    >>> p.distance(ct.kernels.Wasserstein1(), p).round(3)
    array([[0. , 1.2],
           [1.2, 0. ]])
    >>> print(p.default_kernel().describe())
    exp(-W1 / median) x exp(-|y - y'| / median)
    """

    family = "Ordinal"
    known_metrics = "Wasserstein1(), EnergyDistance(), TotalVariation(), Cityblock(), Euclidean(), MMD(kernel)"
    _default_metric = Wasserstein1()
    _default_target_kernel = LaplacianKernel()
    """A Laplacian kernel of a few points is far from singular: it sees every shift of mass, and distant ones most."""

    def __init__(
        self, probabilities: ArrayLike, *, classes: Sequence[Any] | None = None, positions: ArrayLike | None = None
    ) -> None:
        super().__init__(probabilities, classes=classes)
        _check_numbered(self._names)
        self._positions = _increasing(np.arange(self.n_classes) if positions is None else positions, self.n_classes)

    @classmethod
    def borrowed(cls, probabilities: ArrayLike, classes: Sequence[Any] | None) -> Self:
        """The same as the constructor, with the positions 0..k-1."""
        return cls(probabilities, classes=classes)

    @property
    def positions(self) -> FloatArray:
        return self._positions

    def errors_on_a_line(self, targets: Array) -> tuple[FloatArray, FloatArray]:
        means = np.asarray(self.probabilities @ self.positions)
        return self.positions[targets] - means, means

    def claims_at(self, kind: str, place: str, targets: Array) -> tuple[list[Claim], int]:
        """Whether outcomes are up to a class as often as claimed: the one where the mean is most off."""
        below = self.probabilities.cumsum(axis=1)[:, :-1]
        occurred = targets[:, None] <= np.arange(self.n_classes - 1)
        c = int(np.abs((occurred - below).mean(axis=0)).argmax())
        name = self.up_to_in_words(c)
        claim = Claim(name, below[:, c].clip(0.0, 1.0), occurred[:, c], below[:, c], event=name)
        return [claim], self.n_classes - 1

    def check_compatible(self, other: Predictions, name: str) -> None:
        super().check_compatible(other, name)
        if isinstance(other, Ordinal) and not np.array_equal(other.positions, self.positions):
            raise ValueError(
                f"{name}: got classes at {other.positions.tolist()}, wanted {self.positions.tolist()} as in the "
                "predictions"
            )

    def cumulative_vectors(self) -> FloatArray:
        return self._cumulative()[..., :-1] * np.diff(self._positions)

    def faults(self, weights: FloatArray | None = None, among: Self | None = None) -> Faults | None:
        from caltest.predictions.faults.classes.ordered import OrderedFaults

        return OrderedFaults(self, weights, among=among) if self.n_classes > 2 else super().faults(weights)

    def energy_distances(self, other: Self) -> FloatArray:
        roots = np.sqrt(2.0 * np.diff(self._positions))
        return SquaredEuclidean().tile(self._cumulative()[..., :-1] * roots, other._cumulative()[..., :-1] * roots)

    def _cumulative(self) -> FloatArray:
        """Distribution functions (..., n, k), 1 at the last class."""
        sums = np.cumsum(self.probabilities, axis=-1)
        sums /= sums[..., -1:]
        return sums

    def cdf(self, targets: Array) -> FloatArray:
        return at_labels(self._cumulative(), targets)


def _check_numbered(names: Sequence[str]) -> None:
    numbers = numbers_of(names) if names else None
    if numbers is not None and not (numbers == sorted(numbers) or numbers == sorted(numbers, reverse=True)):
        raise ValueError(
            f"classes: got {list(names)!r} in this order, wanted columns in the order of the classes; sort them as "
            "numbers, or pass probabilities.to_numpy() if the names do not say the order"
        )


def _increasing(positions: ArrayLike, k: int) -> FloatArray:
    values = real_array(positions, "positions", ndim=1)
    if values.shape[0] != k:
        raise ValueError(f"positions: got {values.shape[0]} values, wanted {k}, one per class")
    values = increasing_numbers(values, "positions", "the columns of the probabilities into the order of the classes")
    values.flags.writeable = False
    return values
