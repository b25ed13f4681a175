"""How evidence against calibration grew with time, and in which quarters of the time predictions are wrong."""

from itertools import pairwise

import numpy as np

from caltest._basics.numerics import IntArray
from caltest._results.calibration_test_result import CalibrationTestResult
from caltest._results.measures import matters
from caltest._results.report import counted, listed
from caltest._validation.groups import Groups
from caltest.auditing.groups import FEWEST, compared, is_far, rows_of_groups, said_to_matter, told_in
from caltest.auditing.pictures import drawn
from caltest.auditing.section import LEVEL, Data, Section

QUARTERS = "first quarter", "second quarter", "third quarter", "last quarter"
"""Parts of the rows in the order of time."""


def of_time(data: Data, result: CalibrationTestResult) -> Section:
    """Evidence as it grows with time, with a valid alarm at any time, and when an error is there that is found."""
    from caltest.group_test import calibration_by_group
    from caltest.sequential.independence import serial_correlation
    from caltest.sequential.sequential_test import SequentialCalibrationTest

    if data.order is None:
        raise ValueError("the order in time is not known; give time=")
    ordered = data.sample.take(data.order)
    found = SequentialCalibrationTest().update(ordered.predictions, ordered.as_given).result()
    first = found.first_rejection(LEVEL)
    answer = (
        "There was no alarm: the evidence against calibration stayed below 20, which calibrated predictions ever reach "
        "with a probability of at most 5 %."
        if first is None
        else f"There was an alarm at the 5 % level after {first} of {counted(found.n, 'observation')} in the order of "
        f"time ({data.time_at(first - 1)})."
    )
    facts: dict[str, str] = {}
    serial = serial_correlation(ordered, 1)
    if serial is not None:
        answer += f" Apart from that, {serial.words}."
    rows: tuple[tuple[str, ...], ...] = ()
    quarters: dict[str, IntArray] = {}
    grave: dict[str, IntArray] = {}
    unclear = list[str]()
    alarm = f"in the order of time, after {first} of {counted(found.n, 'observation')}"
    alarm += "" if first is None else f" ({data.time_at(first - 1)})"
    is_new = result.pvalue > LEVEL
    where = "" if first is None or not is_new else alarm
    if (where or not is_new) and len(ordered) >= len(QUARTERS) * FEWEST:
        parts = tuple(np.sort(part) for part in np.array_split(data.order, len(QUARTERS)))
        by_time = calibration_by_group(*data.pair, Groups(QUARTERS, parts, len(ordered)), **data.settings)
        in_order = sorted(by_time.groups, key=lambda one: QUARTERS.index(one.name))
        rows = rows_of_groups(by_time, in_order, data.sample)
        ends = np.cumsum([0, *(part.size for part in parts)])
        spans = (f"{data.time_at(i)} to {data.time_at(j - 1)}" for i, j in pairwise(ends))
        facts["Quarters"] = "of the rows; " + "; ".join(
            f"{one} {span}" for one, span in zip(QUARTERS, spans, strict=True)
        )
        some = [name for name in QUARTERS if name in by_time.rejected(LEVEL)]
        these = "none" if not some else "all" if len(some) == len(QUARTERS) else f"the {listed(some)}"
        answer += f" Of the quarters in that order calibration is rejected in {these}."
        answer += compared(by_time, "quarters", data.sample)
        of_names = {name: part for name, part in zip(QUARTERS, parts, strict=True) if name in some}
        known, unclear = told_in(data.sample, of_names)
        unclear = [f"the {one.name}" for one in by_time.groups if one.name in unclear and is_far(one, by_time.margin)]
        grave = {f"the {name}": data.in_all(of_names[name]) for name in known}
        quarters = {f"the {name}": data.in_all(part) for name, part in zip(QUARTERS, parts, strict=True)}
        # Quarters are small: that several are rejected and others are not is often chance.
        if not is_new and (len(some) == 1 or (grave and not matters(result.measures))):
            where = f"in {these} {'quarters ' * (these == 'all')}of the rows in the order of time"
        if where and (is_new or len(some) > 1):
            where += said_to_matter(list(grave), [f"the {name}" for name in some if not is_new])
    pictures, sources = (
        drawn(found.plot, "evidence against calibration after each observation", (6.5, 3.2)),
        found.citations,
    )
    return Section(
        answer,
        facts,
        rows,
        rejected=where,
        parts=quarters,
        grave=grave,
        unclear=tuple(unclear),
        pictures=pictures,
        citations=sources,
    )
