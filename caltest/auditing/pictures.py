"""Pictures of an audit as SVG, with what they show in words."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from caltest.predictions import Sample
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
    return [*found, drawn(lambda ax: plots.reliability_curve(plain, y, rng=seed, ax=ax), words)]


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
