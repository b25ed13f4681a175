"""Ways in which predictions can be wrong, as distributions of the targets that are known given the predictions.

Each family of alternatives is a finite list of distributions ``Q_k(y | P)`` with weights ``w_k``, chosen before any
target is seen. The ratio ``E = sum_k w_k prod_i Q_k(Y_i | P_i) / P_i(Y_i)`` has mean 1 given calibrated predictions,
whatever they are, so it is an e-value.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from caltest._loops.redraws import gathered_tables, tables_by_label
from caltest._numerics import ranges
from caltest._threads import threaded
from caltest._types import Array, FloatArray
from caltest.hscores import FARTHEST, is_continuous, scores_of
from caltest.predictions import (
    Categorical,
    CountPredictions,
    FinitePredictions,
    MvNormal,
    NegativeBinomial,
    Normal,
    Poisson,
    Predictions,
)

TEMPERATURES = (1 / 3, 1 / 2, 2 / 3, 0.8, 0.9, 1.1, 1.25, 1.5, 2.0, 3.0)
"""Exponents of the predicted probabilities are 1 / T: below 1 outcomes are less certain than predicted."""

SHARES = (0.02, 0.05, 0.1, 0.2, 0.4)
"""Parts of the observations that follow another distribution."""

SHIFTS = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
"""Differences of means, in standard deviations."""

SCALES = (1 / 3, 1 / 2, 2 / 3, 0.8, 0.9, 1.1, 1.25, 1.5, 2.0, 3.0)
"""Ratios of standard deviations."""

FACTORS = (0.6, 0.7, 0.8, 0.9, 1.1, 1.25, 1.5, 2.0)
"""Ratios of means of counts."""

DISPERSIONS = (0.01, 0.03, 0.1, 0.3, 1.0)
"""Dispersions of negative binomial counts whose prediction is Poisson."""

SIZES = (0.2, 0.5, 0.8, 1.25, 2.0, 5.0)
"""Ratios of dispersions of negative binomial counts."""

TABLE = 2**22
"""Numbers in the tables of the counts of some predictions."""

SMALLEST, FARTHEST_LOG = 5e-324, 1e3
"""Predicted probabilities of 0 count as the first in logarithms, and no ratio exceeds the exponential of the second."""

LABELS_AT_ONCE = 2**18
"""Labels whose ratios are summed by a thread at a time."""


@dataclass(frozen=True)
class Alternative:
    """One of the distributions, in words: how outcomes differ from what was predicted."""

    weight: float
    finding: str


class Alternatives(ABC):
    """A list of alternatives for some predictions."""

    members: tuple[Alternative, ...]

    @property
    def log_weights(self) -> FloatArray:
        """Logarithms of the weights, (K,)."""
        return np.asarray(np.log([member.weight for member in self.members]))

    def most_likely(self, targets: Array) -> str:
        """The alternative with the largest share of the likelihood ratio of targets (n,) or (n, d), in words."""
        shares = self.log_ratios(targets[None])[:, 0] + self.log_weights
        return str(self.members[int(np.argmax(shares))].finding)

    @abstractmethod
    def log_ratios(self, targets: Array) -> FloatArray:
        """``sum_i log(Q_k(y_i | P_i) / P_i(y_i))`` for many targets (B, n) or (B, n, d): (K, B)."""

    @abstractmethod
    def sample(self, member: int, rng: np.random.Generator, size: int) -> Array:
        """Targets (size, n) or (size, n, d) drawn from one of the alternatives."""


class ClassAlternatives(Alternatives):
    """Other temperatures, labels at random, and too many labels of one class: a third of the weight each."""

    def __init__(self, law: FinitePredictions) -> None:
        self._p = np.ascontiguousarray(law.probabilities)
        k = law.n_classes
        self.members = (
            *(_temperature(T, len(TEMPERATURES)) for T in TEMPERATURES),
            *(_one_of(SHARES, f"about {100 * s:.0f} % of the labels are random") for s in SHARES),
            *(
                _one_of(SHARES, f"class {c} occurs more often than predicted, by {100 * s:.0f} % of the rest", k)
                for s in SHARES
                for c in range(k)
            ),
        )
        self._tables = np.stack([self._table(member) for member in range(len(TEMPERATURES) + len(SHARES))], axis=-1)
        with np.errstate(over="ignore"):
            odds = (np.array(SHARES) / (1.0 - np.array(SHARES))) / np.maximum(self._p, SMALLEST)[..., None]
        self._gains = np.minimum(np.log1p(odds), FARTHEST_LOG)

    def _table(self, member: int) -> FloatArray:
        """``log(Q / P)`` of each outcome, (n, k); 0 where both are 0."""
        q, p = self._law(member), np.maximum(self._p, SMALLEST)
        return np.asarray(np.where(q > 0.0, np.log(np.maximum(q, SMALLEST)) - np.log(p), 0.0))

    def _law(self, member: int) -> FloatArray:
        """Probabilities Q of a member, (n, k)."""
        n_temperatures, k = len(TEMPERATURES), self._p.shape[1]
        if member < n_temperatures:
            with np.errstate(divide="ignore"):
                logs = np.log(self._p) / TEMPERATURES[member]
            logs -= logs.max(axis=1, keepdims=True)
            q = np.exp(logs)
            q /= q.sum(axis=1, keepdims=True)
            return np.asarray(q)
        member -= n_temperatures
        if member < len(SHARES):
            return np.asarray((1.0 - SHARES[member]) * self._p + SHARES[member] / k)
        share, c = SHARES[(member - len(SHARES)) // k], (member - len(SHARES)) % k
        q = (1.0 - share) * self._p
        q[:, c] += share
        return q

    def log_ratios(self, targets: Array) -> FloatArray:
        """Sums of table entries, of all tables at once; those of classes that are too frequent for all classes."""
        labels = np.ascontiguousarray(targets)
        n_redraws, n = labels.shape
        parts = list(ranges(n_redraws, max(1, LABELS_AT_ONCE // n)))
        sums = threaded(lambda part: self._sums(labels[part]), parts, len(parts), "likelihood", work=8.0 * labels.size)
        return np.concatenate(list(sums), axis=1)

    def _sums(self, labels: Array) -> FloatArray:
        shifted = tables_by_label(self._gains, labels)
        shifted += labels.shape[1] * np.log1p(-np.array(SHARES))
        by_member = shifted.transpose(2, 1, 0).reshape(-1, labels.shape[0])
        return np.concatenate([gathered_tables(self._tables, labels).T, by_member])

    def sample(self, member: int, rng: np.random.Generator, size: int) -> Array:
        """Labels (size, n)."""
        return Categorical.borrowed(self._law(member), None).sample(rng, size)


class NormalAlternatives(Alternatives):
    """Shifted means, one coordinate at a time, and other scales of normal scores: half of the weight each."""

    def __init__(self, predictions: Predictions, dimension: int) -> None:
        self._predictions, self._d = predictions, dimension
        coordinates = [""] if dimension == 1 else [f" in coordinate {t}" for t in range(dimension)]
        shifts = [(sign * s, t) for s in SHIFTS for sign in (1.0, -1.0) for t in range(dimension)]
        self._shifts = np.array([shift for shift, _ in shifts])
        self._coordinates = np.array([t for _, t in shifts])
        self.members = (
            *(
                Alternative(
                    0.5 / len(shifts),
                    f"outcomes are {'above' if shift > 0 else 'below'} what was predicted{coordinates[t]}, by about "
                    f"{abs(shift):g} predicted standard deviations",
                )
                for shift, t in shifts
            ),
            *(Alternative(0.5 / len(SCALES), _scale_finding(scale)) for scale in SCALES),
        )

    def log_ratios(self, targets: Array) -> FloatArray:
        """From the sums of the scores and of their squares."""
        z = scores_of(self._predictions, targets).values
        vectors = z[..., None] if z.ndim == 2 else z
        n, sums = vectors.shape[1], vectors.sum(axis=1)
        shifted = self._shifts[:, None] * sums[:, self._coordinates].T - n * np.square(self._shifts)[:, None] / 2.0
        scales = np.array(SCALES)[:, None]
        squares = np.square(vectors).sum(axis=(1, 2))
        scaled = 0.5 * (1.0 - 1.0 / scales**2) * squares - n * self._d * np.log(scales)
        return np.concatenate([shifted, scaled])

    def sample(self, member: int, rng: np.random.Generator, size: int) -> Array:
        """Targets whose scores are normal with another mean or scale."""
        law, n = self._predictions.law, len(self._predictions)
        z = rng.standard_normal((size, n) if self._d == 1 else (size, n, self._d))
        if member < self._shifts.size:
            z[(...,) if self._d == 1 else (..., self._coordinates[member])] += self._shifts[member]
        else:
            z *= SCALES[member - self._shifts.size]
        if isinstance(law, Normal):
            return np.asarray(law.mean + law.scale * z)
        if isinstance(law, MvNormal):
            return law.of_standardised(z)
        from scipy.special import ndtr

        return law.quantile(np.clip(ndtr(z), FARTHEST, 1.0 - FARTHEST))


class CountAlternatives(Alternatives):
    """Other means, half of the weight, and other dispersions."""

    def __init__(self, law: CountPredictions) -> None:
        self._law = law
        mean, size = law.mean, law.size if isinstance(law, NegativeBinomial) else None
        laws: list[CountPredictions] = []
        members = []
        for factor in FACTORS:
            laws.append(
                Poisson(factor * mean) if size is None else NegativeBinomial.from_mean(factor * mean, 1.0 / size)
            )
            side = "more" if factor > 1.0 else "less"
            finding = f"counts are {side} than predicted: {factor:.2g} times as many"
            members.append(Alternative(0.5 / len(FACTORS), finding))
        spreads = DISPERSIONS if size is None else SIZES
        for spread in spreads:
            dispersion = np.full(len(law), spread) if size is None else spread / size
            laws.append(NegativeBinomial.from_mean(mean, dispersion))
            wrong = "too narrow" if size is None or spread > 1.0 else "too wide"
            how = f"the dispersion is {spread:.2g}" + ("" if size is None else " times that predicted")
            members.append(Alternative(0.5 / len(spreads), f"predictions are {wrong}: {how}"))
        self._laws, self.members = tuple(laws), tuple(members)

    def log_ratios(self, targets: Array) -> FloatArray:
        """Sums of table entries, for some of the predictions at a time."""
        counts, places = np.unique(targets, return_inverse=True)
        labels = places.reshape(targets.shape).astype(np.min_scalar_type(counts.size))
        sums = np.zeros((targets.shape[0], len(self._laws)))
        size = max(1, TABLE // (counts.size * len(self._laws)))
        for part in ranges(targets.shape[1], size):
            sums += gathered_tables(
                self._tables(part, counts.astype(np.float64)), np.ascontiguousarray(labels[:, part])
            )
        return sums.T

    def _tables(self, part: slice, counts: FloatArray) -> FloatArray:
        """``log(Q / P)`` of counts (U,), (n, U, K); 0 where both are 0."""
        logs = self._law.take(part).log_probabilities(counts)
        tables = np.zeros((*logs.shape, len(self._laws)))
        possible = logs > -np.inf
        for member, law in enumerate(self._laws):
            np.subtract(law.take(part).log_probabilities(counts), logs, out=tables[..., member], where=possible)
        return tables

    def sample(self, member: int, rng: np.random.Generator, size: int) -> Array:
        """Counts (size, n)."""
        return self._laws[member].sample(rng, size)


def alternatives_for(predictions: Predictions) -> Alternatives | None:
    """The alternatives for a family, or None if likelihood ratios are not known."""
    law = predictions.law
    if isinstance(law, FinitePredictions):
        return ClassAlternatives(law)
    if isinstance(law, (Poisson, NegativeBinomial)):
        return CountAlternatives(law)
    if isinstance(law, MvNormal):
        return None if law.is_singular else NormalAlternatives(predictions, law.dimension)
    return NormalAlternatives(predictions, 1) if is_continuous(law) else None


def _one_of(shares: tuple[float, ...], finding: str, times: int = 1) -> Alternative:
    return Alternative(1.0 / (3.0 * len(shares) * times), finding)


def _temperature(temperature: float, number: int) -> Alternative:
    direction = "overconfident" if temperature > 1.0 else "underconfident"
    finding = f"predictions are {direction}: outcomes follow them at temperature {temperature:.2g}"
    return Alternative(1.0 / (3.0 * number), finding)


def _scale_finding(scale: float) -> str:
    wrong = "too narrow" if scale > 1.0 else "too wide"
    return f"predictions are {wrong}: errors are {scale:.2g} times as large as predicted"
