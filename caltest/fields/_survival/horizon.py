"""One-calibration: predicted and observed risks at a horizon."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy

from caltest._basics.calls import own_errstate, pvalues_only
from caltest._basics.numerics import ArrayLike, BoolArray, FloatArray, IntArray, rows_by_size, seed_of
from caltest._results.values import ConfidenceInterval, share_interval
from caltest._validation import fraction, positive_number, whole_number
from caltest.fields._survival.bins import FEWEST, starts_of
from caltest.fields._survival.result import SurvivalCalibration, SurvivalGroup
from caltest.named_tests import OmnibusTest
from caltest.predictions.censored import UNSEEN, Censored, in_order_of_times, levels_of, notes_on_times
from caltest.predictions.levels import Levels


@own_errstate
def one_calibration(
    predictions: ArrayLike,
    targets: Censored,
    horizon: float,
    *,
    n_groups: int = 10,
    n_resamples: int = 999,
    confidence_level: float = 0.95,
    rng: Any = None,
) -> SurvivalCalibration:
    """One-calibration: predicted and observed risks at a horizon, in groups of similar predictions, and O:E.

    Parameters
    ----------
    predictions, targets
        As in ``d_calibration``; there is no exact p-value for predicted probabilities, which are of an event up to the
        horizon.
    horizon
        A time, in their unit.
    n_groups
        Groups of equal size by predicted risk; neighbours are joined until each has 5 events up to the horizon and a
        row that was seen as long, if any was and not all had the event.
    n_resamples, rng
        Of the exact test, as in ``calibration_test``.
    confidence_level
        Of the intervals.

    Raises
    ------
    ValueError
        For bad data or settings, fewer than two such groups, or a horizon as long as which nobody was seen.
    TypeError
        For families that are not continuous, or targets that are not ``Censored``.

    Notes
    -----
    With the Kaplan-Meier estimates S_g of the groups at the horizon, their Greenwood variances V_g and mean predicted
    risks p_g, ``sum_g (1 - S_g - p_g)^2 / V_g`` is compared with the chi-squared law with G degrees of freedom
    (Greenwood-Nam-D'Agostino; G - 1, as published, is for predictions that were fitted to these rows). V_g is 0 where
    all rows of a group had the event; ``p_g (1 - p_g) / n_g`` takes its place. The comparison is asymptotic, and
    rejects calibrated predictions too often where many rows are censored. It is right only if censoring is independent
    of the event in each group; so are the observed shares and the O:E ratio ``(1 - S) / p`` of all rows. S is the mean
    of the S_g, weighted by their rows, and not the Kaplan-Meier estimate of all rows, which is wrong where rows of high
    risk are censored sooner, or later, than others; its variance is theirs, or Greenwood's of all rows if that is
    larger. The exact p-value needs independence given the prediction only: a row that is censored before the horizon
    gets an event with the predicted probability given that it was free of it so far, and the default test compares
    these outcomes with the risks. Cost that of ``calibration_test``.

    Two groups with 5 events must have occurred, and rows that are seen up to the horizon: where few are, those are data
    sets with many by chance, in which neither p-values nor the interval for O:E hold. How often both do stands in
    ``docs/validity.md``, "Survival curves".

    Source: Demler, Paynter and Cook 2015.

    Examples
    --------
    >>> import caltest as ct
    >>> rng = np.random.default_rng(1)
    >>> rate = rng.uniform(0.2, 1.0, 500)
    >>> time, end = rng.exponential(1.0 / rate), rng.exponential(4.0, 500)
    >>> targets = ct.Censored(np.minimum(time, end), time <= end)
    >>> ct.fields.one_calibration(1.0 - np.exp(-2.0 * rate), targets, 1.0, n_groups=4).ratio.estimate < 0.7
    True
    """
    at, level = positive_number("horizon", horizon), fraction("confidence_level", confidence_level)
    number, redraws = whole_number("n_groups", n_groups, 2), whole_number("n_resamples", n_resamples, 1)
    laws = in_order_of_times(targets, predictions)
    if at > laws.longest:
        raise ValueError(f"horizon: got {at:g}, wanted at most {laws.longest:g}, the last time of the curves")
    risk = levels_of(laws, Censored(np.full(len(targets), at), np.zeros(len(targets))))[1].low
    time, event = np.asarray(targets.time), np.asarray(targets.event)
    happened = event & (time <= at)
    if not event.any():
        raise ValueError(f"targets: got censored times only, wanted two groups with {FEWEST} events; {UNSEEN}")
    if not _is_known(time, event, at, of_all=False):
        raise ValueError(f"horizon: got {at:g}, after the last time {time.max():g}, which is censored")

    def are_enough(some: list[IntArray]) -> bool:
        rows = np.concatenate(some)
        is_known = _is_known(time[rows], event[rows], at, of_all=bool(time.max() >= at))
        return is_known and int(np.count_nonzero(happened[rows])) >= FEWEST

    parts = rows_by_size(risk, number)
    starts = starts_of(parts, are_enough)
    groups = [np.concatenate(parts[a:b]) for a, b in zip(starts, [*starts[1:], None], strict=True)]
    if len(groups) < 2:
        events, more, advice = int(happened.sum()), "", "a later horizon, or "
        if np.unique(risk).size == 1:
            more, advice = " of different predicted risks, but all risks are the same", ""
        elif events >= 2 * FEWEST:
            more, advice = ", of which each has a row seen up to then", "another horizon, or "
        wanted = f"two groups with {FEWEST}{more}; take {advice}calibration_test"
        raise ValueError(f"targets: got {events} events up to {at:g}, wanted {wanted}")
    rows, variances = zip(*(_row(risk[one], time[one], event[one], at, level) for one in groups), strict=True)
    statistic = sum((row.observed - row.predicted) ** 2 / of_row for row, of_row in zip(rows, variances, strict=True))
    weights = np.array([row.n for row in rows]) / risk.size
    survival = float(weights @ [1.0 - row.observed for row in rows])
    # Greenwood's variances of small groups of which few are left are too small.
    variance = max(float(np.square(weights) @ variances), _row(risk, time, event, at, level)[1])
    whole = _interval(survival, variance, int(happened.sum()), level)
    low, high, share = (one / float(risk.mean()) for one in (*whole, 1.0 - survival))
    ratio = ConfidenceInterval(low, high, level, whole.method, share)
    tail, seed = float(scipy.special.chdtrc(len(rows), statistic)), seed_of(rng)
    known, levels = levels_of(laws, targets)
    exact = None if known is None else _exact(levels, risk, redraws, seed)
    asked = [one for one in notes_on_times(known, targets, levels) if one.endswith("?")]
    return SurvivalCalibration(
        method=f"One-calibration at {at:g}",
        rows=rows,
        pvalue=tail if exact is None else exact,
        approximate=tail,
        statistic=statistic,
        degrees=len(rows),
        ratio=ratio,
        n=risk.size,
        n_censored=targets.n_censored,
        n_resamples=None if exact is None else redraws,
        seed=None if exact is None else seed,
        notes=(SURVIVAL,) if exact is None and _fit_turned(rows) else tuple(asked),
    )


SURVIVAL = "1 - p would fit the events: are these probabilities of no event up to the horizon?"
"""What to ask about risks that fall where events are frequent."""


def _fit_turned(rows: Sequence[SurvivalGroup]) -> bool:
    """Whether ``1 - p`` is less than half as far from what was observed, and outside of half as many intervals."""
    found = []
    for turned in (False, True):
        pairs = [(one, 1.0 - one.predicted if turned else one.predicted) for one in rows]
        off = sum(one.n * abs(one.observed - p) for one, p in pairs)
        found.append((off, sum(one.interval is not None and one.interval.excludes(p) for one, p in pairs)))
    (off, outside), (off_turned, outside_turned) = found
    return off_turned < off / 2.0 and outside_turned < outside / 2.0


def _exact(levels: Levels, risk: FloatArray, n_resamples: int, seed: int) -> float:
    """P-value of events up to the horizon, drawn for rows that were censored before."""
    low, high, *_ = levels
    drawn = low + (high - low) * np.random.default_rng(seed).spawn(1)[0].random(low.size)
    with pvalues_only():
        return float(OmnibusTest(n_resamples=n_resamples)(risk, (drawn <= risk).astype(np.intp), rng=seed).pvalue)


def _is_known(time: FloatArray, event: BoolArray, horizon: float, of_all: bool) -> bool:
    """Whether a row was seen up to the horizon, or had the event before: the last one, or all.

    With others censored, the last of few rows under observation brings survival to 0 by chance.
    """
    return bool(time.max() >= horizon or (event if of_all else event[time == time.max()]).all())


def _row(
    risk: FloatArray, time: FloatArray, event: BoolArray, horizon: float, level: float
) -> tuple[SurvivalGroup, float]:
    """A group with its Kaplan-Meier estimate at the horizon, and Greenwood's variance of that."""
    happened, predicted = event & (time <= horizon), float(risk.mean())
    places, counts = np.unique(time[happened], return_counts=True)
    at_risk = time.size - np.searchsorted(np.sort(time), places, side="left")
    survival, some = float(np.prod(1.0 - counts / at_risk)), at_risk > counts
    greenwood = float((counts[some] / (at_risk[some] * (at_risk[some] - counts[some]))).sum())
    # Greenwood's variance is 0 where all had the event.
    variance = max(survival**2 * greenwood if survival > 0.0 else predicted * (1.0 - predicted) / time.size, 1e-12)
    events, name = int(happened.sum()), f"risk {risk.min():.3g} to {risk.max():.3g}"
    interval = _interval(survival, variance, events, level)
    return SurvivalGroup(name, time.size, events, predicted, 1.0 - survival, interval), variance


def _interval(survival: float, variance: float, events: int, level: float) -> ConfidenceInterval:
    """Of the share of events up to the horizon, from an estimate of survival, below 1, and its variance."""
    if survival == 0.0:
        # All others were censored before the last event, and say nothing.
        return share_interval(events, events, level)
    hazard = -np.log(survival)
    width = float(scipy.special.ndtri((1.0 + level) / 2.0)) * np.sqrt(variance) / (survival * hazard)
    low, high = (1.0 - float(np.exp(-hazard * np.exp(sign * width))) for sign in (-1.0, 1.0))
    return ConfidenceInterval(low, high, level, "Greenwood, on the scale of log(-log)", 1.0 - survival)
