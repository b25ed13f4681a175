"""SKCE of the pairs between two halves of the data."""

from dataclasses import dataclass

import numpy as np

from caltest._basics.numerics import FloatArray, IntArray, ranges
from caltest._basics.threads import threaded
from caltest._validation import at_least
from caltest.estimators.kernel_errors.kernel_estimator import FAMILY_KERNEL, KernelEstimator
from caltest.hstatistics.tiles import Place, tiles_of
from caltest.kernels import PairKernel
from caltest.predictions import Predictions, Sample

ROWS, COLUMNS = 256, 2048
"""Shape of the tiles of h."""


@dataclass(frozen=True, eq=False)
class OutcomeTerms:
    """What the terms of the first half can be, given the predictions and the targets of the second half.

    Attributes
    ----------
    values
        ``w_i(c) - E w_i(Z_i)`` for each outcome c, (n_1, k).
    probabilities
        Of the outcomes, (n_1, k).
    observed
        Terms of the observed outcomes, (n_1,).
    """

    values: FloatArray
    probabilities: FloatArray
    observed: FloatArray


@dataclass(frozen=True)
class CrossSKCE(KernelEstimator):
    """``mean h_ij`` over the pairs of an observation i of one half of the data and j of the other half.

    It is the mean of ``f_i = mean_j h_ij``. Given all predictions and the targets of the other half, the terms f_i are
    independent functions of one target each and, if the predictions are calibrated, of mean 0.

    Parameters
    ----------
    kernel
        Product of a kernel of predictions and a kernel of targets; by default that of the family.

    Notes
    -----
    Call with predictions and targets; n >= 2 observations (``ValueError`` otherwise). Rows 0, 2, 4, ... are the first
    half and rows 1, 3, 5, ... the other one; put the rows in another order for another split. Unbiased. It uses half of
    the pairs, which costs power, and its law is simpler than that of ``SKCE``. Time O(n**2 k), memory O(n k).

    Source: Shekhar, Kim and Ramdas 2022, who call it the cross U-statistic.

    Examples
    --------
    >>> import caltest as ct
    >>> kernel = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), bandwidth=1.0), ct.DeltaKernel())
    >>> round(ct.estimators.CrossSKCE(kernel)([[0.1, 0.8, 0.1], [0.2, 0.5, 0.3]], [1, 2]), 6)
    -0.111123
    """

    citations = ("shekhar2022", "widmann2021")

    kernel: PairKernel = FAMILY_KERNEL

    def check(self, predictions: Predictions) -> None:
        at_least(len(predictions), 2, "CrossSKCE")

    def halves(self, n: int) -> tuple[IntArray, IntArray]:
        """Rows of the two halves, ceil(n / 2) and floor(n / 2) of them."""
        return np.arange(0, n, 2), np.arange(1, n, 2)

    def terms(self, sample: Sample) -> FloatArray:
        """``f_i = mean_j h_ij`` over the rows j of the other half, for each row i of the first one, (ceil(n / 2),)."""
        first, other = self.halves(len(sample))
        n, tiles = first.size, tiles_of(self.kernel, sample.take(np.concatenate([first, other])))

        def row_sums(place: Place) -> tuple[slice, FloatArray]:
            return place[0], tiles.tile(place).sum(axis=1)

        places = [
            (rows, slice(n + columns.start, n + columns.stop))
            for columns in ranges(other.size, COLUMNS)
            for rows in ranges(n, ROWS)
        ]
        terms, work = np.zeros(n), 4.0 * n * other.size
        for rows, sums in threaded(row_sums, places, len(places), "pairs", work=work, products=tiles.products):
            terms[rows] += sums
        return terms / other.size

    def estimate(self, sample: Sample) -> float:
        return float(np.mean(self.terms(sample)))

    def outcome_terms(self, sample: Sample) -> OutcomeTerms:
        """All values that the terms can take, for predictions with finitely many outcomes.

        ``w_i(c) = mean_j sum_l k_l(p_i, p_j) (A_l (e_{y_j} - p_j))_c`` over the products l of the kernel, with the
        matrices A_l of the target kernels. Time O(n**2 k), memory O(n k).
        """
        first, other = (sample.take(half) for half in self.halves(len(sample)))
        ours, theirs = first.predictions.law.finite, other.predictions.law.finite
        assert ours is not None
        assert theirs is not None
        residuals = theirs.residuals(other.targets)
        values = np.zeros((len(first), ours.n_classes))
        for one in self.kernel.products:
            weighted = theirs.times_gram(residuals, one.target_kernel) / len(other)
            for rows in ranges(len(first), ROWS):
                left = first.predictions.take(rows)
                for columns in ranges(len(other), COLUMNS):
                    tile = one.prediction_kernel.tile(left, other.predictions.take(columns))
                    values[rows] += tile @ weighted[columns]
        probabilities = ours.probabilities / ours.probabilities.sum(axis=1, keepdims=True)
        values -= np.einsum("ik,ik->i", probabilities, values)[:, None]
        return OutcomeTerms(values, probabilities, values[np.arange(len(first)), first.targets])

    def describe(self, predictions: Predictions) -> str:
        return f"SKCE (unbiased, pairs between alternate rows), k = {self.kernel.describe()}"
