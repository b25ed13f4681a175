"""Write the pages of the API reference and of the source files, from the package alone.

A page of ``api/`` lists the public names of the front door, or those of a submodule that are not there. So a new name,
or one that moves, needs no change here.
"""

import ast
import inspect
from pathlib import Path
from types import ModuleType

import caltest

PACKAGE = Path(caltest.__file__).parent


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
