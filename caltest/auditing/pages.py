"""An audit as a web page, as a test suite, and as files."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from caltest.auditing.fields import FIELDS
from caltest.auditing.sections import LEVEL, SECTIONS

if TYPE_CHECKING:
    from caltest.auditing.audit import Audit

TEMPLATES = Path(__file__).parent / "templates"


def html_of(audit: "Audit") -> str:
    """One page without scripts and without anything from outside."""
    try:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
    except ImportError as error:
        raise ImportError("HTML reports need Jinja2: pip install caltest[report]") from error
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    questions = {key: question for key, (question, _) in (SECTIONS | FIELDS).items()}
    return environment.get_template("audit.html").render(audit=audit, questions=questions)


def junit_of(audit: "Audit", fail_on: str) -> str:
    """A suite with a case for each model, which fails as ``Audit.passed`` says."""
    suite = ElementTree.Element("testsuite", name=_printable(audit.title), tests=str(len(audit.models)))
    failures = 0
    for one in audit.models:
        case = ElementTree.SubElement(suite, "testcase", classname="caltest.audit", name=_printable(one.name))
        if not type(audit)((one,), audit.seed).passed(fail_on):
            failures += 1
            failure = ElementTree.SubElement(case, "failure", message=_printable(f"{one.decision}: {one.reason}"))
            failure.text = _printable(one.result.sentence(LEVEL))
    suite.set("failures", str(failures))
    suite.set("errors", "0")
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _printable(text: str) -> str:
    """Text without control characters, which XML does not allow."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def written(audit: "Audit", path: Path, force: bool, fail_on: str) -> Path:
    """Write the form that the ending of the path asks for."""
    forms: dict[str, Any] = {
        ".html": audit.to_html,
        ".json": lambda: json.dumps(audit.to_dict(), indent=2) + "\n",
        ".xml": lambda: audit.to_junit(fail_on),
        ".txt": lambda: f"{audit.summary()}\n",
    }
    if path.suffix not in forms:
        raise ValueError(f"path: got {path.name!r}, wanted a name that ends with {', '.join(forms)}")
    text = forms[path.suffix]()
    with path.open("w" if force else "x", encoding="utf-8") as file:
        file.write(text)
    return path
