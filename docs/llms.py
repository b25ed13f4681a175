"""``llms.txt``, the index of the pages for assistants, and the text of each page beside its HTML."""

import ast
import inspect
import pydoc
import re
from pathlib import Path
from typing import Any

from reference import MOCKED, listed_names
from sphinx.ext.autodoc.mock import mock

import caltest

ABOUT = """# caltest

> Statistical hypothesis tests of calibration: whether predicted probabilities can be taken at face value. Python,
> `import caltest as ct`; `ct.calibration_test(predictions, targets, rng=1)` is the test to begin with, exact for every
> number of rows.
"""


def write_llms(app: Any, error: Exception | None) -> None:
    """Write the index and copy the pages, at the end of a build."""
    if error is not None:
        return
    paths = {name: Path(app.env.doc2path(name)) for name in sorted(app.env.found_docs)}
    pages = {name: path for name, path in paths.items() if path.suffix == ".md"}
    lines = [ABOUT, "## Pages\n"]
    for name, path in pages.items():
        (Path(app.outdir) / f"{name}.md").write_text(text_of_page(path))
        lines.append(f"- [{app.env.titles[name].astext()}]({name}.md)")
    lines.append("\n## Public names\n")
    for name, thing in public_things():
        (Path(app.outdir) / "api" / "names" / f"{name}.md").write_text(text_of(name, thing))
        lines.append(f"- [{name}](api/names/{name}.md): {first_line(thing)}")
    lines.append("\n## Pictures\n")
    for path in sorted((Path(app.srcdir) / "pictures").glob("plot_*.py")):
        title, text = text_of_picture(path)
        (Path(app.outdir) / "gallery" / f"{path.stem}.md").write_text(text)
        lines.append(f"- [{title}](gallery/{path.stem}.md)")
    (Path(app.outdir) / "llms.txt").write_text("\n".join(lines) + "\n")


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
    return re.sub(r"(\]\([\w/.-]+)\.(?:rst|ipynb)\b", r"\1.html", text)


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


def text_of_picture(path: Path) -> tuple[str, str]:
    """The title of a picture, and its page: words and code."""
    source = path.read_text()
    title, _, words = (ast.get_docstring(ast.parse(source)) or "").strip().partition("\n")
    code = source.split('"""', 2)[2].strip()
    words = words.lstrip("=\n").strip()
    return title, "\n\n".join(filter(None, [f"# {title}", words, f"```python\n{code}\n```"])) + "\n"
