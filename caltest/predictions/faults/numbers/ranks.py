"""Faults in the shape of the ranks of outcomes among the members of ensembles: skewness and tails."""

from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property, lru_cache
from math import exp
from typing import Any

import numpy as np
import scipy

from caltest._basics.numerics import BoolArray, FloatArray, IntArray
from caltest.predictions.faults.fault import Fault
from caltest.predictions.faults.numbers.errors import scale_in_words
from caltest.predictions.faults.numbers.scores import Scores
from caltest.predictions.faults.numbers.shapes import OfShape, sinh_arcsinh
from caltest.predictions.faults.patterns import Pattern
from caltest.predictions.faults.vectors.scores import MOST_PAIRED, VectorScores
from caltest.predictions.faults.words import Fit, percent, sized_shift

LEAST, LEAST_OF_TAILS = 10, 20
"""Members and outcome from which on skewness is looked at, and tails, which of fewer look like another spread."""

INNER, SMALL = 0.25, 0.2
"""How far from the middle the inner half of the ranks is, from 0 to 1; and a small skew, or logarithm of tails."""


PLACES = np.linspace(-40.0, 40.0, 1601)
"""Of outcomes, in standard deviations of members."""


class OfRanks(OfShape):
    """Outcomes whose normal scores of ranks in their pools have another shape than those of all values of the pools.

    The likelihood is that of the rank given the pool, so that laws of members have no part in it. Equal values share
    their ranks.
    """

    range = (-2.0, 2.0)
    # Outcomes that are moved have no ranks.
    of_targets = True

    def __init__(self, below: IntArray, equal: IntArray, size: int) -> None:
        """Of pools of a size, with the numbers (n,) of values below the outcome, and equal to it with itself."""
        self._below, self._equal, self._size = below, equal, size

    @cached_property
    def _scores(self) -> FloatArray:
        return np.asarray(scipy.special.ndtri((np.arange(self._size) + 0.5) / self._size))

    @cached_property
    def _levels(self) -> FloatArray:
        """Middle ranks, from 0 to 1."""
        return (self._below + 0.5 * self._equal) / self._size

    def _probabilities(self, t: float) -> FloatArray:
        """Of all ranks."""
        return np.asarray(scipy.special.softmax(self._log_density(self._scores, t)))

    @abstractmethod
    def _log_density(self, scores: FloatArray, t: float) -> FloatArray:
        """Of scores, up to a constant."""

    def log_ratio(self, seen: Scores, sibling: int, t: float) -> float:
        sums = np.concatenate([[0.0], np.cumsum(self._probabilities(t))])
        shares = (sums[self._below + self._equal] - sums[self._below]) / self._equal
        # Pools without a spread have ranks, too: where all members are dry, rain is above them.
        return float(seen.given_weights @ np.log(np.maximum(self._size * shares, 1e-300)))

    def _share_of(self, seen: Scores, some: FloatArray | BoolArray) -> float:
        """Of the weight of all observations, of which some (n,) count in part."""
        return float(seen.given_weights @ some / seen.given_weights.sum())

    def _outside(self, seen: Scores) -> tuple[float, float]:
        """Shares of the outcomes that are below all members, and above all; equal values count as either in part."""
        ends = self._below == 0, self._below + self._equal == self._size
        below, above = (self._share_of(seen, end / self._equal) for end in ends)
        return below, above


class RankSkew(OfRanks):
    """Sinh-arcsinh laws of the scores with a skew t."""

    kind = "skew"

    def _log_density(self, scores: FloatArray, t: float) -> FloatArray:
        return sinh_arcsinh(scores, t, 1.0)

    def words(self, seen: Scores, sibling: int, fit: Fit) -> str:
        below, above = self._outside(seen)
        shares = {"above": above, "below": below}
        longer, other = ("above", "below") if fit.t > 0.0 else ("below", "above")
        words = f"errors are skewed beside those of members, with the longer tail {longer}"
        if shares[longer] > shares[other]:
            first, second = (percent(shares[side]) for side in (longer, other))
            ends = f"{first} of the outcomes are {longer} all members and {second} {other} all"
            return f"{words}: {ends}, instead of {percent(1.0 / self._size)} each"
        side = fit.t * (self._levels - 0.5)
        far = self._share_of(seen, (side < 0.0) + 0.5 * (side == 0.0))
        return f"{words}: {percent(far)} of the outcomes are {other} the middle of the members"


class RankTails(OfRanks):
    """Sinh-arcsinh laws of the scores with tails that are lighter by exp(t)."""

    kind = "tails"

    def _log_density(self, scores: FloatArray, t: float) -> FloatArray:
        return sinh_arcsinh(scores, 0.0, exp(t))

    def words(self, seen: Scores, sibling: int, fit: Fit) -> str:
        found, expected = sum(self._outside(seen)), 2.0 / self._size
        words = f"errors have {'lighter' if fit.t > 0.0 else 'heavier'} tails than members at the same spread"
        if (found - expected) * fit.t < 0.0:
            return (
                f"{words}: {percent(found)} of the outcomes are outside of all members instead of {percent(expected)}"
            )
        inner = self._share_of(seen, np.abs(self._levels - 0.5) < INNER)
        usual = float(np.mean(np.abs((np.arange(self._size) + 0.5) / self._size - 0.5) < INNER))
        half = f"{percent(inner)} of the outcomes are in the inner half of the members"
        return f"{words}: {half} instead of {percent(usual)}"


class OfNormalRanks(OfRanks):
    """Ranks of an outcome among members that are standard normal draws after some transform, with another normal law.

    The transform is unknown, and values that are equal after it share their ranks, as those of dry forecasts do.
    """

    scope = "all"

    def promising(self, seen: Scores) -> FloatArray:
        return np.zeros(1)

    def _probabilities(self, t: float) -> FloatArray:
        probabilities = _rank_probabilities(self._size) @ np.exp(self._log_density(PLACES, t))
        return np.asarray(probabilities / probabilities.sum())


@lru_cache(maxsize=4)
def _rank_probabilities(size: int) -> FloatArray:
    """Of all ranks in pools of a size for outcomes at some places, (N, 1601)."""
    below, above = np.arange(size)[:, None], np.arange(size)[::-1, None]
    logs = below * scipy.special.log_ndtr(PLACES) + above * scipy.special.log_ndtr(-PLACES)
    return np.asarray(np.exp(logs - scipy.special.betaln(below + 1.0, above + 1.0)))


class RankShift(OfNormalRanks):
    """Outcomes that are t standard deviations higher."""

    kind = "shift"
    range = (-4.0, 4.0)

    def _log_density(self, scores: FloatArray, t: float) -> FloatArray:
        return -0.5 * np.square(scores - t)

    def words(self, seen: Scores, sibling: int, fit: Fit) -> str:
        side, much = ("above" if fit.t > 0.0 else "below"), f"{sized_shift(fit)} standard deviations of the members"
        return f"outcomes are {side} what was predicted, by {much}, if these are transformed to be normal"


class RankScale(OfNormalRanks):
    """Errors that are exp(t) times as large."""

    kind = "scale"
    range = (-2.0, 4.0)
    is_factor = True

    def _log_density(self, scores: FloatArray, t: float) -> FloatArray:
        return -0.5 * exp(-2.0 * t) * np.square(scores)

    def words(self, seen: Scores, sibling: int, fit: Fit) -> str:
        return scale_in_words(Pattern(np.ones(1)), fit)


class InCoordinates(Fault[VectorScores]):
    """A fault of numbers in each of the first coordinates of vectors, with all its siblings."""

    def __init__(self, faults: Sequence[Fault[Any]]) -> None:
        self._faults, self._each = faults, faults[0].n_siblings
        self.n_siblings, self.n_choices = len(faults) * self._each, len(faults) * (faults[0].n_choices or self._each)
        self.kind, self.range = faults[0].kind, faults[0].range

    def in_coordinate(self, seen: VectorScores, t: int) -> Scores:
        """What the fault of a coordinate sees."""
        return seen.in_coordinate(t)

    def _of(self, seen: VectorScores, sibling: int) -> tuple[Fault[Any], Scores, int]:
        t, own = divmod(sibling, self._each)
        return self._faults[t], self.in_coordinate(seen, t), own

    def log_ratio(self, seen: VectorScores, sibling: int, t: float) -> float:
        fault, seen_there, own = self._of(seen, sibling)
        return fault.log_ratio(seen_there, own, t)

    def size(self, seen: VectorScores, sibling: int, t: float) -> float:
        fault, seen_there, own = self._of(seen, sibling)
        return fault.size(seen_there, own, t)

    def place(self, sibling: int) -> str:
        return f"coordinate {sibling // self._each}"

    def words(self, seen: VectorScores, sibling: int, fit: Fit) -> str:
        fault, seen_there, own = self._of(seen, sibling)
        return f"in {self.place(sibling)} {fault.words(seen_there, own, fit)}"

    def apart(self, seen: VectorScores, sibling: int, other: int) -> bool:
        return seen.are_independent(sibling, other)


class RanksInCoordinates(InCoordinates):
    """A fault of ranks in each of the first coordinates."""

    scope = "shape"
    of_targets = True
    _faults: Sequence[OfRanks]

    def promising(self, seen: VectorScores) -> FloatArray:
        """The likelihood of a small change, where most errors are not beyond what is predicted."""
        known = [one.promising(seen.in_coordinate(t))[0] for t, one in enumerate(self._faults)]
        return np.array(known) + [max(one.log_ratio(seen, 0, t) for t in (-SMALL, SMALL)) for one in self._faults]

    def log_ratio(self, seen: VectorScores, sibling: int, t: float) -> float:
        return self._faults[sibling].log_ratio(seen, 0, t)


def shapes_of_ranks(seen: Scores) -> list[OfRanks]:
    """Those of pools of numbers (n, N) that are large enough."""
    return _shapes_of(np.asarray(seen.law.members), seen.outcomes[:, None])  # type: ignore[attr-defined]


def shifts_of_ranks(seen: Scores) -> list[OfRanks]:
    """Shift and scale of pools of numbers (n, N)."""
    of_pools = _ranks_in(np.asarray(seen.law.members), seen.outcomes[:, None])  # type: ignore[attr-defined]
    return [RankShift(*of_pools), RankScale(*of_pools)]


def shapes_in_coordinates(seen: VectorScores) -> list[RanksInCoordinates]:
    """Those of each of the first coordinates of pools of vectors (n, N, d)."""
    pools, y = np.asarray(seen.law.members), seen.targets[0]  # type: ignore[attr-defined]
    each = [_shapes_of(pools[..., t], y[:, [t]]) for t in range(min(y.shape[1], MOST_PAIRED))]
    return [RanksInCoordinates(faults) for faults in zip(*each, strict=True)]


def _ranks_in(pools: FloatArray, y: FloatArray) -> tuple[IntArray, IntArray, int]:
    """How many values (n, N) are below one of them each, (n, 1), and equal to it, and N."""
    below, up_to = (pools < y).sum(axis=1), (pools <= y).sum(axis=1)
    size, equal = pools.shape[1], np.maximum(up_to - below, 1)
    return np.minimum(below, size - equal), equal, size


def _shapes_of(pools: FloatArray, y: FloatArray) -> list[OfRanks]:
    """Of values (n, N) and one of them each, (n, 1)."""
    if (size := pools.shape[1]) < LEAST:
        return []
    of_pools = _ranks_in(pools, y)
    kinds = [RankSkew, RankTails] if size >= LEAST_OF_TAILS else [RankSkew]
    return [kind(*of_pools) for kind in kinds]
