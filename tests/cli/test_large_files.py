"""Large files: the same null distribution as of all rows in memory, and errors that name their rows."""

import json
from functools import partial

import numpy as np
import pandas as pd
import pytest
from grids import thinned

import caltest as ct
from caltest.cli import large_files, named
from caltest.cli.main import main
from caltest.estimators.combined.sums import cells

N = 1_030
RNG = np.random.default_rng(6)
Q = RNG.random(N).round(4)
Y = (RNG.random(N) < Q**1.1).astype(int)
NAMES = np.array(["no", "yes"])
TABLE = pd.DataFrame({"no": 1.0 - Q, "yes": Q, "answer": NAMES[Y]})
KINDS = TABLE.assign(answer=np.array(["alive", "dead"])[Y])
GAPS = TABLE.assign(answer=TABLE["answer"].where(np.arange(N) % 90 != 3))


def one_file(write, table=TABLE, *options):
    def make(folder):
        write(table, folder / "one")
        return [folder / "one", "--outcome-column", "answer", *options]

    return make


def as_csv(table, path):
    table.to_csv(path, index=False)


def as_parquet(table, path):
    table.to_parquet(path, row_group_size=400)


def as_feather(table, path):
    table.to_feather(path, chunksize=400)


def two_arrays(folder):
    np.save(folder / "p.npy", np.column_stack([1.0 - Q, Q]).astype(np.float32))
    np.save(folder / "y.npy", Y)
    return [folder / "p.npy", folder / "y.npy"]


def without_header(folder):
    np.savetxt(folder / "p.txt", Q, fmt="%.4f")
    pd.Series(Y, name="answer").to_csv(folder / "y.csv.gz", index=False)
    return [folder / "p.txt", folder / "y.csv.gz"]


FILES = {
    "csv": one_file(as_csv),
    "parquet": one_file(as_parquet),
    "feather": one_file(as_feather),
    "csv with missing outcomes": one_file(as_csv, GAPS, "--missing", "drop"),
    "parquet with missing outcomes": one_file(as_parquet, GAPS, "--missing", "drop", "--columns", "no,yes"),
    "names of outcomes": one_file(as_csv, KINDS, "--columns", "yes", "--classes", "alive,dead"),
    "arrays": two_arrays,
    "without a header": without_header,
}


@pytest.fixture
def run(monkeypatch, capsys):
    """The command with few redraws, and parts of 400 rows of one file."""
    quick = partial(ct.OmnibusTest, n_resamples=9)
    monkeypatch.setattr(large_files.ct, "OmnibusTest", quick)
    monkeypatch.setitem(named.TESTS, "omnibus", named.TESTS["omnibus"]._replace(of=quick))
    monkeypatch.setattr(large_files, "AT_ONCE", 1_200)
    monkeypatch.setattr(large_files, "MANY", 1_000)
    monkeypatch.setattr(cells, "MANY_BINARY", 1_000)

    def call(arguments, large=True):
        monkeypatch.setattr(large_files, "LARGE", 0 if large else 2**60)
        status = main(["test", *map(str, arguments), "--seed", "1", "--format", "json"])
        return status, *capsys.readouterr()

    return call


@pytest.mark.every(3)
@pytest.mark.parametrize(
    "make", thinned(FILES, ["csv with missing outcomes", "names of outcomes", "parquet", "arrays"])
)
def test_redraws_are_those_of_all_rows_in_memory(make, tmp_path, run, monkeypatch):
    arguments = FILES[make](tmp_path)
    status, out, err = run(arguments)
    assert (status, err) == (0, "")
    parts = json.loads(out)
    monkeypatch.setattr(large_files.Files, "parts", None)
    whole = json.loads(run(arguments, large=False)[1])
    for name in ("n", "pvalue", "predictions", "hypothesis", "seed"):
        assert parts[name] == whole[name], name
    for name in ("null_distribution", "statistic"):
        assert parts[name] == pytest.approx(whole[name], rel=1e-12), name
    for found, wanted in zip(parts["components"], whole["components"], strict=True):
        assert found == wanted | {"statistic": pytest.approx(wanted["statistic"], rel=1e-12)}
    assert set(parts["notes"]) == set(whole["notes"])


def cut(path, n_bytes):
    path.write_bytes(path.read_bytes()[:-n_bytes])


def test_a_first_line_that_is_a_row_names_no_classes(tmp_path, run):
    files = tmp_path / "p.csv", tmp_path / "y.csv"
    p = np.column_stack([0.3 * Q, 1.0 - 0.5 * Q, 0.2 * Q])
    np.savetxt(files[0], p, fmt="%.5f", delimiter=",")
    np.savetxt(files[1], np.where(RNG.random(N) < 3.0 * p[:, 0], 0, 1), fmt="%d")
    parts, whole = (json.loads(run(files, large)[1])["findings"][0]["words"] for large in (True, False))
    assert "class 0" in parts
    assert parts == whole


def test_files_that_end_within_a_row(tmp_path, run):
    csv, table = one_file(as_csv)(tmp_path), tmp_path / "one"
    cut(table, len("5,yes\n"))
    assert run(csv)[::2] == (
        2,
        f"caltest: error: {table}, line {N + 1}: got 2 cells, wanted 3, as in line 1; write cells "
        'that have the separator in them in quotes, "..."\n',
    )
    arrays = two_arrays(tmp_path)
    cut(arrays[0], 20)
    status, _, err = run(arrays)
    assert status == 2
    assert f"got a damaged or truncated file (it ends before row {N} of {N})" in err
    parquet = one_file(as_parquet)(tmp_path)
    cut(table, 20)
    status, _, err = run(parquet)
    assert status == 2
    assert "got a damaged or truncated file" in err


def test_errors_name_rows_of_the_file(tmp_path, run):
    for column, value, error in (
        ("answer", "maybe", "got 'maybe' at row 900 (line 902), column 'answer', wanted one of the names"),
        ("yes", 0.1, "row 900 (line 902)"),
    ):
        table = TABLE.copy()
        table.loc[900, column] = value
        table.loc[900, "no"] = 0.5
        status, _, err = run(one_file(as_csv, table)(tmp_path))
        assert status == 2
        assert error in err
    arrays = two_arrays(tmp_path)
    np.save(arrays[1], Y[:-1])
    status, _, err = run(arrays)
    assert status == 2
    assert f"got {N - 1} outcomes, wanted {N}, one per row" in err


def test_outcomes_of_one_part_are_read_as_those_of_all(tmp_path, run):
    """Names that are numbers are taken as names although the first part has no others."""
    table = pd.DataFrame({"1": 1.0 - Q, "a": Q, "answer": np.where(np.arange(N) < 500, "1", np.array(["1", "a"])[Y])})
    arguments = one_file(as_csv, table)(tmp_path)
    parts, whole = (json.loads(run(arguments, large)[1]) for large in (True, False))
    assert parts["null_distribution"] == whole["null_distribution"]
    assert parts["pvalue"] == whole["pvalue"]


def test_an_interruption_ends_it(tmp_path, run, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(ct.calibration_accumulator.CalibrationTestAccumulator, "update", interrupted)
    assert run(two_arrays(tmp_path)) == (130, "", "caltest: interrupted\n")
