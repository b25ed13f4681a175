"""The KITTI experiments of Wenger, Kjellstrom and Triebel 2020: features, classifiers, splits, published numbers.

``08_recalibration.ipynb`` shows the results, ``09_active_learning.ipynb`` those of Mondrian forests.
"""

import warnings
import zipfile
from pathlib import Path
from typing import NamedTuple

import joblib
import numpy as np
import xgboost
from scipy.special import softmax
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeClassifier

import caltest as ct
from caltest.recalibration import BBQ, BetaCalibration, GPCalibrator, Isotonic, OneVsRest, Platt, TemperatureScaling

ARCHIVE = Path(__file__).resolve().parents[2] / "shared" / "data" / "kitti" / "kitti_data.zip"
N_SPLITS, N_CALIBRATION, N_TEST = 10, 1000, 8000
MONDRIAN_ROWS = 9031
"""Rows that the published Mondrian forest gave predictions for, of 9090. 57 rows occur in the training data, too."""


class Features(NamedTuple):
    """Features (n, 60) and labels (n,) for training and for testing."""

    x: np.ndarray
    y: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray


def load():
    """The features of segmented point clouds; where the archive is absent, drawn ones of the same size."""
    if not ARCHIVE.is_file():
        return stand_in()
    with zipfile.ZipFile(ARCHIVE) as archive:
        parts = []
        for part in ("train", "test"):
            for kind in ("data", "labels"):
                with archive.open(f"kitti_features/kitti_all_{part}.{kind}") as file:
                    parts.append(np.loadtxt(file, skiprows=1))
    x, y, x_test, y_test = parts
    return Features(x, y.astype(int), x_test, y_test.astype(int))


def stand_in(n=16000, n_test=9090):
    """Drawn features, so that the notebooks run without the data; their numbers mean nothing."""
    x, y = make_classification(
        n + n_test, 60, n_informative=20, n_classes=7, weights=[0.75, 0.1, 0.03, 0.04, 0.03, 0.03], random_state=1
    )
    return Features(x[:n], y[:n], x[n:], y[n:])


def binary(features):
    """KITTI-2: label 0 against all others."""
    return features._replace(y=(features.y > 0).astype(int), y_test=(features.y_test > 0).astype(int))


def seven(features):
    """KITTI-7: the labels of the training data. Test rows of another label, which no model can know, are left out."""
    labels = np.unique(features.y)
    known = np.isin(features.y_test, labels)
    y, y_test = (np.searchsorted(labels, values) for values in (features.y, features.y_test[known]))
    return Features(features.x, y, features.x_test[known], y_test)


class SammeR:
    """AdaBoost of decision stumps by "SAMME.R" (Hastie, Rosset, Zhu and Zou 2009), which scikit-learn has no more."""

    def __init__(self, n_estimators=100, random_state=1):
        self.n_estimators, self.random_state = n_estimators, random_state

    def fit(self, x, y):
        """Each stump is fitted to weights that the logarithms of the probabilities of the one before have changed."""
        k = y.max() + 1
        coding = np.where(y[:, None] == np.arange(k), 1.0, -1.0 / (k - 1))
        rng = np.random.RandomState(self.random_state)
        weights = np.full(y.size, 1.0 / y.size)
        self.stumps = []
        for _ in range(self.n_estimators):
            seed = rng.randint(np.iinfo(np.int32).max)
            self.stumps.append(DecisionTreeClassifier(max_depth=1, random_state=seed).fit(x, y, sample_weight=weights))
            weights *= np.exp(-(k - 1) / k * (coding * log_probabilities(self.stumps[-1], x)).sum(axis=1))
            weights /= weights.sum()
        return self

    def predict_proba(self, x):
        """The geometric mean of the probabilities of all stumps, in rows that sum to 1."""
        return softmax(np.mean([log_probabilities(stump, x) for stump in self.stumps], axis=0), axis=1)


def log_probabilities(stump, x):
    return np.log(np.maximum(stump.predict_proba(x), np.finfo(float).eps))


MODELS = {
    "AdaBoost": lambda k: SammeR(),
    "XGBoost": lambda k: xgboost.XGBClassifier(
        n_estimators=100,
        max_depth=3,
        learning_rate=0.1,
        base_score=0.5,
        # The search of 2019; histograms are eight times faster on seven classes.
        tree_method="exact" if k == 2 else "hist",
        random_state=1,
        n_jobs=1,
    ),
    "Random forest": lambda k: RandomForestClassifier(100, random_state=1),
    "1-layer NN": lambda k: MLPClassifier((100,), random_state=1),
}
"""New models for k classes, with the defaults of 2019."""


def trained(name, features):
    """Probabilities (n_test, k) by a new model."""
    with warnings.catch_warnings():
        # The network is stopped after 200 passes, as in the paper.
        warnings.filterwarnings("ignore", "Stochastic Optimizer")
        p = MODELS[name](features.y.max() + 1).fit(features.x, features.y).predict_proba(features.x_test)
    p = p.astype(float)
    return p / p.sum(axis=1, keepdims=True)


def predictions(tasks, n_jobs=2):
    """Probabilities by (task, model), for all models."""
    # Those that take longest come first.
    jobs = [(task, name) for name in reversed(MODELS) for task in tasks]
    found = joblib.Parallel(n_jobs)(joblib.delayed(trained)(name, tasks[task]) for task, name in jobs)
    return dict(zip(jobs, found, strict=True))


def splits(n, n_test=N_TEST, n_splits=N_SPLITS):
    """Indices for calibration and testing by model: one generator for all models, in the order of the paper."""
    rng = np.random.RandomState(1)
    sizes = {"AdaBoost": n, "XGBoost": n, "Mondrian forest": MONDRIAN_ROWS, "Random forest": n, "1-layer NN": n}
    orders = {name: [rng.permutation(size) for _ in range(n_splits)] for name, size in sizes.items()}
    return {
        name: [(order[n_test : n_test + N_CALIBRATION], order[:n_test]) for order in orders[name]] for name in MODELS
    }


PAPER = {"Platt": Platt(on="scores"), "Isotonic": Isotonic(interpolate=True), "Beta": BetaCalibration(), "BBQ": BBQ()}
OTHERS = {"Platt, log-odds": Platt(), "Isotonic, steps": Isotonic(), "Temperature, ln p": TemperatureScaling()}
"""Settings of the paper, and defaults of caltest that differ from them."""

SEVERAL = (Platt(), Isotonic(), BetaCalibration(), BBQ())


def recalibrated(p, labels, new, rng=1):
    """Recalibrated ``new`` (n, 2) by method, each fitted to p (m, 2) and labels (m,): those of the paper and others."""
    found = {"Uncalibrated": new}
    for name, method in {**PAPER, **OTHERS}.items():
        found[name] = two_columns(method.fit(p[:, 1], labels)(new[:, 1]))
    found["Temperature"] = temperature_of_probabilities(p, labels, new)
    fitted = GPCalibrator(keep_class=False).fit(p, labels)
    found["GPcalib"] = independent_draws(fitted, new, rng)
    found["GPcalib, joint draws"] = fitted.marginal(new, rng=rng)
    return {**found, "GPcalib, mean": fitted(new)}


def recalibrated_classes(p, labels, new):
    """Recalibrated ``new`` (n, k) by method, with the defaults of caltest and the temperature of the paper."""
    found = {"Uncalibrated": new}
    for method in SEVERAL:
        found[type(method).__name__] = OneVsRest(method).fit(p, labels)(new)
    found["Temperature, ln p"] = TemperatureScaling().fit(p, labels)(new)
    found["Temperature, p"] = temperature_of_probabilities(p, labels, new)
    return {**found, "GPcalib, mean": GPCalibrator(keep_class=False).fit(p, labels)(new)}


def two_columns(p):
    """Probabilities (n,) of class 1 as (n, 2)."""
    return np.stack([1.0 - p, p], axis=1)


def temperature_of_probabilities(p, labels, new):
    """``softmax(p / T)``, probabilities in the place of logits, as in the paper."""
    # Four times p cannot be mistaken for probabilities, and T makes up for the factor.
    return TemperatureScaling(input="logits").fit(4.0 * p, labels)(4.0 * new)


def independent_draws(fitted, new, rng, n_draws=100):
    """Mean of ``softmax(g)`` with a value of g of its own for each class and row, as in the software of the paper."""
    _, mean, deviation = (values.reshape(new.shape) for values in fitted.latent_function(new.ravel()))
    noise = np.random.default_rng(rng).standard_normal((n_draws, *new.shape))
    return softmax(mean + deviation * noise, axis=2).mean(axis=0)


def faulty(p, labels, new):
    """BBQ for which predictions of exactly 0 get the value of the last bin, as in the software of the paper."""
    fitted = BBQ().fit(p[:, 1], labels)
    q = np.where(new[:, 1] == 0.0, fitted(np.ones(1)), fitted(new[:, 1]))
    return {"BBQ": two_columns(q)}


def midpoint_ece(p, labels, n_bins=100):
    """The ECE of the top label as published: accuracy less the mid-point of the bin, not the mean confidence in it.

    Bins of [1/k, 1] are closed on the left; the mid-points lie between 1/k + 1/(2 b) and 1 - 1/(2 b).
    """
    k = p.shape[1]
    right = p.argmax(axis=1) == labels
    bins = np.searchsorted(np.linspace(1.0 / k, 1.0, n_bins + 1)[1:-1], p.max(axis=1), side="right")
    sizes, hits = np.bincount(bins, minlength=n_bins), np.bincount(bins, right, n_bins)
    middles = np.linspace(1.0 / k + 0.5 / n_bins, 1.0 - 0.5 / n_bins, n_bins)
    return float(np.abs(hits - sizes * middles).sum() / labels.size)


def log_loss(p, labels):
    """Mean ``-log p(y)`` with p between 1e-15 and 1 - 1e-15, as scikit-learn had it."""
    clipped = np.clip(p, 1e-15, 1.0 - 1e-15)
    return float(-np.log(clipped[np.arange(labels.size), labels] / clipped.sum(axis=1)).mean())


QUANTITIES = ("midpoint ECE", "ECE", "accuracy", "NLL")


def scores(p, labels):
    """The quantities of a table."""
    plug_in = ct.ECE(ct.binning.UniformBinning(100))(*ct.top_label(p, labels))
    return [midpoint_ece(p, labels), float(plug_in), float(np.mean(p.argmax(axis=1) == labels)), log_loss(p, labels)]


def split_scores(p, labels, calibration, test, methods):
    """Scores by method on the test rows of a split."""
    found = methods(p[calibration], labels[calibration], p[test])
    return {name: scores(q, labels[test]) for name, q in found.items()}


def study(probabilities, labels, parts, methods=recalibrated, n_jobs=2):
    """Scores (n_splits, quantities) by model and method."""
    jobs = [
        (name, joblib.delayed(split_scores)(p, labels, *part, methods))
        for name, p in probabilities.items()
        for part in parts[name]
    ]
    results = joblib.Parallel(n_jobs)(job for _, job in jobs)
    found = {}
    for (name, _), by_method in zip(jobs, results, strict=True):
        for method, values in by_method.items():
            found.setdefault((name, method), []).append(values)
    return {key: np.array(values) for key, values in found.items()}
