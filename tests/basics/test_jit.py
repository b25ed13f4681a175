import builtins
import importlib
import os
import pkgutil
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import caltest._loops
from caltest._basics import jit

LOOP = "from caltest._basics.jit import jit\n{}\n@jit\ndef {}(x):\n    return {}\n"
CALL = "from caltest._loops.outer import outer; print(outer(1), sum(outer.stats.cache_hits.values()))"


@pytest.fixture
def package(tmp_path):
    """A package with two loops, one of which calls the other."""
    loops = tmp_path / "caltest" / "_loops"
    loops.mkdir(parents=True)
    basics = loops.with_name("_basics")
    basics.mkdir()
    for name in ("__init__.py", "jit.py", "numerics.py"):
        shutil.copy(Path(jit.__file__).with_name(name), basics)
    (loops.parent / "__init__.py").touch()
    (loops / "__init__.py").touch()
    (loops / "inner.py").write_text(LOOP.format("", "inner", "x + 1"))
    (loops / "outer.py").write_text(LOOP.format("from caltest._loops.inner import inner", "outer", "10 * inner(x)"))
    return tmp_path


def run(folder, code=CALL, **variables):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA")} | {"PYTHONPATH": str(folder)}
    options = {"cwd": folder, "env": environment | variables, "capture_output": True, "text": True, "timeout": 300}
    return subprocess.run([sys.executable, "-c", code], **options, check=True).stdout.strip()


@pytest.mark.full
def test_machine_code_is_kept_until_any_loop_changes(package):
    assert run(package) == "20 0"
    assert run(package) == "20 1"
    (package / "caltest/_loops/inner.py").write_text(LOOP.format("", "inner", "x + 2"))
    assert run(package) == "30 0"
    assert run(package) == "30 1"


TWO = """from caltest._basics.jit import jit


def adder(k):
    @jit
    def add(x):
        return x + k

    return add


one, two = adder(1), adder(2)
"""


@pytest.mark.full
def test_loops_that_are_made_alike_are_told_apart(package):
    """Numba numbers loops in the order of a process: two of one name, kept by two processes, can have one number."""
    (package / "caltest/_loops/inner.py").write_text(TWO)
    outer = LOOP.format("from caltest._loops.inner import one, two", "outer", "10 * one(x) + two(x)")
    (package / "caltest/_loops/outer.py").write_text(outer)
    for name in ("one", "two"):
        run(package, f"from caltest._loops.inner import {name}; {name}(1)")
    assert run(package) == "23 0"
    assert run(package) == "23 1"


def test_no_two_loops_have_one_name():
    """Symbols of machine code are told apart by modules, names and types of arguments."""
    modules = [
        importlib.import_module(one.name) for one in pkgutil.walk_packages(caltest._loops.__path__, "caltest._loops.")
    ]
    values = [value for module in modules for value in vars(module).values()]
    values += [one for value in values if isinstance(value, tuple) for one in value]
    loops = {id(value): value.py_func for value in values if hasattr(value, "py_func")}.values()
    names = Counter((loop.__module__, loop.__qualname__) for loop in loops)
    assert len(names) > 100
    assert [name for name, number in names.items() if number > 1] == []


@pytest.mark.full
def test_damaged_machine_code_is_made_again(package):
    run(package)
    for path in package.rglob("outer*.nb?"):
        path.write_bytes(path.read_bytes()[:-20])
    assert run(package) == "20 0"


def test_loops_compile_where_nothing_can_be_cached(monkeypatch):
    """Numba refuses to cache where neither the package's nor the user's folder can be written to."""

    def refuse(function):
        raise RuntimeError("cannot cache function")

    monkeypatch.setattr(jit, "FunctionCache", refuse)
    assert jit.jit(lambda x: x + 1)(1) == 2


@pytest.mark.parametrize("threads", ["0", "-1", " -3 "])
def test_no_threads_stand_for_one(threads, monkeypatch):
    monkeypatch.setenv("NUMBA_NUM_THREADS", threads)
    with jit._one_thread_at_least():
        assert os.environ["NUMBA_NUM_THREADS"] == "1"
    assert os.environ["NUMBA_NUM_THREADS"] == threads


@pytest.mark.parametrize("threads", ["2", "", "many"])
def test_other_numbers_of_threads_are_left_to_numba(threads, monkeypatch):
    monkeypatch.setenv("NUMBA_NUM_THREADS", threads)
    with jit._one_thread_at_least():
        assert os.environ["NUMBA_NUM_THREADS"] == threads


def test_import_with_no_threads():
    code = "import caltest; from caltest._basics.threads import n_threads; print(n_threads())"
    assert run(Path(jit.__file__).parents[2], code, NUMBA_NUM_THREADS="-1") == "1"


def test_code_that_is_written_at_once_is_kept_apart(monkeypatch, tmp_path):
    """Another process saves at some step of writing, and reads at all later ones: nothing but what was written."""

    def inner(x):
        return x

    code = {"mine": "my code", "other": "other code" * 1000}
    steps, n_saves = 0, 0

    def stepping(function, save_at):
        def call(*arguments, **options):
            nonlocal steps, n_saves
            if not busy:
                steps += 1
                busy.append(True)
                if steps == save_at:
                    others.save("other", code["other"])
                    n_saves += 1
                if steps >= save_at:
                    assert all(others.load(key) in (code[key], None) for key in code)
                busy.clear()
            return function(*arguments, **options)

        return call

    for save_at in range(1, 6):
        folder, steps, busy = tmp_path / str(save_at), 0, []
        folder.mkdir()
        mine, others = (jit._Cache(inner).on_disk._cache_file for _ in range(2))
        for files in (mine, others):
            files._cache_path, files._index_path = str(folder), str(folder / files._index_name)
        with monkeypatch.context() as patch:
            for module, name in ((builtins, "open"), (os, "replace")):
                patch.setattr(module, name, stepping(getattr(module, name), save_at))
            mine.save("mine", code["mine"])
        assert mine.load("mine") == code["mine"]
        assert others.load("other") == (code["other"] if steps >= save_at else None)
    assert n_saves > 1, "steps of numba are not seen"


def test_code_of_older_sources_is_not_read_where_writing_broke_off(monkeypatch, tmp_path):
    def inner(x):
        return x

    files = {}
    for source in ("older", "newer"):
        monkeypatch.setattr(jit, "_digest", lambda source=source: source)
        files[source] = jit._Cache(inner).on_disk._cache_file
        files[source]._cache_path, files[source]._index_path = str(tmp_path), str(tmp_path / "index.nbi")
    files["older"].save("signature", "older code")
    assert files["older"].load("signature") == "older code"

    def fail(*_):
        raise OSError("no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(files["newer"], "_save_data", fail)
        with pytest.raises(OSError, match="no space"):
            files["newer"].save("signature", "newer code")
    assert files["newer"].load("signature") is None


def test_code_of_older_sources_and_of_another_signature_is_removed_or_refused(monkeypatch, tmp_path):
    files = {}
    for source in ("older", "newer"):
        monkeypatch.setattr(jit, "_digest", lambda source=source: source)
        files[source] = jit._Cache(test_no_threads_stand_for_one).on_disk._cache_file
        files[source]._cache_path = str(tmp_path)
        files[source].save(1, source)
    assert files["older"].load(1) is None
    assert files["newer"].load(1) == "newer"
    (written,) = tmp_path.iterdir()
    written.rename(tmp_path / files["newer"]._file(2))
    assert files["newer"].load(2) is None
    files["newer"].flush()
    assert not list(tmp_path.iterdir())
