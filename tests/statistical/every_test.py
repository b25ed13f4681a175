"""What every test assumes and costs, how often it rejects where its null hypothesis holds, and how often elsewhere.

``python -m tests.statistical.every_test size [names of tests]``, or ``power``, measures all tests or those named and
stores what it finds with the day in ``every_test.json``; 50 and ten minutes of one processor. It ends with the tables
of ``docs/error-rates.md``, from all that is stored; with ``write`` it does this alone.
The numbers of ``docs/which-test.md``, of notes and docstrings are these.
"""

import json
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import caltest as ct
from caltest._basics.calls import pvalues_only

from .other_nulls import OTHERS
from .settings import HARD, dirichlet, spawn

SIZE_SETS, POWER_SETS, LEVEL = 500, 100, 0.05
SETS_OF_OTHERS = {"size": 1000, "power": 500}
STORED = Path(__file__).with_suffix(".json")
PAGE = Path(__file__).parents[2] / "docs" / "error-rates.md"


class Row(NamedTuple):
    """A test: made for predictions, whence its p-value, its time, and what has to be independent given predictions."""

    make: Callable[[Any, np.random.Generator], Callable[..., Any]]
    pvalue: str
    time: str
    independent: str = "rows"


def locations(p, rng):
    """Five of the predictions, with targets of their own, as test locations."""
    chosen = p.take(rng.integers(len(p), size=5))
    return ct.UCME(p.default_kernel(), chosen, chosen.sample(rng))


def pearson(p, rng):
    """For classes: elsewhere its skewness takes redraws, as many as those of the exact test."""
    if not hasattr(p, "n_classes"):
        raise TypeError
    return ct.PearsonSKCETest(p.default_kernel())


def of_top_label(test):
    """For classes, whose top label it takes."""
    return lambda p, y, rng: (
        test(*ct.top_label(p, y), rng=rng) if isinstance(p, ct.Categorical) else test(p, y, rng=rng)
    )


def triples(p):
    """Clusters of three rows."""
    return np.arange(len(p)) // 3


def omnibus_of_triples(p, rng):
    """For 50 clusters or more."""
    if len(p) < 150:
        raise TypeError
    return ct.OmnibusTest(n_resamples=FEW, clusters=triples(p))


def sequential(p, y, rng):
    return ct.SequentialCalibrationTest().update(p, y)


def in_quarters(p, y, rng):
    return ct.GroupCalibrationTest(n_resamples=99)(p, y, np.arange(len(p)) % 4, rng=rng)


def weighted(p, y, rng):
    """With weights of which the largest are some twenty times the smallest."""
    return ct.calibration_test(p, y, weights=np.exp(rng.uniform(0.0, 3.0, len(p))), n_resamples=99, rng=rng)


def in_slices(p, y, rng):
    """Of two columns of noise."""
    return ct.find_slices(p, y, {name: rng.normal(size=len(p)) for name in "ab"}, n_resamples=99, rng=rng)


FEW = 99
REDRAWS, BOOTSTRAP = "exact", "resampling: bootstrap"
LAW, BLOCKS = "asymptotic: textbook law", "asymptotic: normal limit"
PAIRS = "n² (k + B); of two classes n B"
TESTS = {
    "OmnibusTest": Row(lambda p, rng: ct.OmnibusTest(n_resamples=FEW), REDRAWS, PAIRS + "; from 2,000 rows on n k B"),
    "calibration_test(weights=...)": Row(lambda p, rng: weighted, REDRAWS, PAIRS),
    "MonteCarloTest(SKCE())": Row(lambda p, rng: ct.MonteCarloTest(ct.SKCE(), FEW), REDRAWS, PAIRS),
    "MonteCarloTest(ECE())": Row(lambda p, rng: of_top_label(ct.MonteCarloTest(ct.ECE(), FEW)), REDRAWS, "n (k + B)"),
    "LikelihoodRatioTest": Row(lambda p, rng: ct.LikelihoodRatioTest(FEW), "exact: importance sampling", "n K B"),
    "ScoreCMETest": Row(lambda p, rng: ct.ScoreCMETest(locations(p, rng), FEW), REDRAWS, "n J² k + n J B"),
    "find_slices": Row(lambda p, rng: in_slices, REDRAWS, "B (n L + S)"),
    "GroupCalibrationTest": Row(lambda p, rng: in_quarters, REDRAWS, "that of OmnibusTest for each group"),
    "CertifiedCrossSKCETest": Row(
        lambda p, rng: ct.named_tests.CertifiedCrossSKCETest(p.default_kernel()), "bound: Chernoff's", "n² k"
    ),
    "DistributionFreeSKCETest": Row(
        lambda p, rng: ct.DistributionFreeSKCETest(ct.SKCE(p.default_kernel())), "bound: distribution-free", "n² k"
    ),
    "ClusterLikelihoodRatioTest": Row(
        lambda p, rng: ct.named_tests.ClusterLikelihoodRatioTest(triples(p)), "bound: Markov's", "n K", "clusters"
    ),
    "SequentialCalibrationTest": Row(
        lambda p, rng: sequential, "bound: betting, at any time", "n² k", "each row of those before it"
    ),
    "PearsonSKCETest": Row(pearson, "asymptotic: known moments", "n² k"),
    "AsymptoticSKCETest": Row(lambda p, rng: ct.AsymptoticSKCETest(p.default_kernel(), 199), BOOTSTRAP, PAIRS),
    "AsymptoticSKCETest, as published": Row(
        lambda p, rng: ct.AsymptoticSKCETest(p.default_kernel(), 199, known_variance=False), BOOTSTRAP, PAIRS
    ),
    "AsymptoticBlockSKCETest, 2": Row(
        lambda p, rng: ct.AsymptoticBlockSKCETest(p.default_kernel(), 2), BLOCKS, "n b k"
    ),
    "AsymptoticBlockSKCETest, 3": Row(
        lambda p, rng: ct.AsymptoticBlockSKCETest(p.default_kernel(), 3), BLOCKS, "n b k"
    ),
    "AsymptoticBlockSKCETest, 10": Row(
        lambda p, rng: ct.AsymptoticBlockSKCETest(p.default_kernel(), 10), BLOCKS, "n b k"
    ),
    "AsymptoticBlockSKCETest, 3, as published": Row(
        lambda p, rng: ct.AsymptoticBlockSKCETest(p.default_kernel(), 3, known_variance=False), BLOCKS, "n b k"
    ),
    "AsymptoticCMETest": Row(
        lambda p, rng: ct.AsymptoticCMETest(locations(p, rng)), "asymptotic: Hotelling's T²", "n J k + n J²"
    ),
    "OmnibusTest(clusters=...)": Row(omnibus_of_triples, BOOTSTRAP, "n² k + n k B", "clusters"),
    "ClusterSKCETest": Row(
        lambda p, rng: ct.ClusterSKCETest(triples(p), p.default_kernel(), FEW), BOOTSTRAP, PAIRS, "clusters"
    ),
    "ConsistencyTest(ECE())": Row(
        lambda p, rng: of_top_label(ct.ConsistencyTest(ct.ECE(), FEW)), BOOTSTRAP, "n (k + B)"
    ),
    "HosmerLemeshowTest": Row(lambda p, rng: ct.HosmerLemeshowTest(), LAW, "n log n"),
    "SpiegelhalterTest": Row(lambda p, rng: ct.SpiegelhalterTest(), LAW, "n k"),
    "LogScoreTest": Row(lambda p, rng: ct.LogScoreTest(), LAW, "n k"),
    "CoxTest": Row(lambda p, rng: ct.CoxTest(), LAW, "n"),
    "ECCETest": Row(lambda p, rng: ct.ECCETest(), LAW, "n log n"),
    'PITTest("KS")': Row(lambda p, rng: ct.PITTest(), "exact: textbook law", "n log n"),
    "QuantileCalibrationTest": Row(lambda p, rng: ct.QuantileCalibrationTest(), LAW, "n K"),
}


def with_logits(p, change):
    return 1.0 / (1.0 + np.exp(-change(np.log(p / (1.0 - p)))))


def of_events(truth):
    def make(rng):
        p = rng.uniform(0.05, 0.95, 250)
        return ct.Bernoulli(p), (rng.random(250) < truth(p)).astype(int)

    return make


def too_sure(rng):
    """Ten classes of which the logits should be 0.75 times as large."""
    claimed = dirichlet(rng, 250, 10, 0.5)
    p = claimed.probabilities**0.75
    return claimed, ct.Categorical(p / p.sum(axis=1, keepdims=True)).sample(rng)


def too_narrow(rng):
    mean = rng.random(100)
    return ct.Normal(mean, 0.1), mean + 0.12 * rng.normal(size=100)


WRONG = {
    "too low": of_events(lambda p: with_logits(p, lambda x: x + 0.4)),
    "too sure": of_events(lambda p: with_logits(p, lambda x: 0.65 * x)),
    "a wave": of_events(lambda p: np.clip(p + 0.12 * np.sin(4.0 * np.pi * p), 0.0, 1.0)),
    "10 classes": too_sure,
    "normal": too_narrow,
}
"""Wrong predictions with their outcomes, as functions of a generator."""


def calibrated(setting):
    def make(rng):
        p = HARD[setting](rng)
        return p, p.sample(rng)

    return make


def pvalue_of(name, make):
    """The p-value for new data, as a function of a generator."""

    def pvalue(rng):
        p, y = make(rng)
        return TESTS[name].make(p, rng)(p, y, rng=rng).pvalue

    return pvalue


KINDS = {"size": (HARD, calibrated, SIZE_SETS, 200), "power": (WRONG, WRONG.get, POWER_SETS, 202)}
"""What is measured of ``TESTS``: where, on which data, of how many data sets, and the first key of random numbers."""


def draws(kind, name):
    """P-values for new data in each setting, and the number of data sets that a rate is of."""
    if name in OTHERS:
        return getattr(OTHERS[name], kind), SETS_OF_OTHERS[kind]
    settings, make, sets, _ = KINDS[kind]
    return {setting: pvalue_of(name, make(setting)) for setting in settings}, sets


def rate(kind, name, setting, sets, *others):
    """Share of data sets that are rejected at the 5 % level; None where the test is not for them.

    What a test refuses counts as not rejected. With more keys of random numbers the data sets are others.
    """
    settings, _ = draws(kind, name)
    key = [KINDS[kind][-1], list(settings).index(setting), *([list(OTHERS).index(name)] if name in OTHERS else [])]
    rng, rejected = spawn(*key, *others), 0
    for _ in range(sets):
        try:
            rejected += settings[setting](rng) <= LEVEL
        except TypeError:
            return None
        except ValueError:
            continue
    return int(rejected) / sets


def measured(kind, name):
    """The rates wherever the test can be used, with the day and the number of sets."""
    settings, sets = draws(kind, name)
    rates = {setting: rate(kind, name, setting, sets) for setting in settings}
    known = {setting: one for setting, one in rates.items() if one is not None}
    return {"day": date.today().isoformat(), "sets": sets, "rates": known}


def stored():
    """What was measured of each test."""
    return json.loads(STORED.read_text())


def worst(row):
    """The setting where the most data sets of the null hypothesis are rejected, and their share."""
    rates = row["size"]["rates"]
    setting = max(rates, key=rates.get)
    return setting, rates[setting]


def runs(row):
    """When size and power were measured, and on how many data sets."""
    return [f"{one['day']}, {one['sets']:,} sets" for one in (row["size"], row["power"])]


def lines_of(rows):
    return "\n".join(f"| {' | '.join(cells)} |" for cells in rows)


def table():
    """Of all tests of calibration, in markdown."""
    head = ["test", "p-value", "independent", "size", "where", *WRONG, "time", "size measured", "power measured"]
    lines = [head, ["---"] * 3 + ["---:", "---", *["---:"] * len(WRONG), *["---"] * 3]]
    rows = stored()
    for name, test in TESTS.items():
        setting, share = worst(rows[name])
        powers = rows[name]["power"]["rates"]
        cells = [f"{100 * powers[fault]:.0f}" if fault in powers else "" for fault in WRONG]
        known = [f"`{name}`", test.pvalue, test.independent, f"{100 * share:.1f}", setting]
        lines.append([*known, *cells, test.time, *runs(rows[name])])
    return lines_of(lines)


def table_of_others():
    """Of tests of other null hypotheses."""
    head = ["test", "null hypothesis", "p-value", "independent", "size", "where", "power", "time"]
    lines = [[*head, "size measured", "power measured"], [*["---"] * 4, "---:", *["---"] * 5]]
    rows = stored()
    for name, test in OTHERS.items():
        setting, share = worst(rows[name])
        powers = "; ".join(f"{where}: {100 * found:.0f}" for where, found in rows[name]["power"]["rates"].items())
        known = [f"`{name}`", test.null, test.pvalue, test.independent, f"{100 * share:.1f}", setting]
        lines.append([*known, powers, test.time, *runs(rows[name])])
    return lines_of(lines)


BEGIN, END = "<!-- written by python -m tests.statistical.every_test write -->\n\n", "\n\n<!-- end -->"


def page():
    """The text of the page with the tables of what is stored."""
    first, *parts = PAGE.read_text().split(BEGIN)
    made = zip((table(), table_of_others()), parts, strict=True)
    return first + "".join(BEGIN + new + END + old.partition(END)[2] for new, old in made)


def main(kind=None, *names):
    with pvalues_only():
        for name in names or ([*TESTS, *OTHERS] if kind in KINDS else ()):
            found = measured(kind, name)
            rows = stored()
            rows.setdefault(name, {})[kind] = found
            STORED.write_text(json.dumps(rows, indent=1) + "\n")
            print(name, found, flush=True)
    if all(stored().get(name, {}).keys() == KINDS.keys() for name in (*TESTS, *OTHERS)):
        PAGE.write_text(page())


if __name__ == "__main__":
    main(*sys.argv[1:])
