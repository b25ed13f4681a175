"""What keeps the most probable class: the latent function is larger there than wherever other classes can lie."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from caltest._basics.numerics import FloatArray, IntArray
from caltest.recalibration.gaussian_process.objective import LatentProcess, OnScale, pull_back, slope_of_softplus
from caltest.recalibration.shared.inputs import SMALLEST, log_probabilities

COARSE, FINE = 150, 20_000
"""Nodes in the search, and where its result is checked."""

PENALTY = 1e3
"""Nats for a function that is too small by 1 at a node."""

SLOPE = 0.01
"""Part of the difference of the prior that has to be left."""

BEYOND = 6.0
"""Length scales beyond the logits of the fit from where on the function is that of the prior."""

ROUNDING = 1e-12
"""Of sums of probabilities."""


@dataclass(frozen=True, eq=False)
class Order:
    """Nodes at which the largest probability or logit of a row can lie, and before each those of the other classes.

    Of probabilities a row with the largest one p has no other above ``1 - p``: the function may fall where only very
    different probabilities meet.

    ``nodes`` are increasing inputs (g,), ``prior`` is the mean of the prior there, and ``others`` how many of the
    nodes, counted from the first one, the other classes can have.
    """

    nodes: FloatArray
    prior: FloatArray
    others: IntArray

    @classmethod
    def of(cls, data: OnScale, n_nodes: int, lengthscale: float = 0.0) -> Self:
        """For all probabilities of so many classes, or for logits in and around the range of some."""
        inputs, slope = data.inputs, data.slope
        if data.scale == "logit":
            beyond = max(np.ptp(inputs) / 2.0, BEYOND * lengthscale)
            nodes = np.linspace(inputs.min() - beyond, inputs.max() + beyond, n_nodes)
            return cls(nodes, slope * nodes, np.arange(n_nodes))
        small = np.geomspace(SMALLEST, 0.5, n_nodes // 4)
        p = np.unique(np.concatenate([small, np.linspace(0.0, 1.0, n_nodes + 1)[1:]]))
        others = np.minimum(np.searchsorted(p, 1.0 - p + ROUNDING), np.arange(p.size))
        logs = log_probabilities(p, "probabilities")
        nodes = p if data.scale == "probability" else logs
        return cls(nodes, slope * logs, np.where(p * inputs.shape[1] >= 1.0, others, 0))

    def shortfalls(self, deviation: FloatArray) -> tuple[FloatArray, IntArray]:
        """By how much the function is too small at each node, and at which one it is largest among the others."""
        left = (1.0 - SLOPE) * self.prior + deviation
        largest = np.maximum.accumulate(left)
        places = np.maximum.accumulate(np.where(left == largest, np.arange(left.size), 0))[self.others - 1]
        return np.where(self.others > 0, np.maximum(left[places] - left, 0.0), 0.0), places

    def penalty(self, vector: FloatArray) -> tuple[float, FloatArray]:
        """Sum of squared shortfalls, and its gradient."""
        process = LatentProcess.from_vector(vector)
        kernel = process.kernel(self.nodes)
        short, places = self.shortfalls(kernel @ process.weights)
        slopes = -2.0 * PENALTY * short
        np.add.at(slopes, places, 2.0 * PENALTY * short)
        products = slopes[:, None] * process.weights * kernel
        by_weights, no_reduction = kernel.T @ slopes, np.zeros((process.mean.size, process.mean.size))
        gradient = pull_back(process, self.nodes, products, by_weights, no_reduction)
        return PENALTY * float(short @ short), gradient * slope_of_softplus(vector)

    def share(self, process: LatentProcess) -> float:
        """The largest part, up to 1, of the deviation from the prior that keeps the most probable class."""
        deviation = process.kernel(self.nodes) @ process.weights
        low, high = 0.0, 1.0
        if not self.shortfalls(deviation)[0].any():
            return 1.0
        for _ in range(60):
            middle = (low + high) / 2.0
            low, high = (low, middle) if self.shortfalls(middle * deviation)[0].any() else (middle, high)
        return low
