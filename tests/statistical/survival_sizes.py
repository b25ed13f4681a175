"""How often tests of survival curves reject right ones, and wrong ones, for several shares of censored rows.

``python -m tests.statistical.survival_sizes`` prints the first table of ``docs/validity.md``, in about three minutes,
``... 100`` the second one, of 100 data sets, and ``... horizon`` the third one, of 300, in three minutes.
"""

import sys

import numpy as np

import caltest as ct
from caltest._basics.calls import pvalues_only
from caltest.fields import Censored, a_calibration, d_calibration, one_calibration
from caltest.predictions import SurvivalCurve

SETS = 1000


def data(rng, n, share, grid, on_grid, wrong=1.0):
    """Curves of exponential times, with about a share of rows censored; true rates are ``wrong`` times as high."""
    rate = rng.uniform(0.3, 1.5, n)
    curves = np.exp(-rate[:, None] * grid)
    time, end = rng.exponential(1.0 / (wrong * rate)), rng.exponential((1.0 - share) / share / rate)
    if on_grid:
        edges = np.append(grid, 2.0 * grid[-1])
        time, end = (edges[np.minimum(np.searchsorted(edges, one), grid.size)] for one in (time, end))
    else:
        # Within an interval times are spread evenly, as the curves have it.
        edges = np.concatenate([[0.0], grid])
        place = np.searchsorted(grid, time)
        inside = edges[place] + rng.random(n) * np.append(np.diff(edges), 1.0)[place]
        time = np.where(place == grid.size, time, inside)
    event = time <= end
    event[0] = True
    return curves, Censored(np.minimum(time, end), event)


SETTINGS = {
    "n = 60, half censored": (60, 0.5, np.array([0.25, 0.5, 1.0, 2.0]), False),
    "n = 16, 20 %": (16, 0.2, np.array([0.5, 1.5]), False),
    "n = 60, 70 %, one time": (60, 0.7, np.array([1.0]), False),
    "n = 60, 20 %": (60, 0.2, np.array([0.25, 0.5, 1.0, 2.0]), False),
    "n = 60, 70 %": (60, 0.7, np.array([0.25, 0.5, 1.0, 2.0]), False),
    "n = 60, ties": (60, 0.5, np.array([0.25, 0.5, 1.0, 2.0]), True),
}


def pvalues(name, wrong, seed):
    """Of the default test, of D-calibration (exact and as published), and of A-calibration."""
    n, share, grid, on_grid = SETTINGS[name]
    rng = np.random.default_rng([seed, n])
    curves, targets = data(rng, n, share, grid, on_grid, wrong)
    laws = SurvivalCurve(grid, curves, between="steps" if on_grid else "linear")
    with pvalues_only():
        default = ct.calibration_test(laws, targets, n_resamples=99, rng=rng).pvalue
    counted = d_calibration(laws, targets, n_bins=5, n_resamples=99, rng=rng)
    try:
        hazards = a_calibration(laws, targets, n_bins=5, n_resamples=1, rng=rng).approximate
    except ValueError:
        hazards = np.nan
    return default, counted.pvalue, counted.approximate, hazards


def main():
    """Print the table."""
    for name in SETTINGS:
        for wrong in (1.0, 1.5):
            found = np.array([pvalues(name, wrong, seed) for seed in range(SETS)])
            known = np.isfinite(found)
            rates = 100.0 * ((found <= 0.05) & known).sum(axis=0) / known.sum(axis=0)
            model = "calibrated" if wrong == 1.0 else "1.5 times the rate"
            print(f"| {name} | {model} |", " | ".join(f"{rate:.1f}" for rate in rates), "|", flush=True)


def with_limits(sets):
    """Print the table of D- and A-calibration with exact p-values, without and with known limits of censoring."""
    for n, share in ((16, 0.5), (60, 0.5), (60, 0.7), (400, 0.7)):
        for wrong in (1.0, 1.5):
            found = []
            for seed in range(sets):
                rng = np.random.default_rng([seed, n, 5])
                rate = rng.uniform(0.5, 2.0, n)
                limits, time = rng.exponential((1 - share) / share, n) + 0.05, rng.exponential(1 / (wrong * rate))
                targets = Censored(np.minimum(time, limits), time <= limits)
                for function in (d_calibration, a_calibration):
                    for known in (None, limits):
                        try:
                            laws, settings = ct.Gamma(np.ones(n), 1 / rate), {"n_bins": 5, "n_resamples": 99}
                            found.append(function(laws, targets, limits=known, rng=rng, **settings).pvalue <= 0.05)
                        except ValueError:
                            found.append(False)
            rates = 100.0 * np.reshape(found, (sets, 4)).mean(axis=0)
            model = "calibrated" if wrong == 1.0 else "1.5 times the rate"
            print(
                f"| n = {n}, {100 * share:g} % | {model} |", " | ".join(f"{one:.1f}" for one in rates), "|", flush=True
            )


AT_A_HORIZON = [
    ("n = 60, risks of 0.36", 60, 1.0, 2.0, 0.5, 5),
    ("n = 200, risks of 0.13", 200, 0.3, 1.0, 0.5, 5),
    ("n = 500, 76 % censored", 500, 0.6, 0.6, 1.5, 10),
    ("n = 300, none censored", 300, 0.6, 1e9, 2.0, 10),
    ("n = 1000, 10 events expected", 1000, 0.02, 1.0, 0.5, 5),
    ("n = 40, risks of 0.84", 40, 6.0, 0.3, 0.5, 5),
    ("n = 500, low risks censored sooner", 500, 1.0, 0.7, 1.0, 10, 1.0),
    ("n = 500, high risks censored sooner", 500, 1.0, 0.7, 1.0, 10, -1.0),
]
"""Rows, mean rates of events, mean times of censoring, horizons and groups, and the power of the rate that multiplies
the times of censoring, 0 if none is given."""


def at_a_horizon(sets):
    """Print how often one-calibration has groups and rejects, and O:E holds; and sizes for curves of few times."""
    for name, n, mean, end, horizon, n_groups, *power in AT_A_HORIZON:
        found = []
        for seed in range(sets):
            rng = np.random.default_rng([seed, n, 7])
            rate = mean * rng.gamma(2.0, 0.5, n)
            time, limit = rng.exponential(1.0 / rate), rng.exponential(end * rate ** sum(power))
            laws, targets = ct.Gamma(np.ones(n), 1.0 / rate), Censored(np.minimum(time, limit), time <= limit)
            try:
                one = one_calibration(laws, targets, horizon, n_groups=n_groups, n_resamples=19, rng=seed)
            except ValueError:
                continue
            found.append((one.approximate <= 0.05, one.pvalue <= 0.05, one.ratio.low <= 1.0 <= one.ratio.high))
        rates = [100.0 * len(found) / sets, *(100.0 * np.mean(found, axis=0))]
        print(f"| {name} |", " | ".join(f"{rate:.0f}" for rate in rates), "|", flush=True)
    for grid in (np.array([1.0]), np.array([0.5, 1.0, 2.0, 4.0]), np.linspace(0.1, 4.0, 40)):
        rejected = []
        for seed in range(sets):
            rng = np.random.default_rng([seed, grid.size, 11])
            rate = rng.uniform(0.5, 2.0, 300)
            time, limit = rng.exponential(1.0 / rate), rng.exponential(2.0, 300)
            curves = SurvivalCurve(grid, np.exp(-rate[:, None] * grid))
            with pvalues_only():
                targets = Censored(np.minimum(time, limit), time <= limit)
                rejected.append(ct.calibration_test(curves, targets, n_resamples=99, rng=seed).pvalue <= 0.05)
        print(f"curves, number of times {grid.size}: {100.0 * np.mean(rejected):.1f} % rejected", flush=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["horizon"]:
        at_a_horizon(300)
    elif len(sys.argv) > 1:
        with_limits(int(sys.argv[1]))
    else:
        main()
