"""Validation of a clinical prediction model: what reporting guidelines ask for, beside what calibration would give."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import scipy

from caltest._basics.calls import own_errstate
from caltest._basics.numerics import (
    Array,
    ArrayLike,
    BoolArray,
    FloatArray,
    band_of_redraws,
    resampling_pvalue,
    seed_of,
)
from caltest._basics.threads import progress_bars, redrawn
from caltest._laws import clopper_pearson, law_of_count, two_sided
from caltest._results.values import CLOPPER_PEARSON, ConfidenceInterval
from caltest._validation import fraction, one_of, switch, whole_number
from caltest.estimators.classical.base import name_of_event, probability_of_event
from caltest.estimators.classical.cox import cox_calibration
from caltest.fields.clinical.curves import LoessCurve, SplineCurve, logistic_fits
from caltest.fields.clinical.validation_result import CalibrationCurve, ClinicalMeasure, ClinicalValidation
from caltest.named_tests import OmnibusTest
from caltest.predictions import Bernoulli
from caltest.predictions.faults.words import count
from caltest.predictions.inputs.convert import as_sample

FEW = 10
"""Events, and cases without, below which DeLong's variance is too small: his intervals hold in 70 % with 2 events."""


def concordance(y: FloatArray, ranks: FloatArray) -> FloatArray:
    """The share of pairs of a case with and one without the event whose risks have that order, ties half; or NaN."""
    ones = y.sum(axis=1)
    pairs = ones * (y.shape[1] - ones)
    wins = y @ ranks - ones * (ones + 1.0) / 2.0
    return np.asarray(np.divide(wins, pairs, out=np.full(len(y), np.nan), where=pairs > 0.0))


def interval_of_concordance(p: FloatArray, y: Array, c: float, level: float) -> ConfidenceInterval:
    """DeLong's, on the logit scale; for fewer than 10 of a kind, and for c of 0 or 1, Newcombe's score interval."""
    z = float(scipy.special.ndtri((1.0 + level) / 2.0))
    ones, zeros = np.sort(p[y == 1]), np.sort(p[y == 0])
    if min(ones.size, zeros.size) < FEW or c in (0.0, 1.0):
        limits = score_limits(lambda t: (c - t) ** 2 - z**2 * newcombe_variance(t, ones.size, zeros.size), 0.0, c, 1e-9)
        return ConfidenceInterval(*limits, level, "Newcombe's score interval")
    of_ones = (np.searchsorted(zeros, ones, "left") + np.searchsorted(zeros, ones, "right")) / (2.0 * zeros.size)
    of_zeros = 1.0 - (np.searchsorted(ones, zeros, "left") + np.searchsorted(ones, zeros, "right")) / (2.0 * ones.size)
    error = float(np.sqrt(of_ones.var(ddof=1) / ones.size + of_zeros.var(ddof=1) / zeros.size)) / (c * (1.0 - c))
    centre = float(np.log(c / (1.0 - c)))
    low, high = (1.0 / (1.0 + np.exp(-(centre + sign * z * error))) for sign in (-1.0, 1.0))
    return ConfidenceInterval(float(low), float(high), level, "DeLong, on the logit scale")


def newcombe_variance(c: float, n_ones: float, n_zeros: float) -> float:
    """Variance of the c-statistic of exponential risks of both kinds, of which so many have the event and have not.

    ``c (1 - c) (1 + h (1 - c) / (2 - c) + h c / (1 + c)) / (n_1 n_0)`` with ``h = (n_1 + n_0) / 2 - 1``.
    """
    half = (n_ones + n_zeros) / 2.0 - 1.0
    return c * (1.0 - c) * (1.0 + half * (1.0 - c) / (2.0 - c) + half * c / (1.0 + c)) / (n_ones * n_zeros)


def score_limits(excess: Callable[[float], float], least: float, estimate: float, step: float) -> tuple[float, float]:
    """Where ``(estimate - t)^2 - z^2 V(t)`` is 0 on both sides of an estimate, which is 1 at most.

    It can be so at the estimate too, where this is the smallest or largest value possible; so it is left by a step.
    """
    below, above = estimate - step, estimate + step
    low = least if below <= least else float(scipy.optimize.brentq(excess, least, below))
    return low, 1.0 if above >= 1.0 else float(scipy.optimize.brentq(excess, above, 1.0))


CurveOf = SplineCurve | LoessCurve
CURVES: dict[str, Callable[[FloatArray, FloatArray], CurveOf]] = {"splines": SplineCurve.of, "loess": LoessCurve.of}
GRID = 60
"""Places at which curves are drawn and compared."""

NAMES = ("O:E ratio", "calibration in the large", "calibration slope", "c-statistic", "ICI", "E50", "E90", "Emax")
IDEAL = (1.0, 0.0, 1.0, None, 0.0, 0.0, 0.0, 0.0)
FIRST_ERROR = NAMES.index("ICI")

FEWEST, RARELY = 9, 0.99
"""Redraws in which a measure exists that one is compared with, and below which share of them a note says so."""

STEPS, COARSE = (0.1, 0.01, 0.001), 0.02
"""Of rounded risks, and the share of the mean risk from which on a note says what rounding moves them by on average."""

FEWEST_EVENTS = 5
"""Events, and cases without, seen and expected, from which on errors of curves have intervals."""


@own_errstate
def validate(
    predictions: ArrayLike,
    targets: ArrayLike,
    *,
    classes: Sequence[Any] | None = None,
    curve: str = "splines",
    n_resamples: int = 999,
    confidence_level: float = 0.95,
    rng: Any = None,
    progress: bool = False,
) -> ClinicalValidation:
    """Calibration of predicted risks as TRIPOD+AI and STRATOS ask for it, with exact p-values and ranges.

    Parameters
    ----------
    predictions
        (n,) predicted risks of the event, (n, 2) probabilities of both classes, or ``Bernoulli``.
    targets, classes, n_resamples, rng, progress
        As in ``calibration_test``; the event is class 1, the second of two columns.
    curve
        ``"splines"``: logistic regression on restricted cubic splines of the log-odds, with 3 to 5 knots; or
        ``"loess"``: local regression of outcomes on risks.
    confidence_level
        Of intervals, of the ranges of calibrated models and of the band of the curve.

    Returns
    -------
    ClinicalValidation
        O:E ratio, calibration in the large (the intercept with slope 1), slope, c-statistic, ICI, E50, E90 and Emax,
        each with its interval, what 95 % of calibrated models with these risks give, and an exact p-value; the curve
        with a band that holds everywhere at once; and the default test, which alone decides.

    Raises
    ------
    ValueError
        For bad data or settings.
    TypeError
        For predictions that are not binary.

    Notes
    -----
    With observed events y and risks p, ``O:E = sum y / sum p``; calibration in the large a solves
    ``sum y = sum expit(a + logit p)``; the slope b is that of ``logit P(Y = 1) = a + b logit p``. With the curve c, the
    ICI is the mean of ``|c(p) - p|``, E50 and E90 are quantiles and Emax is the largest.

    Ranges and p-values of O:E and of calibration in the large are those of the Poisson-binomial law of the number of
    events: a p-value is the probability of all numbers whose smaller tail is as small. The others come from the same
    redraws. All are exact, each on its own, two-sided for slope and c (twice the smaller tail). Data without events, or
    with nothing else, are data like others: the curve is 0 or 1 for all risks between, but calibration in the large,
    slope and c do not exist there, and their p-values are exact given that they do. Errors of curves are never 0:
    compare them with the range of calibrated models. Interval of O:E: that of Clopper and Pearson for the mean of
    independent events, whose coverage is at least nominal; of calibration in the large: the a that give its ends, for
    the a of the mean true risk, whatever the slope is; of the slope: normal limit; of c: DeLong's on the logit scale,
    or Newcombe's score interval (method 5) for fewer than 10 events or cases without; of errors of the curve: those of
    all curves within a band that a bootstrap from the curve gives, from 0 on where the error is not rejected, which is
    conservative, but for Emax, if at least 5 events and 5 cases without happened and were expected. Outcomes are
    independent given the risks, which were not fitted to them. Risks of 0 and 1 are left out of regressions. Time O(n
    B).

    Sources: Van Calster et al. 2019; Austin and Steyerberg 2019; Miller, Hui and Tierney 1991; Cleveland 1979; Newcombe
    2006; Blaker 2000 for p-values of numbers of events.

    Examples
    --------
    >>> import numpy as np
    >>> from caltest.fields import clinical
    >>> rng = np.random.default_rng(1)
    >>> risk = rng.beta(1, 6, 800)
    >>> event = rng.random(800) < np.minimum(1.5 * risk, 1)
    >>> result = clinical.validate(risk, event, n_resamples=199, rng=1)
    >>> result["O:E ratio"].value > 1.2
    True
    """
    one_of("curve", curve, list(CURVES))
    level, number = fraction("confidence_level", confidence_level), whole_number("n_resamples", n_resamples, 19)
    sample = as_sample(predictions, targets, classes)
    p, y = probability_of_event(sample.predictions, "clinical.validate"), np.asarray(sample.targets)
    # What is said of two columns is about the event, too, and not about the more probable class.
    sample = replace(sample, predictions=sample.predictions.of_event())
    seed = seed_of(rng)
    with progress_bars(switch("progress", progress)):
        test = OmnibusTest(n_resamples=number).on(sample, rng=seed)
        grid = _grid(p)
        fitted = CURVES[curve](p, grid)
        statistics = _statistics(p, fitted)
        observed, line = np.split(statistics(y[None])[0], [len(NAMES)])
        found = redrawn(Bernoulli(p), statistics, number, np.random.default_rng(seed))
        null, lines = np.hsplit(found, [len(NAMES)])
        wrong, own = Bernoulli(fitted(p, y[None].astype(np.float64))[0][0]), np.random.default_rng(seed).spawn(1)[0]
        others = redrawn(wrong, lambda some: fitted(p, some.astype(np.float64))[1], number, own)
    intervals, notes = _intervals(p, y, observed, level)
    reason = too_few(p, y)
    if reason:
        notes += (f"no intervals of ICI, E50, E90 and Emax: {reason}",)
    else:
        intervals |= _intervals_of_errors(p, grid, line, others, level)
    exists = np.isfinite(null)
    rows = tuple(
        _measure(i, float(observed[i]), null[exists[:, i], i], intervals.get(NAMES[i]), level)
        for i in range(len(NAMES))
        if np.isfinite(observed[i]) and exists[:, i].sum() >= FEWEST
    )
    rows = tuple(_by_law(one, p, y, 1.0 - level) if one.name in NAMES[:2] else one for one in rows)
    notes += (*_notes_of_existence(p, y, exists), *_notes_of_rounding(p))
    return ClinicalValidation(
        rows=rows,
        curve=_banded(grid, line, lines, level, curve),
        default_test=test,
        events=int(y.sum()),
        expected=float(p.sum()),
        confidence_level=level,
        n_resamples=number,
        seed=seed,
        notes=notes,
        event=name_of_event(sample.predictions),
    )


def _grid(p: FloatArray) -> FloatArray:
    """Risks between the 1 % and 99 % quantiles of those that are not 0 or 1."""
    inner = p[(p > 0.0) & (p < 1.0)]
    low, high = np.quantile(inner, [0.01, 0.99]) if inner.size else (0.5, 0.5)
    return np.unique(np.linspace(low, high, GRID))


def _statistics(p: FloatArray, curve: CurveOf) -> Callable[[Array], FloatArray]:
    """The function of outcomes (B, n) with numbers and curves (B, 8 + m)."""
    kept = (p > 0.0) & (p < 1.0)
    x = scipy.special.logit(p[kept])
    _, inverse, counts = np.unique(p, return_inverse=True, return_counts=True)
    middle_ranks = (np.cumsum(counts) - (counts - 1) / 2.0)[inverse]
    design, has_slope = np.column_stack([np.ones(x.size), x]), np.unique(x).size > 1
    in_the_large = cache(lambda events: shift(p[kept], events / x.size))

    def function(outcomes: Array) -> FloatArray:
        y = np.asarray(outcomes, dtype=np.float64)
        inner, found = y[:, kept], np.full((len(y), FIRST_ERROR), np.nan)
        if p.any():
            found[:, 0] = y.sum(axis=1) / p.sum()
        if x.size:
            found[:, 1] = [in_the_large(events) for events in inner.sum(axis=1)]
        if has_slope:
            found[:, 2] = logistic_fits(design, inner, np.array([0.0, 1.0]))[:, 1]
            found[:, 3] = concordance(y, middle_ranks)
        found[(inner == inner[:, :1]).all(axis=1), 1:3] = np.nan
        found[(y == y[:, :1]).all(axis=1), 3] = np.nan
        values, line = curve(p, y)
        return np.hstack([found, _sizes(np.abs(values - p)), line])

    return function


def _intervals(
    p: FloatArray, y: Array, observed: FloatArray, level: float
) -> tuple[dict[str, ConfidenceInterval], tuple[str, ...]]:
    """Those that exist, and why others do not."""
    found, kept, method = {}, (p > 0.0) & (p < 1.0), CLOPPER_PEARSON
    if np.isfinite(observed[0]):
        low, high = (end / float(p.mean()) for end in clopper_pearson(int(y.sum()), y.size, level))
        found[NAMES[0]] = ConfidenceInterval(low, high, level, method)
    if np.isfinite(observed[1]):
        low, high = (shift(p[kept], end) for end in clopper_pearson(int(y[kept].sum()), int(kept.sum()), level))
        found[NAMES[1]] = ConfidenceInterval(low, high, level, method)
    notes: tuple[str, ...] = ()
    if kept.any() and y[kept].min() < y[kept].max():
        try:
            found[NAMES[2]] = cox_calibration(p, y, confidence_level=level).slope_interval
        except ValueError as reason:
            notes = (f"no interval of the slope: {reason}",)
    if np.isfinite(observed[3]):
        found[NAMES[3]] = interval_of_concordance(p, y, float(observed[3]), level)
    return found, notes


def shift(risks: FloatArray, mean: float) -> float:
    """What is added to the log-odds of risks so that their mean is a number; risks of 0 and 1 stay."""
    inner = risks[(risks > 0.0) & (risks < 1.0)]
    wanted = mean * risks.size - np.count_nonzero(risks >= 1.0)
    if wanted <= 0.0 or wanted >= inner.size:
        return -np.inf if wanted <= 0.0 else np.inf
    x = scipy.special.logit(inner)
    centre = float(scipy.special.logit(wanted / inner.size))

    def excess(a: float) -> float:
        return float(scipy.special.expit(a + x).sum()) - wanted

    # With all log-odds at the smallest or at the largest one, the mean is too large or too small.
    return float(scipy.optimize.brentq(excess, centre - x.max() - 1e-6, centre - x.min() + 1e-6, xtol=1e-10))


def _by_law(one: ClinicalMeasure, p: FloatArray, y: Array, alpha: float) -> ClinicalMeasure:
    """O:E or calibration in the large, with range and p-value by the Poisson-binomial law of the number of events."""
    kept = (p > 0.0) & (p < 1.0) if one.name == NAMES[1] else np.full(p.size, True)
    law, events = law_of_count(p[kept]), int(y[kept].sum())
    if one.name == NAMES[1]:
        law[[0, -1]] = 0.0  # for those it does not exist
        law /= law.sum()
    possible = two_sided(law)
    ends = np.flatnonzero((possible > alpha) & (law > 0.0))[[0, -1]].tolist()
    low, high = (shift(p[kept], k / kept.sum()) if one.name == NAMES[1] else k / float(p.sum()) for k in ends)
    return replace(one, usual=(low, high), pvalue=float(possible[events]))


def _notes_of_existence(p: FloatArray, y: Array, exists: BoolArray) -> tuple[str, ...]:
    """Which measures need events and cases without, and how often calibrated data have both."""
    kept = (p > 0.0) & (p < 1.0)
    if not p.any():
        return ("there is no O:E ratio, as all risks are 0",)
    if not kept.any():
        return ()
    where = "" if kept.all() else " of risks between 0 and 1"
    all_three = kept.all() or y.min() == y.max()
    names = "calibration in the large, slope and c" if all_three else "calibration in the large and slope"
    if y[kept].min() == y[kept].max():
        return (f"{names} do not exist for {'events alone' if y[kept][0] else 'no events'}{where}",)
    share = float(exists[:, 1].mean())
    if share >= RARELY:
        return ()
    given = "have no p-value" if exists[:, 1].sum() < FEWEST else "have p-values that are exact given that they exist"
    return (
        f"{100 * (1 - share):.2g} % of calibrated data sets with these risks have no event{where}, or nothing else, "
        f"and there {names} do not exist: they {given}",
    )


def too_few(p: FloatArray, y: Array) -> str:
    """Why errors of curves have no intervals, if they have none: too little happened, or was expected.

    Where little is expected, many events are seen by chance only, and intervals for these would not hold.
    """
    kept = (p > 0.0) & (p < 1.0)
    n, events, expected = int(kept.sum()), int(y[kept].sum()), float(p[kept].sum())
    if min(events, n - events, expected, n - expected) >= FEWEST_EVENTS:
        return ""
    between = "" if n == y.size else ", of risks between 0 and 1"
    return (
        f"{events} with the event and {n - events} without{between}, {count(expected)} and {count(n - expected)} "
        f"expected; wanted at least {FEWEST_EVENTS} of each"
    )


def _notes_of_rounding(p: FloatArray) -> tuple[str, ...]:
    """Whether risks are multiples of a step that is large beside them."""
    scaled = p[None] / np.array(STEPS)[:, None]
    rounded = np.abs(scaled - np.round(scaled)).max(axis=1) < 1e-6
    if not rounded.any() or np.isin(p, (0.0, 1.0)).all():
        return ()
    step = STEPS[int(rounded.argmax())]
    share = step / 4.0 / float(p.mean())
    if share < COARSE:
        return ()
    return (
        f"risks are rounded to multiples of {step:g}, which moves them by {100 * share:.2g} % of the mean risk on "
        "average: what is found may be the rounding; pass more digits",
    )


def _intervals_of_errors(
    p: FloatArray, grid: FloatArray, line: FloatArray, others: FloatArray, level: float
) -> dict[str, ConfidenceInterval]:
    """Between the smallest and the largest errors of all curves within a band around the fitted one.

    The band holds curves that are fitted to outcomes drawn from the fitted one, as a whole, with the level.
    """
    deviation = np.maximum(others.std(axis=0), 1e-12)
    reach = float(np.quantile(np.abs((others - line) / deviation).max(axis=1), level, method="higher"))
    # Curves are smooth functions of the log-odds; risks of 0 and 1 keep their values.
    kept, least, most = (p > 0.0) & (p < 1.0), np.zeros(p.size), np.zeros(p.size)
    x, at, risks = scipy.special.logit(p[kept]), scipy.special.logit(grid), p[kept]
    low, high = (np.interp(x, at, np.clip(line + sign * reach * deviation, 0.0, 1.0)) for sign in (-1.0, 1.0))
    least[kept] = np.maximum(0.0, np.maximum(low - risks, risks - high))
    most[kept] = np.maximum(np.abs(risks - low), np.abs(risks - high))
    smallest, largest = (_sizes(one[None])[0].tolist() for one in (least, most))
    ends = zip(NAMES[FIRST_ERROR:], smallest, largest, strict=True)
    return {name: ConfidenceInterval(a, b, level, "curves in a bootstrap band") for name, a, b in ends}


def _sizes(errors: FloatArray) -> FloatArray:
    """ICI, E50, E90 and Emax of absolute errors (B, n)."""
    return np.column_stack([errors.mean(axis=1), *np.quantile(errors, [0.5, 0.9], axis=1), errors.max(axis=1)])


def _measure(
    i: int, value: float, null: FloatArray, interval: ConfidenceInterval | None, level: float
) -> ClinicalMeasure:
    """With what calibrated models give, and the p-value: one plus the redraws that are as extreme, over all."""
    above, below = resampling_pvalue(value, null), resampling_pvalue(-value, -null)
    if i >= FIRST_ERROR:
        low, high, pvalue = 0.0, float(np.quantile(null, level, method="higher")), above
        if interval is not None:
            # The band is known on a grid, and the curve can leave it between its points.
            low_end = 0.0 if pvalue > 1.0 - level else min(interval.low, value)
            interval = replace(interval, low=low_end, high=max(interval.high, value))
    else:
        tail = (1.0 - level) / 2.0
        low = float(np.quantile(null, tail, method="lower"))
        high, pvalue = float(np.quantile(null, 1.0 - tail, method="higher")), min(1.0, 2.0 * min(above, below))
    return ClinicalMeasure(NAMES[i], value, interval, IDEAL[i], (low, high), pvalue)


def _banded(grid: FloatArray, line: FloatArray, lines: FloatArray, level: float, name: str) -> CalibrationCurve:
    """The band in which the whole curve of a calibrated model is with a probability of the level.

    The p-value is that of the largest deviation in standard deviations at each place.
    """
    if not np.isfinite(line).all():
        return CalibrationCurve(name, (), (), ((), ()), 1.0)
    low, high, largest = band_of_redraws(np.vstack([line, lines]), level)
    pvalue = resampling_pvalue(float(largest[0]), largest[1:])
    ends = (np.clip(end, 0.0, 1.0) for end in (low, high))
    risk, frequency, below, above = (tuple(one.tolist()) for one in (grid, line, *ends))
    return CalibrationCurve(name, risk, frequency, (below, above), pvalue)
