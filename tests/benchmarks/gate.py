"""Whether caltest has become slower or larger than it was: ``python -m tests.benchmarks.gate``.

Times of the rows of the table that take less than a second are divided by that of a loop that is timed next to them in
the same process, on one core, and compared with the ratios of ``baseline.json``; extra memory is compared as it is.
Rows are measured two at a time. One that is worse is measured again, alone, in fresh processes and fails if it is worse
in all of them: other programs and code compiled on the way can make one slow or large.
``--store`` measures rows and writes them into that file, when they are meant to change. Ratios to one loop differ by
up to 1.6 between kinds of processors: ``--widen``, on a machine of another kind, keeps what is there if it is larger.
"""

import argparse
import json
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from time import perf_counter, process_time

BASELINE = Path(__file__).with_name("baseline.json")
WORSE = 1.5
MEGABYTES = 2.0
"""Differences of memory below it are those of single pages and of what libraries keep."""

SHORT = 3.0
"""Seconds on one busy core of a row that takes less than a second on two."""

TRIES, MOST_PROCESSES = 3, 4
LOOPS = 3


def reference():
    """Seconds and seconds of the processor of the shortest of some loops: arithmetic on arrays and Python's own."""
    import numpy as np

    a = np.linspace(0.0, 1.0, 256 * 256).reshape(256, 256)

    def loop():
        for _ in range(4):
            np.exp(-np.abs(a - 0.5), out=a)
            a.dot(a)
            np.sort(a, axis=1)
        total = 0
        for i in range(50_000):
            total += i & 3

    def timed():
        start, processor = perf_counter(), process_time()
        loop()
        return {"seconds": perf_counter() - start, "processor": process_time() - processor}

    return min((timed() for _ in range(LOOPS)), key=lambda one: one["seconds"])


def best(answers):
    """Of the tries of one process: the shortest time in units of the shortest loop, in seconds, and the largest memory.

    Later tries find memory that the process has kept.

    Seconds are multiplied by the share of the processor that the loop got, so that other programs do not count while
    waiting does.
    """
    seconds, loops = [], []
    for answer in answers:
        loop = answer["reference"]
        share = min(1.0, loop["processor"] / loop["seconds"])
        seconds.append(max(min(answer["processor"], answer["seconds"]), answer["seconds"] * share))
        loops.append(loop["processor"])
    return min(seconds) / min(loops), min(seconds), max(answer["megabytes"] for answer in answers)


def worse(found, known):
    """What is worse than it was, in words, or an empty string."""
    (ratio, _, megabytes), (known_ratio, known_megabytes) = found, known
    if ratio > WORSE * known_ratio:
        return f"{ratio:.3g} loops of time, {ratio / known_ratio:.2f} times the {known_ratio:.3g} that it took"
    if megabytes > WORSE * known_megabytes + MEGABYTES:
        return f"{megabytes:.1f} MB of extra memory, where {known_megabytes:.1f} MB were enough"
    return ""


def tries(row, folder):
    """Time and memory of a row in a fresh process; one try is enough of a row that is too long for the baseline."""
    from .measure import Outcome, repetitions

    with ExitStack() as stack:
        call = repetitions(stack, Outcome(row.ours), True, {}, folder, reference=True)
        answers = [call()]
        if best(answers)[1] <= 4.0 * SHORT:
            answers += [call() for _ in range(TRIES - 1)]
    return best(answers)


def measured(row, folder, known, found=None):
    """The smallest time and memory of fresh processes: as many as it takes not to be worse than known, or all."""
    found = found or tries(row, folder)
    for _ in range(MOST_PROCESSES - 1):
        enough = found[1] > 4.0 * SHORT if known is None else not worse(found, known)
        if enough:
            break
        found = tuple(map(min, found, tries(row, folder)))
    return found


def two_at_a_time(rows, folder):
    """Time and memory of each row in one process, beside another row."""
    from concurrent.futures import ThreadPoolExecutor

    from .data import stored

    for row in rows:
        if row.ours.n:
            stored(folder, row.ours.n, row.ours.k)
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(tries, rows, [folder] * len(rows)))


def main(arguments=None):
    """Compare or store; 1 if a row is worse."""
    from .rows import ROWS

    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.gate", description=__doc__)
    parser.add_argument("--store", action="store_true", help="write the ratios of all rows that are short")
    parser.add_argument("--widen", action="store_true", help="write those that are larger than what is there")
    parser.add_argument("--rows", nargs="+", metavar="NAME", help="only these")
    options = parser.parse_args(arguments)
    storing = options.store or options.widen
    baseline = json.loads(BASELINE.read_text()) if BASELINE.exists() else {}
    asked = [row for row in ROWS if row.name in (options.rows or [row.name]) and not row.ours.cold]
    rows = asked if storing else [row for row in asked if row.name in baseline]
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        first = [None] * len(rows) if storing else two_at_a_time(rows, folder)
        for row, one in zip(rows, first, strict=True):
            known = None if storing else baseline[row.name]
            ratio, seconds, megabytes = found = measured(row, folder, known, one)
            print(f"{row.name:28} {ratio:8.3g} loops {1000 * seconds:8.3g} ms {megabytes:7.1f} MB", flush=True)
            if storing:
                before = baseline.pop(row.name, None)
                if seconds <= SHORT:
                    now = [round(ratio, 3), round(megabytes, 1)]
                    baseline[row.name] = list(map(max, now, before)) if options.widen and before else now
            elif message := worse(found, known):
                failures.append(f"FAILED {row.name}: {message}")
    if storing:
        BASELINE.write_text(json.dumps(baseline, indent=1) + "\n")
    print(*failures, sep="\n", end="\n" if failures else "")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
