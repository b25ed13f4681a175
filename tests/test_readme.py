"""The README is short, its code runs and prints what it says; it and the pages name only what there is.

``docs/test_pages.py`` runs the snippets of the pages.
"""

import contextlib
import inspect
import io
import re
from operator import attrgetter
from pathlib import Path

import numpy as np
import pytest
from public import PUBLIC

import caltest as ct

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()
CALLS = re.findall(r"^\| [^|`]+ \| `(.*)` \|$", README, re.M)
PAGES = {path.relative_to(ROOT): path.read_text() for path in [ROOT / "README.md", *(ROOT / "docs").glob("**/*.md")]}
PLACES = [ct, *(value for name in dir(ct) if inspect.ismodule(value := getattr(ct, name)))]
NOT_OURS = {"OMP_NUM_THREADS", "NUMBA_NUM_THREADS"}


def test_code_blocks_run_and_print_what_is_shown():
    blocks = re.findall(r"```python\n(.*?)```", README, re.S)
    shown = re.search(r"```python\n.*?print\(result\)\n```\n\n```text\n(.*?)```", README, re.S)
    assert len(blocks) == 1
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(blocks[0], {})
    assert printed.getvalue() == shown[1]


def test_the_chooser_has_every_question():
    assert len(CALLS) == 16


@pytest.mark.every(8)
@pytest.mark.parametrize("call", CALLS)
def test_calls_of_the_chooser_run(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    predictions, labels = ct.datasets.load_digits_predictions()["random forest"]
    p, y = predictions.take(slice(0, None, 9)), labels[::9]
    rng = np.random.default_rng(1)
    mean, members = rng.normal(size=50), rng.normal(size=(50, 9))
    real = "Normal" in call or "Ensemble" in call
    names = {
        "ct": ct,
        "p": p,
        "q": ct.Categorical(np.full_like(p.probabilities, 0.1)),
        "y": rng.normal(size=50) if real else y,
        "mean": mean,
        "scale": 1.0,
        "members": members,
        "margin": 0.01,
        "patient": np.arange(len(y)) // 4,
        "features": {"x": np.arange(len(y)) % 3},
        "tag_p": rng.random((50, 3)),
        "tags": rng.random((50, 3)) < 0.5,
        "old": np.arange(len(y)) % 2 == 0,
    }
    assert eval(call, names) is not None


def test_readme_is_short():
    assert len(README.splitlines()) <= 150
    tree = re.search(r"```\n(caltest/\n.*?)```", README, re.S)[1].splitlines()
    assert len(tree) <= 25
    for line in tree:
        names = re.findall(r"^ *((?:[\w.]+/?  )*[\w.]+/?)(?:  |$)", line)[0].split()
        folder = ROOT / "caltest" if line.startswith(" ") else ROOT
        assert all((folder / name).exists() for name in names), line


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#:]+)\)", PAGES[page]):
        path = ROOT / page.parent / target
        if path.suffix == ".ipynb":
            path = ROOT / "notebooks" / path.name
        made = path.stem == "source-files" or path.parent.name == "gallery"
        assert made or path.exists(), target


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_names_on_pages_exist(page):
    # What other packages call it stands in the first column of tables.
    text = re.sub(r"^\| .*?\|", "", PAGES[page], flags=re.M) if page.stem == "coming-from" else PAGES[page]
    for name in re.findall(r"\bct\.(\w[\w.]*\w)", text):
        assert attrgetter(name)(ct) is not None, name
    spans = re.findall(r"(?<!`)`([^`\n]+)`(?!`)", text)
    called = {name for span in spans for name in re.findall(r"(?<![\w.\"])([A-Z]\w+)(?=\()", span)}
    alone = {match[0] for span in spans if (match := re.fullmatch(r"[A-Z]\w+", span))}
    unknown = {name for name in (called | alone) - NOT_OURS if not any(hasattr(place, name) for place in PLACES)}
    assert not unknown


GLOSSARY = re.findall(r"^(\S.*)\n: ", PAGES[Path("docs/glossary.md")], re.M)
OTHER_WORDS = {
    "Targets, outcomes": r"ground[- ]truth|(true|actual|gold) (labels?|outcomes?|targets?)|reali[sz]ations|actuals",
    "Redraws": r"replicat|surrogate|permut(?!ation tests)|(synthetic|simulated|resampled) (outcomes|labels|targets)",
    "Calibration error": r"(mis)?calibration (gap|deviation|distance|discrepancy)|miscalibration error",
    "Noise floor": r"noise level|bias floor",
    "Exact": r"non-?asymptotic|finite-sample",
    "Margin": r"tolerance level|equivalence bound",
}
DOCSTRINGS = {
    name: " ".join(
        inspect.getdoc(one) or "" for one in [thing, *vars(thing).values()] if inspect.isroutine(one) or one is thing
    )
    for name, thing in PUBLIC.items()
    if inspect.isclass(thing) or inspect.isfunction(thing)
}
GALLERY = {path.name: path.read_text() for path in (ROOT / "docs" / "pictures").iterdir()}


def test_terms_of_the_glossary_are_used():
    """But for words in brackets, each of those that a comma separates."""
    assert OTHER_WORDS.keys() <= set(GLOSSARY)
    text = " ".join(PAGES[page] for page in PAGES if page.stem != "glossary").lower()
    terms = [term for line in GLOSSARY for term in re.sub(r"\(.*\)", "", line).strip().lower().split(", ")]
    assert not [term for term in terms if term not in " ".join(text.split())]


def other_words(text):
    """By term of the glossary, whatever lines they are broken over; not in code."""
    text = " ".join(re.sub(r"```.*?```|`[^`]*`", "", text, flags=re.S).split())
    return {term: found[0] for term, words in OTHER_WORDS.items() if (found := re.search(words, text, re.I))}


def test_other_words_are_noticed():
    assert other_words("Compare the ground\ntruth with `surrogate` ones.") == {"Targets, outcomes": "ground truth"}
    assert other_words("The calibration  gap of resampled labels.").keys() == {"Calibration error", "Redraws"}


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_one_thing_has_one_term(page):
    assert not other_words(PAGES[page])


def test_one_thing_has_one_term_in_docstrings_and_pictures():
    assert not {name: found for name, text in (DOCSTRINGS | GALLERY).items() if (found := other_words(text))}


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_lines_of_pages_are_short(page):
    """But for tables, pictures and code."""
    text = re.sub(r"^```.*?^```", "", PAGES[page], flags=re.M | re.S)
    assert not [line for line in text.splitlines() if len(line) > 120 and not line.startswith(("|", "!["))]
