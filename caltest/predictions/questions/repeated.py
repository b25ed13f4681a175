"""Values that many outcomes have: codes of missing ones, or ends at which outcomes are cut off."""

import numpy as np

from caltest._basics.numerics import Array, FloatArray, IntArray, evenly_spaced
from caltest.predictions.base import Predictions
from caltest.predictions.questions.classes import all_one
from caltest.predictions.reductions.standard_scores import SMALLEST, in_units

CODES = (-9999.0, -999.0, -99999.0, 9999.0, 99999.0, 1e20, 9.969209968386869e36)
"""Numbers by which files say that a value is missing; the last one is that of NetCDF."""

REPEATED = 3
"""Outcomes that have the smallest or the largest value, from which on it may be a code."""

SOME, OUTLYING, USUAL = 1000, 4.0, 1.5
"""Rows that are looked at, predicted standard deviations beyond which a code is no value, and median distance up to
which most outcomes are as was predicted."""

OFTEN, LEAST_SHARE, EXPECTED = 10.0, 0.01, 5.0
"""How often an outcome occurs, in units of the usual number of equal ones, as a share of all, and in units of what
members or quantiles have of it, from which on one asks."""


def codes_among(values: FloatArray) -> tuple[float, ...]:
    """The codes of missing values among numbers that are, most of them, a hundred times smaller at least.

    And the smallest or largest number, if several have it and all others are nearer to each other than to it.
    """
    finite = values[np.isfinite(values)]
    usual = 100.0 * float(np.median(np.abs(finite))) if finite.size else 0.0
    known = tuple(code for code in CODES if abs(code) > usual and (finite == code).any())
    if known or not finite.size:
        return known
    ends = float(finite.min()), float(finite.max())
    for end in ends:
        others = finite[finite != end]
        if finite.size - others.size >= REPEATED and others.size > finite.size / 2:
            nearest = float(np.abs(others - end).min())
            if nearest > np.ptp(others) > 0.0:
                known += (end,)
    return known


def repeated(law: Predictions, targets: Array, numbers: IntArray, own: FloatArray | None) -> tuple[str, ...]:
    """What to ask about codes among targets, and about values of targets that hardly any of their ``own`` values have.

    These are the members or quantiles of the predictions, (n, m); of laws with a density faults say the latter. Rows
    have ``numbers`` (n,).
    """
    notes = _codes_of_means(law, targets, numbers)
    known = codes_among(np.asarray(targets, dtype=np.float64))
    for code in (*known, *(end for end in _repeated_ends(law, targets) if end not in known)):
        rows = np.unique(np.nonzero(targets == code)[0])
        scores = law.take(rows).standard_scores(np.asarray(targets[rows], dtype=np.float64)[None])[0]
        if np.median(np.abs(scores[targets[rows] == code])) > OUTLYING:
            notes.append(f"{_counted(numbers[rows], code)}: is that a code for missing ones (pass nan)?")
    return tuple(notes) if notes or own is None else _too_often(targets, numbers, own)


def constant(law: Predictions, targets: Array, own: FloatArray | None) -> tuple[str, ...]:
    """What to ask about numbers that are all the same, where neither the law nor ``own`` values expect that."""
    if targets.ndim > 1:
        return ()
    if own is not None:
        chance = ((own == targets[0]).sum(axis=1) + 1.0) / (own.shape[1] + 1.0)
    else:
        chance = law.cdf(targets) - law.cdf_below(targets) if law.has_jumps else np.zeros(len(targets))
    return all_one(f"{targets[0]:g}", np.maximum(chance, 0.0), targets == targets[0])


def _codes_of_means(law: Predictions, targets: Array, numbers: IntArray) -> list[str]:
    """Codes among the means of normal laws, from which outcomes are far."""
    if law.normal is None or targets.ndim > 1:
        return []
    (mean, scale), asked = law.normal, []
    for code in codes_among(mean):
        rows = np.flatnonzero(mean == code)
        if np.median(in_units(np.abs(targets[rows] - code), np.maximum(scale[rows], SMALLEST))) > OUTLYING:
            counted = _counted(numbers[rows], code, "predicted means")
            asked.append(f"{counted}: is that a code for missing ones (leave those rows out)?")
    return asked


def _counted(rows: Array, value: float, what: str = "outcomes") -> str:
    return f"{rows.size} {what} are {value:g} (row {rows[0]}{', ...' * (rows.size > 1)})"


def _repeated_ends(law: Predictions, targets: Array) -> list[float]:
    """Smallest and largest outcomes of a coordinate that several have, if most outcomes are as was predicted."""
    columns = np.asarray(targets, dtype=np.float64).reshape(len(targets), -1).T
    ends = {float(end) for one in columns for end in (one.min(), one.max()) if (one == end).sum() >= REPEATED}
    rows = evenly_spaced(len(law), SOME)
    if not ends or np.median(np.abs(law.take(rows).standard_scores(targets[rows][None]))) > USUAL:
        return []
    return sorted(ends)


def _too_often(targets: Array, numbers: IntArray, own: FloatArray) -> tuple[str, ...]:
    """Values (n,) far more of which are equal than of the others, and of members or quantiles."""
    values, counts = np.unique(targets, return_counts=True)
    least = max(OFTEN * len(targets) / max(values.size, 1), LEAST_SHARE * len(targets))
    some = own[evenly_spaced(len(own), SOME)]
    found = [
        value
        for value, count in zip(values[counts > least].tolist(), counts[counts > least].tolist(), strict=True)
        if count > EXPECTED * len(targets) * (some == value).mean()
    ]
    return tuple(
        f"{_counted(numbers[targets == value], value)}, and hardly any others are equal: is that a code, or an "
        "end at which outcomes are cut off?"
        for value in found
    )
