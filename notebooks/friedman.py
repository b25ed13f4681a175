"""Ten small neural networks for the Friedman 1 problem (Widmann et al. 2021, appendix A.3), trained at once with NumPy.

``04_neural_networks.ipynb`` shows one such experiment. ``OMP_NUM_THREADS=1 python notebooks/friedman.py`` repeats it with
new data and networks and stores the range of what it measures beside what was published (a quarter of an hour on two
cores). ``python notebooks/friedman.py training`` repeats only the training, more often (half an hour on one core).
"""

import csv
import gzip
import sys
import warnings
from itertools import pairwise, product
from pathlib import Path
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed
from scipy import stats
from threadpoolctl import threadpool_limits

import caltest as ct

WIDTHS = (10, 200, 50, 1)


def glorot(n_models, rng):
    """Weights (n_models, inputs, outputs) of each layer, uniform as in Glorot and Bengio 2010, and offsets of 0."""
    parameters = []
    for inputs, outputs in pairwise(WIDTHS):
        end = np.sqrt(6.0 / (inputs + outputs))
        parameters += [rng.uniform(-end, end, (n_models, inputs, outputs)), np.zeros((n_models, 1, outputs))]
    return parameters


def layers(parameters, x):
    """Outputs of each layer, (n_models, n, width): ReLU but for the last one."""
    outputs = [np.broadcast_to(x, (len(parameters[0]), *x.shape))]
    for weights, offsets in zip(parameters[::2], parameters[1::2], strict=True):
        outputs.append(outputs[-1] @ weights + offsets)
        if len(outputs) < len(WIDTHS):
            np.maximum(outputs[-1], 0.0, out=outputs[-1])
    return outputs


def means(parameters, x):
    """Predicted means (n_models, n)."""
    return layers(parameters, x)[-1][..., 0]


def gradients(parameters, x, y):
    """Gradients of the mean squared error of each model."""
    *hidden, output = layers(parameters, x)
    slope = 2.0 / len(y) * (output - y[:, None])
    found = []
    for i in reversed(range(len(hidden))):
        found = [hidden[i].swapaxes(1, 2) @ slope, slope.sum(axis=1, keepdims=True), *found]
        if i:
            slope = slope @ parameters[2 * i].swapaxes(1, 2)
            slope *= hidden[i] > 0.0
    return found


def train(x, y, iterations, n_models=10, rng=None, rate=1e-3, decay=(0.9, 0.999), epsilon=1e-8):
    """Parameters of all models at the given iterations: full-batch Adam (Kingma and Ba 2015) with its usual settings."""
    parameters = glorot(n_models, np.random.default_rng(rng))
    first, second = ([np.zeros_like(p) for p in parameters] for _ in range(2))
    saved = {}
    # The matrices are too small for a product to gain from several threads.
    with threadpool_limits(1, user_api="blas"):
        for t in range(max(iterations) + 1):
            if t in iterations:
                saved[t] = [p.copy() for p in parameters]
            size = rate * np.sqrt(1.0 - decay[1] ** (t + 1)) / (1.0 - decay[0] ** (t + 1))
            for p, g, m, v in zip(parameters, gradients(parameters, x, y), first, second, strict=True):
                m += (1.0 - decay[0]) * (g - m)
                v += (1.0 - decay[1]) * (g * g - v)
                p -= size * m / (np.sqrt(v) + epsilon)
    return saved


# --- The study: what is measured, and how the published networks compare -------------------------------------------

ITERATIONS = (20, 100, 200, 300, 400, 600, 1000, 1500, 2000, 3000, 5000)
NLL_ITERATIONS = tuple(range(20, 1001, 20))
N_REPLICAS = 19
LEVELS = np.arange(1, 20)[:, None] / 20
TARGET_KERNEL = ct.GaussianKernel(bandwidth=1.0)
WASSERSTEIN = ct.ProductKernel(ct.ExponentialKernel(ct.Wasserstein(), bandwidth=1.0), TARGET_KERNEL)
MIXTURE_WASSERSTEIN = ct.ProductKernel(
    ct.ExponentialKernel(ct.kernels.MixtureWasserstein(), bandwidth=1.0), TARGET_KERNEL
)
# For two similar and sharp predictions 5 MMD is about the difference of their means, as W2 is.
MMD = ct.ProductKernel(
    ct.ExponentialKernel(ct.kernels.MMD(ct.GaussianKernel(bandwidth=5.0)), bandwidth=1 / 5), TARGET_KERNEL
)


def predicted(parameters, training, x):
    """Predictions of each network and of the ensemble; the variance is the mean squared error of the training."""
    residuals = means(parameters, training[0]) - training[1]
    scales = np.sqrt(np.mean(residuals**2, axis=1))
    networks = [ct.Normal(*both) for both in zip(means(parameters, x), scales, strict=True)]
    return networks, ct.Mixture(networks)


def negative_log_likelihood(predictions, y):
    parts = predictions.components if isinstance(predictions, ct.Mixture) else [predictions]
    logs = [stats.norm.logpdf(y, part.mean, part.scale) for part in parts]
    return -np.mean(np.logaddexp.reduce(logs) - np.log(len(parts)))


def pinball_loss(predictions, y):
    """Mean over the quantiles at levels 0.05, 0.1, ..., 0.95."""
    difference = y - predictions.quantile(LEVELS)
    return np.mean(np.maximum(LEVELS * difference, (LEVELS - 1) * difference))


def calibration(predictions, y, kernel):
    """Both estimates of the SKCE, and the p-value of the bootstrap with 1000 draws."""
    test = ct.AsymptoticSKCETest(kernel, n_resamples=1000, known_variance=False)(predictions, y, rng=1)
    biased = ct.SKCE(kernel, unbiased=False)(predictions, y)
    return {"SKCE (biased)": biased, "SKCE (unbiased)": test.estimate, "p-value": test.pvalue}


def measures(predictions, y, kernel):
    """What the paper measures."""
    return {
        "MSE": np.mean((predictions.moments()[0] - y) ** 2),
        "NLL": negative_log_likelihood(predictions, y),
        "pinball": pinball_loss(predictions, y),
        **calibration(predictions, y, kernel),
    }


def without_some_pairs(ensemble, y, kernel):
    """The SKCE of the published software, which leaves out the pairs of components (a, 1) for a = 2, 3, ..."""
    first, *others = ensemble.components
    left_out = sum(one.centred_kernel(kernel.target_kernel, y, first, y) for one in others)
    left_out *= kernel.prediction_kernel.tile(ensemble, ensemble) / len(ensemble.components) ** 2
    pairs = left_out[np.triu_indices(len(y), 1)]
    return {
        "SKCE (biased)": ct.SKCE(kernel, unbiased=False)(ensemble, y) - left_out.mean(),
        "SKCE (unbiased)": ct.SKCE(kernel)(ensemble, y) - pairs.mean(),
    }


RATIO = "ratio of the SKCE (unbiased) to that of networks"
"""At iteration 20, when no network is calibrated. Later the SKCE is near 0."""


def wanted(model, statistic, t):
    """Whether a statistic is stored."""
    return statistic != RATIO or (t == min(ITERATIONS) and model != "networks")


def replica(seed, last=ITERATIONS[-1]):
    """Everything measured for new data and ten new networks: values by (data, model, statistic, iteration)."""
    problem, rng = ct.generators.Friedman1(), np.random.default_rng([2021, seed])
    data = {"train": problem.data(100, rng), "test": problem.data(50, rng)}
    saved = train(*data["train"], {t for t in (*ITERATIONS, *NLL_ITERATIONS) if t <= last}, rng=rng)
    found, lowest = {}, {"networks": [], "ensemble": []}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ct.kernels.KernelWarning)
        for t, (name, (x, y)) in product(sorted(saved), data.items()):
            networks, ensemble = predicted(saved[t], data["train"], x)
            if name == "test" and t in NLL_ITERATIONS:
                lowest["networks"].append(np.mean([negative_log_likelihood(one, y) for one in networks]))
                lowest["ensemble"].append(negative_log_likelihood(ensemble, y))
            if t in ITERATIONS:
                each = [measures(one, y, WASSERSTEIN) for one in networks]
                models = {
                    "networks": {key: np.mean([one[key] for one in each]) for key in each[0]},
                    "ensemble": measures(ensemble, y, MIXTURE_WASSERSTEIN),
                    "ensemble, some pairs left out": without_some_pairs(ensemble, y, MIXTURE_WASSERSTEIN),
                    "ensemble, MMD": calibration(ensemble, y, MMD),
                }
                for model, values in models.items():
                    values[RATIO] = values["SKCE (unbiased)"] / models["networks"]["SKCE (unbiased)"]
                    found |= {(name, model, key, t): value for key, value in values.items() if wanted(model, key, t)}
    for model, values in lowest.items():
        found["test", model, "iteration of the lowest NLL", 0] = float(NLL_ITERATIONS[int(np.argmin(values))])
    return found


STORED = Path(__file__).with_name("friedman_statistics.csv")
PUBLISHED = Path(__file__).resolve().parents[2] / "shared" / "data" / "iclr2021" / "friedman_statistics.csv.gz"


class Statistic(NamedTuple):
    """A published value beside those of the replicas: the smallest, median and largest, how many are below, the first."""

    data: str
    model: str
    statistic: str
    iteration: int
    published: float
    smallest: float
    median: float
    largest: float
    below: int
    first: float


def statistics():
    """The stored study."""
    with STORED.open() as file:
        rows = [list(row.values()) for row in csv.DictReader(file)]
    return [Statistic(*row[:3], int(row[3]), *map(float, row[4:8]), int(row[8]), float(row[9])) for row in rows]


def published():
    """Published values by (data, model, statistic, iteration); those of networks are means of the ten."""
    values = {}
    with gzip.open(PUBLISHED, "rt") as file:
        for row in csv.DictReader(file):
            model = "ensemble" if row["model"] == "ensemble" else "networks"
            place = row["dataset"], model, row["statistic"], int(row["iteration"])
            values.setdefault(place, []).append(float(row["value"]))
    found = {place: float(np.mean(several)) for place, several in values.items()}
    for data in ("train", "test"):
        ours, theirs = (found[data, model, "SKCE (unbiased)", 20] for model in ("ensemble", "networks"))
        found[data, "ensemble", RATIO, 20] = ours / theirs
    for model in ("networks", "ensemble"):
        best = min(NLL_ITERATIONS, key=lambda t: found["test", model, "NLL", t])
        found["test", model, "iteration of the lowest NLL", 0] = float(best)
    return found


def store(replicas):
    """Write the range of the replicas beside the published values."""
    theirs = published()
    with STORED.open("w") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Statistic._fields)
        for data, model, statistic, t in sorted(replicas[0]):
            one = theirs[data, model.partition(",")[0], statistic, t]
            ours = np.array([values[data, model, statistic, t] for values in replicas])
            numbers = [f"{x:.5g}" for x in (one, ours.min(), np.median(ours), ours.max())]
            writer.writerow([data, model, statistic, t, *numbers, np.sum(ours < one), f"{ours[0]:.5g}"])


# --- More replicas of the training alone, for one value outside of the range of the study --------------------------

TRAINING = Path(__file__).with_name("friedman_training.csv")
TRAINING_ITERATION = 2000
NEW_SEEDS = range(100, 139)


def training_error(seed):
    """Mean squared error of new networks on their new training data, averaged over the ten."""
    problem, rng = ct.generators.Friedman1(), np.random.default_rng([2021, seed])
    data = problem.data(100, rng)
    problem.data(50, rng)
    parameters = train(*data, {TRAINING_ITERATION}, rng=rng)[TRAINING_ITERATION]
    return float(np.mean((means(parameters, data[0]) - data[1]) ** 2))


def training_errors():
    """The stored errors."""
    with TRAINING.open() as file:
        return np.array([float(row["MSE"]) for row in csv.DictReader(file)])


def store_training_errors():
    """Write a row for each seed."""
    with TRAINING.open("w") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["seed", "MSE"])
        for seed in NEW_SEEDS:
            writer.writerow([seed, f"{training_error(seed):.5g}"])
            file.flush()


if __name__ == "__main__":
    if sys.argv[1:] == ["training"]:
        store_training_errors()
    else:
        store(Parallel(n_jobs=2)(delayed(replica)(seed) for seed in range(N_REPLICAS)))
