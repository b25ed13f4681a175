"""Risks of calibration estimators (Gruber and Bach 2024, sections 5.1 and 5.2): settings, data, published numbers.

``10_calibration_risk.ipynb`` shows them. ``OMP_NUM_THREADS=1 python notebooks/calibration_risk.py`` computes the tables from the
predictions in ``../shared/data`` and stores them beside it (a quarter of an hour, half of it for the 100 classes of CIFAR-100
one by one).
"""

import csv
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.special import softmax

import caltest as ct

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "data"
STORED = Path(__file__).with_name("calibration_risk.csv")
NETWORKS = {
    "CIFAR-10": ("densenet121", "googlenet", "mobilenet_v2", "resnet18", "vgg16_bn", "wideresnet-16-4"),
    "CIFAR-100": ("wideresnet-16-4",),
}
N_FOLDS, SEED = 5, 0
ZERO = "h = 0"
WITHOUT_ONES = "kde without confidences of 1"
FINER = "ukkr of 1000 landmarks"

PUBLISHED_NETWORKS = ("LeNet-5", "DenseNet-40", "WideResNet-32", "ResNet-110", "ResNet-110 SD")
PUBLISHED = {
    1: {
        "15 bins": "14.96 .31, 6.14 .12, 5.03 .2, 5.4 .24, 4.73 .25",
        "bins": "14.96 .31, 6.12 .12, 5.03 .2, 5.39 .23, 4.72 .25",
        "kde": "14.98 .31, 13.7 .27, 12.31 .65, 7.46 .35, 10.65 .58",
        "kkr": "14.96 .31, 6.13 .12, 5.03 .2, 5.39 .24, 4.72 .25",
        "ukkr": "14.96 .31, 6.11 .12, 5.03 .2, 5.38 .24, 4.72 .25",
    },
    2: {
        "15 bins": "18.51 .16, 20.66 .40, 18.40 .19, 18.67 .43, 17.18 .20",
        "bins": "18.50 .16, 20.43 .38, 18.24 .17, 18.61 .42, 17.11 .20",
        "kde": "18.50 .16, 23.74 .41, 23.28 .18, 19.69 .47, 18.21 .19",
        "kkr": "18.50 .16, 20.52 .39, 18.29 .18, 18.59 .42, 17.11 .20",
        "ukkr": "18.50 .16, 20.51 .40, 18.28 .18, 18.61 .43, 17.12 .21",
    },
    3: {
        "kde": "8.38 .06, 5.61 .09, 4.98 .05, 5.14 .1, 4.79 .03",
        "kkr": "8.36 .06, 5.56 .09, 5.00 .05, 5.16 .1, 4.80 .03",
        "ukkr": "8.35 .06, 5.56 .09, 5.01 .05, 5.16 .1, 4.80 .02",
    },
    4: {
        "15 bins": "12.17 .16, 12.58 .14, 10.63 .16",
        "bins": "12.17 .16, 12.57 .14, 10.63 .16",
        "kde": "12.31 .17, 12.77 .14, 10.63 .16",
        "kkr": "12.17 .16, 12.57 .14, 10.63 .16",
        "ukkr": "12.17 .16, 12.57 .14, 10.63 .16",
    },
    5: {
        "kde": "13.53 .27, 5.13 .13, 4.22 .16, 4.46 .14, 3.89 .2",
        "kkr": "13.53 .27, 5.13 .13, 4.22 .16, 4.47 .14, 3.89 .2",
        "ukkr": "13.53 .27, 5.13 .13, 4.22 .16, 4.47 .14, 3.89 .2",
    },
}
"""Tables by number: 100 times the root of the risk and its standard error over the folds, network by network."""

TABLES = {
    1: ("top_label", "CIFAR-10"),
    2: ("top_label", "CIFAR-100"),
    3: ("canonical", "CIFAR-100"),
    5: ("canonical", "CIFAR-10"),
}


def published(table):
    """Means and standard errors of a table by estimator, pairs network by network."""
    rows = PUBLISHED[table].items()
    return {name: [tuple(map(float, cell.split())) for cell in row.split(",")] for name, row in rows}


def functions(notion):
    """The estimators of section 5.2 by their names there, with the grids of appendix B and the kernel of the software."""
    bins = {"15 bins": ct.risk.BinnedErrorFunction(15), "bins": ct.risk.BinnedErrorFunction()}
    smooth = {
        "kde": ct.risk.DirichletErrorFunction(),
        "kkr": ct.risk.KroneckerRidgeErrorFunction(),
        "ukkr": ct.risk.TwoStepRidgeErrorFunction(),
    }
    return smooth if notion == "canonical" else bins | smooth


def load(data_set, network):
    """Predictions and labels of a network."""
    folder = FOLDER / data_set.lower().replace("-", "")
    if network.startswith("wideresnet"):
        arrays = np.load(folder / f"{network}.npz")
        return ct.Categorical(arrays["predictions"].astype(float)), arrays["ground_truth"].astype(int)
    probabilities = np.loadtxt(folder / f"{network}.csv.gz", delimiter=",")
    return ct.Categorical(probabilities), np.loadtxt(folder / "labels.csv.gz", dtype=int) - 1


class Row(NamedTuple):
    """Risks on the folds and squared errors of the functions of all folds but each; sums over the classes if class-wise."""

    data_set: str
    network: str
    notion: str
    estimator: str
    setting: str
    risks: np.ndarray
    squared_errors: np.ndarray

    @property
    def root_risk(self):
        """100 times the root, as in the tables: mean and standard error over the folds."""
        return over_folds(100 * np.sqrt(self.risks))

    @property
    def error(self):
        """Root of the squared error, as in the figures; roots of negative ones are left out, as there."""
        return over_folds(np.sqrt(self.squared_errors[self.squared_errors >= 0.0]))


def over_folds(values):
    """Mean and standard error, not a number where there are too few."""
    if values.size < 2:
        return float("nan"), float("nan")
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(values.size))


def rows(data_set, network, notion, chosen, rng=SEED):
    """The rows of a network: functions with the best setting of each, and h = 0."""
    predictions, labels = load(data_set, network)
    result = ct.estimate_calibration_error(
        predictions, labels, notion, error_functions=list(chosen.values()), n_folds=N_FOLDS, rng=rng
    )
    found = [[one for one in s.candidates if one.squared_error is not None] for s in result.selections]
    found = [[*best, s.zero] for best, s in zip(found, result.selections, strict=True)]
    for number, name in enumerate([*chosen, ZERO]):
        of_classes = [best[number] for best in found]
        setting = f"{of_classes[0].value:.6g}" if notion != "classwise" and name != ZERO else ""
        risks, errors = (
            np.sum([getattr(one, key) for one in of_classes], axis=0) for key in ("fold_risks", "fold_squared_errors")
        )
        yield Row(data_set, network, notion, name, setting, risks, errors)


def folds(n, rng=SEED):
    """Indices to fit to and to estimate the risk on, for each fold, and those held out: the split of the package."""
    order, n_held_out = np.random.default_rng(rng).permutation(n), round(0.2 * n)
    parts = np.array_split(order[n_held_out:], N_FOLDS)
    return [(np.setdiff1d(order[n_held_out:], part), part) for part in parts], order[:n_held_out]


def without_ones(data_set, network, bandwidths=None):
    """The row of densities if confidences of exactly 1 are left out where they are evaluated.

    So does the software of the paper: it takes 0 times the logarithm of 0, and removes what is not a number.
    """
    confidence, correct = ct.top_label(*load(data_set, network))
    c = confidence.probability
    splits, held_out = folds(c.size)
    best = None
    for bandwidth in ct.risk.DirichletErrorFunction().bandwidth if bandwidths is None else bandwidths:
        function, risks, errors = ct.risk.DirichletErrorFunction(bandwidth), [], []
        for training, validation in splits:
            fitted = function.fit(c[training], correct[training])
            kept, last = validation[c[validation] < 1.0], held_out[c[held_out] < 1.0]
            risks.append(fitted.risk(c[kept], correct[kept]).value)
            errors.append(fitted.squared_error(c[last]))
        row = Row(data_set, network, "top_label", WITHOUT_ONES, f"{bandwidth:.6g}", np.array(risks), np.array(errors))
        best = row if best is None or row.risks.mean() < best.risks.mean() else best
    return best


# --- Section 5.1 ---------------------------------------------------------------------------------------------------

N_SIMULATED, N_CLASSES, CONCENTRATION, POWER = 500, 5, 0.04, 0.3


class Temperature(ct.risk.ErrorFunction):
    """``h(p, p') = <p - softmax(theta log(p) / 0.3), p' - softmax(theta log(p') / 0.3)>``; it needs no fitting."""

    name, parameter = "temperature", "theta"

    def __init__(self, *thetas):
        self.thetas = thetas

    def grid(self, dimension):
        return self.thetas

    def fit_vectors(self, points, deviations, setting):
        return lambda p: p - softmax(setting / POWER * np.log(p), axis=1)


def simulated(rng, n=N_SIMULATED):
    """True probabilities, predictions made of them, and labels."""
    # Probabilities of a Dirichlet distribution of 0.04 can be too small for a float.
    truth = np.maximum(rng.dirichlet(np.full(N_CLASSES, CONCENTRATION), n), 1e-100)
    truth /= truth.sum(axis=1, keepdims=True)
    return truth, softmax(POWER * np.log(truth), axis=1), ct.Categorical(truth).sample(rng)


# --- What is stored ------------------------------------------------------------------------------------------------


def stored():
    """All rows."""
    with STORED.open() as file:
        return [
            Row(*(row[key] for key in Row._fields[:5]), *(np.array(row[key].split(), float) for key in Row._fields[5:]))
            for row in csv.DictReader(file)
        ]


def computed():
    """All rows, one after the other."""
    for data_set, networks in NETWORKS.items():
        for network in networks:
            for notion in ("top_label", "canonical", "classwise"):
                yield from rows(data_set, network, notion, functions(notion))
            yield without_ones(data_set, network)
        finer = {FINER: ct.risk.TwoStepRidgeErrorFunction(max_rank=1000)}
        yield next(iter(rows(data_set, "wideresnet-16-4", "canonical", finer)))


def main():
    """Everything, to a file."""
    with STORED.open("w") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Row._fields)
        for row in computed():
            writer.writerow([*row[:5], *(" ".join(f"{one:.6g}" for one in values) for values in row[5:])])
            file.flush()


if __name__ == "__main__":
    main()
