"""How predictions can be wrong in a slice, as statistics of sums over its rows.

Errors are numbers of rows, observed and redrawn, whose sums over slices tell how wrong predictions are. Statistics
(C, S, W) are functions of sums (T, S, W) of T numbers, of about mean 0 and variance 1 in each of S slices, and of sums
(F, S) of numbers that are fixed; positive and negative values of each mean one of two directions.
"""

from typing import NamedTuple

import numpy as np
import scipy

from caltest._basics.numerics import Array, BoolArray, FloatArray, generator_apart
from caltest._laws import clopper_pearson
from caltest._results.measures import POINTS
from caltest._results.values import CLOPPER_PEARSON, ConfidenceInterval
from caltest.predictions import Predictions, Sample
from caltest.predictions.reductions.residuals import pit_values

FEW_MEMBERS = 6
"""Members and outcome, of which errors have no variance that can be relied on."""

FEWEST_ROWS, FEWEST_SPREAD, FLAT = 10, 1.0, 1e-9
"""Rows, and the variance of the second statistic, from which on a slice takes part."""


def logits(p: FloatArray) -> FloatArray:
    """Of probabilities, 0 of those that are 0 or 1."""
    return np.asarray(scipy.special.logit(np.where(p * (1.0 - p) > 0.0, p, 0.5)))


SHARE = "share"
SIDE = "share on the side of the claim"
ABOVE = "share above the predicted median"
CENTRAL = "share within one standard deviation"
"""Units of what is shown."""


class Shown(NamedTuple):
    """What is claimed and observed, with an interval for the difference, and in which unit; the size of the error."""

    claimed: float
    observed: float
    interval: ConfidenceInterval
    unit: str
    size: float | None = None

    @classmethod
    def of_shares(cls, claimed: float, occurred: Array, level: float, unit: str, size: float | None = None) -> "Shown":
        """An event (n,) of independent probabilities with the mean that is claimed, if predictions are right.

        The interval of Clopper and Pearson holds for the mean of any probabilities: tails of sums of unequal Bernoulli
        outcomes are inside binomial ones (Hoeffding 1956).
        """
        observed = float(occurred.mean())
        low, high = clopper_pearson(int(occurred.sum()), occurred.size, level)
        interval = ConfidenceInterval(low - claimed, high - claimed, level, CLOPPER_PEARSON, observed - claimed)
        return cls(claimed, observed, interval, unit, size)


STEPS, RIDGE = 25, 1e-6
"""Steps of Newton's method, and what keeps slices of equal outcomes from having infinite logits."""


class BinaryErrors:
    """Of probabilities p of an event: ``sum r / sqrt(sum v)``, and the excess of the log loss, freed of the first.

    With ``r = y - p``, ``v = p (1 - p)``, ``l = logit p`` and ``c = sum v l / sum v`` the second is
    ``sum r (l - c) / sqrt(sum v (l - c)**2)``, not correlated with the first; negative where predictions are too sure.
    """

    directions = (("claims too low", "claims too high"), ("claims not sure enough", "claims too sure"))
    unit = POINTS

    def __init__(self, p: FloatArray, y: FloatArray) -> None:
        self.p, self.y = p, y
        self.v = p * (1.0 - p)
        self.logit = logits(p)

    def _numbers(self, y: FloatArray) -> FloatArray:
        r = y - self.p[:, None]
        return np.stack([r, r * self.logit[:, None]])

    def observed(self) -> FloatArray:
        """Numbers (T, n, 1)."""
        return self._numbers(self.y[:, None])

    def redrawn(self, generator: np.random.Generator, size: int) -> FloatArray:
        """The same of redrawn outcomes, (T, n, size)."""
        return self._numbers((self.p[:, None] > generator.random((size, self.p.size)).T).astype(np.float64))

    def fixed(self) -> FloatArray:
        """Numbers (F, n) of predictions alone."""
        return np.stack([np.ones_like(self.p), self.v, self.v * self.logit, self.v * self.logit**2])

    def take_part(self, fixed: FloatArray, min_variance: float) -> BoolArray:
        """Which statistics of which slices, (C, S), are looked at; no outcome decides."""
        n, v, _, squares = fixed
        first = (n >= FEWEST_ROWS) & (v >= min_variance)
        spread = self._spread(fixed)
        return np.stack([first, first & (spread >= FEWEST_SPREAD) & (spread > FLAT * squares)])

    def standard_errors(self, fixed: FloatArray) -> FloatArray:
        """By how much all rows of each slice are off where the mean of the first statistic is 1, (S,)."""
        return np.asarray(100.0 * np.sqrt(fixed[1]) / fixed[0])

    def _spread(self, fixed: FloatArray) -> FloatArray:
        """``sum v (l - c)**2``."""
        _, v, means, squares = fixed
        return np.asarray(squares - means**2 / np.where(v > 0.0, v, 1.0))

    def statistics(self, sums: FloatArray, fixed: FloatArray) -> FloatArray:
        """Statistics (C, S, W)."""
        _, v, means, _ = (one[:, None] for one in fixed)
        r, rl = sums
        spread = self._spread(fixed)[:, None]
        v = np.where(v > 0.0, v, 1.0)
        first = r / np.sqrt(v)
        return np.stack([first, (rl - means / v * r) / np.sqrt(np.where(spread > 0.0, spread, np.inf))])

    def shown(self, rows: BoolArray, channel: int, level: float) -> Shown:
        """How often the event is claimed and occurs; of sureness how often outcomes are on the side of the claim.

        That is the event where l > c, and no event elsewhere.
        """
        p, y, v, logit = self.p[rows], self.y[rows], self.v[rows], self.logit[rows]
        if channel == 0:
            return Shown.of_shares(float(p.mean()), y, level, SHARE)
        above = np.where(v > 0.0, logit * v.sum() > v @ logit, p > 0.5)
        return Shown.of_shares(float(np.where(above, p, 1.0 - p).mean()), np.where(above, y, 1.0 - y), level, SIDE)

    def without(self, rows: BoolArray, channel: int) -> "BinaryErrors":
        """The same with logits ``a + b l`` of largest likelihood in these rows, with slope 1 for a wrong mean."""
        return self.changed(rows, self.best_change(rows, channel))

    def losses(self) -> FloatArray:
        """Log losses (n,)."""
        return np.asarray(-scipy.special.xlogy(self.y, self.p) - scipy.special.xlog1py(1.0 - self.y, -self.p))

    def best_change(self, rows: BoolArray, channel: int, ridge: float = RIDGE) -> FloatArray:
        """What to add to the logits l in some rows, ``a + b l``, with b = 0 for a wrong mean.

        It maximises the likelihood less ``ridge (a**2 + b**2) / 2``: with the ridge the change of few rows is small.
        """
        some = rows & (self.v > 0.0)
        logit, y = self.logit[some], self.y[some]
        design = np.stack([np.ones_like(logit), logit])[: 1 + channel]
        change = np.zeros(1 + channel)
        for _ in range(STEPS):
            q = scipy.special.expit(logit + change @ design)
            information = (design * (q * (1.0 - q))) @ design.T + ridge * np.eye(1 + channel)
            change += np.clip(np.linalg.solve(information, design @ (y - q) - ridge * change), -2.0, 2.0)
        return np.append(change, np.zeros(1 - channel))

    def changed(self, rows: BoolArray, change: FloatArray) -> "BinaryErrors":
        """The same outcomes for predictions whose logits are changed by ``a + b l`` in some rows."""
        some = rows & (self.v > 0.0)
        p = self.p.copy()
        p[some] = scipy.special.expit(self.logit[some] + change[0] + change[1] * self.logit[some])
        return BinaryErrors(p, self.y)


class NumberErrors:
    """Of standard scores z: their mean, and their spread by the transformation of Wilson and Hilferty (1931).

    The first is ``sum z / sqrt(n)``. With ``m = n - 1`` and the variance q of the scores the second is
    ``(q**(1/3) - 1 + 2 / (9 m)) / sqrt(2 / (9 m))``.
    """

    directions = (
        ("outcomes above what is predicted", "outcomes below what is predicted"),
        ("errors larger than predicted", "errors smaller than predicted"),
    )
    unit = "predicted standard deviations"

    def __init__(self, z: FloatArray, in_units: FloatArray | None = None) -> None:
        """Scores, and errors in predicted standard deviations, which are shown, if these are others."""
        self.z, self.in_units = z, z if in_units is None else in_units

    def observed(self) -> FloatArray:
        """Numbers (T, n, 1)."""
        return np.stack([self.z, self.z**2])[..., None]

    def redrawn(self, generator: np.random.Generator, size: int) -> FloatArray:
        """The same of redrawn scores, (T, n, size)."""
        z = generator.normal(size=(size, self.z.size)).T
        return np.stack([z, z**2])

    def fixed(self) -> FloatArray:
        """Numbers (F, n) of predictions alone."""
        return np.ones((1, self.z.size))

    def take_part(self, fixed: FloatArray, min_variance: float) -> BoolArray:
        """Which statistics of which slices, (C, S), are looked at."""
        enough = fixed[0] >= max(FEWEST_ROWS, min_variance)
        return np.stack([enough, enough])

    def standard_errors(self, fixed: FloatArray) -> FloatArray:
        """By how much all rows of each slice are off where the mean of the first statistic is 1, (S,)."""
        return np.asarray(1.0 / np.sqrt(fixed[0]))

    def statistics(self, sums: FloatArray, fixed: FloatArray) -> FloatArray:
        """Statistics (C, S, W)."""
        return self.of_sums(sums, fixed[0])

    @staticmethod
    def of_sums(sums: FloatArray, sizes: FloatArray) -> FloatArray:
        """Statistics (2, S, W) of sums (2, S, W) of scores and their squares over sizes (S,) of slices."""
        n = np.maximum(sizes, 2.0)[:, None]
        total, squares = sums
        m = n - 1.0
        q = np.maximum(squares - total**2 / n, 0.0) / m
        return np.stack([total / np.sqrt(n), (np.cbrt(q) - 1.0 + 2.0 / (9.0 * m)) / np.sqrt(2.0 / (9.0 * m))])

    def shown(self, rows: BoolArray, channel: int, level: float) -> Shown:
        """How often scores are above 0, or of spreads between -1 and 1, with their mean or standard deviation.

        Neither of these has an interval that holds whatever the law of errors is.
        """
        z, some = self.z[rows], self.in_units[rows]
        if channel:
            # No other central interval depends more on the scale of normal scores.
            within = 2.0 * float(scipy.special.ndtr(1.0)) - 1.0
            return Shown.of_shares(within, np.abs(z) <= 1.0, level, CENTRAL, float(some.std(ddof=1)))
        return Shown.of_shares(0.5, z > 0.0, level, ABOVE, float(some.mean()))

    def without(self, rows: BoolArray, channel: int) -> "NumberErrors":
        """Scores less their mean in these rows, and in units of their standard deviation for a wrong spread."""
        z = self.z.copy()
        some = z[rows]
        z[rows] = (some - some.mean()) / (some.std(ddof=1) if channel else 1.0)
        return NumberErrors(z, self.in_units)


class CountErrors(NumberErrors):
    """Of counts y with means m, variances v and d = v / m: sums of ``r = y - m`` and of what they vary too much.

    The first is ``sum r / d / sqrt(sum v / d**2)``, the score of a common factor of the rates, with
    ``u = r**2 - v - (2 d - 1) r`` the second ``sum u / d**2 / sqrt(sum var(u) / d**4)``, the score of a common
    dispersion: ``var(u) = 2 v**2 + 2 v d (d - 1)``, and u is not correlated with r, for Poisson and negative binomial
    laws. Normal scores, which are drawn within the probability of each count, hardly know rare ones.
    """

    unit = "% of the predicted rates"

    def __init__(
        self, means: FloatArray, variances: FloatArray, counts: Array, law: Predictions, z: FloatArray
    ) -> None:
        self.means, self.v, self.counts, self.law = means, variances, counts, law
        some = variances > 0.0
        self.d = np.divide(variances, means, out=np.ones_like(means), where=some)
        deviation = np.sqrt(np.where(some, variances, 1.0))
        super().__init__(z, (counts - means) / deviation)

    def factor(self, counts: Array) -> FloatArray:
        """The number of the first sum, of counts (n, W)."""
        return np.where(self.v[:, None] > 0.0, counts - self.means[:, None], 0.0) / self.d[:, None]

    def dispersion(self, counts: Array) -> FloatArray:
        """The number of the second sum, of counts (n, W)."""
        v, d = self.v[:, None], self.d[:, None]
        r = self.factor(counts) * d
        return np.asarray((r**2 - v - (2.0 * d - 1.0) * r) / d**2)

    def _numbers(self, counts: Array) -> FloatArray:
        return np.stack([self.factor(counts), self.dispersion(counts)])

    def observed(self) -> FloatArray:
        return self._numbers(self.counts[:, None])

    def redrawn(self, generator: np.random.Generator, size: int) -> FloatArray:
        return self._numbers(self.law.redraw(generator, size).T)

    def fixed(self) -> FloatArray:
        v, d = self.v, self.d
        return np.stack([np.ones_like(v), v / d**2, (2.0 * v**2 + 2.0 * v * d * (d - 1.0)) / d**4])

    def take_part(self, fixed: FloatArray, min_variance: float) -> BoolArray:
        n, first, second = fixed
        enough = n >= FEWEST_ROWS
        return np.stack([enough & (first >= min_variance), enough & (second >= 2.0 * min_variance)])

    def standard_errors(self, fixed: FloatArray) -> FloatArray:
        return np.asarray(100.0 / np.sqrt(fixed[1]))

    def statistics(self, sums: FloatArray, fixed: FloatArray) -> FloatArray:
        return np.asarray(sums / np.sqrt(np.where(fixed[1:] > 0.0, fixed[1:], np.inf))[..., None])

    def shown(self, rows: BoolArray, channel: int, level: float) -> Shown:
        """How often counts are above the predicted median, and how probable that is; of spreads as for numbers."""
        if channel:
            return super().shown(rows, channel, level)
        some = self.law.take(np.flatnonzero(rows))
        median = some.quantile(0.5)
        claimed = 1.0 - float(np.mean(some.cdf(median)))
        return Shown.of_shares(claimed, self.counts[rows] > median, level, ABOVE, float(self.in_units[rows].mean()))

    def without(self, rows: BoolArray, channel: int) -> "CountErrors":
        """Rates times their common factor in these rows, and variances times theirs for a wrong spread."""
        means, variances, some = self.means.copy(), self.v.copy(), rows & (self.v > 0.0)
        r, d = self.counts[some] - means[some], self.d[some]
        if channel:
            variances[some] *= float(r @ (r / d**2)) / float(np.sum(variances[some] / d**2))
        else:
            means[some] *= float(np.sum(self.counts[some] / d)) / float(np.sum(means[some] / d))
            variances[some] = means[some] * (1.0 + (d - 1.0) * means[some] / self.means[some])
        return CountErrors(means, variances, self.counts, self.law, self.z)


Errors = BinaryErrors | NumberErrors


def is_of_counts(law: Predictions) -> bool:
    """Whether outcomes are counts, of which there is no largest."""
    return law.discrete and law.finite is None


def errors_of(sample: Sample, seed: int) -> tuple[Errors, str]:
    """The errors of predictions of a family, and of what event probabilities are, in words; ``TypeError`` for vectors.

    Of several classes the event is that the most probable class is right; scores of ensembles are drawn.
    """
    law = sample.predictions.law
    if law.of_classes is not None:
        p = law.to_array()
        if p.ndim == 1:
            return BinaryErrors(p, (sample.targets == 1).astype(np.float64)), law.outcome_in_words(1)
        right = np.asarray(law.hits(sample.targets), dtype=np.float64)
        return BinaryErrors(p.max(axis=1), right), "the predicted class is right"
    scores = normal_scores(sample, seed)
    if is_of_counts(law):
        return CountErrors(*law.moments(), sample.targets, law, scores), ""
    return NumberErrors(scores, _of_members(law, sample.targets)), ""


def _of_members(law: Predictions, targets: Array) -> FloatArray | None:
    """Errors in standard deviations that ensembles predict for them; None for others and less than six members.

    The ranks of outcomes do not say how far they are from all members. Of m members with mean M and standard deviation
    S the error ``(y - M) / (S sqrt(1 + 1/m))`` of a normal outcome has Student's law of m - 1 degrees of freedom.
    """
    if law.pool_size is None or law.pool_size <= FEW_MEMBERS:
        return None
    m = law.pool_size - 1.0
    return np.asarray(law.pool_residuals(targets) * np.sqrt((m - 3.0) / (m - 1.0)))


def are_between_quantiles(sample: Sample) -> bool:
    """Whether outcomes are only known to be in intervals, which are as probable in all rows."""
    finite = sample.predictions.law.finite
    return finite is not None and not finite.probabilities_differ


def normal_scores(sample: Sample, seed: int) -> FloatArray:
    """``Phi^-1(F(y))`` (n,), drawn where F jumps, and between quantiles; ``TypeError`` for vectors."""
    rng, finite = generator_apart(seed), sample.predictions.law.finite
    if finite is not None and are_between_quantiles(sample):
        shares = finite.take(slice(0, 1)).probabilities[0]
        u = np.append(0.0, shares.cumsum())[sample.targets] + shares[sample.targets] * rng.random(len(sample))
    else:
        _, u = pit_values(sample.predictions.law, sample.targets, rng=rng)
    return np.asarray(np.clip(scipy.special.ndtri(u), -FARTHEST, FARTHEST))


FARTHEST = 38.0
"""Scores beyond this are taken as this."""
