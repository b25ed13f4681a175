"""The numbers of the omnibus statistic where outcomes depend on each other within clusters.

They are functions of sums over the observations. What a cluster c adds to a sum differs from its mean, given the
predictions, by ``D_c``: independent for all clusters, with mean 0 if predictions are calibrated. For many clusters sums
``S - sum_c (1 - e_c) D_c`` with independent random signs e have the distribution that S has, whatever the dependence
within clusters.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from caltest._basics.numerics import FloatArray, Sums, ranges
from caltest._basics.threads import tracked
from caltest.estimators.combined.sums.parts import OfRows, law_of
from caltest.hstatistics.redraws.within_clusters import Partition
from caltest.predictions import Sample

GROUPS = 200
"""Groups of clusters, each with a sign: with more of them signs take longer and say no more."""

REDRAWS = 20
"""From which the mean of a sum of a group is known: their error adds 5 % to its variance."""

AT_ONCE = 128
"""Draws whose sums are computed together."""


@dataclass(frozen=True, eq=False)
class ClusterNumbers:
    """Numbers (J, B + 1), those of the observed targets first, and sums of these of all rows and of groups."""

    by: OfRows[Any]
    signed: FloatArray
    """With random signs of groups of clusters."""
    redrawn: FloatArray
    """With redraws that are independent within clusters."""
    whole: tuple[int, Sums]
    apart: list[tuple[int, Sums]]

    def between_groups(self) -> float:
        """The mean of h over the pairs of observations of different groups, from the means over all pairs of each."""

        def total(n: int, sums: Sums) -> tuple[float, float]:
            pairs = n * (n - 1.0)
            return pairs, pairs * self.by.reported(sums, self.by.values(sums)) if pairs else 0.0

        pairs, sum_of_all = total(*self.whole)
        own = [total(*one) for one in self.apart]
        return (sum_of_all - sum(one for _, one in own)) / (pairs - sum(number for number, _ in own))


def numbers_in_clusters(
    by: OfRows[Any], sample: Sample, partition: Partition, n_resamples: int, rng: np.random.Generator
) -> ClusterNumbers:
    """The numbers of a sample; signs and redraws follow from a generator.

    Numbers that vary less with random signs than with redraws are made to vary as much: those of events so rare that
    hardly a cluster has one have no variance that could be seen.
    """
    law, observed, n = law_of(sample.predictions), np.asarray(sample.targets), len(sample)
    seed = rng.integers(2**64, dtype=np.uint64)
    groups = np.asarray((rng.permutation(partition.n_parts) % GROUPS)[partition.codes])
    n_groups, whole = int(groups.max()) + 1, by.sums(law, observed, np.arange(n), seed, range(-1, 0))
    order, apart, differences = np.argsort(groups, kind="stable"), [], []
    of_groups = np.split(order, np.searchsorted(groups[order], np.arange(1, n_groups)))
    for rows in tracked(iter(of_groups), n_groups, "clusters"):
        sums = by.sums(law.take(rows), observed[rows], rows, seed, range(-1, REDRAWS))
        differences.append({name: column[..., 0] - column[..., 1:].mean(axis=-1) for name, column in _columns(sums)})
        first = {name: column[..., :1] for name, column in _columns(sums)}
        apart.append((rows.size, _replaced(sums, first)))
    changes = {name: np.stack([one[name] for one in differences]) for name in differences[0]}
    signs = np.column_stack([np.zeros(n_groups), rng.integers(2, size=(n_groups, n_resamples)) * -2.0])

    def signed(part: slice) -> FloatArray:
        moved = {
            name: column + np.tensordot(changes[name], signs[:, part], axes=(0, 0)) for name, column in _columns(whole)
        }
        return by.values(_replaced(whole, moved))

    redrawn = by.drawn(law, observed, n_resamples, seed, AT_ONCE)
    values = np.concatenate([signed(part) for part in ranges(n_resamples + 1, AT_ONCE)], axis=1)
    return ClusterNumbers(by, _at_least(values, redrawn), redrawn, (n, whole), apart)


def numbers_together(
    by: OfRows[Any], sample: Sample, partition: Partition, n_resamples: int, rng: np.random.Generator
) -> FloatArray:
    """Numbers (J, B + 1) for observed targets and redraws in which those of a cluster follow from one uniform number.

    Redraws are functions of the numbers of rows, which are those of their clusters.
    """
    law, observed, seed = law_of(sample.predictions), np.asarray(sample.targets), rng.integers(2**64, dtype=np.uint64)
    return by.values(by.sums(law, observed, partition.codes, seed, range(-1, n_resamples)))


def _columns(sums: Sums) -> Iterator[tuple[str, FloatArray]]:
    """The sums that depend on targets, (..., B), with their names."""
    for name, axis in sums.redrawn.items():
        yield name, np.moveaxis(getattr(sums, name), axis, -1)


def _replaced(sums: Sums, columns: dict[str, FloatArray]) -> Sums:
    moved = {name: np.moveaxis(column, -1, sums.redrawn[name]) for name, column in columns.items()}
    return replace(sums, **{name: np.ascontiguousarray(one) for name, one in moved.items()})


def _at_least(values: FloatArray, known: FloatArray) -> FloatArray:
    """Numbers (J, B + 1) of which all but the first are stretched to the standard deviation of known ones.

    Those that do not vary become the known ones.
    """
    draws, redraws = values[:, 1:], known[:, 1:]
    spread, least = draws.std(axis=1, keepdims=True), redraws.std(axis=1, keepdims=True)
    varies = spread > 1e-9 * least
    factor = np.maximum(1.0, np.divide(least, spread, out=np.ones_like(least), where=varies))
    mean = draws.mean(axis=1, keepdims=True)
    return np.concatenate([values[:, :1], np.where(varies, mean + (draws - mean) * factor, redraws)], axis=1)
