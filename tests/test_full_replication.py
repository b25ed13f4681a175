"""A run of the statistical tests at full replication that goes on where it stopped."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

from grids import full

HERE = Path(__file__).parent
TESTS = """
import pathlib
import pytest

pytestmark = pytest.mark.statistical


@pytest.mark.parametrize("n", range(3))
def test_one(n):
    assert n != 1 or pathlib.Path("mended").exists()
"""
SETTINGS = "[pytest]\nmarkers = statistical\n"


@full
def test_what_passed_is_skipped_until_the_sources_change(tmp_path):
    (tmp_path / "tests/statistical").mkdir(parents=True)
    (tmp_path / "caltest").mkdir()
    for name in ("conftest.py", "statistical/conftest.py"):
        shutil.copy(HERE / name, tmp_path / "tests" / name)
    (tmp_path / "tests/statistical/test_it.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text(SETTINGS)

    def run(*options):
        command = [sys.executable, "-m", "pytest", "tests/statistical", "-p", "no:hypothesispytest", *options]
        out = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True).stdout
        counts = {
            word: int(number) for number, word in re.findall(r"(\d+) (passed|failed|skipped)", out.splitlines()[-1])
        }
        return counts, re.findall(r"full replication: (\d+) tests have passed at \w+ \((\d+) of them", out)

    assert run("--full", "-n", "2") == ({"passed": 2, "failed": 1}, [("2", "0")])
    (tmp_path / "mended").touch()
    assert run("--full") == ({"skipped": 2, "passed": 1}, [("3", "2")])
    (tmp_path / "caltest/new.py").write_text("changed = True\n")
    assert run("--full") == ({"passed": 3}, [("3", "0")])
