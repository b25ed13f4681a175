"""Active learning on a stream of data, with and without recalibration (Wenger et al. 2020, section 5, figure 5).

``OMP_NUM_THREADS=1 python notebooks/active.py`` learns from ten streams of the KITTI features and stores the curves that
``09_active_learning.ipynb`` shows (a quarter of an hour on two cores).
"""

import csv
from pathlib import Path
from typing import NamedTuple

import joblib
import kitti
import numpy as np
from mondrian import MondrianForest
from scipy import special

import caltest as ct

STORED = Path(__file__).with_name("active_learning.csv")
ARMS = {"not recalibrated": (False, 0.25), "recalibrated": (True, 0.25), "higher threshold": (False, 0.4)}
"""Whether to recalibrate, and the threshold of the entropy, by name of a learner."""

N_STREAMS, PRETRAINING, BATCH = 10, 500, 500
N_CALIBRATION, POINTS = 250, (500, 2000, 3500)
"""At so many queries so many more are used for calibration, and not for training."""


class Stream(NamedTuple):
    """Features (n, d) and labels 0..k-1 in the order in which they come in, data to judge on, and k."""

    x: np.ndarray
    y: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray
    n_classes: int


class Curve(NamedTuple):
    """Number of queried labels, ECE and error on the test data, at each step; queries of the whole stream."""

    queried: np.ndarray
    ece: np.ndarray
    error: np.ndarray
    total: int


def stream(features, seed):
    """The training data in a random order, with the labels of the test data among the classes."""
    order = np.random.RandomState(seed).permutation(features.y.size)
    n_classes = int(max(features.y.max(), features.y_test.max())) + 1
    return Stream(features.x[order], features.y[order], features.x_test, features.y_test, n_classes)


def normalised_entropy(p):
    """Entropy of probabilities (n, k) as a share of its largest value, log k."""
    return special.entr(p).sum(axis=1) / np.log(p.shape[1])


class Learner:
    """A forest that is grown anew from all its labels, and a map that its calibration labels are used for."""

    def __init__(self, data, threshold, rng=1):
        self.data, self.threshold, self.rng = data, threshold, np.random.default_rng(rng)
        self.training, self.calibration = list(range(PRETRAINING)), []
        self.map = None
        self.fit()

    @property
    def queried(self):
        """Number of labels that were asked for."""
        return len(self.training) + len(self.calibration)

    def fit(self):
        """Grow a forest, which has the same distribution as one that has learned row by row."""
        x, y = self.data.x[self.training], self.data.y[self.training]
        self.forest = MondrianForest(rng=self.rng).fit(x, y, self.data.n_classes)

    def calibrate(self):
        """Fit the map to what the forest says of all calibration rows."""
        p = self.raw(self.data.x[self.calibration])
        self.map = ct.recalibration.GPCalibrator(keep_class=False).fit(p, self.data.y[self.calibration])

    def raw(self, x):
        """Probabilities (n, k) of the forest; 0 for classes that it has not seen."""
        return self.forest.predict_proba(x)

    def predict(self, x):
        """Probabilities (n, k), recalibrated once there is a map."""
        p = self.raw(x)
        return p if self.map is None else self.map(p)

    def uncertain(self, start, stop):
        """Rows of a part of the stream whose labels are worth asking for."""
        rows = np.arange(start, min(stop, len(self.data.y)))
        return rows[normalised_entropy(self.predict(self.data.x[rows])) > self.threshold]


def learn(data, recalibrate, threshold=0.25):
    """The curve of a learner that sees the stream once and asks for labels where the entropy is above a threshold."""
    learner, place, points = Learner(data, threshold), PRETRAINING, list(POINTS) if recalibrate else []
    steps = []
    while place < len(data.y):
        steps.append((learner.queried, *judge(learner)))
        if points and learner.queried >= points[0]:
            points.pop(0)
            chosen = learner.uncertain(place, len(data.y))[:N_CALIBRATION]
            place = chosen[-1] + 1 if len(chosen) else len(data.y)
            learner.calibration += chosen.tolist()
            learner.calibrate()
        else:
            learner.training += learner.uncertain(place, place + BATCH).tolist()
            place += BATCH
            learner.fit()
    steps.append((learner.queried, *judge(learner)))
    return Curve(*(np.array(values) for values in zip(*steps, strict=True)), learner.queried)


def judge(learner):
    """Mid-point ECE, as published, and share of errors on the test data."""
    p = learner.predict(learner.data.x_test)
    return kitti.midpoint_ece(p, learner.data.y_test), float(np.mean(p.argmax(axis=1) != learner.data.y_test))


def curves(features, arms, n_streams, n_jobs=2):
    """Curves by name of learners with settings (recalibrate, threshold), all on the same streams."""
    jobs = [(name, *settings, seed) for name, settings in arms.items() for seed in range(n_streams)]
    found = joblib.Parallel(n_jobs)(
        joblib.delayed(learn)(stream(features, seed), recalibrate, threshold)
        for _, recalibrate, threshold, seed in jobs
    )
    return {name: [curve for job, curve in zip(jobs, found, strict=True) if job[0] == name] for name in arms}


def smoothed(curves, places, width=150.0):
    """Means over the curves of ECE and error at numbers of queries, by a Gaussian kernel."""
    queried = np.concatenate([curve.queried for curve in curves])
    weights = np.exp(-0.5 * ((places[:, None] - queried) / width) ** 2)
    weights /= weights.sum(axis=1, keepdims=True)
    return tuple(weights @ np.concatenate([getattr(curve, name) for curve in curves]) for name in ("ece", "error"))


def store(curves):
    """Write the points of curves by name."""
    with STORED.open("w") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["learner", "stream", "queried", "ece", "error"])
        for name, several in curves.items():
            for i, curve in enumerate(several):
                for queried, ece, error in zip(*curve[:3], strict=True):
                    writer.writerow([name, i, queried, f"{ece:.5f}", f"{error:.5f}"])


def stored():
    """The stored curves."""
    points = {}
    with STORED.open() as file:
        for row in csv.DictReader(file):
            point = int(row["queried"]), float(row["ece"]), float(row["error"])
            points.setdefault(row["learner"], {}).setdefault(row["stream"], []).append(point)
    arrays = {name: [[np.array(a) for a in zip(*p, strict=True)] for p in by.values()] for name, by in points.items()}
    return {name: [Curve(*three, int(three[0][-1])) for three in several] for name, several in arrays.items()}


if __name__ == "__main__":
    store(curves(kitti.load(), ARMS, N_STREAMS))
