"""What predictions of numbers claim: coverage of intervals, outcomes above medians, sums of counts, and the CRPS."""

from typing import TYPE_CHECKING, Any

import numpy as np

from caltest._basics.numerics import Array, FloatArray, evenly_spaced, generator_of
from caltest.predictions.claims import (
    LEVELS,
    SHIFT,
    WIDEST,
    Checks,
    Claim,
    CountClaim,
    Score,
    Wrong,
    by_spread,
    of_moments,
)
from caltest.predictions.reductions.standard_scores import own_units

if TYPE_CHECKING:
    from caltest.predictions.base import Predictions

NODES, ROWS = 64, 4096
"""Quantiles from which an average over a predicted distribution is made, of so many evenly spaced rows at most."""

DEVIATION = 0.1
"""Predicted standard deviations by which a shift just matters."""

SHIFTED = f"outcomes {DEVIATION:g} predicted standard deviations too high"

TOO_MANY = f"counts {100 * CountClaim.margin:g} % larger than predicted"


def of_numbers(law: "Predictions", targets: Array) -> Checks:
    """Coverage of central intervals, outcomes above the median, sums of counts, squared errors and the CRPS."""
    middle = law.quantile(0.5)
    u, below = law.cdf(targets), law.cdf_below(targets) if law.has_jumps else None
    order = by_spread(law.quantile(0.75) - law.quantile(0.25), middle)
    claims = [_inside(law, level, u, below, order) for level in LEVELS]
    above = 1.0 - law.cdf(middle) if law.has_jumps else np.full(len(law), 0.5)
    claims.append(Claim("above the median", above, np.asarray(targets > middle), middle, SHIFT).rare)
    if law.discrete:
        mean = law.moments()[0]
    if law.discrete and mean.any():
        claims.append(CountClaim("total count", mean, np.asarray(targets), mean, event="expected counts"))
    return claims, [*_of_quantiles(law, targets), *of_moments(law, targets)]


def _inside(law: "Predictions", level: float, u: FloatArray, below: FloatArray | None, order: FloatArray) -> Claim:
    """That an outcome is in the central interval of a level, ends included."""
    low, high = (1.0 - level) / 2.0, (1.0 + level) / 2.0
    name = f"inside the {100 * level:g} % interval"
    if below is None:
        return Claim(name, np.full(len(law), level), (u >= low) & (u <= high), order)
    probability = law.cdf(law.quantile(high)) - law.cdf_below(law.quantile(low))
    return Claim(name, probability, (u >= low) & (below < high), order)


def _of_quantiles(law: "Predictions", targets: Array) -> list[Score]:
    """The continuous ranked probability score, ``E|Z - y| - E|Z - Z'| / 2``, by a rule on the scale of quantiles."""
    some, y = law.evenly_spaced(ROWS), targets[evenly_spaced(len(law), ROWS)]
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    levels = 0.5 + 0.5 * nodes
    observed = claimed = 0.0
    for level, weight, q in zip(levels.tolist(), weights.tolist(), some.quantile(levels[:, None]), strict=True):
        observed += weight * float(((y <= q) - level) @ (q - y)) / len(some)
        claimed += weight * float(q.mean()) * (level - 0.5)
    return [Score("CRPS" if len(law) <= ROWS else f"CRPS of {ROWS} rows", claimed, observed)]


def of_outliers(law: "Predictions", targets: Array) -> list[Claim]:
    """Coverage of an interval so wide that outliers are most of what is outside, which intervals of ``LEVELS`` hide."""
    if law.law is not law or not (law.is_continuous or law.discrete):
        return []
    u, below = law.cdf(targets), law.cdf_below(targets) if law.has_jumps else None
    order = by_spread(law.quantile(0.75) - law.quantile(0.25), law.quantile(0.5))
    return [_inside(law, WIDEST, u, below, order).rare]


def shifted(law: "Predictions", rng: Any, size: int) -> Wrong:
    """Outcomes of numbers or vectors that are too high, on the scale of normal scores where outcomes have an end.

    Of rare counts a tenth of the standard deviation would be a large share of the mean: these are too many.
    """
    if (units := own_units(law)) is not None:
        return Wrong(SHIFTED, law.redraw(rng, size) + DEVIATION * units[1])
    mean = law.moments()[0] if not law.is_continuous else np.empty(len(law))
    if law.discrete and CountClaim.margin * mean.sum() < DEVIATION * np.sqrt(law.moments()[1]).sum():
        generator = generator_of(rng)
        more = generator.poisson(CountClaim.margin * mean, (size, len(law)))
        return Wrong(TOO_MANY, law.redraw(generator, size) + more)
    scores = generator_of(rng).normal(DEVIATION, 1.0, (size, *mean.shape))
    # The first rows of faults are sums of scores, which are normal.
    tilt = ("faults", mean[:1].size, DEVIATION) if law.has_normal_scores else None
    return Wrong(SHIFTED, law.of_standard_scores(scores), tilt)
