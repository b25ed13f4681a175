"""Small changes of meaning that the tests must notice: ``python tests/mutations.py``.

So many changes are drawn by a seed, evenly over the folders of the package. Each is made alone in a copy of the
repository, where the doctests and tests of the changed file run, then all tests that run the changed statement, until
one fails or takes many times as long. What was found is kept in ``build/mutations.jsonl``; the next run goes on where
this one stopped, and tries what survived again. Survivors are listed at the end: each asks for a test, or changes
nothing that a user can see.
"""

import argparse
import ast
import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from importlib.util import cache_from_source
from pathlib import Path
from queue import Queue
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PYTEST = [sys.executable, "-m", "pytest", "-n", "0", "-p", "no:cacheprovider", "-m", "not statistical", "-q"]
LOOPS = "caltest/_loops"
FEW = 3
"""Files of tests that are tried before all others."""
LONGEST = 400
"""Seconds of processor time for one run of tests, beyond which a change has been noticed."""
SKIPPED = re.compile(r"_types|_warnings|_jit|_jobs|_threads|_progress|__main__|__init__|make_digits")
"""Files of the machinery, without arithmetic."""
SPEED = re.compile(r"chunk|bytes|memory|cache|n_jobs|AT_ONCE|PART\b|ROWS\b|TILE\b|STRIP\b|NUMBERS\b|SHOWN|PREPARED")
"""Lines that decide what is done at once and how much is shown, not what comes out."""

PAIRS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
PAIRS |= {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
NAMES = {"min": "max", "minimum": "maximum", "argmin": "argmax", "any": "all", "floor": "ceil", "cdf": "sf"}
NAMES |= {other: name for name, other in NAMES.items()}
TINY = 1e-5
"""Smaller constants stand for rounding errors."""
REAL = {"float", "FloatArray", "Array"}


class Change(NamedTuple):
    """A change of a file: what stands at some place, and what is put there."""

    path: str
    line: int
    column: int
    start: int
    end: int
    old: str
    new: str

    def __str__(self):
        return f"{self.path}:{self.line}:{self.column}: {self.old} -> {self.new}"


def replacements(node, parents):
    """Code that may stand for a node, of another meaning."""
    if isinstance(node, ast.BinOp) and type(node.op) in PAIRS and not is_text(node):
        yield ast.BinOp(node.left, PAIRS[type(node.op)](), node.right)
        if isinstance(node.op, (ast.Add, ast.Sub)):
            yield node.left
    elif isinstance(node, ast.Compare) and type(node.ops[0]) in PAIRS:
        yield ast.Compare(node.left, [PAIRS[type(node.ops[0])](), *node.ops[1:]], node.comparators)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node.operand
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float) and not 0 < abs(node.value) < TINY:
        yield ast.Constant(other_constant(node.value, parents[0]))
    elif isinstance(parents[0], ast.Call) and node is parents[0].func:
        if isinstance(node, ast.Name) and node.id in NAMES:
            yield ast.Name(NAMES[node.id])
        elif isinstance(node, ast.Attribute) and node.attr in NAMES:
            yield ast.Attribute(node.value, NAMES[node.attr])


def other_constant(value, parent):
    """An axis or ``ddof`` among 0 and 1, another number by one or by half."""
    if isinstance(parent, ast.keyword) and parent.arg in ("axis", "ddof"):
        return 0 if value else 1
    return 1.5 * value if isinstance(value, float) and value else value + 1


def is_text(node):
    return any(isinstance(one, ast.JoinedStr) or isinstance(getattr(one, "value", None), str) for one in ast.walk(node))


def candidates(node, source, path, parents=(None,)):
    """All changes below a node, save in annotations, messages and texts."""
    if isinstance(node, (ast.Raise, ast.JoinedStr, ast.Import, ast.ImportFrom, ast.Assert)):
        return
    if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("warn", "Error", "cite", "sentence")):
        return
    if isinstance(node, (ast.expr, ast.stmt)) and node.lineno == node.end_lineno:
        start, end = place(node, source)
        line = source.splitlines()[node.lineno - 1]
        if not SPEED.search(line):
            at, old = (path, node.lineno, node.col_offset, start, end), source[start:end]
            texts = [] if "plots" in path and isinstance(node, ast.Constant) else replacements(node, parents)
            for new in texts:
                yield Change(*at, old, f"({ast.unparse(new)})")
            if isinstance(node, ast.Return) and node.value and returns_numbers(parents):
                yield Change(*at, old, f"return 1.01 * ({ast.unparse(node.value)})")
    for field, value in ast.iter_fields(node):
        if field not in ("annotation", "returns", "decorator_list", "slice"):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from candidates(child, source, path, (node, *parents))


def returns_numbers(parents):
    function = next((one for one in parents if isinstance(one, (ast.FunctionDef, ast.Lambda))), None)
    return isinstance(function, ast.FunctionDef) and function.returns and ast.unparse(function.returns) in REAL


def place(node, source):
    """Where a node that lies on one line begins and ends in the source."""
    lines = source.splitlines(keepends=True)
    before, line = sum(map(len, lines[: node.lineno - 1])), lines[node.lineno - 1].encode()
    return tuple(before + len(line[:column].decode()) for column in (node.col_offset, node.end_col_offset))


def drawn(number, seed, wanted):
    """So many changes, in turn from every folder; what one folder gives does not depend on the others."""
    folders = {}
    for path in sorted((ROOT / "caltest").rglob("*.py")):
        name, home = path.relative_to(ROOT).as_posix(), path.parent.relative_to(ROOT / "caltest").as_posix()
        if not SKIPPED.search(name) and (not wanted or home in wanted):
            source = path.read_text()
            changes = [one for one in candidates(ast.parse(source), source, name) if one.old != one.new]
            folders.setdefault(home, []).extend(changes)
    for home, changes in folders.items():
        random.Random(f"{seed} {home}").shuffle(changes)
    chosen, waiting = [], [one for one in folders.values() if one]
    while waiting and len(chosen) < number:
        chosen += [changes.pop() for changes in waiting][: number - len(chosen)]
        waiting = [one for one in waiting if one]
    return chosen


class Tests:
    """The tests that run a line of the package, from a record that the first run makes of all."""

    def __init__(self, path, seconds):
        self.path, self.seconds = path, seconds
        if not path.exists():
            print("Recording which tests run which lines, in the time of all tests.", flush=True)
            environment = os.environ | {"PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "tests")))}
            command = [*PYTEST, "-p", "reached", f"--reached={path}"]
            subprocess.run(command, cwd=ROOT, env=environment, check=False, stdout=subprocess.DEVNULL)
        self.reached = json.loads(path.read_text())

    def near(self, path):
        """The file of tests that has the name of a file of the package, or those that reach it in the same folder."""
        *folders, name = [part.lstrip("_") for part in Path(path).with_suffix("").parts[1:]]
        file = Path("tests", *folders, f"test_{name}.py")
        if (ROOT / file).exists():
            return [str(file)]
        if not folders:
            return []
        if LOOPS in path:  # Its tests call it without any line of its callers.
            home = next(one for one in (ROOT / "tests" / "/".join(folders), ROOT / "tests" / "loops") if one.is_dir())
            return sorted(one.relative_to(ROOT).as_posix() for one in home.glob("test_*.py"))
        homes = (f"{Path('tests', *folders)}/", str(Path("tests", *folders[:-1], f"test_{folders[-1]}.py")))
        return sorted({file_of(test) for test in self.of_files(callers(path)) if test.startswith(homes)})

    def of(self, change):
        """Tests that run the changed statement, the quick ones, file by file and the quickest file first."""
        line = statement_at(change)
        changed = (ROOT / change.path).stat().st_mtime > self.path.stat().st_mtime
        found = [name for name, (_, lines) in self.reached.items() if line in lines.get(change.path, ())]
        if line is None:  # What a module does when it is imported can show in any test of the whole package.
            found = [name for name in self.reached if re.match(r"tests/test_", name)]
        if not found or changed or line is None or LOOPS in change.path:
            found = {*found, *self.of_files(callers(change.path))}
        total, chosen, files = 0.0, [], Counter()
        for name in sorted(found, key=self.cost):
            total += self.cost(name)
            if total < self.seconds:
                chosen.append(name)
                files[file_of(name)] += self.cost(name)
        return sorted(chosen, key=lambda name: (files[file_of(name)], file_of(name)))

    def of_files(self, paths):
        return [name for name, (_, lines) in self.reached.items() if not paths.isdisjoint(lines)]

    def stages(self, change, copy):
        """Arguments of pytest: what is near, the files with the tests that run least else, and all others."""
        near = [*self.near(change.path), change.path]
        yield near
        reaching = [name for name in self.of(change) if file_of(name) not in near]
        first = {file_of(name): None for name in sorted(reaching, key=self.n_lines)}
        first = list(first)[:FEW]
        near_and_far = split(reaching, lambda name: file_of(name) in first)
        # Few of the tests that run a caller of a loop run the loop, and all compile it anew.
        for names in near_and_far[:1] if LOOPS in change.path else near_and_far:
            if names:
                wanted = copy / "wanted.json"
                wanted.write_text(json.dumps(names))
                # Tests come first: pytest imports a file whose doctests are asked for before them beside its package.
                files = sorted({file_of(name) for name in names}, reverse=True)
                yield [*files, "-p", "reached", f"--wanted={wanted}"]

    def cost(self, name):
        return self.reached[name][0]

    def n_lines(self, name):
        return sum(map(len, self.reached[name][1].values()))


def split(names, holds):
    return [name for name in names if holds(name)], [name for name in names if not holds(name)]


def file_of(test):
    return test.split("::")[0]


def statement_at(change):
    """Where the innermost statement of a function around a change begins; None outside of functions."""
    tree = ast.parse((ROOT / change.path).read_text())
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    inside = {node for function in functions for one in function.body for node in ast.walk(one)}
    lines = [node.lineno for node in inside if isinstance(node, ast.stmt) and holds(node, change.line)]
    return max(lines, default=None)


def holds(node, line):
    return node.lineno <= line <= node.end_lineno


def callers(path):
    """A file itself, or those that import a compiled loop, which notes no lines, directly or by other loops."""
    found, waiting = set(), [path]
    while waiting:
        one = waiting.pop()
        found.add(one)
        if LOOPS in one:
            folder, _, name = one.removesuffix(".py").replace("/", ".").rpartition(".")
            imported = re.compile(rf"from ({folder}.{name} import|{folder} import .*\b{name}\b)")
            paths = (ROOT / "caltest").rglob("*.py")
            names = [path.relative_to(ROOT).as_posix() for path in paths if imported.search(path.read_text())]
            waiting += [name for name in names if name not in found]
    return found


def run(change, copy, tests):
    """The test that notices a change, or None."""
    path = copy / change.path
    source = path.read_text()
    environment = os.environ | {"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
    environment["PYTHONPATH"] = os.pathsep.join((str(copy), str(copy / "tests")))
    fresh = copy.with_name(f"loops-{copy.name}")
    if LOOPS in change.path:  # All loops are compiled anew, and the machine code of the others is kept.
        environment["NUMBA_CACHE_DIR"] = str(fresh)
    try:
        path.write_text(source[: change.start] + change.new + source[change.end :])
        forget(path)
        for arguments in tests.stages(change, copy):
            command = [*PYTEST, "-x", "--tb=no", *arguments]
            done = subprocess.run(
                command, cwd=copy, env=environment, capture_output=True, text=True, preexec_fn=limited, check=False
            )
            if done.returncode == 4:
                raise RuntimeError(done.stderr)
            if done.returncode not in (0, 5):
                failed = re.search(r"^(FAILED|ERROR) (.+?)( - |$)", done.stdout, re.MULTILINE)
                return failed[2] if failed else f"tests ended with {done.returncode}"
        return None
    finally:
        path.write_text(source)
        forget(path)
        shutil.rmtree(fresh, ignore_errors=True)


def limited():
    import resource  # Not on every system.

    resource.setrlimit(resource.RLIMIT_CPU, (LONGEST, LONGEST))


def forget(path):
    """Remove the bytecode of a file: two versions of it can have the same second and size."""
    Path(cache_from_source(path)).unlink(missing_ok=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--number", type=int, default=100, help="changes, 100 by default")
    parser.add_argument("--folder", nargs="*", help="folders of the package, such as nulls estimators/classical")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="tests at a time")
    parser.add_argument("--seconds", type=int, default=100, help="usual time of the tests of a change")
    parser.add_argument("--results", type=Path, default=ROOT / "build" / "mutations.jsonl")
    parser.add_argument("--reached", type=Path, default=ROOT / "build" / "reached.json")
    parser.add_argument("--list", action="store_true", help="show the changes and run nothing")
    given = parser.parse_args()
    chosen = drawn(given.number, given.seed, given.folder)
    if given.list:
        print(*chosen, sep="\n")
        return
    given.results.parent.mkdir(parents=True, exist_ok=True)
    tests = Tests(given.reached, given.seconds)
    known = {}
    if given.results.exists():
        known = dict(json.loads(line) for line in given.results.read_text().splitlines())
        known = {change: found for change, found in known.items() if found}
    copies = Queue()
    for job in range(given.jobs):
        copies.put(copied(given.results.parent / "mutations" / str(job)))
    with ThreadPoolExecutor(given.jobs) as pool:

        def verdict(change):
            copy = copies.get()
            try:
                found = run(change, copy, tests)
            finally:
                copies.put(copy)
            with given.results.open("a") as file:
                file.write(json.dumps([str(change), found]) + "\n")
            print(f"{'caught  ' if found else 'SURVIVED'} {change}   {found or ''}", flush=True)
            return str(change), found

        known |= dict(pool.map(verdict, [one for one in chosen if str(one) not in known]))
    survivors = [str(one) for one in chosen if known[str(one)] is None]
    print(f"{len(chosen) - len(survivors)} of {len(chosen)} changes were caught; survived:", *survivors, sep="\n  ")


def copied(folder):
    """The repository without what is made from it but compiled loops."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(".git", "build", "*.pyc", ".*cache"))
    return folder


if __name__ == "__main__":
    main()
