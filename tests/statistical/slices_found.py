"""How often slices are found that are wrong, and none that is not, beside other ways of searching.

``python -m tests.statistical.slices_found`` prints the tables of ``docs/validity.md``; a quarter of an hour. MCGrad has
a column only where ``pip install mcgrad`` was done.
"""

import importlib.util

import numpy as np
from scipy.stats import norm

import caltest as ct
from caltest._validation.columns import columns_of
from caltest.slices.errors import BinaryErrors, NumberErrors, logits
from caltest.slices.search import Search, Tables

from .repaired_slices import WRONG, features, made

FAULTS = WRONG | {"one category, slope 0.4": lambda x, logits: -0.6 * logits * (x["c"] == "b")}
N, SETS, SETS_OF_POWER, REDRAWS = 2000, 150, 50, 199
SETS_OF_INTERVALS = 400


def by_all(p, y, x, seed):
    """The search of all rows."""
    return ct.find_slices(p, y, x, n_resamples=REDRAWS, rng=seed).pvalue


def by_holm(p, y, x, seed):
    """The most extreme slice of all rows by its normal approximation, its p-value times the number of slices."""
    columns, _ = columns_of(x, None, p.size, 5)
    z = np.abs(Search(BinaryErrors(p, y.astype(float)), Tables.of(columns, 2), "both", 5.0).observed())
    return min(1.0, z.size * 2.0 * norm.sf(z.max()))


def by_halves(p, y, x, seed):
    """The slice and direction that are most extreme in one half, tested by redraws in the other."""
    columns, _ = columns_of(x, None, p.size, 5)
    tables = Tables.of(columns, 2)
    rng = np.random.default_rng([seed, 5])
    searches = []
    for rows in np.array_split(rng.permutation(p.size), 2):
        part = Tables(np.ascontiguousarray(tables.layouts[:, rows]), tables.offsets, tables.columns, tables.members)
        searches.append(Search(BinaryErrors(p[rows], y[rows].astype(float)), part, "both", 5.0))
    z = np.abs(searches[0].observed())
    channel, place = np.unravel_index(int(z.argmax()), z.shape)
    found = np.flatnonzero(searches[1].slices == searches[0].slices[place])
    if not found.size or not searches[1].parts[channel, found[0]]:
        return 1.0
    other = searches[1]
    redrawn = other.statistics(other.errors.redrawn(rng, REDRAWS))[channel, found[0]]
    observed = abs(other.observed()[channel, found[0]])
    return (1 + np.count_nonzero(np.abs(redrawn) >= observed - 1e-9)) / (REDRAWS + 1)


def by_mcgrad(p, y, x, seed):
    """The smallest p-value of segments, with the package's own settings."""
    import pandas as pd
    from mcgrad.metrics import MulticalibrationError

    kinds = {"categorical_segment_columns": ["c"], "numerical_segment_columns": ["x0", "count", "heavy"]}
    return MulticalibrationError(pd.DataFrame(x | {"p": p, "y": y}), "y", "p", **kinds).mce_pvalue


WAYS = {"find_slices": by_all, "Holm": by_holm, "halves": by_halves, "mcgrad": by_mcgrad}


def rates(words, sets):
    """Shares of data sets that are rejected at the 5 % level by each way."""
    WRONG.update(FAULTS)
    ways = [way for name, way in WAYS.items() if name != "mcgrad" or importlib.util.find_spec("mcgrad")]
    data = ((seed, *made("uniform", words, N, seed)) for seed in range(sets))
    return 100.0 * np.mean([[way(p, y, x, seed) <= 0.05 for way in ways] for seed, p, _, y, x in data], axis=0)


def many_categories(seed, n):
    """The p-value of calibrated data, with a column in which each row has a name of its own."""
    rng = np.random.default_rng([seed, n, 3])
    p = rng.beta(0.5, 6.0, n)
    x = features(n, rng) | {"name": np.array([f"row {i}" for i in rng.permutation(n)])}
    return ct.find_slices(p, (rng.random(n) < p).astype(int), x, n_resamples=99, rng=seed).pvalue


COLUMNS = {16: (0, 1), 175: (1, 7), 5000: (17, 6)}
"""Of about so many slices: columns of numbers, and levels of one more category, beside one of ten levels."""


def kept(search, errors, critical):
    """The slices of the table of a search of these errors."""
    found = search.with_errors(errors)
    return found.pruned(np.abs(found.observed()).max(axis=0) >= critical, critical)[0]


def of_one_category(slices, n=5000, designs=16, sets=256, searched=64):
    """Shares of data sets in % that are rejected where a tenth of the rows is 10 points off, and critical values.

    By both statistics, by the mean alone (the largest |z| with a simulated critical value), and by the latter with
    Bonferroni's value; last the share of those searched whose table has the wrong category. Data sets of a design share
    its 999 redraws.
    """
    found = []
    for seed in range(designs):
        rng = np.random.default_rng([seed, slices])
        numbers, levels = COLUMNS[slices]
        x = {"tenth": rng.integers(0, 10, n).astype(str), "level": rng.integers(0, levels, n).astype(str)}
        x |= {f"x{j}": rng.normal(size=n) for j in range(numbers)}
        p = rng.uniform(0.1, 0.9, n)
        y = (rng.random((n, sets)) < (p + 0.1 * (x["tenth"] == "3"))[:, None]).astype(float)
        tables = Tables.of(columns_of(x, None, n, 5)[0], 2 if numbers else 1)
        row = []
        for error in ("both", "bias"):
            search = Search(BinaryErrors(p, y[:, 0]), tables, error, 5.0)

            def largest(outcomes, search=search):
                return np.abs(search.statistics(search.errors._numbers(outcomes))).max(axis=(0, 1))

            redrawn = [largest((rng.random((n, 37)) < p[:, None]).astype(float)) for _ in range(27)]
            critical = np.sort(np.concatenate(redrawn))[949]
            row += [critical, 100.0 * np.mean(largest(y) >= critical)]
            if error == "both":
                own = [tables.words_of(cell) for cell in search.slices.tolist()].index("tenth = 3")
                named = np.mean([own in kept(search, BinaryErrors(p, one), critical) for one in y.T[:searched]])
        bonferroni = norm.isf(0.025 / search.slices.size)
        found.append([search.slices.size, *row, bonferroni, 100.0 * np.mean(largest(y) >= bonferroni), 100.0 * named])
    return np.mean(found, axis=0)


SCORES = {
    "normal": lambda rng, size: rng.normal(size=size),
    "t3": lambda rng, size: rng.standard_t(3, size) / np.sqrt(3.0),
    "skewed": lambda rng, size: rng.exponential(size=size) - 1.0,
}
"""Errors of mean 0 and variance 1."""


def covered(kind, slices, seed, n=2000, alpha=0.05):
    """Whether the intervals of all slices hold together: of frequencies or medians, and of sureness or spread.

    Truth is another one in one category: less spread logits, or errors that are larger and higher.
    """
    rng = np.random.default_rng([seed, 17, slices])
    x = {"c": rng.integers(0, 10, n)} | {f"x{j}": rng.normal(size=n) for j in range({175: 3, 1000: 8}[slices])}
    bad = x["c"] == 3
    if kind in SCORES:
        scale, draws = np.where(bad, 1.4, 1.0), SCORES[kind](rng, (2, 200_000))
        z = 0.3 * bad + scale * SCORES[kind](rng, n)
        right, wrong = draws[0], 0.3 + 1.4 * draws[1]
        errors, true = NumberErrors(z), np.where(bad, np.mean(wrong > 0.0), np.mean(right > 0.0)) - 0.5
        inside = np.where(bad, np.mean(np.abs(wrong) <= 1.0), np.mean(np.abs(right) <= 1.0))
    else:
        p = rng.uniform(0.05, 0.95, n) if kind == "uniform" else rng.beta(0.5, 6.0, n)
        q = np.where(bad, 1.0 / (1.0 + np.exp(-0.5 * logits(p))), p)
        errors, true = BinaryErrors(p, (rng.random(n) < q).astype(float)), q - p
    search = Search(errors, Tables.of(columns_of(x, None, n, 5)[0], 2), "both", 5.0)
    missed = np.zeros(2, dtype=bool)
    for parts, cell in zip(search.parts.T, search.slices.tolist(), strict=True):
        rows = search.tables.rows_of(cell)
        for channel in np.flatnonzero(parts):
            shown = errors.shown(rows, channel, 1.0 - alpha / search.slices.size)
            aim = true[rows]
            if channel and kind in SCORES:
                aim = inside[rows] - shown.claimed
            elif channel:
                v, logit = errors.v[rows], errors.logit[rows]
                aim = np.where(logit > v @ logit / v.sum(), aim, -aim)
            missed[channel] |= not shown.interval.low - 1e-9 <= aim.mean() <= shown.interval.high + 1e-9
    return ~missed


def main():
    """Print the tables."""
    for slices in (175, 1000):
        for kind in ("uniform", "rare", *SCORES):
            rates = 100.0 * np.mean([covered(kind, slices, seed) for seed in range(SETS_OF_INTERVALS)], axis=0)
            print(f"| {kind} | {slices} | {rates[0]:.1f} | {rates[1]:.1f} |", flush=True)
    for slices in COLUMNS:
        print("| " + " | ".join(f"{one:.2f}" for one in of_one_category(slices)) + " |", flush=True)
    print(f"WRONG | {' | '.join(WAYS)} | sets")
    for words in FAULTS:
        sets = SETS if words == "none" else SETS_OF_POWER
        print(f"| {words} | {' | '.join(f'{one:.1f}' for one in rates(words, sets))} | {sets} |", flush=True)
    for n, sets in ((500, 200), (10_000, 60)):
        found = np.array([many_categories(seed, n) for seed in range(sets)])
        print(f"| {n} categories | {100 * (found <= 0.05).mean():.1f} | {sets} |", flush=True)


if __name__ == "__main__":
    main()
