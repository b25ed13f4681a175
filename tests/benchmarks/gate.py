"""Whether caltest has become slower or larger than it was: ``python -m tests.benchmarks.gate``.

Times of the rows of the table that take less than a second are divided by that of a loop that is timed next to them in
the same process, on one core, and compared with the ratios of ``baseline.json``; extra memory is compared as it is.
``--store`` measures all rows and writes that file: on a machine of another kind, or when a row is meant to change.
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

TRIES, MOST_TRIES = 3, 12
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
    """The shortest time of a row in units of the shortest loop, in seconds, and the largest extra memory.

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


def measured(row, folder, known):
    """Tries of a row, more of them as long as it is worse than known."""
    from .measure import Outcome, repetitions

    with ExitStack() as stack:
        outcome = Outcome(row.ours)
        call = repetitions(stack, outcome, True, {}, folder, reference=True)
        answers = [call()]
        if known is None and best(answers)[1] > 4.0 * SHORT:
            return best(answers)
        answers += [call() for _ in range(TRIES - 1)]
        while known is not None and worse(best(answers), known) and len(answers) < MOST_TRIES:
            answers.append(call())
    return best(answers)


def main(arguments=None):
    """Compare or store; 1 if a row is worse."""
    from .rows import ROWS

    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.gate", description=__doc__)
    parser.add_argument("--store", action="store_true", help="write the ratios of all rows that are short")
    parser.add_argument("--rows", nargs="+", metavar="NAME", help="only these")
    options = parser.parse_args(arguments)
    baseline = json.loads(BASELINE.read_text()) if BASELINE.exists() else {}
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        for row in ROWS:
            chosen = row.name in (options.rows or [row.name])
            if not chosen or row.ours.cold or (not options.store and row.name not in baseline):
                continue
            known = None if options.store else baseline[row.name]
            ratio, seconds, megabytes = found = measured(row, folder, known)
            print(f"{row.name:28} {ratio:8.3g} loops {1000 * seconds:8.3g} ms {megabytes:7.1f} MB", flush=True)
            if options.store:
                baseline.pop(row.name, None)
                if seconds <= SHORT:
                    baseline[row.name] = [round(ratio, 3), round(megabytes, 1)]
            elif message := worse(found, known):
                failures.append(f"FAILED {row.name}: {message}")
    if options.store:
        BASELINE.write_text(json.dumps(baseline, indent=1) + "\n")
    print(*failures, sep="\n", end="\n" if failures else "")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
