"""Write the table of ``papers.csv`` as a page, and find what its rows refer to.

A row is an item of a paper. ``here`` has names in ``caltest`` separated by semicolons, ``shown`` the places that show
it: ``05#heading`` is a part of notebook 05, and ``nulls/test_nulls.py::test_name`` a test. Every number in ``ours`` is
printed there, or stands in the source of the test.
"""

import ast
import csv
import importlib
import re
from functools import cache
from pathlib import Path

import nbformat
from reference import pages, write

import caltest

HERE = Path(__file__).parent
ROOT = HERE.parent
NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+(?:\.\d+)?|\.\d+)(?:e[-+]?\d+)?")

TITLES = {
    "Widmann et al. 2019": "Calibration tests in multi-class classification",
    "Widmann et al. 2021": "Calibration tests beyond classification",
    "Wenger et al. 2020": "Non-parametric calibration for classification",
    "Gruber and Bach 2024": "Optimizing estimators of squared calibration errors",
    "Reference software": "CalibrationErrors.jl, CalibrationTests.jl, pycalibration, rcalibration",
}
VERDICTS = {
    "agrees": "our number is the published one, up to rounding or the error of the simulations",
    "holds": "a definition, theorem or algorithm that is here, with a test of what it says",
    "differs": "on purpose, or for the machine, and the remark says why",
    "wrong": "the paper or the software is, and the remark has the counterexample",
    "partly": "the remark says what is missing",
    "open": "not done",
    "no": "not to be done, for the reason in the remark",
    "cannot be had": "for want of the input in the remark",
}


def rows() -> list[dict[str, str]]:
    """Rows of the table, in its order."""
    with (HERE / "papers.csv").open() as file:
        return list(csv.DictReader(file))


def parts(cell: str) -> list[str]:
    """What a cell lists."""
    return [part.strip() for part in cell.split(";") if part.strip()]


def thing(name: str) -> object:
    """What a name in ``caltest`` means; ``AttributeError`` if there is nothing."""
    module, _, rest = name.partition(".")
    value = getattr(caltest, module, None)
    value = importlib.import_module(f"caltest.{module}") if value is None else value
    for part in filter(None, rest.split(".")):
        value = getattr(value, part)
    return value


def slug(heading: str) -> str:
    """The anchor of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower().replace(" ", "-"))


def notebook(number: str) -> Path:
    """The notebook with a number."""
    return next((ROOT / "notebooks").glob(f"{number}_*.ipynb"))


@cache
def printed(number: str) -> dict[str, str]:
    """What a notebook prints below each heading, by its anchor."""
    found, place = {}, ""
    for cell in nbformat.read(notebook(number), as_version=4).cells:
        if cell.cell_type == "markdown":
            for heading in re.findall(r"^#+ (.+)$", cell.source, re.M):
                place = slug(heading)
                found.setdefault(place, "")
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            found[place] += output.get("text", "") + data.get("text/markdown", "")
    return found


@cache
def source(path: str) -> dict[str, str]:
    """The source of each test of a file, with its settings, by its name."""
    text = (ROOT / "tests" / path).read_text()
    found = {}

    def add(nodes: list[ast.stmt], before: str) -> None:
        for node in nodes:
            if isinstance(node, ast.ClassDef):
                add(node.body, f"{before}{node.name}::")
            elif isinstance(node, ast.FunctionDef):
                pieces = [ast.get_source_segment(text, one) or "" for one in (*node.decorator_list, node)]
                found[before + node.name] = "\n".join(pieces)

    add(ast.parse(text).body, "")
    return found


def shown(place: str) -> str:
    """What stands in a place: ``KeyError`` or ``OSError`` if there is none."""
    if "::" in place:
        path, _, name = place.partition("::")
        return source(path)[name]
    number, _, anchor = place.partition("#")
    return printed(number)[anchor]


def numbers(text: str) -> set[float]:
    """The numbers in a text."""
    return {float(one) for one in NUMBER.findall(text)}


def missing_numbers(row: dict[str, str]) -> set[float]:
    """Numbers of ours that no place shows."""
    return numbers(row["ours"]) - set().union(*(numbers(shown(place)) for place in parts(row["shown"])))


NAMED = re.compile(r"(Figure|Table)s? (S?)(\d+)(?: to S?(\d+))?((?:, S?\d+)*(?: and S?\d+)?)")


def pictures(item: str) -> set[str]:
    """Figures and tables that an item names: "Figures 3 to 5, Table 1" are four."""
    found = set()
    for kind, letter, first, last, more in NAMED.findall(item):
        found |= {f"{kind} {letter}{i}" for i in range(int(first), int(last or first) + 1)}
        found |= {f"{kind} {one}" for one in re.findall(r"S?\d+", more)}
    return found


def linked(name: str, public: set[str]) -> str:
    """A name, with a link to its page if it has one."""
    return f"{{py:obj}}`{name} <caltest.{name}>`" if name in public else f"`{name}`"


def place_of(place: str) -> str:
    """A place in words, notebooks with a link."""
    if "::" in place:
        path, _, name = place.partition("::")
        return f"`{path}` `{name}`"
    number, _, anchor = place.partition("#")
    return f"[notebook {number}](notebooks/{notebook(number).name}#{anchor})"


def text() -> str:
    """The page: a count of verdicts, and a table for each source."""
    table, public = rows(), {name.removeprefix("caltest.") for _, names in pages().values() for name in names}
    lines = ["| verdict | items | means |", "|---|---|---|"]
    lines += [f"| {one} | {sum(row['verdict'] == one for row in table)} | {words} |" for one, words in VERDICTS.items()]
    for paper, title in TITLES.items():
        lines += [
            "",
            f"## {paper}: {title}",
            "",
            "| | item | here | shown in | ours | published | verdict and remark |",
        ]
        lines += ["|---|---|---|---|---|---|---|"]
        for i, row in enumerate(table, 1):
            if row["paper"] == paper:
                here = ", ".join(linked(name, public) for name in parts(row["here"]))
                places = ", ".join(place_of(place) for place in parts(row["shown"]))
                item = f"**{row['item']}**: {row['content']}"
                verdict = f"**{row['verdict']}**{': ' if row['remark'] else ''}{row['remark']}"
                cells = [str(i), item, here, places, row["ours"], row["published"], verdict]
                lines.append("| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def write_items(path: Path) -> None:
    """The generated part of the page."""
    write(path, text())
