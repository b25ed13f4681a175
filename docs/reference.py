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
from typing import Any

import caltest

PACKAGE = Path(caltest.__file__).parent
FRONT_DOOR = {name: getattr(caltest, name) for name in caltest.__all__}
OFFERED = {*caltest.__all__, *caltest._LATER}
"""What is in the list of the front door, and what it loads when it is asked for."""


def home_of(value: Any) -> str:
    """The part of the package that defines a public name, empty if it is a private one."""
    top, _, rest = getattr(value, "__module__", "").partition(".")
    part = rest.partition(".")[0]
    return "" if top != "caltest" or part.startswith("_") else part


def names_of(part: str, module: ModuleType) -> list[str]:
    """Full names of what the page of a module describes."""
    inside = [name for name, value in FRONT_DOOR.items() if not inspect.ismodule(value) and home_of(value) == part]
    rest = {*getattr(module, "__all__", [])} - {*FRONT_DOOR} if part in OFFERED else set()
    rest = {name for name in rest if not inspect.ismodule(getattr(module, name))}
    return sorted([f"caltest.{name}" for name in inside] + [f"{module.__name__}.{name}" for name in rest])


def pages() -> dict[str, tuple[ModuleType, list[str]]]:
    """Modules with public names, and these; names that a private module defines are on the page of the package."""
    parts = [info.name for info in pkgutil.iter_modules(caltest.__path__) if not info.name.startswith("_")]
    modules = {"": caltest} | {part: importlib.import_module(f"caltest.{part}") for part in parts}
    found = {part or "caltest": (module, names_of(part, module)) for part, module in modules.items()}
    return {name: page for name, page in found.items() if page[1]}


def text_of(title: str, module: ModuleType, names: list[str]) -> str:
    """A page: what the module says of itself, and a table of its names."""
    heading = title.replace("_", " ").capitalize()
    said = inspect.getdoc(module) or ""
    listed = [f"   {name}" for name in names]
    head = [
        heading,
        "=" * len(heading),
        "",
        said,
        "",
        ".. autosummary::",
        "   :toctree: names",
        "   :nosignatures:",
        "",
    ]
    return "\n".join([*head, *listed, ""])


def write_reference(folder: Path) -> None:
    """A page for each module with public names, and none else."""
    folder.mkdir(exist_ok=True)
    wanted = set()
    for part, (module, names) in pages().items():
        write(folder / f"{part}.rst", text_of(part, module, names))
        wanted |= {part, *names}
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
