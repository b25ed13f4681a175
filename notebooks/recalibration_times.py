"""Table S1 of Wenger, Kjellstrom and Triebel 2020: times of recalibration, measured beside the published ones.

``OMP_NUM_THREADS=1 python notebooks/recalibration_times.py`` measures (two minutes) and writes the table that
``08_recalibration.ipynb`` shows. Predictions are drawn, with as many rows and classes as those of the paper.
"""

import csv
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import numpy as np
from scipy.special import softmax

import caltest as ct
from caltest import recalibration as rc

TABLE = Path(__file__).with_name("recalibration_times.csv")
METHODS = ("Platt", "Isotonic", "Beta", "BBQ", "Temperature", "GPcalib", "GPcalib, mean")
PUBLISHED = {
    "KITTI": (2, 8000, "17 4 32 994 53 10517 10441", "2 3 22 1334 6 1625 1227"),
    "PCam": (2, 9000, "20 7 26 923 63 10653 10492", "3 4 21 1502 8 1610 1171"),
    "MNIST": (10, 9000, "245 55 478 8589 129 22112 21596", "43 46 1126 15180 26 2610 1483"),
    "CIFAR-100": (100, 9000, "3181 602 2052 90458 277 206564 204714", "1276 1269 3202 148716 210 24482 3367"),
    "ImageNet": (
        1000,
        10000,
        "30911 9436 22291 613060 3395 2597305 2580205",
        "83651 83005 127822 1136108 2369 513806 31317",
    ),
}
"""Classes, rows for testing, and the published times of the methods to fit and to apply them, in 1e-4 seconds."""

N_CALIBRATION = 1000


class Time(NamedTuple):
    """Seconds to fit a method to 1000 rows and to apply it to the test rows."""

    data: str
    n_classes: int
    n_test: int
    method: str
    fit: float
    published_fit: float
    apply: float
    published_apply: float


def methods(k):
    """Those of the table for k classes."""
    names = dict(zip(METHODS, (rc.Platt(), rc.Isotonic(), rc.BetaCalibration(), rc.BBQ()), strict=False))
    several = {name: method if k == 2 else rc.OneVsRest(method) for name, method in names.items()}
    return {**several, "Temperature": rc.TemperatureScaling(), "GPcalib": rc.GPCalibrator(), "GPcalib, mean": None}


def drawn(k, n, rng):
    """Overconfident predictions (n, k) and labels."""
    logits = 2.0 * rng.standard_normal((n, k)) + 2.0 * np.log(k) * (np.arange(k) == rng.integers(k, size=(n, 1)))
    labels = ct.Categorical(softmax(logits / 1.5, axis=1)).sample(rng)
    return softmax(logits, axis=1), labels


def seconds(function, *arguments):
    """The shortest of three calls, or of one that takes long, and what it returns."""
    times = []
    while len(times) < 3 and sum(times) < 10.0:
        start = perf_counter()
        answer = function(*arguments)
        times.append(perf_counter() - start)
    return min(times), answer


def measured(data):
    """The rows of a data set."""
    k, n_test, *published = PUBLISHED[data]
    fits, applications = (1e-4 * np.array(text.split(), float) for text in published)
    rng = np.random.default_rng(1)
    (p, y), (new, _) = drawn(k, N_CALIBRATION, rng), drawn(k, n_test, rng)
    before = None
    for name, method, *other in zip(METHODS, methods(k).values(), fits, applications, strict=True):
        binary = k == 2 and name in METHODS[:4]
        some, others = (p[:, 1], new[:, 1]) if binary else (p, new)
        if method is not None:
            before = seconds(method.fit, some, y)
        fit, fitted = before
        marginal = name == "GPcalib"
        apply = seconds(lambda: fitted.marginal(others, rng=1) if marginal else fitted(others))[0]  # noqa: B023
        yield Time(data, k, n_test, name, fit, other[0], apply, other[1])


def write():
    """Measure all and write the table."""
    with open(TABLE, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Time._fields)
        for data in PUBLISHED:
            for row in measured(data):
                writer.writerow([f"{value:.3g}" if isinstance(value, float) else value for value in row])
                file.flush()


def times():
    """The stored table."""
    with open(TABLE) as file:
        return [Time(*row.values()) for row in csv.DictReader(file)]


if __name__ == "__main__":
    write()
