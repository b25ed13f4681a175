"""Write the pages of the API reference and of the source files, from the package alone.

A page of ``api/`` lists the public names of one module: those of the front door that it defines, and the rest of its
``__all__`` where the module itself is public. So a new name, or one that moves, needs no change here.
"""

import ast
import importlib
import inspect
import pkgutil
from pathlib import Path
from types import ModuleType

import caltest

PACKAGE = Path(caltest.__file__).parent
FRONT_DOOR = {name: getattr(caltest, name) for name in caltest.__all__}
OFFERED = {*caltest.__all__} | {*dir(caltest)} - {*vars(caltest)}
"""What is in the list of the front door, and what it loads when it is asked for."""


def names_of(module: ModuleType) -> list[str]:
    """Full names of what the page of a module describes."""
    short = module.__name__.partition(".")[2]
    inside = [
        name
        for name, value in FRONT_DOOR.items()
        if not inspect.ismodule(value) and f"{value.__module__}.".startswith(f"caltest.{short}.")
    ]
    rest = [name for name in getattr(module, "__all__", []) if name not in inside and short in OFFERED]
    return sorted([f"caltest.{name}" for name in inside] + [f"{module.__name__}.{name}" for name in rest])


def page_of(module: ModuleType, names: list[str]) -> str:
    title = module.__name__.partition(".")[2].replace("_", " ").capitalize()
    lines = [title, "=" * len(title), "", inspect.getdoc(module) or "", ""]
    listed = [f"   {name}" for name in names]
    return "\n".join([*lines, ".. autosummary::", "   :toctree: names", "   :nosignatures:", "", *listed, ""])


def write_reference(folder: Path) -> None:
    """A page for each module with public names."""
    folder.mkdir(exist_ok=True)
    missing = {f"caltest.{name}" for name, value in FRONT_DOOR.items() if not inspect.ismodule(value)}
    for info in pkgutil.iter_modules(caltest.__path__):
        if info.name.startswith("_"):
            continue
        module = importlib.import_module(f"caltest.{info.name}")
        names = names_of(module)
        if names:
            write(folder / f"{info.name}.rst", page_of(module, names))
            missing -= set(names)
    if missing:
        raise ValueError(f"public names without a page: {sorted(missing)}")


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
