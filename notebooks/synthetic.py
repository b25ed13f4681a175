"""The synthetic experiments of Widmann et al. 2021, appendix A.2: what is simulated, what was published, how they agree.

``03_test_errors.ipynb`` shows the results; ``tests/statistical/test_published_errors.py`` repeats them with more data.
``OMP_NUM_THREADS=1 NUMBA_NUM_THREADS=1 python notebooks/synthetic.py`` measures the times of Figures 6 to 11 (a minute).
"""

import csv
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import NamedTuple

import numpy as np
from scipy import stats
from scipy.linalg import LinAlgWarning, solve

import caltest as ct
from caltest.generators import GaussianModel
from caltest.predictions import Sample

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "data" / "iclr2021"
PUBLISHED_SETS = 500
ALPHA = 0.05
SIZES = (4, 16, 64, 256, 1024)
MODELS = [GaussianModel(d, calibrated) for d in (1, 10) for calibrated in (True, False)]
KERNEL = ct.ProductKernel(ct.ExponentialKernel(ct.Wasserstein(), bandwidth=1.0), ct.GaussianKernel(bandwidth=1.0))
METHODS = ("SKCE", "SKCE (B = 2)", "SKCE (B = √n)", "SKCE (B = n)")
TESTS = (*METHODS[1:], "CME")


def estimators(n):
    """The estimators of the paper by their published names."""
    blocks = (ct.BlockSKCE(KERNEL, size) for size in (2, int(np.sqrt(n))))
    return dict(zip(METHODS, (ct.SKCE(KERNEL, unbiased=False), *blocks, ct.SKCE(KERNEL)), strict=True))


def pvalues(n, d, rng):
    """The tests of the paper by their published names, as functions of predictions and targets."""
    blocks = [ct.AsymptoticBlockSKCETest(KERNEL, size, known_variance=False) for size in (2, int(np.sqrt(n)))]
    bootstrap = ct.AsymptoticSKCETest(KERNEL, n_resamples=1000, known_variance=False)
    ucme = ct.UCME(KERNEL, *random_locations(d, rng))
    functions = [lambda p, y, test=test: test(p, y, rng=rng).pvalue for test in (*blocks, bootstrap)]
    return dict(zip(TESTS, (*functions, lambda p, y: cme_pvalue(ucme, p, y)), strict=True))


def random_locations(d, rng):
    """Ten test predictions N(m, 0.1**2 I), m uniform on the unit cube, and targets drawn from N(0, 0.1**2 I)."""
    means, targets = rng.random((10, d)), rng.normal(0.0, 0.1, (10, d))
    if d == 1:
        return ct.Normal(means[:, 0], 0.1), targets[:, 0]
    return ct.MvNormal(means, 0.1**2), targets


def cme_pvalue(ucme, predictions, targets):
    """The CME test with the chi-squared limit; where caltest refuses the singular covariance, as in the paper."""
    try:
        return ct.AsymptoticCMETest(ucme, "chi2")(predictions, targets).pvalue
    except ValueError:
        return singular_cme_pvalue(ucme, predictions, targets)


def singular_cme_pvalue(ucme, predictions, targets):
    """What the paper's software computes: ``n m' S**-1 m`` by a factorisation of S, with whatever rounding makes of it."""
    deviations = ucme.deviations(Sample(predictions, targets))
    mean, covariance = deviations.mean(axis=0), np.cov(deviations.T)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LinAlgWarning)
        statistic = len(deviations) * mean @ solve(covariance, mean, assume_a="sym")
    return stats.chi2(len(mean)).sf(statistic)


@dataclass(frozen=True)
class Simulated:
    """Estimates (n_sets,), numbers of test errors and least seconds of a call, by published name."""

    model: GaussianModel
    n: int
    n_sets: int
    estimates: dict
    errors: dict
    estimate_seconds: dict
    test_seconds: dict


def simulate(model, n, n_sets):
    """Every estimator and test on the same data sets. An error is a rejection of the calibrated model, or none else."""
    rng = np.random.default_rng([2021, model.dimension, model.calibrated, n])
    estimates, rejected = {name: [] for name in METHODS}, {name: [] for name in TESTS}
    estimate_seconds, test_seconds = dict.fromkeys(METHODS, np.inf), dict.fromkeys(TESTS, np.inf)
    for _ in range(n_sets):
        sample = model.sample(n, rng)
        for name, estimator in estimators(n).items():
            value, seconds = timed(estimator, *sample)
            estimates[name].append(value)
            estimate_seconds[name] = min(seconds, estimate_seconds[name])
        for name, pvalue in pvalues(n, model.dimension, rng).items():
            value, seconds = timed(pvalue, *sample)
            rejected[name].append(value < ALPHA)
            test_seconds[name] = min(seconds, test_seconds[name])
    values = {name: np.array(list_) for name, list_ in estimates.items()}
    errors = {name: int(np.sum(np.array(list_) == model.calibrated)) for name, list_ in rejected.items()}
    return Simulated(model, n, n_sets, values, errors, estimate_seconds, test_seconds)


def timed(function, *arguments):
    """A value and its processor time in seconds, which other programs do not lengthen; all threads count."""
    start = process_time()
    value = function(*arguments)
    return value, process_time() - start


def published(kind):
    """Published rows, "errors" or "tests", by (name, model, n); none where the files are absent."""
    rows = {}
    for model in MODELS:
        path = FOLDER / f"{kind}_{'' if model.calibrated else 'un'}calibrated_model.csv"
        for row in csv.DictReader(path.read_text().splitlines()) if path.exists() else ():
            if int(row["dim"]) == model.dimension:
                rows[next(iter(row.values())), model, int(row["nsamples"])] = row
    return rows


class Comparison(NamedTuple):
    """What was published, what is found here, and the p-value of the hypothesis that both estimate the same."""

    quantity: str
    method: str
    model: GaussianModel
    n: int
    published: float
    found: float
    pvalue: float


def compare(simulated):
    """Comparisons with everything published about a setting."""
    yield from compare_tests(simulated)
    yield from compare_estimates(simulated)


def compare_tests(simulated) -> Iterator[Comparison]:
    """Fisher's exact test of two binomial proportions for each test."""
    rows = published("tests")
    for name, count in simulated.errors.items():
        row = rows.get((name, simulated.model, simulated.n))
        if row is not None:
            rate, n_sets = float(row["testerror"]), simulated.n_sets
            theirs = round(PUBLISHED_SETS * rate)
            table = [[theirs, PUBLISHED_SETS - theirs], [count, n_sets - count]]
            pvalue = stats.fisher_exact(table).pvalue
            yield Comparison("test error", name, simulated.model, simulated.n, rate, count / n_sets, pvalue)


def compare_estimates(simulated) -> Iterator[Comparison]:
    """Difference of mean errors, and of logarithms of variances, in standard errors."""
    rows, truth = published("errors"), simulated.model.skce(KERNEL)
    for name, values in simulated.estimates.items():
        row = rows.get((name, simulated.model, simulated.n))
        if row is not None:
            error, variance = np.abs(values - truth), values.var(ddof=1)
            spread = 1.0 / PUBLISHED_SETS + 1.0 / simulated.n_sets
            place = (name, simulated.model, simulated.n)
            theirs = float(row["meanerror"]), float(row["variance"])
            z = (theirs[0] - error.mean()) / np.sqrt(error.var(ddof=1) * spread)
            yield Comparison("mean error", *place, theirs[0], error.mean(), 2.0 * stats.norm.sf(abs(z)))
            z = np.log(theirs[1] / variance) / np.sqrt((stats.kurtosis(values, fisher=False) - 1.0) * spread)
            yield Comparison("variance", *place, theirs[1], variance, 2.0 * stats.norm.sf(abs(z)))


# --- Computation times ---------------------------------------------------------------------------------------------

TIMES = Path(__file__).with_name("synthetic_times.csv")


class Time(NamedTuple):
    """The shortest processor time of an estimate or test, in seconds, beside the published time."""

    kind: str
    method: str
    dimension: int
    calibrated: bool
    n: int
    published: float
    found: float


def write_times(n_sets=20):
    """Measure the times of whatever has a published one, and write both."""
    theirs = {kind: published(kind) for kind in ("errors", "tests")}
    with TIMES.open("w") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Time._fields)
        for model in MODELS:
            for n in SIZES:
                one = simulate(model, n, n_sets)
                for kind, seconds in (("errors", one.estimate_seconds), ("tests", one.test_seconds)):
                    for name, found in seconds.items():
                        time = float(theirs[kind][name, model, n]["mintime"])
                        place = kind, name, model.dimension, model.calibrated, n
                        writer.writerow([*place, f"{time:.3g}", f"{found:.3g}"])


def times():
    """The stored times."""
    with TIMES.open() as file:
        rows = [list(row.values()) for row in csv.DictReader(file)]
    return [Time(*row[:2], int(row[2]), row[3] == "True", int(row[4]), *map(float, row[5:])) for row in rows]


if __name__ == "__main__":
    write_times()
