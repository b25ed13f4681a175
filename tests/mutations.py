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
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.util import cache_from_source, find_spec
from itertools import pairwise
from pathlib import Path
from queue import Queue
from typing import NamedTuple

from reaching import LOOPS, PYTEST, ROOT, Tests

LONGEST = 400
"""Seconds of processor time for one run of tests, beyond which a change has been noticed."""
SKIPPED = re.compile(r"_basics/(types|warnings|jit|jobs|threads|progress)|__main__|__init__")
"""Files of the machinery, without arithmetic."""
SPEED = re.compile(
    r"work ?=|chunk|bytes|memory|cache|n_jobs|(?i:at_once)|PART\b|ROWS\b|TILE\b|STRIP\b|NUMBERS\b|SHOWN|LISTED|"
    r"PREPARED|ranges\(.*, max\(1, |FEW\b|fast(er)?\b|NANOSECONDS|\.width\(|for _ in range\([A-Z0-9_]{2,}\)"
)
"""Lines that decide what is done at once, in which of two equal ways, how much is shown, and when iterations end."""
WORK = re.compile(
    r"(ed|en|pt|ade) together|at once|at a time|side by side|the cache|compiled loop|Bytes|MB\b|"
    r"takes over|all digits|iterations|it is faster|not copied"
)
"""Docstrings of constants of the same kind."""

PAIRS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
PAIRS |= {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
TURNED = {ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE}
NAMES = {"min": "max", "minimum": "maximum", "argmin": "argmax", "any": "all", "floor": "ceil", "cdf": "sf"}
NAMES |= {other: name for name, other in NAMES.items()}
TINY = 1e-5
"""Constants of at most this stand for rounding errors, and the reciprocals of still smaller ones for infinity."""
ROUNDING = re.compile(r"\de-(0[6-9]|[1-9]\d)|TOLERANCE|ROUNDING|NOTHING|SINGULAR|TINY|TIE\b")
"""Tolerances: no number lies just at their boundary."""
LEVELS = re.compile(r"LEVEL|STANDS_OUT")
"""Names of levels, which p-values of redraws can equal, so that their boundaries say something."""
MANY = 100
"""Whole numbers that are the same one more or less."""
DATA = re.compile(r"refuse_rows|require")
"""What names the boundaries that data have to keep."""
NOTHING = re.compile(r"return ((np\.)?(zeros|empty)\(.*\)|inf|nan|0\.0|float\(\"inf\"\)|\de-(0?[6-9]|[1-9]\d) \* .*)$")
"""1.01 times as much is the same: of nothing, of the infinite and of a rounding error."""
SIZES = re.compile(r"_?at_once|\w+_(is|are)_faster")
"""Names of functions that say how much is done at once, or in which of two equal ways, as the lines of ``SPEED`` do."""
REAL = {"float", "FloatArray", "Array"}
MARK = re.compile(r"reshape|full\(.* -1\)|^\w+ = -1$")
"""Where -2 is the same as -1: a length that numpy finds, and the number of what is not there."""
FIRST = re.compile(r"\.spawn\(\d+\)\[0\]$")
"""The first stream of random numbers of some is the same, however many there are."""


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


def replacements(node, parents, real):
    """Code that may stand for a node, of another meaning; ``real`` names the constants that are real numbers."""
    if isinstance(node, ast.BinOp) and type(node.op) in PAIRS and not is_text(node):
        if isinstance(node.op, (ast.Mult, ast.Div)) and is_rounding(node.left):
            return
        yield ast.BinOp(node.left, PAIRS[type(node.op)](), node.right)
        if isinstance(node.op, (ast.Add, ast.Sub)):
            yield node.left
    elif isinstance(node, ast.Compare) and type(node.ops[0]) in PAIRS:
        of_data = isinstance(parents[0], ast.Call) and DATA.search(ast.unparse(parents[0].func))
        if not of_data and ROUNDING.search(ast.unparse(node)):
            return
        turned = TURNED if is_real(node, real) else PAIRS
        yield ast.Compare(node.left, [turned[type(node.ops[0])](), *node.ops[1:]], node.comparators)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node.operand
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float) and is_size(abs(node.value)):
        if isinstance(parents[0], ast.UnaryOp) and MARK.search(ast.unparse(parents[1])):
            return
        if isinstance(parents[1], ast.Subscript) and FIRST.search(ast.unparse(parents[1])):
            return
        yield ast.Constant(other_constant(node.value, parents[0]))
    elif isinstance(parents[0], ast.Call) and node is parents[0].func:
        if isinstance(node, ast.Name) and node.id in NAMES:
            yield ast.Name(NAMES[node.id])
        elif isinstance(node, ast.Attribute) and node.attr in NAMES:
            yield ast.Attribute(node.value, NAMES[node.attr])


def is_size(value):
    return value == 0 or TINY < value < TINY**-20


def is_rounding(node):
    """Whether a number stands for the rounding errors of what it is a factor of."""
    if isinstance(node, ast.Name):
        return bool(ROUNDING.search(node.id))
    return isinstance(node, ast.Constant) and isinstance(node.value, float) and 0.0 < node.value <= TINY


def has_constant(node):
    return any(isinstance(one, ast.Constant) for one in ast.walk(node))


def is_real(node, real=frozenset()):
    """Whether a comparison is of real numbers, which are not at the boundary itself, or a number is real."""
    return any(
        (isinstance(one, ast.Constant) and isinstance(one.value, float))
        or isinstance(one, ast.Div)
        or is_named(one, real)
        for one in ast.walk(node)
    )


def other_constant(value, parent):
    """An axis or ``ddof`` among 0 and 1, another number by one or by half, and large whole ones twice as large."""
    if isinstance(parent, ast.keyword) and parent.arg in ("axis", "ddof"):
        return 0 if value else 1
    if isinstance(value, int) and value >= MANY:
        return 2 * value
    return 1.5 * value if isinstance(value, float) and value else value + 1


def is_text(node):
    return any(isinstance(one, ast.JoinedStr) or isinstance(getattr(one, "value", None), str) for one in ast.walk(node))


def candidates(node, source, path, work=frozenset(), real=frozenset(), parents=(None,)):
    """All changes below a node, save in annotations, messages and texts, and in what constants of ``work`` choose."""
    if isinstance(node, (ast.Raise, ast.JoinedStr, ast.Import, ast.ImportFrom, ast.Assert)):
        return
    if isinstance(node, ast.FunctionDef) and SIZES.fullmatch(node.name):
        return
    if isinstance(node, ast.Assign) and WORK.search(text_after(node, parents[0])):
        return
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv) and is_named(node.left, work):
        return
    if isinstance(node, ast.Compare) and (is_named(node.left, work) or is_named(node.comparators[0], work)):
        return
    if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("warn", "Error", "cite", "sentence")):
        return
    if isinstance(node, (ast.expr, ast.stmt)) and node.lineno == node.end_lineno:
        start, end = place(node, source)
        line = source.splitlines()[node.lineno - 1]
        if not SPEED.search(line):
            at, old = (path, node.lineno, node.col_offset, start, end), source[start:end]
            is_look = "plots" in path and isinstance(node, (ast.Constant, ast.BinOp)) and has_constant(node)
            texts = [] if is_look else replacements(node, parents, real)
            for new in texts:
                yield Change(*at, old, f"({ast.unparse(new)})")
            if isinstance(node, ast.Return) and returns_numbers(parents) and not NOTHING.match(old):
                yield Change(*at, old, f"return 1.01 * ({ast.unparse(node.value)})")
    for field, value in ast.iter_fields(node):
        if field not in ("annotation", "returns", "decorator_list", "slice"):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from candidates(child, source, path, work, real, (node, *parents))


def constants_of_work(tree):
    """Names of constants of a file whose docstrings say how much is done at once, or in which of two equal ways."""
    nodes = [node for node in tree.body if isinstance(node, ast.Assign) and WORK.search(text_after(node, tree))]
    return {name.id for node in nodes for name in ast.walk(node) if isinstance(name, ast.Name)}


def real_constants(tree):
    """Names of constants in a file that are real numbers, its own and those of other files, but for levels."""
    yield from own_real_constants(tree)
    for node in (one for one in tree.body if isinstance(one, ast.ImportFrom)):
        known = real_constants_of(ROOT / f"{node.module.replace('.', '/')}.py")
        yield from (one.asname or one.name for one in node.names if one.name in known)


@cache
def real_constants_of(path):
    return set(own_real_constants(ast.parse(path.read_text()))) if path.exists() else set()


def own_real_constants(tree):
    for node in (one for one in tree.body if isinstance(one, ast.Assign)):
        for name, value in zip(parts(node.targets[0]), parts(node.value), strict=False):
            if isinstance(name, ast.Name) and is_real(value) and not LEVELS.search(name.id):
                yield name.id


def parts(node):
    return node.elts if isinstance(node, ast.Tuple) else [node]


def is_named(node, names):
    return isinstance(node, ast.Name) and node.id in names


def text_after(node, parent):
    """The docstring of a constant."""
    after = dict(pairwise(parent.body)).get(node)
    return ast.unparse(after) if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else ""


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
            if can_be_imported(tree := ast.parse(source)):
                changes = candidates(tree, source, name, constants_of_work(tree), set(real_constants(tree)))
                folders.setdefault(home, []).extend(one for one in changes if one.old != one.new)
    for home, changes in folders.items():
        random.Random(f"{seed} {home}").shuffle(changes)
    chosen, waiting = [], [one for one in folders.values() if one]
    while waiting and len(chosen) < number:
        chosen += [changes.pop() for changes in waiting][: number - len(chosen)]
        waiting = [one for one in waiting if one]
    return chosen


def can_be_imported(tree):
    """Whether the libraries that a file imports are there, without which its tests are skipped."""
    names = [one.name for node in tree.body if isinstance(node, ast.Import) for one in node.names]
    return all(find_spec(name.partition(".")[0]) for name in names)


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
            if done.returncode in (3, 4):  # Not of a test: an error of pytest or of the command.
                raise RuntimeError(done.stdout + done.stderr)
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
    given.results = given.results.resolve()
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
