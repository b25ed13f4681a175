"""Calibration in survival analysis: D- and A-calibration in bins, and one-calibration at a horizon."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from caltest._basics.numerics import (
    Array,
    ArrayLike,
    BoolArray,
    FloatArray,
    IntArray,
    order_of,
    own_errstate,
    resampling_pvalue,
    seed_of,
)
from caltest._results.report import at_level, decision, format_pvalue, pvalue_phrase, with_interval
from caltest._results.tables import Bar, Page, Table, TabularResult
from caltest._results.values import ConfidenceInterval, Stored
from caltest._validation import fraction, positive_number, whole_number
from caltest._validation.arrays import refuse_rows, same_length
from caltest._validation.groups import rows_of
from caltest.estimators.combined.measures import clopper_pearson
from caltest.named_tests import OmnibusTest
from caltest.predictions.censored import Censored, in_rows_of, notes_on_times, ranges_of


@dataclass(frozen=True)
class SurvivalGroup:
    """A bin of integral transforms, or a group of similar predictions.

    Attributes
    ----------
    n, events
        Rows, and events among them: up to the horizon, if there is one.
    predicted, observed
        Share of events that is predicted, and the one that is observed given the censoring.
    interval
        Of the observed share: at a horizon by Greenwood's variance on the scale of log(-log), or of Clopper and Pearson
        where all had the event; of bins that of Garwood for Poisson counts, which vary more than these, for all bins
        together (Bonferroni).

    Examples
    --------
    >>> import caltest as ct
    >>> targets = ct.Censored([1.0, 2.0, 0.5, 3.0], [1, 0, 1, 1])
    >>> [one.name for one in ct.fields.d_calibration([0.6, 0.9, 0.4, 0.95], targets, n_bins=2, rng=1).rows]
    ['0 to 0.5', '0.5 to 1']
    """

    name: str
    n: int
    events: int
    predicted: float
    observed: float
    interval: ConfidenceInterval | None = None


@dataclass(frozen=True, eq=False, repr=False)
class SurvivalCalibration(TabularResult, Stored):
    """D-, A- or one-calibration. Printing it gives a table.

    Attributes
    ----------
    rows
        Bins or groups.
    pvalue
        Exact, but asymptotic for one-calibration of risks instead of distributions.
    approximate
        The chi-squared tail of the published ``statistic`` with its ``degrees`` of freedom.
    ratio
        Observed over expected events up to the horizon; None for the others.

    Examples
    --------
    >>> import caltest as ct
    >>> targets = ct.Censored([1.0, 2.0, 0.5, 3.0], [1, 0, 1, 1])
    >>> ct.fields.d_calibration([0.6, 0.9, 0.4, 0.95], targets, n_bins=2, rng=1)
    <D-calibration: p = 0.65, n = 4>
    """

    method: str
    rows: tuple[SurvivalGroup, ...]
    pvalue: float
    approximate: float
    statistic: float
    degrees: int
    ratio: ConfidenceInterval | None
    n: int
    n_censored: int
    n_resamples: int | None = None
    seed: int | None = None
    notes: tuple[str, ...] = ()

    picture = "forest"
    citations = ("akritas1988", "demler2015", "dwass1957", "haider2020")

    def __repr__(self) -> str:
        return f"<{self.method}: {pvalue_phrase(self.pvalue)}, n = {self.n}>"

    def verdict(self, alpha: float = 0.05) -> str:
        """What the p-value says at a level."""
        level = at_level(alpha)
        if self.pvalue > alpha:
            return f"no evidence against calibration {level}"
        worst = max(self.rows, key=lambda one: abs(one.observed - one.predicted))
        more = "more" if worst.observed > worst.predicted else "fewer"
        place = worst.name if self.ratio is not None else f"F(time) from {worst.name}"
        return f"reject calibration {level}: {more} {self._counted} than predicted for {place}"

    @property
    def _counted(self) -> str:
        """What the shares are of: D-calibration has censored rows in the bins in which their events are likely."""
        return "times" if self.method == "D-calibration" else "events"

    def sentence(self, alpha: float = 0.05) -> str:
        """For a paper: the test with its decision at a level, and the O:E ratio."""
        how = "chi-squared law" if self.n_resamples is None else f"exact test by {self.n_resamples} redraws"
        one = self.ratio
        ratio = "" if one is None or one.estimate is None else f"; the O:E ratio was {with_interval(one.estimate, one)}"
        return (
            f"Calibration was {decision(self.pvalue, alpha)} for {self.n} predictions, "
            f"{self.n_censored} with censored times ({self.method}, {how}, {pvalue_phrase(self.pvalue)}){ratio}."
        )

    def bars(self) -> list[Bar]:
        """Observed shares beside predicted ones, for ``plots.forest``."""
        what = "predicted", f"share of {self._counted}"
        return [
            Bar(one.name, one.observed, own, one.predicted, *what, own is not None and own.excludes(one.predicted))
            for one in self.rows
            for own in [one.interval]
        ]

    def table(self) -> Table:
        header = ["", "n", "events", "predicted", "observed"]
        return [header, *(_cells(one) for one in self.rows)]

    def summary(self, alpha: float = 0.05) -> Page:
        exact = self.seed is not None
        found = {
            "Verdict": self.verdict(alpha),
            "p-value": f"{format_pvalue(self.pvalue)} ({'exact' if exact else 'asymptotic'})",
            "Approximate": f"{format_pvalue(self.approximate)} (chi-squared {self.statistic:.4g}, {self.degrees} df)"
            if exact
            else None,
            "O:E ratio": None if self.ratio is None else f"{self.ratio.estimate:.3g}, {self.ratio}",
            "Rows": f"{self.n}, of which {self.n_censored} are censored",
        }
        own = [one.interval for one in self.rows if one.interval is not None and self.ratio is None]
        what = {
            "Intervals": f"{100 * own[0].confidence_level:g} %: {own[0].method}" if own else None,
            "Assumes": "censoring is independent of the event given the prediction; rows independent, not used to fit",
            "Reproduce": None if self.seed is None else f"rng={self.seed}",
        }
        return self._page(self.method, found, what, notes=self.notes)


def _cells(one: SurvivalGroup) -> list[str]:
    interval = "" if one.interval is None else f" ({one.interval.low:.3g} to {one.interval.high:.3g})"
    return [one.name, str(one.n), str(one.events), f"{one.predicted:.3g}", f"{one.observed:.3g}{interval}"]


FEWEST = 5
"""Events that a group of one-calibration has at least, and expected ones of a bin of A-calibration."""


LEVEL = 0.95
"""Of intervals of all bins together."""


@own_errstate
def d_calibration(
    predictions: ArrayLike,
    targets: Censored,
    *,
    limits: ArrayLike | None = None,
    n_bins: int = 10,
    n_resamples: int = 999,
    rng: Any = None,
) -> SurvivalCalibration:
    """D-calibration: whether event times fall into each tenth of their predicted distributions equally often.

    Parameters
    ----------
    predictions
        n continuous predictions or ``SurvivalCurve`` ones, or (n,) predicted probabilities ``F_i(time_i)`` of an event
        up to the time of the row.
    targets
        n censored times.
    limits
        (n,) times at which rows were or would have been censored, such as the end of the study, if they are known for
        all, and not only where they came first. The exact p-value is then that of the published statistic.
    n_bins
        Bins of equal width of ``F(time)``.
    n_resamples, rng
        Of the exact p-value, as in ``calibration_test``.

    Raises
    ------
    ValueError
        For bad data or settings.
    TypeError
        For families that are not continuous, or targets that are not ``Censored``.

    Notes
    -----
    As published, a censored row counts in each bin with the conditional probability that its event is there, and
    ``sum_b (N_b - n / K)^2 / (n / K)`` is compared with the chi-squared law with K - 1 degrees of freedom. Counts that
    are spread vary less, so that this p-value is far too large where much is censored. For the exact one the place of a
    censored row is drawn, as in ``censored_pit_values``, and the counts are compared with redrawn multinomial ones.
    That is noise, but where an event came first nobody knows when its row would have been censored, so that events
    cannot be redrawn. With ``limits`` they are: of each row up to its limit, and the published statistic of these.
    ``calibration_test`` finds more, as its tests see more than counts. Cost O(n + K B).

    Source: Haider et al. 2020.

    Examples
    --------
    >>> import caltest as ct
    >>> rng = np.random.default_rng(1)
    >>> time, end = rng.exponential(2.0, 200), rng.exponential(4.0, 200)
    >>> targets = ct.Censored(np.minimum(time, end), time <= end)
    >>> ct.fields.d_calibration(ct.Gamma([1.0] * 200, 1.0), targets, rng=1).pvalue
    0.001
    """
    return _in_bins("D-calibration", predictions, targets, limits, n_bins, n_resamples, rng)


@own_errstate
def a_calibration(
    predictions: ArrayLike,
    targets: Censored,
    *,
    limits: ArrayLike | None = None,
    n_bins: int = 10,
    n_resamples: int = 999,
    rng: Any = None,
) -> SurvivalCalibration:
    """A-calibration: events in each tenth of the predicted distributions, beside those expected while at risk.

    Parameters
    ----------
    predictions, targets, limits, n_bins, n_resamples, rng
        As in ``d_calibration``.

    Raises
    ------
    ValueError, TypeError
        As in ``d_calibration``, and fewer than 5 expected events.

    Notes
    -----
    With ``u = F(time)``, a row that leaves at u is expected to have ``log(1 - a) - log(1 - min(b, u))`` events in a bin
    (a, b) that it enters, the predicted cumulative hazard. Observed less expected counts of the bins are uncorrelated
    martingales with the expected counts as variances, so that ``sum_b (N_b - E_b)^2 / E_b`` is compared with the
    chi-squared law with as many degrees of freedom as bins, which is asymptotic; neighbours are joined until each
    expects 5 events. Nothing is spread, so that censoring costs less power than in D-calibration. The exact p-value is
    that of ``d_calibration``: places of censored rows are drawn. Cost O(n K + K B).

    Source: Akritas 1988.

    Examples
    --------
    >>> import caltest as ct
    >>> rng = np.random.default_rng(1)
    >>> time, end = rng.exponential(2.0, 200), rng.exponential(4.0, 200)
    >>> targets = ct.Censored(np.minimum(time, end), time <= end)
    >>> ct.fields.a_calibration(ct.Gamma([1.0] * 200, 1.0), targets, rng=1).approximate < 1e-9
    True
    """
    return _in_bins("A-calibration", predictions, targets, limits, n_bins, n_resamples, rng)


def _in_bins(
    method: str,
    predictions: ArrayLike,
    targets: Censored,
    limits: ArrayLike | None,
    n_bins: int,
    n_resamples: int,
    rng: Any,
) -> SurvivalCalibration:
    """Both, which differ in what censored rows count."""
    k, number = whole_number("n_bins", n_bins, 2), whole_number("n_resamples", n_resamples, 1)
    laws, low, high = ranges_of(predictions, targets)
    n, seed, event = low.size, seed_of(rng), np.asarray(targets.event)
    ends = None if limits is None else _limits(predictions, targets, limits)
    drawing, redrawing = np.random.default_rng(seed).spawn(2)
    drawn = low + (high - low) * drawing.random(n)
    edges, seen, counts, expected = _bins(method, low, high, drawn, event, k)
    if expected.sum() < FEWEST and method == "A-calibration":
        raise ValueError(
            f"targets: got {expected.sum():.3g} expected events, wanted at least {FEWEST}; take calibration_test"
        )
    df = len(counts) - (method == "D-calibration")
    statistic = float((np.square(counts - expected) / expected).sum())
    each = zip(edges, edges[1:], seen, expected, counts, strict=False)
    rows = tuple(
        SurvivalGroup(
            f"{a:.3g} to {b:.3g}", n, int(events), float(wanted / n), float(count / n), _garwood(count, n, len(counts))
        )
        for a, b, events, wanted, count in each
    )
    if ends is None:
        null = _chi_squared(redrawing.multinomial(n, np.full(k, 1.0 / k), size=number), n)
        observed = float(_chi_squared(np.bincount(_bin(drawn, k), minlength=k), n))
    else:
        null, observed = np.array([_redrawn(method, ends, k, redrawing) for _ in range(number)]), statistic
    pvalue = resampling_pvalue(observed, null)
    tail, censored = float(scipy.special.chdtrc(df, statistic)), int((~event).sum())
    notes = notes_on_times(laws, targets, low, high)
    return SurvivalCalibration(method, rows, pvalue, tail, statistic, df, None, n, censored, number, seed, notes)


def _garwood(count: float, n: int, n_bins: int) -> ConfidenceInterval:
    """Of the expected share of a bin among several, of which all hold with 95 %."""
    tail = (1.0 - LEVEL) / (2.0 * n_bins)
    low = float(scipy.special.gammaincinv(count, tail)) if count else 0.0
    high = float(scipy.special.gammaincinv(count + 1.0, 1.0 - tail))
    return ConfidenceInterval(low / n, high / n, LEVEL, f"Garwood, {n_bins} bins together", float(count / n))


def _bins(
    method: str, low: FloatArray, high: FloatArray, drawn: FloatArray, event: BoolArray, k: int
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Edges of bins, events in them, what is counted there, and what is expected."""
    seen, edges = np.bincount(_bin(drawn[event], k), minlength=k).astype(np.float64), np.arange(k + 1) / k
    if method == "D-calibration":
        return edges, seen, _spread(low, high, k), np.full(k, low.size / k)
    # Of rows that leave at these numbers, the predicted cumulative hazard in each bin.
    left = np.minimum(np.where(event, drawn, low), 1.0 - 1e-12)
    hazards = -np.log1p(-np.minimum(edges[:, None], left))
    expected = np.diff(hazards, axis=0).sum(axis=1)
    starts = starts_of(expected)
    seen, expected = (np.add.reduceat(one, starts) for one in (seen, expected))
    return np.append(edges[starts], 1.0), seen, seen, expected


def _redrawn(method: str, ends: FloatArray, k: int, rng: np.random.Generator) -> float:
    """The published statistic of events that happen as predicted, and are seen up to these ends (n,) of F."""
    u = rng.random(ends.size)
    event, low = u <= ends, np.minimum(u, ends)
    _, _, counts, expected = _bins(method, low, np.where(event, low, 1.0), low, event, k)
    return float((np.square(counts - expected) / expected).sum())


def _limits(predictions: ArrayLike, targets: Censored, limits: ArrayLike) -> FloatArray:
    """``F(limit)`` (n,) of the time at which each row would have been censored."""
    ends = rows_of(limits, "limits", order_of(targets, predictions)).array("limits")
    ends, time, event = np.asarray(Censored(ends, np.ones(len(targets))).time), targets.time, targets.event
    same_length(len(targets), len(ends))
    refuse_rows(np.where(event, ends < time, ends != time), ends, "limits", "the time where censored, a later one else")
    laws, low, high = ranges_of(in_rows_of(targets, predictions), Censored(ends, np.ones(len(targets))))
    if laws is None:
        raise TypeError("predictions: got probabilities at the times, wanted distributions, which say what F(limit) is")
    if (low < high).any():
        raise ValueError("limits: got some at which the curves do not say what F is; leave limits out")
    return low


def starts_of(counts: Array) -> list[int]:
    """First of joined neighbours, which have enough events together; all are joined where there are too few."""
    starts, total = [0], 0.0
    for i, count in enumerate(counts):
        if total >= FEWEST and counts[i:].sum() >= FEWEST:
            starts, total = [*starts, i], 0.0
        total += count
    return starts


def _bin(u: FloatArray, k: int) -> IntArray:
    return np.minimum((u * k).astype(np.intp), k - 1)


def _spread(low: FloatArray, high: FloatArray, k: int) -> FloatArray:
    """What rows count in each bin: the share of (low, high) that is in it, or 1 for the bin of a single number."""
    known = high <= low
    edges, start, end = np.arange(k + 1) / k, low[~known, None], high[~known, None]
    inside = np.maximum(np.minimum(edges[1:], end) - np.maximum(edges[:-1], start), 0.0)
    return np.asarray((inside / (end - start)).sum(axis=0) + np.bincount(_bin(low[known], k), minlength=k))


def _chi_squared(counts: Array, n: int) -> FloatArray:
    expected = n / counts.shape[-1]
    return np.asarray(np.square(counts - expected).sum(axis=-1) / expected)


@own_errstate
def one_calibration(
    predictions: ArrayLike,
    targets: Censored,
    horizon: float,
    *,
    n_groups: int = 10,
    confidence_level: float = 0.95,
    n_resamples: int = 999,
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
        Groups of equal size by predicted risk; neighbours are joined until each has 5 events up to the horizon.
    confidence_level
        Of the intervals.
    n_resamples, rng
        Of the exact test, as in ``calibration_test``.

    Raises
    ------
    ValueError
        For bad data or settings, fewer than two groups with 5 events, or a group in which nobody was seen as long as
        the horizon.
    TypeError
        For families that are not continuous, or targets that are not ``Censored``.

    Notes
    -----
    With the Kaplan-Meier estimates S_g of the groups at the horizon, their Greenwood variances V_g and mean predicted
    risks p_g, ``sum_g (1 - S_g - p_g)^2 / V_g`` is compared with the chi-squared law with G degrees of freedom
    (Greenwood-Nam-D'Agostino; G - 1, as published, is for predictions that were fitted to these rows). V_g is 0 where
    all rows of a group had the event; ``p_g (1 - p_g) / n_g`` takes its place. The comparison is
    asymptotic, rejects calibrated predictions somewhat too often, and is right only if censoring is independent of the
    event in each group; so are the observed shares and the O:E ratio ``(1 - S) / p`` of all rows. The exact p-value
    needs independence given the prediction only: a row that is censored before the horizon gets an event with the
    predicted probability given that it was free of it so far, and the default test compares these outcomes with the
    risks. Cost that of ``calibration_test``.

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
    risk = _risks(predictions, targets, at)
    time, event = np.asarray(targets.time), np.asarray(targets.event)
    happened = event & (time <= at)
    parts = _by_risk(risk, number)
    starts = starts_of(np.array([np.count_nonzero(happened[part]) for part in parts]))
    groups = [np.concatenate(parts[a:b]) for a, b in zip(starts, [*starts[1:], None], strict=True)]
    if len(groups) < 2:
        raise ValueError(
            f"targets: got {int(happened.sum())} events up to {at:g}, wanted two groups with {FEWEST}; "
            "take a later horizon, or calibration_test"
        )
    rows, statistic = [], 0.0
    for place in groups:
        row, variance = _row(risk[place], time[place], event[place], at, level)
        statistic += (row.observed - row.predicted) ** 2 / variance
        rows.append(row)
    whole, _ = _row(risk, time, event, at, level)
    assert whole.interval is not None
    low, high = (one / whole.predicted for one in whole.interval.ends)
    ratio = ConfidenceInterval(low, high, level, whole.interval.method, whole.observed / whole.predicted)
    tail, seed = float(scipy.special.chdtrc(len(rows), statistic)), seed_of(rng)
    exact = _exact(predictions, targets, risk, redraws, seed)
    return SurvivalCalibration(
        method=f"One-calibration at {at:g}",
        rows=tuple(rows),
        pvalue=tail if exact is None else exact,
        approximate=tail,
        statistic=float(statistic),
        degrees=len(rows),
        ratio=ratio,
        n=risk.size,
        n_censored=targets.n_censored,
        n_resamples=None if exact is None else redraws,
        seed=None if exact is None else seed,
    )


def _exact(predictions: ArrayLike, targets: Censored, risk: FloatArray, n_resamples: int, seed: int) -> float | None:
    """P-value of events up to the horizon, drawn for rows that were censored before; None without distributions."""
    laws, low, high = ranges_of(predictions, targets)
    if laws is None:
        return None
    drawn = low + (high - low) * np.random.default_rng(seed).spawn(1)[0].random(low.size)
    return float(OmnibusTest(n_resamples=n_resamples)(risk, (drawn <= risk).astype(np.intp), rng=seed).pvalue)


def _risks(predictions: ArrayLike, targets: Censored, horizon: float) -> FloatArray:
    laws = in_rows_of(targets, predictions)
    if horizon > laws.longest:
        raise ValueError(f"horizon: got {horizon:g}, wanted at most {laws.longest:g}, the last time of the curves")
    reached = Censored(np.full(len(targets), horizon), np.arange(len(targets)) == 0)
    return ranges_of(laws, reached)[1]


def _by_risk(risk: FloatArray, number: int) -> list[IntArray]:
    """Rows of groups of about equal size; equal risks are together."""
    order = np.argsort(risk, kind="stable")
    cuts = np.searchsorted(risk[order], risk[order][(np.arange(1, number) * risk.size) // number])
    return [one for one in np.split(order, np.unique(cuts)) if one.size]


def _row(
    risk: FloatArray, time: FloatArray, event: BoolArray, horizon: float, level: float
) -> tuple[SurvivalGroup, float]:
    """A group with its Kaplan-Meier estimate at the horizon, and Greenwood's variance of that."""
    if time.max() < horizon and not event[time == time.max()].all():
        raise ValueError(f"horizon: got {horizon:g}, after the last time {time.max():g} of a group, which is censored")
    happened = event & (time <= horizon)
    places, counts = np.unique(time[happened], return_counts=True)
    at_risk = time.size - np.searchsorted(np.sort(time), places, side="left")
    survival = float(np.prod(1.0 - counts / at_risk))
    some = at_risk > counts
    greenwood = float((counts[some] / (at_risk[some] * (at_risk[some] - counts[some]))).sum())
    predicted = float(risk.mean())
    # Greenwood's variance is 0 where all had the event.
    variance = max(survival**2 * greenwood if survival > 0.0 else predicted * (1.0 - predicted) / time.size, 1e-12)
    if survival in (0.0, 1.0):
        # Those that were censored before the horizon say nothing.
        known = int(np.count_nonzero(happened | (time > horizon)))
        ends = clopper_pearson(int(happened.sum()), known, level)
        interval = ConfidenceInterval(*ends, level, "Clopper and Pearson", 1.0 - survival)
    else:
        z, log = float(scipy.special.ndtri((1.0 + level) / 2.0)), float(np.log(-np.log(survival)))
        width = z * np.sqrt(greenwood) / abs(np.log(survival))
        low, high = (1.0 - float(np.exp(-np.exp(log + sign * width))) for sign in (-1.0, 1.0))
        interval = ConfidenceInterval(low, high, level, "Greenwood, on the scale of log(-log)", 1.0 - survival)
    name = f"risk {risk.min():.3g} to {risk.max():.3g}"
    return SurvivalGroup(name, time.size, int(happened.sum()), predicted, 1.0 - survival, interval), variance
