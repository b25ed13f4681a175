"""Errors of many groups of rows: sums over their members with known moments, each in units of a normal deviate."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from caltest._basics.numerics import Array, FloatArray, never_falling, ranges
from caltest._basics.threads import threaded
from caltest._validation.groups import Groups
from caltest.predictions import Predictions, Sample
from caltest.predictions.faults.fault import cosines
from caltest.slices.errors import CountErrors, NumberErrors, is_of_counts, logits, normal_scores

NUMBERS = 2**23
"""Numbers of redraws that are held at a time, where these are fewer than are made together of small data."""

AT_ONCE = 64
"""Redraws whose sums are taken together."""


class StepDown(NamedTuple):
    """P-values (S,) of statistics as if there were no others, those adjusted for all, and maxima (B,) of redraws."""

    alone: FloatArray
    adjusted: FloatArray
    maxima: FloatArray


def adjusted_by_redraws(
    observed: FloatArray,
    redrawn: Callable[[np.random.Generator, int], FloatArray],
    n_resamples: int,
    seed: int,
    what: str,
    work: float,
    at_once: int = AT_ONCE,
) -> StepDown:
    """Compare statistics (S,) with redraws of them, (S, size) of each call, by the step-down maximum.

    From the largest observed statistic down, each is compared with the largest redrawn one of itself and those after
    it; adjusted p-values never fall (Westfall and Young 1993). Redraws depend on how many are made ``at_once``.
    """
    order = np.argsort(observed, kind="stable")
    least = (observed[order] - 1e-9)[:, None]  # What differs by less is equal.
    parts = list(ranges(n_resamples, at_once))
    streams = np.random.default_rng(seed).spawn(len(parts))

    def compared(i: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        values = redrawn(streams[i], parts[i].stop - parts[i].start)[order]
        own = np.count_nonzero(values >= least, axis=1)
        # In each redraw the largest of all that are not larger in the data, from the smallest up.
        largest = np.maximum.accumulate(values, axis=0)
        return own, np.count_nonzero(largest >= least, axis=1), largest[-1]

    counts, maxima = np.zeros((2, observed.size)), []
    for own, joint, most in threaded(compared, range(len(parts)), len(parts), what, work=work):
        counts += own, joint
        maxima.append(most)
    own, joint = (1.0 + counts) / (1.0 + n_resamples)
    return StepDown(own[np.argsort(order)], never_falling(joint[::-1], order[::-1]), np.concatenate(maxima))


CLASSES, WAVES = 20, 4
"""Classes whose frequencies are looked at, those that vary most, and cosines of the ranks of predictions."""

WEIGHT = 0.92
"""Of all statistics but the mean error, which more faults change."""

FLAT = 1e-9
"""Features whose variance in a group is a smaller part of their squares are constant there."""

SMALL, ALMOST_NONE = 1e-3, 1e-9
"""Root of the excess, and share of jumps in one direction, that are taken instead of smaller ones."""

IMPOSSIBLE = 1e6
"""Statistic of a group with an outcome that its prediction excludes."""


class Moments(NamedTuple):
    """Means (T, G) of features in groups, and second, third and fourth cumulants of the sums there."""

    centres: FloatArray
    second: FloatArray
    third: FloatArray
    fourth: FloatArray


@dataclass(frozen=True, eq=False)
class ScoreSums:
    """Sums over groups of scores s of mean 0: ``sum s``, and ``sum s (f - c)`` for features f, freed of the first.

    Of s the second, third and fourth cumulants (3, n) are known; ``c = sum v f / sum v`` with the second ones v.
    """

    score: Callable[[Array], FloatArray]
    """Scores (n, W) of outcomes (n, W)."""
    cumulants: FloatArray
    features: Sequence[FloatArray] = ()

    def moments(self, groups: Groups) -> Moments:
        """Of each sum in each group."""
        members, sizes = groups.lines
        starts = np.cumsum(sizes) - sizes
        v, third, fourth = self.cumulants[:, members]
        total = np.add.reduceat(v, starts)
        found: list[tuple[FloatArray, ...]] = []
        for feature in [np.ones(groups.n), *self.features]:
            f = feature[members]
            centre = np.divide(np.add.reduceat(v * f, starts), total, out=np.zeros_like(total), where=total > 0.0)
            d = f - np.repeat(centre, sizes) if found else f
            second = np.add.reduceat(v * d**2, starts)
            second[second <= FLAT * np.add.reduceat(v * f**2, starts)] = 0.0
            found.append(
                (centre, second, np.add.reduceat(third * d**3, starts), np.add.reduceat(fourth * d**4, starts))
            )
        return Moments(*np.stack(found, axis=1))

    def statistics(self, outcomes: Array, matrix: Any, moments: Moments) -> FloatArray:
        """Statistics (T, G, W), about standard normal."""
        scores = self.score(outcomes)
        first = matrix @ scores
        sums = [first]
        for feature, centre in zip(self.features, moments.centres[1:], strict=True):
            sums.append(matrix @ (scores * feature[:, None]) - centre[:, None] * first)
        return normal_deviates(np.stack(sums), *moments[1:])


def normal_deviates(sums: FloatArray, second: FloatArray, third: FloatArray, fourth: FloatArray) -> FloatArray:
    """Sums (..., W) of mean 0 and known cumulants (...) as about standard normal numbers, increasing in the sums.

    The signed root of the deviance of a law with the same cumulants: that of jumps of one size up or down, of which
    there are a Poisson number (Skellam 1946). Sums of few rare events are such jumps. With skewness g, excess k >= g^2,
    a share ``q = (1 + g / sqrt(k)) / 2`` of jumps up, ``b = 2 q - 1 + z sqrt(k)`` and the root x of
    ``q x^2 - b x = 1 - q`` it is ``2 z log(x) / sqrt(k) - 2 (q (x - 1 - log x) + (1 - q) (1 / x - 1 + log x)) / k``.
    Sums that do not vary are 0.
    """
    variance = second[..., None]
    deviation = np.sqrt(variance)

    def over(x: FloatArray, y: FloatArray) -> FloatArray:
        return np.asarray(np.divide(x, y, out=np.zeros_like(x), where=y > 0.0))

    # One after another: powers of small variances are 0.
    z, skewness = over(sums, deviation), over(over(third[..., None], variance), deviation)
    excess = over(over(fourth[..., None], variance), variance)
    root = np.sqrt(np.maximum(np.maximum(excess, skewness**2), SMALL**2))
    up = np.clip((1.0 + skewness / root) / 2.0, ALMOST_NONE, 1.0 - ALMOST_NONE)
    down = 1.0 - up
    b = up - down + z * root
    r = np.abs(b) + np.hypot(b, 2.0 * np.sqrt(up * down))
    x = np.where(b > 0.0, r / (2.0 * up), 2.0 * down / r)
    log = np.log(x)
    deviance = 2.0 * (z * log / root - (up * (x - 1.0 - log) + down * (1.0 / x - 1.0 + log)) / root**2)
    return np.asarray(np.sign(z) * np.sqrt(np.maximum(deviance, 0.0)))


def of_event(p: FloatArray, event: Array | int, *features: FloatArray) -> ScoreSums:
    """Sums of ``[event] - p``, of outcomes that are labels; the event is one class, or one for each row, (n,)."""
    wanted = event if isinstance(event, int) else event[:, None]
    v = p * (1.0 - p)
    cumulants = np.stack([v, v * (1.0 - 2.0 * p), v * (1.0 - 6.0 * v)])
    return ScoreSums(lambda labels: (labels == wanted) - p[:, None], cumulants, features)


def of_log_score(p: FloatArray) -> ScoreSums:
    """Sums of ``log p_y`` less its expectation."""
    log = np.log(np.where(p > 0.0, p, 1.0))
    scores = log - np.sum(p * log, axis=1, keepdims=True)
    second, third, fourth = (np.sum(p * scores**power, axis=1) for power in (2, 3, 4))
    cumulants = np.stack([second, third, fourth - 3.0 * second**2])
    return ScoreSums(lambda labels: np.take_along_axis(scores, labels, axis=1), cumulants)


class Found(NamedTuple):
    """Estimates, signed statistics, what is compared of them, and p-values alone and adjusted, (G,) each."""

    estimates: FloatArray
    scores: FloatArray
    sizes: FloatArray
    alone: FloatArray
    adjusted: FloatArray


@dataclass(frozen=True, eq=False)
class GroupSums:
    """Sums over groups of observed and redrawn outcomes of a sample; the largest statistic of each group counts."""

    parts: Sequence[ScoreSums]
    words: str
    """What is looked at, and what the estimate is."""
    observed: Array = field(repr=False)
    """Outcomes (n,): labels, or normal scores."""
    draw: Callable[[np.random.Generator, int], Array] = field(repr=False)
    """Redrawn outcomes (W, n)."""
    with_spread: bool = False
    """Whether outcomes are normal scores, whose spread is looked at too."""

    @classmethod
    def of(cls, sample: Sample, seed: int) -> "GroupSums":
        """Those of a family; ``TypeError`` for vectors and quantiles."""
        law = sample.predictions.law
        if (classes := law.of_classes) is not None:
            parts, words = _of_classes(classes.probabilities)
            return cls(parts, words, sample.targets, lambda generator, size: law.redraw(generator, size))
        if is_of_counts(law):
            return cls(*_of_counts(law), sample.targets, lambda generator, size: law.redraw(generator, size))
        z = normal_scores(sample, seed)
        cumulants = np.repeat([[1.0], [0.0], [0.0]], z.size, axis=1)
        means = ScoreSums(lambda some: some, cumulants, [*cosines(law.moments()[0], WAVES)])
        words = "sums of normal scores z of F(y), with cosines of the mean, and their spread; estimate: mean of z"
        return cls([means], words, z, lambda generator, size: generator.normal(size=(size, z.size)), True)

    def tested(self, groups: Groups, impossible: Array, n_resamples: int, seed: int) -> Found:
        """What is found in groups, some of which have impossible outcomes (n,)."""
        matrix, sizes = groups.matrix, groups.sizes.astype(np.float64)
        moments = [part.moments(groups) for part in self.parts]

        def statistics(outcomes: Array) -> FloatArray:
            found = [part.statistics(outcomes, matrix, some) for part, some in zip(self.parts, moments, strict=True)]
            if self.with_spread:
                z = outcomes
                found.append(NumberErrors.of_sums(np.stack([matrix @ z, matrix @ z**2]), sizes)[1:])
            return np.concatenate(found)

        def weighted(statistics: FloatArray) -> FloatArray:
            statistics[1:] *= WEIGHT
            return np.abs(statistics)

        def redrawn(generator: np.random.Generator, size: int) -> FloatArray:
            found = weighted(statistics(np.ascontiguousarray(self.draw(generator, size).T)))
            return np.asarray(found.max(axis=0))

        outcomes = self.observed[:, None]
        z = statistics(outcomes)[..., 0]
        large = weighted(z.copy())
        largest = np.where(matrix @ impossible > 0.0, IMPOSSIBLE, large.max(axis=0))
        work = float(n_resamples * matrix.nnz * len(z))
        at_once = min(AT_ONCE, NUMBERS // max(groups.n, len(z) * len(groups)))
        pvalues = adjusted_by_redraws(largest, redrawn, n_resamples, seed, "groups", work, at_once)
        means = (matrix @ self.parts[0].score(outcomes))[:, 0] / sizes
        scores = z[large.argmax(axis=0), np.arange(len(groups))]
        return Found(means, scores, largest, pvalues.alone, pvalues.adjusted)


def _of_counts(law: Predictions) -> tuple[list[ScoreSums], str]:
    """Sums of ``CountErrors``: their cumulants, the third and fourth of the second those of Poisson laws."""
    nothing = np.zeros(len(law))
    errors = CountErrors(*law.moments(), nothing, law, nothing)
    v, d = errors.v, errors.d
    _, w, second = errors.fixed()
    of_factor = np.stack([w, w * (2.0 - 1.0 / d), v * (1.0 + 6.0 * d * (d - 1.0)) / d**4])
    of_dispersion = second * np.stack([np.ones_like(w), 2.0 + 4.0 * w, 4.0 + 72.0 * w + 24.0 * w**2])
    words = "sums of (y - m) m / v, alone and with cosines of the mean m, and of dispersions; estimate: their mean"
    features = [*cosines(errors.means, WAVES)]
    return [ScoreSums(errors.factor, of_factor, features), ScoreSums(errors.dispersion, of_dispersion)], words


def _of_classes(p: FloatArray) -> tuple[list[ScoreSums], str]:
    if p.shape[1] == 2:
        features = logits(p[:, 1]), *cosines(p[:, 1], WAVES)
        words = "sums of y - p, alone and with logits and cosines of p; estimate: mean of y - p"
        return [of_event(p[:, 1], 1, *features)], words
    frequent = np.argsort(-np.sum(p * (1.0 - p), axis=0), kind="stable")[:CLASSES]
    top = of_event(p.max(axis=1), p.argmax(axis=1))
    words = "sums of errors of the top label, log loss, class frequencies; estimate: mean hit - confidence"
    return [top, of_log_score(p), *(of_event(p[:, c], int(c)) for c in frequent)], words
