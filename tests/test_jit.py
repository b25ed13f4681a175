import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from caltest import _jit

LOOP = "from caltest._jit import jit\n{}\n@jit\ndef {}(x):\n    return {}\n"
CALL = "from caltest._loops.outer import outer; print(outer(1), sum(outer.stats.cache_hits.values()))"


@pytest.fixture
def package(tmp_path):
    """A package with two loops, one of which calls the other."""
    loops = tmp_path / "caltest" / "_loops"
    loops.mkdir(parents=True)
    for name in ("_jit.py", "_types.py"):
        shutil.copy(Path(_jit.__file__).with_name(name), loops.parent)
    (loops.parent / "__init__.py").touch()
    (loops / "__init__.py").touch()
    (loops / "inner.py").write_text(LOOP.format("", "inner", "x + 1"))
    (loops / "outer.py").write_text(LOOP.format("from caltest._loops.inner import inner", "outer", "10 * inner(x)"))
    return tmp_path


def run(folder, code=CALL, **variables):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA")} | {"PYTHONPATH": str(folder)}
    options = {"cwd": folder, "env": environment | variables, "capture_output": True, "text": True, "timeout": 300}
    return subprocess.run([sys.executable, "-c", code], **options, check=True).stdout.strip()


def test_machine_code_is_kept_until_any_loop_changes(package):
    assert run(package) == "20 0"
    assert run(package) == "20 1"
    (package / "caltest/_loops/inner.py").write_text(LOOP.format("", "inner", "x + 2"))
    assert run(package) == "30 0"
    assert run(package) == "30 1"


def test_damaged_machine_code_is_made_again(package):
    run(package)
    for path in package.rglob("outer*.nb?"):
        path.write_bytes(path.read_bytes()[:-20])
    assert run(package) == "20 0"


def test_loops_compile_where_nothing_can_be_cached(monkeypatch):
    """Numba refuses to cache where neither the package's nor the user's folder can be written to."""

    def refuse(function):
        raise RuntimeError("cannot cache function")

    monkeypatch.setattr(_jit, "_Cache", refuse)
    assert _jit.jit(lambda x: x + 1)(1) == 2


@pytest.mark.parametrize("threads", ["0", "-1"])
def test_no_threads_stand_for_one(threads):
    code = "import caltest; from caltest._threads import n_threads; print(n_threads())"
    assert run(Path(_jit.__file__).parents[1], code, NUMBA_NUM_THREADS=threads) == "1"
