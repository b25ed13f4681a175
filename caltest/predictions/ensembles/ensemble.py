"""Ensembles, and outcomes that are one of finitely many equally likely values: scenarios, and pools of ensembles."""

from typing import Any, Self

import numpy as np

from caltest._basics.numerics import (
    Array,
    ArrayLike,
    BoolArray,
    FloatArray,
    check_memory,
    generator_apart,
    generator_of,
)
from caltest._validation import whole_number
from caltest.predictions.alternatives import Odds, PoolOdds
from caltest.predictions.base import Drawer, Parameter, Predictions
from caltest.predictions.claims import FAR_OFF, Checks, Claim
from caltest.predictions.ensembles.claims import of_far_values, of_members, of_pools
from caltest.predictions.ensembles.members import Members, checked_members
from caltest.predictions.levels import Levels, between
from caltest.predictions.reductions.standard_scores import FARTHEST, LARGEST_SCORE, in_units


class Scenarios(Members):
    """n predictions of m scenarios each, numbers or vectors of d numbers, of which the outcome is one at random.

    The law of the outcome is known, each scenario has probability 1/m, and that is what is tested. Draws that stand for
    a smooth distribution mean something else: ``Ensemble`` for those whose distribution is not known,
    ``predictions.to_ensemble(n_members, rng)`` for those of predictions.

    Parameters
    ----------
    members
        (n, m) array-like of finite numbers for scalar targets, (n, m, d) for vectors, in units of the targets
        (``ValueError`` for others).

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
        shape = self.shape if size is None else (size, *self.shape)
        index = generator_of(rng).integers(self.n_members, size=shape)
        return self.members[np.arange(len(self)), index]

    def impossible(self, targets: Array) -> BoolArray:
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

    given: FloatArray | None = None
    """The members (n, m) in the order in which they were given; None if that is not known."""

    def __init__(self, values: FloatArray, given: FloatArray | None = None) -> None:
        values = _nearer(values)
        if values.ndim == 3:
            # In an order that does not depend on which of them is the outcome.
            order = np.lexsort(np.moveaxis(values, 2, 0)[::-1], axis=1)
            values = np.take_along_axis(values, order[..., None], axis=1)
        Members.__init__(self, values)
        self.given = given

    def _like(self, *parameters: Any) -> Self:
        new = super()._like(*parameters)
        new.given = None
        return new

    def take(self, index: Any) -> Self:
        new = super().take(index)
        new.given = None if self.given is None else self.given[index]
        return new

    def check_targets(self, targets: ArrayLike, name: str = "targets") -> Array:
        farthest = float(np.abs(self.members).max())
        return np.clip(super().check_targets(targets, name), -farthest, farthest)

    def claims(self, targets: Array) -> Checks:
        claims, scores = of_pools(self.members, targets) if not self._is_vector else ([], [])
        return claims, scores + of_members(self.without(targets).members, targets)

    def claims_at(self, kind: str, place: str, targets: Array) -> tuple[list[Claim], int]:
        found, among = super().claims_at(kind, place, targets)
        if self._is_vector or kind not in FAR_OFF | {"scale"}:
            return found, among
        # Outliers can be named as errors that are too large: that is seen where more are far off than just matter.
        far = of_far_values(self.members, targets)
        return [one for one in far if kind in FAR_OFF or one.excess < -one.margin], among

    def odds(self) -> Odds | None:
        return PoolOdds(self) if self.has_spread else super().odds()

    @property
    def weight(self) -> float:
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

    def without(self, targets: Array) -> "Ensemble":
        """The members of each case but its target; of several that equal it one is left out."""
        equal = self.members == targets[:, None]
        place = (equal.all(axis=-1) if self._is_vector else equal).argmax(axis=1)
        others = np.arange(self.n_members) != place[:, None]
        return Ensemble(self.members[others].reshape(len(self), -1, *self.members.shape[2:]))

    def losses(self, targets: Array) -> FloatArray:
        return self.without(targets).losses(targets)

    @property
    def _number(self) -> str:
        return f"{self.n_members - 1} member{'s' if self.n_members > 2 else ''}"


def _nearer(values: FloatArray) -> FloatArray:
    """Pools with outliers so near that distances are finite, as scores are; the same whichever is the outcome."""
    sizes = np.abs(values)
    if sizes.max() <= LARGEST_SCORE or np.quantile(sizes, 0.5, method="lower") > LARGEST_SCORE:
        return values
    return np.clip(values, -LARGEST_SCORE, LARGEST_SCORE)


class Ensemble(Members):
    """n ensembles of m numbers or vectors each, whose members are exchangeable with the outcome if they are right.

    What is tested is that **outcome and members of a case are exchangeable**: the outcome could be any of the m + 1
    values. This is what forecast ensembles, posterior draws and dropout passes mean; ``Scenarios`` are for outcomes
    that are one of the members.

    Parameters
    ----------
    members
        As of ``Scenarios``: (n, m) array-like for scalar targets, (n, m, d) for vectors; m >= 1.

    Notes
    -----
    Given the m + 1 values of a case, without saying which of them is the outcome, this is drawn from them at random if
    the hypothesis holds. So every test takes the outcome among its members (the pool) as prediction, with all that is
    computed from it, distances and bandwidths too, and redraws which of the m + 1 values is the outcome: p-values are
    exact for every n and m, and perfect ensembles are not rejected, however few members they have. Errors that are
    reported are those of the members: kernel errors are ``((m + 1) / m)**2`` times those of the pools,
    ``h = k_P(pool, pool') <delta_y - members, delta_y' - members'>``; see ``ResidualSpread`` for the spread.
    Outcomes beyond 1e140 count as this far if most values are nearer, so that distances are finite.

    Assumes that cases are independent and members of a case exchangeable with each other, not independent: models of
    one training run are, successive draws of a Markov chain are not, and no data of one outcome per case show it.
    ``thinned(step)`` keeps draws that are far apart.

    Expectations are means over the members, so every kernel of the targets is allowed::

        E k(Z, y) = 1/m sum_a k(z_a, y),    E k(Z, Z') = 1/m**2 sum_ab k(z_a, z'_b)

    Any kernel of the predictions makes sums over pairs cost at least O(n**2); this is the time of a pair.

    - Scalar members, ``LaplacianKernel`` and ``MaternKernel``: O(m), from a pass along the sorted members of a few
      hundred rows and columns at a time.
    - Scalar members, ``GaussianKernel``: O(F), where F is 10 and a number proportional to the range of the data in
      bandwidths, if that is less than m**2.
    - ``Wasserstein`` and, for scalar members, ``EnergyDistance``: O(m) after sorting once.
    - Everything else, and vectors of d > 1 numbers: O(m**2 d) with the named kernels compiled; other kernels of targets
      take as long as their values for all pairs of members.

    Memory: O(n m d) and a few MB for each thread.

    Source: Hamill 2001 for ranks of outcomes among exchangeable members; pooled for every estimator here.

    Examples
    --------
    >>> import numpy as np
    >>> import caltest as ct
    >>> rng = np.random.default_rng(4)
    >>> centre = rng.normal(size=(200, 1))
    >>> y = centre[:, 0] + rng.normal(size=200)
    >>> ensemble = ct.Ensemble(centre + rng.normal(size=(200, 5)))
    >>> ensemble
    <Ensemble, n = 200, 5 members>
    >>> narrow = ct.Ensemble(centre + 0.5 * rng.normal(size=(200, 5)))
    >>> [ct.calibration_test(e, y, n_resamples=99, rng=1).pvalue for e in (ensemble, narrow)]
    [0.35, 0.01]
    """

    family = "Ensemble"
    meaning = "that are exchangeable with the outcome"
    can_be_drawn = False
    """Not without an outcome to be exchanged with, unless it is known where the members come from."""
    _given = Parameter(1, "The members in the order in which they were given.")

    def __init__(self, members: ArrayLike) -> None:
        given = checked_members(members)
        super().__init__(given, given)

    def sample(self, rng: Any = None, size: int | None = None) -> Array:
        """None: ``TypeError``, as the distribution of the outcome is known given the pool only."""
        raise TypeError(
            "predictions: got an Ensemble, which says that outcome and members are exchangeable, not how outcomes are "
            "distributed; outcomes for which it is right are members that are left out, leave_one_out(rng), settings "
            "come from pooled(targets), and Scenarios(members) are for outcomes that are one of the members"
        )

    def pooled(self, targets: ArrayLike) -> Predictions:
        """The members of each case together with its target: what tests take as predictions.

        Settings that are computed from data, such as bandwidths and landmarks, have to come from pools, so that they do
        not depend on which value is the target: ``LowRankSKCE(kernel).resolve(ensemble.pooled(targets))``.
        """
        values = np.concatenate([self.members, self.check_targets(targets)[:, None]], axis=1)
        return Pool(values) if self._is_vector else Pool(values, self._given)

    def transforms(self, times: FloatArray, seen: BoolArray) -> Levels:
        """Ranks of the event in its pool, over m + 1: that of the time, ties at random, or any that is later."""
        if self._is_vector:
            raise TypeError("predictions: got an Ensemble of vectors, wanted one of numbers for censored times")
        below, up_to = (count.sum(axis=1) for count in (self.members < times[:, None], self.members <= times[:, None]))
        size = self.n_members + 1.0
        return between(np.where(seen, below, up_to) / size, np.where(seen, (up_to + 1.0) / size, 1.0))

    @property
    def redrawable(self) -> Predictions:
        """The m members as pools of m - 1 of them and an outcome; ``ValueError`` for a single member."""
        self._check_two()
        return Pool(self.members)

    def to_array(self) -> FloatArray:
        """The members in the order in which they were given."""
        return self._given

    def coordinate(self, t: int) -> "Ensemble":
        return Ensemble(self._given[..., t]) if self._is_vector else self

    def losses(self, targets: Array) -> FloatArray:
        """``mean_a |z_a - y| - sum_ab |z_a - z_b| / (2 m (m - 1))``, for vectors with Euclidean distances.

        Its mean is that of the distribution the members are drawn from, whatever their number (Ferro 2014).
        """
        m, z = self.n_members, self.members if self._is_vector else self.members[..., None]
        to_outcome = np.linalg.norm(z - targets.reshape(len(self), 1, -1), axis=-1).mean(axis=-1)
        if self._is_vector:
            between_members = sum(np.linalg.norm(z - z[:, a : a + 1], axis=-1).sum(axis=-1) for a in range(m)) / 2.0
        else:
            between_members = self.members @ (2.0 * np.arange(m) - (m - 1.0))
        return np.asarray(to_outcome - between_members / max(1.0, m * (m - 1.0)))

    def moved(self, shift: FloatArray | float, factor: FloatArray | float) -> "Ensemble":
        """As of numbers, with the mean and the standard deviation of the members, in each coordinate of vectors."""
        if self.n_members < 2:
            raise ValueError("members: got 1 of each prediction, wanted at least 2: one has no spread")
        mean, spread = self._given.mean(axis=1, keepdims=True), self._given.std(axis=1, ddof=1, keepdims=True)
        return Ensemble(mean + spread * shift + factor * (self._given - mean))

    def best_move(self, targets: Array) -> tuple[float, float]:
        """Those of sums over all cases, as spreads of few members are noisy, and the CRPS of them is.

        With the means m, standard deviations s (divisor m - 1) of M members and shift ``a = sum (y - m) / sum s`` the
        factor is the root of ``sum (y - m - a s)**2 / ((1 + 1 / M) sum s**2)``, 1 on average if calibrated.
        """
        mean, spread = self.members.mean(axis=1), self.members.std(axis=1, ddof=1)
        if not spread.any():
            raise ValueError("members: got members without spread in all cases, wanted some that differ")
        shift = float((targets - mean).sum() / spread.sum())
        squares = np.square(targets - mean - shift * spread).sum() / np.square(spread).sum()
        return shift, float(np.sqrt(squares * self.n_members / (self.n_members + 1)))

    def thinned(self, step: int) -> "Ensemble":
        """Every step-th member of each case, in the order in which they were given: distant draws of a chain.

        ``ValueError`` unless the step is a whole number of at least 1.

        Examples
        --------
        >>> import caltest as ct
        >>> ct.Ensemble([[5.0, 4.0, 3.0, 2.0, 1.0]]).thinned(2).members
        array([[1., 3., 5.]])
        """
        return Ensemble(self._given[:, :: whole_number("step", step, 1)])

    def leave_one_out(self, rng: Any = None) -> "tuple[Ensemble, Array]":
        """Ensembles of m - 1 members, and the member of each case that was left out, chosen at random.

        If members are exchangeable, the one left out is an outcome for which the others are right: calibrated data for
        sizes of tests and for simulations. ``ValueError`` for a single member.

        Examples
        --------
        >>> import caltest as ct
        >>> ensemble, targets = ct.Ensemble([[0.0, 1.0, 1.5], [2.0, 3.0, 4.5]]).leave_one_out(rng=1)
        >>> ensemble.members, targets
        (array([[0. , 1.5],
               [2. , 4.5]]), array([1., 3.]))
        """
        held = self.held_out(rng)
        return Ensemble(held._given), held.sample()

    def held_out(self, rng: Any = None) -> "_HeldOut":
        self._check_two()
        n, m = self._given.shape[:2]
        chosen = np.arange(m) == generator_of(rng).integers(m, size=(n, 1))
        kept = self._given[~chosen].reshape(n, m - 1, *self._given.shape[2:])
        return _HeldOut(kept, self._given[chosen])

    def _check_two(self) -> None:
        if self.n_members < 2:
            raise ValueError("members: got 1 of each prediction, wanted at least 2 to leave one out")


class _HeldOut(Ensemble):
    """Ensembles with outcomes that are known: members that were left out."""

    can_be_drawn = True
    _outcomes = Parameter(2, "The members that were left out.")

    def __init__(self, members: FloatArray, outcomes: Array) -> None:
        Members.__init__(self, members, members, outcomes)

    def sample(self, rng: Any = None, size: int | None = None) -> Array:
        return self._outcomes if size is None else np.repeat(self._outcomes[None], size, axis=0)


class DrawnEnsemble(Ensemble):
    """Draws from predictions that are known: expectations are those over the draws, outcomes come from the source."""

    meaning = "drawn by to_ensemble(...), whose targets are redrawn from the predictions they came from"
    can_be_drawn = True

    def __init__(self, source: Predictions, n_members: int, rng: Any) -> None:
        number = whole_number("n_members", n_members, 1)
        check_memory(24 * number * len(source), "members", (number, "members"))
        given = checked_members(np.moveaxis(source.redraw(generator_apart(rng), number), 0, 1))
        Members.__init__(self, given, given, source)

    @property
    def source(self) -> Predictions:
        source: Predictions = self._parameters[2]
        return source

    @property
    def hypothesis(self) -> str:
        return self.source.hypothesis

    @property
    def redrawable(self) -> Predictions:
        return self

    def pooled(self, targets: ArrayLike) -> Predictions:
        return self

    def held_out(self, rng: Any = None) -> Self:  # type: ignore[override]
        return self

    def sample(self, rng: Any = None, size: int | None = None) -> Array:
        return self.source.sample(rng, size)

    def redraw(self, rng: Any = None, size: int | None = None) -> Array:
        return self.source.redraw(rng, size).astype(np.float64)

    def drawer(self) -> Drawer:
        draw = self.source.drawer()
        return lambda uniforms: draw(uniforms).astype(np.float64)

    def check_targets(self, targets: ArrayLike, name: str = "targets") -> Array:
        return np.asarray(self.source.check_targets(targets, name), dtype=np.float64)

    def impossible(self, targets: Array) -> BoolArray:
        return self.source.impossible(targets)

    def cdf(self, targets: Array) -> FloatArray:
        return self.source.cdf(targets)

    @property
    def _number(self) -> str:
        return f"{super()._number} drawn from {self.source.family}"
