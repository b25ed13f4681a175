"""A plugin of pytest that notes which lines of the package each test runs: ``-p reached --reached=FILE -n 0``.

Lines are those where statements inside of functions begin, but for compiled loops. ``--wanted=FILE`` runs the tests
that a file names, in its order.
"""

import ast
import builtins
import json
import sys
import time
from importlib.machinery import PathFinder, SourceFileLoader
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
COMPILED = ("caltest._loops", "caltest._basics.jit")
LINES, TESTS = set(), {}


def counted(tree, path):
    """A module whose functions note, before each statement, that it is run."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    for node in {node for function in functions for node in ast.walk(function)}:
        for name in ("body", "orelse", "finalbody"):
            if isinstance(block := getattr(node, name, None), list):
                block[:] = [new for statement in block for new in noted(statement, path)]
    return ast.fix_missing_locations(tree)


def noted(statement, path):
    """A statement after a note of it; docstrings stay first."""
    if not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)):
        yield from ast.parse(f"_run_(({path!r}, {statement.lineno}))").body
    yield statement


class Loader(SourceFileLoader):
    def get_code(self, fullname):
        path = Path(self.path)
        tree = counted(ast.parse(path.read_bytes()), path.relative_to(ROOT).as_posix())
        return compile(tree, self.path, "exec", dont_inherit=True)


class Finder(PathFinder):
    @classmethod
    def find_spec(cls, fullname, path=None, target=None):
        spec = None
        if fullname.split(".")[0] == "caltest" and not fullname.startswith(COMPILED):
            spec = super().find_spec(fullname, path, target)
            if spec and isinstance(spec.loader, SourceFileLoader):
                spec.loader = Loader(fullname, spec.origin)
        return spec


def pytest_addoption(parser):
    parser.addoption("--reached", type=Path, help="where to write the seconds and lines of every test")
    parser.addoption("--wanted", type=Path, help="a file with the names of the tests to run, in this order")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config):
    """Before the package is imported for the first time, by ``conftest.py``."""
    if early_config.known_args_namespace.reached:
        builtins._run_ = LINES.add
        sys.meta_path.insert(0, Finder)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    LINES.clear()
    start = time.process_time()
    result = yield
    files = {}
    for path, line in sorted(LINES):
        files.setdefault(path, []).append(line)
    TESTS[item.nodeid] = [round(time.process_time() - start, 4), files]
    return result


def pytest_collection_modifyitems(config, items):
    if wanted := config.getoption("--wanted"):
        places = {name: place for place, name in enumerate(json.loads(wanted.read_text()))}
        items[:] = sorted((item for item in items if item.nodeid in places), key=lambda item: places[item.nodeid])


def pytest_sessionfinish(session):
    if path := session.config.getoption("--reached"):
        path.write_text(json.dumps(TESTS))
