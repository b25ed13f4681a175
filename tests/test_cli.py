import gzip
import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import caltest as ct
from caltest.cli import TESTS, main


@pytest.fixture
def files(tmp_path):
    """Write predictions and outcomes as given lines, and give the paths."""

    def write(predictions, outcomes):
        paths = tmp_path / "predictions.csv", tmp_path / "outcomes.csv"
        for path, lines in zip(paths, (predictions, outcomes), strict=True):
            path.write_text("\n".join(lines) + "\n")
        return [str(path) for path in paths]

    return write


ROWS = ["0.2,0.8", "0.7,0.3", "0.6,0.4", "0.1,0.9"]


def run(capsys, *arguments):
    status = main(["test", *arguments])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_prints_the_report(files, capsys):
    status, out, err = run(capsys, *files(ROWS, ["1", "0", "0", "1"]), "--seed", "3")
    assert status == 0
    assert err == ""
    probabilities = [[float(cell) for cell in row.split(",")] for row in ROWS]
    assert out == f"{ct.calibration_test(probabilities, [1, 0, 0, 1], rng=3)}\n"


def test_prints_json(files, capsys):
    _, out, _ = run(capsys, *files(ROWS, ["1", "0", "0", "1"]), "--seed", "3", "--json")
    assert json.loads(out)["pvalue_kind"] == "exact"


@pytest.mark.parametrize("name", TESTS)
def test_every_test_runs(name, files, capsys):
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.ones(3), 60)
    paths = files([",".join(map(str, row)) for row in p], [str(v) for v in rng.integers(0, 3, 60)])
    status, out, _ = run(capsys, *paths, "--test", name, "--seed", "1", "--json")
    assert status == 0
    assert 0 < json.loads(out)["pvalue"] <= 1


@pytest.mark.parametrize(
    ("predictions", "outcomes"),
    [
        (["cat,dog", *ROWS], ["animal", "dog", "cat", "cat", "dog"]),
        (["cat,dog", *ROWS], ["dog", "cat", "cat", "dog"]),
        (['"cat";"dog"', *(row.replace(",", ";") for row in ROWS)], ["label", "1", "0", "0", "1"]),
        (["p", "0.8", "0.3", "0.4", "0.9"], ["outcome", "True", "False", "False", "True"]),
        (["0.8", "0.3", "0.4", "0.9"], ["1.0", "0.0", "0.0", "1.0"]),
    ],
)
def test_headers_names_and_separators(predictions, outcomes, files, capsys):
    status, out, err = run(capsys, *files(predictions, outcomes), "--seed", "3", "--json")
    assert (status, err) == (0, "")
    expected = ct.calibration_test([[0.2, 0.8], [0.7, 0.3], [0.6, 0.4], [0.1, 0.9]], [1, 0, 0, 1], rng=3)
    assert json.loads(out)["estimate"] == pytest.approx(expected.estimate, rel=1e-12)


def test_header_of_numbers_and_compressed_files(tmp_path, capsys):
    p = np.random.default_rng(1).dirichlet(np.ones(3), 10)
    lines = ["0,1,2", *(",".join(map(str, row)) for row in p)]
    with gzip.open(tmp_path / "p.csv.gz", "wt") as file:
        file.write("\n".join(lines))
    np.save(tmp_path / "y.npy", np.arange(10) % 3)
    np.save(tmp_path / "p.npy", p)
    results = [
        run(capsys, str(tmp_path / name), str(tmp_path / "y.npy"), "--seed", "1") for name in ("p.csv.gz", "p.npy")
    ]
    assert results[0] == results[1]
    assert results[0][0] == 0


def test_every_test_knows_names(files, capsys):
    paths = files(["cat,dog", *ROWS * 5], ["dog", "cat", "cat", "dog"] * 5)
    for name in TESTS:
        assert run(capsys, *paths, "--test", name, "--seed", "1")[0] == 0, name


def as_pandas_saves(frame, name, tmp_path):
    frame.to_csv(tmp_path / name, index=False)
    return str(tmp_path / name)


@pytest.mark.parametrize("columns", [1, 2, 3])
def test_headers_that_pandas_writes_for_unnamed_columns(columns, tmp_path, capsys):
    """0,1,... over the predictions and 0 over the outcomes are names of columns and no observations."""
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.ones(max(columns, 2)), 30)
    p = p[:, 1] if columns == 1 else p
    y = rng.integers(0, max(columns, 2), 30)
    paths = as_pandas_saves(pd.DataFrame(p), "p.csv", tmp_path), as_pandas_saves(pd.Series(y), "y.csv", tmp_path)
    status, out, _ = run(capsys, *paths, "--seed", "1", "--json")
    assert status == 0
    assert json.loads(out)["n"] == 30
    assert json.loads(out)["pvalue"] == ct.calibration_test(p, y, rng=1).pvalue


def test_pandas_header_of_means_and_scales(tmp_path, capsys):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({0: rng.normal(size=20), 1: np.ones(20)})
    paths = (
        as_pandas_saves(frame, "p.csv", tmp_path),
        as_pandas_saves(pd.Series(rng.normal(size=20)), "y.csv", tmp_path),
    )
    _, out, _ = run(capsys, *paths, "--normal", "--seed", "1", "--json")
    assert json.loads(out)["n"] == 20


def test_certain_predictions_without_a_header_keep_their_first_row(files, capsys):
    _, out, _ = run(capsys, *files(["0,1", "1,0", "0,1"], ["1", "0", "1"]), "--bandwidth", "1", "--json")
    assert json.loads(out)["n"] == 3


def test_columns_separated_by_blanks(tmp_path, capsys):
    p, y = np.random.default_rng(1).dirichlet(np.ones(3), 9), np.arange(9) % 3
    np.savetxt(tmp_path / "p.csv", p)
    np.savetxt(tmp_path / "y.csv", y)
    _, out, _ = run(capsys, str(tmp_path / "p.csv"), str(tmp_path / "y.csv"), "--seed", "1", "--json")
    assert json.loads(out)["pvalue"] == ct.calibration_test(p, y, rng=1).pvalue


def test_bandwidth(files, capsys):
    _, out, _ = run(capsys, *files(ROWS, ["1", "0", "0", "1"]), "--bandwidth", "0.125", "--seed", "1")
    assert "exp(-TV / 0.125)" in out


def test_default_test_is_that_of_the_library(files, capsys):
    """Also where most rows are identical, so that the median distance is 0."""
    rows, labels = ["0.2,0.8"] * 15 + ROWS, ["1", "0", "1"] * 5 + ["1", "0", "0", "1"]
    _, out, _ = run(capsys, *files(rows, labels), "--seed", "1")
    p = [[float(cell) for cell in row.split(",")] for row in rows]
    assert out == f"{ct.calibration_test(p, [int(label) for label in labels], rng=1)}\n"


def test_files_in_other_encodings(files, tmp_path, capsys):
    paths = files(ROWS, ["1", "0", "0", "1"])
    (tmp_path / "outcomes.csv").write_bytes("é".encode("utf-16"))
    status, _, err = run(capsys, *paths)
    assert status == 2
    assert "outcomes.csv: got bytes that are not UTF-8" in err


def test_normal_predictions(files, capsys):
    status, out, _ = run(capsys, *files(["mean,sd", "0,1", "1,2", "3,1"], ["0.5", "2", "2"]), "--normal", "--seed", "1")
    assert status == 0
    assert "Normal, n = 3" in out


@pytest.mark.parametrize(
    ("predictions", "outcomes", "arguments", "message"),
    [
        (ROWS, ["1", "0", "0"], [], "wanted 4, one per row of"),
        (ROWS, ["1", "2", "2", "1"], [], "subtract 1"),
        (["0.2,x", "0.5,0.5"], ["1", "0"], [], "got no rows|one per row"),
        (["a,b", "0.2,x", "0.5,0.5"], ["1", "0"], [], "could not convert string 'x'"),
        ([",a,b", "0,0.2,0.8"], ["1"], [], "save without the index"),
        (ROWS, ["0,1", "1,0", "2,0", "3,1"], [], "got 2 columns, wanted 1"),
        (ROWS, ["dog", "cat", "cat", "dog"], [], "a header with the names"),
        (["cat,dog", *ROWS], ["cow", "cow", "cat", "cat", "dog"], [], "'cow' at row 0"),
        (["a,b"], ["1"], [], "no rows after the header"),
        (ROWS, ["1", "0", "0", "1"], ["--normal", "--test", "mmce"], "Categorical or Bernoulli"),
        (["1", "2"], ["1", "2"], ["--normal"], "wanted 2: mean and standard deviation"),
        ([""], ["1"], [], "empty file"),
        (ROWS, ["1", "0", "0", "1"], ["--test", "ece", "--bandwidth", "1"], "the test ece, which takes none"),
    ],
)
def test_errors_are_one_line(predictions, outcomes, arguments, message, files, capsys):
    import re

    status, out, err = run(capsys, *files(predictions, outcomes), *arguments)
    assert (status, out) == (2, "")
    assert err.startswith("caltest: error: ")
    assert err.count("\n") == 1
    assert re.search(message, err), err


def test_missing_file(capsys):
    status, _, err = run(capsys, "nowhere.csv", "nothing.csv")
    assert status == 2
    assert "nowhere.csv" in err


def test_demo_tells_the_models_apart(capsys):
    assert main(["demo"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(
        "naive Bayes     not calibrated (p = 0): outcomes occurred that were predicted not to" in x for x in lines
    )
    assert any("random forest   not calibrated (p = 0.002): predictions are underconfident" in x for x in lines)
    assert any("neural network  not calibrated (p = 0.01): predictions are overconfident" in x for x in lines)


def test_module_and_version():
    run = subprocess.run([sys.executable, "-m", "caltest", "--version"], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == f"caltest {ct.__version__}"


def test_what_does_not_fit_into_memory_is_an_error(files, capsys, monkeypatch):
    monkeypatch.setattr("caltest._numerics._memory", lambda: 100.0)
    status, out, err = run(capsys, *files(ROWS, ["1", "0", "0", "1"]))
    assert (status, out) == (2, "")
    assert err.startswith("caltest: error: redrawn targets of a pass would take")


@pytest.mark.parametrize("terminal", [True, False])
def test_progress_is_shown_in_a_terminal_only(terminal, files, capsys, monkeypatch):
    shown, on = [], ct.CalibrationTest.on

    def watched(self, sample, *, rng, progress):
        shown.append(progress)
        return on(self, sample, rng=rng)

    monkeypatch.setattr(ct.CalibrationTest, "on", watched)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    assert run(capsys, *files(ROWS, ["1", "0", "0", "1"]))[0] == 0
    assert shown == [terminal]
