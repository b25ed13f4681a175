"""The continuous ranked probability score of ensembles, its decompositions, and a test of its reliability."""

from functools import partial
from typing import Any

import numpy as np
import scipy

from caltest._basics.calls import own_errstate
from caltest._basics.numerics import ArrayLike, BoolArray, FloatArray, IntArray, check_finite, resampling_pvalue
from caltest._loops.statistics.binned import pooled_means
from caltest._validation import one_of
from caltest.fields.weather.forecasts import forecasts_of
from caltest.fields.weather.result import LeadResult, PartResult, VerificationResult
from caltest.fields.weather.testing import Exchanged, Lead, Ranks, Table, combined, shown, verified

MOST_CASES = 2_000
"""At most: the order of forecasts is a matrix, and gains of cuts are whole numbers up to a quarter of the square."""


def stochastic_parts(members: FloatArray, outcomes: FloatArray, crps: float) -> dict[str, float]:
    """Miscalibration, discrimination and uncertainty of the CRPS of members (N, m), and the share of ordered pairs.

    Of distributions that are in the stochastic order of the forecasts (one is above another if each of its members in
    ascending order is at least that of the other), those with the smallest mean CRPS of the outcomes are recalibrated:
    at each threshold z the isotonic regression of ``1[y > z]``, which changes at outcomes alone.
    """
    if len(members) > MOST_CASES:
        raise ValueError(
            f"predictions: got {len(members)} cases of a lead time, wanted at most {MOST_CASES} for isotonic "
            'regression of distributions; isotonic="thresholds" takes more'
        )
    forecasts, numbers = np.unique(np.sort(members, axis=1), axis=0, return_inverse=True)
    numbers = numbers.reshape(-1)
    sizes = np.bincount(numbers)
    above = np.ones((len(forecasts), len(forecasts)), dtype=bool)
    for one in forecasts.T:
        above &= one[:, None] <= one
    np.fill_diagonal(above, False)
    pairs = _covers(above)
    knots = np.unique(outcomes)
    potential = uncertainty = 0.0
    for low, width in zip(knots[:-1], np.diff(knots), strict=True):
        hits = np.bincount(numbers[outcomes > low], minlength=len(sizes))
        fitted = _regression(hits, sizes, *pairs)
        share = hits.sum() / len(numbers)
        potential += float(width * (hits * (1.0 - fitted) ** 2 + (sizes - hits) * fitted**2).sum()) / len(numbers)
        uncertainty += float(width * share * (1.0 - share))
    return {
        "miscalibration": crps - potential,
        "discrimination": uncertainty - potential,
        "uncertainty": uncertainty,
        "ordered pairs": float((above | above.T).sum()) / max(1, len(sizes) * (len(sizes) - 1)),
    }


def _covers(above: BoolArray) -> tuple[IntArray, IntArray]:
    """Pairs of rows and columns above them with no third in between, which are enough for the whole order."""
    paths = above.astype(np.float32)
    low, high = np.nonzero(above & (paths @ paths == 0.0))
    return low, high


def _regression(hits: IntArray, sizes: IntArray, low: IntArray, high: IntArray) -> FloatArray:
    """The isotonic regression of shares ``hits / sizes`` with weights ``sizes``, where high ones are above low ones.

    A block is split while it has an upper set with a mean above its own: that of the largest sum is a minimal cut.
    """
    fitted = np.empty(len(hits))
    blocks = [(np.arange(len(hits)), low, high)]
    while blocks:
        block, low, high = blocks.pop()
        total, hit = int(sizes[block].sum()), int(hits[block].sum())
        upper = _upper(total * hits[block] - hit * sizes[block], low, high)
        if not upper.any():
            fitted[block] = hit / total
            continue
        for part in (upper, ~upper):
            place = np.cumsum(part) - 1
            kept = part[low] & part[high]
            blocks.append((block[part], place[low[kept]], place[high[kept]]))
    return fitted


def _upper(gains: IntArray, low: IntArray, high: IntArray) -> BoolArray:
    """The smallest upper set with the largest sum of gains, which sum to 0; empty if none has a positive sum."""
    q = len(gains)
    wins, loses = np.flatnonzero(gains > 0), np.flatnonzero(gains < 0)
    most = int(gains[wins].sum())
    rows = np.concatenate([np.full(len(wins), q), loses, low])
    columns = np.concatenate([wins, np.full(len(loses), q + 1), high])
    capacities = np.concatenate([gains[wins], -gains[loses], np.full(len(low), most)])
    graph = scipy.sparse.csr_array((capacities.astype(np.int32), (rows, columns)), shape=(q + 2, q + 2))
    flow = scipy.sparse.csgraph.maximum_flow(graph, q, q + 1)
    if flow.flow_value == most:
        return np.zeros(q, dtype=bool)
    residual = scipy.sparse.csr_array(graph - flow.flow)
    residual.eliminate_zeros()
    reached = np.zeros(q + 2, dtype=bool)
    reached[scipy.sparse.csgraph.breadth_first_order(residual, q, return_predecessors=False)] = True
    return reached[:q]


THRESHOLDS = 20_000
"""Of the isotonic decomposition, at most."""

WORDS = "reliability of the CRPS worse than by chance"
UNIT = "above its mean if calibrated, in the unit of the outcomes"

PERSISTENT = (
    "where outcomes change later forecasts, more is rejected than should be: in simulations of persistent rain, up to "
    "10 % of right forecasts of 50 dates at the 5 % level and 8 % of 500; ranks at one station have no such fault "
    "(rank_histogram)"
)


@own_errstate
def crps_decomposition(
    predictions: ArrayLike,
    targets: ArrayLike,
    *,
    horizon: int | None = None,
    missing: str = "refuse",
    isotonic: str = "thresholds",
    n_resamples: int = 999,
    rng: Any = None,
) -> VerificationResult:
    """Decompose the mean CRPS of ensembles at each lead time, and test whether its reliability is that of chance.

    With the distribution function F of the members, ``CRPS = mean int (F(z) - 1[y <= z])**2 dz``. For gaps between
    neighbouring members of mean width g_i, above which a share o_i of the width has the outcome below it
    (Hersbach)::

        CRPS = sum_i g_i (o_i - i/m)**2  +  sum_i g_i o_i (1 - o_i)  =  reliability + potential

    and by isotonic regression of ``1[y > z]`` on ``1 - F(z)`` at each threshold z (CORP), integrated over z::

        CRPS = miscalibration - discrimination + uncertainty

    where uncertainty is the CRPS of the distribution of all outcomes. All parts are at least 0.

    Parameters
    ----------
    predictions, targets, horizon, missing, n_resamples, rng
        As in ``rank_histogram``.
    isotonic
        ``"thresholds"`` for the regression at each threshold apart, ``"distributions"`` for that of Arnold et al.:
        recalibrated distributions keep the stochastic order of the forecasts, the same at all thresholds, so that
        miscalibration is of the whole distributions. For up to 2,000 cases of a lead time.

    Returns
    -------
    VerificationResult
        With ``scores`` in each row: ``"CRPS"``, ``"fair CRPS"`` (as of infinitely many members), ``"reliability"``,
        ``"potential"``, ``"miscalibration"``, ``"discrimination"``, ``"uncertainty"``, in the unit of the outcomes; for
        several stations the ``"energy score"`` of their vectors, and its fair form. The part is the reliability, its
        estimate that above the mean if calibrated. ``"ordered pairs"`` is the share of pairs of forecasts that the
        stochastic order orders.

    Raises
    ------
    ValueError, TypeError
        As in ``rank_histogram``, and for more than 2,000 cases with ``isotonic="distributions"``.

    Notes
    -----
    The reliability of calibrated ensembles is above 0, by chance and because members are few, so it is compared with
    that of redraws of which value of each date is the outcome, as in ``rank_histogram``. The p-value is exact if dates
    are independent. Where earlier outcomes change later forecasts, which then have other distances between members, it
    is too small: 9 % of right forecasts of 50 dates of persistent rain were rejected at the 5 % level, 8 % of 500. The
    ``rank_histogram`` of one station is exact there. This test weighs ranks by the distance of members, so that large
    errors count more, and finds less than a rank histogram if cases have a very different spread.

    The isotonic decomposition is exact for up to 20,000 values of members and outcomes, else for every k-th of these as
    thresholds. Cases of the same share of members above a threshold get the same recalibrated share. Time
    O(T S m log m + T B m) and O(N m**2) for N thresholds. That of distributions is exact; it takes minimal cuts of
    flows, for each lead time about 0.5 s for 100 cases, 8 s for 500 and 30 s for 1000. Of forecasts that are not
    ordered either may become what its own outcome was, so with few ordered pairs, as with many different spreads,
    both miscalibration and discrimination are large, for calibrated forecasts too.

    Sources: Hersbach 2000; Arnold, Walz, Ziegel and Gneiting 2024 for isotonic regression of distributions and for that
    of the Brier score at each threshold.

    Examples
    --------
    >>> import numpy as np
    >>> from caltest.fields import weather
    >>> rng = np.random.default_rng(1)
    >>> signal = rng.normal(size=(200, 1))
    >>> members, outcomes = signal + 0.5 * rng.normal(size=(200, 9)), signal[:, 0] + rng.normal(size=200)
    >>> result = weather.crps_decomposition(members, outcomes, rng=1)
    >>> result.why()
    'reliability of the CRPS worse than by chance'
    >>> scores = result.rows[0].scores
    >>> [round(scores[name], 3) for name in ("CRPS", "reliability", "potential")]
    [0.651, 0.096, 0.555]
    """
    one_of("isotonic", isotonic, ("thresholds", "distributions"))
    return verified(
        forecasts_of(predictions, targets, horizon, missing),
        partial(_tested, stochastic=isotonic == "distributions"),
        n_resamples,
        rng,
        notes=(PERSISTENT,),
        test="reliability of the CRPS",
        axis=("share of members below", "share of outcomes below"),
        citations=("arnold2024", "hersbach2000"),
    )


def _tested(lead: Lead, stochastic: bool) -> LeadResult:
    pools, given = lead.pools, lead.given
    ranks, size, n = Ranks.of(pools, given, lead.rng), pools.shape[2], float(given.sum())
    sums = lead.sums(_table(np.sort(pools, axis=2), ranks.low, given), size * (2 * size + 2))
    cases = [n] if lead.horizon == 1 else [n, *(float(max(1, given[dates].sum())) for dates in lead.parts)]
    widths, shares = zip(*(_gaps(one, number) for one, number in zip(sums, cases, strict=True)), strict=True)
    places = np.arange(size) / (size - 1.0)
    values = [(width * np.square(share - places)).sum(axis=1) for width, share in zip(widths, shares, strict=True)]
    pvalue = combined([resampling_pvalue(float(one[0]), one[1:]) for one in values[1:] or values])
    reliability = values[0] / n
    observed = float(reliability[0])
    above = observed - float(reliability[1:].mean())
    part = PartResult("reliability", WORDS, above, None, UNIT, observed, 1, pvalue, pvalue, None)
    members, outcomes = pools[given][:, :-1], pools[given][:, -1]
    scores = _crps(members, outcomes) | _energy(pools[given.all(axis=1)])
    check_finite(*scores.values())
    scores |= {
        "reliability": observed,
        "potential": float((widths[0][0] * shares[0][0] * (1.0 - shares[0][0])).sum() / n),
        **(stochastic_parts(members, outcomes, scores["CRPS"]) if stochastic else _isotonic(members, outcomes)),
    }
    return lead.result(ranks, (part,), scores=scores, **shown(lead, places, shares[0], shares[0].mean(axis=0)))


def _table(values: FloatArray, ranks: IntArray, given: BoolArray) -> Table:
    """Widths of gaps below and above the outcome, 2 (m + 1), and whether it is outside of the members, 2."""
    gaps = np.diff(values, axis=2) * given[..., None]
    size = values.shape[2]
    places = np.arange(size)
    below, above = places <= places[:, None], places >= places[:, None]

    def of(dates: IntArray) -> FloatArray:
        out = np.zeros((len(dates), size, 2 * size + 2))
        for station in range(values.shape[1]):
            rank, gap = ranks[dates, station], gaps[dates, station, None]
            out[:, :, 1:size] += below[rank][:, :, 1:] * gap
            out[:, :, size : 2 * size - 1] += above[rank][:, :, :-1] * gap
            out[:, :, -2] += (rank == 0) & (gap[:, :, 0] > 0.0)
            out[:, :, -1] += (rank == size - 1) & (gap[:, :, -1] > 0.0)
        return out

    return of


def _gaps(exchanged: Exchanged, n: float) -> tuple[FloatArray, FloatArray]:
    """From sums (2 m + 4,) over n cases: widths ``n g_i`` and shares o_i, (B + 1, m + 1), the observed ones first.

    Outside of the members widths are the mean distances of the outcomes that are there, and shares theirs of all.
    """
    sums = np.concatenate([exchanged.observed[None], exchanged.draws])
    size = (sums.shape[1] - 2) // 2
    left, right, outside = sums[:, :size], sums[:, size:-2], sums[:, -2:]
    widths = left + right
    shares = np.divide(right, widths, out=np.zeros_like(right), where=widths > 0.0)
    for end, count in zip((0, -1), outside.T, strict=True):
        np.divide(n * widths[:, end], count, out=widths[:, end], where=count > 0.0)
    shares[:, 0], shares[:, -1] = outside[:, 0] / n, 1.0 - outside[:, 1] / n
    return widths, shares


def _crps(members: FloatArray, outcomes: FloatArray) -> dict[str, float]:
    m = members.shape[1]
    distance = float(np.abs(members - outcomes[:, None]).mean())
    spread = float((np.sort(members, axis=1) @ (2.0 * np.arange(m) - m + 1.0)).mean()) / m
    return _fair("CRPS", distance, spread, m)


def _fair(name: str, distance: float, spread: float, m: int) -> dict[str, float]:
    """A score of m members, and the same without the part that is due to their small number."""
    return {name: distance - spread / m, f"fair {name}": distance - spread / (m - 1)}


def _energy(pools: FloatArray) -> dict[str, float]:
    """The energy score of the vectors of all stations, of dates (T, S, m + 1), and its fair form; none for one station.

    ``mean_a |x_a - y| - 1/2 mean_ab |x_a - x_b|``: the CRPS of vectors.
    """
    if pools.shape[1] < 2 or not len(pools):
        return {}
    members, m = pools[..., :-1], pools.shape[2] - 1
    distance = float(np.linalg.norm(members - pools[..., -1:], axis=1).mean())
    pairs = (np.linalg.norm(members[..., a + 1 :] - members[..., a, None], axis=1).sum() for a in range(m - 1))
    return _fair("energy score", distance, float(sum(pairs)) / (len(pools) * m), m)


def _isotonic(members: FloatArray, outcomes: FloatArray) -> dict[str, float]:
    """Miscalibration, discrimination and uncertainty, integrated over thresholds between the values."""
    n, m = members.shape
    values = np.concatenate([members.ravel(), outcomes])
    cases = np.concatenate([np.repeat(np.arange(n), m), np.arange(n)])
    knots = np.unique(values)
    if knots.size > THRESHOLDS:
        knots = knots[np.linspace(0, knots.size - 1, THRESHOLDS).astype(np.intp)]
    places = np.searchsorted(knots, values)
    order = np.argsort(places, kind="stable")
    ends = np.searchsorted(places[order], np.arange(knots.size + 1))
    # Of each case how many members, and whether the outcome, are above a threshold that rises; of each number of
    # members how many cases have it, and how many of these an outcome above.
    above, occurred, shares = np.full(n, m), np.ones(n), np.arange(m + 1) / m
    sizes, hits = np.zeros(m + 1), np.zeros(m + 1)
    sizes[m] = hits[m] = n
    parts = np.zeros(3)
    for k, width in enumerate(np.diff(knots)):
        passed = order[ends[k] : ends[k + 1]]
        is_member = passed < members.size
        of_members, of_outcomes = cases[passed[is_member]], cases[passed[~is_member]]
        touched = np.unique(cases[passed])
        sizes -= np.bincount(above[touched], minlength=m + 1)
        hits -= np.bincount(above[touched], occurred[touched], minlength=m + 1)
        np.subtract.at(above, of_members, 1)
        occurred[of_outcomes] = 0.0
        sizes += np.bincount(above[touched], minlength=m + 1)
        hits += np.bincount(above[touched], occurred[touched], minlength=m + 1)
        some = sizes > 0.0
        parts += width / n * _squares(shares[some], sizes[some], hits[some])
    return dict(zip(("miscalibration", "discrimination", "uncertainty"), map(float, parts), strict=True))


def _squares(shares: FloatArray, sizes: FloatArray, hits: FloatArray) -> FloatArray:
    """Miscalibration, discrimination and uncertainty, as sums of squares, of groups of cases of each share of members.

    They are of such sizes, and the outcomes of so many exceed a threshold.
    """

    def score(p: FloatArray) -> float:
        return float((hits * np.square(1.0 - p) + (sizes - hits) * np.square(p)).sum())

    recalibrated = score(pooled_means(hits[None], sizes)[0])
    uncertainty = score(np.full(len(sizes), hits.sum() / sizes.sum()))
    return np.array([score(shares) - recalibrated, uncertainty - recalibrated, uncertainty])
