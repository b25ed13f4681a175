"""The parts of a mean score as functions of the outcomes of given predictions."""

from dataclasses import dataclass
from math import ceil, sqrt
from typing import Self

import numpy as np

from caltest._basics.numerics import Array, FloatArray, IntArray
from caltest._loops.pair_sums.redraws import gathered_sums
from caltest._loops.statistics.isotonic import class_counts, pooled_means
from caltest.binning import Binning
from caltest.estimators.binned_errors import bins_of
from caltest.estimators.classical.corp import IsotonicGroups
from caltest.predictions.classes.finite import FinitePredictions, Score, outcome_scores

PARTS = ("score", "miscalibration", "discrimination", "uncertainty")


@dataclass(frozen=True, eq=False)
class Parts:
    """Score, miscalibration, discrimination and uncertainty of n predictions of k classes.

    The mean score of frequencies f is their entropy H(f), and so is that of recalibrated predictions within the groups
    that have one. All parts are hence functions of the scores of the predictions and of class counts in groups, and
    what they are for outcomes they are for expected counts.

    Attributes
    ----------
    probabilities, scores
        (n, k) of the predictions, and the score of each outcome.
    score
        Its name.
    numbers, sizes
        Group of each prediction (n,), and how many predictions each group has (g,).
    is_isotonic
        Whether groups are equal predictions in ascending order, whose frequencies are made increasing.
    scale
        Of all parts: 1/2 for the Brier score of binary predictions.
    """

    probabilities: FloatArray
    scores: FloatArray
    score: Score
    numbers: IntArray
    sizes: FloatArray
    is_isotonic: bool
    scale: float

    @classmethod
    def of(cls, law: FinitePredictions, score: Score, binning: Binning | None) -> Self:
        """Parts by isotonic regression, or by bins if there is a binning."""
        p = law.probabilities
        if binning is None:
            numbers = IsotonicGroups.of(p[:, 1]).numbers
        else:
            numbers = np.unique(bins_of(law, binning).numbers, return_inverse=True)[1]
        scale = law.brier_factor if score == "brier" else 1.0
        sizes = np.bincount(numbers).astype(np.float64)
        return cls(p, outcome_scores(p, score), score, numbers, sizes, binning is None, scale)

    @property
    def n_classes(self) -> int:
        """Number k of classes."""
        return int(self.probabilities.shape[1])

    @property
    def possible(self) -> Array:
        """Which outcomes (n, k) can occur: all, but for the log score none of predicted probability 0."""
        return np.ones_like(self.probabilities, dtype=bool) if self.score == "brier" else self.probabilities > 0.0

    def allowed(self, law: FloatArray) -> FloatArray:
        """A law (n, k) without impossible outcomes."""
        if self.possible.all():
            return law
        masked = np.where(self.possible, law, 0.0)
        totals = masked.sum(axis=1, keepdims=True)
        return np.where(totals > 0.0, masked / np.where(totals > 0.0, totals, 1.0), self.probabilities)

    def mean_scores(self, labels: Array) -> FloatArray:
        """The mean scores (B,) of labels (B, n)."""
        return np.asarray(self.scale * gathered_sums(self.scores, labels) / len(self.probabilities))

    def of_labels(self, labels: Array) -> FloatArray:
        """The parts (4, B) of labels (B, n)."""
        counts = class_counts(labels, self.numbers, self.sizes.size, self.n_classes)
        return self._from(gathered_sums(self.scores, labels), counts)

    def of_law(self, law: FloatArray) -> FloatArray:
        """The parts (4,) of expected counts, if outcomes have the probabilities (n, k)."""
        return self._from(np.array([np.sum(law * self.scores)]), self.expected_counts(law)[None])[:, 0]

    def expected_counts(self, law: FloatArray) -> FloatArray:
        """Sums (g, k) of probabilities (n, k) in each group."""
        return np.stack([np.bincount(self.numbers, column, self.sizes.size) for column in law.T], axis=1)

    def recalibrated(self, counts: FloatArray) -> FloatArray:
        """Probabilities (B, g, k) of the groups, for class counts (B, g, k)."""
        if not self.is_isotonic:
            return np.asarray(counts / self.sizes[:, None])
        fitted = pooled_means(np.ascontiguousarray(counts[:, :, 1]), self.sizes)
        return np.stack([1.0 - fitted, fitted], axis=2)

    def smoothed(self, counts: FloatArray) -> FloatArray:
        """Recalibrated probabilities (g, k) to redraw outcomes from, for class counts (g, k).

        One observation of every class is added to each bin, as outcomes that agree have no variance to be seen. Those
        of isotonic regression are bins of sqrt(n) neighbours or more, whose frequencies are made increasing: blocks
        at the ends of the usual regression are short and follow the noise.
        """
        if not self.is_isotonic:
            return np.asarray((counts + 1.0) / (self.sizes[:, None] + self.n_classes))
        before = np.cumsum(self.sizes) - self.sizes
        blocks = np.unique(before // ceil(sqrt(self.sizes.sum())), return_inverse=True)[1]
        totals = 1.0 + np.stack([np.bincount(blocks, column) for column in counts.T], axis=1)
        fitted = pooled_means(np.ascontiguousarray(totals[None, :, 1]), totals.sum(axis=1))[0][blocks]
        return np.stack([1.0 - fitted, fitted], axis=1)

    def entropy(self, f: FloatArray) -> FloatArray:
        """Mean score (...,) of frequencies (..., k) as predictions of themselves."""
        if self.score == "brier":
            return np.asarray(1.0 - np.einsum("...k,...k->...", f, f))
        from scipy.special import entr

        return np.asarray(np.einsum("...k->...", entr(f)))

    def _from(self, totals: FloatArray, counts: FloatArray) -> FloatArray:
        """The parts (4, B) of sums of scores (B,) and class counts (B, g, k)."""
        n = len(self.probabilities)
        own, climate = totals / n, self.entropy(np.einsum("bgk->bk", counts) / n)
        best = np.minimum(self.entropy(self.recalibrated(counts)) @ self.sizes / n, climate)
        if self.is_isotonic:
            best = np.minimum(best, own)
        return self.scale * np.stack([own, own - best, climate - best, climate])
