"""Repetitions of the implementations of a row in turn, each in a process that waits for the others."""

import json
import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from time import sleep

from .data import stored
from .sides import Side

TESTS = Path(__file__).resolve().parents[1]
PAUSE = 0.3
"""Seconds between repetitions: threads of libraries for matrix products spin on for a while in a process that waits."""

ONE_CORE = dict.fromkeys(["OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS"], "1")


class Failed(Exception):
    """An implementation broke."""


@dataclass
class Outcome:
    """What was measured of an implementation, or why nothing was."""

    side: Side
    answers: list[dict] = field(default_factory=list)
    skipped: str = ""

    @property
    def seconds(self):
        """Median of the repetitions, or the time recorded elsewhere."""
        return self.side.times * median(a["seconds"] for a in self.answers) if self.answers else self.side.recorded

    @property
    def megabytes(self):
        """Largest of the repetitions: later ones find memory that the process has kept."""
        return max((answer["megabytes"] for answer in self.answers), default=None)

    @property
    def values(self):
        return self.answers[0]["values"] if self.answers else {}


def measure(row, repeats, pythons, folder):
    """Outcomes of caltest and of the others, repetition by repetition in turn: the machine is the same for all."""
    outcomes = [Outcome(side) for side in (row.ours, *row.others)]
    with ExitStack() as stack:
        calls = [(outcome, repetitions(stack, outcome, row.one_core, pythons, folder)) for outcome in outcomes]
        for _ in range(repeats):
            for outcome, call in calls:
                if not outcome.skipped:
                    sleep(PAUSE)
                    outcome.answers.append(call())
    return outcomes


def repetitions(stack, outcome, one_core, pythons, folder, reference=False):
    """A function that runs a repetition; None, and the reason in the outcome, if the implementation is not here."""
    side = outcome.side
    if side.peer and side.peer not in pythons:
        outcome.skipped = f"{side.peer} has no interpreter in --pythons"
        return None
    python = pythons[side.peer] if side.peer else sys.executable
    files = stored(folder, side.n, side.k) if side.n else []

    def start():
        return _worker(side, files, python, ONE_CORE if one_core else {}, reference)

    if side.fresh:
        if not side.cold:
            with start() as worker:
                worker()  # Compiled code is on disk from here on.
        return lambda: _once(start)
    try:
        return stack.enter_context(start())
    except (ModuleNotFoundError, FileNotFoundError) as error:
        outcome.skipped = str(error)
        return None


def _once(start):
    with start() as worker:
        return worker()


@contextmanager
def _worker(side, files, python, environment, reference):
    """A process that is ready to measure, as a function that runs a repetition in it."""
    order = {
        "module": side.module,
        "function": side.function,
        "settings": side.settings,
        "files": files,
        "warm_up": not side.fresh,
        "of_draws": side.of_draws,
        "reference": reference,
    }
    command = [python, "-m", "benchmarks.worker", json.dumps(order)]
    with ExitStack() as stack:
        log = stack.enter_context(tempfile.TemporaryFile("w+"))
        paths = {"PYTHONPATH": os.pathsep.join([str(TESTS), str(TESTS.parent)])}
        if side.cold:
            paths["NUMBA_CACHE_DIR"] = stack.enter_context(tempfile.TemporaryDirectory())
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": log, "text": True}
        process = stack.enter_context(subprocess.Popen(command, env=os.environ | paths | environment, **pipes))
        ready = _answer(process, log, side)
        if "skipped" in ready:
            raise ModuleNotFoundError(ready["skipped"])

        def repetition():
            process.stdin.write("\n")
            process.stdin.flush()
            return _answer(process, log, side)

        yield repetition


def _answer(process, log, side):
    line = process.stdout.readline()
    if not line:
        process.wait()
        log.seek(0)
        raise Failed(f"{side.name}, {side.function}: {log.read()[-2000:]}")
    return json.loads(line)
