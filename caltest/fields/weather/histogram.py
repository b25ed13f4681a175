"""Rank histograms, of numbers and of vectors by their pre-ranks."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy

from caltest._basics.calls import own_errstate
from caltest._basics.numerics import ArrayLike, FloatArray
from caltest._validation import one_of
from caltest.fields.weather.forecasts import forecasts_of
from caltest.fields.weather.result import LeadResult, VerificationResult
from caltest.fields.weather.testing import Estimates, Lead, Ranks, contrasts, parts_tested, shown, verified

WORDS = {
    "bias": ("members too low", "members too high"),
    "spread": ("members too close to each other", "members too far from each other"),
    "rest": ("ranks uneven in another way", "ranks uneven in another way"),
}
"""What parts of large and small ranks mean for numbers."""

OF_VECTORS = {
    "bias": ("pre-ranks of outcomes too high", "pre-ranks of outcomes too low"),
    "spread": ("too many pre-ranks of outcomes at both ends", "too few pre-ranks of outcomes at both ends"),
    "rest": WORDS["rest"],
}

UNITS = {
    "bias": "mean rank of the outcome as a share, less 1/2",
    "spread": "mean square of the ranks about their middle, over that of calibrated ones, less 1",
}


@own_errstate
def rank_histogram(
    predictions: ArrayLike,
    targets: ArrayLike,
    *,
    prerank: Any = None,
    horizon: int | None = None,
    ties: str = "random",
    missing: str = "refuse",
    n_resamples: int = 999,
    rng: Any = None,
) -> VerificationResult:
    """Test whether outcomes have each rank among their members equally often, in parts, for every lead time.

    With deviations d of the m + 1 counts from their means if calibrated, and the covariance C of d::

        d' C^+ d = bias + spread + rest

    bias is the square of the linear contrast of d in units of its standard deviation, spread that of the quadratic one
    that is orthogonal to it, rest what remains. Without equal values this is Pearson's chi-squared statistic and the
    parts are those of Jolliffe and Primo.

    Parameters
    ----------
    predictions
        Members: (n, m) array-like at n dates in the order of time, (n, m, d) for d stations, ``Ensemble``; or an
        ``xarray.DataArray`` with the dimensions ``member`` (or ``number``, ``realization``, ``ensemble``), ``time`` and
        perhaps ``lead`` and ``station``.
    targets
        Outcomes, (n,) or (n, d), or an ``xarray.DataArray`` with the same dimensions and coordinates but ``member``.
    prerank
        None: all stations are counted in one histogram. ``"average"``, ``"band depth"``, ``"variogram"``, or a function
        from (m + 1, d) to (m + 1,) numbers that does not depend on the order of the m + 1 vectors: the vector of all
        stations has one rank, that of its number.
    horizon
        After how many dates the outcome of a forecast is known. Ranks of dates less far apart depend on each other for
        right forecasts too. By default the lead time in steps of time, if both are times, else 1.
    ties
        Equal values (rain: zeros) have their ranks in ``"random"`` order, or each its share of all of them,
        ``"shared"``, which adds no noise but is exact for independent dates only.
    missing
        ``"refuse"`` missing and masked values, or ``"drop"`` the cases (a station at a date) that lack some.
    n_resamples, rng
        As in ``calibration_test``: redraws for each lead time, more for more than 5 of them.

    Raises
    ------
    ValueError
        For bad data or settings, fewer than 2 members, or fewer than 2 dates (2 for each step of the horizon).
    TypeError
        For outcomes without named dimensions where the predictions have them, or a pre-rank of another kind.

    Notes
    -----
    Hypothesis: at each date the outcome could be any of the m + 1 values, for all stations at once. Each redraw chooses
    one value of each date as the outcome, for all stations, so that stations can depend on each other. Values of a
    member at several stations have to belong together: members in another order at each station are an error that is
    found, even if those of each station are right; test such stations one by one. If all values of
    each date are equal, with shared ties, nothing can be said and p = 1.

    P-values are exact if dates are independent, for every n, m and number of ties. Where outcomes of earlier dates
    change what is forecast later, as they do, ranks at one station are independent all the same, with random ties,
    and p-values exact; with shared ties or several stations nearly so for many dates. The p-value of a lead time is
    that of its smallest part, with step-down redraws; lead times are adjusted by Holm's method, parts of all lead times
    by Bonferroni over these. Approximate p-values of parts are those of the chi-squared law; with many members, few
    dates and shared ties that of the rest is too small. For a horizon of h the dates are divided in h parts of dates h
    apart, each is tested, and the p-value is the smallest of theirs times h; there is no band then. Intervals are those
    of means of many dates.

    Time O(T (S m**2 + m**3 + B m)) and memory O(T B) for T dates, S stations and B redraws, for each lead time.

    Sources: Hamill 2001; Jolliffe and Primo 2008; Broecker 2018 for horizons; Thorarinsdottir, Scheuerer and Heinz
    2016 and Allen, Ziegel and Ginsbourger 2024 for pre-ranks. Differs from Jolliffe and Primo in redraws in place of
    the limit law, and in covariances that know of ties and stations.

    Examples
    --------
    >>> import numpy as np
    >>> from caltest.fields import weather
    >>> rng = np.random.default_rng(1)
    >>> members, outcomes = 0.6 * rng.normal(size=(200, 9)), rng.normal(size=200)
    >>> result = weather.rank_histogram(members, outcomes, rng=1)
    >>> result.verdict(), result.why()
    ('reject calibration at the 5 % level', 'members too close to each other')
    """
    one_of("ties", ties, ("random", "shared"))
    forecasts = forecasts_of(predictions, targets, horizon, missing)
    function = None if prerank is None else checked_prerank(prerank)

    def tested(lead: Lead) -> LeadResult:
        pools, given = lead.pools, lead.given
        if function is not None:
            given = np.asarray(given.all(axis=1, keepdims=True))
            if not given.any():
                raise ValueError("predictions and targets: got no date with all stations, which pre-ranks need")
            pools = reduced(pools, function)
        ranks = Ranks.of(pools, given, lead.rng if ties == "random" else None)
        sums = lead.sums(ranks.table(), ranks.size**2)
        words = WORDS if function is None else OF_VECTORS
        parts = parts_tested(sums, contrasts(ranks.size), words, UNITS, _estimates(ranks, lead))
        values, places = sums[0].deviations + sums[0].expected, np.arange(1.0, ranks.size + 1.0)
        return lead.result(ranks, parts, **shown(lead, places, values, sums[0].expected))

    sources: tuple[str, ...] = ("allen2024", "thorarinsdottir2016") if function is not None else ()
    sources += ("broecker2018",) if max(forecasts.horizons) > 1 else ()
    kind = "" if prerank is None else f" of {prerank if isinstance(prerank, str) else 'own'} pre-ranks"
    return verified(
        forecasts,
        tested,
        n_resamples,
        rng,
        of_ranks=ties == "random",
        test=f"rank histogram{kind}",
        axis=("rank of the outcome", "outcomes"),
        citations=("hamill2001", "jolliffe2008", "westfall1993", *sources),
    )


def _estimates(ranks: Ranks, lead: Lead) -> Estimates:
    """Bias and spread with their intervals, from the sums over each date."""
    middles = (ranks.low + ranks.high + 1.0) / (2.0 * ranks.size) - 0.5
    u, n = middles[..., -1] * ranks.given, float(ranks.given.sum())
    bias = float(u.sum() / n)
    found = {"bias": (bias, lead.mean((u - bias * ranks.given).sum(axis=1), n, bias))}
    # What the squares of each date are on average over its values.
    expected = np.asarray((np.square(middles).mean(axis=2) * ranks.given).sum(axis=1))
    squares, total = np.square(u).sum(axis=1), float(expected.sum())
    if total > 0.0:
        excess = float(squares.sum() / total) - 1.0
        found["spread"] = excess, lead.mean(squares - (1.0 + excess) * expected, total, excess)
    return found


Prerank = Callable[[FloatArray], Any]
"""From vectors (m + 1, d) to (m + 1,) numbers."""


def average_rank(pool: FloatArray) -> FloatArray:
    """Mean over the coordinates of the ranks: low and high values."""
    return np.asarray(scipy.stats.rankdata(pool, axis=0).mean(axis=1))


def band_depth(pool: FloatArray) -> FloatArray:
    """Mean over the coordinates of ``(m + 1 - rank) (rank - 1)``: vectors in the middle have large ones."""
    ranks = scipy.stats.rankdata(pool, axis=0)
    return np.asarray(((len(pool) - ranks) * (ranks - 1.0)).mean(axis=1))


def variogram(pool: FloatArray) -> FloatArray:
    """Minus half the mean square of differences of neighbours, over the variance of the vector; 0 if that is 0.

    Small for vectors whose neighbours differ much: the dependence between coordinates in their order.
    """
    variances = pool.var(axis=1)
    halves = np.square(np.diff(pool, axis=1)).mean(axis=1) / 2.0
    return np.asarray(-np.divide(halves, variances, out=np.zeros(len(pool)), where=variances > 0.0))


PRERANKS: dict[str, Prerank] = {"average": average_rank, "band depth": band_depth, "variogram": variogram}
"""Average rank and band depth: Thorarinsdottir, Scheuerer and Heinz 2016; variogram: Allen et al. 2024, lag 1."""


def checked_prerank(prerank: Any) -> Prerank:
    """The function of a name; ``ValueError`` for another name, ``TypeError`` for what is neither."""
    found = PRERANKS.get(prerank) if isinstance(prerank, str) else prerank
    if callable(found):
        return found
    kind = ValueError if isinstance(prerank, str) else TypeError
    raise kind(
        f"prerank: got {prerank!r}, wanted {', '.join(map(repr, PRERANKS))} or a function from (m + 1, d) to (m + 1,)"
    )


def reduced(pools: FloatArray, prerank: Prerank) -> FloatArray:
    """Pools (T, d, m + 1) of vectors to (T, 1, m + 1) of numbers, the same whichever value is the outcome."""
    n_dates, d, size = pools.shape
    if d < 2:
        raise ValueError("prerank: got forecasts of one station, wanted vectors of at least 2 stations")
    values = np.empty((n_dates, 1, size))
    for date, pool in enumerate(pools):
        found = _values(prerank, pool.T)
        # What differs by rounding is equal, whatever the unit.
        largest = float(np.abs(found).max()) or 1.0
        values[date, 0] = np.round(found / largest, 12) * largest
        if date == 0 and not np.allclose(_values(prerank, pool.T[::-1])[::-1], found, atol=1e-6 * largest):
            raise ValueError("prerank: got other values for vectors in another order, wanted the same for each vector")
    if (values == values[..., :1]).all():
        advice = "; a variogram of 2 stations is the same for all vectors" * (prerank is variogram and d == 2)
        raise ValueError(f"prerank: got the same value for all vectors of each date, wanted others{advice}")
    return values


def _values(prerank: Prerank, pool: FloatArray) -> FloatArray:
    found = np.asarray(prerank(pool.copy()), dtype=np.float64)
    if found.shape != (len(pool),) or not np.isfinite(found).all():
        raise ValueError(f"prerank: got values of shape {found.shape}, wanted ({len(pool)},) finite numbers")
    return found
