"""What predictions claim that everyone can check: events with stated probabilities, and scores with stated means."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import scipy

from caltest._basics.numerics import Array, BoolArray, FloatArray, IntArray, evenly_spaced, generator_of, ranges
from caltest._results.measures import amount
from caltest.predictions.faults.fault import ranks, varies
from caltest.predictions.reductions.standard_scores import own_units

RARE, TINY = 0.2, 1e-9
"""The margin for the rarer of two classes, or a class that is named among more, as a share of its mean predicted
probability if that is smaller; and the least such mean, which is no 0."""

HOTTEST = 16.0
"""The logarithm of a temperature at which all possible classes have nearly the same probability."""

if TYPE_CHECKING:
    from caltest.predictions.base import Predictions
    from caltest.predictions.classes.finite import FinitePredictions
    from caltest.predictions.vectors.mvnormal import MvNormal

LEVELS, WIDEST = (0.5, 0.8, 0.95), 0.999
"""Central intervals whose coverage is looked at, and the one beyond which outliers are."""

FAR_OFF = {"outliers", "outliers of all", "same value"}
"""Kinds of findings that are of few outcomes, which can be far off."""

FAR, LEAST_MEMBERS, FEW = 5.0, 4, 1e-3
"""Standard deviations of at least so many other members beyond which values of pools are far off, and the margin for
the share of these."""

POINTS = 0.02
"""Differences of claimed and true probabilities up to which an error is too small to matter."""

SHIFT = 0.04
"""The same for outcomes above the median: 0.0398 is what a shift by 0.1 standard deviations makes of normal ones."""

FEWER = 0.1
"""The same for numbers of events, as a share of the expected one."""

SMALLEST = 1e-150
"""The least error or standard deviation whose square is a number; one of smaller ones has no root mean square."""

NODES, ROWS = 64, 4096
"""Quantiles from which an average over a predicted distribution is made, of so many evenly spaced rows at most."""

PROBABILITIES, LOOKED_AT, FEWEST_ROWS = 2**18, 2**20, 256
"""Probabilities of classes that are changed together, that a temperature is found from, and rows of the latter."""

AT_ONCE = 2**21
"""Probabilities that are looked at together."""


@dataclass(frozen=True)
class Claim:
    """An event, the probabilities (n,) that predictions give it, and where it occurred, (n,)."""

    name: str
    probability: FloatArray = field(repr=False)
    occurred: BoolArray = field(repr=False)
    order: FloatArray = field(repr=False)
    """Numbers (n,) that are close where predictions are alike."""
    margin: float = POINTS
    event: str = ""
    """What the probabilities are of, if the name does not say it."""
    binned_error: str = ""
    """What the ECE of the probabilities is called, if they have one."""
    rows: IntArray | None = field(default=None, repr=False)
    """Which rows of the predictions these n are, if not all."""
    is_number: ClassVar[bool] = False
    """Whether the probabilities are expected numbers, whose sum has the variance of Poisson times ``scatter``."""
    counted: ClassVar[str] = ""
    """What such numbers are of."""

    @property
    def scatter(self) -> float:
        """The variance of the number of events in units of that of independent ones, or of Poisson; at least 1."""
        return 1.0

    @property
    def excess(self) -> float:
        """How much more often the event occurred than claimed, as a share of all rows."""
        return float((self.occurred - self.probability).mean())


@dataclass(frozen=True)
class HazardClaim(Claim):
    """Cumulative hazards (n,) of an event while rows are observed, and where it occurred."""

    is_number, counted = True, "events"


@dataclass(frozen=True)
class CountClaim(Claim):
    """Predicted means (n,) of counts, and the counts."""

    is_number, counted = True, "counts"

    @property
    def squares(self) -> float:
        """``sum (y - r m)**2`` with the ratio r of both sums."""
        observed, claimed = float(self.occurred.sum()), float(self.probability.sum())
        if observed <= 0.0 or claimed <= 0.0:
            return 0.0
        return float(np.square(self.occurred - observed / claimed * self.probability).sum())

    @property
    def scatter(self) -> float:
        """``sum (y - r m)**2 / sum y``, at least 1."""
        observed = float(self.occurred.sum())
        return max(1.0, self.squares / observed) if observed > 0.0 else 1.0


def scatter_within(parts: Iterable[Claim]) -> float:
    """That of counts in all parts together, each with a ratio of its own, at least 1.

    With ``E (y - m)**2 = s m`` the squares of a part have the mean ``s sum m (1 - sum m**2 / (sum m)**2)``.
    """
    squares, expected = 0.0, 0.0
    for one in parts:
        claimed = float(one.probability.sum())
        if isinstance(one, CountClaim) and claimed > 0.0:
            left = 1.0 - float(np.square(one.probability / claimed).sum())
            squares, expected = squares + one.squares, expected + left * float(one.occurred.sum())
    return max(1.0, squares / expected) if expected > 0.0 else 1.0


ENOUGH = 300.0
"""Events that say as much of the scatter of a part as all parts together do."""


def scatter_among(own: float, events: float, common: float) -> float:
    """That of a part, and the less events it has, the more that of all parts where it is larger."""
    return max(own, (events * own + ENOUGH * common) / (events + ENOUGH))


@dataclass(frozen=True)
class Score:
    """The mean of a score that outcomes should have by the predictions, and the one that they have."""

    name: str
    claimed: float
    observed: float | None


Checks = tuple[list[Claim], list[Score]]


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
    return _margin_of_event(law.probabilities[:, 1])


def _margin_of_event(probability: FloatArray, usual: float = POINTS) -> float:
    """Two points, or a fifth of the mean probability of an event, or of its complement, if that is smaller."""
    mean = float(probability.mean())
    return min(usual, RARE * max(min(mean, 1.0 - mean), TINY))


def of_numbers(law: "Predictions", targets: Array) -> Checks:
    """Coverage of central intervals, outcomes above the median, sums of counts, squared errors and the CRPS."""
    middle = law.quantile(0.5)
    u, below = law.cdf(targets), law.cdf_below(targets) if law.has_jumps else None
    order = _by_spread(law.quantile(0.75) - law.quantile(0.25), middle)
    claims = [_inside(law, level, u, below, order) for level in LEVELS]
    above = 1.0 - law.cdf(middle) if law.has_jumps else np.full(len(law), 0.5)
    margin = _margin_of_event(above, SHIFT)
    claims.append(Claim("above the median", above, np.asarray(targets > middle), middle, margin))
    if law.discrete:
        mean = law.moments()[0]
        claims.append(CountClaim("total count", mean, np.asarray(targets), mean, FEWER, "expected counts"))
    return claims, [*_of_quantiles(law, targets), *of_moments(law, targets)]


def _by_spread(spread: FloatArray, middle: FloatArray) -> FloatArray:
    """What predictions are alike in that have intervals of the same width: their middle if all have."""
    return spread if varies(spread) else middle


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


def of_moments(law: "Predictions", targets: Array) -> list[Score]:
    """Root mean squared error; the root of the mean predicted variance is its claimed value.

    None where variances are infinite, or squares of all numbers are 0 although no number is.
    """
    try:
        mean, variance = law.moments()
    except TypeError:
        return []
    return _of_errors(targets - mean, variance, law.is_continuous)


def of_members(members: FloatArray, targets: Array) -> list[Score]:
    """The same of the means of m members, numbers or vectors: the mean squared error is ``1 + 1 / m`` variances.

    The variance has the divisor m - 1 (Fortin et al. 2014); one member has none.
    """
    m = members.shape[1]
    if m < 2:
        return []
    variance = members.var(axis=1, ddof=1).reshape(len(members), -1).sum(axis=1)
    return _of_errors(targets - members.mean(axis=1), variance, True, 1.0 + 1.0 / m)


def _of_errors(errors: FloatArray, variance: FloatArray, is_continuous: bool, factor: float = 1.0) -> list[Score]:
    """Their root mean square, which is claimed to be that of a multiple of the variances."""
    has_squares = max(float(np.abs(errors).max()), float(np.sqrt(variance.max()))) >= SMALLEST
    if not np.isfinite(variance).all() or (is_continuous and not has_squares):
        return []
    squares = np.square(errors)
    squares = squares if squares.ndim == 1 else squares.sum(axis=-1)
    claimed, deviation = float(np.sqrt(factor * variance.mean())), float(np.sqrt(variance).mean())
    return [
        Score("root mean squared error", claimed, float(np.sqrt(squares.mean()))),
        Score("predicted standard deviation", deviation, None),
    ]


def of_events(laws: "Predictions", u: FloatArray, ends: tuple[FloatArray, FloatArray]) -> Checks:
    """Whether as many events are seen as predicted while rows are observed, in all and in both halves of that time.

    Of levels u (n,) of times, between ends, the upper one 1 where censored. Events less cumulative predicted hazards up
    to the last time are a martingale: a row is expected to have ``-log(1 - u)`` of them. Those that are known to be
    beyond the last time of a curve, or all members of an ensemble, count as censored there.
    """
    low, high = ends
    seen = high < 1.0
    hazard = -np.log1p(-np.minimum(np.where(seen, u, low), 1.0 - TINY))
    middle, order = float(np.median(hazard)), _places(laws)
    early, is_late = np.minimum(hazard, middle), hazard > middle
    level = f"{-100.0 * np.expm1(-middle):.3g} % quantile"

    def claim(name: str, expected: FloatArray, occurred: BoolArray) -> Claim:
        return HazardClaim(name, expected, occurred, order, FEWER, name)

    claims = [
        claim("events while observed", hazard, seen),
        claim(f"events up to the {level}", early, seen & ~is_late),
        claim(f"events beyond the {level}", hazard - early, seen & is_late),
    ]
    return [one for one in claims if one.probability.any()], []


def _places(laws: "Predictions") -> FloatArray:
    """Medians (n,) of predicted times, or their means where quantiles are not known, or mean intervals of curves."""
    if laws.finite is not None:
        p = laws.finite.probabilities
        return np.asarray(p @ np.arange(float(p.shape[1])))
    try:
        return laws.quantile(0.5)
    except TypeError:
        return laws.moments()[0]


def of_pools(members: FloatArray, targets: Array) -> Checks:
    """Ranks of outcomes among their ensembles, where each value of a pool (n, m + 1) may be the outcome.

    Values that are equal share the mean of their ranks. The CRPS is that of the m others as equally likely values.
    """
    n, m = members.shape
    ordered = np.sort(members, axis=1)
    middle = (scipy.stats.rankdata(ordered, axis=1) - 0.5) / m
    place = (ordered < targets[:, None]).sum(axis=1).clip(max=m - 1)
    rows = np.arange(n)
    order = _by_spread(ordered[:, (3 * m) // 4] - ordered[:, m // 4], ordered[:, m // 2])

    def claim(name: str, occurs: BoolArray, order: FloatArray, margin: float = POINTS) -> Claim:
        return Claim(name, occurs.mean(axis=1), occurs[rows, place], order, margin)

    claims = []
    for level in LEVELS:
        # The nearest number of ranks that is left when as many are cut off at each end.
        cut = round((1.0 - level) * m / 2.0)
        inside = (middle > cut / m) & (middle < (m - cut) / m)
        if cut:
            claims.append(claim(f"inside the {100 * (m - 2 * cut) / m:.3g} % interval", inside, order))
    above = middle > 0.5
    claims.append(claim("above the median", above, ordered[:, m // 2], _margin_of_event(above, SHIFT)))
    sums = ordered.cumsum(axis=1)
    j = np.arange(m)
    distances = ordered * (2 * j - m + 2) + sums[:, -1:] - 2.0 * sums
    scores = distances / (m - 1) - (distances.sum(axis=1, keepdims=True) - 2.0 * distances) / (2.0 * (m - 1) ** 2)
    return claims, [Score("CRPS", float(scores.mean()), float(scores[rows, place].mean()))]


def of_far_values(members: FloatArray, targets: Array) -> list[Claim]:
    """Whether outcomes are far from their ensembles as often as values of the pools (n, m + 1) from all others."""
    n, m = len(members), members.shape[1] - 1
    if m < LEAST_MEMBERS:
        return []
    x = np.sort(members - np.median(members, axis=1, keepdims=True), axis=1)
    mean = (x.sum(axis=1, keepdims=True) - x) / m
    variance = np.maximum((np.square(x).sum(axis=1, keepdims=True) - np.square(x)) / m - np.square(mean), 0.0)
    near = np.square(x - mean) <= FAR**2 * m / (m - 1) * variance
    rows, place = np.arange(n), (np.sort(members, axis=1) < targets[:, None]).sum(axis=1).clip(max=m)
    name = f"within {FAR:g} deviations of the members"
    return [Claim(name, near.mean(axis=1), near[rows, place], members.mean(axis=1), FEW)]


def of_quantiles(levels: FloatArray, values: FloatArray, labels: Array) -> Checks:
    """Coverage between quantiles of levels u and 1 - u; outcomes up to each quantile where there are no such pairs."""
    n, order = values.shape[0], _by_spread(values[:, -1] - values[:, 0], values[:, len(levels) // 2])
    pairs = [
        (i, int(j))
        for i, level in enumerate(levels)
        for j in np.flatnonzero(np.isclose(levels, 1.0 - level, atol=1e-9))
        if i < j
    ]

    def claim(name: str, probability: float, occurred: BoolArray) -> Claim:
        return Claim(name, np.full(n, probability), occurred, order)

    widths = [float(levels[j] - levels[i]) for i, j in pairs]
    between = [
        claim(f"inside the {100 * width:.3g} % interval", width, (labels > i) & (labels <= j))
        for (i, j), width in zip(pairs, widths, strict=True)
    ]
    single = [i for i in range(levels.size) if not pairs or abs(levels[i] - 0.5) < 1e-9]
    return [
        *reversed(between),
        *(claim(f"up to the {100 * levels[i]:.3g} % quantile", float(levels[i]), labels <= i) for i in single),
    ], []


def of_vectors(law: "Predictions", residuals: FloatArray, targets: Array) -> Checks:
    """Coverage of ellipsoids around the means, by squared lengths of normal residuals (n, d)."""
    return [_inside_region(law, level, residuals) for level in LEVELS], of_moments(law, targets)


def _inside_region(law: "Predictions", level: float, residuals: FloatArray) -> Claim:
    largest = scipy.special.chdtri(residuals.shape[1], 1.0 - level)
    occurred = np.square(residuals).sum(axis=1) <= largest
    return Claim(f"inside the {100 * level:g} % region", np.full(len(law), level), occurred, law.moments()[1])


def of_named_classes(law: "FinitePredictions", place: str, targets: Array) -> list[Claim]:
    """Whether classes that a place names occur as often as claimed; ``claims`` says it of two classes."""
    if law.n_classes < 3:
        return []
    names = [(c, law.outcome_in_words(c)) for c in range(law.n_classes)]
    chosen = [
        (c, name) for c, name in names if f", {name}, " in f", {place}, " or place.startswith(f"claims of {name} ")
    ]
    named = [(name, law.probabilities[:, c], targets == c) for c, name in chosen]
    return [Claim(name, p, occurred, p, _margin_of_event(p), name) for name, p, occurred in named]


def of_levels(law: "FinitePredictions", targets: Array) -> list[Claim]:
    """Whether outcomes are up to a class as often as claimed: the one of ordered classes where the mean is most off."""
    below = law.probabilities.cumsum(axis=1)[:, :-1]
    occurred = targets[:, None] <= np.arange(law.n_classes - 1)
    c = int(np.abs((occurred - below).mean(axis=0)).argmax())
    name = law.up_to_in_words(c)
    return [Claim(name, below[:, c].clip(0.0, 1.0), occurred[:, c], below[:, c], event=name)]


def of_outliers(law: "Predictions", targets: Array) -> list[Claim]:
    """Coverage of an interval so wide that outliers are most of what is outside, which intervals of ``LEVELS`` hide."""
    if law.law is not law or not (law.is_continuous or law.discrete):
        return []
    u, below = law.cdf(targets), law.cdf_below(targets) if law.has_jumps else None
    claim = _inside(law, WIDEST, u, below, _by_spread(law.quantile(0.75) - law.quantile(0.25), law.quantile(0.5)))
    return [replace(claim, margin=_margin_of_event(claim.probability))]


def of_outlying_vectors(law: "Predictions", residuals: FloatArray) -> list[Claim]:
    """The same of a region, of normal residuals (n, d)."""
    claim = _inside_region(law, WIDEST, residuals)
    return [replace(claim, margin=_margin_of_event(claim.probability))]


def of_half(law: "Predictions", place: str, targets: Array) -> list[Claim]:
    """Coverage and median in the half of the predictions that a place names, by their means or variances."""
    if not (found := re.search(r"predicted (mean|variance)s are (above|at most)", place)):
        return []
    rows, size = _half(law.moments()[int(found[1] == "variance")], found[2])
    claims = law.take(rows).claims(targets[rows])[0]
    return [_among(one, rows, f"{size} {found[1]}s") for one in (*claims[1:2], *claims[-1:])]


def _half(feature: FloatArray, side: str) -> tuple[IntArray, str]:
    """The rows above the median of a feature, as findings have them, or the others, and what they are called."""
    upper = ranks(feature) > 0.5
    return np.flatnonzero(upper if side == "above" else ~upper), "large" if side == "above" else "small"


def _among(claim: Claim, rows: IntArray, half: str) -> Claim:
    event = claim.event or f"an outcome {claim.name}"
    return replace(claim, name=f"{claim.name}, {half}", event=f"{event} among {half}", rows=rows)


def of_named_coordinates(law: "MvNormal", place: str, targets: Array) -> list[Claim]:
    """Median and interval of a coordinate, or signs of errors of two, of all rows or the half that is named."""
    if wave := re.fullmatch(r"predicted means of (coordinate (\d+))", place):
        mean = law.moments()[0][:, int(wave[2])]
        return [replace(one, order=mean) for one in of_named_coordinates(law, wave[1], targets)]
    if not (found := re.match(r"coordinates? (\d+)(?: and (\d+))?", place)):
        return []
    if where := re.search(r"predicted means of coordinate (\d+) are (above|at most)", place):
        rows, size = _half(law.moments()[0][:, int(where[1])], where[2])
        claims = of_named_coordinates(law.take(rows), found[0], targets[rows])
        return [_among(one, rows, f"{size} means of {where[1]}") for one in claims]
    n, z, spread, (a, b) = len(law), law.standard_scores(targets), law.moments()[1], found.groups()
    half, most, name = np.full(n, 0.5), np.full(n, LEVELS[1]), f"coordinate {a}"
    if b is not None:
        event = f"errors of the same sign in coordinates {a} and {b}"
        return [Claim(f"same sign in {a} and {b}", half, z[:, int(a)] * z[:, int(b)] > 0.0, spread, event=event)]
    own, reach, within = z[:, int(a)], np.sqrt(scipy.special.chdtri(1.0, 1.0 - LEVELS[1])), f"{100 * LEVELS[1]:g} %"
    event = f"{name} inside its {within} interval"
    return [
        Claim(f"{name} above median", half, own > 0.0, spread, SHIFT, f"{name} above its median"),
        Claim(f"{name} inside {within}", most, np.abs(own) <= reach, spread, event=event),
    ]


DEVIATION = 0.1
"""Predicted standard deviations by which a shift just matters."""

SHIFTED = f"outcomes {DEVIATION:g} predicted standard deviations too high"


TOO_MANY = f"counts {100 * FEWER:g} % larger than predicted"


def shifted(law: "Predictions", rng: Any, size: int) -> tuple[str, Array]:
    """Outcomes of numbers or vectors that are too high, on the scale of normal scores where outcomes have an end.

    Of rare counts a tenth of the standard deviation would be a large share of the mean: these are too many.
    """
    if (units := own_units(law)) is not None:
        return SHIFTED, law.redraw(rng, size) + DEVIATION * units[1]
    mean = law.moments()[0] if not law.is_continuous else np.empty(len(law))
    if law.discrete and FEWER * mean.sum() < DEVIATION * np.sqrt(law.moments()[1]).sum():
        generator = generator_of(rng)
        return TOO_MANY, law.redraw(generator, size) + generator.poisson(FEWER * mean, (size, len(law)))
    scores = generator_of(rng).normal(DEVIATION, 1.0, (size, *mean.shape))
    return SHIFTED, law.of_standard_scores(scores)


def overconfident(law: "FinitePredictions", rng: Any, size: int) -> tuple[str, Array] | None:
    """Labels at the temperature above 1 that moves the most probable class, or class 1, by what just matters."""
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
    return words, labels
