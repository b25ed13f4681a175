"""Pictures of an audit as SVG, with what they show in words."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from html import escape
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logit

from caltest._basics.numerics import Array, FloatArray
from caltest.predictions import Sample, classwise
from caltest.predictions.classes.finite import FinitePredictions
from caltest.slices.group_sums import adjusted_by_redraws


@dataclass(frozen=True)
class Picture:
    """What a function draws into ``ax`` of a size in inches, and what it shows in words."""

    draw: Callable[..., Any]
    alternative: str
    size: tuple[float, float] = (4.6, 4.8)

    @cached_property
    def svg(self) -> str:
        """An SVG element, drawn when a page asks for it; or why there is none."""
        from caltest.plots._axes import svg_of

        try:
            return svg_of(self.draw, self.alternative, self.size)
        except (ValueError, TypeError, MemoryError) as error:
            return escape(f"Not drawn: {error}.")


def drawn(draw: Callable[..., Any], alternative: str, *size: tuple[float, float]) -> tuple[Picture, ...]:
    """The picture that a function draws; nothing without matplotlib."""
    return () if find_spec("matplotlib") is None else (Picture(draw, alternative, *size),)


def pictures_of(sample: Sample, seed: int, worst: Sequence[int] = ()) -> tuple[Picture, ...]:
    """Pictures of predictions of classes, the worst of them, of numbers, of quantiles and of coordinates of vectors."""
    from caltest import plots

    law, y = sample.predictions, sample.targets
    quantiles = "histogram of the predicted quantiles of outcomes{}, with the band of calibrated models for all bars"
    if law.finite is None and y.ndim == 1:
        found = drawn(partial(plots.pit_histogram, law, y, rng=seed), quantiles.format(""))
        words = "coverage of central intervals of all levels, with the band of calibrated models"
        return found + drawn(partial(plots.coverage_curve, law, y, rng=seed), words)
    if law.finite is None:
        found = ()
        for t in range(min(y.shape[1], WORST)):
            if (one := law.coordinate(t)) is not None:
                words = quantiles.format(f" in coordinate {t}")
                found += drawn(partial(plots.pit_histogram, one, y[:, t], rng=seed), words)
        return found
    given = sample.as_given
    if law.levels is not None:
        words = "share of outcomes up to each quantile beside its level, with ranges of calibrated models"
        return drawn(partial(plots.coverage_curve, law, given, rng=seed), words)
    words = "reliability diagram: observed frequency against predicted probability, with the range of calibrated models"
    found = drawn(partial(plots.reliability_diagram, law, given, rng=seed), words)
    words = "reliability curve without bins, with the band of calibrated models at each prediction by itself"
    found += drawn(partial(plots.reliability_curve, law, given, rng=seed), words)
    if law.finite.n_classes == 3:
        words = "map of the simplex: where observed frequencies differ from the predictions"
        found += drawn(partial(plots.simplex_map, law, given, rng=seed), words)
    if law.finite.n_classes == 2:
        return found
    pairs = classwise(law, given)
    for c in worst[:WORST]:
        words = f"reliability diagram of {law.finite.outcome_in_words(c)}"
        found += drawn(partial(plots.reliability_diagram, *pairs[c], rng=seed), words)
    return found


WORST = 4
"""Classes, or coordinates, that have a picture of their own."""

TINY = 1e-12
"""The least probability that has log odds here, and the least variance."""


class ClassErrors(NamedTuple):
    """Classes, the worst first, p-values (k,) as if each were the only one and adjusted for all, and what is wrong."""

    worst: list[int]
    alone: FloatArray
    adjusted: FloatArray
    words: list[str]


def compared_classes(law: FinitePredictions, y: Array, n_resamples: int, seed: int) -> ClassErrors:
    """Compare each class with what is predicted of it.

    ``e**2 / v + s**2 / w`` sums the errors e and s of the number of a class and of the sum of its log odds around their
    mean, in units of their variances if calibrated. Adjusted by the step-down maximum over redraws; time O(n (k + B)).
    """
    p, k, rows = law.probabilities, law.n_classes, np.arange(len(law))
    odds, v = logit(np.clip(p, TINY, 1.0 - TINY)), p * (1.0 - p)
    x = odds - np.einsum("ic,ic->c", v, odds) / np.maximum(v.sum(axis=0), TINY)
    expected = np.stack([p.sum(axis=0), np.einsum("ic,ic->c", p, x)])
    deviations = np.sqrt(np.maximum([v.sum(axis=0), np.einsum("ic,ic,ic->c", v, x, x)], TINY))

    def errors(own: Array) -> FloatArray:
        sums = np.stack([np.bincount(own, minlength=k), np.bincount(own, x[rows, own], minlength=k)])
        return np.asarray((sums - expected) / deviations)

    def redrawn(generator: np.random.Generator, size: int) -> FloatArray:
        return np.stack([np.square(errors(own)).sum(axis=0) for own in law.redraw(generator, size)], axis=1)

    z = errors(y)
    observed = np.square(z).sum(axis=0)
    found = adjusted_by_redraws(observed, redrawn, n_resamples, seed, "classes", float(y.size))
    wrong = np.where(np.abs(z[0]) > np.abs(z[1]), np.where(z[0] > 0.0, "too low", "too high"), "too extreme")
    wrong[(np.abs(z[0]) <= np.abs(z[1])) & (z[1] > 0.0)] = "too even"
    return ClassErrors(np.lexsort((-observed, found.adjusted)).tolist(), found.alone, found.adjusted, wrong.tolist())
