"""The snippets of every page run, in the order of the page, and print what the page shows below them.

``python -m pytest -n 0 docs/test_pages.py``. Snippets in Python share their names; of those for the shell, the lines
that begin with ``caltest`` run.
"""

import contextlib
import importlib
import io
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import caltest as ct
from caltest.cli import main

DOCS = Path(__file__).parent
PAGES = sorted(path for folder in (DOCS, DOCS / "concepts", DOCS / "how-to") for path in folder.glob("*.md"))
SNIPPET = re.compile(r"```(python|sh)\n(.*?)```(?:\n\n```text\n(.*?)```)?", re.S)
SNIPPETS = {path: SNIPPET.findall(path.read_text()) for path in PAGES}

sys.path.insert(0, str(DOCS))
papers = importlib.import_module("paper_items")
ITEMS = list(enumerate(papers.rows(), 1))


@pytest.mark.parametrize("page", [path for path in PAGES if SNIPPETS[path]], ids=lambda path: path.stem)
def test_snippets_run_and_print_what_is_shown(page, tmp_path, monkeypatch):
    if page.stem == "torch":
        pytest.importorskip("torchmetrics", reason="torch and torchmetrics are missing")
    monkeypatch.chdir(tmp_path)
    names = {}
    for language, code, shown in SNIPPETS[page]:
        printed = run_python(code, names) if language == "python" else run_shell(code)
        if shown or language == "python":
            assert printed == shown


def run_python(code, names):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, names)
    return printed.getvalue()


def run_shell(code):
    """What the last command prints."""
    printed = ""
    for command in (line for line in code.splitlines() if line.startswith("caltest ")):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            assert main(shlex.split(command)[1:]) == 0
        printed = out.getvalue()
    return printed


CHOOSER = (DOCS / "which-test.md").read_text().partition("## All tests")[0]
CHOICES = [call for call in re.findall(r"`([^`\n]+)`", CHOOSER) if "(" in call and not call.startswith("caltest ")]


def names_for(call):
    """What stands in a call of the chooser: calibrated predictions and outcomes of the kind that it is for."""
    rng = np.random.default_rng(1)
    p = ct.datasets.load_digits_predictions()["random forest"][0].take(slice(0, 300))
    members, mean = rng.normal(size=(300, 9)), rng.normal(size=300)
    names = {
        "ct": ct,
        "p": p,
        "y": p.sample(rng),
        "q": p,
        "groups": mean > 0.0,
        "centre": mean > 0.0,
        "w": np.exp(mean),
    }
    names |= {"members": members, "draws": members, "truths": members[:, 0], "mean": mean, "scale": np.ones(300)}
    names |= {"rate": np.exp(mean), "time": np.exp(mean), "event": members[:, 1] > -1.0, "levels": [0.1, 0.5, 0.9]}
    names |= {"values": np.sort(members[:, :3]), "intervals": np.sort(members[:, :2]), "features": {"x": mean}, "h": 2}
    names |= {"patient": np.arange(300) // 4, "day": np.arange(300) % 40, "margin": 0.1}
    names["validate_by_group"] = ct.fields.clinical.validate_by_group
    if "MultiLabel" in call:
        names |= {"p": rng.random((300, 3)), "y": rng.random((300, 3)) < 0.5}
    elif "clinical" in call or "validate" in call:
        names |= {"p": p.probabilities[:, 0], "y": p.sample(rng) == 0}
    elif "Poisson" in call:
        names["y"] = rng.poisson(np.exp(mean))
    elif any(word in call for word in ("Normal", "members", "Quantile", "interval_coverage")):
        names["y"] = mean
    elif call.startswith(("result.", "print(result")):
        names["result"] = ct.calibration_test(p, names["y"], rng=1)
    return names


@pytest.mark.parametrize("call", CHOICES)
def test_calls_of_the_chooser_run(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        made = eval(call, names_for(call))
    assert made is not None or printed.getvalue()


def test_the_chooser_has_a_call_for_most_questions():
    assert len(CHOICES) > 30


def test_every_picture_is_in_the_gallery():
    stems = {path.stem.removeprefix("plot_") for path in (DOCS / "pictures").glob("plot_*.py")}
    assert set(ct.plots.__all__) - {"save"} <= stems


EXAMPLES = (
    "Logistic([0.0, 1.0, 3.0], 1.0)",
    "InverseMultiquadric()",
    "Hellinger()",
    "CalibrationInTheLarge()",
    "EventCount()",
    "EventCountTest()",
    "ClassShares()",
    "ct.CalibrationTest(ct.ECE(), NormalLawOfRedraws())",
    "ShrinkageMap('probabilities', 3, 0.1, np.ones(3) / 3)",
    "Shrinkage()",
)


def test_classes_of_the_guide_hold_the_contracts(tmp_path):
    code = "\n".join(code for language, code, _ in SNIPPETS[DOCS / "extending.md"] if language == "python")
    names = re.findall(r"^class (\w+)", code, re.M)
    examples = [f"{name}.__doc__ += '\\n\\n>>> ' + {one!r}" for name, one in zip(names, EXAMPLES, strict=True)]
    own = tmp_path / "own.py"
    own.write_text("\n".join([code, *examples]))
    tests = [DOCS.parent / "tests" / name for name in ("test_contracts.py", "test_contracts_of_parts.py")]
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", *tests, "--own", own, "-k", " or ".join(names)]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout


@pytest.mark.parametrize("row", [row for _, row in ITEMS], ids=[f"{i}, {row['item']}" for i, row in ITEMS])
def test_items_of_papers_are_where_the_table_says(row):
    """Names exist, and the part of the notebook or the test shows all of our numbers."""
    assert row["paper"] in papers.TITLES
    assert row["verdict"] in papers.VERDICTS
    assert all(papers.thing(name) is not None for name in papers.parts(row["here"]))
    assert all(papers.shown(place) is not None for place in papers.parts(row["shown"]))
    assert not papers.missing_numbers(row)
    needs_a_place = row["verdict"] in ("agrees", "holds", "differs", "wrong", "partly")
    assert not needs_a_place or row["shown"] or (row["verdict"] == "partly" and row["remark"])
    assert row["remark"] or row["verdict"] in ("agrees", "holds", "open")


def test_numbers_that_nothing_shows_are_noticed():
    row = {"ours": "0.710642 and .5", "shown": "05#what-is-known-about-the-models"}
    assert papers.missing_numbers(row) == {0.5}
    assert papers.missing_numbers({"ours": "-0.710642", "shown": "05#what-is-known-about-the-models"}) == {-0.710642}
    assert papers.missing_numbers({"ours": "1e-9", "shown": "golden/test_cifar10.py::test_errors"}) == set()
    for place in ("05#nowhere", "golden/test_cifar10.py::test_nothing"):
        with pytest.raises(KeyError):
            papers.shown(place)


def test_every_figure_and_table_of_the_papers_has_a_row():
    wanted = {
        "Widmann et al. 2019": [*(f"Figure {i}" for i in range(1, 38)), "Table 1"],
        "Widmann et al. 2021": [f"Figure {i}" for i in range(1, 13)],
        "Wenger et al. 2020": [
            *(f"Figure {i}" for i in (1, 2, 3, 4, 5, "S1", "S2", "S3", "S4", "S5")),
            *(f"Table {i}" for i in (1, 2, "S1", "S2", "S3", "S4", "S5")),
        ],
        "Gruber and Bach 2024": [*(f"Figure {i}" for i in range(1, 6)), *(f"Table {i}" for i in range(1, 6))],
    }
    for paper, names in wanted.items():
        found = set()
        for _, row in ITEMS:
            if row["paper"] == paper:
                found |= papers.pictures(row["item"])
        assert set(names) == found, paper
