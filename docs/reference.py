"""Write the pages of the API reference and of the source files, from the package alone.

A page of ``api/`` lists the public names of the front door, or those of a submodule that are not there. So a new name,
or one that moves, needs no change here.
"""

import ast
import inspect
import sys
from functools import cached_property
from pathlib import Path
from types import FunctionType, ModuleType

import caltest
from caltest.estimators import Estimator
from caltest.fields import Censored
from caltest.kernels import Metric, PairKernel, PredictionKernel, TargetKernel
from caltest.nulls import Null
from caltest.predictions import MultiLabel, Predictions

PACKAGE = Path(caltest.__file__).parent
TABLE = [".. autosummary::", "   :toctree: names", "   :nosignatures:", ""]
GROUPS = {
    "Predictions, and targets that are censored": (Predictions, MultiLabel, Censored),
    "Estimators": (Estimator,),
    "Kernels and distances": (PredictionKernel, TargetKernel, PairKernel, Metric),
}
"""The classes of the front door that are no tests."""
SKLEARN = ["CalibrationTestDisplay", "calibration_pvalue", "cross_validated", "neg_calibration_error"]
KINDS = {FunctionType: "automethod", property: "autoproperty", cached_property: "autoproperty"}
"""What describes members."""
OF_EXTRAS = {
    "bridges": [*(f"sklearn.{name}" for name in SKLEARN), "torch.skce_loss", "torchmetrics.CalibrationTestMetric"],
    "recalibration": ["CalibratedModel"],
}
"""Names that are loaded only where scikit-learn or PyTorch is wanted."""
MOCKED = ["torch", "torchmetrics"]
"""Libraries that are too large for the environment of the site."""


def pages() -> dict[str, tuple[ModuleType, list[str]]]:
    """The front door and its submodules, each with the full names of what its page describes."""
    modules = {name: value for name in caltest.__all__ if inspect.ismodule(value := getattr(caltest, name))}
    fields = {name: part for name, part in vars(caltest.fields).items() if name[0] != "_" and hasattr(part, "__path__")}
    modules |= {f"fields.{name}": part for name, part in fields.items()}
    door = {name: getattr(caltest, name) for name in caltest.__all__ if name not in modules}
    found = {"caltest": (caltest, [f"caltest.{name}" for name in door])}
    for part, module in modules.items():
        rest = [name for name in module.__all__ if door.get(name) is not getattr(module, name)]
        found[part] = (module, [f"caltest.{part}.{name}" for name in rest])
    return found


def listed_names() -> dict[str, list[str]]:
    """The full names on each page, with those of extras."""
    more = {part: [f"caltest.{part}.{name}" for name in names] for part, names in OF_EXTRAS.items()}
    return {part: names + more.get(part, []) for part, (_, names) in pages().items()}


def grouped(names: list[str]) -> dict[str, list[str]]:
    """Names of the front door by what they are."""
    found: dict[str, list[str]] = {"Calls": [], "Tests": []} | {title: [] for title in GROUPS}
    for name in names:
        thing = getattr(caltest, name.rpartition(".")[2])
        kinds = [title for title, bases in GROUPS.items() if inspect.isclass(thing) and issubclass(thing, bases)]
        found[kinds[0] if kinds else "Tests" if inspect.isclass(thing) else "Calls"].append(name)
    return found


def for_extending() -> dict[str, list[tuple[str, str]]]:
    """Of each estimator and null the directives and names of what only a class of one's own has to give or to call."""
    found = {}
    for name in (name for names in listed_names().values() for name in names if "sklearn" not in name):
        thing = getattr(sys.modules.get(name.rpartition(".")[0]), name.rpartition(".")[2], None)
        base = next((one for one in (Estimator, Null) if inspect.isclass(thing) and issubclass(thing, one)), None)
        if base is not None and thing is not base:
            kinds = {key: KINDS.get(type(inspect.getattr_static(thing, key))) for key in dir(base) if key[0] != "_"}
            found[name] = [(kind, key) for key, kind in kinds.items() if kind and inspect.getdoc(getattr(thing, key))]
    return found


def text_of(title: str, module: ModuleType, names: list[str]) -> str:
    """A page: what the module says of itself, and a table of its names, or several."""
    said = (inspect.getdoc(module) or "").partition("\n\nGlossary")[0]  # It stands on the page of this name.
    lines = [title, "=" * len(title), "", said, ""]
    for group, some in (grouped(names) if module is caltest else {"": names}).items():
        lines += [group, "-" * len(group), ""] if group else []
        lines += [*TABLE, *(f"   {name}" for name in some), ""]
    return "\n".join(lines)


def write_reference(folder: Path) -> None:
    """A page for each module with public names, and none else; beside the folder the list of these pages."""
    folder.mkdir(exist_ok=True)
    wanted, listed = set(), []
    modules = pages()
    for part, names in sorted(listed_names().items(), key=lambda page: (page[0] != "caltest", page[0])):
        module = modules[part][0]
        title = "ct" if module is caltest else f"ct.{part}"
        write(folder / f"{part}.rst", text_of(title, module, names))
        wanted |= {part, *names}
        first = (inspect.getdoc(module) or "").partition("\n")[0].replace("``", "`")
        listed.append(f"- [{title}](api/{part}.rst): {first}")
    write(folder.parent / "api-parts.txt", "\n".join(listed) + "\n")
    for path in folder.rglob("*.rst"):
        if path.stem not in wanted:
            path.unlink()


def source_files(folder: Path, indent: str = "") -> list[str]:
    """A line for each file and folder below a folder: its name and the first line of its docstring."""
    lines = []
    for path in sorted(folder.iterdir(), key=lambda one: (one.is_dir(), one.name)):
        source = path / "__init__.py" if path.is_dir() else path
        if source.suffix == ".py" and source.exists() and path.name != "__init__.py":
            first = (ast.get_docstring(ast.parse(source.read_text())) or "").partition("\n")[0]
            lines.append(f"{indent}{path.name + ('/' if path.is_dir() else ''):<{36 - len(indent)}}{first}".rstrip())
        if path.is_dir():
            lines += source_files(path, indent + "  ")
    return lines


def write_source_files(path: Path) -> None:
    """The tree of the package as a page."""
    text = "\n".join(f"   {line}" for line in ["caltest/", *source_files(PACKAGE, "  ")])
    write(path, f"Source files\n============\n\n.. code-block:: text\n\n{text}\n")


def write(path: Path, text: str) -> None:
    """Write what has changed, so that a second build reads no more than it must."""
    if not path.exists() or path.read_text() != text:
        path.write_text(text)
