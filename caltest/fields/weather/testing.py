"""Ranks of outcomes, redrawn statistics of lead times, and p-values that are adjusted for all of these."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any, NamedTuple, Self

import numpy as np
import scipy

from caltest._basics.numerics import (
    Array,
    BoolArray,
    FloatArray,
    IntArray,
    band_of_redraws,
    check_memory,
    ranges,
    resampling_pvalue,
    seed_of,
    step_down,
)
from caltest._results.report import counted, holm
from caltest._results.values import ConfidenceInterval
from caltest._validation import whole_number
from caltest.fields.weather.forecasts import Forecasts
from caltest.fields.weather.result import LeadResult, PartResult, VerificationResult

AT_ONCE = 2**21
"""Numbers in a table; results do not depend on it."""

Table = Callable[[IntArray], FloatArray]
"""For dates (t,) what each adds to q sums, (t, m + 1, q), if one of its values or another is the outcome."""


class Exchanged(NamedTuple):
    """Sums over dates of what is observed, and what they are if any of the m + 1 values could be the outcome.

    Sums (q,) that are ``observed``, ``draws`` (B, q) of outcomes that are redrawn, one value of each date for all
    stations, and over all redraws those ``expected`` (q,) and their ``covariance`` (q, q).
    """

    observed: FloatArray
    draws: FloatArray
    expected: FloatArray
    covariance: FloatArray

    @classmethod
    def of(cls, table: Table, dates: IntArray, choices: Array, width: int) -> Self:
        """From the table and redrawn places (T, B) of the outcomes of all dates; ``width`` is (m + 1) q."""
        some = (dates[part] for part in ranges(len(dates), AT_ONCE // width))
        parts = [_sums(table(one), choices[one]) for one in some]
        return cls(*(np.asarray(sum(sums)) for sums in zip(*parts, strict=True)))

    def turned(self, matrix: FloatArray) -> "Exchanged":
        """The same of linear functions of the sums, with a matrix (p, q)."""
        observed, draws, expected = (one @ matrix.T for one in (self.observed, self.draws, self.expected))
        return Exchanged(observed, draws, expected, matrix @ self.covariance @ matrix.T)

    @property
    def deviations(self) -> FloatArray:
        """(B + 1, q) from what is expected, the observed one first."""
        return np.concatenate([self.observed[None], self.draws]) - self.expected


def _sums(values: FloatArray, choices: Array) -> tuple[FloatArray, ...]:
    """The sums over a few dates."""
    means = values.mean(axis=1)
    flat = (values - means[:, None]).reshape(-1, values.shape[2])
    draws = np.zeros((choices.shape[1], values.shape[2]))
    for of_date, chosen in zip(values, choices, strict=True):
        draws += of_date[chosen]
    return values[:, -1].sum(axis=0), draws, means.sum(axis=0), flat.T @ flat / values.shape[1]


def combined(pvalues: list[float]) -> float:
    """The smallest of several p-values that depend on each other in any way, times their number (Bonferroni).

    With a mean of them (Vovk and Wang 2020), which is as valid, less is found here.
    """
    return min(1.0, len(pvalues) * min(pvalues))


class Ranks(NamedTuple):
    """Ranks of all values of a lead time, from 0; those that are equal share theirs, or have them in random order.

    First and last ranks ``low`` and ``high`` (T, S, m + 1) of each value, and which cases count, ``given`` (T, S).
    """

    low: IntArray
    high: IntArray
    given: FloatArray

    @classmethod
    def of(cls, pools: FloatArray, given: BoolArray, rng: np.random.Generator | None) -> "Ranks":
        """Of pools (T, S, m + 1), equal values in random order unless there is no generator."""
        n_dates, n_stations, size = pools.shape
        low, high = np.empty((2, *pools.shape), dtype=np.intp)
        for part in ranges(n_dates, AT_ONCE // (n_stations * size * size)):
            rows = pools[part, :, :, None], pools[part, :, None, :]
            low[part] = (rows[1] < rows[0]).sum(axis=3)
            high[part] = (rows[1] <= rows[0]).sum(axis=3) - 1
        if rng is not None:
            low = np.argsort(np.lexsort((rng.random(pools.shape), low), axis=2), axis=2)
            high = low
        return cls(low, high, given.astype(np.float64))

    @property
    def size(self) -> int:
        """Of values, m + 1."""
        return int(self.low.shape[2])

    def table(self) -> Table:
        """The histogram that each date adds: 1 for each station, in equal parts in the ranks of equal values."""

        def of(dates: IntArray) -> FloatArray:
            steps = np.zeros((len(dates), self.size, self.size + 1))
            rows, values = np.arange(len(dates))[:, None], np.arange(self.size)
            for station in range(self.low.shape[1]):
                low, high = self.low[dates, station], self.high[dates, station]
                share = self.given[dates, station, None] / (high - low + 1.0)
                steps[rows, values, low] += share
                steps[rows, values, high + 1] -= share
            return np.cumsum(steps, axis=2)[:, :, :-1]

        return of

    def scores(self) -> FloatArray:
        """(T, m + 1) sum over the stations of the mean rank of each value, less m / 2."""
        middles = (self.low + self.high) / 2.0 - (self.size - 1.0) / 2.0
        return np.asarray((middles * self.given[:, :, None]).sum(axis=1))


class Parts(NamedTuple):
    """Parts of a test: (P, B + 1) statistics, observed first, the same as minus logarithms of p-values, and df (P,)."""

    statistics: FloatArray
    surprises: FloatArray
    df: tuple[int, ...]


def contrasts(size: int) -> FloatArray:
    """Linear and quadratic functions of the rank, (2, m + 1), orthonormal."""
    ranks = np.arange(size) - (size - 1.0) / 2.0
    rows = np.stack([ranks, np.square(ranks) - np.square(ranks).mean()])
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300))


def parts_of(sums: Exchanged, rows: FloatArray) -> Parts:
    """Squares of contrasts and the rest of ``d' C^+ d``, with deviations d of covariance C, and their limit laws.

    Contrasts are orthogonal in the metric of C: each is what it adds to those before it.
    """
    values, vectors = np.linalg.eigh(sums.covariance)
    kept = values > 1e-9 * max(float(values[-1]), 1.0)
    roots = np.sqrt(values[kept])
    white = (sums.deviations @ vectors[:, kept]) / roots
    total = np.square(white).sum(axis=1)
    directions = (rows @ vectors[:, kept]) * roots
    basis: list[FloatArray] = []
    statistics, df = [], []
    for row, direction in zip(rows, directions, strict=True):
        left = direction - sum((one * (one @ direction) for one in basis), np.zeros_like(direction))
        length = float(np.linalg.norm(left))
        exists = length > 1e-6 * sqrt(max(float(np.abs(sums.covariance).max()), 1e-300)) * float(np.linalg.norm(row))
        if exists:
            basis.append(left / length)
        statistics.append(np.square(white @ basis[-1]) if exists else np.zeros(len(white)))
        df.append(int(exists))
    rest = int(kept.sum()) - sum(df)
    remainder = np.maximum(total - sum(statistics), 0.0) if rest else np.zeros(len(white))
    tails = [
        scipy.special.chdtrc(freedom, row) if freedom else np.ones(len(row))
        for freedom, row in zip((*df, rest), (*statistics, remainder), strict=True)
    ]
    return Parts(np.stack([*statistics, remainder]), -np.log(np.maximum(tails, 1e-300)), (*df, rest))


def serial(scores: FloatArray, dates: IntArray, choices: Array) -> FloatArray:
    """(B + 1,) correlations of scores of one date and the next, times the root of their number, observed first.

    In units of the squares of the same draw, so that ranks that are uneven, but independent, are not called correlated.
    """
    rows = scores[dates]
    chosen = np.concatenate([rows[:, -1:], np.take_along_axis(rows, choices[dates], axis=1)], axis=1)
    squares = np.square(chosen).sum(axis=0)
    products = sqrt(len(dates)) * (chosen[:-1] * chosen[1:]).sum(axis=0)
    return np.asarray(np.divide(products, squares, out=np.zeros(len(products)), where=squares > 0.0))


LEVEL = 0.95
"""Of intervals, and of bands."""

ENOUGH, MOST = 5, 20
"""Lead times, times the horizon, for which the redraws of one test are enough, and how many times as many are made."""

SUSPECT = 0.01
"""P-values of the correlation of dates up to which a note says so."""


@dataclass(frozen=True)
class Lead:
    """A lead time: its values and complete cases as in ``Forecasts``, and (T, B) redrawn places of the outcomes."""

    name: str
    horizon: int
    pools: FloatArray
    given: BoolArray
    choices: Array
    rng: np.random.Generator
    """For the order of equal values."""
    level: float = 0.0
    """The threshold of an event."""

    @property
    def parts(self) -> list[IntArray]:
        """Dates that are so far apart that their ranks are independent."""
        dates = np.arange(len(self.choices))
        return [dates[start :: self.horizon] for start in range(self.horizon)]

    def sums(self, table: Table, width: int) -> list[Exchanged]:
        """Of all dates, and of each of the parts if there are several."""
        dates = [np.arange(len(self.choices)), *(self.parts if self.horizon > 1 else [])]
        return [Exchanged.of(table, some, self.choices, width) for some in dates]

    def result(self, ranks: Ranks, parts: tuple[PartResult, ...], **more: Any) -> LeadResult:
        """With the smallest p-value of the parts, and what else a result has."""
        n, pvalue = int(ranks.given.sum()), min(part.adjusted for part in parts)
        return LeadResult(self.name, n, len(ranks.given), parts, pvalue, pvalue, self._serial(ranks), **more)

    def _serial(self, ranks: Ranks) -> PartResult | None:
        """The correlation of dates that should be independent."""
        scores = ranks.scores()
        own = scores[:, -1]
        if len(own) <= self.horizon or not own.any():
            return None
        draws = [serial(scores, dates, self.choices) for dates in self.parts]
        pvalue = combined([resampling_pvalue(abs(float(one[0])), np.abs(one[1:])) for one in draws])
        correlation = float(own[: -self.horizon] @ own[self.horizon :] / (own @ own))
        z = float(sum(one[0] for one in draws) / sqrt(self.horizon))
        words = f"ranks of dates {self.horizon} apart are correlated"
        unit = f"correlation of ranks at lag {self.horizon}, 0 if calibrated"
        return PartResult("serial", words, correlation, None, unit, z, 1, pvalue, pvalue, None)

    def mean(self, sums: FloatArray, total: float, estimate: float) -> ConfidenceInterval | None:
        """Interval of an estimate from the sums (T,) over its dates that have mean 0, divided by a total."""
        n, horizon = len(sums), self.horizon
        if n < 3 * horizon or total <= 0.0 or not sums.any():
            return None
        square = float(sums @ sums)
        lagged = square + 2.0 * sum(float(sums[:-lag] @ sums[lag:]) for lag in range(1, horizon))
        freedom = n / horizon - 1.0
        error = sqrt(max(square, lagged) * (freedom + 1.0) / freedom) / total
        reach = error * float(scipy.special.stdtrit(freedom, (1.0 + LEVEL) / 2.0))
        method = "normal limit, dates independent" + (f" {horizon} apart" if horizon > 1 else "")
        return ConfidenceInterval(estimate - reach, estimate + reach, LEVEL, method, estimate)


Estimates = Mapping[str, tuple[float | None, ConfidenceInterval | None]]
"""Sizes of parts by their names, with their intervals."""


def parts_tested(
    sums: Sequence[Exchanged],
    rows: FloatArray,
    words: Mapping[str, tuple[str, str]],
    units: Mapping[str, str],
    estimates: Estimates,
) -> tuple[PartResult, ...]:
    """A part for each contrast (2, q) of the sums of a lead time and one for the rest, by their names."""
    of_all, *others = (parts_of(one, rows) for one in sums)
    separate = others or [of_all]
    alone = ([resampling_pvalue(float(row[0]), row[1:]) for row in one.statistics] for one in separate)
    adjusted = (step_down(one.surprises).tolist() for one in separate)
    pvalues = [[combined(list(own)) for own in zip(*kind, strict=True)] for kind in (alone, adjusted)]
    signs, found = [*(rows @ sums[0].deviations[0]), 0.0], []
    for i, name in enumerate(words):
        what = name, words[name][int(signs[i] < 0.0)], *estimates.get(name, (None, None)), units.get(name, "")
        approximate = None if others else float(np.exp(-of_all.surprises[i, 0]))
        statistic = float(of_all.statistics[i, 0])
        found.append(PartResult(*what, statistic, of_all.df[i], pvalues[0][i], pvalues[1][i], approximate))
    return tuple(found)


def shown(lead: Lead, places: FloatArray, values: FloatArray, expected: FloatArray) -> dict[str, tuple[float, ...]]:
    """What the picture shows, from observed and redrawn values (B + 1, q).

    The band holds all of them with 95 % at least, for every n. It is empty for horizons and for too few redraws.
    """
    low = high = np.empty(0)
    if lead.horizon == 1 and len(values) * (1.0 - LEVEL) >= 1.0:
        low, high, _ = band_of_redraws(values, LEVEL)
    rows = {"places": places, "observed": values[0], "expected": expected}
    rows |= {"lowest": np.maximum(low, 0.0), "highest": high}
    return {name: tuple(row.tolist()) for name, row in rows.items()}


def verified(
    forecasts: Forecasts,
    tested: Callable[[Lead], LeadResult],
    n_resamples: Any,
    rng: Any,
    of_ranks: bool = False,
    levels: Sequence[float] = (),
    notes: tuple[str, ...] = (),
    **words: Any,
) -> VerificationResult:
    """The result of a function that tests each lead time, with each of some levels, with p-values adjusted for all.

    Statistics ``of_ranks`` depend on nothing else.
    """
    number, seed = whole_number("n_resamples", n_resamples, 1), seed_of(rng)
    n_dates, horizon = forecasts.pools.shape[1], max(forecasts.horizons)
    n_leads = len(forecasts.names) * max(1, len(levels))
    if n_dates < 2 * horizon:
        why = f" for a horizon of {horizon}" * (horizon > 1)
        raise ValueError(f"predictions: got {counted(n_dates, 'date')}, wanted at least {2 * horizon}{why}")
    number = min(MOST, -(-n_leads * horizon // ENOUGH)) * (number + 1) - 1
    drawing, breaking = np.random.default_rng(seed).spawn(2)
    kind = np.min_scalar_type(forecasts.n_members)
    check_memory(n_dates * number * kind.itemsize, "redraws of all dates", (number, "redraws"))
    choices = drawing.integers(forecasts.n_members + 1, size=(n_dates, number), dtype=kind)
    each = zip(forecasts.names, forecasts.horizons, forecasts.pools, forecasts.given, strict=True)
    leads = [Lead(*one, choices, breaking) for one in each]
    if levels:
        above = [(one, f"{one.name} above {level:g}".strip(), level) for one in leads for level in levels]
        leads = [replace(one, name=name, level=level) for one, name, level in above]
    rows = [tested(lead) for lead in leads]
    adjusted = holm([row.pvalue for row in rows])
    for i, row in enumerate(rows):
        # Those of parts are adjusted for lead times by Bonferroni.
        parts = tuple(replace(part, adjusted=min(1.0, n_leads * part.adjusted)) for part in row.parts)
        rows[i] = replace(row, adjusted=adjusted[i], parts=parts)
    drawn = f"which value of a date is the outcome redrawn {number} times"
    drawn += ", for all stations at once" * (forecasts.pools.shape[2] > 1)
    if horizon > 1:
        drawn += f"; dates apart by the horizon ({horizon} at most) tested together, the smallest p times the horizon"
    apart = f"dates at least {horizon} apart" if horizon > 1 else "dates"
    # Ranks of right forecasts are independent of what was known before, whatever later forecasts make of it.
    only_ranks = of_ranks and forecasts.pools.shape[2] == 1
    what = f"ranks of {apart} independent" if only_ranks else f"{apart} independent, or many of them"
    return VerificationResult(
        hypothesis="outcome and members of a date are exchangeable",
        predictions=forecasts.describe(),
        n=int(forecasts.given.sum()),
        rows=tuple(rows),
        pvalue=min(adjusted),
        pvalue_kind="exact" if horizon == n_leads == 1 else "bound",
        smallest=min(1.0, n_leads * combined([1.0 / (number + 1.0)] * horizon)),
        n_resamples=number,
        seed=seed,
        null=drawn + "; adjusted by Holm's method" * (n_leads > 1),
        assumes=f"{what}; members of a date exchangeable with each other, for all stations at once",
        notes=(*forecasts.notes, *notes, *_empty(rows), *_suspected(rows, leads)),
        **words,
    )


def _empty(rows: Sequence[LeadResult]) -> tuple[str, ...]:
    empty = [row.name for row in rows if not any(part.df for part in row.parts)]
    where = f" of lead {', '.join(empty)}" if any(empty) else ""
    return (f"the values of each date{where} are all equal, so that they say nothing",) if empty else ()


def _suspected(rows: Sequence[LeadResult], leads: Sequence[Lead]) -> tuple[str, ...]:
    """A note if dates that count as independent are correlated."""
    found = [
        f"{row.name or 'all dates'}: {row.serial.estimate:z.2f} at lag {lead.horizon}, p = {row.serial.pvalue:.2g}"
        for row, lead in zip(rows, leads, strict=True)
        if row.serial is not None and row.serial.pvalue <= SUSPECT
    ]
    if not found:
        return ()
    return (
        f"ranks of dates that should be independent are correlated ({'; '.join(found)}): either forecasts ignore what "
        "was known, or they overlap; where the outcome of a forecast is known only after h - 1 others were made, pass "
        "horizon=h",
    )
