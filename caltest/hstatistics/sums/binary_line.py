"""Sums of h where predictions are points on a line and their kernel is exp(-|x - x'|): linear time after sorting.

Binary predictions p with the residual r = y - p have ``h = a exp(-|p - p'| / bandwidth) r r'``, with the number
``a = (-1, 1) A (-1, 1)'`` for the matrix A of the target kernel (2 for the Delta kernel). A kernel of this form is a
product along the sorted line, so that sums over all pairs need one pass instead of n**2 kernel values.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from caltest._basics.numerics import Array, FloatArray, IntArray
from caltest._loops.formulas.kernels import EXPONENTIAL
from caltest._loops.pair_sums.lines import pair_sums, sums_to_the_left
from caltest.kernels import PairKernel, ProductKernel, SumOfProducts
from caltest.kernels.radial import Function
from caltest.predictions import Predictions


@dataclass(frozen=True, eq=False)
class Line:
    """Binary predictions in ascending order, and what h is made of there."""

    order: IntArray
    decays: FloatArray
    probabilities: FloatArray
    factor: float

    def residuals(self, targets: Array) -> FloatArray:
        """``y - p`` in ascending order, (n, m) for targets (m, n)."""
        return np.asarray(targets[:, self.order].T - self.probabilities[:, None], dtype=np.float64)

    def of_squares(self) -> "Line":
        """The same with ``K**2`` and the factor squared: h**2 is ``factor**2 K**2 (r r')**2``."""
        return Line(self.order, np.square(self.decays), self.probabilities, self.factor**2)

    def pair_sums(self, weights: FloatArray) -> FloatArray:
        """``sum_{i<j} K_ij w_i w_j`` times the factor for each column w of the weights (n, m)."""
        return np.asarray(pair_sums_of_lines([self], weights)[0])

    def row_sums(self, weights: FloatArray) -> FloatArray:
        """``w_i sum_j K_ij w_j`` times the factor, (n,) in the order of the observations, for weights (n,)."""
        w = weights[:, None]
        decays = np.append(0.0, self.decays[:0:-1])
        smoothed = sums_to_the_left(self.decays, w) + sums_to_the_left(decays, np.ascontiguousarray(w[::-1]))[::-1] + w
        sums = np.empty(weights.size)
        sums[self.order] = self.factor * weights * smoothed[:, 0]
        return sums


def pair_sums_of_lines(lines: Sequence[Line], weights: FloatArray) -> FloatArray:
    """``Line.pair_sums`` for each of some lines of the same predictions, (L, m)."""
    factors = np.array([one.factor for one in lines])
    return np.asarray(factors[:, None] * pair_sums(np.stack([one.decays for one in lines]), weights))


def lines_and_rest(kernel: PairKernel, predictions: Predictions) -> tuple[list[Line], PairKernel | None]:
    """The lines of those products of a sum that have one, and the sum of the others if there are some."""
    lines, rest = [], []
    for product in kernel.products:
        line = on_a_line(product, predictions)
        if line is None:
            rest.append(product)
        else:
            lines.append(line)
    if not rest:
        return lines, None
    return lines, SumOfProducts(tuple(rest)) if len(rest) > 1 else rest[0]


def on_a_line(kernel: ProductKernel, predictions: Predictions, blocks: IntArray | None = None) -> Line | None:
    """The line, or None if predictions or kernel are not of that kind.

    With the blocks of predictions, (n,), these follow each other on it, infinitely far apart.
    """
    classes = predictions.finite
    # The places on the line are the probabilities, by which not all predictions with two outcomes are compared.
    if classes is None or classes.n_classes != 2 or not classes.probabilities_differ:
        return None
    form = kernel.prediction_kernel.distance_form
    if form is None or form.function != Function(EXPONENTIAL) or not form.metric.is_norm:
        return None
    vectors = classes.probabilities
    if np.abs(vectors.sum(axis=1) - 1.0).max() > 1e-15:
        return None
    p = vectors[:, 1]
    # A norm of the difference of two-class vectors is proportional to |p - q|; the ends of the line tell the factor.
    ends = predictions.take(np.array([p.argmin(), p.argmax()]))
    farthest = float(ends.distance(form.metric, ends)[0, 1])
    spread = float(np.ptp(p))
    scale = farthest / spread * form.inverse_width if spread > 0.0 else 0.0
    order = np.argsort(p, kind="stable") if blocks is None else np.lexsort((p, blocks))
    decays = np.exp(-scale * np.abs(np.diff(p[order], prepend=p[order[0]])))
    if blocks is not None:
        decays[1:][np.diff(blocks[order]) != 0] = 0.0
    gram = classes.gram(kernel.target_kernel)
    factor = float(gram[0, 0] - gram[0, 1] - gram[1, 0] + gram[1, 1])
    return Line(order, decays, p[order], factor)
