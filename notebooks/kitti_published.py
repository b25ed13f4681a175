"""Published rows of the KITTI experiments of Wenger, Kjellstrom and Triebel 2020, and how others compare with them."""

from typing import NamedTuple

import numpy as np

N_SPLITS = 10
METHODS = ("Uncalibrated", "Platt", "Isotonic", "Beta", "BBQ", "Temperature", "GPcalib", "GPcalib, mean")

ECE = {
    "AdaBoost": "4301 5, 182 18, 134 21, 180 16, 190 55, 185 17, 192 18, 187 14",
    "XGBoost": "434 7, 198 19, 114 26, 178 15, 184 38, 204 9, 186 17, 181 18",
    "Random forest": "768 6, 147 27, 135 30, 159 27, 652 469, 126 20, 182 32, 135 26",
    "1-layer NN": "153 10, 285 34, 121 43, 174 26, 178 56, 280 15, 156 20, 157 20",
    "Mondrian forest": "546 6, 198 11, 142 18, 252 99, 218 35, 200 8, 202 18, 203 19",
}
"""Table S3, means and standard deviations over the splits times 10**4."""

ACCURACY = {
    "AdaBoost": "9463 6, 9499 9, 9497 6, 9499 9, 9444 72, 9463 6, 9465 5, 9463 6",
    "XGBoost": "9674 6, 9673 7, 9660 17, 9671 11, 9640 43, 9674 6, 9675 6, 9674 6",
    "Random forest": "9639 7, 9628 11, 9616 17, 9625 17, 8922 55, 9639 7, 9637 7, 9639 7",
    "1-layer NN": "9620 6, 9644 7, 9684 12, 9684 9, 9647 60, 9620 6, 9620 6, 9620 6",
    "Mondrian forest": "9536 3, 9539 4, 9523 21, 9532 9, 9439 41, 9536 3, 9536 4, 9536 3",
}
"""Table S2, likewise."""

NLL = {
    "AdaBoost": "6673 1, 1399 15, 1863 258, 1399 15, 1589 148, 1435 16, 1450 15, 1435 16",
    "XGBoost": "1180 14, 1045 21, 1517 331, 1000 20, 1322 288, 1038 20, 999 14, 998 15",
    "Random forest": "1601 12, 1115 22, 1604 442, 1139 20, 14750 5601, 1110 20, 1140 16, 1139 19",
    "1-layer NN": "1221 17, 1205 16, 1572 508, 1029 19, 1287 181, 1281 16, 1223 14, 1223 14",
    "Mondrian forest": "1753 25, 1320 10, 1761 221, 1576 94, 2359 691, 1320 10, 1506 23, 1505 23",
}
"""Results of 2019-09-27 in the repository of the paper, likewise; so are the standard deviations without recalibration."""

TABLES = {"midpoint ECE": ECE, "accuracy": ACCURACY, "NLL": NLL}

FAULTS = {("Random forest", "BBQ", "accuracy"), ("Random forest", "BBQ", "NLL")}
"""Cells in which the published number is a fault: predictions of 0 got the value of the last bin."""


class Cell(NamedTuple):
    """A mean and a standard deviation over the splits, and the published ones."""

    model: str
    method: str
    quantity: str
    mean: float
    sd: float
    published: float
    published_sd: float

    @property
    def deviation(self):
        """Difference in published standard deviations of a split."""
        return (self.mean - self.published) / self.published_sd

    @property
    def within(self):
        """Whether it is at most two standard deviations of a split."""
        return abs(self.deviation) <= 2.0

    @property
    def closely(self):
        """Whether it is at most two standard errors of the mean of the splits, as if they were independent."""
        return abs(self.deviation) <= 2.0 / np.sqrt(N_SPLITS)

    @property
    def fault(self):
        """Whether the published number is a fault."""
        return (self.model, self.method, self.quantity) in FAULTS


def published(quantity, model, method):
    """Published mean and standard deviation."""
    mean, sd = TABLES[quantity][model].split(", ")[METHODS.index(method)].split()
    return int(mean) / 1e4, int(sd) / 1e4


def compare(results, quantities):
    """Cells of all published models and methods that results (n_splits, quantities) by model and method have."""
    cells = []
    for quantity, values in TABLES.items():
        column = quantities.index(quantity)
        for model, method in ((model, method) for model in values for method in METHODS if (model, method) in results):
            found = results[model, method][:, column]
            cells.append(
                Cell(model, method, quantity, found.mean(), found.std(ddof=1), *published(quantity, model, method))
            )
    return cells
