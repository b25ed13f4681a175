"""In which slices of the features predictions are wrong."""

import numpy as np

from caltest._results.calibration_test_result import CalibrationTestResult
from caltest._results.measures import judged
from caltest._results.report import counted
from caltest._results.tables import sharper
from caltest.auditing.groups import grave_in, in_parts, said_to_matter
from caltest.auditing.section import LEVEL, Data, Section

SLICES = 12
"""Slices that are shown."""


def of_slices(data: Data, result: CalibrationTestResult) -> Section:
    """Parts of the features, and of pairs of them, in which predictions are wrong."""
    from caltest.slices.search import find_slices

    if data.features is None:
        raise ValueError("there are no features; give features=a table")
    found = find_slices(*data.pair, data.features, alpha=LEVEL, **data.settings)
    said = found.verdict()
    number = counted(found.n_slices, "slice") + (" was" if found.n_slices == 1 else " were")
    answer = f"{said[0].upper()}{said[1:]}; {number} searched; the level holds for all together."
    facts = {"Difference": "observed less claimed, in percentage points; all intervals hold together with 95 %"}
    if found.power:
        facts["Power"] = f"errors of {found.power}, the median size, are found in 80 % of data sets"
    apart = sharper(found.bars())
    if apart:
        facts["P-values"] = apart[0]
    if more := [one for one in found.remarks()[1:] if one not in apart]:
        facts["Columns"] = "; ".join(more)
    some = {one: np.flatnonzero(found.mask(i)) for i, one in enumerate(found.rejected(LEVEL)) if one.n < found.n}
    names = [one.name for one in some]
    # Slices compare shares.
    margin = max((one.margin for one in judged(result.measures) if one.unit != "%"), default=0.0)
    # Of many slices the worst look worse than they are, but for intervals that hold together.
    far = {one.name: rows for one, rows in some.items() if max(one.interval.low, -one.interval.high) > margin}
    grave = grave_in(data.sample, far)
    where = in_parts(names, found.n_slices, "slices")
    where += said_to_matter(grave, names)
    table = tuple(map(tuple, found.table()[: 1 + SLICES]))
    of_all = {name: data.in_all(far[name]) for name in grave}
    unclear = tuple(one.name for one in some if abs(one.observed - one.claimed) > margin and one.name not in grave)
    return Section(answer, facts, table, rejected=where, grave=of_all, unclear=unclear, citations=found.citations)
