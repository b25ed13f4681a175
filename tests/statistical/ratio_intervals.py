"""How often intervals of total counts, of ratios in groups and of errors hold what is true, of counts and rare events.

``python -m tests.statistical.ratio_intervals [sets]`` prints the table of ``docs/validity.md``; ten minutes. Beside the
interval of a total is that of Garwood, wider by ``sum (y - r m)**2 / sum y`` alone.
"""

import sys

import numpy as np

import caltest as ct
from caltest._validation.groups import Groups
from caltest.estimators.combined.measures import FIFTIETHS, TENTHS, measures_of, number_interval
from caltest.group_test import Shares
from caltest.predictions.censored import censored_pit_values
from caltest.predictions.claims import FEWER, CountClaim
from caltest.predictions.inputs.convert import as_sample

SETS, SIZES, RATIOS = 1000, (10, 20, 50, 200, 500, 2000, 20_000), (1.0, 1.3)
GROUPS, FEW = 8, 500
"""Groups, if there are so many rows, else one."""
MEANS = {"counts of 10": (2.0, 10.0), "counts of 2": (2.0, 2.0), "counts of 0.1": (1.0, 0.1)}
"""Shapes and means of Gamma distributions of predicted counts."""
DISPERSIONS = (1.0, 3.0, 10.0)
SETTINGS = [(what, dispersion) for what in MEANS for dispersion in DISPERSIONS]
SETTINGS += [("events of 1 %", 1.0), ("times of events", 1.0)]


class Counts(ct.Poisson):
    """Predicted counts of which only the sum is looked at, as all else takes nearly all of the time."""

    def claims(self, targets):
        """That of the sum."""
        return [CountClaim("total count", self.mean, targets, self.mean, FEWER, "expected counts")], []


def data(what, dispersion, n, ratio, rng):
    """Predictions with outcomes, true means, which are the predicted ones times a ratio, and an order of alike ones.

    Counts have a variance of so many times their means, which Poisson predictions do not know. Of times of events, half
    of them censored, the means are hazards while rows are observed.
    """
    if what == "times of events":
        rate, end = rng.uniform(0.4, 1.2, n), rng.exponential(1.2, n)
        time = rng.exponential(1.0 / (ratio * rate))
        times = ct.Censored(np.minimum(time, end), time <= end)
        sample = as_sample(*censored_pit_values(ct.Gamma(np.ones(n), 1.0 / rate), times, rng=rng))
        return sample, ratio * rate * times.time, 1.0 / rate
    if what == "events of 1 %":
        p = np.clip(rng.beta(1.0, 99.0, n), 1e-6, 0.7)
        return as_sample(ct.Bernoulli(p), (rng.random(n) < ratio * p).astype(int)), ratio * p, p
    shape, mean = MEANS[what]
    p = rng.gamma(shape, mean / shape, n) + 1e-6
    rates = ratio * p
    if dispersion > 1.0:
        rates = rng.gamma(ratio * p / (dispersion - 1.0), dispersion - 1.0)
    return as_sample(Counts(p), rng.poisson(rates)), ratio * p, p


def groups(n, rng):
    """Groups of which each is about 1.5 times as large as the next one: of about 10 rows to 170 of 500."""
    number = GROUPS if n >= FEW else 1
    shares = 1.5 ** -np.arange(number)
    members = rng.choice(number, n, p=shares / shares.sum())
    return Groups.of_masks(tuple(map(str, range(number))), [members == g for g in range(number)], n)


def holds(what, dispersion, n, ratio, rng):
    """Whether intervals hold what is true: of the total, the plain one, those of all groups, and of the error.

    Then the lengths of both intervals of the total, in units of that of the normal law with the true scatter.
    """
    sample, truth, order = data(what, dispersion, n, ratio, rng)
    measures, some = measures_of(sample), groups(n, rng)
    whole = next((one for one in measures if one.is_number), measures[0])
    shares, claimed = Shares.of(sample, some).of_groups, truth / ratio
    of_groups = [truth[rows].sum() * (1.0 if whole.is_number else 1.0 / rows.size) for rows in some.rows]
    bins = (FIFTIETHS if "fiftieths" in whole.gap.method else TENTHS).assign(order[:, None])
    gap = np.abs(np.bincount(bins, truth - claimed)).sum() / (claimed.sum() if whole.is_number else n)
    total = truth.sum() * (1.0 if whole.is_number else 1.0 / n)
    plain = whole.interval
    if what in MEANS:
        y, scatter = sample.targets, 1.0
        if y.any():
            scatter = max(1.0, np.square(y - y.sum() / claimed.sum() * claimed).sum() / y.sum())
        plain = number_interval(float(y.sum()), 0.95, scatter)
    usual = 2.0 * 1.96 * np.sqrt(dispersion * total)
    return (
        not whole.interval.excludes(total),
        not plain.excludes(total),
        all(not one[2].excludes(value) for one, value in zip(shares, of_groups, strict=True)),
        not whole.gap.excludes(gap),
        *((one.high - one.low) / usual for one in (whole.interval, plain)),
    )


def covered(what, dispersion, n, ratio, sets=SETS):
    """Shares of data sets in which they do, and the medians of the lengths."""
    found = np.array([holds(what, dispersion, n, ratio, np.random.default_rng([29, n, i])) for i in range(sets)])
    return np.concatenate([found[:, :4].mean(axis=0), np.median(found[:, 4:], axis=0)])


def row(what, dispersion, n, sets):
    """Cells of a line of the table; only counts have another interval of their total."""
    for ratio in RATIOS:
        *shares, own, plain = covered(what, dispersion, n, ratio, sets)
        total, before, of_groups, error = (f"{100.0 * one:.1f}" for one in shares)
        is_counted = what in MEANS
        yield from [total, before if is_counted else "", of_groups, error]
        if ratio == 1.0:
            yield from [f"{own:.2f}", f"{plain:.2f}"] if is_counted else ["", ""]


def main(sets=SETS):
    """Print the table."""
    for what, dispersion in SETTINGS:
        for n in SIZES[4:] if what == "events of 1 %" else SIZES:
            print("|", what, "|", dispersion, "|", n, "|", " | ".join(row(what, dispersion, n, sets)), "|", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
