"""Parts of scores of predictions, and their intervals."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import ceil, sqrt
from typing import ClassVar, NamedTuple, Self

import numpy as np
import scipy

from caltest._basics.numerics import Array, FloatArray, IntArray, generator_apart, normalised, ranges
from caltest._loops.pair_sums.redraws import gathered_sums
from caltest._loops.statistics.binned import class_counts, pooled_means
from caltest._results.tables import Bar, Grid, Page, Table, decimals, in_decimals
from caltest._results.values import ConfidenceInterval, Stored
from caltest.binning import Binning
from caltest.estimators.binned_errors.ece import bins_of
from caltest.estimators.classical.corp import IsotonicGroups
from caltest.predictions import Bernoulli, Categorical
from caltest.predictions.classes.finite import FinitePredictions, Score, outcome_scores

PARTS = ("score", "miscalibration", "discrimination", "uncertainty")


@dataclass(frozen=True, eq=False)
class Parts:
    """Score, miscalibration, discrimination and uncertainty of n predictions of k classes.

    The mean score of frequencies f is their entropy H(f), and so is that of recalibrated predictions within the groups
    that have one. All parts are hence functions of the scores of the predictions and of class counts in groups, and
    what they are for outcomes they are for expected counts.

    ``scores`` (n, k) are those of each outcome by the ``probabilities`` of the predictions. Each is in a group of
    ``numbers`` (n,); groups of ``sizes`` (g,) are equal predictions in ascending order, whose frequencies are made
    increasing, if ``is_isotonic``. The ``scale`` of all parts is 1/2 for the Brier score of binary predictions.
    """

    probabilities: FloatArray
    scores: FloatArray
    score: Score
    numbers: IntArray
    sizes: FloatArray
    is_isotonic: bool
    scale: float

    @classmethod
    def of(cls, law: FinitePredictions, score: Score, binning: Binning | None) -> Self:
        """Parts by isotonic regression, or by bins if there is a binning."""
        p = law.probabilities
        if binning is None:
            numbers = IsotonicGroups.of(p[:, 1]).numbers
        else:
            numbers = np.unique(bins_of(law, binning).numbers, return_inverse=True)[1]
        scale = law.brier_factor if score == "brier" else 1.0
        sizes = np.bincount(numbers).astype(np.float64)
        return cls(p, outcome_scores(p, score), score, numbers, sizes, binning is None, scale)

    @property
    def n_classes(self) -> int:
        """Number k of classes."""
        return int(self.probabilities.shape[1])

    @property
    def possible(self) -> Array:
        """Which outcomes (n, k) can occur: all, but for the log loss none of predicted probability 0."""
        return np.ones_like(self.probabilities, dtype=bool) if self.score == "brier" else self.probabilities > 0.0

    def allowed(self, law: FloatArray) -> FloatArray:
        """A law (n, k) without impossible outcomes."""
        if self.possible.all():
            return law
        masked = np.where(self.possible, law, 0.0)
        totals = masked.sum(axis=1, keepdims=True)
        return np.asarray(np.divide(masked, totals, out=self.probabilities.copy(), where=totals > 0.0))

    def mean_scores(self, labels: Array) -> FloatArray:
        """The mean scores (B,) of labels (B, n)."""
        return np.asarray(self.scale * gathered_sums(self.scores, labels) / len(self.probabilities))

    def of_labels(self, labels: Array) -> FloatArray:
        """The parts (4, B) of labels (B, n)."""
        counts = class_counts(labels, self.numbers, self.sizes.size, self.n_classes)
        return self._from(gathered_sums(self.scores, labels), counts)

    def of_law(self, law: FloatArray) -> FloatArray:
        """The parts (4,) of expected counts, if outcomes have the probabilities (n, k)."""
        return self._from(np.array([np.sum(law * self.scores)]), self.expected_counts(law)[None])[:, 0]

    def expected_counts(self, law: FloatArray) -> FloatArray:
        """Sums (g, k) of probabilities (n, k) in each group."""
        return np.stack([np.bincount(self.numbers, column, self.sizes.size) for column in law.T], axis=1)

    def recalibrated(self, counts: FloatArray) -> FloatArray:
        """Probabilities (B, g, k) of the groups, for class counts (B, g, k)."""
        if not self.is_isotonic:
            return np.asarray(counts / self.sizes[:, None])
        fitted = pooled_means(np.ascontiguousarray(counts[:, :, 1]), self.sizes)
        return np.stack([1.0 - fitted, fitted], axis=2)

    def smoothed(self, counts: FloatArray) -> FloatArray:
        """Recalibrated probabilities (g, k) to redraw outcomes from, for class counts (g, k).

        One observation of every class is added to each bin, as outcomes that agree have no variance to be seen. Those
        of isotonic regression are bins of sqrt(n) neighbours or more, whose frequencies are made increasing: blocks
        at the ends of the usual regression are short and follow the noise.
        """
        if not self.is_isotonic:
            return np.asarray((counts + 1.0) / (self.sizes[:, None] + self.n_classes))
        before = np.cumsum(self.sizes) - self.sizes
        blocks = np.unique(before // ceil(sqrt(self.sizes.sum())), return_inverse=True)[1]
        totals = 1.0 + np.stack([np.bincount(blocks, column) for column in counts.T], axis=1)
        fitted = pooled_means(np.ascontiguousarray(totals[None, :, 1]), totals.sum(axis=1))[0][blocks]
        return np.stack([1.0 - fitted, fitted], axis=1)

    def entropy(self, f: FloatArray) -> FloatArray:
        """Mean score (...,) of frequencies (..., k) as predictions of themselves."""
        if self.score == "brier":
            return np.asarray(1.0 - np.einsum("...k,...k->...", f, f))
        return np.asarray(np.einsum("...k->...", scipy.special.entr(f)))

    def _from(self, totals: FloatArray, counts: FloatArray) -> FloatArray:
        """The parts (4, B) of sums of scores (B,) and class counts (B, g, k)."""
        n = len(self.probabilities)
        own, climate = totals / n, self.entropy(np.einsum("bgk->bk", counts) / n)
        best = np.minimum(self.entropy(self.recalibrated(counts)) @ self.sizes / n, climate)
        if self.is_isotonic:
            best = np.minimum(best, own)
        return self.scale * np.stack([own, own - best, climate - best, climate])


class WithIntervals(Stored):
    """Some numbers; and, if they were asked for, an interval for each, and its mean if predictions are calibrated."""

    _names: ClassVar[tuple[str, ...]]
    """Fields with the numbers, some of which can be None."""
    intervals: Mapping[str, ConfidenceInterval] | None
    calibrated: Mapping[str, float | None] | None

    picture = "forest"

    @property
    @abstractmethod
    def _words(self) -> tuple[str, str]:
        """The title of the report, and what is on the axis of a picture."""

    def bars(self) -> list[Bar]:
        intervals, means, words = self.intervals or {}, self.calibrated or {}, ("mean if calibrated", self._words[1])
        return [
            Bar(name, value, intervals.get(name), means.get(name), *words, stands_out=False, part=True)
            for name in self._names
            if (value := getattr(self, name)) is not None
        ]

    def table(self) -> Table:
        observed = [getattr(self, name) for name in self._names]
        digits = decimals(observed)
        rows = [list(row) for row in zip(self._names, in_decimals(observed, "none"), strict=True)]
        if self.intervals is None or self.calibrated is None:
            return [["", "observed"], *rows]
        for name, row in zip(self._names, rows, strict=True):
            one = self.intervals[name]
            numbers = one.estimate, *one.ends, self.calibrated[name]
            estimate, low, high, mean = in_decimals(numbers, "none", digits)
            row += [estimate, f"[{low}, {high}]", mean]
        level = f"{100.0 * one.confidence_level:g} % interval"
        return [["", "observed", "estimate", level, "if calibrated"], *rows]

    def summary(self) -> str:
        return Page(self._words[0], Grid(self.table()))


COARSE = (0.0, 0.1, 0.25, 0.5, 1.0)
"""Places on each line where outcomes are redrawn."""

ROUNDS = 2
"""How often they are redrawn at the ends found so far."""

HALVINGS = 8
"""How often a step is halved in which an end lies that interpolation does not see."""

FEW = 10
"""Occurrences of a class below which estimates jump with each of them."""

FINE = 33
"""Places on each line at which the quantity is computed."""

TOLERANCE = 1e-10
"""Of ties between the estimate and redraws."""


Line = tuple[FloatArray, ...]
"""Lines between arrays of probabilities of one shape, one after the other; place t + u is u from corner t."""


def law_at(line: Line, place: float) -> FloatArray:
    """The probabilities at a place."""
    t = min(int(place), len(line) - 2)
    return np.asarray(line[t] + (place - t) * (line[t + 1] - line[t]))


class Ends(NamedTuple):
    """Ends of an interval, and the value of which redraws are as often above the estimate as below."""

    low: float
    high: float
    middle: float


def inverted(
    line: Line,
    value: Callable[[FloatArray], float],
    draws: Callable[[FloatArray], FloatArray],
    estimate: float,
    level: float,
    few: bool = False,
) -> Ends:
    """The values on a line along which a quantity grows that two-sided tests with this estimate do not reject.

    ``draws(law)`` are estimates from outcomes redrawn from the law of a place, where the quantity is ``value(law)``.
    How far their quantiles are from it is interpolated between the places at which they were redrawn, which come to
    include the ends. Where many redraws equal the estimate, as those of rare events of which none occurred, or a few
    events move it, quantiles jump somewhere between two places: that step is halved, and the end is the outer one of
    the two. An estimate that is smaller than chance gives at the start of the line counts as the median there, as else
    it would reject all values, and one that is larger than at its end likewise.
    """
    steps = range(len(line) - 1)
    fine = np.unique(np.concatenate([t + np.linspace(0.0, 1.0, FINE) for t in steps]))
    values = np.array([value(law_at(line, t)) for t in fine])
    found: dict[float, FloatArray] = {}
    quantiles: dict[float, FloatArray] = {}

    def redraw(place: float) -> FloatArray:
        if place not in found:
            redrawn = draws(law := law_at(line, place))
            # Ends that are draws, none of them inside the one asked for.
            low = np.quantile(redrawn, (1.0 - level) / 2.0, method="lower")
            high = np.quantile(redrawn, (1.0 + level) / 2.0, method="higher")
            quantiles[place] = np.array([low, np.median(redrawn), high])
            found[place] = quantiles[place] - value(law)
        return found[place]

    largest = max(estimate, values[0] + redraw(0.0)[1])
    for place in (t + step for t in steps for step in COARSE):
        if values[fine <= place].max() + redraw(place)[0] > largest + TOLERANCE:
            break
    smallest = min(estimate, values[-1] + found[fine[-1]][1]) if fine[-1] in found else estimate
    wanted = smallest, estimate, largest
    low, middle, high = _places(fine, values, found, wanted)
    for _ in range(ROUNDS):
        for place in (low, middle, high):
            redraw(place)
        low, middle, high = _places(fine, values, found, wanted)
    for _ in range(HALVINGS):
        for outer, inner in _jumps(quantiles, smallest, largest, few):
            redraw((outer + inner) / 2.0)
    outside = [outer for outer, _ in _jumps(quantiles, smallest, largest, few)]
    low, high = min([low, *outside]), max([high, *outside])
    inside = np.interp([low, high, middle, *fine[(fine > low) & (fine < high)]], fine, values)
    return Ends(float(inside.min()), float(inside.max()), float(inside[2]))


def _places(
    fine: FloatArray, values: FloatArray, found: dict[float, FloatArray], wanted: tuple[float, float, float]
) -> tuple[float, float, float]:
    """The first place of which redraws reach up to an estimate, one of which it is the median, and the last."""
    smallest, estimate, largest = wanted
    places = np.array(sorted(found))
    reached = fine[fine <= places[-1]]
    below, median, above = (np.interp(reached, places, [found[t][side] for t in places]) for side in range(3))
    at = values[: reached.size]
    first = _crossing(reached, at + above - smallest + TOLERANCE)
    last = -_crossing(-reached[::-1], (largest + TOLERANCE - at - below)[::-1])
    last = max(first, last)
    return first, min(last, max(first, _crossing(reached, at + median - estimate))), last


def _jumps(quantiles: dict[float, FloatArray], smallest: float, largest: float, few: bool) -> list[tuple[float, float]]:
    """The last place that an end rejects and the first one that it does not, if a quantile jumps in between."""
    found, places = [], sorted(quantiles)
    for order, beyond in (
        (places, [smallest - quantiles[t][2] for t in places]),
        (places[::-1], [quantiles[t][0] - largest for t in reversed(places)]),
    ):
        i = int(np.argmin(np.array(beyond) > TOLERANCE))
        if i and (few or beyond[i] >= -TOLERANCE):
            found.append((order[i - 1], order[i]))
    return found


def _crossing(places: FloatArray, margins: FloatArray) -> float:
    """The first place at which a margin is not negative; the last place if there is none."""
    enough = np.flatnonzero(margins >= 0.0)
    i = int(enough[0]) if enough.size else places.size - 1
    if i == 0 or not enough.size:
        return float(places[i])
    return float(places[i - 1] + (places[i] - places[i - 1]) * margins[i - 1] / (margins[i - 1] - margins[i]))


AT_ONCE = 2**20
"""Class counts of redraws that are kept together."""


def intervals_of(
    parts: Parts, labels: Array, level: float, n_resamples: int, seed: int
) -> dict[str, ConfidenceInterval]:
    """An interval for each part."""
    estimates = parts.of_labels(labels[None])[:, 0]
    counts = parts.expected_counts(np.eye(parts.n_classes)[labels])
    fitted = parts.smoothed(counts)[parts.numbers]
    lines = [[line(parts, fitted)] for line in (score_line, miscalibration_line, discrimination_line)]
    # Frequencies of few events, and of bins of one observation, say little; predictions are the other guess of the law.
    lines[2].append(discrimination_line(parts, parts.probabilities))
    few = float(counts.sum(axis=0).min()) < FEW
    found: dict[str, Ends] = {}
    for index, some in enumerate(lines):
        value, draws = _functions(parts, index, n_resamples, seed)
        ends = [inverted(line, value, draws, float(estimates[index]), level, few) for line in some]
        found[PARTS[index]] = Ends(min(one.low for one in ends), max(one.high for one in ends), ends[0].middle)
    found["uncertainty"] = _uncertainty(parts, counts.sum(axis=0) / len(labels), level, n_resamples, seed, few)
    how = level, "Monte Carlo tests along a line"
    return {part: ConfidenceInterval(one.low, one.high, *how, one.middle) for part, one in found.items()}


def calibrated_means(parts: Parts, n_resamples: int, seed: int) -> dict[str, float]:
    """Mean of each part over redraws of the outcomes from the predictions."""
    redraws = _redraws(parts, parts.probabilities, n_resamples, seed)
    means = sum(parts.of_labels(labels).sum(axis=1) for labels in redraws) / n_resamples
    return dict(zip(PARTS, map(float, np.asarray(means)), strict=True))


def score_line(parts: Parts, fitted: FloatArray) -> Line:
    """From the labels of the smallest scores by the recalibrated predictions to the labels of the largest."""
    possible = parts.possible
    best = np.argmin(np.where(possible, parts.scores, np.inf), axis=1)
    worst = np.argmax(np.where(possible, parts.scores, -np.inf), axis=1)
    eye = np.eye(parts.n_classes)
    return eye[best], parts.allowed(fitted), eye[worst]


def miscalibration_line(parts: Parts, fitted: FloatArray) -> Line:
    """From the predictions by the recalibrated ones to the labels for which recalibration gains most.

    Bins ignore what varies within, so that predictions can have more miscalibration than other laws: the line starts
    where there is least on the way to the labels for which bins lose most. It goes through predictions that are moved
    as far as the mean of their bin is, which vary within bins as predictions do.
    """
    p = parts.probabilities
    if parts.is_isotonic:
        return p, parts.allowed(fitted), _most_gained(parts, p, fitted)
    means = (parts.expected_counts(p) / parts.sizes[:, None])[parts.numbers]
    fitted = normalised(np.maximum(p + fitted - means, 0.0))
    away = p, _most_gained(parts, means, p)
    places = np.linspace(0.0, 1.0, FINE)
    least = places[np.argmin([parts.of_law(law_at(away, place))[1] for place in places])]
    return law_at(away, least), p, parts.allowed(fitted), _most_gained(parts, p, fitted)


def discrimination_line(parts: Parts, fitted: FloatArray) -> Line:
    """From the class frequencies by the recalibrated predictions to the labels for which these gain most."""
    frequencies = np.broadcast_to(fitted.mean(axis=0), fitted.shape)
    return parts.allowed(frequencies), parts.allowed(fitted), _most_gained(parts, frequencies, fitted)


def _most_gained(parts: Parts, base: FloatArray, better: FloatArray) -> FloatArray:
    """One-hot labels (n, k) whose score is most above that by a better law; of equal laws the least likely."""
    own = outcome_scores(base, parts.score)
    gains = own - outcome_scores(better, parts.score)
    same = np.abs(gains).max(axis=1, keepdims=True) <= 1e-12
    gains = np.where(parts.possible, np.where(same, own, gains), -np.inf)
    return np.asarray(np.eye(parts.n_classes)[np.argmax(gains, axis=1)])


def _functions(
    parts: Parts, index: int, n_resamples: int, seed: int
) -> tuple[Callable[[FloatArray], float], Callable[[FloatArray], FloatArray]]:
    """A part by a law, and its redraws."""

    def value(law: FloatArray) -> float:
        return float(parts.of_law(law)[index])

    def draws(law: FloatArray) -> FloatArray:
        redraws = _redraws(parts, law, n_resamples, seed)
        if PARTS[index] == "score":
            return np.concatenate([parts.mean_scores(labels) for labels in redraws])
        return np.concatenate([parts.of_labels(labels)[index] for labels in redraws])

    return value, draws


def _redraws(parts: Parts, law: FloatArray, n_resamples: int, seed: int) -> Iterator[Array]:
    """Labels (b, n) drawn from a law (n, k), with the same random numbers for every law, in parts."""
    rng = generator_apart(seed)
    binary = parts.n_classes == 2
    drawn = Bernoulli(np.clip(law[:, 1], 0.0, 1.0)) if binary else Categorical(normalised(law))
    for part in ranges(n_resamples, AT_ONCE // law.size):
        yield drawn.redraw(rng, part.stop - part.start)


def _uncertainty(parts: Parts, frequencies: FloatArray, level: float, n_resamples: int, seed: int, few: bool) -> Ends:
    """From one class by the class frequencies to equal probabilities."""
    k, n = parts.n_classes, len(parts.probabilities)
    line = np.eye(k)[np.argmax(frequencies)], frequencies, np.full(k, 1.0 / k)

    def value(law: FloatArray) -> float:
        return parts.scale * float(parts.entropy(law))

    def draws(law: FloatArray) -> FloatArray:
        counts = generator_apart(seed).multinomial(n, law / law.sum(), size=n_resamples)
        return parts.scale * parts.entropy(counts / n)

    return inverted(line, value, draws, value(frequencies), level, few)
