"""Ways in which predictions can be wrong, as distributions of the targets that are known given the predictions.

Each family of alternatives is a finite list of distributions ``Q_k(y | P)`` with weights ``w_k``, chosen before any
target is seen. The ratio ``E = sum_k w_k prod_i Q_k(Y_i | P_i) / P_i(Y_i)`` has mean 1 given calibrated predictions,
whatever they are, so it is an e-value.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property
from math import log, prod
from typing import TYPE_CHECKING

import numpy as np

from caltest._basics.numerics import Array, FloatArray, IntArray, normalised, ranges
from caltest._basics.threads import threaded
from caltest._loops.pair_sums.redraws import gathered_tables, tables_by_label
from caltest.predictions.base import Predictions
from caltest.predictions.classes.categorical import Categorical
from caltest.predictions.classes.finite import FinitePredictions
from caltest.predictions.reductions.standard_scores import scores_of

if TYPE_CHECKING:
    from caltest.predictions.counts.law import CountPredictions
    from caltest.predictions.ensembles.ensemble import Pool


class Odds(ABC):
    """Distributions other than those that are predicted, for each observation."""

    weights: FloatArray
    """Of the distributions, (K,), of sum 1."""

    @abstractmethod
    def log_ratio_terms(self, targets: Array) -> FloatArray:
        """``log(Q_k(y_i | P_i) / P_i(y_i))`` of each observation, for targets (n,) or (n, d): (K, n)."""


class Alternatives(Odds):
    """A list of alternatives for some predictions; with weights, which multiply what each observation adds."""

    @abstractmethod
    def log_ratios(self, targets: Array) -> FloatArray:
        """``sum_i log(Q_k(y_i | P_i) / P_i(y_i))`` for many targets (B, n) or (B, n, d): (K, B)."""

    @abstractmethod
    def sample(self, member: int, rng: np.random.Generator, size: int) -> Array:
        """Targets (size, n) or (size, n, d) drawn from one of the alternatives."""


SHIFTS = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
"""Differences of means, in standard deviations."""

SCALES = (1 / 3, 1 / 2, 2 / 3, 0.8, 0.9, 1.1, 1.25, 1.5, 2.0, 3.0)
"""Ratios of standard deviations."""


def shifts_of(dimension: int) -> tuple[FloatArray, IntArray]:
    """Shifts up and down of each coordinate in turn, and these coordinates."""
    signed = [sign * shift for shift in SHIFTS for sign in (1.0, -1.0)]
    return np.repeat(signed, dimension), np.tile(np.arange(dimension), len(signed))


def shared_weights(*sizes: int) -> FloatArray:
    """Weights of groups of alternatives of some sizes, which have the same weight together."""
    return np.concatenate([np.full(size, 1.0 / (len(sizes) * size)) for size in sizes])


class NormalAlternatives(Alternatives):
    """Shifted means, one coordinate at a time, and other scales of normal scores: half of the weight each.

    Targets are numbers, of the shape (), or vectors, of the shape (d,).
    """

    def __init__(self, law: Predictions, weights: FloatArray | None = None, target_shape: tuple[int, ...] = ()) -> None:
        self._law, self._target_shape = law, target_shape
        self._d = prod(target_shape)
        self._row_weights = np.ones(len(law)) if weights is None else weights
        self._shifts, self._coordinates = shifts_of(self._d)
        self.weights = shared_weights(self._shifts.size, len(SCALES))

    def log_ratios(self, targets: Array) -> FloatArray:
        z = scores_of(self._law, targets)
        vectors = z[..., None] if z.ndim == 2 else z
        squares = np.square(vectors).sum(axis=2) @ self._row_weights
        return self._ratios(np.einsum("bid,i->bd", vectors, self._row_weights), squares, float(self._row_weights.sum()))

    def log_ratio_terms(self, targets: Array) -> FloatArray:
        z = self._law.standard_scores(targets[None])[0]
        vectors = z[:, None] if z.ndim == 1 else z
        return self._ratios(vectors, np.square(vectors).sum(axis=1), 1.0) * self._row_weights

    def _ratios(self, sums: FloatArray, squares: FloatArray, n: float) -> FloatArray:
        """Log ratios (K, B) of n observations from sums of their scores (B, d) and of their squares (B,)."""
        shifts, scales = self._shifts[:, None], np.array(SCALES)[:, None]
        shifted = shifts * sums[:, self._coordinates].T - n * np.square(shifts) / 2.0
        scaled = 0.5 * (1.0 - 1.0 / scales**2) * squares - n * self._d * np.log(scales)
        return np.concatenate([shifted, scaled])

    def sample(self, member: int, rng: np.random.Generator, size: int) -> Array:
        z = rng.standard_normal((size, len(self._law), *self._target_shape))
        if member < self._shifts.size:
            z[(..., self._coordinates[member]) if self._target_shape else ...] += self._shifts[member]
        else:
            z *= SCALES[member - self._shifts.size]
        return self._law.of_standard_scores(z)


TEMPERATURES = (1 / 3, 1 / 2, 2 / 3, 0.8, 0.9, 1.1, 1.25, 1.5, 2.0, 3.0)
"""Exponents of the predicted probabilities are 1 / T: below 1 outcomes are less certain than predicted."""

SHARES = (0.02, 0.05, 0.1, 0.2, 0.4)
"""Parts of the observations that follow another distribution."""

SMALLEST, FARTHEST_LOG = 5e-324, 1e3
"""Predicted probabilities of 0 count as the first in logarithms, and no ratio exceeds the exponential of the second."""

LABELS_AT_ONCE = 2**18
"""Labels whose ratios are summed by a thread at a time."""

PROBABILITIES_AT_ONCE = 2**18
"""Probabilities of the predictions whose tables are made at a time."""


class ClassAlternatives(Alternatives):
    """Other temperatures, labels at random, and too many labels of one class: a third of the weight each."""

    def __init__(self, law: FinitePredictions, weights: FloatArray | None = None) -> None:
        self._stored, self._label_type = law.stored, law.label_type
        self._totals = self._stored.sum(axis=1, dtype=np.float64)
        self.weights = weights_of_members(law.n_classes)
        self._row_weights = np.ones(len(law)) if weights is None else weights

    def _p(self, rows: slice) -> FloatArray:
        """Probabilities of some rows.

        Rows that sum to 1 only up to the rounding of single precision would add up over many observations.
        """
        return np.asarray(self._stored[rows] / self._totals[rows, None])

    def _law(self, member: int) -> FloatArray:
        """Probabilities Q of a member, (n, k)."""
        p, n_temperatures = self._p(slice(None)), len(TEMPERATURES)
        k = p.shape[1]
        if member < n_temperatures:
            with np.errstate(divide="ignore"):
                logs = np.log(p) / TEMPERATURES[member]
            logs -= logs.max(axis=1, keepdims=True)
            return normalised(np.exp(logs))
        member -= n_temperatures
        if member < len(SHARES):
            return np.asarray((1.0 - SHARES[member]) * p + SHARES[member] / k)
        share, c = SHARES[(member - len(SHARES)) // k], (member - len(SHARES)) % k
        q = (1.0 - share) * p
        q[:, c] += share
        return q

    def log_ratios(self, targets: Array) -> FloatArray:
        """Sums of table entries of all labels, for some of the predictions at a time."""
        labels = np.ascontiguousarray(targets, dtype=self._label_type)
        n_redraws, n = labels.shape
        sums = np.zeros((n_redraws, 1 + len(SHARES)))
        by_class = np.zeros((n_redraws, self._stored.shape[1], len(SHARES)))
        norms, parts = np.zeros(len(TEMPERATURES)), list(ranges(n_redraws, LABELS_AT_ONCE // n))
        for rows, tables, norm in self._tables():
            norms += norm
            some = labels if n == len(tables) else np.ascontiguousarray(labels[:, rows])

            def add(part: slice, some: Array = some, tables: FloatArray = tables) -> FloatArray:
                return tables_by_label(tables, some[part])

            added = threaded(add, parts, len(parts), "likelihood", work=8.0 * some.size)
            for part, one in zip(parts, added, strict=True):
                sums[part] += one[:, :, : sums.shape[1]].sum(axis=1)
                by_class[part] += one[:, :, sums.shape[1] :]
        return ratios_from(sums.T, by_class.transpose(2, 1, 0), norms, float(self._row_weights.sum()))

    def _tables(self) -> Iterator[tuple[slice, FloatArray, FloatArray]]:
        """Rows, what their labels add, to all and to what is of their class, and sums of log norms: kept if few."""
        n, k = self._stored.shape
        parts = list(ranges(n, PROBABILITIES_AT_ONCE // k))
        for rows in parts:
            yield rows, *(self._whole if len(parts) == 1 else self._table(rows))

    @cached_property
    def _whole(self) -> tuple[FloatArray, FloatArray]:
        return self._table(slice(None))

    def _table(self, rows: slice) -> tuple[FloatArray, FloatArray]:
        p, weights = self._p(rows), self._row_weights[rows]
        tables = np.concatenate([np.stack(label_terms(p, p.shape[1]), axis=-1), gains_of_class(p)], axis=-1)
        return tables * weights[:, None, None], log_norms(p) @ weights

    def log_ratio_terms(self, targets: Array) -> FloatArray:
        """Entries of the tables; of classes that are too frequent, gains of the observed class."""
        n, k = self._stored.shape
        rows, labels = np.arange(n), np.asarray(targets)
        own, gains = self._stored[rows, labels] / self._totals, np.zeros((len(SHARES), k, n))
        gains[:, labels, rows] = gains_of_class(own).T
        parts = ranges(n, PROBABILITIES_AT_ONCE // k)
        norms = np.concatenate([log_norms(self._p(part)) for part in parts], axis=1)
        return ratios_from(np.array(label_terms(own, k)), gains, norms, 1.0) * self._row_weights

    def sample(self, member: int, rng: np.random.Generator, size: int) -> Array:
        return Categorical.borrowed(self._law(member), None).sample(rng, size)


def weights_of_members(k: int) -> FloatArray:
    """Of temperatures, shares of random labels and shares of each of k classes, a third each."""
    return shared_weights(len(TEMPERATURES), len(SHARES), len(SHARES) * k)


def label_terms(p: FloatArray, k: int) -> list[FloatArray]:
    """``log p`` of labels of probability p, and ``log(q / p)`` for labels of which some shares are random."""
    logs = np.log(np.maximum(p, SMALLEST))
    return [logs, *(np.log((1.0 - share) * p + share / k) - logs for share in SHARES)]


def gains_of_class(p: FloatArray) -> FloatArray:
    """``log(1 + s / ((1 - s) p))`` for labels of probability p and the shares s, (..., 5)."""
    with np.errstate(over="ignore"):
        odds = (np.array(SHARES) / (1.0 - np.array(SHARES))) / np.maximum(p, SMALLEST)[..., None]
    return np.minimum(np.log1p(odds, out=odds), FARTHEST_LOG, out=odds)


def ratios_from(sums: FloatArray, gains: FloatArray, norms: FloatArray, weight: float) -> FloatArray:
    """``log_ratios`` from sums of ``label_terms`` (6, B), gains of each class (5, k, B) and log norms (10,) or (10, B).

    For temperatures ``log(p**(1/T) / norm / p)``.
    """
    exponents = (1.0 / np.array(TEMPERATURES) - 1.0)[:, None]
    tempered = exponents * sums[0] - norms.reshape(len(TEMPERATURES), -1)
    losses = np.repeat(weight * np.log1p(-np.array(SHARES)), gains.shape[1])[:, None]
    return np.concatenate([tempered, sums[1:], gains.reshape(-1, sums.shape[1]) + losses])


def log_norms(p: FloatArray) -> FloatArray:
    """``log sum_c p_c**(1/T)`` of each row for all temperatures, (10, n)."""
    logs = np.log(np.maximum(p, SMALLEST))
    largest = logs.max(axis=1)
    logs -= largest[:, None]
    norms, powers = np.empty((len(TEMPERATURES), len(p))), np.empty_like(logs)
    for norm, t in zip(norms, TEMPERATURES, strict=True):
        np.exp(np.divide(logs, t, out=powers), out=powers)
        norm[:] = largest / t + np.log(powers.sum(axis=1))
    return norms


FACTORS = (0.6, 0.7, 0.8, 0.9, 1.1, 1.25, 1.5, 2.0)
"""Ratios of means of counts."""

DISPERSIONS = (0.01, 0.03, 0.1, 0.3, 1.0)
"""Dispersions of negative binomial counts whose prediction is Poisson."""

SIZES = (0.2, 0.5, 0.8, 1.25, 2.0, 5.0)
"""Ratios of dispersions of negative binomial counts."""

TABLE, LARGEST_ON_CURVE = 2**22, 1e5
"""Numbers in the tables of the counts of some predictions, and the count from which on digits of a curve are lost."""


class CountAlternatives(Alternatives):
    """Other means, half of the weight, and other dispersions, of a family that knows these.

    Probabilities are ``h(u) exp(eta u - A)``, where h depends on the dispersion only. So log ratios of laws of the same
    dispersion are lines in u; those of two dispersions that are the same for all predictions are one curve and lines.
    """

    def __init__(self, law: "CountPredictions", weights: FloatArray | None = None) -> None:
        own = law.dispersion
        dispersions = [np.full(len(law), a) for a in DISPERSIONS] if own is None else [a * own for a in SIZES]
        laws = [law.with_mean(factor * law.mean) for factor in FACTORS]
        laws += [law.with_dispersion(dispersion) for dispersion in dispersions]
        self._law, self._laws = law, tuple(one for one in laws if one is not None)
        self._row_weights = np.ones(len(law)) if weights is None else weights
        self.weights = shared_weights(len(FACTORS), len(dispersions))
        natural = [one.natural() for one in (law, *self._laws)]
        (eta, *etas), (norm, *norms) = zip(*natural, strict=True)
        self._slopes = np.stack([np.where(law.mean > 0.0, one - eta, 0.0) for one in etas])
        self._constants = np.stack([norm - one for one in norms])
        self._has_curve = own is None or bool((own == own[:1]).all())

    def log_ratios(self, targets: Array) -> FloatArray:
        """From sums of counts and of their curves, for some of the redraws at a time."""
        counts, places = np.unique(targets, return_inverse=True)
        values, places = counts.astype(np.float64), places.reshape(targets.shape)
        on_curve = self._is_on_curve(values)
        lines = slice(None) if on_curve else slice(len(FACTORS))
        slopes = self._slopes[lines] * self._row_weights
        sums = np.zeros((len(self._laws), targets.shape[0]))
        for some in ranges(targets.shape[0], TABLE // targets.shape[1]):
            sums[lines, some] = slopes @ values[places[some]].T
        sums[lines] += (self._constants[lines] @ self._row_weights)[:, None]
        n, n_redraws = targets.shape[1], targets.shape[0]
        if on_curve:
            curves = self._curves(values)
            for some in ranges(n_redraws, TABLE // max(n, counts.size)):
                if counts.size > n:  # Large counts are hardly ever equal.
                    sums[len(FACTORS) :, some] += curves[:, places[some]] @ self._row_weights
                    continue
                counted = [np.bincount(row, self._row_weights, counts.size) for row in places[some]]
                sums[len(FACTORS) :, some] += curves @ np.stack(counted).T
        elif counts.size > n_redraws:
            for b in range(n_redraws):
                sums[len(FACTORS) :, b] = self._ratios(values[places[b]]) @ self._row_weights
        else:
            labels = places.astype(np.min_scalar_type(counts.size))
            for part in ranges(n, TABLE // (counts.size * len(self._laws))):
                tables = self._tables(part, values) * self._row_weights[part, None, None]
                sums[len(FACTORS) :] += gathered_tables(tables, np.ascontiguousarray(labels[:, part])).T
        return sums

    def log_ratio_terms(self, targets: Array) -> FloatArray:
        counts, labels = np.unique(targets, return_inverse=True)
        values = counts.astype(np.float64)
        terms: FloatArray = self._slopes * values[labels] + self._constants
        if self._is_on_curve(values):
            terms[len(FACTORS) :] += self._curves(values)[:, labels]
        else:
            terms[len(FACTORS) :] = self._ratios(values[labels])
        return terms * self._row_weights

    def _ratios(self, counts: FloatArray) -> FloatArray:
        """Log ratios of laws of other dispersions for a count of each prediction (n,), (K, n); 0 as in tables."""
        logs = self._law.log_density(counts)
        others = [law.log_density(counts) for law in self._laws[len(FACTORS) :]]
        return np.stack([np.subtract(one, logs, out=np.zeros_like(logs), where=logs > -np.inf) for one in others])

    def _is_on_curve(self, counts: FloatArray) -> bool:
        return self._has_curve and float(counts.max()) <= LARGEST_ON_CURVE

    def _curves(self, counts: FloatArray) -> FloatArray:
        """What lines lack to the log ratios of laws of other dispersions (K, U), as it is for a usual prediction."""
        mean = self._law.mean
        # Where 0 is expected all other counts are impossible.
        order = np.argsort(mean, kind="stable")[np.count_nonzero(mean < np.finfo(np.float64).tiny) :]
        usual = int(order[order.size // 2]) if order.size else 0
        lines = self._slopes[len(FACTORS) :, [usual]] * counts + self._constants[len(FACTORS) :, [usual]]
        return np.asarray(self._tables(slice(usual, usual + 1), counts)[0].T - lines)

    def _tables(self, part: slice, counts: FloatArray) -> FloatArray:
        """Log ratios of laws of other dispersions for counts (U,), (n, U, K); 0 for those that are impossible."""
        logs, others = self._law.take(part).log_probabilities(counts), self._laws[len(FACTORS) :]
        tables = np.zeros((*logs.shape, len(others)))
        for member, law in enumerate(others):
            possible = logs > -np.inf
            np.subtract(law.take(part).log_probabilities(counts), logs, out=tables[..., member], where=possible)
        return tables

    def sample(self, member: int, rng: np.random.Generator, size: int) -> Array:
        return self._laws[member].sample(rng, size)


FARTHEST_RESIDUAL = 1e100
"""Residuals count as at most this, so that their squares are finite."""


class PoolOdds(Odds):
    """Outcomes that are shifted, or farther from the members than these are from each other.

    Given the m + 1 values of a case, each of them is the outcome with the same probability if outcome and members are
    exchangeable. Otherwise with probabilities in proportion to ``f_k(r_j) / f(r_j)``, where r_j is the residual of
    value j by the other m, f the density of Student's t distribution of m - 1 degrees of freedom, which residuals of
    normal values have, and f_k the same shifted in one coordinate, or scaled. Whatever the values are, these
    probabilities have the sum 1, so that ratios have mean 1.
    """

    def __init__(self, law: "Pool") -> None:
        self._law = law
        self._d = law.members[0, 0].size
        self._shifts = list(zip(*shifts_of(self._d), strict=True))
        self.weights = shared_weights(len(self._shifts), len(SCALES))

    def log_ratio_terms(self, targets: Array) -> FloatArray:
        """From the residuals of all values: time and memory O(n m d) for each alternative in turn."""
        values = np.moveaxis(self._law.members, 1, 0)
        all_ratios, own = self._log_densities(values), self._log_densities(targets[None])
        terms = []
        for every, one in zip(all_ratios, own, strict=True):
            largest = every.max(axis=0)
            total = largest + np.log(np.exp(every - largest).sum(axis=0))
            terms.append(one[0] + log(len(values)) - total)
        return np.array(terms)

    def _log_densities(self, values: Array) -> list[FloatArray]:
        """``log f_k(r) / f(r)`` of values (B, n) or (B, n, d): K arrays (B, n)."""
        residuals = np.clip(self._law.pool_residuals(values), -FARTHEST_RESIDUAL, FARTHEST_RESIDUAL)
        residuals = residuals.reshape(*values.shape[:2], self._d)
        m = self._law.n_members - 1.0
        freedom = m - 1.0

        def log_density(r: FloatArray) -> FloatArray:
            return np.asarray(-0.5 * m * np.log1p(np.square(r) / freedom))

        plain = log_density(residuals)
        shifted = [log_density(residuals[..., t] - shift) - plain[..., t] for shift, t in self._shifts]
        scaled = [(log_density(residuals / scale) - plain).sum(axis=2) - self._d * log(scale) for scale in SCALES]
        return shifted + scaled
