"""Links from code that names something public to its page, and signatures and links of the API reference."""

import inspect
import re
from collections import Counter
from functools import cache
from typing import Any

from docutils import nodes
from reference import listed_names
from sphinx.addnodes import pending_xref
from sphinx.util.inspect import stringify_signature


@cache
def public() -> dict[str, str]:
    """Full names by how they are written in code: after ``ct.``, or alone where they cannot be mistaken for a word."""
    full = [name for names in listed_names().values() for name in names]
    lasts = Counter(name.rpartition(".")[2] for name in full)
    alone = {
        last: name
        for name in full
        if re.search(r"[A-Z]|_", last := name.rpartition(".")[2]) and (lasts[last] == 1 or name == f"caltest.{last}")
    }
    return alone | {"ct." + name.removeprefix("caltest."): name for name in full}


def named_in(code: str) -> str | None:
    """The full name of what is public in code: a name, or a call of one.

    >>> named_in("ct.ECE()(p, y)"), named_in("nulls.PearsonNull"), named_in("power")
    ('caltest.ECE', 'caltest.nulls.PearsonNull', None)
    """
    written = re.match(r"(?:(?:ct|caltest)\.)?([\w.]+)(?=\(|$)", code)
    if written is None:
        return None
    alone = written[0] == written[1] and "." not in written[1]
    return public().get(written[1] if alone else f"ct.{written[1]}")


def link_names(app: Any, doctree: nodes.document) -> None:
    """Code that is a public name, or a call of one, leads to the page of that name, and a file of ``docs`` to that."""
    page = app.env.docname
    for code in list(doctree.findall(nodes.literal)):
        text = code.astext()
        name, file = named_in(text), re.fullmatch(r"docs/([\w/-]+)\.md", text)
        module = re.fullmatch(r"(?:ct|caltest)\.([a-z_.]+)", text)
        path = file[1] if file else f"api/{module[1]}" if module and module[1] in listed_names() else ""
        of_others = page == "coming-from" and not text.startswith(("ct.", "caltest."))
        if isinstance(code.parent, (nodes.reference, nodes.title, pending_xref)):
            continue
        if path and path != page:
            target = {"reftype": "doc", "refdomain": "std", "reftarget": f"/{path}", "refexplicit": False}
        elif name and not of_others and page != f"api/names/{name}":
            target = {"reftype": "obj", "refdomain": "py", "reftarget": name}
        else:
            continue
        link = pending_xref("", refdoc=page, **target)
        code.replace_self(link)
        link += code


def skip_members_of_sklearn(app: Any, what: str, name: str, thing: Any, *_: Any) -> bool | None:
    """Methods that scikit-learn gives to its estimators, which its own pages describe."""
    return True if (getattr(thing, "__module__", None) or "").startswith("sklearn") else None


def signature_of(app: Any, what: str, name: str, thing: Any, *_: Any) -> tuple[str, None] | None:
    """Of a class what makes one, where ``__new__`` takes anything; of bases and results, which calls make, nothing."""
    if not inspect.isclass(thing) or issubclass(thing, BaseException):
        return None
    shown = stringify_signature(inspect.signature(thing), show_annotation=False, show_return_annotation=False)
    return ("" if shown.startswith("(*arg") or ".results." in name else shown), None


RATES = {
    "error-rates": (
        *("calibration_test", "calibration_by_group", "find_slices"),
        *("compare_models", "compare_classes", "compare_pairs", "assert_calibrated"),
    ),
    "validity": (
        *("CalibrationMonitor", "fields.d_calibration", "fields.a_calibration", "fields.one_calibration"),
        *("fields.clinical.validate", "fields.clinical.validate_by_group", "fields.clinical.decision_curve"),
        *("fields.weather.rank_histogram", "fields.weather.exceedances", "fields.weather.crps_decomposition"),
        *("fields.bayesian.simulation_based_calibration", "recalibration.multicalibration_report"),
    ),
}
"""Where calls that test have their rates."""


def lead_to_error_rates(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """From each test to how often it errs."""
    if page := next((page for page, calls in RATES.items() if name.removeprefix("caltest.") in calls), None):
        said = f"How often it errs: :doc:`/{page}`."
    elif what == "class" and name.endswith("Test"):
        said = "What it assumes, how often it errs, and its cost: :doc:`/error-rates`."
    else:
        return
    end = lines.index("", next(i for i, line in enumerate(lines) if line))
    lines[end:end] = ["", said]
