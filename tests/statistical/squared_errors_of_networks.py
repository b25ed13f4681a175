"""Squared errors of networks for CIFAR-10: estimates from 1500 images each, by four ways, beside those of all.

``python -m tests.statistical.squared_errors_of_networks`` needs the predictions in ``../shared/data/cifar10``. The
truth is not known; of the confidence of the top label the debiased binned error of all images is close to it.
"""

import sys
from pathlib import Path

import numpy as np

import caltest as ct
from tests.statistical.squared_error_coverage import choice, interval, ridge, scaling

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "data" / "cifar10"
NETWORKS = "densenet121", "googlenet", "mobilenet_v2", "resnet18", "vgg16_bn", "wideresnet-16-4"
N, PARTS = 1500, {"top label": 6, "all classes": 2}
WAYS = {"choice": choice, "interval": interval, "variational, ridge": ridge, "variational, scaling": scaling}


def load(network):
    """Predictions and labels of a network, in random order."""
    if (file := FOLDER / f"{network}.npz").exists():
        arrays = np.load(file)
        p, y = arrays["predictions"].astype(float), arrays["ground_truth"]
    else:
        p = np.loadtxt(FOLDER / f"{network}.csv.gz", delimiter=",")
        y = np.loadtxt(FOLDER / "labels.csv.gz", dtype=int) - 1
    order = np.random.default_rng(1).permutation(len(y))
    return (p / p.sum(axis=1, keepdims=True))[order], y[order]


def debiased(p, y, rng):
    """Binned, of 15 bins of equal numbers, without their bias."""
    return (ct.estimators.DebiasedSquaredECE(ct.binning.QuantileBinning(15))(p, y),)


def estimates(way, p, y, number):
    """Estimates and intervals from each of some parts of the rows."""
    parts = (slice(N * part, N * (part + 1)) for part in range(number))
    return np.array([way(p[rows], y[rows], np.random.default_rng(part)) for part, rows in enumerate(parts)])


def main():
    print("network | of | all images | " + " | ".join(WAYS))
    for network in sys.argv[1:] or NETWORKS:
        p, y = load(network)
        top = p.max(axis=1), (p.argmax(axis=1) == y).astype(int)
        for name, (q, z) in {"top label": top, "all classes": (p, y)}.items():
            of_all = interval(q, z, None) if name == "all classes" else debiased(q, z, None)
            cells = []
            for way in WAYS.values():
                found = estimates(way, q, z, PARTS[name])
                held = np.mean((found[:, 1] <= of_all[0]) & (of_all[0] <= found[:, 2]))
                cells.append(
                    f"{1e4 * found[:, 0].mean():.1f} ± {1e4 * found[:, 0].std(ddof=1):.1f}, {100 * held:.0f} %"
                )
            whole = " to ".join(f"{1e4 * one:.1f}" for one in of_all[1:])
            print(
                f"{network} | {name} | {1e4 * of_all[0]:.1f}{whole and f' ({whole})'} | {' | '.join(cells)}", flush=True
            )


if __name__ == "__main__":
    main()
