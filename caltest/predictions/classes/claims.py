"""What predicted probabilities of classes claim: how often the most probable class occurs, or a named one."""

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from caltest._basics.numerics import Array, generator_of, ranges
from caltest._results.measures import amount
from caltest.predictions.claims import POINTS, Checks, Claim, Score, Wrong, margin_of_event

if TYPE_CHECKING:
    from caltest.predictions.classes.finite import FinitePredictions

HOTTEST = 16.0
"""The logarithm of a temperature at which all possible classes have nearly the same probability."""

PROBABILITIES, LOOKED_AT, ROWS, FEWEST_ROWS = 2**18, 2**20, 4096, 256
"""Probabilities that are changed together, or that a temperature is found from, and its rows at most and at least."""

AT_ONCE = 2**21
"""Probabilities that are looked at together."""


def of_classes(law: "FinitePredictions", targets: Array) -> Checks:
    """Whether the most probable class, or class 1 of two, occurs as often as claimed; logarithmic and Brier score."""
    binary = law.take(slice(0, 1)).to_array().ndim == 1
    n, k, factor = len(law), law.n_classes, law.brier_factor
    top = np.empty(n) if not binary else law.to_array()
    entropy, squares = np.empty(n), np.empty(n)
    for rows in ranges(n, AT_ONCE // k):
        p = law.take(rows).probabilities
        if not binary:
            top[rows] = p.max(axis=1)
        entropy[rows] = -np.einsum("ik,ik->i", p, np.log(np.where(p > 0.0, p, 1.0)))
        squares[rows] = np.square(p).sum(axis=1)
    p_y = np.exp(law.log_density(targets))
    with np.errstate(divide="ignore"):
        log_loss = float(-np.log(p_y).mean()) + 0.0
    brier = factor * float((1.0 - 2.0 * p_y + squares).mean())
    name = law.outcome_in_words(1) if binary else "accuracy"
    event = name if binary and law.notion != "top label" else "the most probable class"
    occurred = np.asarray(targets == 1) if binary else law.hits(targets)
    scores = [
        Score("log loss", float(entropy.mean()), log_loss),
        Score("Brier score", factor * float((1.0 - squares).mean()), brier),
    ]
    error = "ECE" if binary else "ECE of the top label"
    return [Claim(name, top, occurred, top, margin_of(law), event, error)], scores


def margin_of(law: "FinitePredictions") -> float:
    """That of two classes, or two points for hits of top labels."""
    if law.n_classes > 2 or law.notion == "top label":
        return POINTS
    return min(POINTS, margin_of_event(law.probabilities[:, 1]))


def of_named_classes(law: "FinitePredictions", place: str, targets: Array) -> list[Claim]:
    """Whether classes that a place names occur as often as claimed; ``claims`` says it of two classes."""
    if law.n_classes < 3:
        return []
    names = [(c, law.outcome_in_words(c)) for c in range(law.n_classes)]
    chosen = [
        (c, name) for c, name in names if f", {name}, " in f", {place}, " or place.startswith(f"claims of {name} ")
    ]
    named = [(name, law.probabilities[:, c], targets == c) for c, name in chosen]
    return [Claim(name, p, occurred, p, event=name).rare for name, p, occurred in named]


def overconfident(law: "FinitePredictions", rng: Any, size: int) -> Wrong | None:
    """Labels at the temperature T > 1 that moves the most probable class, or class 1, by what just matters.

    Their log ratio ``sum_i log(q_i / p_i)`` is ``(1 / T - 1) sum_i log p_i`` and a constant.
    """
    some, margin = law.evenly_spaced(min(ROWS, max(FEWEST_ROWS, LOOKED_AT // law.n_classes))), margin_of(law)
    p = some.probabilities.max(axis=-1)
    with np.errstate(divide="ignore"):
        logs = np.log(some.probabilities / p[:, None])

    def beyond(log_temperature: float) -> float:
        moved = 1.0 / np.exp(logs * np.exp(-log_temperature)).sum(axis=-1)
        return float(np.abs(moved - p).mean()) - margin

    if beyond(HOTTEST) < 0.0:
        return None
    temperature = float(np.exp(scipy.optimize.brentq(beyond, 0.0, HOTTEST, xtol=1e-6)))
    words = f"probabilities {amount(margin, ' points')} too sure on average"
    generator, labels = generator_of(rng), np.empty((size, len(law)), law.label_type)
    for part in ranges(len(law), PROBABILITIES // law.n_classes):
        labels[:, part] = law.take(part).at_temperature(temperature).redraw(generator, size)
    return Wrong(words, labels, ("log loss", 1, len(law) * (1.0 - 1.0 / temperature)))
