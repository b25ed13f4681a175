"""Mondrian forests on KITTI-2 beside the published rows of Tables S2 and S3 (Wenger et al. 2020).

``OMP_NUM_THREADS=1 python notebooks/kitti_mondrian.py`` writes the table that ``09_active_learning.ipynb`` shows. It needs
``pip install river``, which has another Mondrian forest that is still maintained: aggregated ones (Mourtada, Gaiffas and
Scornet 2021), which learn row by row, do not split pure nodes, and weigh the subtrees on the path by their past log loss.
"""

import csv
from pathlib import Path
from typing import NamedTuple

import kitti
import numpy as np
from mondrian import MondrianForest

TABLE = Path(__file__).with_name("kitti_mondrian.csv")


class Scores(NamedTuple):
    """Means and standard deviations over the splits."""

    forest: str
    method: str
    ece: float
    ece_sd: float
    accuracy: float
    accuracy_sd: float
    nll: float
    nll_sd: float


def aggregated(features):
    """Probabilities (n, k) by ten trees of river, for features as they are."""
    from river.forest import AMFClassifier

    forest, classes = AMFClassifier(n_estimators=10, seed=1), range(features.y.max() + 1)
    for row, label in zip(features.x.tolist(), features.y.tolist(), strict=True):
        forest.learn_one(dict(enumerate(row)), label)
    found = [forest.predict_proba_one(dict(enumerate(row))) for row in features.x_test.tolist()]
    return np.array([[one[label] for label in classes] for one in found])


def write():
    """Fit both forests, and recalibrate them on the splits of the first model of the paper."""
    features = kitti.binary(kitti.load())
    probabilities = {
        "Mondrian forest": MondrianForest().fit(features.x, features.y).predict_proba(features.x_test),
        "AMF": aggregated(features),
    }
    parts = kitti.splits(features.y_test.size)["AdaBoost"]
    results = kitti.study(probabilities, features.y_test, dict.fromkeys(probabilities, parts), n_jobs=1)
    columns = [kitti.QUANTITIES.index(quantity) for quantity in ("midpoint ECE", "accuracy", "NLL")]
    with TABLE.open("w") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Scores._fields)
        for (forest, method), values in results.items():
            pairs = np.stack([values.mean(axis=0), values.std(axis=0, ddof=1)], axis=1)[columns]
            writer.writerow([forest, method, *(f"{value:.4f}" for value in pairs.ravel())])


def scores():
    """The stored table by forest and method."""
    with TABLE.open() as file:
        rows = [list(row.values()) for row in csv.DictReader(file)]
    return {(row[0], row[1]): Scores(*row[:2], *map(float, row[2:])) for row in rows}


if __name__ == "__main__":
    write()
