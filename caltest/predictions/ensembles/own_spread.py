"""Features and weights that are made from the members of an ensemble."""

from collections.abc import Iterable

import numpy as np

from caltest._basics.numerics import Array, FloatArray, IntArray
from caltest._validation.columns import coded, missing_in, numbers_in
from caltest.predictions.inputs.convert import Sample
from caltest.predictions.reductions.standard_scores import in_units

ALIKE, FEWEST = 0.99, 20
"""Correlation of ranks from which on a column says how far apart members are, and rows that show it."""

BINS = 5
"""Quantile bins of a column of numbers."""

EXPLAINED = 0.5
"""Share of the variance of these ranks from which on groups differ by them."""


def refuse_spread(columns: Iterable[tuple[str, Array]], sample: Sample, called: str = "features[{!r}]") -> None:
    """``ValueError`` for a column that is a function of the spread of the members of each row.

    Outcome and members are exchangeable, but no more so given the spread of the members alone: where this is large by
    chance the outcome is nearer to their mean than one of them is.
    """
    spread = _spread(sample)
    if spread is None:
        return
    for name, values in columns:
        numbers = numbers_in(np.asarray(values), missing_in(name, values))
        if numbers is None or np.isnan(numbers).any():
            continue
        ranks = _ranks(numbers)
        if abs(ranks @ spread) >= ALIKE * np.sqrt((ranks @ ranks) * (spread @ spread)) > 0.0:
            raise ValueError(
                f"{called.format(name)}: got the spread of the members, given which outcome and members are not "
                "exchangeable; where members are far apart by chance the outcome is not: take the spread of members "
                "and outcome together, or what was known before the ensemble"
            )


def notes_on_columns(columns: Iterable[tuple[str, Array]], sample: Sample) -> tuple[str, ...]:
    """A caution for each column whose bins or categories differ most by the spread of the members in their rows."""
    if sample.predictions.law.pool_size is None:
        return ()
    coded_columns = ((name, coded(name, values, BINS).codes) for name, values in columns)
    return tuple(note for name, codes in coded_columns for note in notes_on_spread(codes, sample, f"values of {name}"))


def notes_on_spread(codes: IntArray, sample: Sample, what: str = "groups") -> tuple[str, ...]:
    """A caution if the groups of rows (n,), -1 for those in none, differ most by the spread of their members."""
    spread = _spread(sample)
    if spread is None or (codes < 0).any():
        return ()
    sums, sizes = np.bincount(codes, spread), np.bincount(codes)
    explained = float((sums**2 / np.maximum(sizes, 1)).sum() / (spread @ spread))
    if not EXPLAINED <= explained < 1.0:
        return ()
    return (
        f"{what} differ by the spread of the members: if they are made from it, ensembles that are right are rejected, "
        "as where members are far apart by chance the outcome is not",
    )


def _spread(sample: Sample) -> FloatArray | None:
    """Ranks, around their mean, of the variance of the members of each row; None for others than ensembles of numbers.

    Without a value of score z the variance of a pool of N values is proportional to ``N - 1 - z**2``.
    """
    law = sample.predictions.law
    if law.pool_size is None or np.ndim(sample.targets) > 1 or len(sample) < FEWEST:
        return None
    means, variances = law.moments()
    z = in_units(sample.targets - means, np.sqrt(variances))
    spread = _ranks(variances * (law.pool_size - 1.0 - z**2))
    return spread if spread.any() else None


def _ranks(values: Array) -> FloatArray:
    """Ranks around their mean."""
    _, ranks = np.unique(values, return_inverse=True)
    return np.asarray(ranks - ranks.mean())
