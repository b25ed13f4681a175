import gzip
import json
import subprocess
import sys

import numpy as np
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
    assert any(line.split()[:5] == ["naive", "Bayes", "not", "calibrated:", "overconfident"] for line in lines)
    assert any(line.split()[:5] == ["random", "forest", "not", "calibrated:", "underconfident"] for line in lines)
    assert any("neural network  no evidence against calibration" in line for line in lines)


def test_module_and_version():
    run = subprocess.run([sys.executable, "-m", "caltest", "--version"], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == f"caltest {ct.__version__}"
