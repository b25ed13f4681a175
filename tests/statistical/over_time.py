"""Rejections of forecasts whose outcomes overlap, and run lengths of monitors.

``python -m tests.statistical.over_time`` prints the tables of ``docs/validity.md``; about ten minutes; with ``past``
that of forecasts that use earlier outcomes only, with ``lag`` those of monitors and changes with a lag.
"""

import sys

import numpy as np
from scipy.special import expit, logit

import caltest as ct
from caltest._basics.calls import pvalues_only
from caltest.predictions.inputs.convert import as_sample
from caltest.sequential.change import DROP, NEARLY, _log_likelihoods, change_of

SETS, SETS_OF_DATES = 500, 200
FIXED = [(2, 50, 300), (5, 50, 300), (5, 250, 200)]


def overlapping(rng, n, h):
    """Sums of the next h shocks, forecast before them: right, but outcomes of h rows in a row are dependent."""
    shocks = rng.normal(size=n + h)
    sums = np.convolve(shocks, np.ones(h), "valid")[:n]
    return ct.Normal(np.zeros(n), np.full(n, np.sqrt(h))), sums


def rejections(h, n, shift, seed):
    """Whether the test with the lag, and without, rejects at the 5 % level at some time."""
    predictions, y = overlapping(np.random.default_rng([seed, h, n]), n, h)
    tests = (ct.SequentialCalibrationTest("likelihood", lag=lag) for lag in (h, 1))
    return [test.update(predictions, y + shift * np.sqrt(h)).pvalue <= 0.05 for test in tests]


def fixed(h, n, shift, seed):
    """Whether the test with the lag, without, and those of blocks as clusters, reject at the 5 % level."""
    rng = np.random.default_rng([seed, h, n, 1])
    predictions, y = overlapping(rng, n, h)
    kernel = ct.ProductKernel(ct.ExponentialKernel(ct.Wasserstein(), 1.0), ct.GaussianKernel(bandwidth=np.sqrt(h)))
    settings = {"kernel": kernel, "n_resamples": 199, "rng": seed}
    found = [ct.calibration_test(predictions, y + shift * np.sqrt(h), lag=lag, **settings).pvalue for lag in (h, 1)]
    for length in (h, 4 * h):
        enough = n // length >= 5
        blocks = np.minimum(np.arange(n) // length, n // length - 1)
        test = ct.ClusterSKCETest(blocks if enough else np.arange(n), kernel, 199)
        found.append(test(predictions, y + shift * np.sqrt(h), rng=seed).pvalue if enough else np.nan)
    return [np.nan if np.isnan(pvalue) else pvalue <= 0.05 for pvalue in found]


def urns(rng, n, h):
    """Shares in h urns that get another ball of the colour drawn, in turn: right given the past, and made from it."""
    events, draws = np.ones(h), np.arange(n) // h + 2.0
    p, y = np.empty(n), np.empty(n, dtype=int)
    for t in range(n):
        p[t] = events[t % h] / draws[t]
        y[t] = rng.random() < p[t]
        events[t % h] += y[t]
    return ct.Bernoulli(p), y


def random_walks(rng, n, h):
    """The last of h random walks in turn, as a forecast of its next place."""
    steps = rng.normal(size=(n // h, h))
    return ct.Normal((steps.cumsum(axis=0) - steps).ravel(), 1.0), steps.cumsum(axis=0).ravel()


def of_the_past(make, h, n, seed):
    """Whether tests of all rows at once, and the sequential one, reject forecasts that are made from outcomes."""
    predictions, y = make(np.random.default_rng([seed, h, n, 4]), n, h)
    tests = [
        lambda: ct.calibration_test(predictions, y, lag=h, n_resamples=199, rng=seed),
        lambda: ct.MonteCarloTest(ct.SKCE(), 199)(predictions, y, rng=seed),
        lambda: ct.CoxTest()(predictions, y),
        lambda: ct.SequentialCalibrationTest(lag=h)(predictions, y),
    ]
    classical = isinstance(predictions, ct.Bernoulli)
    return [test().pvalue <= 0.05 if classical or i != 2 else np.nan for i, test in enumerate(tests)]


def with_the_past():
    """Print the table of forecasts that use earlier outcomes."""
    for make, h, n in ((urns, 1, 200), (urns, 2, 400), (random_walks, 1, 200), (random_walks, 2, 400)):
        with pvalues_only():
            rates = 100.0 * np.mean([of_the_past(make, h, n, seed) for seed in range(SETS)], axis=0)
        cells = ("" if np.isnan(one) else f"{one:.1f}" for one in rates)
        print(f"| {make.__name__.replace('_', ' ')} | {h} | {n} | {' | '.join(cells)} |", flush=True)


def binary(rng, n, start):
    """Uniform predictions, and outcomes that are overconfident from some row on."""
    p = rng.random(n)
    true = np.where(np.arange(n) < start, p, 0.5 + 0.3 * (p - 0.5))
    return p, (rng.random(n) < true).astype(int)


CHANGES = {
    "logits + 0.25": lambda logits, age: np.where(age >= 0.0, 0.25, 0.0),
    "logits + 0.8": lambda logits, age: np.where(age >= 0.0, 0.8, 0.0),
    "slope 0.6": lambda logits, age: np.where(age >= 0.0, -0.4 * logits, 0.0),
    "logits + 0.6, then slope 0.4": lambda logits, age: np.where(
        age >= 0.5, -0.6 * logits, np.where(age >= 0.0, 0.6, 0.0)
    ),
}
"""What is added to logits, by the share of the time since the change; the last changes again half-way."""


def dated(words, start, seed, n=1000):
    """Whether the interval covers the change, how far the estimate and the middle of a mixture are, and its width.

    None without an alarm.
    """
    rng = np.random.default_rng([seed, start])
    p = rng.uniform(0.05, 0.95, n)
    age = (np.arange(n) - start) / (n - start)
    y = (rng.random(n) < expit(logit(p) + CHANGES[words](logit(p), age))).astype(int)
    if ct.SequentialCalibrationTest("likelihood").update(p, y).pvalue > 0.05:
        return None
    likelihood = _log_likelihoods(as_sample(p, y))
    near = np.flatnonzero(likelihood >= likelihood.max() - DROP)
    first = 0 if likelihood[0] >= likelihood.max() - NEARLY else int(likelihood.argmax())
    shares = np.cumsum(np.exp(likelihood - likelihood.max()))
    middle = int(np.searchsorted(shares, shares[-1] / 2.0))
    return near[0] <= start <= near[-1], abs(first - start), abs(middle - start), near[-1] - near[0] + 1


def runs(strategy, length, seed):
    """Observations before the first alarm if calibrated, at most ten times the length, and after a late change."""
    rng = np.random.default_rng([seed, length])
    quiet = ct.CalibrationMonitor(length, strategy).update(*binary(rng, 10 * length, 10 * length)).alarms
    changed = ct.CalibrationMonitor(length, strategy).update(*binary(rng, 1400, 1000)).alarms
    later = [one - 1000 for one in changed if one > 1000]
    return quiet[0] if quiet else 10 * length, later[0] if later else 400


def runs_with_lag(h, length, seed):
    """The same of sums of h shocks, with the lag and without, and after outcomes become half a deviation higher."""
    rng = np.random.default_rng([seed, h, length, 2])
    found = []
    for lag in (h, 1):
        quiet = ct.CalibrationMonitor(length, "likelihood", lag=lag).update(*overlapping(rng, 10 * length, h)).alarms
        found.append(quiet[0] if quiet else 10 * length)
    predictions, y = overlapping(rng, 1400, h)
    y[1000:] += 0.5 * np.sqrt(h)
    later = [one - 1000 for one in ct.CalibrationMonitor(length, "likelihood", lag=h).update(predictions, y).alarms]
    return *found, next((one for one in later if one > 0), 400)


def dated_with_lag(h, start, seed):
    """Whether the interval for a change of sums of h shocks by 0.4 deviations covers it, with the lag and without.

    Each is None where no change is clear; third, whether one is clear with the lag in sums without a change.
    """
    rng = np.random.default_rng([seed, h, start, 3])
    predictions, y = overlapping(rng, start + 400, h)
    quiet = change_of(as_sample(predictions, y), h) is not None
    y[start:] += 0.4 * np.sqrt(h)
    likelihood, found = _log_likelihoods(as_sample(predictions, y)), []
    for lag in (h, 1):
        near = np.flatnonzero(likelihood >= likelihood.max() - DROP * lag)
        found.append(near[0] <= start <= near[-1] if likelihood.max() > DROP * lag else None)
    return *found, quiet


def with_lag():
    """Print the tables of monitors and changes with a lag."""
    for h in (2, 5):
        for length in (50, 200):
            found = np.mean([runs_with_lag(h, length, seed) for seed in range(SETS // 5)], axis=0)
            print(f"| {h} | {length} | {' | '.join(f'{one:.0f}' for one in found)} |", flush=True)
    for h in (2, 5):
        for start in (300, 1000):
            found = [dated_with_lag(h, start, seed) for seed in range(SETS // 5)]
            kept = [[one for one in column if one is not None] for column in zip(*found, strict=True)]
            numbers = " | ".join(f"{100 * np.mean(one):.0f}" for one in kept)
            print(f"| {h} | {start} | {len(kept[0])} | {numbers} |", flush=True)


def main():
    """Print the tables."""
    for h in (2, 5):
        for n in (100, 500):
            for shift in (0.0, 0.5):
                rates = 100.0 * np.mean([rejections(h, n, shift, seed) for seed in range(SETS)], axis=0)
                model = "right" if shift == 0.0 else "too low by half a deviation"
                print(f"| {h} | {n} | {model} | {rates[0]:.1f} | {rates[1]:.1f} |", flush=True)
    for h, n, sets in FIXED:
        for shift in (0.0, 0.5):
            with pvalues_only():
                rates = 100.0 * np.mean([fixed(h, n, shift, seed) for seed in range(sets)], axis=0)
            model = "right" if shift == 0.0 else "too low by half a deviation"
            print(f"| {h} | {n} | {model} | {' | '.join(f'{one:.1f}' for one in rates)} | {sets} |", flush=True)
    with_the_past()
    for words in CHANGES:
        for start in (100, 500, 900):
            found = [one for seed in range(SETS_OF_DATES) if (one := dated(words, start, seed)) is not None]
            covered, *others = np.array(found, dtype=float).T
            numbers = " | ".join(f"{np.median(one):.0f}" for one in others)
            print(f"| {words} | {start} | {len(found)} | {100 * covered.mean():.0f} | {numbers} |", flush=True)
    for strategy in ("likelihood", "both"):
        for length in (50, 200):
            found = np.array([runs(strategy, length, seed) for seed in range(SETS // 5)])
            cut = 100.0 * np.mean(found[:, 0] == 10 * length)
            mean, delay = found.mean(axis=0)
            print(f"| {strategy} | {length} | {mean:.0f} | {cut:.0f} | {delay:.0f} |", flush=True)
    with_lag()


if __name__ == "__main__":
    {"lag": with_lag, "past": with_the_past}.get(sys.argv[-1], main)()
