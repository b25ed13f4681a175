"""Intervals for the parts of a mean score, and their means under calibration."""

from collections.abc import Callable, Iterator

import numpy as np

from caltest._basics.numerics import generator_apart, ranges
from caltest._basics.types import Array, FloatArray
from caltest._results.confidence_interval import ConfidenceInterval
from caltest.decompositions.inverted_tests import FINE, Ends, Polyline, inverted
from caltest.decompositions.parts import PARTS, Parts
from caltest.predictions import Bernoulli, Categorical
from caltest.predictions.classes.proper_scores import outcome_scores

METHOD = "Monte Carlo tests along a line"

AT_ONCE = 2**20
"""Class counts of redraws that are kept together."""


def intervals_of(
    parts: Parts, labels: Array, level: float, n_resamples: int, seed: int
) -> dict[str, ConfidenceInterval]:
    """An interval for each part."""
    estimates = parts.of_labels(labels[None])[:, 0]
    counts = parts.expected_counts(np.eye(parts.n_classes)[labels])
    fitted = parts.smoothed(counts)[parts.numbers]
    lines: list[list[Polyline]] = [
        [score_line(parts, fitted)],
        [miscalibration_line(parts, fitted)],
        [discrimination_line(parts, fitted)],
    ]
    if not parts.is_isotonic:
        # Bins of one observation have frequencies that say little; the predictions are the other guess of the law.
        lines[2].append(discrimination_line(parts, parts.probabilities))
    found: dict[str, Ends] = {}
    for index, some in enumerate(lines):
        value, draws = _functions(parts, index, n_resamples, seed)
        ends = [inverted(line, value, draws, float(estimates[index]), level) for line in some]
        found[PARTS[index]] = Ends(min(one.low for one in ends), max(one.high for one in ends), ends[0].middle)
    found["uncertainty"] = _uncertainty(parts, counts.sum(axis=0) / len(labels), level, n_resamples, seed)
    return {
        part: ConfidenceInterval(found[part].low, found[part].high, level, METHOD, found[part].middle) for part in PARTS
    }


def calibrated_means(parts: Parts, n_resamples: int, seed: int) -> dict[str, float]:
    """Mean of each part over redraws of the outcomes from the predictions."""
    redraws = _redraws(parts, parts.probabilities, n_resamples, seed)
    means = sum(parts.of_labels(labels).sum(axis=1) for labels in redraws) / n_resamples
    return dict(zip(PARTS, map(float, np.asarray(means)), strict=True))


def score_line(parts: Parts, fitted: FloatArray) -> Polyline:
    """From the labels of the smallest scores by the recalibrated predictions to the labels of the largest."""
    possible = parts.possible
    best = np.argmin(np.where(possible, parts.scores, np.inf), axis=1)
    worst = np.argmax(np.where(possible, parts.scores, -np.inf), axis=1)
    eye = np.eye(parts.n_classes)
    return Polyline((eye[best], parts.allowed(fitted), eye[worst]))


def miscalibration_line(parts: Parts, fitted: FloatArray) -> Polyline:
    """From the predictions by the recalibrated ones to the labels for which recalibration gains most.

    Bins ignore what varies within, so that predictions can have more miscalibration than other laws: the line starts
    where there is least on the way to the labels for which bins lose most. It goes through predictions that are moved
    as far as the mean of their bin is, which vary within bins as predictions do.
    """
    p = parts.probabilities
    if not parts.is_isotonic:
        moved = np.maximum(p + fitted - (parts.expected_counts(p) / parts.sizes[:, None])[parts.numbers], 0.0)
        fitted = moved / moved.sum(axis=1, keepdims=True)
    after = _most_gained(parts, p, fitted)
    corners = (p, parts.allowed(fitted), after)
    if parts.is_isotonic:
        return Polyline(corners)
    means = (parts.expected_counts(p) / parts.sizes[:, None])[parts.numbers]
    away = Polyline((p, _most_gained(parts, means, p)))
    places = np.linspace(0.0, 1.0, FINE)
    least = places[np.argmin([parts.of_law(away.at(place))[1] for place in places])]
    return Polyline((away.at(least), *corners))


def discrimination_line(parts: Parts, fitted: FloatArray) -> Polyline:
    """From the class frequencies by the recalibrated predictions to the labels for which these gain most."""
    frequencies = np.broadcast_to(fitted.mean(axis=0), fitted.shape)
    return Polyline((parts.allowed(frequencies), parts.allowed(fitted), _most_gained(parts, frequencies, fitted)))


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
        return np.concatenate([parts.of_labels(labels)[index] for labels in _redraws(parts, law, n_resamples, seed)])

    def scores(law: FloatArray) -> FloatArray:
        return np.concatenate([parts.mean_scores(labels) for labels in _redraws(parts, law, n_resamples, seed)])

    return value, scores if PARTS[index] == "score" else draws


def _redraws(parts: Parts, law: FloatArray, n_resamples: int, seed: int) -> Iterator[Array]:
    """Labels (b, n) drawn from a law (n, k), with the same random numbers for every law, in parts."""
    rng = generator_apart(seed)
    binary = parts.n_classes == 2
    drawn = Bernoulli(np.clip(law[:, 1], 0.0, 1.0)) if binary else Categorical(law / law.sum(axis=1, keepdims=True))
    for part in ranges(n_resamples, max(1, AT_ONCE // law.size)):
        yield drawn.redraw(rng, part.stop - part.start)


def _uncertainty(parts: Parts, frequencies: FloatArray, level: float, n_resamples: int, seed: int) -> Ends:
    """From one class by the class frequencies to equal probabilities."""
    k, n = parts.n_classes, len(parts.probabilities)
    line = Polyline((np.eye(k)[np.argmax(frequencies)], frequencies, np.full(k, 1.0 / k)))

    def value(law: FloatArray) -> float:
        return parts.scale * float(parts.entropy(law))

    def draws(law: FloatArray) -> FloatArray:
        counts = generator_apart(seed).multinomial(n, law / law.sum(), size=n_resamples)
        return parts.scale * parts.entropy(counts / n)

    return inverted(line, value, draws, value(frequencies), level)
