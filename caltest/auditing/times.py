"""How evidence against calibration grew with time, and in which quarters of the time predictions are wrong."""

from functools import partial
from itertools import pairwise

import numpy as np

from caltest._basics.numerics import IntArray
from caltest._results.calibration_test_result import CalibrationTestResult
from caltest._results.measures import matters
from caltest._results.report import counted, listed
from caltest._validation.groups import Groups
from caltest.auditing.groups import FEWEST, compared, rows_of_groups, said_to_matter, told_of
from caltest.auditing.pictures import drawn
from caltest.auditing.section import LEVEL, Data, Section

QUARTERS = "first quarter", "second quarter", "third quarter", "last quarter"
"""Parts of the rows in the order of time."""


HALF = LEVEL / 2.0
"""Level of the alarm, and of all quarters together."""


def of_time(data: Data, result: CalibrationTestResult) -> Section:
    """Evidence as it grows with time, with a valid alarm at any time, and when an error is there that is found."""
    from caltest.group_test import calibration_by_group
    from caltest.sequential.sequential_test import SequentialCalibrationTest, serial_correlation

    if data.order is None:
        raise ValueError("the order in time is not known; give time=")
    ordered = data.sample.take(data.order)
    found = SequentialCalibrationTest().update(ordered.predictions, ordered.as_given).result()
    first, level = found.first_rejection(HALF), f"{100.0 * HALF:g} %"
    after = "" if first is None else f"{first} of {counted(found.n, 'observation')}"
    when = "" if first is None else f"at time {data.time_at(first - 1)}"
    answer = (
        f"There was no alarm: the evidence against calibration stayed below {1.0 / HALF:g}, which calibrated "
        f"predictions ever reach with a probability of at most {level}."
        if first is None
        else f"There was an alarm at the {level} level after {after} in the order of time ({when})."
    )
    facts: dict[str, str] = {}
    serial = serial_correlation(ordered, 1)
    if serial is not None:
        answer += f" Apart from that, {serial.words}."
    rows: tuple[tuple[str, ...], ...] = ()
    quarters: dict[str, IntArray] = {}
    grave: dict[str, IntArray] = {}
    unclear = list[str]()
    is_new = result.pvalue > LEVEL
    where = "" if first is None or not is_new else f"in the order of time, after {after} ({when})"
    if len(ordered) >= len(QUARTERS) * FEWEST:
        parts = tuple(np.sort(part) for part in np.array_split(data.order, len(QUARTERS)))
        by_time = calibration_by_group(*data.pair, Groups(QUARTERS, parts, len(ordered)), **data.settings)
        in_order = sorted(by_time.groups, key=lambda one: QUARTERS.index(one.name))
        rows = rows_of_groups(by_time, in_order, data.sample)
        ends = np.cumsum([0, *(part.size for part in parts)])
        spans = (f"{data.time_at(i)} to {data.time_at(j - 1)}" for i, j in pairwise(ends))
        facts["Quarters"] = "of the rows; " + "; ".join(
            f"{one} {span}" for one, span in zip(QUARTERS, spans, strict=True)
        )
        some = [name for name in QUARTERS if name in by_time.rejected(HALF)]
        these = "none" if not some else "all" if len(some) == len(QUARTERS) else f"the {listed(some)}"
        answer += f" Of the quarters of the rows in that order calibration is rejected in {these} at the {level} level."
        answer += compared(by_time, "quarters", data.sample)
        of_names = {name: part for name, part in zip(QUARTERS, parts, strict=True) if name in some}
        known, far = told_of(by_time, data.sample, of_names)
        unclear = [f"the {name}" for name in far]
        grave = {f"the {name}": data.in_all(of_names[name]) for name in known}
        quarters = {f"the {name}": data.in_all(part) for name, part in zip(QUARTERS, parts, strict=True)}
        # Quarters are small: that several are rejected and others are not is often chance.
        if some and (is_new or len(some) == 1 or (grave and not matters(result.measures))):
            place = f"in {these} {'quarters ' * (these == 'all')}of the rows in the order of time"
            place += f" (with an alarm after {after}, {when})" if where and first else ""
            where = place
        if where and (is_new or len(some) > 1):
            where += said_to_matter(list(grave), [f"the {name}" for name in some if not is_new])
    pictures, sources = (
        drawn(partial(found.plot, alpha=HALF), "evidence against calibration after each observation", (6.5, 3.2)),
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
