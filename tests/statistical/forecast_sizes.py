"""Sizes and power of the tests of forecasts, printed by ``python -m tests.statistical.forecast_sizes 400``."""

import sys
from unittest.mock import patch

import numpy as np

import caltest as ct
from caltest._basics.calls import pvalues_only
from caltest.fields import weather
from caltest.fields.weather import crps

from .settings import spawn

SETTINGS = [(n_members, n) for n_members in (9, 51) for n in (50, 500)]

N_RESAMPLES = 199


def correlated(rng, n, n_stations, size):
    """Values of members and outcome that share a part at all stations."""
    return np.sqrt(0.6) * rng.normal(size=(n, 1, size)) + np.sqrt(0.4) * rng.normal(size=(n, n_stations, size))


def numbers(rng, n, size):
    """Independent dates."""
    return rng.normal(size=(n, 1, 1)) + correlated(rng, n, 1, size)


def rain(rng, n, size, n_stations=1):
    """Amounts in tenths, four fifths of which are 0."""
    return np.round(np.maximum(0.0, rng.normal(size=(n, 1, 1)) + correlated(rng, n, n_stations, size) - 1.2), 1)


def rain_at_stations(rng, n, size):
    """The same at three stations."""
    return rain(rng, n, size, 3)


def persistent_rain(rng, n, size, n_stations=1):
    """The forecasts of a date start at the outcome of the date before."""
    values, state = np.empty((n, n_stations, size)), np.zeros(n_stations)
    for t, noise in enumerate(correlated(rng, n, n_stations, size)):
        values[t] = 0.9 * state[:, None] + noise
        state = values[t, :, -1]
    return np.maximum(0.0, values - 1.0)


def persistent_rain_at_stations(rng, n, size):
    """The same at three stations."""
    return persistent_rain(rng, n, size, 3)


MODELS = [numbers, rain, rain_at_stations, persistent_rain, persistent_rain_at_stations]


def overlapping(rng, n, size, horizon=3):
    """Forecasts of a first-order autoregression three dates ahead."""
    y = np.zeros(n + horizon + 100)
    for t in range(1, len(y)):
        y[t] = 0.8 * y[t - 1] + rng.normal()
    y = y[100:]
    spread = np.sqrt(sum(0.64**step for step in range(horizon)))
    members = 0.8**horizon * y[:n, None] + spread * rng.normal(size=(n, size - 1))
    return np.concatenate([members, y[horizon:, None]], axis=1)[:, None]


def split(values):
    """Members and outcomes."""
    return values[:, :, :-1].swapaxes(1, 2), values[:, :, -1]


def default_test(members, outcomes, n_resamples, rng):
    """Of vectors where there are several stations."""
    pair = (members, outcomes) if members.shape[2] > 1 else (members[:, :, 0], outcomes[:, 0])
    with pvalues_only():
        return ct.calibration_test(ct.Ensemble(pair[0]), pair[1], n_resamples=n_resamples, rng=rng)


TESTS = {
    "rank histogram": weather.rank_histogram,
    "rank histogram, ties shared": lambda *data, **how: weather.rank_histogram(*data, ties="shared", **how),
    "reliability of the CRPS": weather.crps_decomposition,
    "exceedances of 0 and 1": lambda *data, **how: weather.exceedances(*data, [0.0, 1.0], **how),
    "default test": default_test,
}


LEFT_OUT = {"exceedances of 0 and 1": [numbers], "default test": [persistent_rain, persistent_rain_at_stations]}
"""Data of which a test is not made."""


def pvalues(test, model, n_members, n, number, change=lambda members: members, **how):
    """P-values of data sets: the test, and approximate ones of its parts where there are some."""
    rng = spawn(230, sum(map(ord, model.__name__)), n_members, n)
    found = []
    for seed in range(number):
        members, outcomes = split(model(rng, n, n_members + 1))
        if members.max() <= 1.0:
            continue  # which some of the tests refuse
        # The isotonic parts of the CRPS take most of its time, and p-values do not depend on them.
        with patch.object(crps, "THRESHOLDS", 10):
            result = test(change(members), outcomes, n_resamples=N_RESAMPLES, rng=seed, **how)
        approximate = [part.approximate for part in result.rows[0].parts] if hasattr(result, "rows") else []
        found.append([result.pvalue, *(1.0 if p is None else p for p in approximate)])
    return np.array(found)


def rates(found):
    """Shares of at most 5 %, in per cent."""
    return 100.0 * (found <= 0.05).mean(axis=0)


FAULTS = {
    "numbers, spread of 0.8": (
        numbers,
        lambda x: x.mean(axis=1, keepdims=True) + 0.8 * (x - x.mean(axis=1, keepdims=True)),
    ),
    "rain, amounts of two thirds": (rain, lambda x: x * 2.0 / 3.0),
    "rain, always 0.3 more": (rain, lambda x: x + 0.3),
    "rain, a third of the members dry": (rain, lambda x: x * (np.arange(x.shape[1]) % 3 > 0)[None, :, None]),
}


def line(name, test, model, number, column=0, **how):
    """A row of a table: rejections for each number of members and dates, or those of the approximate p of a part."""
    own = [f"{rates(pvalues(test, model, *setting, number, **how))[column]:.1f}" for setting in SETTINGS]
    print(f"| {name} | {' | '.join(own)} |", flush=True)


def main(number, which):
    """All tests whose names begin with a word, or those of overlapping forecasts."""
    for name, test in TESTS.items():
        if not name.startswith(which):
            continue
        for model in MODELS:
            if model not in LEFT_OUT.get(name, ()):
                line(f"{name}, {model.__name__.replace('_', ' ')}", test, model, number)
        if "rank" in name:
            line(f"{name}, rain, approximate p of the rest", test, rain, number, column=3)
        for fault, (model, change) in FAULTS.items():
            line(f"{name}, {fault}", test, model, number // 4, change=change)
    if which in ("", "horizon"):
        for horizon in (1, 3):
            line(
                f"rank histogram, overlapping, horizon={horizon}",
                TESTS["rank histogram"],
                overlapping,
                number,
                horizon=horizon,
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 400, " ".join(sys.argv[2:]))
