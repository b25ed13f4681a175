"""The snippets of every page run, in the order of the page, and print what the page shows below them.

``python -m pytest -n 0 docs/test_pages.py``. Snippets in Python share their names; of those for the shell, the lines
that begin with ``caltest`` run.
"""

import contextlib
import importlib
import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from public import PUBLIC

DOCS = Path(__file__).parent
PAGES = sorted(path for folder in (DOCS, DOCS / "how-to") for path in folder.glob("*.md"))
SNIPPET = re.compile(r"```(python|sh)\n(.*?)```(?:\n\n```text\n(.*?)```)?", re.S)
SNIPPETS = {path: SNIPPET.findall(path.read_text()) for path in PAGES}


@pytest.mark.parametrize("page", [path for path in PAGES if SNIPPETS[path]], ids=lambda path: path.stem)
def test_snippets_run_and_print_what_is_shown(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    for language, code, shown in SNIPPETS[page]:
        printed = run_python(code, names) if language == "python" else run_shell(code)
        if shown or language == "python":
            assert printed == shown


def run_python(code, names):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, names)
    return printed.getvalue()


def run_shell(code):
    commands = [line for line in code.splitlines() if line.startswith("caltest ")]
    for command in commands:
        printed = subprocess.run(
            [sys.executable, "-m", *shlex.split(command)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert printed.returncode == 0, printed.stderr
    return printed.stdout if commands else ""


def test_sizes_are_those_that_are_checked():
    """The table of ``validity.md`` has the rates that ``tests/statistical`` holds."""
    from tests.statistical.worst_sizes import STATED

    rows = re.findall(r"^\| (.+?) \| ([\d.]+) % \| (.+?) \|$", (DOCS / "validity.md").read_text(), re.M)
    assert {name: (float(rate), where) for name, rate, where in rows} == {
        name: (round(100 * rate, 1), where) for name, (rate, where) in STATED.items()
    }


def test_every_public_name_is_in_the_reference_once(monkeypatch):
    monkeypatch.syspath_prepend(DOCS)
    reference = importlib.import_module("reference")
    public = sorted(f"caltest.{name}" for name in PUBLIC)
    assert public == sorted(name for _, names in reference.pages().values() for name in names)
