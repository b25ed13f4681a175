"""How often intervals of total counts, of ratios in groups and of errors hold what is true, of counts and rare events.

``python -m tests.statistical.ratio_intervals [sets]`` prints the table of ``docs/validity.md``; five minutes.
"""

import sys

import numpy as np

import caltest as ct
from caltest._validation.groups import Groups
from caltest.estimators.combined.measures import FIFTIETHS, TENTHS, measures_of
from caltest.group_test import Shares
from caltest.predictions.censored import censored_pit_values
from caltest.predictions.claims import FEWER, CountClaim
from caltest.predictions.inputs.convert import as_sample

SETS, SIZES, RATIOS = 1000, (12, 30, 100, 500, 2000, 20_000), (1.0, 1.3)
GROUPS, FEW = 8, 500
"""Groups, if there are so many rows, else one."""
MEANS = {"counts of 2": (2.0, 2.0), "counts of 0.1": (1.0, 0.1)}
"""Shapes and means of Gamma distributions of predicted counts."""
DISPERSIONS = (1.0, 1.5, 3.0)
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
    """Whether the interval of the total count, those of all groups, and that of the error hold what is true."""
    sample, truth, order = data(what, dispersion, n, ratio, rng)
    measures, some = measures_of(sample), groups(n, rng)
    whole = next((one for one in measures if one.is_number), measures[0])
    shares, claimed = Shares.of(sample, some).of_groups, truth / ratio
    of_groups = [truth[rows].sum() * (1.0 if whole.is_number else 1.0 / rows.size) for rows in some.rows]
    bins = (FIFTIETHS if "fiftieths" in whole.gap.method else TENTHS).assign(order[:, None])
    gap = np.abs(np.bincount(bins, truth - claimed)).sum() / (claimed.sum() if whole.is_number else n)
    return (
        not whole.interval.excludes(truth.sum() * (1.0 if whole.is_number else 1.0 / n)),
        all(not one[2].excludes(value) for one, value in zip(shares, of_groups, strict=True)),
        not whole.gap.excludes(gap),
    )


def covered(what, dispersion, n, ratio, sets=SETS):
    """Shares of data sets in which they do."""
    found = [holds(what, dispersion, n, ratio, np.random.default_rng([29, n, i])) for i in range(sets)]
    return np.mean(found, axis=0)


def main(sets=SETS):
    """Print the table."""
    for what, dispersion in SETTINGS:
        for n in SIZES[3:] if what == "events of 1 %" else SIZES:
            cells = [f"{100.0 * one:.1f}" for ratio in RATIOS for one in covered(what, dispersion, n, ratio, sets)]
            print("|", what, "|", dispersion, "|", n, "|", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
