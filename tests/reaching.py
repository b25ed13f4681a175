"""Which tests to try on a change of the package: those of its file, and those that run the changed statement."""

import ast
import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTEST = [sys.executable, "-m", "pytest", "-n", "0", "-p", "no:cacheprovider", "-m", "not statistical", "-q"]
LOOPS = "caltest/_loops"
FEW = 3
"""Files of tests that are tried before all others."""


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
            found = {one.relative_to(ROOT).as_posix() for one in home.glob("test_*.py")}
            return sorted(found.union(*(self.near(one) for one in callers(path) if LOOPS not in one)))
        homes = (f"{Path('tests', *folders)}/", str(Path("tests", *folders[:-1], f"test_{folders[-1]}.py")))
        return sorted({file_of(test) for test in self.of_files(callers(path)) if test.startswith(homes)})

    def of(self, change):
        """Tests that run the changed statement, the quick ones, file by file and the quickest file first."""
        is_inside, lines = statements_at(change)
        changed = (ROOT / change.path).stat().st_mtime > self.path.stat().st_mtime
        found = [name for name, (_, run) in self.reached.items() if not lines.isdisjoint(run.get(change.path, ()))]
        if not is_inside:  # What a module does when it is imported can show in tests of the whole package.
            found += [name for name in self.reached if re.match(r"tests/test_", name) and name not in found]
        if not found or changed or not lines or LOOPS in change.path:
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
        if not reaching:  # What runs when the package is imported runs in no test.
            yield ["tests/test_architecture.py", "tests/test_contracts.py"]
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


def statements_at(change):
    """Whether it is inside of a function, and where its innermost statement or those that use what it changes begin.

    The latter are the statements of the function whose signature is changed, or with a name that is bound there.
    """
    tree = ast.parse((ROOT / change.path).read_text())
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    of_functions = [node for function in functions for one in function.body for node in ast.walk(one)]
    inside = {node for node in of_functions if isinstance(node, ast.stmt)}
    lines = [node.lineno for node in inside if holds(node, change.line)]
    if lines:
        return True, {max(lines)}
    if signatures := [node for node in functions if holds(node, change.line)]:
        return False, {one.lineno for one in signatures[-1].body}
    bound = [
        node for node in ast.walk(tree) if isinstance(node, ast.Assign | ast.AnnAssign) and holds(node, change.line)
    ]
    names = {name for node in bound for one in targets_of(node) for name in names_in(one)}
    return False, {node.lineno for node in inside if not names.isdisjoint(names_in(node))}


def targets_of(node):
    return node.targets if isinstance(node, ast.Assign) else [node.target]


def names_in(node):
    """Names of variables and attributes."""
    for one in ast.walk(node):
        if isinstance(one, ast.Name | ast.Attribute):
            yield one.id if isinstance(one, ast.Name) else one.attr


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
