"""Outcomes that are one of finitely many equally likely values: scenarios, and an outcome among its ensemble."""

from typing import Any

import numpy as np

from caltest._basics.numerics import Array, ArrayLike, BoolArray, FloatArray, generator_of
from caltest.predictions.ensembles.members import Members, checked_members
from caltest.predictions.standard_scores import FARTHEST, in_units


class Scenarios(Members):
    """n predictions of m scenarios each, numbers or vectors of d numbers, of which the outcome is one at random.

    The law of the outcome is known, each scenario has probability 1/m, and that is what is tested. Draws that stand for
    a smooth distribution mean something else: ``Ensemble`` for those whose distribution is not known,
    ``predictions.to_ensemble(n_members, rng)`` for those of predictions.

    Parameters
    ----------
    members
        (n, m) array-like for scalar targets, (n, m, d) for vectors, in units of the targets.

    Raises
    ------
    ValueError
        For values that are not finite, no members, another number of members or dimensions.

    Notes
    -----
    Kernels, distances and costs are those of ``Ensemble``. An outcome that is none of the scenarios, up to 1e-9 of the
    largest of its case, is one to which probability 0 was given: like such classes it makes the p-value 0 in
    ``calibration_test`` and the tests of textbooks, and other tests name it.

    Examples
    --------
    >>> import caltest as ct
    >>> scenarios = ct.Scenarios([[0.0, 1.0, 1.5], [2.0, 3.0, 4.5]])
    >>> scenarios, scenarios.sample(rng=1)
    (<Scenarios, n = 2, 3 members>, array([1., 3.]))
    """

    family = "Scenarios"
    meaning = "of which one is the outcome"
    has_jumps = True

    def __init__(self, members: ArrayLike) -> None:
        super().__init__(checked_members(members))

    def sample(self, rng: Any = None, size: int | None = None) -> Array:
        """Members drawn at random: (n,) or (n, d), or (size, n) or (size, n, d)."""
        shape = self.shape if size is None else (size, *self.shape)
        index = generator_of(rng).integers(self.n_members, size=shape)
        return self.members[np.arange(len(self)), index]

    def impossible(self, targets: Array) -> BoolArray:
        """Which of the targets are none of the scenarios."""
        axis = len(self.shape)
        rounding = 1e-9 * np.abs(self.members).max(axis=axis, keepdims=True)
        same = np.abs(self.members - np.expand_dims(targets, axis)) <= rounding
        return np.asarray(~(same.all(axis=-1) if self._is_vector else same).any(axis=axis))

    @property
    def pool_size(self) -> int | None:
        return self.n_members if self.has_spread else None

    def pool_residuals(self, targets: Array) -> FloatArray:
        # With the score z in the pool of m members and the target it is z sqrt((m - 1) / (m - z**2)).
        m, means = self.n_members - 1.0, self.members.mean(axis=1)
        z = in_units(targets - means, self.members.std(axis=1))
        return np.asarray(z * np.sqrt((m - 1.0) / np.maximum(m - z * z, FARTHEST)))

    @property
    def has_spread(self) -> bool:
        """Both of two scenarios are equally far from their mean."""
        return self.n_members > 2

    def cdf_below(self, targets: Array) -> FloatArray:
        """``P(Z < y)``: the share of members below y."""
        return np.asarray((self.members < targets[..., None]).mean(axis=-1))


class Pool(Scenarios):
    """The m members of an ensemble together with the outcome, without saying which of the m + 1 values this is.

    If outcome and members are exchangeable, the outcome is a value drawn at random from the pool, given the pool: a law
    that is known. The target minus the mean of the pool is m / (m + 1) times the target minus the mean of the members,
    for every kernel of targets; ``weight`` is the reciprocal, so that errors are those of the members.
    """

    family = "Ensemble"
    meaning = "that are exchangeable with the outcome"
    redraws = "outcomes redrawn among their members and themselves"
    hypothesis = "outcome and members are exchangeable"
    assumption = (
        "members of a case exchangeable with each other, as draws of an autocorrelated chain are not, which these "
        "data do not show (Ensemble(...).thinned(step) keeps draws far apart)"
    )

    def __init__(self, values: FloatArray) -> None:
        if values.ndim == 3:
            # In an order that does not depend on which of them is the outcome.
            order = np.lexsort(np.moveaxis(values, 2, 0)[::-1], axis=1)
            values = np.take_along_axis(values, order[..., None], axis=1)
        Members.__init__(self, values)

    @property
    def weight(self) -> float:
        """``(m + 1) / m``."""
        return self.n_members / (self.n_members - 1)

    def spread_shares(self, squares: FloatArray) -> FloatArray:
        """The variance of the members as a share of that of the pool.

        A pool of m members and an outcome of score z has, without the outcome, ``(m - z**2) / (m - 1)`` times its
        variance, both with their unbiased divisors: 1 on average if calibrated.
        """
        if not self.has_spread:
            return super().spread_shares(squares)
        m = self.n_members - 1
        # Outcomes so far away that the difference is rounding count as nearer.
        return np.maximum(m - squares, FARTHEST) / (m - 1)

    def excess_spread(self, targets: Array, weights: FloatArray | None) -> FloatArray:
        """``(sum |e|**2 - v / m) / v - 1`` with the differences e of outcomes and means of the m members.

        v is the sum of the variances of the members with divisors m - 1, so that it is unbiased in the parts.
        """
        means, variances = self.moments()
        w = np.ones(len(self)) if weights is None else weights
        deviations = np.square(targets - means).reshape(*targets.shape[:2], -1).sum(axis=2)
        squares = deviations @ w / (variances @ w)
        return np.asarray(self.weight * (squares / self.spread_shares(squares) - 1.0))

    @property
    def _number(self) -> str:
        return f"{self.n_members - 1} member{'s' if self.n_members > 2 else ''}"
