"""Validity of ``multicalibration_report``, and what the repair gains beside Platt's map and MCGrad.

``python -m tests.statistical.repaired_slices`` prints the tables of ``docs/validity.md``; eight minutes. MCGrad has a
column only where ``pip install mcgrad`` was done.
"""

import importlib.util
import logging

import numpy as np
from scipy.special import expit, logit, xlogy

import caltest as ct

CALIBRATED = [("uniform", 120), ("uniform", 1000), ("rare", 2000), ("ties", 250)]
WRONG = {
    "none": lambda x, logits: 0.0 * logits,
    "one category, logits - 0.6": lambda x, logits: -0.6 * (x["c"] == "b"),
    "a corner of two columns, logits + 1": lambda x, logits: 1.0 * ((x["x0"] > 0.5) & (x["c"] == "a")),
    "linear in one column, logits + 0.4 x": lambda x, logits: 0.4 * x["x0"],
    "slope 0.6 everywhere": lambda x, logits: -0.4 * logits,
}
SETS, SETS_OF_GAIN, NEW = 400, 20, 5000


def features(n, rng):
    """Numbers, a category, counts, and numbers with missing values."""
    heavy = np.where(rng.random(n) < 0.2, np.nan, rng.standard_cauchy(n))
    number = rng.standard_normal(n)
    return {"x0": number, "c": rng.choice(list("abcd"), n), "count": rng.integers(0, 3, n), "heavy": heavy}


def predictions(kind, n, rng):
    """Probabilities of an event."""
    if kind == "rare":
        return rng.beta(1.0, 20.0, n)
    return rng.choice([0.1, 0.5, 0.9], n) if kind == "ties" else rng.uniform(0.1, 0.9, n)


def made(kind, words, n, seed):
    """Predictions, true probabilities, outcomes and features."""
    rng = np.random.default_rng([21, n, seed])
    p, x = predictions(kind, n, rng), features(n, rng)
    q = expit(logit(p) + WRONG[words](x, logit(p)))
    return p, q, (rng.random(n) < q).astype(int), x


def judged(kind, n, seed):
    """P-values before and after of calibrated predictions, and whether the intervals of all rows of the report hold.

    Before: the outcomes of the held-out half are drawn from the predictions. After: the map was fitted to predictions
    that are wrong in one category, and the outcomes are drawn from what it makes of others.
    """
    p, _, y, x = made(kind, "none", n, seed)
    before = ct.recalibration.multicalibration_report(p, y, x, n_resamples=99, rng=seed)
    p, _, y, x = made(kind, "one category, logits - 0.6", n, seed)
    fitted = ct.recalibration.Multicalibration().fit(p, y, x)
    p, _, _, x = made(kind, "none", n, 10_000 + seed)
    q = fitted(p, x)
    y = (np.random.default_rng([22, seed]).random(n) < q).astype(int)
    after = ct.recalibration.multicalibration_report(p, y, x, fitted, n_resamples=99, rng=seed)
    codes = [(one.words, one.codes(p if j == 0 else x[one.name])) for j, one in enumerate(fitted.codings)]
    holds = []
    for row in after.rows:
        inside = np.ones(n, dtype=bool)
        for word in () if row.name == "all rows" else row.name.split(" and "):
            words, own = next(pair for pair in codes if word in pair[0])
            inside &= own == words.index(word)
        for claimed, interval in ((p, row.before), (q, row.after)):
            holds.append(interval.low <= (q - claimed)[inside].mean() <= interval.high)
    return before.pvalue_before, after.pvalue_after, all(holds), len(fitted.steps)


def rates(kind, n, sets):
    """Shares of sets with p <= 0.05 before, p <= 0.05 after, and intervals that hold, and the mean number of steps."""
    found = np.array([judged(kind, n, seed) for seed in range(sets)])
    return (found[:, 0] <= 0.05).mean(), (found[:, 1] <= 0.05).mean(), found[:, 2].mean(), found[:, 3].mean()


def divergence(q, p):
    """What the log loss loses to the true probabilities, on average."""
    return float(np.mean(xlogy(q, q / p) + xlogy(1.0 - q, (1.0 - q) / (1.0 - p))))


def by_slices(p, y, x, new, others):
    """The repair of slices."""
    return ct.recalibration.Multicalibration().fit(p, y, x)(new, others)


def by_platt(p, y, x, new, others):
    """A map of the prediction alone."""
    return ct.recalibration.Platt().fit(p, y)(new)


def by_mcgrad(p, y, x, new, others):
    """Boosted trees, with their own defaults."""
    import pandas as pd
    from mcgrad import methods

    logging.disable(logging.WARNING)
    frames = [pd.DataFrame(one | {"p": q}) for one, q in ((x, p), (others, new))]
    columns = {"categorical_feature_column_names": ["c"], "numerical_feature_column_names": ["x0", "count", "heavy"]}
    fitted = methods.MCGrad().fit(frames[0].assign(y=y), prediction_column_name="p", label_column_name="y", **columns)
    return fitted.predict(frames[1], prediction_column_name="p", **columns)


REPAIRS = {"slices": by_slices, "Platt": by_platt, "MCGrad": by_mcgrad}


def gains(words, n, sets):
    """Mean divergence, in thousandths of a nat, before and after each repair, on new data."""
    names = [name for name in REPAIRS if name != "MCGrad" or importlib.util.find_spec("mcgrad")]
    found = []
    for seed in range(sets):
        p, _, y, x = made("uniform", words, n, seed)
        new, q, _, others = made("uniform", words, NEW, 10_000 + seed)
        after = [REPAIRS[name](p, y, x, new, others) for name in names]
        found.append([divergence(q, np.clip(one, 1e-12, 1.0 - 1e-12)) for one in (new, *after)])
    return names, 1000.0 * np.mean(found, axis=0)


def main():
    """Print the tables."""
    for kind, n in CALIBRATED:
        before, after, holds, steps = rates(kind, n, SETS)
        print(
            f"| {kind} | {n} | {100 * before:.1f} | {100 * after:.1f} | {100 * holds:.1f} | {steps:.1f} |", flush=True
        )
    for words in WRONG:
        for n in (250, 1000, 4000):
            names, found = gains(words, n, SETS_OF_GAIN)
            print(f"| {words} | {n} | {' | '.join(f'{one:.1f}' for one in found)} |", names, flush=True)


if __name__ == "__main__":
    main()
