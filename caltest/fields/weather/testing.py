"""From redrawn statistics of lead times to p-values that are adjusted for all of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any

import numpy as np
import scipy

from caltest._basics.numerics import (
    Array,
    BoolArray,
    FloatArray,
    IntArray,
    band_of_redraws,
    check_memory,
    resampling_pvalue,
    seed_of,
    step_down,
)
from caltest._results.report import holm
from caltest._results.values import ConfidenceInterval
from caltest._validation import whole_number
from caltest.fields.weather.forecasts import Forecasts
from caltest.fields.weather.ranks import Exchanged, Ranks, Table, combined, parts_of, serial
from caltest.fields.weather.result import LeadResult, PartResult, VerificationResult

HYPOTHESIS = "outcome and members of a date are exchangeable"

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
        parts = [] if self.horizon == 1 else self.parts
        dates = np.arange(len(self.choices)), *parts
        return [Exchanged.of(table, some, self.choices, width) for some in dates]

    def result(
        self,
        ranks: Ranks,
        parts: tuple[PartResult, ...],
        picture: Mapping[str, Any],
        scores: Mapping[str, float] | None = None,
    ) -> LeadResult:
        """With the smallest p-value of the parts."""
        n, pvalue = int(ranks.given.sum()), min(part.adjusted for part in parts)
        own = self._serial(ranks)
        return LeadResult(self.name, n, len(ranks.given), parts, pvalue, pvalue, own, **picture, scores=scores or {})

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


Estimates = dict[str, tuple[float, ConfidenceInterval | None]]
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
    signs = [*(rows @ sums[0].deviations[0]), 0.0]
    none: tuple[float | None, ConfidenceInterval | None] = (None, None)
    return tuple(
        PartResult(
            name,
            words[name][int(signs[i] < 0.0)],
            *estimates.get(name, none),
            units.get(name, ""),
            float(of_all.statistics[i, 0]),
            of_all.df[i],
            pvalues[0][i],
            pvalues[1][i],
            None if others else float(np.exp(-of_all.surprises[i, 0])),
        )
        for i, name in enumerate(words)
    )


def shown(lead: Lead, places: FloatArray, values: FloatArray, expected: FloatArray) -> dict[str, tuple[float, ...]]:
    """What the picture shows, from observed and redrawn values (B + 1, q).

    The band holds all of them with 95 % at least, for every n. It is empty for horizons and for too few redraws.
    """
    low = high = np.empty(0)
    if lead.horizon == 1 and len(values) * (1.0 - LEVEL) >= 1.0 - 1e-9:
        low, high, _ = band_of_redraws(values, LEVEL)
    rows = places, values[0], expected, np.maximum(low, 0.0), high
    names = "places", "observed", "expected", "lowest", "highest"
    return {name: tuple(map(float, row)) for name, row in zip(names, rows, strict=True)}


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
        raise ValueError(
            f"predictions: got {n_dates} date{'s' if n_dates > 1 else ''}, wanted at least {2 * horizon}"
            + (f" for a horizon of {horizon}" if horizon > 1 else "")
        )
    number = min(MOST, -(-n_leads * horizon // ENOUGH)) * (number + 1) - 1
    drawing, breaking = np.random.default_rng(seed).spawn(2)
    kind = np.min_scalar_type(forecasts.n_members)
    check_memory(n_dates * number * kind.itemsize, "redraws of all dates", (number, "redraws"))
    choices = drawing.integers(forecasts.n_members + 1, size=(n_dates, number), dtype=kind)
    each = zip(forecasts.names, forecasts.horizons, forecasts.pools, forecasts.given, strict=True)
    leads = [Lead(*one, choices, breaking) for one in each]
    if levels:
        leads = [
            replace(one, name=f"{one.name} above {level:g}".strip(), level=level) for one in leads for level in levels
        ]
    rows = [tested(lead) for lead in leads]
    adjusted = holm([row.pvalue for row in rows])
    for i, row in enumerate(rows):
        # Those of parts are adjusted for lead times by Bonferroni.
        parts = tuple(replace(part, adjusted=min(1.0, n_leads * part.adjusted)) for part in row.parts)
        rows[i] = replace(row, adjusted=adjusted[i], parts=parts)
    drawn = f"which value of a date is the outcome redrawn {number} times" + ", for all stations at once" * (
        forecasts.pools.shape[2] > 1
    )
    if horizon > 1:
        drawn += f"; dates apart by the horizon ({horizon} at most) tested together, the smallest p times the horizon"
    apart = f"dates at least {horizon} apart" if horizon > 1 else "dates"
    # Ranks of right forecasts are independent of what was known before, whatever later forecasts make of it.
    only_ranks = of_ranks and forecasts.pools.shape[2] == 1
    what = f"ranks of {apart} independent" if only_ranks else f"{apart} independent, or many of them"
    return VerificationResult(
        hypothesis=HYPOTHESIS,
        predictions=forecasts.describe(),
        n=int(forecasts.given.sum()),
        rows=tuple(rows),
        pvalue=min(adjusted),
        pvalue_kind="exact",
        smallest=min(1.0, n_leads * combined([1.0 / (number + 1.0)] * horizon)),
        n_resamples=number,
        seed=seed,
        null=drawn + "; adjusted by Holm's method" * (n_leads > 1),
        assumes=f"{what}; members of a date exchangeable with each other, for all stations at once",
        notes=(*forecasts.notes, *notes, *_empty(rows), *_suspected(rows, leads)),
        **words,
    )


def _empty(rows: Sequence[LeadResult]) -> tuple[str, ...]:
    """A note if nothing can be said."""
    empty = [row.name for row in rows if not any(part.df for part in row.parts)]
    where = f" of lead {', '.join(empty)}" if any(empty) else ""
    return (f"the values of each date{where} are all equal, so that they say nothing",) if empty else ()


def _suspected(rows: Sequence[LeadResult], leads: Sequence[Lead]) -> tuple[str, ...]:
    """A note if dates that count as independent are correlated."""
    found = [
        f"{row.name or 'all dates'}: {row.serial.estimate:.2f} at lag {lead.horizon}, p = {row.serial.pvalue:.2g}"
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
