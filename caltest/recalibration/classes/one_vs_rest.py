"""Binary maps for predictions of several classes."""

from dataclasses import dataclass, field

import numpy as np
from scipy.special import logsumexp

from caltest._basics.numerics import FloatArray, IntArray
from caltest.recalibration.base import ProbabilityCalibrator, ProbabilityMap
from caltest.recalibration.binary.piecewise import StepMap
from caltest.recalibration.shared.inputs import probabilities_of
from caltest.recalibration.shared.storage import require

LARGEST = np.finfo(np.float64).max
"""Log-odds beyond this are taken as this."""


@dataclass(frozen=True, eq=False, repr=False)
class OneVsRestMap(ProbabilityMap):
    """A binary map for each class, renormalised; rows that become 0 stay as they were."""

    maps: tuple[ProbabilityMap, ...]

    def _check(self) -> None:
        super()._check()
        maps = self.maps if isinstance(self.maps, tuple) else ()
        binary = all(isinstance(one, ProbabilityMap) and one.binary and one.input == self.input for one in maps)
        wanted = f"{self.n_classes} binary maps of {self.input}"
        require(binary and len(maps) == self.n_classes, "maps", self.maps, wanted)

    def _apply(self, scores: FloatArray) -> FloatArray:
        columns = one_against_rest(scores, self.input)
        raw = np.stack([fitted._apply(column) for fitted, column in zip(self.maps, columns, strict=True)], axis=1)
        sums = raw.sum(axis=1, keepdims=True)
        return np.where(sums > 0.0, raw / np.where(sums > 0.0, sums, 1.0), probabilities_of(scores, self.input))


@dataclass(frozen=True)
class OneVsRest(ProbabilityCalibrator):
    """A binary method for each class against the rest; the k probabilities are divided by their sum.

    Parameters
    ----------
    calibrator
        A binary method, e.g. ``Isotonic()``; its ``input`` is that of this one. From logits z it gets the log-odds
        ``z_c - log sum_{j != c} exp(z_j)``.

    Notes
    -----
    Time that of k binary fits. A class that does not occur in the fit gets probability 0. Rows in which all
    probabilities become 0 are returned as they were. Sources: Zadrozny and Elkan 2002; Wenger et al. 2020, section 2.1.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["naive Bayes"]
    >>> method = ct.recalibration.OneVsRest(ct.recalibration.BetaCalibration())
    >>> method.fit(p.take(slice(450)), y[:450])(p.take(slice(450, None)))
    <Categorical, n = 449, 10 classes>
    """

    calibrator: ProbabilityCalibrator
    input: str = field(init=False, repr=False)

    @property
    def citations(self) -> tuple[str, ...]:  # type: ignore[override]
        """Sources of the binary method and of this one."""
        return tuple(sorted({"wenger2020", "zadrozny2002", *self.calibrator.citations}))

    def __post_init__(self) -> None:
        if not isinstance(self.calibrator, ProbabilityCalibrator) or not self.calibrator.binary:
            raise TypeError(
                f"calibrator: got {self.calibrator!r}, wanted a binary method such as ct.recalibration.Isotonic()"
            )
        object.__setattr__(self, "input", self.calibrator.input)

    def _fit(self, scores: FloatArray, labels: IntArray) -> OneVsRestMap:
        # That of a class that does not occur.
        never = StepMap(self.input, 2, on="input", edges=np.empty(0), values=np.zeros(1))
        maps: list[ProbabilityMap] = []
        for c, column in enumerate(one_against_rest(scores, self.input)):
            outcomes = (labels == c).astype(np.intp)
            maps.append(self.calibrator._fit(column, outcomes) if outcomes.any() else never)
        return OneVsRestMap(self.input, scores.shape[1], tuple(maps))


def one_against_rest(scores: FloatArray, scale: str) -> list[FloatArray]:
    """Numbers (n,) of each class against the rest."""
    if scale == "probabilities":
        return [np.ascontiguousarray(column) for column in scores.T]
    others = [np.delete(scores, c, axis=1) for c in range(scores.shape[1])]
    odds = (scores[:, c] - logsumexp(rest, axis=1) for c, rest in enumerate(others))
    return [np.clip(column, -LARGEST, LARGEST) for column in odds]
