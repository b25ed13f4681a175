"""``llms.txt``, the index of the pages for assistants, and the text of each page beside its HTML."""

import ast
import inspect
import json
import pydoc
import re
from pathlib import Path
from types import ModuleType
from typing import Any

from reference import MOCKED, PACKAGE, listed_names, pages as parts, source_files
from sphinx.ext.autodoc.mock import mock

import caltest

ABOUT = """# caltest

> Statistical hypothesis tests of calibration: whether predicted probabilities can be taken at face value. Python,
> `import caltest as ct`; `ct.calibration_test(predictions, targets, rng=1)` is the test to begin with, exact for every
> number of rows.
"""


def write_llms(app: Any, error: Exception | None) -> None:
    """Write the index and the text of each page, at the end of a build."""
    if error is not None:
        return
    names = sorted(app.env.found_docs)
    paths = {name: Path(app.env.doc2path(name)) for name in names}
    pages = {name: text_of_page(path) for name, path in paths.items() if path.suffix == ".md"}
    pages["source-files"] = (
        "# Source files\n\n```text\n" + "\n".join(["caltest/", *source_files(PACKAGE, "  ")]) + "\n```\n"
    )
    pages |= {name: text_of_notebook(path) for name, path in paths.items() if path.suffix == ".ipynb"}
    scripts = sorted((Path(app.srcdir) / "pictures").glob("plot_*.py"))
    pictures = {f"gallery/{path.stem}": text_of_picture(path) for path in scripts}
    listed = [f"- [{title_of(text)}]({name.partition('/')[2]}.md)" for name, text in pictures.items()]
    pages["gallery/index"] = "\n".join(["# Gallery", "", *listed, ""])
    things = {f"api/names/{name}": (name, thing) for name, thing in public_things()}
    lines = [ABOUT, "## Pages", "", *(f"- [{title_of(text)}]({name}.md)" for name, text in pages.items())]
    lines += ["", "## Public names, by the part that they are in", ""]
    for part, (module, _) in parts().items():
        some = [(name, things[f"api/names/{name}"][1]) for name in listed_names()[part]]
        pages[f"api/{part}"] = text_of_part(part, module, some)
        lines.append(f"- [{title_of(pages[f'api/{part}'])}](api/{part}.md): {first_line(module)}")
        lines += [f"  - [{name}](api/names/{name}.md): {first_line(thing)}" for name, thing in some]
    lines += ["", "## Pictures", "", *(f"- [{title_of(text)}]({name}.md)" for name, text in pictures.items())]
    pages |= pictures | {path: text_of(*named) for path, named in things.items()}
    for name, text in pages.items():
        (Path(app.outdir) / f"{name}.md").write_text(text)
    (Path(app.outdir) / "llms.txt").write_text("\n".join(lines) + "\n")


def title_of(text: str) -> str:
    return text.partition("\n")[0].removeprefix("# ")


def public_things() -> list[tuple[str, Any]]:
    """All names of the API reference, with what they stand for."""
    names = sorted(name for listed in listed_names().values() for name in listed)
    with mock(MOCKED):
        return [(name, pydoc.locate(name)) for name in names]


def first_line(thing: Any) -> str:
    return (inspect.getdoc(thing) or "").partition("\n")[0]


def text_of_page(path: Path) -> str:
    """A page with what directives bring in, and links to what is beside it."""
    text = re.sub(r"```{toctree}.*?```\n*", "", path.read_text(), flags=re.S)
    text = re.sub(
        r"```{include} (\S+)\n(?::start-line: (\d+)\n)?```",
        lambda found: "\n".join((path.parent / found[1]).read_text().splitlines()[int(found[2] or 0) :]),
        text,
    )
    sources = path.parents[1] / "caltest" / "_results" / "citations.bib"
    text = re.sub(r"```{bibliography}.*?```", lambda _: f"```bibtex\n{sources.read_text()}```", text, flags=re.S)
    text = re.sub(
        r"```{eval-rst}\n\.\. automodule:: caltest\n.*?```", lambda _: caltest.__doc__ or "", text, flags=re.S
    )
    return re.sub(r"(\]\([\w/.-]+)\.(?:rst|ipynb)\b", r"\1.md", text)


def text_of_notebook(path: Path) -> str:
    """Words, code, and what it printed; pictures are left out."""
    found = []
    for cell in json.loads(path.read_text())["cells"]:
        text = "".join(cell["source"])
        found.append(text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```")
        for output in cell.get("outputs", []):
            printed = "".join(output.get("text") or output.get("data", {}).get("text/plain") or "").strip("\n")
            if printed and "image/png" not in output.get("data", {}):
                found.append(f"```text\n{printed}\n```")
    return "\n\n".join(found) + "\n"


def text_of_part(part: str, module: ModuleType, things: list[tuple[str, Any]]) -> str:
    """What a module says of itself, and its public names."""
    lines = [f"- [{name}](names/{name}.md): {first_line(thing)}" for name, thing in things]
    title = "ct" if part == "caltest" else f"ct.{part}"
    return "\n".join([f"# {title}", "", inspect.getdoc(module) or "", "", *lines, ""])


def text_of(name: str, thing: Any) -> str:
    """Signature and docstring, and those of the public methods of a class."""
    parts = [f"# {name}", call(name.rpartition(".")[2], thing), inspect.getdoc(thing) or ""]
    if inspect.isclass(thing):
        for method, function in inspect.getmembers(thing, inspect.isroutine):
            if not method.startswith("_") and (getattr(function, "__module__", None) or "").startswith("caltest"):
                parts += [f"## {name}.{method}", call(method, function), inspect.getdoc(function) or ""]
    return "\n\n".join(filter(None, parts)) + "\n"


def call(name: str, thing: Any) -> str:
    """As it is written in code; warnings, which nobody calls, have no signature."""
    if not callable(thing) or (inspect.isclass(thing) and issubclass(thing, BaseException)):
        return ""
    return f"```python\n{name}{inspect.signature(thing)}\n```"


def text_of_picture(path: Path) -> str:
    """The page of a picture: title, words and code."""
    source = path.read_text()
    title, _, words = (ast.get_docstring(ast.parse(source)) or "").strip().partition("\n")
    code = source.split('"""', 2)[2].strip()
    words = words.lstrip("=\n").strip()
    return "\n\n".join(filter(None, [f"# {title}", words, f"```python\n{code}\n```"])) + "\n"
