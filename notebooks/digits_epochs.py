"""A network over its epochs, as in Figure 1 of Wenger et al. 2020, for the digits that scikit-learn ships (not MNIST).

``OMP_NUM_THREADS=1 python notebooks/digits_epochs.py`` trains ten networks (two minutes) and stores what
``08_recalibration.ipynb`` shows.
"""

import csv
from pathlib import Path
from typing import NamedTuple

import kitti
import numpy as np
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier

import caltest as ct

TABLE = Path(__file__).with_name("digits_epochs.csv")
N_TRAINING, N_CALIBRATION, N_EPOCHS, N_NETWORKS = 500, 300, 200, 10
MEASURES = "error", "NLL", "ECE"


class Epoch(NamedTuple):
    """Means over the networks, on training and on test data; the epoch of the recalibrated networks is the last one."""

    data: str
    epoch: int
    error: float
    nll: float
    ece: float


def measures(p, y):
    """Error, log loss and ECE of 15 bins: the 100 of the paper are too many for a thousand test rows."""
    ece = ct.ECE(ct.binning.UniformBinning(15))(*ct.top_label(p, y))
    return float(np.mean(p.argmax(axis=1) != y)), kitti.log_loss(p, y), ece


def network_epochs(seed):
    """Measures of one network (data, epochs, 3), and after recalibration (3,): new rows for each purpose."""
    x, y = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(y.size)
    training, calibration, test = np.split(order, np.cumsum([N_TRAINING, N_CALIBRATION]))
    network = MLPClassifier((100,), batch_size=N_TRAINING // 50, random_state=seed)
    found = []
    for _ in range(N_EPOCHS):
        network.partial_fit(x[training] / 16.0, y[training], classes=np.arange(10))
        found.append([measures(network.predict_proba(x[rows] / 16.0), y[rows]) for rows in (training, test)])
    before, new = (network.predict_proba(x[rows] / 16.0) for rows in (calibration, test))
    after = ct.recalibration.GPCalibrator().fit(before, y[calibration])(new)
    return np.swapaxes(found, 0, 1), measures(after, y[test])


def write():
    """Means over the networks."""
    found, after = zip(*(network_epochs(seed) for seed in range(N_NETWORKS)), strict=True)
    rows = [
        (data, t + 1, *np.mean(found, axis=0)[i, t])
        for i, data in enumerate(("train", "test"))
        for t in range(N_EPOCHS)
    ]
    rows.append(("recalibrated", N_EPOCHS, *np.mean(after, axis=0)))
    with TABLE.open("w") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Epoch._fields)
        writer.writerows([*row[:2], *(f"{value:.5f}" for value in row[2:])] for row in rows)


def epochs():
    """The stored means."""
    with TABLE.open() as file:
        rows = [list(row.values()) for row in csv.DictReader(file)]
    return [Epoch(row[0], int(row[1]), *map(float, row[2:])) for row in rows]


if __name__ == "__main__":
    write()
