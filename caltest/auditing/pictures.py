"""Pictures of an audit as SVG, with what they show in words."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from caltest._basics.numerics import Array
from caltest.predictions import Predictions, Sample, classwise
from caltest.predictions.classes.finite import FinitePredictions
from caltest.predictions.convert import as_predictions


@dataclass(frozen=True)
class Picture:
    """An SVG element, and what it shows in words."""

    svg: str
    alternative: str


def drawn(draw: Callable[[Any], Any], alternative: str, size: tuple[float, float] = (4.6, 4.8)) -> Picture:
    """What a function draws into axes of a size in inches."""
    from caltest.plots._svg import svg_of

    return Picture(svg_of(draw, alternative, size), alternative)


def pictures_of(what: str, **known: Any) -> tuple[Picture, ...]:
    """Pictures of the ``"data"``, or of evidence over ``"time"``; none without matplotlib."""
    makers: dict[str, Callable[..., list[Picture]]] = {"data": _of_data, "time": _of_time}
    try:
        return tuple(makers[what](**known))
    except ImportError:
        return ()


def _of_data(sample: Sample, seed: int) -> list[Picture]:
    from caltest import plots

    law = sample.predictions
    if law.finite is None:
        return _of_numbers(sample, seed)
    if law.levels is not None:
        return []
    y = np.asarray(sample.targets)
    plain = as_predictions(law.to_array())
    words = "reliability diagram: observed frequency against predicted probability, with exact bars"
    found = [drawn(lambda ax: plots.reliability_diagram(plain, y, rng=seed, ax=ax), words)]
    words = "reliability curve without bins, with an exact band"
    found.append(drawn(lambda ax: plots.reliability_curve(plain, y, rng=seed, ax=ax), words))
    if law.finite.n_classes == 3:
        words = "map of the simplex: where observed frequencies differ from the predictions"
        found.append(drawn(lambda ax: plots.simplex_map(plain, y, rng=seed, ax=ax), words))
    return [*found, *_of_worst_classes(law.finite, plain, y, seed)]


def _of_worst_classes(law: FinitePredictions, plain: Predictions, y: Array, seed: int) -> list[Picture]:
    """Reliability of the classes whose frequencies are farthest from what is predicted, in standard deviations."""
    from caltest import plots

    if law.n_classes < 3:
        return []
    p = law.probabilities
    counts, variances = np.bincount(y, minlength=law.n_classes), (p * (1.0 - p)).sum(axis=0)
    deviations = np.abs(counts - p.sum(axis=0)) / np.sqrt(np.where(variances > 0.0, variances, np.inf))
    pairs = classwise(plain, y)

    def picture(c: int) -> Picture:
        words = f"reliability diagram of {law.outcome_in_words(c)}"
        return drawn(lambda ax: plots.reliability_diagram(*pairs[c], rng=seed, ax=ax), words)

    return [picture(c) for c in np.argsort(-deviations, kind="stable")[:WORST].tolist()]


WORST = 4
"""Classes that have a picture of their own."""


def _of_numbers(sample: Sample, seed: int) -> list[Picture]:
    from caltest import plots

    law, y = sample.predictions, sample.targets
    if y.ndim != 1:
        return []
    words = "histogram of the predicted quantiles of the outcomes, with an exact band for all bars"
    found = [drawn(lambda ax: plots.pit_histogram(law, y, rng=seed, ax=ax), words)]
    words = "coverage of central intervals of all levels, with an exact band"
    return [*found, drawn(lambda ax: plots.coverage_curve(law, y, rng=seed, ax=ax), words)]


def _of_time(result: Any) -> list[Picture]:
    from caltest import plots

    words = "evidence against calibration after each observation"
    return [drawn(lambda ax: plots.evidence(result, ax=ax), words, (6.5, 3.2))]
