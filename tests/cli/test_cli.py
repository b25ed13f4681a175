import gzip
import json
import os
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from samples import TV

import caltest as ct
from caltest.cli import TESTS, main, recalibrate
from caltest.cli.audit import _events


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


OF_CLASSES = [name for name in TESTS if name != "pit"]


@pytest.mark.every(3)
@pytest.mark.parametrize("name", OF_CLASSES)
def test_every_test_runs(name, files, capsys):
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.ones(3), 60)
    paths = files([",".join(map(str, row)) for row in p], [str(v) for v in rng.integers(0, 3, 60)])
    status, out, _ = run(capsys, *paths, "--test", name, "--seed", "1", "--json")
    assert status == 0
    assert 0 < json.loads(out)["pvalue"] <= 1


def test_the_help_says_how_many_bins_there_are():
    counted = {name: re.search(r"(\d+) bins", test.text) for name, test in TESTS.items()}
    made = {name: test.of(TV).estimator for name, test in TESTS.items() if counted[name]}
    assert {name: one.binning.n_bins for name, one in made.items()} == {"ece": 10, "ece-top-label": 15}
    assert all(f"{one.binning.n_bins} bins" in counted[name][0] for name, one in made.items())
    assert TESTS["ece-consistency"].of(TV).estimator == made["ece"]


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


def test_every_test_knows_names(files, capsys, without_findings):
    paths = files(["cat,dog", *ROWS * 5], ["dog", "cat", "cat", "dog"] * 5)
    for name in OF_CLASSES:
        assert run(capsys, *paths, "--test", name, "--seed", "1")[0] == 0, name


def test_tests_of_the_top_label_and_of_transforms(files, capsys):
    rng = np.random.default_rng(1)
    p, y = rng.dirichlet(np.ones(3), 60), rng.integers(0, 3, 60)
    paths = files([",".join(map(str, row)) for row in p], [str(v) for v in y])
    _, out, _ = run(capsys, *paths, "--test", "cox", "--seed", "1", "--json")
    expected = ct.MonteCarloTest(ct.estimators.CoxCalibration())(*ct.top_label(p, y), rng=1)
    assert json.loads(out)["pvalue"] == expected.pvalue
    x = rng.normal(size=20)
    paths = files([f"{value},1.0" for value in x], [str(value + 0.5) for value in x])
    _, out, _ = run(capsys, *paths, "--test", "pit", "--normal", "--json")
    assert json.loads(out)["pvalue"] == pytest.approx(ct.PITTest()(ct.Normal(x, 1.0), x + 0.5).pvalue, rel=1e-12)
    status, _, err = run(capsys, *files(ROWS, ["1", "0", "0", "1"]), "--test", "pit")
    assert status == 2
    assert "Categorical" in err


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
    (tmp_path / "outcomes.csv").write_bytes("é".encode("latin-1"))
    status, _, err = run(capsys, *paths)
    assert status == 2
    assert "outcomes.csv: got bytes that are not UTF-8" in err


def test_groups_of_one_row_are_left_out(files, capsys):
    rows = ["risk,site,died", *(f"0.{i % 7 + 2},{'abc'[(i > 20) + (i > 58)]},{int(i % 5 == 0)}" for i in range(60))]
    settings = "--outcome-column", "died", "--groups", "site", "--n-resamples", "19", "--seed", "1"
    status, out, err = run(capsys, files(rows, [])[0], *settings)
    assert (status, err) == (0, "")
    assert "left out: 1 group of one row, c" in out
    assert "2 groups" in out


def test_features_have_decimal_commas(files, capsys):
    """The result is that of the same table with points."""
    rows = ["risk;age;died", *(f"0,{i % 7 + 2};{i % 9},5;{int(i % 3 == 0)}" for i in range(60))]
    settings = (
        "--outcome-column",
        "died",
        "--columns",
        "risk",
        "--features",
        "age",
        "--n-resamples",
        "19",
        "--seed",
        "1",
    )
    found = [run(capsys, files(lines, [])[0], *settings) for lines in (rows, [one.replace(",", ".") for one in rows])]
    assert found[0] == found[1]
    assert found[0][::2] == (0, "")


def test_normal_predictions(files, capsys):
    status, out, _ = run(capsys, *files(["mean,sd", "0,1", "1,2", "3,1"], ["0.5", "2", "2"]), "--normal", "--seed", "1")
    assert status == 0
    assert "Normal, n = 3" in out


@pytest.fixture
def ensemble(tmp_path):
    """A file of five members and the outcome, and these."""
    rng = np.random.default_rng(3)
    values = 50.0 + rng.normal(size=(40, 1)) + rng.normal(size=(40, 6))
    path = tmp_path / "ensemble.csv"
    np.savetxt(path, values, delimiter=",", header="a,b,c,d,e,outcome", comments="")
    return str(path), values[:, :5], values[:, 5]


def test_members(ensemble, capsys):
    path, members, y = ensemble
    common = path, "--members", "--outcome-column", "outcome", "--seed", "1"
    status, out, _ = run(capsys, *common, "--format", "json")
    expected = ct.calibration_test(ct.Ensemble(members), y, rng=1)
    assert (status, json.loads(out)["pvalue"]) == (0, expected.pvalue)
    assert json.loads(out)["predictions"] == expected.predictions


@pytest.mark.parametrize("field", ["weather", "bayesian"])
def test_audits_of_members(field, ensemble, capsys):
    path, members, y = ensemble
    common = "--members", "--outcome-column", "outcome", "--field", field, "--n-resamples", "19", "--seed", "1"
    assert main(["audit", path, *common, "--format", "json"]) == 0
    expected = ct.audit(ct.Ensemble(members), y, field=field, n_resamples=19, rng=1)
    assert not expected.models[0].sections[field].failed
    assert json.loads(capsys.readouterr().out).items() >= json.loads(json.dumps(expected.to_dict())).items()


def test_audits_of_members_ask_about_units(tmp_path, ensemble, capsys):
    _, members, y = ensemble
    path = tmp_path / "litres.csv"
    np.savetxt(path, np.column_stack([members, y / 1000.0]), delimiter=",", header="a,b,c,d,e,y", comments="")
    assert main(["audit", str(path), "--members", "--outcome-column", "y", "--n-resamples", "19", "--seed", "1"]) == 0
    assert "are both in the same unit?" in " ".join(capsys.readouterr().out.split())


def test_comparisons_of_members(tmp_path, ensemble, capsys):
    _, members, y = ensemble
    paths = [tmp_path / name for name in ("one.csv", "two.csv", "outcomes.csv")]
    for path, values in zip(paths, (members, 50.0 + 3.0 * (members - 50.0), y), strict=True):
        np.savetxt(path, values, delimiter=",")
    arguments = *map(str, paths), "--members", "--n-resamples", "19", "--seed", "1", "--format", "json"
    assert main(["compare", *arguments]) == 0
    expected = ct.compare_models(
        {"one": ct.Ensemble(members), "two": ct.Ensemble(50.0 + 3.0 * (members - 50.0))}, y, n_resamples=19, rng=1
    )
    found = json.loads(capsys.readouterr().out)
    assert [row["pvalue"] for row in found["rows"]] == [row.pvalue for row in expected.rows]


@pytest.mark.parametrize(
    ("predictions", "outcomes", "arguments", "message"),
    [
        (ROWS, ["1", "0", "0"], [], "wanted 4, one per row of"),
        (ROWS, ["1", "2", "2", "1"], [], "subtract 1"),
        (["0.2,x", "0.5,0.5"], ["1", "0"], [], "line 1: got 'x' in column 2, wanted a number"),
        (["a,b", "0.2,x", "0.5,0.5"], ["1", "0"], [], "line 2: got 'x' in column 'b', wanted a number"),
        ([",a,b", "0,0.2,0.8"], ["1"], [], "save without the index"),
        (ROWS, ["0,1", "1,0", "2,0", "3,1"], [], "got 2 columns, wanted 1"),
        (ROWS, ["dog", "cat", "cat", "dog"], [], "a header with the names"),
        (["cat,dog", *ROWS], ["cow", "cow", "cat", "cat", "dog"], [], "'cow' at row 0"),
        (["a,b"], ["1"], [], "no rows after the header"),
        (ROWS, ["1", "0", "0", "1"], ["--normal", "--test", "mmce"], "Categorical or Bernoulli"),
        (["1", "2"], ["1", "2"], ["--normal"], "wanted 2: mean and standard deviation"),
        (["p", "3.1%"], ["1"], [], "got '3.1%' in column 'p', wanted a number; take the % off and divide by 100"),
        (["1.5,1", "2,1"], ["1.2", "2.3"], [], "with --normal, or members with --members$"),
        (["1.5,2", "1.5,inf"], ["1", "2"], ["--members"], r"predictions.csv: got inf at row 1 \(line 2\), column 2"),
        ([""], ["1"], [], "empty file"),
        (ROWS, ["1", "0", "0", "1"], ["--test", "ece", "--bandwidth", "1"], "the test ece, which takes none"),
    ],
)
def test_errors_are_one_line(predictions, outcomes, arguments, message, files, capsys):
    status, out, err = run(capsys, *files(predictions, outcomes), *arguments)
    assert (status, out) == (2, "")
    assert err.startswith("caltest: error: ")
    assert err.count("\n") == 1
    assert re.search(message, err), err


def test_terminals_obey_no_names_and_cells(files, capsys, tmp_path):
    predictions, outcomes = files(["a\x1b[31m\u202e,b", *ROWS], ["cow", "b", "b", "b"])
    _, _, err = run(capsys, predictions, outcomes)
    assert "a\\x1b[31m\\u202e" in err
    assert "\x1b" not in err
    _, _, err = run(capsys, str(tmp_path / "two\nlines\x07.csv"), outcomes)
    assert (err.count("\n"), "\x07" in err) == (1, False)
    _, _, err = run(capsys, *files(["0.2,0.8", f"{'x' * 100_000},0.5"], ["1", "0"]))
    assert len(err) < 2200
    assert "line 2: got 'xxx" in err
    assert "wanted a number" in err


def test_missing_file(capsys):
    status, _, err = run(capsys, "nowhere.csv", "nothing.csv")
    assert status == 2
    assert "nowhere.csv" in err


def test_demo_tells_the_models_apart(capsys):
    assert main(["demo"]) == 0
    printed = capsys.readouterr().out
    assert max(map(len, printed.splitlines())) <= 80
    said = " ".join(printed.split())
    assert "naive Bayes not calibrated (p = 0, an impossible outcome): 24 outcomes occurred to which" in said
    assert "random forest not calibrated (p = 0.002): predictions are underconfident" in said
    assert "neural network not calibrated (p = 0.009): perhaps: predictions are overconfident" in said


def test_module_and_version():
    run = subprocess.run([sys.executable, "-m", "caltest", "--version"], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == f"caltest {ct.__version__}"


def test_what_does_not_fit_into_memory_is_an_error(files, capsys, monkeypatch):
    monkeypatch.setattr("caltest._basics.numerics.memory_size", lambda: 100.0)
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


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Files of three models for the same outcomes: calibrated, as good, and certain of the wrong class."""
    folder, rng = tmp_path_factory.mktemp("models"), np.random.default_rng(1)
    p = rng.dirichlet(np.ones(3), 80)
    y = ct.Categorical(p).sample(rng)
    tables = {"good": p, "bad": rng.dirichlet(np.full(3, 0.3), 80)}
    for name, table in tables.items():
        np.savetxt(folder / f"{name}.csv", table, delimiter=",")
    np.savetxt(folder / "labels.csv", y, fmt="%d")
    return {name: str(folder / f"{name}.csv") for name in ("good", "bad", "labels")}, tables, y


def command(capsys, *arguments):
    status = main(arguments)
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_compare_prints_what_the_library_finds(models, capsys):
    paths, tables, y = models
    files = paths["good"], paths["bad"], paths["labels"]
    status, out, err = command(capsys, "compare", *files, "--n-resamples", "99", "--seed", "3")
    assert (status, err) == (0, "")
    expected = ct.compare_models(tables, y, n_resamples=99, rng=3)
    assert out == f"{expected}\n"
    _, out, _ = command(capsys, "compare", *files, "--n-resamples", "99", "--seed", "3", "--format", "json")
    assert json.loads(out).items() >= json.loads(json.dumps(expected.to_dict() | {"alpha": 0.05})).items()
    for form, text in (("markdown", expected.to_markdown()), ("latex", expected.to_latex())):
        assert (
            command(capsys, "compare", *files, "--n-resamples", "99", "--seed", "3", "--format", form)[1] == f"{text}\n"
        )


def test_pairs_of_models(models, capsys):
    paths, tables, y = models
    arguments = "compare", paths["good"], paths["bad"], paths["labels"], "--pairs"
    status, out, err = command(capsys, *arguments)
    assert (status, out, err) == (0, f"{ct.compare_pairs(tables, y).summary(0.05).narrow()}\n", "")
    assert max(map(len, out.splitlines())) <= 80
    differ = ct.compare_pairs(tables, y).rows[0].pvalue_holm <= 0.05
    assert command(capsys, *arguments, "--fail-on-reject")[0] == int(differ)
    assert command(capsys, *arguments, "--fail-on-reject", "--alpha", "1e-99")[0] == 0
    status, _, err = command(capsys, "compare", paths["good"], paths["labels"], "--pairs")
    assert (status, err) == (2, "caltest: error: models: got only 'good', wanted at least two to compare\n")


def test_compare_knows_names_of_classes(files, tmp_path, capsys):
    first, outcomes = files(["cat,dog", *ROWS * 5], ["dog", "cat", "cat", "dog"] * 5)
    (tmp_path / "other.csv").write_text("\n".join(["cat,dog", *ROWS[::-1] * 5]))
    arguments = "compare", first, str(tmp_path / "other.csv"), outcomes, "--n-resamples", "9", "--format", "json"
    status, out, _ = command(capsys, *arguments)
    assert status == 0
    assert [row["name"] for row in json.loads(out)["rows"]] == ["predictions", "other"]


@pytest.mark.every(2)
@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("header", ["owl,dog,cat", "cat,dog,fox"])
def test_compare_refuses_other_classes_and_orders(models, tmp_path, capsys, header, named):
    paths, tables, y = models
    for name, first in (("good", "cat,dog,owl"), ("bad", header)):
        np.savetxt(tmp_path / f"{name}.csv", tables[name], delimiter=",", header=first, comments="")
    labels = np.array(["cat", "dog", "dog"])[y] if named else y.astype(str)
    (tmp_path / "y.csv").write_text("\n".join(["outcome", *labels]))
    arguments = [str(tmp_path / name) for name in ("good.csv", "bad.csv", "y.csv")]
    status, _, err = command(capsys, "compare", *arguments, "--n-resamples", "9")
    assert status == 2
    assert "models['bad']: predictions: got classes" in err
    assert command(capsys, "compare", arguments[0], paths["bad"], paths["labels"], "--n-resamples", "9")[0] == 0


def test_files_of_the_same_name_are_told_apart(models, tmp_path, capsys):
    paths, tables, _ = models
    np.savetxt(tmp_path / "good.csv", tables["bad"], delimiter=",")
    other = str(tmp_path / "good.csv")
    _, out, _ = command(
        capsys, "compare", paths["good"], other, paths["labels"], "--n-resamples", "9", "--format", "json"
    )
    assert [row["name"] for row in json.loads(out)["rows"]] == [paths["good"], other]
    status, _, err = command(capsys, "compare", other, other, paths["labels"])
    assert status == 2
    assert "got this file 2 times" in err


def test_compare_names_the_model_of_bad_input(models, tmp_path, capsys):
    paths, tables, _ = models
    np.savetxt(tmp_path / "two.csv", tables["good"][:, :2], delimiter=",")
    status, _, err = command(capsys, "compare", paths["good"], str(tmp_path / "two.csv"), paths["labels"])
    assert status == 2
    assert err.startswith("caltest: error: ")


def test_rejections_as_exit_status(models, capsys, without_findings):
    paths, _, _ = models
    for name, rejected in (("good", 0), ("bad", 1)):
        arguments = "test", paths[name], paths["labels"], "--seed", "1"
        assert command(capsys, *arguments)[0] == 0
        assert command(capsys, *arguments, "--fail-on-reject")[0] == rejected
        assert command(capsys, *arguments, "--fail-on-reject", "--alpha", "1e-9")[0] == 0
    compared = "compare", paths["good"], paths["bad"], paths["labels"], "--seed", "1", "--n-resamples", "99"
    assert command(capsys, *compared, "--fail-on-reject")[0] == 1
    assert command(capsys, "compare", paths["good"], paths["labels"], "--n-resamples", "99", "--fail-on-reject")[0] == 0


def test_redraws_of_a_test(models, capsys):
    paths, tables, y = models
    arguments = "test", paths["bad"], paths["labels"], "--seed", "1", "--n-resamples", "19"
    expected = ct.calibration_test(tables["bad"], y, n_resamples=19, rng=1)
    assert json.loads(command(capsys, *arguments, "--json")[1])["statistic"] == expected.statistic
    assert json.loads(command(capsys, *arguments, "--test", "skce", "--json")[1])["n_resamples"] == 19
    status, _, err = command(capsys, *arguments, "--test", "skce-blocks")
    assert (status, "--n-resamples: got 19 for the test skce-blocks, which takes none" in err) == (2, True)


def test_errors_too_small_to_matter_pass_where_that_is_asked_for(tmp_path, capsys):
    rng = np.random.default_rng(1)
    p = np.where(rng.random(4000) < 0.5, 0.01, 0.99) + 0.002 * rng.random(4000)
    y = (rng.random(p.size) < p).astype(int)
    np.savetxt(tmp_path / "p.csv", p)
    np.savetxt(tmp_path / "y.csv", np.where(np.arange(p.size) % 100 == 0, 1 - y, y), fmt="%d")
    arguments = "test", str(tmp_path / "p.csv"), str(tmp_path / "y.csv"), "--seed", "1", "--n-resamples", "19"
    statuses = [command(capsys, *arguments, "--fail-on", one)[0] for one in ("never", "reject", "matters")]
    assert statuses == [0, 1, 0]


def test_formats_of_a_test(models, capsys):
    paths, tables, y = models
    arguments = "test", paths["bad"], paths["labels"], "--seed", "1", "--format"
    result = ct.calibration_test(tables["bad"], y, rng=1)
    markdown = command(capsys, *arguments, "markdown")[1].splitlines()
    assert markdown[0] == "| quantity | value |"
    wanted = "verdict", "first check", "why", "how much", "p-value", "accuracy"
    assert tuple(line.split(" | ")[0].removeprefix("| ") for line in markdown[2:8]) == wanted
    assert "| p-value | 0.001 (the smallest possible with 999 redraws; exact) |" in markdown
    assert any(line.startswith("| effect size | ") for line in markdown)
    latex = command(capsys, *arguments, "latex")[1].splitlines()
    assert latex[:2] == [r"\begin{tabular}{lr}", r"\toprule"]
    assert any(line.startswith(r"verdict & reject calibration at the 5 \% level") for line in latex)
    assert json.loads(command(capsys, *arguments, "json")[1])["pvalue"] == result.pvalue
    for alpha, rejected in (("0.2", True), ("0.0001", False)):
        judged = json.loads(command(capsys, *arguments, "json", "--alpha", alpha)[1])
        assert (judged["alpha"], judged["rejected"]) == (float(alpha), rejected)
    verdict = command(capsys, *arguments, "table", "--alpha", "0.2")[1]
    assert result.verdict(0.2) in " ".join(verdict.split())
    assert result.verdict() not in verdict


def test_power_of_a_file(models, capsys):
    paths, tables, _ = models
    arguments = [
        "power",
        paths["good"],
        "--strength",
        "-0.9",
        "--n-simulations",
        "5",
        "--n-resamples",
        "19",
        "--seed",
        "1",
    ]
    status, out, _ = command(capsys, *arguments, "--n", "200")
    assert status == 0
    assert "omnibus, 19 redraws" in out
    assert "targets from p^0.1, n = 200" in out
    entries = json.loads(command(capsys, *arguments, "--format", "json")[1])
    assert (entries["n"], entries["n_simulations"], entries["alphas"]) == (80, 5, [0.05])
    kernel = ct.Categorical(tables["good"]).default_kernel().resolve(ct.Categorical(tables["good"]))
    generator = ct.generators.Resampled(tables["good"], ct.generators.Tempering(-0.9))
    expected = ct.power(ct.OmnibusTest(kernel, 19), generator, 80, n_simulations=5, rng=1)
    assert entries["pvalues"] == expected.pvalues.tolist()
    assert command(capsys, *arguments, "--format", "markdown")[1].startswith("| test | data | n |")


@pytest.mark.every(2)
@pytest.mark.parametrize("name", OF_CLASSES)
def test_power_of_every_test(name, models, capsys):
    paths, _, _ = models
    arguments = "power", paths["good"], "--strength", "0", "--n-simulations", "2", "--n-resamples", "9", "--test", name
    status, out, err = command(capsys, *arguments, "--seed", "1", "--format", "json")
    assert (status, err) == (0, "")
    assert json.loads(out)["quantity"] == "size"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--strength", "2", "--deviation", "label-noise"], "strength: got 2.0"),
        (["--strength", "0.1", "--deviation", "bias"], "Categorical"),
        (["--strength", "0.1", "--deviation", "wave"], "two classes|classes"),
    ],
)
def test_bad_deviations(arguments, message, models, capsys):
    status, _, err = command(
        capsys, "power", models[0]["good"], *arguments, "--n-simulations", "2", "--n-resamples", "9"
    )
    assert status == 2
    assert err.startswith("caltest: error: ")
    assert re.search(message, err), err


@pytest.mark.parametrize(
    "arguments",
    [
        ["test", "p.csv"],
        ["compare", "p.csv"],
        ["power", "p.csv"],
        ["power", "p.csv", "--strength", "x"],
        ["test", "p.csv", "y.csv", "--format", "xml"],
        ["test", "p.csv", "y.csv", "--alpha", "5"],
        ["test", "p.csv", "y.csv", "--seed", "-1"],
        ["compare", "p.csv", "y.csv", "--n-resamples", "0"],
        ["nothing"],
        [],
    ],
)
def test_bad_arguments_have_status_2(arguments, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert "usage: caltest" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["test", "audit", "compare", "power", "recalibrate", "demo"])
def test_help_is_short_and_aligned(name, capsys):
    with pytest.raises(SystemExit) as stopped:
        main([name, "--help"])
    assert stopped.value.code == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 62
    assert max(len(line) for line in lines) <= 80
    starts = {len(line) - len(line[2:].split("  ", 1)[1].lstrip()) for line in lines if line.startswith("  --")}
    assert len(starts) == 1


class TestRecalibrate:
    @pytest.fixture(autouse=True)
    def quick(self, monkeypatch):
        """Gaussian processes of few parameters, in few steps."""
        gp = partial(ct.recalibration.GPCalibrator, n_inducing=3, max_iterations=20)
        monkeypatch.setattr(ct.recalibration, "GPCalibrator", gp)

    @pytest.fixture
    def rows(self, tmp_path):
        rng = np.random.default_rng(4)
        p = rng.dirichlet(np.ones(3), 200)
        y = np.array([rng.choice(3, p=q) for q in p])
        wrong = p**3 / (p**3).sum(axis=1, keepdims=True)
        header = ",".join(["cat", "dog", "owl"])
        np.savetxt(tmp_path / "p.csv", wrong, delimiter=",", header=header, comments="", fmt="%.17g")
        (tmp_path / "y.csv").write_text("\n".join(np.array(["cat", "dog", "owl"])[y]))
        return tmp_path, wrong, y

    def files(self, folder):
        return str(folder / "p.csv"), str(folder / "y.csv")

    @pytest.mark.every(5)
    @pytest.mark.parametrize("method", [one for one in recalibrate.METHODS if one != "shift"])
    def test_report_and_map(self, method, rows, capsys):
        folder, p, y = rows
        arguments = "--method", method, "--apply", str(folder / "p.csv"), "--output", str(folder / "better.csv")
        saved = str(folder / "map.npz")
        status, out, err = command(
            capsys, "recalibrate", *self.files(folder), *arguments, "--save", saved, "--seed", "1"
        )
        assert (status, err) == (0, "")
        assert out.startswith("Recalibration by ")
        better = np.loadtxt(folder / "better.csv", delimiter=",", skiprows=1)
        assert (folder / "better.csv").read_text().startswith("cat,dog,owl\n")
        np.testing.assert_array_equal(better, ct.recalibration.CalibrationMap.load(saved)(p))
        assert ct.calibration_test(p, y, n_resamples=99, rng=1).pvalue == 0.01
        losses = [-np.log(np.maximum(q[np.arange(200), y], 1e-9)).mean() for q in (p, better)]
        assert losses[1] < losses[0]

    @pytest.mark.parametrize("named", [True, False])
    def test_classes_are_matched_by_name(self, rows, capsys, named):
        folder, p, y = rows
        if not named:
            np.savetxt(folder / "y.csv", y, fmt="%d")
        new = str(folder / "new.csv")
        arguments = "--method", "vector", "--seed", "1", "--apply", new, "--output", str(folder / "q.csv")
        np.savetxt(new, p[:, [2, 0, 1]], delimiter=",", header="owl,cat,dog", comments="", fmt="%.17g")
        assert command(capsys, "recalibrate", *self.files(folder), *arguments)[0] == 0
        found = np.loadtxt(folder / "q.csv", delimiter=",", skiprows=1)
        wanted = ct.recalibration.VectorScaling().fit(p, y)(p)
        np.testing.assert_allclose(found, wanted[:, [2, 0, 1]], rtol=1e-9)
        assert (folder / "q.csv").read_text().startswith("owl,cat,dog\n")
        np.savetxt(new, p, delimiter=",", header="owl,cat,fox", comments="")
        status, _, err = command(capsys, "recalibrate", *self.files(folder), *arguments, "--force")
        assert status == 2
        assert "got classes ['owl', 'cat', 'fox'], wanted the names ['cat', 'dog', 'owl']" in err

    def test_columns_of_one_file_in_the_order_of_their_names(self, tmp_path, capsys):
        rng = np.random.default_rng(2)
        mean, outcome = rng.uniform(2.0, 9.0, 100), rng.normal(size=100)
        path, better = str(tmp_path / "all.csv"), tmp_path / "better.csv"
        table = np.column_stack([np.full(100, 1.5), mean, 3.0 * outcome + mean, np.arange(100)])
        np.savetxt(path, table, delimiter=",", header="sd,mean,outcome,day", comments="", fmt="%.17g")
        columns = "--outcome-column", "outcome", "--columns", "mean,sd", "--normal"
        assert command(capsys, "recalibrate", path, *columns, "--apply", path, "--output", str(better))[0] == 0
        fitted = ct.recalibration.ShiftAndScale().fit(ct.Normal(mean, 1.5), 3.0 * outcome + mean)
        assert better.read_text().startswith("mean,sd\n")
        wanted = np.column_stack(fitted(ct.Normal(mean, 1.5)).normal)
        np.testing.assert_allclose(np.loadtxt(better, delimiter=",", skiprows=1), wanted, rtol=1e-9)
        (tmp_path / "all.csv").write_text("id,risk,died\n7,0.5,1\n9,0.2,0\n")
        status, _, err = command(capsys, "recalibrate", path, "--outcome-column", "died")
        assert (status, "--columns" in err) == (2, True)

    def test_prints_what_the_library_finds(self, rows, capsys):
        folder, p, y = rows
        _, out, _ = command(capsys, "recalibrate", *self.files(folder), "--seed", "1", "--format", "json")
        report = ct.recalibration.report(p, y, ct.recalibration.TemperatureScaling(), rng=1)
        found = [json.loads(out)[name] for name in ("before", "after")]
        assert [row["pvalue"] for row in found] == [row.pvalue for row in report.rows]
        assert [row["score"] for row in found] == pytest.approx([row.score for row in report.rows])

    def test_binary_and_normal_predictions(self, tmp_path, capsys):
        rng = np.random.default_rng(1)
        p = rng.random(100)
        np.savetxt(tmp_path / "p.csv", p**2)
        np.savetxt(tmp_path / "y.csv", rng.random(100) < p, fmt="%d")
        arguments = "--apply", str(tmp_path / "p.csv"), "--output", str(tmp_path / "q.npy"), "--force"
        for method in ("platt", "gp"):
            given = *self.files(tmp_path), "--method", method, *arguments
            assert command(capsys, "recalibrate", *given, "--seed", "1")[0] == 0
            assert np.load(tmp_path / "q.npy").shape == (100, 1)
        np.savetxt(tmp_path / "p.csv", np.stack([np.zeros(100), np.ones(100)], axis=1), delimiter=",")
        outcomes = rng.normal(0.0, 3.0, 100)
        np.savetxt(tmp_path / "y.csv", outcomes)
        given = *self.files(tmp_path), "--normal", *arguments, "--seed", "1"
        # Of the largest likelihood.
        for method, wanted in (
            ([], [outcomes.mean(), outcomes.std()]),
            (["--method", "temperature"], [0.0, np.sqrt(np.mean(outcomes**2))]),
        ):
            assert command(capsys, "recalibrate", *given, *method)[0] == 0
            np.testing.assert_allclose(np.load(tmp_path / "q.npy"), [wanted] * 100, rtol=1e-6)
        status, _, err = command(capsys, "recalibrate", *given, "--method", "isotonic")
        assert status == 2
        assert "got isotonic for predictions of numbers, wanted shift or temperature" in err

    def test_members(self, tmp_path, capsys):
        rng = np.random.default_rng(1)
        members = rng.normal(size=(100, 8))
        np.savetxt(tmp_path / "p.csv", members, delimiter=",")
        np.savetxt(tmp_path / "y.csv", y := rng.normal(1.0, 1.0, 100))
        arguments = "--members", "--apply", str(tmp_path / "p.csv"), "--output", str(tmp_path / "q.npy")
        status, out, _ = command(capsys, "recalibrate", *self.files(tmp_path), *arguments, "--seed", "1")
        assert (status, "lowers the fair CRPS by" in out) == (0, True)
        wanted = ct.recalibration.ShiftAndScale().fit(ct.Ensemble(members), y)(ct.Ensemble(members))
        np.testing.assert_allclose(np.load(tmp_path / "q.npy"), wanted.to_array())
        (tmp_path / "p.csv").write_text("0.5\n0.3\n0.7\n0.1")
        (tmp_path / "y.csv").write_text("1\n0\n1\n0")
        status, _, err = command(capsys, "recalibrate", *self.files(tmp_path), "--method", "shift")
        assert (status, "got shift for predictions of classes" in err) == (2, True)

    def test_bad_input(self, rows, capsys):
        folder, _, _ = rows
        status, _, err = command(capsys, "recalibrate", *self.files(folder), "--apply", str(folder / "p.csv"))
        assert status == 2
        assert "--apply, --output: got one of them, wanted both" in err
        (folder / "two.csv").write_text("0.5,0.5\n0.3,0.7")
        arguments = "--apply", str(folder / "two.csv"), "--output", str(folder / "q.csv")
        status, _, err = command(capsys, "recalibrate", *self.files(folder), *arguments)
        assert status == 2
        assert "2" in err
        assert not (folder / "q.csv").exists()


class TestWeights:
    """A file with a weight for each row."""

    @pytest.fixture
    def data(self, tmp_path):
        rng = np.random.default_rng(1)
        p = rng.dirichlet(np.ones(3), 40)
        y, w = ct.Categorical(p).sample(2), rng.integers(1, 9, 40) / 4.0
        np.savetxt(tmp_path / "p.csv", p, delimiter=",")
        np.savetxt(tmp_path / "y.csv", y, fmt="%d")
        np.savetxt(tmp_path / "w.csv", w)
        (tmp_path / "head.csv").write_text("weight\n" + (tmp_path / "w.csv").read_text())
        (tmp_path / "counts.csv").write_text("0\n" + (tmp_path / "w.csv").read_text())
        np.save(tmp_path / "w.npy", w)
        return tmp_path, p, y, w

    @pytest.mark.every(2)
    @pytest.mark.parametrize("file", ["w.csv", "head.csv", "counts.csv", "w.npy"])
    @pytest.mark.parametrize("test", ["omnibus", "skce"])
    def test_results_are_those_of_python(self, data, file, test, capsys):
        folder, p, y, w = data
        names = [str(folder / name) for name in ("p.csv", "y.csv", file)]
        status, out, _ = run(capsys, *names[:2], "--weights", names[2], "--test", test, "--seed", "1", "--json")
        kernel = None if test == "omnibus" else ct.Categorical(p).default_kernel()
        expected = ct.calibration_test(p, y, kernel=kernel, weights=w, rng=1)
        found = json.loads(out)
        assert (status, found["pvalue"], found["estimate"]) == (0, expected.pvalue, expected.estimate)
        assert found["hypothesis"] == "P(Y | P_X, w) = P_X"
        assert "weights w are functions of the predictions" in found["assumes"]

    def test_weights_that_may_be_counts_are_asked_about(self, data, capsys):
        folder = data[0]
        (folder / "w.csv").write_text("3\n1\n" * 20)
        _, out, _ = run(
            capsys, *(str(folder / name) for name in ("p.csv", "y.csv")), "--weights", str(folder / "w.csv")
        )
        assert "First check    weights are whole numbers" in out

    def test_missing_outcomes_and_rows_without_weight(self, data, capsys):
        folder, p, y, w = data
        w[5] = 0.0
        np.savetxt(folder / "w.csv", w)
        (folder / "y.csv").write_text("\n".join(["label", "NA", *map(str, y[1:])]))
        files = [str(folder / name) for name in ("p.csv", "y.csv")]
        some = "--weights", str(folder / "w.csv"), "--missing", "drop", "--seed", "1", "--json"
        _, out, _ = run(capsys, *files, *some)
        kept = np.delete(np.arange(40), [0, 5])
        assert json.loads(out)["pvalue"] == ct.calibration_test(p[kept], y[kept], weights=w[kept], rng=1).pvalue
        assert "1 of 39 rows have weight 0 and are left out" in json.loads(out)["notes"]

    @pytest.mark.parametrize(
        ("text", "options", "message"),
        [
            ("1\n2\n", [], "w.csv: weights: got 2 values, wanted 40"),
            ("1\n" * 39 + "-1\n", [], "got -1 at line 40, wanted numbers of at least 0"),
            ("1\n" * 39 + "\n", [], "w.csv: weights: got 39 values, wanted 40"),
            ("1\n" * 39 + "x\n", [], "line 40: got 'x' in column 1, wanted a number"),
            ("1\n" * 39 + "nan\n", [], "line 40"),
            ("1,2\n" * 40, [], "got 2 columns, wanted 1: the weight"),
            ("0\n" * 40, [], "got only zeros"),
            ("1\n" * 40, ["--test", "cox"], "for the test cox, which takes none; wanted omnibus or skce"),
        ],
    )
    def test_bad_weights(self, data, text, options, message, capsys):
        folder = data[0]
        (folder / "w.csv").write_text(text)
        names = [str(folder / name) for name in ("p.csv", "y.csv", "w.csv")]
        status, out, err = run(capsys, *names[:2], "--weights", names[2], *options)
        assert (status, out) == (2, "")
        assert message in err


@pytest.mark.parametrize("name", ["test", "audit", "compare", "recalibrate"])
def test_outcomes_of_one_column_can_have_names(name, tmp_path, capsys):
    rng = np.random.default_rng(1)
    risks, died = rng.random(200).round(3), (rng.random(200) < 0.3).astype(int)
    table = pd.DataFrame({"risk": risks, "died": died, "status": np.where(died, "dead", "alive"), "site": "A"})
    table.to_csv(tmp_path / "one.csv", index=False)
    common = (
        name,
        str(tmp_path / "one.csv"),
        "--columns",
        "risk",
        "--n-resamples",
        "19",
        "--seed",
        "1",
        "--outcome-column",
    )
    as_numbers = json.loads(command(capsys, *common, "died", "--json")[1])
    status, out, err = command(capsys, *common, "status", "--classes", "alive,dead", "--json")
    assert (status, err) == (0, "")
    as_names = json.loads(out)
    assert as_names["verdict"].replace("class dead", "class 1") == as_numbers["verdict"]
    assert [as_names.get(key) for key in ("n", "pvalue")] == [as_numbers.get(key) for key in ("n", "pvalue")]
    assert "class dead" in command(capsys, *common, "status", "--classes", "alive,dead")[1]
    assert command(capsys, *common, "died", "--classes", "alive,dead")[0] == 0
    for classes, said in (("alive,gone", "(line "), ("alive", "got 1 name"), ("", "with --classes")):
        status, out, err = command(capsys, *common, "status", *(["--classes", classes] if classes else []))
        assert (status, out) == (2, "")
        assert said in err


def test_names_of_outcomes_are_for_classes_without_them(files, tmp_path, capsys):
    paths = files(["0.5,1", "1,2"] * 5, ["1", "2"] * 5)
    assert (
        "--classes: got a,b for predictions of numbers"
        in command(capsys, "test", *paths, "--normal", "--classes", "a,b")[2]
    )
    answers = tmp_path / "answers.jsonl"
    answers.write_text('{"probs": [0.2, 0.8], "answer": 1}\n' * 5)
    for option in ("--classes", "--columns"):
        for name in ("test", "audit"):
            assert f"{option}: got it for answers" in command(capsys, name, str(answers), option, "a,b")[2]
    assert (
        "got answers of language models, which take test and audit only"
        in command(capsys, "recalibrate", str(answers))[2]
    )


def test_predictions_can_be_a_feature(files, capsys):
    """A slice of the predictions is one of the slices that are searched."""
    rows = ["p,age,died", *(f"0.{i % 7 + 2},{i % 9},{int(i % 3 == 0)}" for i in range(300))]
    settings = ["--outcome-column", "died", "--columns", "p", "--n-resamples", "19", "--seed", "1"]
    for name, said in (("audit", "slices were searched"), ("test", "given p")):
        status, out, err = command(capsys, name, files(rows, [])[0], *settings, "--features", "p,age")
        assert (status, err) == (0, "")
        assert said in " ".join(out.split())


def test_features_of_a_file_are_those_of_the_default_test(tmp_path, capsys):
    import numpy as np

    import caltest as ct
    from caltest.cli.main import main

    rng = np.random.default_rng(1)
    p, x = rng.uniform(0.2, 0.8, 200), rng.normal(size=200)
    y = (rng.random(200) < p + 0.2 * np.sign(x)).astype(int)
    for name, column in (("p", p), ("y", y), ("age", x)):
        np.savetxt(tmp_path / f"{name}.csv", column, header=name, comments="")
    files = [str(tmp_path / f"{name}.csv") for name in ("p", "y")]
    features = ["--features", str(tmp_path / "age.csv")]
    assert main(["test", *files, *features, "--seed", "1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    expected = ct.calibration_test(p, y, features={"age": x}, rng=1)
    assert found["pvalue"] == expected.pvalue
    assert found["components"][0]["adjusted"] == expected.components[0].adjusted
    assert main(["test", *files, *features, "--test", "ece"]) == 2
    assert "--features: got it with --test" in capsys.readouterr().err


@pytest.fixture
def cohort(tmp_path):
    """A file of a study: names, text, two models, outcomes, and what is known of the rows."""
    rng = np.random.default_rng(1)
    old, mean = rng.random(60), rng.uniform(20, 40, 60)
    died, time, until = rng.random(60) < old, mean + 5 * rng.normal(size=60), rng.uniform(10, 60, 60)
    lines = ["id,comment,old,new,died,day,site,mean,sd,months,event"]
    lines += [
        f"P{i},so it is,{old[i]:.3f},{old[i] ** 0.5:.3f},{int(died[i])},{i % 7},{'NS'[i % 2]},{mean[i]:.2f},5,"
        f"{min(time[i], until[i]):.2f},{int(time[i] <= until[i])}"
        for i in range(60)
    ]
    path = tmp_path / "cohort.csv"
    path.write_text("\n".join(lines) + "\n")
    return str(path), old.round(3), (old**0.5).round(3), died.astype(int)


def test_compare_takes_a_column_for_each_model(cohort, capsys):
    path, old, new, died = cohort
    arguments = "compare", path, "--outcome-column", "died", "--n-resamples", "19", "--seed", "1"
    status, out, err = command(capsys, *arguments, "--columns", "old,new", "--format", "json")
    expected = ct.compare_models({"old": old, "new": new}, died, n_resamples=19, rng=1)
    assert (status, err) == (0, "")
    assert [row["pvalue"] for row in json.loads(out)["rows"]] == [row.pvalue for row in expected.rows]
    status, _, err = command(capsys, *arguments)
    assert status == 2
    assert "cohort.csv, line 2: got 'P0' in column 'id', wanted a number" in err
    assert "--columns" in err
    assert "--outcome-column" in command(capsys, "compare", path, path, "--columns", "old")[2]
    assert command(capsys, "compare", path, path, "--outcome-column", "died")[0] == 2


def test_audit_takes_columns_of_the_file_of_predictions(cohort, capsys):
    path, old, _, died = cohort
    common = "audit", path, "--n-resamples", "9", "--seed", "1"
    arguments = *common, "--outcome-column", "died", "--columns", "old", "--groups", "site", "--time", "day"
    status, out, err = command(capsys, *arguments, "--format", "json")
    assert (status, err) == (0, "")
    groups, days = np.array(list("NS"))[np.arange(60) % 2], np.arange(60.0) % 7
    expected = ct.audit(old, died, groups=groups, time=days, n_resamples=9, rng=1)
    assert json.loads(out).items() >= json.loads(json.dumps(expected.to_dict())).items()
    assert "got no column 'nowhere'" in command(capsys, *arguments[:-1], "nowhere")[2]
    status, out, err = command(capsys, *arguments[:-2], "--features", "day,site", "--format", "json")
    assert (status, err) == (0, "")
    expected = ct.audit(old, died, groups=groups, features={"day": days, "site": groups}, n_resamples=9, rng=1)
    slices = json.loads(out)["models"][0]["sections"]["slices"]
    assert slices == json.loads(json.dumps(expected.to_dict()))["models"][0]["sections"]["slices"]


def test_audit_takes_a_lag(tmp_path, capsys):
    """Of rows in the order of a column, here against that of the file."""
    rng = np.random.default_rng(1)
    days, p = np.arange(80)[::-1], np.round(rng.uniform(0.1, 0.9, 80), 3)
    y = (rng.random(80) < p).astype(int)
    path = tmp_path / "forecasts.csv"
    path.write_text("\n".join(["risk,event,day", *(f"{p[i]},{y[i]},{days[i]}" for i in range(80))]))
    common = "audit", str(path), "--outcome-column", "event", "--n-resamples", "9", "--seed", "1", "--lag", "3"
    arguments = *common, "--columns", "risk", "--time", "day", "--format", "json"
    status, out, err = command(capsys, *arguments)
    assert (status, err) == (0, "")
    found, expected = json.loads(out), ct.audit(p, y, time=days, lag=3, n_resamples=9, rng=1).to_dict()
    assert found.items() >= json.loads(json.dumps(expected)).items()
    assert "every 3rd row (27 rows)" in found["models"][0]["sections"]["data"]["facts"]["Lag"]
    for more in ((), ("--time", "day", "--clusters", "day")):
        status, _, err = command(capsys, *common, *more)
        assert status == 2
        assert "--lag: got 3, wanted --time NAME with it, which orders the rows, and no --clusters" in err


@pytest.mark.parametrize("kind", ["risk", "members"])
def test_the_default_test_takes_a_lag(kind, ensemble, tmp_path, capsys):
    """Of rows in the order of the file."""
    path, members, y = ensemble
    arguments, law, name = (path, "--members"), ct.Ensemble(members), "outcome"
    if kind == "risk":
        rng, path = np.random.default_rng(1), tmp_path / "forecasts.csv"
        law = np.round(rng.uniform(0.1, 0.9, 60), 3)
        y = (rng.random(60) < law).astype(int)
        path.write_text("\n".join(["risk,y", *(f"{p},{one}" for p, one in zip(law, y, strict=True))]))
        arguments, name = (str(path),), "y"
    common = "--outcome-column", name, "--n-resamples", "19", "--seed", "1", "--lag", "3"
    status, out, err = command(capsys, "test", *arguments, *common, "--format", "json")
    assert (status, err) == (0, "")
    found, expected = json.loads(out), ct.calibration_test(law, y, lag=3, n_resamples=19, rng=1)
    assert (found["pvalue"], found["statistic"]) == (expected.pvalue, expected.statistic)
    assert found["notes"] == list(expected.notes)
    status, _, err = command(capsys, "test", *arguments, *common, "--test", "skce")
    assert (status, "--lag: got 3 with --test, --groups" in err) == (2, True)


def test_an_audit_says_which_rows_of_the_file_are_left_out(tmp_path, capsys):
    path = tmp_path / "risks.csv"
    rows = [f"{0.01 + 0.015 * i:.3f},{'' if i % 10 == 3 else i % 2},{'NS'[i % 3 == 0]}" for i in range(60)]
    path.write_text("\n".join(["risk,died,site", *rows]))
    arguments = "audit", str(path), "--outcome-column", "died", "--columns", "risk", "--groups", "site"
    settings = "--missing", "drop", "--n-resamples", "9", "--seed", "1", "--format", "json"
    status, out, err = command(capsys, *arguments, *settings)
    assert (status, err) == (0, "")
    data = json.loads(out)["models"][0]["sections"]["data"]
    assert data["answer"] == "All 54 rows with outcomes are used."
    assert data["facts"]["Notes"].startswith("6 of 60 outcomes were missing and left out")
    # Ensembles are pooled with their outcomes, and of clusters some rows are taken.
    others = "--outcome-column", "died", "--columns", "risk,site", "--members"
    numbers = [f"{0.1 * i},{0.1 * i + 1},{'' if i % 10 == 3 else 0.1 * i + 0.7},{i // 2}" for i in range(60)]
    path.write_text("\n".join(["risk,site,died,patient", *numbers]))
    for more in ((), ("--clusters", "patient")):
        status, out, err = command(capsys, "audit", str(path), *others, *more, *settings)
        assert (status, err) == (0, "")
        data = json.loads(out)["models"][0]["sections"]["data"]
        assert data["facts"]["Notes"].startswith("6 of 60 outcomes were missing and left out")


def test_audit_takes_events_of_survival(cohort, capsys):
    path, *_ = cohort
    common = "audit", path, "--outcome-column", "months", "--columns", "mean,sd", "--normal", "--n-resamples", "9"
    status, out, err = command(capsys, *common, "--event-column", "event", "--seed", "1")
    assert (status, err) == (0, "")
    assert "are censored; F(time) is tested" in " ".join(out.split())
    assert "What does survival analysis ask for?" in out
    assert "--event-column" in command(capsys, *common, "--field", "survival")[2]
    assert (
        "column 'site': --event-column: got N at row 0 (line 2), wanted 0 or 1, or no or yes"
        in command(capsys, *common, "--event-column", "site")[2]
    )


def test_events_may_be_words():
    for words in (["no", "yes", "no"], ["False", "True", "False"], ["0", "1", "0.0"]):
        assert _events(np.array(words)).tolist() == [False, True, False]


def test_times_that_are_none_are_named_by_their_column(cohort, capsys):
    path, *_ = cohort
    options = "--outcome-column", "died", "--columns", "new", "--time", "site"
    status, _, err = command(capsys, "audit", path, *options)
    assert (status, "cohort.csv, column 'site': time: got text such as 'N', wanted numbers" in err) == (2, True)


def test_rows_of_missing_events_are_those_of_the_file(cohort, capsys):
    path, *_ = cohort
    lines = Path(path).read_text().splitlines()
    cells = [line.split(",") for line in lines]
    cells[3][9], cells[7][10] = "", ""
    Path(path).write_text("\n".join(map(",".join, cells)))
    named = "--outcome-column", "months", "--columns", "mean,sd", "--event-column", "event"
    status, _, err = command(capsys, "audit", path, *named, "--normal", "--missing", "drop")
    assert status == 2
    assert "'event': --event-column: got nan at row 6 (line 8), wanted 0 or 1, or no or yes; leave rows out of" in err


def test_audit_takes_survival_curves(cohort, tmp_path, capsys):
    """In columns that are named after times, beside the outcomes or in a file of their own."""
    table = np.genfromtxt(cohort[0], delimiter=",", names=True, encoding="utf-8")
    grid, months, event = np.array([10.0, 22.5, 30.0, 45.0]), table["months"], table["event"]
    curves = np.round(np.exp(-np.outer(table["mean"], grid) / 1000.0), 6)
    lines = np.column_stack([curves, months, event])
    path, outcomes, events = (str(tmp_path / f"{name}.csv") for name in ("curves", "months", "event"))
    header = "S(10),S(22.5),t = 30,45 months,until,died"
    np.savetxt(path, lines, fmt="%.9g", delimiter=",", header=header, comments="")
    common = "--event-column", "died", "--n-resamples", "9", "--seed", "1"
    status, out, err = command(capsys, "audit", path, "--outcome-column", "until", *common, "--format", "json")
    assert (status, err) == (0, "")
    expected = ct.audit(ct.predictions.SurvivalCurve(grid, curves), ct.Censored(months, event), n_resamples=9, rng=1)
    assert json.loads(out).items() >= json.loads(json.dumps(expected.to_dict())).items()
    np.savetxt(path, curves, fmt="%.9g", delimiter=",", header="10,22.5,30,45", comments="")
    np.savetxt(outcomes, months, fmt="%.9g")
    np.savetxt(events, event, fmt="%g", header="died", comments="")
    arguments = "audit", path, outcomes, "--features", events, *common
    status, apart, err = command(capsys, *arguments, "--format", "json")
    assert (status, err, json.loads(apart)) == (0, "", json.loads(out))
    (tmp_path / "months.csv").write_text("until\nNA\n" + "".join(f"{one}\n" for one in months[1:]))
    assert "59 times, of which" in " ".join(command(capsys, *arguments, "--missing", "drop")[1].split())


@pytest.mark.parametrize(
    ("head", "first", "message"),
    [
        ("age,2,3\n", "0.9,0.5,0.2", "p.csv: got 'age', wanted survival curves, a column for each time"),
        ("1,2,2 to 3\n", "0.9,0.5,0.2", "p.csv: got '2 to 3', wanted survival curves"),
        ("", "0.9,0.5,0.2", "p.csv: got no header, wanted survival curves"),
        ("9,2,3\n", "0.9,0.5,0.2", "p.csv: times: got 9 and then 2, wanted increasing numbers"),
        ("1,2,3\n", "0.5,0.7,0.2", "p.csv: got 0.5 and then 0.7 at row 0 (line 2), wanted curves that do not rise"),
    ],
)
def test_what_is_no_survival_curve_is_said(head, first, message, tmp_path, capsys):
    (tmp_path / "p.csv").write_text(f"{head}{first}\n0.8,0.4,0.1\n")
    (tmp_path / "y.csv").write_text("time\n1.5\n2.5\n")
    (tmp_path / "e.csv").write_text("event\n1\n0\n")
    p, y, e = (str(tmp_path / f"{name}.csv") for name in "pye")
    status, _, err = command(capsys, "audit", p, y, "--features", e, "--event-column", "event")
    assert (status, message in " ".join(err.split())) == (2, True), err


@pytest.mark.parametrize("head", ["", "a b\n"])
def test_errors_in_columns_separated_by_blanks_name_the_line(head, tmp_path, capsys):
    (tmp_path / "p.txt").write_text(f"{head}0.2 0.8\n0.3 x\n0.5 0.5\n")
    (tmp_path / "y.csv").write_text("0\n1\n1\n")
    status, _, err = run(capsys, str(tmp_path / "p.txt"), str(tmp_path / "y.csv"))
    assert status == 2
    assert f"line {3 if head else 2}" in err


def test_a_reader_that_goes_away_does_not_hide_a_rejection(models):
    paths, _, _ = models
    arguments = [sys.executable, "-m", "caltest", "test", paths["bad"], paths["labels"], "--seed", "1"]
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run([*arguments, "--fail-on", "reject"], stdout=writer, stderr=subprocess.PIPE, check=False)
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (1, b"")
