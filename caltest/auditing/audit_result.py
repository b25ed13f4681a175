"""The audit of one or several models: decisions, their reasons, and reports in several forms."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, SubElement, tostring

from caltest._basics.calls import printable
from caltest._results.calibration_test_result import CalibrationTestResult
from caltest._results.measures import matters
from caltest._results.report import counted, format_pvalue
from caltest._results.tables import Grid, NamedRows, Page, Part, sentences_apart
from caltest._results.values import Entry, Stored
from caltest._validation import one_of, switch
from caltest.auditing.fields import FIELDS
from caltest.auditing.section import LEVEL, Section
from caltest.auditing.sections import SECTIONS

USE, REPAIR = "use as it is", "recalibrate"
REFUSE, UNKNOWN = "do not use as it is", "not enough data to tell"
"""Decisions."""


@dataclass(frozen=True)
class ModelAudit(Entry):
    """The audit of one model.

    Attributes
    ----------
    decision, reason
        ``"use as it is"``, ``"recalibrate"``, ``"do not use as it is"`` or ``"not enough data to tell"``, and why.
    result
        The default test, which alone decides about calibration.
    sections
        Questions and their answers, by their names.
    advice
        What to do next.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> model = ct.audit(p, y, n_resamples=99, rng=1)["model"]
    >>> model.decision, round(model.sections["recalibration"].gain, 2)
    ('recalibrate', 0.29)
    """

    name: str
    decision: str
    reason: str
    result: CalibrationTestResult
    sections: Mapping[str, Section]
    advice: str = ""

    @property
    def citations(self) -> tuple[str, ...]:
        """Sources of the test and of all sections, keys of ``caltest/_results/citations.bib``."""
        return tuple(
            sorted({*self.result.citations, *(key for one in self.sections.values() for key in one.citations)})
        )

    @property
    def because(self) -> str:
        """The reason as a sentence."""
        return f"{self.reason[0].upper()}{self.reason[1:]}{end_of(self.reason)}"


def _others(section: Section) -> list[str]:
    """The line below a table that says where its other rows are."""
    rest = len(section.other_rows) - 1
    return [f"  and {counted(rest, 'other')}, in the .html and .json files"] if rest > 0 else []


def _beside(claimed: str, observed: str) -> str:
    """An observed number and the one that is claimed, or this alone."""
    return f"{observed} (claimed {claimed})" if observed else claimed


PHONE, NAME = 44, 16
"""Letters of a line on a phone, and those of names in the first column, which are broken into lines."""


def _is_wide(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the columns of a table do not fit beside each other on a phone."""
    names, *others = ([len(cell) for cell in column] for column in zip(*rows, strict=True))
    return min(NAME, max(names)) + sum(2 + max(one) for one in others) > PHONE


def end_of(text: str) -> str:
    """The stop that a text lacks that can end with a question."""
    return "" if text.endswith("?") else "."


@dataclass(frozen=True, eq=False, repr=False)
class Audit(NamedRows[ModelAudit], Stored):
    """The audit of one or several models. Printing it gives a report; ``save`` writes one file for others.

    ``seed`` is an integer that reproduces it as ``rng=seed``.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> audit = ct.audit(p, y, n_resamples=99, rng=1)
    >>> audit
    <audit of 1 model: recalibrate>
    """

    models: tuple[ModelAudit, ...]
    seed: int
    title: str = "Calibration audit"

    _rows = "models"

    def __repr__(self) -> str:
        return f"<audit of {counted(len(self.models), 'model')}: {', '.join(one.decision for one in self.models)}>"

    def table(self) -> tuple[tuple[str, ...], ...]:
        """Decisions and what they rest on, a column for each model."""
        rows = [
            ("", *(one.name for one in self.models)),
            ("decision", *(one.decision for one in self.models)),
            ("p-value", *(format_pvalue(one.result.pvalue, one.result.pvalue_otherwise) for one in self.models)),
        ]
        cells = [{name: _beside(*cell[:2]) for name, *cell in one.result.table()} for one in self.models]
        names = [one.name for one in self.models[0].result.measures]
        rows += [(name, *(one[name] for one in cells)) for name in names if all(name in one for one in cells)]
        return tuple(rows)

    @property
    def citations(self) -> tuple[str, ...]:  # type: ignore[override]
        """Sources of all that is used, keys of ``caltest/_results/citations.bib``."""
        return tuple(sorted({key for one in self.models for key in one.citations}))

    no_picture = "those of its sections are in to_html()"

    def row_entries(self) -> list[dict[str, Any]]:
        """The decision, its reason, what to do and the p-value of each model."""
        names = "name", "decision", "reason", "advice"
        return [
            {name: getattr(one, name) for name in names} | {"pvalue": one.result.pvalue, "n": one.result.n}
            for one in self.models
        ]

    def sentence(self) -> str:
        """The decision about each model, and its reason."""
        said = (f"{one.name} is: {one.decision}; {one.reason}{end_of(one.reason)}" for one in self.models)
        return " ".join(f"The decision about {one}" for one in said)

    def summary(self) -> str:
        """All sections as text, the decision first."""
        are_several = len(self.models) > 1
        parts: list[Part] = [Grid(self.table())] if are_several else []
        for one in self.models:
            if are_several:
                parts += ["", f"=== {one.name} ==="], []
            parts.append({"Decision": f"{one.decision}: {one.reason}", "What to do": one.advice or None})
            for key, section in one.sections.items():
                where = " The pictures are in the .html file." if key == "pictures" and not section.failed else ""
                parts += ["", (SECTIONS | FIELDS)[key][0], section.answer + where], dict(section.facts)
                if section.rows:
                    parts += Grid(section.first_rows), _others(section)
        return Page(self.title, *parts)

    def passed(self, fail_on: str = "reject") -> bool:
        """Whether no model fails.

        One fails by ``"reject"`` if calibration is rejected at the 5 % level, by ``"matters"`` if it is and the error
        is not known to be too small to matter, and ``"never"``. What is not to be used as it is fails by both.
        """
        one_of("fail_on", fail_on, ("reject", "matters", "never"))
        failing = [one for one in self.models if one.result.pvalue <= LEVEL]
        if fail_on == "matters":
            failing = [one for one in failing if matters(one.result.measures) is not False]
        return fail_on == "never" or not (failing or any(one.decision == REFUSE for one in self.models))

    def to_html(self) -> str:
        """One page without anything from outside; ``ImportError`` without Jinja2, ``pip install caltest[report]``."""
        try:
            from jinja2 import Environment, FileSystemLoader, StrictUndefined
        except ImportError as error:
            raise ImportError("HTML reports need Jinja2: pip install caltest[report]") from error
        loader = FileSystemLoader(Path(__file__).parent / "templates")
        environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True)
        environment.finalize = lambda value: value if hasattr(value, "__html__") else printable(str(value))
        questions = {key: question for key, (question, _) in (SECTIONS | FIELDS).items()}
        template = environment.get_template("audit.html")
        return template.render(audit=self, questions=questions, sentences_apart=sentences_apart, is_wide=_is_wide)

    def to_junit(self, fail_on: str = "reject") -> str:
        """A test suite with a case for each model, as continuous integration reads it; see ``passed``."""
        suite = Element("testsuite", name=printable(self.title), tests=str(len(self.models)))
        failures = 0
        for one in self.models:
            case = SubElement(suite, "testcase", classname="caltest.audit", name=printable(one.name))
            if not Audit((one,), self.seed).passed(fail_on):
                failures += 1
                failure = SubElement(case, "failure", message=printable(f"{one.decision}: {one.reason}"))
                failure.text = printable(one.result.sentence(LEVEL))
        suite.set("failures", str(failures))
        suite.set("errors", "0")
        return tostring(suite, encoding="unicode", xml_declaration=True) + "\n"

    def save(self, path: Any, *, force: bool = False, fail_on: str = "reject") -> Path:
        """Write the audit as .html, .json, .xml (JUnit) or .txt, by the ending of the path, which is returned.

        ``FileExistsError`` if the file exists, unless ``force`` is True; ``ValueError`` for another ending.
        ``fail_on`` is for .xml, as in ``passed``.
        """
        file, mode = Path(path), "w" if switch("force", force) else "x"
        forms: dict[str, Callable[[], str]] = {
            ".html": self.to_html,
            ".json": lambda: json.dumps(self.to_dict(), indent=2) + "\n",
            ".xml": lambda: self.to_junit(fail_on),
            ".txt": lambda: f"{self.summary()}\n",
        }
        if file.suffix not in forms:
            raise ValueError(f"path: got {file.name!r}, wanted a name that ends with {', '.join(forms)}")
        if mode == "x" and file.exists():
            raise FileExistsError(f"path: {str(file)!r} exists; pass force=True to write over it")
        text = forms[file.suffix]()
        with file.open(mode, encoding="utf-8") as out:
            out.write(text)
        return file
