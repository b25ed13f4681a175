"""No recalibration, to compare methods with."""

from dataclasses import dataclass

import numpy as np
from scipy.special import softmax

from caltest._basics.types import FloatArray, IntArray
from caltest.recalibration.base import ProbabilityCalibrator, ProbabilityMap


@dataclass(frozen=True, eq=False, repr=False)
class IdentityMap(ProbabilityMap):
    """Probabilities as they are, the softmax of logits."""

    def _apply(self, scores: FloatArray) -> FloatArray:
        return scores if self.input == "probabilities" else np.asarray(softmax(scores, axis=1))


@dataclass(frozen=True)
class Identity(ProbabilityCalibrator):
    """No recalibration: probabilities stay, logits become ``softmax(z)``. A method for ``fit_best`` to compare with.

    Parameters
    ----------
    input
        ``"probabilities"`` or ``"logits"``.

    Notes
    -----
    Time O(n k).

    Examples
    --------
    >>> import caltest as ct
    >>> ct.recalibration.Identity().fit([[0.2, 0.8]], [1])([[0.5, 0.5]]).tolist()
    [[0.5, 0.5]]
    """

    def _fit(self, scores: FloatArray, labels: IntArray) -> IdentityMap:
        return IdentityMap(self.input, scores.shape[1])
