"""Networks for CIFAR-10 (Widmann et al. 2019, appendix J.3, Figures 35 and 36) beside the published numbers.

``python notebooks/cifar10_networks.py`` reads the predictions of five of the fourteen networks from
``../shared/data/cifar10`` and stores what it finds (a few minutes). ``05_synthetic_classes.ipynb`` shows it.
"""

import csv
from pathlib import Path
from typing import NamedTuple

import numpy as np

import caltest as ct

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "data" / "cifar10"
STORED = Path(__file__).with_name("cifar10_networks.csv")
NETWORKS = ("densenet121", "googlenet", "mobilenet_v2", "resnet18", "vgg16_bn")
N_RESAMPLES = 199
# Airplane, automobile, bird, cat, deer, dog, frog, horse, ship, truck.
GROUPS = ("vehicle", "vehicle", *("animal",) * 6, "vehicle", "vehicle")


class Number(NamedTuple):
    """A number of a network; none is published for lenses."""

    figure: int | None
    network: str
    quantity: str
    published: float | None
    found: float


def load(network):
    """Predictions and labels of a network."""
    probabilities = np.loadtxt(FOLDER / f"{network}.csv.gz", delimiter=",")
    return ct.Categorical(probabilities), np.loadtxt(FOLDER / "labels.csv.gz", dtype=int) - 1


def kernel_of(predictions):
    """``exp(-TV / median) I``, with the diagonal in the median as in the paper's software."""
    tv = ct.TotalVariation()
    bandwidth = ct.median_bandwidth(predictions, tv, include_diagonal=True)
    return ct.ProductKernel(ct.ExponentialKernel(tv, bandwidth), ct.DeltaKernel())


def estimators(kernel):
    """Those of Figure 35 by their columns in the published file."""
    return {
        "ECE_uniform": ct.ECE(ct.binning.UniformBinning(10)),
        "ECE_dynamic": ct.ECE(ct.binning.MedianVarianceBinning(100)),
        "SKCEb_median": ct.SKCE(kernel, unbiased=False),
        "SKCEuq_median": ct.SKCE(kernel),
        "SKCEul_median": ct.BlockSKCE(kernel),
    }


def tests(kernel):
    """Those of Figure 36 by their columns in the published file."""
    consistency, bounded = dict(list(estimators(kernel).items())[:2]), dict(list(estimators(kernel).items())[2:])
    return {
        **{name: ct.ConsistencyTest(one, N_RESAMPLES) for name, one in consistency.items()},
        **{f"{name}_distribution_free": ct.DistributionFreeSKCETest(one) for name, one in bounded.items()},
        "SKCEuq_median_asymptotic": ct.AsymptoticSKCETest(kernel, N_RESAMPLES, known_variance=False),
        "SKCEul_median_asymptotic": ct.AsymptoticBlockSKCETest(kernel, population_variance=True, known_variance=False),
    }


def lenses(predictions, labels):
    """Section 3.2.2: p-values of the default test for the whole distribution and for parts of it."""
    return {
        "ten classes": (predictions, labels),
        "top label": ct.top_label(predictions, labels),
        "five most probable": ct.predictions.top_m(predictions, labels, 5),
        "animals and vehicles": ct.predictions.class_groups(predictions, labels, GROUPS),
    }


def published(file):
    """A published file, by network and column."""
    with (FOLDER / file).open() as lines:
        return {row.pop("model"): {name: float(value) for name, value in row.items()} for row in csv.DictReader(lines)}


def numbers():
    """What is stored."""
    with STORED.open() as file:
        rows = list(csv.DictReader(file))
    return [
        Number(
            int(row["figure"]) if row["figure"] else None,
            row["network"],
            row["quantity"],
            float(row["published"]) if row["published"] else None,
            float(row["found"]),
        )
        for row in rows
    ]


def main():
    """Everything of every network."""
    figures = {35: published("published_errors.csv"), 36: published("published_pvalues.csv")}
    with STORED.open("w") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Number._fields)
        for network in NETWORKS:
            predictions, labels = load(network)
            kernel = kernel_of(predictions)
            for name, estimator in estimators(kernel).items():
                value = float(estimator(predictions, labels))
                writer.writerow([35, network, name, figures[35][network][name], value])
            for name, test in tests(kernel).items():
                value = test(predictions, labels, rng=1).pvalue
                writer.writerow([36, network, name, figures[36][network][name], value])
            for name, sample in lenses(predictions, labels).items():
                value = ct.calibration_test(*sample, n_resamples=N_RESAMPLES, rng=1).pvalue
                writer.writerow(["", network, name, "", value])


if __name__ == "__main__":
    main()
