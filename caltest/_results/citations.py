"""BibTeX entries of the sources of methods, which are in ``citations.bib``."""

import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Any
from unicodedata import normalize


def bibtex(source: Any) -> str:
    r"""BibTeX entries of the methods of a test, an estimator, a null, a result or a comparison.

    Parameters
    ----------
    source
        Anything of these.

    Returns
    -------
    str
        Entries in alphabetical order of their keys, empty if there are none.

    Examples
    --------
    >>> import caltest as ct
    >>> print(ct.results.bibtex(ct.ConsistencyTest(ct.ECE(), n_resamples=99).null))
    @article{broecker2007,
      author = {Br{\"o}cker, Jochen and Smith, Leonard A.},
      title = {Increasing the reliability of reliability diagrams},
      journal = {Weather and Forecasting},
      year = {2007},
      volume = {22},
      pages = {651--661},
    }
    """
    keys = getattr(source, "citations", None)
    if isinstance(source, type) or not isinstance(keys, tuple):
        raise TypeError(
            f"source: got {type(source).__name__}, wanted a test, an estimator, a null, a result or a comparison"
        )
    return entries(keys)


def entries(keys: Iterable[str]) -> str:
    """The entries of these keys, each once, in alphabetical order."""
    known = all_entries()
    return "\n\n".join(known[key] for key in sorted(set(keys)))


ACCENTS = {'"': "\u0308", "'": "\u0301", "`": "\u0300", "v": "\u030c"}
"""LaTeX's letters of accents, as they follow a letter."""


def reference(key: str) -> str:
    """A source on one line: authors, year, title and where it appeared."""
    known = dict(re.findall(r"^  (\w+) = \{(.*)\},$", all_entries()[key], re.M))
    text = {name: _without_latex(value) for name, value in known.items()}
    names = [one.split(",")[0] for one in text["author"].split(" and ")]
    authors = " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
    where = next((text[one] for one in ("journal", "booktitle", "publisher", "howpublished") if one in text), "")
    return f"{authors} ({text['year']}): {text['title']}" + (f", {where}" if where else "")


def _without_latex(text: str) -> str:
    text = re.sub(r"\\([\"'`v])\{?(\w)\}?", lambda one: normalize("NFC", one[2] + ACCENTS[one[1]]), text)
    return re.sub(r"[{}\\]", "", text.replace(r"\l", "ł")).replace("--", "-")


@cache
def all_entries() -> dict[str, str]:
    """The entries of ``citations.bib``, which begin and end at the start of a line, by their keys."""
    text = (files("caltest._results") / "citations.bib").read_text(encoding="utf-8")
    return {match[1]: match[0] for match in re.finditer(r"^@\w+\{(\w+),\n.*?^\}", text, re.M | re.S)}
