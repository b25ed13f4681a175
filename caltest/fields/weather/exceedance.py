"""How often outcomes exceed thresholds, beside the share of members that do."""

from typing import Any

import numpy as np

from caltest._basics.calls import own_errstate
from caltest._basics.numerics import ArrayLike, BoolArray, FloatArray, IntArray
from caltest._validation import increasing_numbers, whole_number
from caltest.fields.weather.forecasts import forecasts_of
from caltest.fields.weather.result import LeadResult, VerificationResult
from caltest.fields.weather.testing import Lead, Ranks, Table, parts_tested, shown, verified

WORDS = {
    "frequency": ("the event is more frequent than in the members", "the event is less frequent than in the members"),
    "slope": ("shares of members vary too little", "shares of members vary too much"),
    "rest": ("frequencies are wrong in another way", "frequencies are wrong in another way"),
}

UNITS = {"frequency": "frequency of the event less mean share of members"}


@own_errstate
def exceedances(
    predictions: ArrayLike,
    targets: ArrayLike,
    thresholds: ArrayLike,
    *,
    n_bins: int = 10,
    horizon: int | None = None,
    missing: str = "refuse",
    n_resamples: int = 999,
    rng: Any = None,
) -> VerificationResult:
    """Test whether outcomes exceed thresholds as often as members do: reliability of probabilities of events.

    Cases are grouped by the share s of members above the threshold, and the frequency o_g of outcomes above it in a
    group is compared with its mean e_g if calibrated. A squared statistic of these differences, in units of their
    covariance, has the parts::

        frequency:  sum_g n_g o_g  against its mean        slope:  sum_g s_g n_g (o_g - e_g)        rest

    Parameters
    ----------
    predictions, targets, horizon, missing, n_resamples, rng
        As in ``rank_histogram``.
    thresholds
        One or several increasing numbers in the unit of the outcomes; the event is to be above one.
    n_bins
        Number of groups of equal width of the share of members.

    Returns
    -------
    VerificationResult
        With a row for each event: a lead time and a threshold.

    Raises
    ------
    ValueError, TypeError
        As in ``rank_histogram``; for thresholds that do not increase, or one that no value or every value exceeds.

    Notes
    -----
    For few members the frequencies e_g are not the shares of members, even for right ensembles, but between them and
    the frequency of all; the redraws of ``rank_histogram`` have the same means. P-values are exact if dates are
    independent; where earlier outcomes change later forecasts nearly so for many dates. Rows are adjusted by Holm's
    method. Time as that of ``rank_histogram``, for each threshold.

    Sources: Broecker and Smith 2007 for bands of reliability diagrams; Richardson 2001 for few members. The parts are
    not from the literature.

    Examples
    --------
    >>> import numpy as np
    >>> from caltest.fields import weather
    >>> rng = np.random.default_rng(1)
    >>> rain = np.maximum(0.0, rng.normal(size=(300, 1)) + rng.normal(size=(300, 10)))
    >>> result = weather.exceedances(rain[:, :9] + 0.5, rain[:, 9], [1.0, 2.0], rng=1)
    >>> result.verdict()
    'reject calibration at the 5 % level for 1 of 2 events: above 1'
    """
    bins = whole_number("n_bins", n_bins, 1)
    levels = increasing_numbers(np.atleast_1d(np.asarray(thresholds)), "thresholds", "them in increasing order")
    return verified(
        forecasts_of(predictions, targets, horizon, missing),
        lambda lead: _tested(lead, bins),
        n_resamples,
        rng,
        levels=levels.tolist(),
        test="frequency of exceedances",
        each="event",
        axis=("share of members above the threshold", "frequency"),
        citations=("broecker2007", "richardson2001", "westfall1993"),
    )


def _tested(lead: Lead, n_bins: int) -> LeadResult:
    given, events = lead.given, (lead.pools > lead.level) & lead.given[..., None]
    n, m, count = int(given.sum()), events.shape[2] - 1, int(events.sum())
    if count in (0, n * (m + 1)):
        raise ValueError(f"thresholds: got {lead.level:g}, which {'no' if count == 0 else 'every'} value exceeds")
    groups = np.minimum(np.arange(m + 1) * n_bins // m, n_bins - 1)
    n_groups = int(groups[-1]) + 1
    counts = lead.sums(_table(events, given, groups, n_groups), 2 * n_groups * (m + 1))
    whole = counts[0]
    sizes, hits = whole.expected[:n_groups], whole.expected[n_groups:]
    expected = np.divide(hits, sizes, out=np.zeros(n_groups), where=sizes > 0.0)
    # Differences of hits and their means in groups of the observed size, and before these all hits.
    turned = np.concatenate([[[0.0] * n_groups + [1.0] * n_groups], np.hstack([-np.diag(expected), np.eye(n_groups)])])
    places = np.bincount(groups, np.arange(m + 1) / m) / np.bincount(groups)
    rows = np.zeros((2, n_groups + 1))
    rows[0, 0], rows[1, 1:] = 1.0, places - places.mean()
    errors = (events[..., -1] - events[..., :-1].mean(axis=2)) * given
    bias = float(errors.sum() / n)
    estimates = {"frequency": (bias, lead.mean((errors - bias * given).sum(axis=1), float(n), bias))}
    parts = parts_tested([one.turned(turned) for one in counts], rows, WORDS, UNITS, estimates)
    values = whole.deviations + whole.expected
    frequencies = np.tile(expected, (len(values), 1))
    np.divide(values[:, n_groups:], values[:, :n_groups], out=frequencies, where=values[:, :n_groups] > 0.5)
    seen = values[0, :n_groups] > 0.5
    rows_shown = shown(lead, places, frequencies, expected)
    picture = {name: tuple(np.minimum(row, 1.0)[seen].tolist()) if row else () for name, row in rows_shown.items()}
    return lead.result(Ranks.of(events.astype(np.float64), given, lead.rng), parts, **picture)


def _table(events: BoolArray, given: BoolArray, groups: IntArray, n_groups: int) -> Table:
    """How many cases are in each group, and how many of them have the event."""
    totals = events.sum(axis=2)

    size = events.shape[2]

    def of(dates: IntArray) -> FloatArray:
        out = np.zeros((len(dates), size, 2 * n_groups))
        rows, values = np.arange(len(dates))[:, None], np.arange(size)
        for station in range(events.shape[1]):
            hit = events[dates, station]
            group = groups[np.minimum(totals[dates, station, None] - hit, size - 1)]
            out[rows, values, group] += given[dates, station, None]
            out[rows, values, n_groups + group] += hit
        return out

    return of
