"""The synthetic experiments of Widmann et al. 2019, section 7 and appendix J.2: settings, simulations, published numbers.

``05_synthetic_classes.ipynb`` shows Figures 1 and 2, the means of Figures 3 to 34 and the times of Figure 37.
``OMP_NUM_THREADS=1 python notebooks/synthetic_classes.py`` measures these times (half a minute), simulates the means (10 minutes
on two cores) and writes both to files beside it; ``draw(number)`` draws any of Figures 3 to 34.
"""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed, parallel_config
from scipy import stats

import caltest as ct
from caltest.generators import DirichletModel

N = 250
PUBLISHED_SETS = 10_000
MODELS = {"M1": DirichletModel.m1(), "M2": DirichletModel.m2(), "M3": DirichletModel.m3()}
TV = ct.TotalVariation()
# Bins of 10 or more are split, so that their parts have 5 or more.
DATA_DEPENDENT = ct.binning.MedianVarianceBinning(5)

# Means of the estimates in Figure 1 and test errors in Figure 2 at these levels, for M1, M2 and M3, from the files of the
# figures in github.com/devmotion/CalibrationPaper, after a mistake in uniform bins was mended there.
PUBLISHED_MEANS = {
    "ECE": (0.43951919, 0.66330841, 0.89177759),
    "SKCE_b": (0.001791065804877401, 0.09976616408194146, 0.02045969775710109),
    "SKCE_uq": (-8.624308735909016e-06, 0.09655136747590724, 0.015122104194196453),
    "SKCE_ul": (0.00016041013856191278, 0.09655648558846669, 0.015012349168529436),
}
LEVELS = (0.01, 0.05, 0.1, 0.2, 0.5)
NONE, ALL = (0.0,) * 5, (1.0,) * 5
PUBLISHED_ERRORS = {
    "C": (ALL, NONE, NONE),
    "D_b": (NONE, (0.9843, 0.3706, 0.0566, 0.001, 0.0), ALL),
    "D_uq": (NONE, ALL, ALL),
    "D_ul": (NONE, ALL, ALL),
    "A_uq": ((0.0048, 0.0347, 0.0791, 0.181, 0.5111), NONE, NONE),
    "A_l": (
        (0.0077, 0.0455, 0.098, 0.2014, 0.5154),
        (0.0004, 0.0, 0.0, 0.0, 0.0),
        (0.9519, 0.8141, 0.6896, 0.5111, 0.2054),
    ),
}


def kernel(bandwidth):
    """``exp(-TV / bandwidth) I``."""
    return ct.ProductKernel(ct.ExponentialKernel(TV, bandwidth), ct.DeltaKernel())


def median_kernel(predictions, model=None):
    """The median of all n**2 total variation distances, as in the paper's software, as the bandwidth."""
    return kernel(ct.median_bandwidth(predictions, TV, include_diagonal=True))


def mean_kernel(predictions, model):
    """The mean total variation distance of the model as the bandwidth."""
    return kernel(model.mean_total_variation())


def estimator_of(name, predictions, make_kernel, model):
    """An estimator by its name, with the bandwidth for these predictions."""
    if name == "ECE":
        return ct.ECE(ct.binning.UniformBinning(10))
    if name == "ECE, data-dependent bins":
        return ct.ECE(DATA_DEPENDENT)
    kernel_ = make_kernel(predictions, model)
    if name == "SKCE_ul":
        return ct.BlockSKCE(kernel_, 2)
    return ct.SKCE(kernel_, unbiased=name == "SKCE_uq")


def estimate(name, predictions, labels, make_kernel, model):
    """An estimate by the name of its estimator."""
    return estimator_of(name, predictions, make_kernel, model)(predictions, labels)


def simulated_estimates(names, model, n_sets, make_kernel=median_kernel, seed=2019):
    """Estimates (n_sets,) by name, all from the same data sets of 250 labelled predictions."""
    values = {name: np.empty(n_sets) for name in names}
    for i in range(n_sets):
        sample = model.sample(N, np.random.default_rng([seed, i]))
        for name in names:
            values[name][i] = estimate(name, *sample, make_kernel, model)
    return values


# --- Figure 2: tests -----------------------------------------------------------------------------------------------


def consistency(predictions, labels, rng):
    # The paper has 1000 resamples; estimates are so far from all resampled ones that 199 give the same rejections.
    return ct.ConsistencyTest(ct.ECE(ct.binning.UniformBinning(10)), n_resamples=199)(predictions, labels, rng=rng)


def bound(predictions, labels, rng, name):
    kernel_ = median_kernel(predictions)
    estimator = {"b": ct.SKCE(kernel_, unbiased=False), "uq": ct.SKCE(kernel_), "ul": ct.BlockSKCE(kernel_, 2)}[name]
    return ct.DistributionFreeSKCETest(estimator)(predictions, labels)


def bootstrap(predictions, labels, rng):
    return ct.AsymptoticSKCETest(median_kernel(predictions), n_resamples=1000, known_variance=False)(
        predictions, labels, rng=rng
    )


def normal_limit(predictions, labels, rng):
    test = ct.AsymptoticBlockSKCETest(median_kernel(predictions), 2, population_variance=True, known_variance=False)
    return test(predictions, labels)


def exact(predictions, labels, rng):
    return ct.MonteCarloTest(ct.SKCE(median_kernel(predictions)), n_resamples=999)(predictions, labels, rng=rng)


TESTS = {
    "C": consistency,
    "D_b": partial(bound, name="b"),
    "D_uq": partial(bound, name="uq"),
    "D_ul": partial(bound, name="ul"),
    "A_uq": bootstrap,
    "A_l": normal_limit,
    "exact": exact,
}


def simulated_tests(n_sets, rng=2019, n_jobs=-1):
    """P-values of all tests on the same data sets of the three models."""
    with parallel_config(backend="loky", n_jobs=n_jobs):
        return ct.power_curve(TESTS, list(MODELS.values()), N, n_simulations=n_sets, rng=rng)


def errors(cell, levels):
    """Empirical test errors: rejections of a calibrated model, others not rejected."""
    rates = np.array([np.mean(cell.pvalues <= level) for level in levels])
    return rates if cell.is_calibrated else 1.0 - rates


# --- Figures 3 to 34 -----------------------------------------------------------------------------------------------

CLASSES, SHARES = (2, 10, 100, 1000), (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True)
class Setting:
    """What a figure shows: an estimator with its bandwidth, alpha = (a, ..., a), and beta uniform or the first class."""

    estimator: str
    make_kernel: object
    concentration: float
    first_class: bool

    def model(self, n_classes, share):
        make = DirichletModel.m2 if self.first_class else DirichletModel.m3
        return make(n_classes, self.concentration, share)


ESTIMATORS = [("ECE", median_kernel), ("ECE, data-dependent bins", median_kernel)]
ESTIMATORS += list(product(("SKCE_b", "SKCE_uq", "SKCE_ul"), (median_kernel, mean_kernel)))
FIGURES = {
    3 + 4 * i + j: Setting(*one, concentration, first_class)
    for i, one in enumerate(ESTIMATORS)
    for j, (first_class, concentration) in enumerate(product((False, True), (1.0, 0.1)))
}


def estimates(number, n_sets=PUBLISHED_SETS, classes=CLASSES, n_jobs=-1):
    """Estimates of Figure 3 to 34 by (classes, share pi), each with those of SKCE_uq, whose mean is the true SKCE."""
    setting = FIGURES[number]
    names = [setting.estimator] if setting.estimator.startswith("ECE") else sorted({setting.estimator, "SKCE_uq"})
    places = list(product(classes, SHARES))
    made = Parallel(n_jobs=n_jobs)(
        delayed(simulated_estimates)(names, setting.model(*place), n_sets, setting.make_kernel) for place in places
    )
    return dict(zip(places, made, strict=True))


def truth(setting, model, values):
    """The calibration error: in closed form for the ECE, else the mean of the unbiased estimates, as in the paper."""
    return model.ece() if setting.estimator.startswith("ECE") else values["SKCE_uq"].mean()


def draw(number, n_sets=PUBLISHED_SETS, classes=CLASSES, n_jobs=-1):
    """Figure 3 to 34: histograms of estimates, their mean (solid) and the calibration error (dashed)."""
    from matplotlib import pyplot as plt

    setting, found = FIGURES[number], estimates(number, n_sets, classes, n_jobs)
    figure, axes = plt.subplots(len(classes), 5, figsize=(12, 1.75 * len(classes)), layout="constrained")
    for ax, (k, share) in zip(axes.ravel(), found, strict=True):
        values = found[k, share]
        histogram(ax, values[setting.estimator], truth(setting, setting.model(k, share), values))
        ax.set_title(f"m = {k}, π = {share:g}", fontsize="small")
    law = "the first class" if setting.first_class else "uniform"
    bandwidth = "" if setting.estimator.startswith("ECE") else f", {setting.make_kernel.__name__.replace('_', ' ')}"
    figure.suptitle(f"Figure {number}: {setting.estimator}{bandwidth}, alpha = {setting.concentration:g}, beta {law}")
    return figure


def histogram(ax, values, true):
    """Estimates with their mean (solid) and the truth (dashed)."""
    ax.hist(values, bins=20, color="#9CC9E8")
    ax.axvline(values.mean(), color="#D55E00")
    ax.axvline(true, color="#444444", linestyle="--")
    ax.tick_params(labelsize="x-small")
    ax.locator_params(axis="x", nbins=4)
    ax.set_yticks([])


# --- Means of Figures 3 to 34 --------------------------------------------------------------------------------------

MEANS = Path(__file__).with_name("synthetic_classes_means.csv")
# Names of the estimators in the published file, and of kernels in the settings.
PUBLISHED_NAMES = {
    "ECE_uniform": ("ECE", "median_kernel"),
    "ECE_dynamic": ("ECE, data-dependent bins", "median_kernel"),
    **{
        f"SKCE{one}_{width}": (f"SKCE_{one}", f"{width}_kernel")
        for one in ("b", "uq", "ul")
        for width in ("median", "mean")
    },
}


class Mean(NamedTuple):
    """A row of the published means: figure, classes, share pi, published mean, ours with its standard error."""

    figure: int
    n_classes: int
    share: float
    published: float
    found: float
    error: float

    @property
    def z(self):
        """Difference in standard errors of both; 0 where neither varies."""
        error = self.error * np.sqrt(1.0 + simulated_sets(self.n_classes) / PUBLISHED_SETS)
        return (self.found - self.published) / error if error > 0.0 else 0.0


def simulated_sets(n_classes):
    """Data sets for a mean."""
    return {2: 1000, 10: 1000, 100: 400, 1000: 100}[n_classes]


def simulated_means(concentration, first_class, n_classes, share, n_sets):
    """Mean and standard error of all estimators of Figures 3 to 34 for a setting, by estimator and kernel."""
    setting = Setting("ECE", median_kernel, concentration, first_class)
    model, found = setting.model(n_classes, share), {}
    for name, make_kernel in ESTIMATORS:
        values = simulated_estimates([name], model, n_sets, make_kernel)[name]
        found[name, make_kernel.__name__] = values.mean(), values.std(ddof=1) / np.sqrt(n_sets)
    return found


def write_means(published):
    """Simulate the means of a file of published ones, and write both."""
    with open(published) as file:
        rows = list(csv.DictReader(file))
    settings = list(product((1.0, 0.1), (False, True), CLASSES, SHARES))
    made = Parallel(n_jobs=-1)(delayed(simulated_means)(*one, simulated_sets(one[2])) for one in settings)
    found = dict(zip(settings, made, strict=True))
    figures = {(*key_of(one), one.concentration, one.first_class): number for number, one in FIGURES.items()}
    means = []
    for row in rows:
        concentration, first_class = float(row["dirichlet_alpha"]), row["only_first_class"] == "true"
        name, k, share = PUBLISHED_NAMES[row["estimator"]], int(row["n_classes"]), float(row["pi"])
        ours = found[concentration, first_class, k, share][name]
        number = figures[(*name, concentration, first_class)]
        means.append(Mean(number, k, share, float(row["mean_of_estimates"]), *ours))
    with open(MEANS, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Mean._fields)
        writer.writerows([*one[:3], *(f"{value:.7g}" for value in one[3:])] for one in sorted(means))


def key_of(setting):
    """Estimator and kernel of a figure."""
    return setting.estimator, setting.make_kernel.__name__


def means():
    """The published means of Figures 3 to 34, beside ours."""
    with open(MEANS) as file:
        rows = list(csv.DictReader(file))
    return [
        Mean(int(one["figure"]), int(one["n_classes"]), *(float(one[name]) for name in Mean._fields[2:]))
        for one in rows
    ]


# --- Times of Figure 37 --------------------------------------------------------------------------------------------

TIMES = Path(__file__).with_name("synthetic_classes_times.csv")


class Time(NamedTuple):
    """A row of the published times, in seconds, beside ours."""

    estimator: str
    n_classes: int
    n: int
    published: float
    found: float


def least_time(name, make_kernel, n_classes, n, seconds=0.2):
    """The shortest of some calls of an estimator, with a known bandwidth, of calibrated predictions and labels."""
    model = DirichletModel.m1(n_classes, 1.0)
    sample = model.sample(n, np.random.default_rng(1))
    estimator = estimator_of(name, sample[0], make_kernel, model)
    estimator(*sample)
    times = []
    while len(times) < 3 or (sum(times) < seconds and len(times) < 200):
        start = perf_counter()
        estimator(*sample)
        times.append(perf_counter() - start)
    return min(times)


def write_times(published):
    """Measure the times of a file of published ones on one processor, and write both."""
    with open(published) as file:
        rows = list(csv.DictReader(file))
    with open(TIMES, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Time._fields)
        for row in rows:
            name, kernel_name = PUBLISHED_NAMES[row["estimator"]]
            make_kernel = median_kernel if kernel_name == "median_kernel" else mean_kernel
            k, n = int(row["nclasses"]), int(row["nsamples"])
            found = least_time(name, make_kernel, k, n)
            writer.writerow([name, k, n, f"{float(row['time']):.3g}", f"{found:.3g}"])


def times():
    """The published times of Figure 37, beside ours."""
    with open(TIMES) as file:
        rows = list(csv.DictReader(file))
    return [
        Time(one["estimator"], int(one["n_classes"]), int(one["n"]), float(one["published"]), float(one["found"]))
        for one in rows
    ]


# --- Comparison with the published numbers -------------------------------------------------------------------------


class Comparison(NamedTuple):
    """What was published, what is found here, and the p-value of the hypothesis that both estimate the same."""

    quantity: str
    method: str
    model: str
    published: float
    found: float
    pvalue: float


def compare_means(found) -> Iterator[Comparison]:
    """Differences of means in standard errors; ``found`` has the estimates by model and name."""
    for method, means in PUBLISHED_MEANS.items():
        for (model, values), mean in zip(found.items(), means, strict=True):
            ours = values[method]
            error = ours.std(ddof=1) * np.sqrt(1.0 / PUBLISHED_SETS + 1.0 / ours.size)
            pvalue = 2.0 * stats.norm.sf(abs(ours.mean() - mean) / error)
            yield Comparison("mean", method, model, mean, ours.mean(), pvalue)


def compare_errors(curve) -> Iterator[Comparison]:
    """Fisher's exact test of two binomial proportions for each test, model and level."""
    for method, rows in PUBLISHED_ERRORS.items():
        for g, (model, row) in enumerate(zip(MODELS, rows, strict=True)):
            if row is None:
                continue
            cell = curve.cell(method, g)
            for level, rate, ours in zip(LEVELS, row, errors(cell, LEVELS), strict=True):
                theirs, count, m = round(PUBLISHED_SETS * rate), round(ours * cell.n_simulations), cell.n_simulations
                pvalue = stats.fisher_exact([[theirs, PUBLISHED_SETS - theirs], [count, m - count]]).pvalue
                yield Comparison(f"error at {level:g}", method, model, rate, float(ours), pvalue)


if __name__ == "__main__":
    FOLDER = Path(__file__).resolve().parents[2] / "shared" / "data" / "neurips2019"
    # Processes that are left from the means would slow down what is timed.
    write_times(FOLDER / "timings.csv")
    write_means(FOLDER / "error_means.csv")
