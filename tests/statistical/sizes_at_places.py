"""Coverage of the sizes of faults that begin at an unknown place: ``python -m tests.statistical.sizes_at_places``.

Outcomes rise less than predicted from a mean on, or up to it; counts follow a power of the means there; events come at
another rate from a time on, or up to it. Places are not among those that are tried.
"""

import numpy as np

import caltest as ct
from caltest.estimators.combined.findings import findings_of
from caltest.predictions.censored import censored_pit_values
from caltest.predictions.inputs.convert import as_sample

from .settings import spawn

LEVELS, SIZE = (0.15, 0.36, 0.5, 0.64, 0.85), 0.4
"""Quantiles of the predicted means where faults begin, and the slope, or power, of outcomes there."""

TIMES, RATE = (0.1, 0.25, 0.37, 0.55, 0.8), 1.7
"""Times of the same, in units of the typical predicted one, and how many times as many events come."""


def of_numbers(rng, n, place, upper):
    m = rng.normal(size=n)
    knot = np.quantile(m, place)
    y = np.where((m > knot) == upper, knot + SIZE * (m - knot), m) + 0.5 * rng.normal(size=n)
    return as_sample(ct.Normal(m, np.full(n, 0.5)), y)


def of_counts(rng, n, place, upper):
    m = np.exp(1.5 + 0.7 * rng.normal(size=n))
    knot = np.quantile(m, place)
    return as_sample(ct.Poisson(m), rng.poisson(np.where((m > knot) == upper, knot * (m / knot) ** SIZE, m)))


def of_times(rng, n, place, upper):
    rate, hazards, end = np.exp(0.6 * rng.normal(size=n)), rng.exponential(size=n), rng.exponential(2.0, n)
    before, after = (1.0, RATE) if upper else (RATE, 1.0)
    at = before * rate * place
    time = np.where(hazards < at, hazards / (before * rate), place + (hazards - at) / (after * rate))
    targets = ct.Censored(np.minimum(time, end), time <= end)
    return as_sample(*censored_pit_values(ct.Gamma(np.ones(n), 1.0 / rate), targets, rng=1))


CASES = {
    "numbers, another slope": (of_numbers, "local slope", SIZE, LEVELS),
    "counts, another power": (of_counts, "local elasticity", SIZE, LEVELS),
    "times, another rate": (of_times, "hazard in time", RATE, TIMES),
}


def covered(case, n, upper, n_sets):
    """In how many of some data sets the fault is named, and its interval covers the size."""
    make, kind, size, places = CASES[case]
    named = inside = 0
    for rng in spawn(41, list(CASES).index(case), n, int(upper)).spawn(n_sets):
        for place in places:
            first = next(iter(findings_of(make(rng, n, place, upper))), None)
            if first is not None and first.kind == kind:
                named += 1
                inside += not first.interval.excludes(size)
    return named, inside


def main():
    print("| fault | where | n | named | intervals cover |\n|---|---|---:|---:|---:|", flush=True)
    for case in CASES:
        for upper in (True, False):
            for n in (500, 2000):
                named, inside = covered(case, n, upper, 40)
                where = "beyond" if upper else "up to"
                print(f"| {case} | {where} | {n} | {named} of 200 | {inside} of {named} |", flush=True)


if __name__ == "__main__":
    main()
