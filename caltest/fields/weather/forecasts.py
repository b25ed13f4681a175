"""Forecasts of members with their outcomes, from arrays and from xarray objects with named dimensions."""

from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np

from caltest._basics.arrays import Table, are_times, index_of, member_dimension, members_elsewhere, order_of, to_array
from caltest._basics.numerics import Array, ArrayLike, BoolArray, FloatArray
from caltest._results.report import counted
from caltest._validation import one_of, whole_number
from caltest.predictions import Ensemble
from caltest.predictions.questions.order import misplaced
from caltest.predictions.questions.repeated import codes_among
from caltest.predictions.questions.units import in_another_unit

DIMENSIONS = "lead", "time", "station", "member"
"""Names of dimensions, in the order of arrays."""

ALSO = {"step": "lead", "lead_time": "lead", "prediction_timedelta": "lead", "location": "station"}
ALSO |= {"init_time": "time", "forecast_reference_time": "time"}
"""What centres call them, beside their names of members."""


@dataclass(frozen=True)
class Forecasts:
    """Values of members and outcome by lead time, date and station.

    Of L lead times, with the name "" for a single one without a name: ``pools`` (L, T, S, m + 1) of members and, last,
    the outcome, 0 in all places of cases that are not complete; which are, ``given`` (L, T, S); after how many dates
    the outcome of a date is known, ``horizons``; and ``notes`` on cases that were left out.
    """

    names: tuple[str, ...]
    pools: FloatArray
    given: BoolArray
    horizons: tuple[int, ...]
    notes: tuple[str, ...]

    @property
    def n_members(self) -> int:
        """Members of each forecast."""
        return int(self.pools.shape[-1]) - 1

    def describe(self) -> str:
        """Sizes in words."""
        n_leads, n_dates, n_stations, _ = self.pools.shape
        sizes = [(n_leads, "lead time"), (n_dates, "date"), (n_stations, "station"), (self.n_members, "member")]
        return ", ".join(counted(n, word) for n, word in sizes if n > 1 or word in ("date", "member"))


def forecasts_of(predictions: Any, targets: Any, horizon: Any, missing: str) -> Forecasts:
    """What users pass, checked."""
    one_of("missing", missing, ("refuse", "drop"))
    read = _named if hasattr(predictions, "dims") and hasattr(predictions, "coords") else _positional
    names, members, outcomes, inferred = read(predictions, targets)
    pools = np.concatenate([members, outcomes[..., None]], axis=-1)
    if pools.shape[-1] < 3:
        raise ValueError(f"predictions: got {pools.shape[-1] - 1} member, wanted at least 2: one has no spread")
    given = ~np.isnan(pools).any(axis=-1)
    count = int((~given).sum())
    if count and missing == "refuse":
        lacking = "outcome" if np.isnan(outcomes[~given][0]) else "member"
        raise ValueError(
            f"predictions and targets: got a missing {lacking} {_first(~given, names)} ({counted(count, 'case')} in "
            'all), wanted complete cases; missing="drop" leaves such cases out, if whether one is missing does not '
            "depend on which of its values is the outcome; where some member is missing at most dates, drop the member"
        )
    if not given.any(axis=(1, 2)).all():
        lead = int(given.any(axis=(1, 2)).argmin())
        never = np.flatnonzero(np.isnan(members[lead]).all(axis=(0, 1)))
        advice = ", leave it out"
        if len(names) > 1:
            advice = (
                " there, pass lead times with the same members together, such as "
                'predictions.sel(lead=...).dropna("member", how="all")'
            )
        why = f": member {never[0]} is never given{advice}" if never.size else ""
        of_lead = f" of lead {names[lead]}" * bool(names[lead])
        raise ValueError(f"predictions and targets: got no complete case{of_lead}{why}")
    if (infinite := np.isinf(pools).any(axis=-1)).any():
        raise ValueError(
            f"predictions and targets: got an infinite value {_first(infinite, names)}, wanted finite numbers"
        )
    notes = [f"{count} of {given.size} cases had a missing value and were left out"] if count else []
    notes += _misread(pools[given])
    horizons = inferred if horizon is None else (whole_number("horizon", horizon, 1),) * len(names)
    return Forecasts(names, np.where(given[..., None], pools, 0.0), given, horizons, tuple(notes))


def _first(cases: BoolArray, names: tuple[str, ...]) -> str:
    """Where the first of some cases (L, T, S) is, in words."""
    lead, date, station = (int(i) for i in np.argwhere(cases)[0])
    of_lead = f", lead {names[lead]}" if names[lead] else ""
    return f"at date {date}{of_lead}{f', station {station}' if cases.shape[2] > 1 else ''}"


def _misread(pools: FloatArray) -> list[str]:
    """What to ask about values of members and outcome, the last column: their unit, or codes among them."""
    codes = [
        f"{(pools == code).sum()} values are {code:g}: is that a code for missing ones (pass nan)?"
        for code in codes_among(pools)
    ]
    members, outcomes = Ensemble(pools[:, :-1]), pools[:, -1]
    return [*codes, *(misplaced(members, outcomes) or in_another_unit(members, outcomes))]


Read = tuple[tuple[str, ...], FloatArray, FloatArray, tuple[int, ...]]
"""Names of lead times, members (L, T, S, m), outcomes (L, T, S), horizons."""


def _positional(predictions: ArrayLike, targets: ArrayLike) -> Read:
    """Members (n, m) with outcomes (n,), or (n, m, d) with (n, d), where d is the number of stations.

    Dates are in the order of an index of times of pandas, else in that in which they come.
    """
    family = getattr(predictions, "family", "Ensemble")
    if family != "Ensemble":
        raise TypeError(f"predictions: got {family} predictions, wanted members, as an array or ct.Ensemble")
    given = getattr(predictions, "members", predictions)
    members, outcomes = _numbers(given, "predictions"), _numbers(targets, "targets")
    if (index := index_of(predictions)) is not None:
        table = Table(np.arange(len(index)), index=index)
        members = members[table.in_order_of(order_of(targets, None), "predictions", "targets")[0].values]
    if members.ndim not in (2, 3) or 0 in members.shape:
        raise ValueError(
            f"predictions: got shape {members.shape}, wanted (n, m) for m members at n dates, (n, m, d) for d "
            "stations, or an xarray.DataArray with dimensions member, time and perhaps lead and station"
        )
    wanted = members.shape[:1] + members.shape[2:]
    if outcomes.shape != wanted:
        advice = members_elsewhere(members.shape, outcomes.shape, "predictions")
        raise ValueError(
            f"targets: got shape {outcomes.shape}, wanted {wanted}, the outcomes of the predictions{advice}"
        )
    times = order_of(targets, predictions).index
    if are_times(times):
        rows = np.argsort(times, kind="stable")
        members, outcomes = members[rows], outcomes[rows]
    members = members.swapaxes(1, 2) if members.ndim == 3 else members[:, None]
    return ("",), members[None], outcomes.reshape(1, len(outcomes), -1), (1,)


def _numbers(data: ArrayLike, name: str) -> FloatArray:
    """Numbers, nan where one is missing or masked."""
    try:
        if isinstance(data, np.ma.MaskedArray) and data.dtype.kind in "buif":
            data = np.ma.filled(data.astype(np.float64), np.nan)
        array: Array = to_array(data, "members" if name == "predictions" else name)
        if array.dtype.kind in "buif":
            return array.astype(np.float64)
    except ValueError as error:
        wanted = "; wanted as many members at each date, nan where one is missing" if name == "predictions" else ""
        raise ValueError(f"{error}{wanted}") from None
    raise ValueError(f"{name}: got values of type {array.dtype}, wanted real numbers")


def _named(predictions: Any, targets: Any) -> Read:
    """``xarray.DataArray`` objects."""
    for name, given in (("predictions", predictions), ("targets", targets)):
        if hasattr(given, "data_vars"):
            one = next(iter(given.data_vars), "temperature")
            raise TypeError(f"{name}: got an xarray.Dataset, wanted one of its variables, such as {name}[{one!r}]")
    if not hasattr(targets, "dims"):
        raise TypeError(f"targets: got {type(targets).__name__}, wanted an xarray.DataArray as the predictions are")
    called = member_dimension(predictions)
    if called is not None and called != "member":
        predictions = predictions.rename({called: "member"})
    names = tuple(map(str, predictions.dims))
    if not {"member", "time"} <= set(names) <= set(DIMENSIONS):
        such = ", ".join(f'{one}="{ALSO[one]}"' for one in names if one in ALSO) or f'{names[-1]}="member"'
        raise ValueError(
            f"predictions: got dimensions {', '.join(names)}, wanted member, time and perhaps lead and station; rename "
            f"them, such as predictions.rename({such})"
        )
    wanted = set(names) - {"member"}
    if set(map(str, targets.dims)) != wanted:
        valid = "targets.sel(time=predictions.time + predictions.lead)"
        advice = f"; {valid} has the outcome of each forecast" * ("lead" in wanted)
        raise ValueError(
            f"targets: got dimensions {', '.join(map(str, targets.dims))}, wanted those of the predictions without "
            f"member, {', '.join(sorted(wanted))}{advice}"
        )
    from xarray import align

    others = predictions.indexes
    pairs = [(index, others[name]) for name, index in targets.indexes.items() if name in others]
    are_same = all(len(a) == len(b) and a.symmetric_difference(b).empty for a, b in pairs)
    try:
        # Labels in another order are brought into that of the predictions.
        predictions, targets = align(predictions, targets, join="left" if are_same else "exact")
    except ValueError as error:
        raise ValueError(
            "predictions and targets have other coordinates; wanted the same, such as those of "
            'xarray.align(predictions, targets, join="inner")'
        ) from error
    if "time" in predictions.coords:
        predictions, targets = predictions.sortby("time"), targets.sortby("time")
    absent = [name for name in DIMENSIONS[:3] if name not in names]
    predictions, targets = (one.expand_dims(absent) for one in (predictions, targets))
    members = _numbers(predictions.transpose(*DIMENSIONS).to_numpy(), "predictions")
    outcomes = _numbers(targets.transpose(*DIMENSIONS[:3]).to_numpy(), "targets")
    if 0 in members.shape:
        raise ValueError(f"predictions: got {dict(predictions.sizes)}, wanted at least one of each")
    if "lead" in absent or "lead" not in predictions.coords:
        n = len(members)
        return (("",) if n == 1 else tuple(map(str, range(n)))), members, outcomes, (1,) * n
    leads = predictions["lead"].to_numpy()
    hour = np.timedelta64(1, "h")
    in_words = (f"{lead / hour:g} h" if isinstance(lead, np.timedelta64) else str(lead) for lead in leads)
    return tuple(in_words), members, outcomes, _horizons(leads, predictions)


def _horizons(leads: Array, predictions: Any) -> tuple[int, ...]:
    """How many dates lie within a lead time, if both are times, else 1."""
    times = predictions["time"].to_numpy() if "time" in predictions.coords else np.empty(0)
    if leads.dtype.kind != "m" or times.dtype.kind != "M" or times.size < 2:
        return (1,) * len(leads)
    step = np.diff(times).min()
    if step <= 0 * step:
        raise ValueError("predictions: got the same time twice, wanted one forecast of each time")
    return tuple(max(1, ceil(float(lead / step) - 1e-9)) for lead in leads)
