"""At full replication what has passed is skipped the next time, so that a run that was stopped goes on where it was.

What has passed, and how long it took, is kept in pytest's cache together with a digest of the package and of these
tests; when one of them changes, or with ``--cache-clear``, everything is run again.
"""

import time
from datetime import timedelta
from hashlib import sha256
from pathlib import Path

import pytest

KEY = "statistical/passed"
ROOT = Path(__file__).resolve().parents[2]


def digest():
    """Of all sources that the results depend on."""
    files = [*ROOT.glob("caltest/**/*.py"), *ROOT.glob("tests/*.py"), *ROOT.glob("tests/statistical/*.py")]
    whole = sha256()
    for file in sorted(files):
        whole.update(str(file.relative_to(ROOT)).encode() + b"\0" + file.read_bytes() + b"\0")
    return whole.hexdigest()[:16]


class Progress:
    """What has passed at this digest, in this run and before."""

    def __init__(self, config):
        self.cache, self.start = config.cache, time.monotonic()
        stored = self.cache.get(KEY, {})
        fresh = {"digest": digest(), "passed": {}, "elapsed": 0.0}
        self.state = stored if stored.get("digest") == fresh["digest"] else fresh
        self.before, self.elapsed = set(self.state["passed"]), self.state["elapsed"]
        self.writes = not hasattr(config, "workerinput")

    def pytest_collection_modifyitems(self, items):
        for item in items:
            if item.nodeid in self.before and item.get_closest_marker("statistical"):
                item.add_marker(pytest.mark.skip(reason="passed before; --cache-clear runs it again"))

    def pytest_runtest_logreport(self, report):
        if self.writes and report.when == "call" and "statistical" in report.keywords:
            if report.passed:
                self.state["passed"][report.nodeid] = report.duration
            self.state["elapsed"] = self.elapsed + time.monotonic() - self.start
            self.cache.set(KEY, self.state)

    def pytest_terminal_summary(self, terminalreporter):
        durations = self.state["passed"]
        seconds = timedelta(seconds=round(sum(durations.values()))), timedelta(seconds=round(self.state["elapsed"]))
        terminalreporter.write_line(
            f"full replication: {len(durations)} tests have passed at {self.state['digest']} ({len(self.before)} of "
            f"them before this run), {seconds[0]} of tests in {seconds[1]} in all"
        )


def pytest_configure(config):
    if config.getoption("--full", default=False) and getattr(config, "cache", None) is not None:
        config.pluginmanager.register(Progress(config), "statistical-progress")
