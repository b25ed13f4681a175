"""What faults of numbers and vectors see of targets: their standard scores."""

from dataclasses import dataclass
from functools import cached_property
from math import exp, sqrt
from operator import attrgetter

import numpy as np
import scipy

from caltest._basics.calls import kept
from caltest._basics.numerics import Array, BoolArray, FloatArray, IntArray, evenly_spaced
from caltest.predictions.base import Predictions
from caltest.predictions.faults.values import SeesValues, Value, repeated_values
from caltest.predictions.reductions.standard_scores import in_units, own_units, scores_of

HALVINGS = 30
"""Of the range of a shift in the units of the targets."""

QUANTILES_OF = 32
"""Predictions whose quantiles tell what a change of their scores does to outcomes."""

CONVERGED = 1e-6
"""Step of centres and spreads, in standard deviations, that is small beside their error."""

MOVES, MEMBERS = 2, 2**18
"""How often outcomes are moved to the most likely place among members, and members whose residuals tell which law that
of the outcome has if they are exchangeable."""

ROUNDING = 1e-9
"""Share of the squares of a pool that the variance of its members is at least."""

SPREADLESS = 1e6
"""Residuals of this size are those among values that are equal up to rounding."""

FARTHEST = 1e7
"""Residuals are at most so many times as large as half of them are, and as 1: squares of larger ones would hide the
others in the rounding errors of their sums.
"""

FEW = 0.05
"""Share of outcomes without digits in their scores up to which they are outliers."""

LAST_SCORE = 37.0
"""Beyond which probabilities are no numbers, so that scores of laws that are not normal end there."""

CLIPPED = 6.0
"""Scores of targets are at most this large in rows, so that a few redraws know their spread."""

HALF, HALF_WEIGHTS = np.polynomial.legendre.leggauss(16)
HALVES = np.concatenate([0.25 * (1.0 + HALF), 0.5 + 0.25 * (1.0 + HALF)])
"""Levels of quantiles below and above the median, where distances to it have a bend."""

WEIGHTS = np.tile(0.25 * HALF_WEIGHTS, 2)

STEPS = 50
"""Of searches of centres and spreads, and of outliers."""


def residuals_among(members: FloatArray) -> FloatArray:
    """Differences of values (n, m, d) to the mean of the others, in their standard errors of a forecast."""
    m = members.shape[1]
    centred = members - members.mean(axis=1, keepdims=True)
    means = -centred / (m - 1.0)
    squares = np.square(centred).sum(axis=1, keepdims=True) - np.square(centred) - (m - 1.0) * np.square(means)
    errors = np.sqrt(np.maximum(squares, 0.0) / (m - 2.0) * (1.0 + 1.0 / (m - 1.0)))
    return np.asarray(np.divide(centred - means, errors, out=np.zeros_like(centred), where=errors > 0.0))


def slopes_of_scale(residuals: FloatArray, df: float) -> FloatArray:
    """Derivatives of the log likelihood of Student's t by the logarithm of its scale."""
    squares = np.square(residuals)
    return np.asarray((df + 1.0) * squares / (df + squares) - 1.0)


def most_likely(values: FloatArray, df: float) -> tuple[FloatArray, FloatArray]:
    """Centres and spreads (d,) of values (n, d): around these they look neither shifted nor scaled.

    Spreads are the likeliest ones of Student's t. Centres are those at which the likelihood of noncentral t
    distributions does not grow with their noncentrality, in proportion to ``sum r / sqrt(df + r**2)``.
    """
    centre, spread = np.zeros(values.shape[1]), np.ones(values.shape[1])
    for _ in range(STEPS):
        squares = df + np.square((values - centre) / spread)
        w = 1.0 / np.sqrt(squares)
        step = (w * (values - centre)).sum(axis=0) / w.sum(axis=0)
        centre = centre + step
        known, spread = spread, np.sqrt(((df + 1.0) / squares * np.square(values - centre)).mean(axis=0))
        spread = np.maximum(spread, 1e-6)
        if max(np.abs(step).max(), np.abs(spread - known).max()) < CONVERGED:
            break
    return centre, spread


def _of_a_spread(residuals: FloatArray) -> FloatArray:
    """Residuals (N, d) among others that differ, as far as this is known of single numbers, or all if these are few."""
    known = _have_spread(residuals)[:, 0]
    few = 2 * np.count_nonzero(known) <= np.count_nonzero(residuals[:, 0])
    return residuals if few or residuals.shape[1] > 1 else residuals[known]


def _have_spread(residuals: FloatArray) -> BoolArray:
    """Which residuals are those among values that differ."""
    return np.asarray((residuals != 0.0) & (np.abs(residuals) < SPREADLESS))


SCORES, SQUARES = attrgetter("clipped"), attrgetter("clipped_squares")
"""What rows of shifts and of scales are sums of: Hermite polynomials of scores, but for constants."""


@dataclass
class Scores(SeesValues):
    """Targets (B, n) or (B, n, d) on the scale of their standard scores, and residuals of the first of them.

    Residuals are the scores, which are standard normal if the predictions are calibrated. Those of ensembles of m
    members are differences to the mean of the members in units of the standard error of a forecast,
    ``s sqrt(1 + 1 / m)``, which have Student's t distribution of m - 1 degrees of freedom if outcome and members are
    normal draws.
    """

    law: Predictions
    targets: Array
    given_weights: FloatArray
    spread: BoolArray | None = None
    """Which predictions have a spread that is known not to be 0; None if all are."""
    corrected: FloatArray | None = None

    @cached_property
    def weights(self) -> FloatArray:  # type: ignore[override]
        """Those of the observations, 0 for those that are certain and right, which have no residuals.

        Outcomes of members without a spread, as in a dry forecast, do not say how large it should be. They count only
        if they are half of those that are left, or more.
        """
        if self.spread is None:
            return self.given_weights
        w = np.asarray(self.given_weights * (self.spread | (self._uncentred != 0.0)))
        if self._m is None or self.corrected is not None or self._uncentred.ndim > 1:
            return w
        known = w * (np.abs(self._uncentred) < SPREADLESS)
        return known if 2.0 * known.sum() > w.sum() else w

    @cached_property
    def z(self) -> FloatArray:
        """The scores; those of vectors of one number are numbers."""
        scores = scores_of(self.law, self.targets)
        return scores[..., 0] if scores.ndim == 3 and scores.shape[2] == 1 else scores

    @cached_property
    def clipped(self) -> FloatArray:
        """Scores for the rows."""
        return np.clip(self.z, -CLIPPED, CLIPPED)

    @cached_property
    def clipped_squares(self) -> FloatArray:
        """Their squares."""
        return np.square(self.clipped)

    @cached_property
    def centred_levels(self) -> FloatArray:
        """``2 F(y) - 1``."""
        return np.asarray(scipy.special.erf(self.clipped * sqrt(0.5)))

    @cached_property
    def residuals(self) -> FloatArray:
        """Those of the first targets, (n,) or (n, d)."""
        if self._m is None or self.corrected is not None:
            return self._uncentred
        _, centre, spread = self._of_members
        return (self._uncentred - centre) / spread

    @cached_property
    def _uncentred(self) -> FloatArray:
        if self.corrected is not None:
            return self.corrected
        if self._m is not None:
            return np.asarray(self.law.pool_residuals(self.targets[0]).reshape(self.z[0].shape))
        sizes = np.abs(self.z[0])
        if float(sizes.max(initial=0.0)) <= FARTHEST:
            return np.asarray(self.z[0])
        farthest = FARTHEST * np.maximum(np.median(sizes, axis=0), 1.0)
        return np.asarray(np.clip(self.z[0], -farthest, farthest))

    @cached_property
    def _of_members(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Residuals (N,) or (N, d) of at most 2**18 members among all others of their pools, their centre and spread.

        If the outcome is exchangeable with the members its residuals have the same law as theirs, which of skewed draws
        has another centre than normal ones. In the pools outcomes are moved twice to where residuals of members are, as
        else wrong ones would change what the members say.
        """
        assert self._m is not None
        df, shape = self._m - 1.0, self._uncentred.shape[1:]
        n = len(self.law)
        rows = evenly_spaced(n, max(1, MEMBERS // (self._m + 1)))
        number = rows.size
        pools, y = np.array(self.law.take(rows).members), self.targets[0][rows]  # type: ignore[attr-defined]
        pools, y = pools.reshape(*pools.shape[:2], -1), y.reshape(number, -1)
        place = np.arange(number), np.abs(pools - y[:, None]).max(axis=2).argmin(axis=1)
        means = (pools.sum(axis=1) - pools[place]) / self._m
        own = residuals_among(pools)[place]
        units = np.divide(y - means, own, out=np.zeros_like(own), where=own != 0.0)
        # Outcomes that equal a member would, elsewhere, give others a spread that they do not have.
        alone = (pools == y[:, None]).sum(axis=1) == 1
        free = (alone & _have_spread(own)) | (own.shape[1] > 1)
        found = _of_a_spread(residuals_among(pools).reshape(-1, own.shape[1]))
        centre, spread = most_likely(found, df)
        for _ in range(MOVES):
            middle, width = most_likely(_of_a_spread(own), df)
            moved = means + units * (centre + (own - middle) * spread / width)
            pools[place] = np.where(free, moved, y)
            found = _of_a_spread(residuals_among(pools).reshape(-1, own.shape[1]))
            centre, spread = most_likely(found, df)
        return found.reshape(-1, *shape), centre.reshape(shape), spread.reshape(shape)

    @cached_property
    def errors_of_members(self) -> FloatArray:
        """Residuals (N,) or (N, d) of members among all others."""
        residuals, centre, spread = self._of_members
        return (residuals - centre) / spread

    @cached_property
    def units_of_errors(self) -> FloatArray:
        """What errors (n,) of ensembles of numbers are in units of."""
        assert self._m is not None
        members = self.law.without(self.targets[0]).members  # type: ignore[attr-defined]
        units = members.std(axis=1, ddof=1) * sqrt(1.0 + 1.0 / self._m) * self._of_members[2]
        return np.asarray(np.where(units > 0.0, units, np.inf))

    @kept
    def excess_of_slopes(self, coordinates: tuple[int, ...]) -> float:
        """How many times as large the variance of sums of slopes of scales is as that of normal laws, at least once."""
        assert self.pool_df is not None
        slopes = slopes_of_scale(self.errors_of_members.reshape(len(self.errors_of_members), -1), self.pool_df)
        usual = 2.0 * self.pool_df / (self.pool_df + 3.0) * len(coordinates)
        return max(1.0, float(np.square(slopes[:, coordinates].sum(axis=1)).mean()) / usual)

    def in_pools(self) -> tuple[FloatArray, list[tuple[FloatArray, IntArray]]]:
        """Residuals (n, m + 1) of each value of a pool among all others, as these are; then means, and variances.

        Of both those (n,) of the members, and the case whose members' is next to that of these others, (n, m + 1).
        """
        assert self._m is not None
        pools, (_, centre, spread) = np.asarray(self.law.members), self._of_members  # type: ignore[attr-defined]
        y, middle = self.outcomes[:, None], pools.mean(axis=1, keepdims=True)
        squares = np.square(pools - middle).sum(axis=1, keepdims=True)
        means = [(pools.sum(axis=1, keepdims=True) - x) / self._m for x in (y, pools)]
        variances = [(squares - np.square(x - middle) * (1.0 + 1.0 / self._m)) / (self._m - 1.0) for x in (y, pools)]
        # Those of equal members are rounding errors.
        variances = [np.where(one > ROUNDING * squares, one, 0.0) for one in variances]
        places = []
        for (own,), each in ((means[0].T, means[1]), (variances[0].T, variances[1])):
            order = np.argsort(own)
            places.append((own, order[np.minimum(np.searchsorted(own[order], each), own.size - 1)]))
        return (residuals_among(pools[..., None])[..., 0] - centre) / spread, places

    @cached_property
    def values(self) -> list[Value]:
        """Those that many outcomes have, but no members."""
        if (law := self._law_of_values) is None:
            return []
        found = repeated_values(law, self.outcomes, self.weights)
        if self._m is None:
            return found
        pools = np.asarray(self.law.members)  # type: ignore[attr-defined]
        return [one for one in found if (pools == one.value).sum() < 2 * one.at.sum()]

    @property
    def _law_of_values(self) -> Predictions | None:
        """Of ensembles Student's t around the members; None if some of these have no spread."""
        if self._m is None:
            return self.law
        from caltest.predictions.numbers.student_t import StudentT

        pools, y = np.asarray(self.law.members), self.outcomes  # type: ignore[attr-defined]
        means, centred = (pools.sum(axis=1) - y) / self._m, pools - pools.mean(axis=1, keepdims=True)
        squares, m = np.square(centred).sum(axis=1), self._m
        rest = squares - np.square(y - pools.mean(axis=1)) * (1.0 + 1.0 / m)
        if (rest <= ROUNDING * squares).any():
            return None
        return StudentT(m - 1.0, means, np.sqrt(rest / (m - 1.0) * (1.0 + 1.0 / m)))

    @property
    def known_share(self) -> float:
        """Of the weight that is of residuals that are known, and not only to be in an interval."""
        return 1.0

    @cached_property
    def _units(self) -> tuple[FloatArray, FloatArray] | None:
        """None where standard scores are errors in these units, and where only scores are known."""
        return None if self.corrected is not None else own_units(self.law)

    @cached_property
    def errors(self) -> FloatArray:
        """Those of the first targets, (n,) or (n, d)."""
        if self._units is None:
            return self.residuals
        mean, deviation = self._units
        return in_units(self.outcomes - mean, deviation)

    def with_errors(self, errors: FloatArray) -> "FloatArray | Scores":
        """What is seen of first targets with other errors: residuals, or scores where targets are known for them."""
        if self._units is None:
            return errors
        mean, deviation = self._units
        return Scores(self.law, (mean + deviation * errors)[None], self.given_weights, self.spread)

    def after(self, correction: "FloatArray | Scores") -> "Scores":
        """The same with other residuals of the first targets, or other targets."""
        if isinstance(correction, Scores):
            return correction
        after = type(self)(self.law, self.targets, self.weights, corrected=correction)
        if self._m is not None:
            # No correction changes the members.
            vars(after)["_of_members"] = self._of_members
        return after

    @cached_property
    def squares(self) -> FloatArray:
        """Their squares."""
        return np.square(self.residuals)

    @property
    def squared_radius(self) -> FloatArray:
        """Their sums over coordinates, (n,)."""
        return self.squares if self.squares.ndim == 1 else np.asarray(self.squares.sum(axis=1))

    def shifted_back(self, signs: FloatArray, location: FloatArray) -> FloatArray | None:
        """Residuals of numbers if outcomes were lower by one amount times some signs (n,), so that their mean is 0.

        Locations (n,) of the predictions say how large the amount can be.
        """
        if self._m is not None:
            share = self.law.spread_shares(np.square(self.z[:1])).reshape(-1)
            deviations = np.sqrt(self.law.moments()[1].reshape(-1) * share)
            units = signs * np.divide(1.0, deviations, out=np.zeros_like(deviations), where=deviations > 0.0)
            amount = float(self.weights * units @ self.residuals) / max(float(self.weights @ np.square(units)), 1e-300)
            return np.asarray(self.residuals - amount * units)
        y = self.outcomes
        far = 2.0 * float(np.abs(y - location).max())

        def residuals(amount: float) -> FloatArray:
            return np.asarray(scores_of(self.law, (y - amount * signs)[None])[0].reshape(-1))

        low, high = -far, far
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self.weights * signs @ residuals(middle) > 0.0 else (low, middle)
        return residuals(low)

    @property
    def _m(self) -> int | None:
        return None if self.law.pool_size is None else self.law.pool_size - 1

    @property
    def pool_df(self) -> float | None:
        """Degrees of freedom of the residuals of ensembles; None of other predictions."""
        return None if self._m is None else self._m - 1.0

    def moved_by(self, shift: float) -> float:
        """A shift of the residuals in predicted standard deviations of the outcomes."""
        if self._m is not None:
            return shift * sqrt(1.0 + 1.0 / self._m)
        return self._moved(shift, 1.0)[0]

    def ratio(self, log_scale: float) -> float:
        """The ratio of errors to those predicted, for a log scale of the residuals."""
        if self._m is None:
            return self._moved(0.0, exp(log_scale))[1]
        # The variance of the mean of the members is a part of that of the residuals.
        return sqrt(max(0.0, (1.0 + 1.0 / self._m) * exp(2.0 * log_scale) - 1.0 / self._m))

    def log_moved(self, errors: FloatArray, moved: FloatArray, coordinates: list[int] | slice) -> FloatArray:
        """Log ratio of the densities of errors (c, n) of some coordinates that have been moved, and have not, (n,)."""
        return np.asarray((self.log_kernel(moved) - self.log_kernel(errors)).sum(axis=0))

    def are_independent(self, a: int, b: int) -> bool:
        """Whether errors of two coordinates say nothing of each other, so that one does not look like the other."""
        return True

    def slopes(self, coordinate: int) -> tuple[FloatArray, FloatArray]:
        """Minus the derivatives (n,) of the log density by the error of a coordinate, and their variances."""
        errors = self.errors[:, coordinate]
        return errors, np.ones(errors.size)

    @cached_property
    def _of_quantiles(self) -> Predictions | None:
        """At most 32 predictions whose scores are no errors in their own units, of which quantiles tell what these are.

        None of others, and of levels, which have no units.
        """
        law = self.law
        is_known = law.normal is not None or not law.is_continuous or not law.has_scale or own_units(law) is not None
        return None if is_known else law.evenly_spaced(QUANTILES_OF)

    @kept
    def _moved(self, shift: float, scale: float) -> tuple[float, float]:
        """What a change of the scores does to outcomes, on average.

        The shift of the mean in predicted standard deviations, and the ratio of distances to the predicted median.
        """
        if (law := self._of_quantiles) is None:
            return shift, scale
        scores = np.repeat(scipy.special.ndtri(HALVES)[:, None], len(law), axis=1)
        before, after = law.of_standard_scores(scores), law.of_standard_scores(shift + scale * scores)
        median = law.of_standard_scores(np.zeros((1, len(law))))
        with np.errstate(all="ignore"):
            means = WEIGHTS @ (after - before) / np.sqrt(WEIGHTS @ np.square(before - WEIGHTS @ before))
            ratio = (WEIGHTS @ np.abs(after - median)) / (WEIGHTS @ np.abs(before - median))
        known = np.isfinite(means) & np.isfinite(ratio)
        if not known.any():  # All spreads are too small for numbers between their quantiles.
            return shift, scale
        return float(means[known].mean()), float(ratio[known].mean())

    @property
    def is_normal(self) -> bool:
        """Whether residuals are errors of normal laws, of numbers or of coordinates."""
        return self.law.normal is not None or (self.law.has_normal_scores and not self.law.is_continuous)

    def log_kernel(self, errors: FloatArray) -> FloatArray:
        """Logarithm of their density if calibrated, but for a constant."""
        if self._units is not None:
            mean, deviation = self._units
            return self.law.log_density(mean + deviation * errors)
        squares = np.square(errors)
        if self._m is None:
            return np.asarray(-0.5 * squares)
        return np.asarray(-0.5 * self._m * np.log1p(squares / (self._m - 1.0)))

    def total_of_densities(self, logs: FloatArray) -> float:
        """Sum of log ratios (n,) of densities of the targets.

        A few outcomes whose scores have no digits are outliers, whatever would make them likely, and count as 0.
        """
        far = np.abs(self.z[0]) > LAST_SCORE
        known = ~far | (self.share_of(far) > FEW)
        return self.total(np.where(known, np.where(np.isnan(logs), -np.inf, logs), 0.0))

    def share_of(self, some: BoolArray) -> float:
        """Share of the weight of some observations (n,); 0 where all are as certain as predicted, which have none."""
        total = float(self.weights.sum())
        return float(self.weights @ some) / total if total > 0.0 else 0.0
