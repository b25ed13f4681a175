"""From redrawn statistics of lead times to p-values that are adjusted for all of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any

import numpy as np

from caltest._basics.numerics import (
    Array,
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
from caltest.fields.weather.exchange import Exchanged, combined
from caltest.fields.weather.forecasts import Forecasts
from caltest.fields.weather.ranks import Parts, Ranks, parts_of, serial
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
    """A lead time: which of its dates are independent, and the redrawn places of outcomes.

    Attributes
    ----------
    name, horizon
        As in ``Forecasts``.
    choices
        (T, B) redrawn places of the outcomes among the m + 1 values.
    """

    name: str
    horizon: int
    choices: Array

    @property
    def dates(self) -> IntArray:
        """All of them."""
        return np.arange(len(self.choices))

    @property
    def parts(self) -> list[IntArray]:
        """Dates that are so far apart that their ranks are independent."""
        return [self.dates[start :: self.horizon] for start in range(self.horizon)]

    def pvalues(self, parts: Sequence[Parts]) -> tuple[list[float], list[float]]:
        """Of each statistic alone, and adjusted for the others, from those of each part of the dates."""
        alone = [[resampling_pvalue(float(row[0]), row[1:]) for row in one.statistics] for one in parts]
        adjusted = [step_down(one.surprises).tolist() for one in parts]
        return [combined(list(own)) for own in zip(*alone, strict=True)], [
            combined(list(own)) for own in zip(*adjusted, strict=True)
        ]

    def serial(self, ranks: Ranks) -> PartResult | None:
        """The correlation of dates that should be independent."""
        scores = ranks.scores()
        draws = [serial(scores, dates, self.choices) for dates in self.parts]
        own = scores[:, -1]
        if len(own) <= self.horizon or not own.any():
            return None
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
        from scipy.special import stdtrit

        square = float(sums @ sums)
        lagged = square + 2.0 * sum(float(sums[:-lag] @ sums[lag:]) for lag in range(1, horizon))
        freedom = n / horizon - 1.0
        error = sqrt(max(square, lagged) * (freedom + 1.0) / freedom) / total
        reach = error * float(stdtrit(freedom, (1.0 + LEVEL) / 2.0))
        method = "normal limit, dates independent" + (f" {horizon} apart" if horizon > 1 else "")
        return ConfidenceInterval(estimate - reach, estimate + reach, LEVEL, method, estimate)


Estimates = dict[str, tuple[float, ConfidenceInterval | None]]
"""Sizes of parts by their names, with their intervals."""


def parts_tested(
    lead: Lead,
    sums: Callable[[IntArray], Exchanged],
    rows: FloatArray,
    words: Mapping[str, tuple[str, str]],
    units: Mapping[str, str],
    estimates: Estimates,
) -> tuple[Exchanged, tuple[PartResult, ...]]:
    """The sums of all dates, and a part for each contrast (2, q) of them and one for the rest, by their names."""
    whole = sums(lead.dates)
    of_all = parts_of(whole, rows)
    separate = [of_all] if lead.horizon == 1 else [parts_of(sums(dates), rows) for dates in lead.parts]
    alone, adjusted = lead.pvalues(separate)
    signs = [*(rows @ whole.deviations[0]), 0.0]
    none: tuple[float | None, ConfidenceInterval | None] = (None, None)
    return whole, tuple(
        PartResult(
            name,
            words[name][int(signs[i] < 0.0)],
            estimates.get(name, none)[0],
            estimates.get(name, none)[1],
            units.get(name, ""),
            float(of_all.statistics[i, 0]),
            of_all.df[i],
            alone[i],
            adjusted[i],
            float(np.exp(-of_all.surprises[i, 0])) if lead.horizon == 1 else None,
        )
        for i, name in enumerate(words)
    )


def shown(places: FloatArray, values: FloatArray, expected: FloatArray, with_band: bool) -> dict[str, Any]:
    """What the picture shows, from observed and redrawn values (B + 1, q)."""
    ends = band(values) if with_band else (np.empty(0), np.empty(0))
    rows = places, values[0], expected, *ends
    names = "places", "observed", "expected", "lowest", "highest"
    return {name: tuple(map(float, row)) for name, row in zip(names, rows, strict=True)}


def band(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Ends (q,) that hold all of observed and redrawn values (B + 1, q) with 95 % at least, for every n.

    Empty for too few redraws.
    """
    if len(values) * (1.0 - LEVEL) < 1.0 - 1e-9:
        return np.empty(0), np.empty(0)
    low, high, _ = band_of_redraws(values, LEVEL)
    return np.maximum(low, 0.0), high


def verified(
    forecasts: Forecasts,
    tested: Callable[[int, Lead, np.random.Generator], LeadResult],
    n_resamples: Any,
    rng: Any,
    of_ranks: bool,
    notes: tuple[str, ...] = (),
    **words: Any,
) -> VerificationResult:
    """The result of a function that tests each lead time by its number, with p-values adjusted for all of them.

    It gets random numbers for ties, too. Statistics ``of_ranks`` depend on nothing else.
    """
    number, seed, n_leads = whole_number("n_resamples", n_resamples, 1), seed_of(rng), len(forecasts.names)
    n_dates, horizon = forecasts.pools.shape[1], max(forecasts.horizons)
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
    leads = [Lead(*one, choices) for one in zip(forecasts.names, forecasts.horizons, strict=True)]
    rows = [tested(i, lead, breaking) for i, lead in enumerate(leads)]
    adjusted = holm([row.pvalue for row in rows])
    rows = [_adjusted(row, p, n_leads) for row, p in zip(rows, adjusted, strict=True)]
    drawn = f"which value of a date is the outcome redrawn {number} times" + ", for all stations at once" * (
        forecasts.pools.shape[2] > 1
    )
    if horizon > 1:
        drawn += f"; dates apart by the horizon ({horizon} at most) tested together, the smallest p times the horizon"
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
        assumes=_assumed(horizon, of_ranks and forecasts.pools.shape[2] == 1),
        notes=(*forecasts.notes, *notes, *_empty(rows), *_suspected(rows, leads)),
        **words,
    )


def _adjusted(row: LeadResult, pvalue: float, n_leads: int) -> LeadResult:
    """With p-values of parts that are adjusted for all parts of all lead times (Bonferroni over these)."""
    parts = tuple(replace(part, adjusted=min(1.0, n_leads * part.adjusted)) for part in row.parts)
    return replace(row, adjusted=pvalue, parts=parts)


def _assumed(horizon: int, only_ranks: bool) -> str:
    """Ranks of right forecasts are independent of what was known before, whatever later forecasts make of it."""
    apart = f"dates at least {horizon} apart" if horizon > 1 else "dates"
    what = f"ranks of {apart} independent" if only_ranks else f"{apart} independent, or many of them"
    return f"{what}; members of a date exchangeable with each other, for all stations at once"


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
