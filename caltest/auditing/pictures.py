"""Pictures of an audit as SVG, with what they show in words."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from html import escape
from importlib.util import find_spec
from typing import Any

import numpy as np

from caltest._basics.numerics import Array
from caltest.predictions import Sample, classwise
from caltest.predictions.classes.finite import FinitePredictions


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


def pictures_of(sample: Sample, seed: int) -> tuple[Picture, ...]:
    """Pictures of predictions of classes, of numbers, of quantiles and of the first coordinates of vectors."""
    from caltest import plots

    law, y = sample.predictions, sample.targets
    quantiles = "histogram of the predicted quantiles of the outcomes{}, with an exact band for all bars"
    if law.finite is None and y.ndim == 1:
        found = drawn(partial(plots.pit_histogram, law, y, rng=seed), quantiles.format(""))
        words = "coverage of central intervals of all levels, with an exact band"
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
        words = "share of the outcomes up to each quantile beside its level, with exact bars for all together"
        return drawn(partial(plots.coverage_curve, law, given, rng=seed), words)
    words = "reliability diagram: observed frequency against predicted probability, with exact bars"
    found = drawn(partial(plots.reliability_diagram, law, given, rng=seed), words)
    words = "reliability curve without bins, with an exact band"
    found += drawn(partial(plots.reliability_curve, law, given, rng=seed), words)
    if law.finite.n_classes == 3:
        words = "map of the simplex: where observed frequencies differ from the predictions"
        found += drawn(partial(plots.simplex_map, law, given, rng=seed), words)
    if law.finite.n_classes == 2:
        return found
    pairs = classwise(law, given)
    for c in _worst_classes(law.finite, np.asarray(y)):
        words = f"reliability diagram of {law.finite.outcome_in_words(c)}"
        found += drawn(partial(plots.reliability_diagram, *pairs[c], rng=seed), words)
    return found


WORST = 4
"""Classes, or coordinates, that have a picture of their own."""


def _worst_classes(law: FinitePredictions, y: Array) -> list[int]:
    """Those whose frequencies are farthest from what is predicted, in standard deviations."""
    p = law.probabilities
    counts, variances = np.bincount(y, minlength=law.n_classes), (p * (1.0 - p)).sum(axis=0)
    deviations = np.abs(counts - p.sum(axis=0)) / np.sqrt(np.where(variances > 0.0, variances, np.inf))
    worst: list[int] = np.argsort(-deviations, kind="stable")[:WORST].tolist()
    return worst
