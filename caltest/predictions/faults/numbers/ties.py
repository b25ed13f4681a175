"""A value that members of ensembles share, such as no rain: outcomes have it as often as the pools they are in say."""

from math import expm1

import numpy as np
import scipy

from caltest._basics.numerics import BoolArray, FloatArray, evenly_spaced
from caltest.predictions.base import Predictions
from caltest.predictions.faults.fault import Fault, Rows
from caltest.predictions.faults.numbers.scores import Scores
from caltest.predictions.faults.words import Fit, instead

LEAST, AMONG = 0.2, 2**14
"""Share of the values of pools that are one value again, from which on it is looked at, and of how many it is told."""


LARGEST = 1e6
"""Times as much as members that outcomes add up to, at most."""


def pools_of(law: Predictions) -> FloatArray:
    """Members and outcomes (n, N) of ensembles of numbers."""
    return np.asarray(law.members)  # type: ignore[attr-defined]


def shared_value(pools: FloatArray) -> float | None:
    """The value that most values of pools (n, N) have in common with others of their own, if enough of them do."""
    pools = np.sort(pools[evenly_spaced(len(pools), max(1, AMONG // pools.shape[1]))], axis=1)
    values, counts = np.unique(pools[:, 1:][pools[:, 1:] == pools[:, :-1]], return_counts=True)
    if not counts.size or counts.max() < LEAST * pools[:, 1:].size:
        return None
    return float(values[counts.argmax()])


def _has(value: float, targets: FloatArray) -> BoolArray:
    return np.asarray(targets == value)


def rows_of_value(value: float, features: FloatArray) -> Rows[Scores]:
    """How often outcomes have the value, alone and times features (J, n) of the predictions."""

    def sums(seen: Scores) -> FloatArray:
        at = _has(value, seen.targets)
        return np.asarray(features @ at.reshape(len(at), -1).T)

    return Rows("shared value", len(features), sums, 2.0)


class SharedValue(Fault[Scores]):
    """Odds that the outcome is one of the values of its pool that are v are exp(t) times as large as their number says.

    The likelihood is that of the outcome given the pool, in which all values are as likely if they are exchangeable.
    """

    kind = "shared value"
    is_factor = of_targets = True
    range = (-12.0, 12.0)

    def __init__(self, value: float, pools: FloatArray) -> None:
        """Of pools (n, N)."""
        self._value = value
        self._shares = _has(value, pools).mean(axis=1)

    def _at(self, seen: Scores) -> BoolArray:
        return _has(self._value, seen.outcomes)

    def log_ratio(self, seen: Scores, sibling: int, t: float) -> float:
        return float(seen.given_weights @ (t * self._at(seen) - np.log1p(self._shares * expm1(t))))

    def words(self, seen: Scores, sibling: int, fit: Fit) -> str:
        found, expected = (float(seen.given_weights @ one) for one in (self._at(seen), self._shares))
        more, much = "more" if fit.t > 0.0 else "less", instead(found, expected, seen.given_weights, " times")
        odds = f"the odds of it are {self.sized(seen, sibling, fit)} times those predicted"
        return f"outcomes are {self._value:g} {more} often than members, {much}: {odds}"


class Total(Fault[Scores]):
    """Outcomes of 0 and more that add up to another sum than members: values x of a pool are as likely as ``exp(t x)``.

    In units of their root mean square difference to the means of the pools.
    """

    kind = "factor"
    of_targets = True
    range = (-8.0, 8.0)

    def __init__(self, pools: FloatArray) -> None:
        """Of pools (n, N)."""
        self._pools = pools
        self._unit = float(np.sqrt(self._pools.var(axis=1).mean()))

    def _logs(self, t: float) -> FloatArray:
        """Of the probabilities of the values of each pool, but for a constant in t and a factor for each pool."""
        return np.asarray(t * (self._pools - self._pools.max(axis=1, keepdims=True)) / self._unit)

    def log_ratio(self, seen: Scores, sibling: int, t: float) -> float:
        own = t * (seen.outcomes - self._pools.max(axis=1)) / self._unit
        return float(seen.given_weights @ (own - np.log(np.exp(self._logs(t)).mean(axis=1))))

    def size(self, seen: Scores, sibling: int, t: float) -> float:
        """The sum of outcomes over that of the means of members, which differ from those of pools with the outcome."""
        p = scipy.special.softmax(self._logs(t), axis=1)
        sums = seen.given_weights @ (p * self._pools).sum(axis=1), seen.given_weights @ self._pools.mean(axis=1)
        ratio, m = float(sums[0] / sums[1]), float(self._pools.shape[1] - 1)
        # Where only outcomes are above 0 no number is large enough.
        return m * ratio / max(m + 1.0 - ratio, m / LARGEST)

    def words(self, seen: Scores, sibling: int, fit: Fit) -> str:
        much = f"{self.sized(seen, sibling, fit)} times as much as the means of members"
        return f"outcomes are too {'large' if fit.t > 0.0 else 'small'}: they add up to {much}"
