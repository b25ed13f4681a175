"""Files of every kind that people have: read as they are meant, or refused in one line that names file and line."""

import gzip
import io
import json
import os
import re
import signal
import subprocess
import sys
import types
from functools import cache

import numpy as np
import pandas as pd
import pytest

import caltest as ct
from caltest._basics import files, rows as rows_of_files
from caltest._basics.files import read_with_columns
from caltest.cli import main

N = 30
RNG = np.random.default_rng(5)
P = RNG.dirichlet(np.ones(3), N).round(4)
P[:, 2] = 1.0 - P[:, 0] - P[:, 1]
Y = ct.Categorical(P).sample(1)
NAMES = np.array(["cat", "dog", "eel"])
ROWS = [",".join(f"{value:.6f}" for value in row) for row in P]
LABELS = [str(label) for label in Y]
NAMED = list(NAMES[Y])
BINARY = P[:, 1]


def table(names, cases):
    return pytest.mark.parametrize(names, cases.values(), ids=cases)


@cache
def expected():
    """The p-value of what is in the files."""
    return ct.calibration_test(np.array([[float(cell) for cell in row.split(",")] for row in ROWS]), Y, rng=1).pvalue


@pytest.fixture
def run(tmp_path, capsys):
    """Run the command ``test`` on files with some content: text, lines or bytes."""

    def call(predictions, outcomes, *options, names=("p.csv", "y.csv")):
        paths = [tmp_path / name for name in names]
        for path, content in zip(paths, (predictions, outcomes), strict=True):
            write(path, content)
        status = main(["test", *map(str, paths), "--seed", "1", "--json", *options])
        captured = capsys.readouterr()
        assert captured.err.count("\n") == (status != 0), captured.err
        return status, captured.out, captured.err

    return call


def write(path, content):
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif isinstance(content, np.ndarray):
        np.save(path, content)
    else:
        path.write_text(content if isinstance(content, str) else "\n".join(content) + "\n", newline="")


def semicolons(rows):
    return [row.replace(",", ";").replace(".", ",") for row in rows]


def joined(lines, end):
    return end.join(lines) + end


READ = {
    "plain": (ROWS, LABELS),
    "no newline at the end": ("\n".join(ROWS), "\n".join(LABELS)),
    "blank lines at the end": ([*ROWS, "", "  ", ""], [*LABELS, "", ""]),
    "blank lines at the beginning": (["", "", *ROWS], ["", "y", *LABELS]),
    "BOM": ("\ufeff" + joined(ROWS, "\n"), "\ufeff" + joined(["y", *LABELS], "\n")),
    "UTF-16": (
        joined(ROWS, "\r\n").encode("utf-16"),
        "\ufeff".encode("utf-16-be") + joined(LABELS, "\n").encode("utf-16-be"),
    ),
    "separator named first": (
        ["sep=;", *(row.replace(",", ";") for row in ["cat,dog,eel", *ROWS])],
        ['"sep=,"', *NAMED],
    ),
    "CRLF": (joined(["cat,dog,eel", *ROWS], "\r\n"), joined(["y", *NAMED], "\r\n")),
    "CR": (joined(ROWS, "\r"), joined(LABELS, "\r")),
    "tabs": ([row.replace(",", "\t") for row in ROWS], LABELS),
    "semicolons": ([row.replace(",", ";") for row in ROWS], LABELS),
    "blanks": ([row.replace(",", "   ") for row in ROWS], LABELS),
    "commas and blanks": ([row.replace(",", " , ") for row in ["cat,dog,eel", *ROWS]], [f" {name} " for name in NAMED]),
    "comments": (["# of model 3, by hand", "# run 7", *ROWS], ["# seen", *LABELS]),
    "names in a comment": (["# cat,dog,eel", *ROWS], NAMED),
    "quoted numbers": ([",".join(f'"{cell}"' for cell in row.split(",")) for row in ROWS], [f'"{y}"' for y in LABELS]),
    "names with commas": (
        ['"cat, big",dog,"eel ""E"""', *ROWS],
        [{"cat": '"cat, big"', "dog": "dog", "eel": '"eel ""E"""'}[name] for name in NAMED],
    ),
    "names with commas, without quotes": (
        ['"cat, big",dog,eel', *ROWS],
        ["animal", *(name.replace("cat", "cat, big") for name in NAMED)],
    ),
    "names with newlines": (
        ['"cat\nbig",dog,eel', *ROWS],
        ['"what\nanimal"', *(name.replace("cat", '"cat\nbig"') for name in NAMED)],
    ),
    "names with blanks": (["big cat,dog,eel", *ROWS], [name.replace("cat", "big cat") for name in NAMED]),
    "header of numbers": (["0,1,2", *ROWS], ["0", *LABELS]),
    "header of numbers over predictions": (["0,1,2", *ROWS], LABELS),
    "header from 1": (["1,2,3", *ROWS], LABELS[:1] + LABELS[1:]),
    "header of years": (["2019,2020,2021", *ROWS], [str(2019 + y) for y in Y]),
    "year over outcomes": (["cat,dog,eel", *ROWS], ["2019", *NAMED]),
    "numbers as names": (["7,3,5", *ROWS], ["label", *(str([7, 3, 5][y]) for y in Y)]),
    "decimal commas": (semicolons(ROWS), LABELS),
    "decimal commas with a header": (["cat;dog;eel", *semicolons(ROWS)], ["y", *NAMED]),
    "decimal commas in quotes": (
        [",".join(f'"{cell.replace(".", ",")}"' for cell in row.split(",")) for row in ROWS],
        LABELS,
    ),
    "decimal commas and blanks": ([row.replace(",", " ").replace(".", ",") for row in ROWS], LABELS),
    "exponents": ([",".join(f"{float(cell):.7e}" for cell in row.split(",")) for row in ROWS], LABELS),
    "labels with decimals": (ROWS, [f"{y}.0" for y in Y]),
}


@pytest.mark.every(5)
@table("case", READ)
def test_forms_of_text(case, run):
    if case is READ["header from 1"]:  # places or names: refused where both are possible
        case = (case[0], [str(y + 1) for y in np.where(np.arange(N) == 0, 2, Y)])
        status, out, _ = run(*case)
        assert (status, json.loads(out)["n"]) == (0, N)
        return
    status, out, err = run(*case)
    assert (status, err) == (0, "")
    found = json.loads(out)
    assert (found["n"], found["pvalue"]) == (N, expected())


@pytest.mark.parametrize("is_header", [True, False])
def test_a_header_of_outcomes_can_have_the_name_of_a_class(is_header, run):
    """The numbers of rows say whether it is one."""
    names = ["y", "n", "m"]
    outcomes = [names[label] for label in Y]
    status, out, err = run([",".join(names), *ROWS], ["y", *outcomes] if is_header else outcomes)
    assert (status, err) == (0, "")
    assert (json.loads(out)["n"], json.loads(out)["pvalue"]) == (N, expected())


@pytest.mark.every(2)
@pytest.mark.parametrize("decimal", [".", ","])
@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("separator", [";", "\t"])
def test_tables_of_normal_predictions(header, decimal, separator, tmp_path, run):
    frame = pd.DataFrame({"mean": RNG.normal(size=N).round(3), "sd": RNG.uniform(0.5, 2.0, N).round(3)})
    y = pd.Series(RNG.normal(size=N).round(3), name="y")
    paths = tmp_path / "a.csv", tmp_path / "b.csv"
    frame.to_csv(paths[0], sep=separator, decimal=decimal, index=False, header=header)
    y.to_csv(paths[1], sep=separator, decimal=decimal, index=False, header=header)
    status, out, err = run(paths[0].read_text(), paths[1].read_text(), "--normal")
    if decimal == "," and not header:  # an outcome "0,5" without a header can be two numbers
        assert status == 2
        assert "numbers with decimal commas need a header" in err
    else:
        assert json.loads(out)["pvalue"] == ct.calibration_test(ct.Normal(frame["mean"], frame["sd"]), y, rng=1).pvalue


@pytest.mark.parametrize("columns", [[0], [1], [0, 1], [1, 0]])
def test_headers_of_numbers_over_few_columns(columns, run):
    """They never become observations: the number of rows says it, or the file is refused."""
    p = BINARY if len(columns) == 1 else np.stack([1.0 - BINARY, BINARY], axis=1)
    y = (Y == 1).astype(int)
    table_text = pd.DataFrame(p, columns=columns).to_csv(index=False)
    expected = ct.calibration_test(p, y, rng=1).pvalue
    status, out, err = run(table_text, LABELS_OF(y))
    assert status == 0 or "names of the columns" in err
    if columns != [1, 0]:
        assert (json.loads(out)["n"], json.loads(out)["pvalue"]) == (N, expected)
    status, out, err = run(table_text, ["0", *LABELS_OF(y)])
    assert status == 2 or json.loads(out)["n"] in (N, N + 1)
    if columns in ([0], [0, 1]):
        assert json.loads(out)["pvalue"] == expected
    if columns == [1]:
        assert "can be a header or a certain prediction" in err


def LABELS_OF(y):
    return [str(int(v)) for v in y]


BLANK = [*LABELS[:10], "", *LABELS[11:]]
BAD = {
    "blank line in predictions": ([*ROWS[:10], "", *ROWS[10:]], LABELS, "p.csv, line 11: got a line without text"),
    "blank lines in both": ([*ROWS[:10], "", *ROWS[11:]], BLANK, "p.csv, line 11: got a line without text"),
    "blank line in outcomes": (ROWS, BLANK, "y.csv: got nan at row 10 (line 11) (1 in all) ... pass --missing drop"),
    "blank lines elsewhere": ([*ROWS[:5], "", *ROWS[6:]], BLANK, "p.csv, line 6: got a line without text"),
    "comment between rows": ([*ROWS[:10], "# bad", *ROWS[10:]], LABELS, "p.csv, line 11: got 1 cells, wanted 3"),
    "missing cell": (
        [*ROWS[:3], "0.5,,0.5", *ROWS[4:]],
        LABELS,
        "p.csv, line 4: got an empty cell in column 2, wanted",
    ),
    "missing number": (
        [*ROWS[:3], "0.5,NA,0.5", *ROWS[4:]],
        LABELS,
        "p.csv, line 4: got 'NA' in column 2, wanted a num",
    ),
    "nan": ([*ROWS[:3], "0.5,nan,0.5", *ROWS[4:]], LABELS, "p.csv: got nan at row 3 (line 4)"),
    "text": (
        ["a,b,c", *ROWS[:3], "0.5,x,0.5", *ROWS[4:]],
        LABELS,
        "p.csv, line 5: got 'x' in column 'b', wanted a number",
    ),
    "after names over two lines": (
        ['"a\nb",c,d', *ROWS[:3], "0.5,x,0.5"],
        LABELS,
        "p.csv, line 6: got 'x' in column 'c', wanted",
    ),
    "too few cells": ([*ROWS[:3], "0.5,0.5", *ROWS[4:]], LABELS, "p.csv, line 4: got 2 cells, wanted 3, as in line 1"),
    "commas at the end": ([row + "," for row in ROWS], LABELS, "got an empty cell in column 4, wanted a number"),
    "both decimals": (
        [*semicolons(ROWS[:3]), ROWS[3].replace(",", ";"), *semicolons(ROWS[4:])],
        LABELS,
        "p.csv, line 2: got '0, ... and numbers with a decimal point in line 4",
    ),
    "underscores": ([*ROWS[:3], "1_0,0.5,0.5", *ROWS[4:]], LABELS, "p.csv, line 4: got '1_0' in column 1"),
    "open quotes": ([*ROWS[:3], '"0.5,0.5', *ROWS[4:]], LABELS, "p.csv: line 4: ... quoted cell"),
    "row that is no prediction": ([*ROWS[:3], "0.5,0.5,0.5", *ROWS[4:]], LABELS, "p.csv: got row 3 (line 4) that sums"),
    "label": (ROWS, ["y", *LABELS[:3], "7", *LABELS[4:]], "y.csv: got label 7 at row 3 (line 5), wanted labels 0..2"),
    "unknown name": (
        ["cat,dog,eel", *ROWS],
        [*NAMED[:3], "cow", *NAMED[4:]],
        "'cow' at row 3 (line 4), wanted one of ",
    ),
    "unknown name first": (["cat,dog,eel", *ROWS], ["cow", *NAMED[1:]], "'cow' at row 0 (line 1), wanted one of the n"),
    "names of another case": (
        ["Cat,Dog,Eel", *ROWS],
        NAMED,
        "wanted one of the names in the header of ... Cat, Dog, Eel",
    ),
    "names twice": (
        ["cat,cat,eel", *ROWS],
        ["y", "cat", *["eel"] * (N - 1)],
        "p.csv: got 2 columns of predictions named 'cat', wanted names",
    ),
    "names without a header": (ROWS, NAMED, "y.csv, line 1: got names such as"),
    "name among numbers": (
        ROWS,
        [*LABELS[:3], "cat", *LABELS[4:]],
        "y.csv, line 4: got names such as 'cat', wanted lab",
    ),
    "names or places": (["2,0,1", *ROWS], LABELS, "names of the columns of the predictions (2, 0, 1) as well as their"),
    "too few outcomes": (ROWS, LABELS[1:], "y.csv: got 29 outcomes, wanted 30, one per row of"),
    "too many outcomes": (ROWS, ["1", *LABELS], "y.csv: got 31 outcomes, wanted 30, one per row of"),
    "header only": ("a,b\n", LABELS, "p.csv: got no rows after the header"),
    "header of outcomes only": (ROWS, "y\n", "y.csv: got no rows after the header"),
    "one row": (ROWS[:1], LABELS[:1], "1 observation, wanted at least 2 for a test"),
    "empty": ("", LABELS, "p.csv: got an empty file"),
    "comments only": ("# nothing\n#\n", LABELS, "p.csv: got an empty file, or comments only"),
    "index": (pd.DataFrame(P).to_csv(), LABELS, "p.csv: the first column counts rows; save without the index"),
    "named index": (pd.DataFrame(P).rename_axis("id").to_csv(), LABELS, "p.csv: the first column counts rows"),
    "index of three rows": (
        [",a,b", "0,0.2,0.8", "1,0.5,0.5", "2,0.7,0.3"],
        ["0"] * 3,
        "p.csv: the first column counts rows",
    ),
    "outcomes with an index": (
        ROWS,
        pd.Series(Y).to_csv(),
        "y.csv: got 2 columns, wanted 1: the outcome (save without",
    ),
    "predictions with decimal commas": (
        [*(f"{p:.3f}".replace(".", ",") for p in BINARY[1:]), "1,000"],
        [str(int(y == 1)) for y in Y],
        "p.csv: got 2 columns of whole numbers ... one with decimal commas, write a name in the first line",
    ),
    "names for one column": (
        ["p", *(f"{p:.3f}" for p in BINARY)],
        NAMED,
        "for one column of predictions, wanted outcomes 0 and 1, no and yes or false and true, or the names of 0 and 1",
    ),
    "infinity": ([*ROWS[:3], "0.5,inf,0.5", *ROWS[4:]], LABELS, "p.csv: got inf at row 3 (line 4), column 2"),
    "one column of decimal commas": (ROWS, [f"{y},0" for y in Y], "numbers with decimal commas need a header"),
    "Latin-1": (ROWS, "é\n".encode("latin-1") * N, "y.csv: got bytes that are not UTF-8"),
    "UTF-16 without its mark": (
        "\n".join(ROWS).encode("utf-16-le"),
        LABELS,
        "p.csv: got bytes of 0 in the first line, wanted text in UTF-8, or in UTF-16 with its mark",
    ),
    "thousands": (
        ["a;b;c", "4,236.5;0.5;0.5"],
        LABELS,
        "p.csv, line 2: got '4,236.5' in column 'a', wanted a number; take separators of thousands out",
    ),
    "thousands or decimals": (
        ["a;b;c", "4,236;900;-1,000"],
        LABELS,
        "p.csv, line 2: got '4,236', and three digits after all commas, ... or decimals; wanted 4236 or 4.236",
    ),
    "archive": (b"PK\x03\x04" + bytes(40), LABELS, "p.csv: got an archive that is no .npz of arrays"),
    "parquet": (b"PAR1\xff\xfe" + bytes(range(200)), LABELS, "p.csv: got a damaged or truncated file"),
    "truncated gz": (gzip.compress("\n".join(ROWS).encode())[:-20], LABELS, "p.csv: got a damaged or truncated file"),
    "damaged gz": (b"\x1f\x8b\x08" + bytes(50), LABELS, "p.csv: got a damaged or truncated file"),
    "empty npy": (ROWS, np.empty(0), "y.npy: got an empty array (0,)"),
    "0-d npy": (np.array(0.5), LABELS, "p.npy: got an array () of float64, wanted numbers or text, (n,) or (n, k)"),
    "3-d npy": (P[None], LABELS, "p.npy: got an array (1, 30, 3) of float64"),
    "complex npy": (P + 0j, LABELS, "p.npy: got an array (30, 3) of complex128"),
    "dates": (ROWS, np.full(N, "2020-01-01", dtype="M8[D]"), "y.npy: got an array (30,) of datetime64[D]"),
    "objects": (
        ROWS,
        NAMES[Y].astype(object),
        "y.npy: got an array that cannot be read (Object arrays cannot be loaded",
    ),
    "truncated npy": (b"\x93NUMPY\x01\x00", LABELS, "p.csv: got an array that cannot be read"),
    "text in npy": (P.astype(str), LABELS, "p.npy: got values of type"),
    "wrong npy": (P, np.stack([Y, Y], axis=1), "y.npy: got 2 columns, wanted 1: the outcome"),
}


def test_commas_are_of_decimals_if_one_of_them_cannot_be_of_thousands():
    cells = [["1,234", "0,5"], ["2,345", "1"]]
    assert rows_of_files.decimals("p.csv", cells, [1, 2]) == [["1.234", "0.5"], ["2.345", "1"]]


@table(("predictions", "outcomes", "message"), BAD)
def test_bad_files(predictions, outcomes, message, run):
    contents = predictions, outcomes
    names = [
        f"{name}.npy" if isinstance(one, np.ndarray) else f"{name}.csv"
        for name, one in zip("py", contents, strict=True)
    ]
    status, out, err = run(*contents, names=names)
    assert (status, out) == (2, "")
    assert err.startswith("caltest: error: ")
    assert "Traceback" not in err
    place = 0
    for part in message.split(" ... "):
        assert part in err[place:], err
        place = err.index(part, place) + len(part)


def test_arrays_and_compressed_files(run, tmp_path):
    compressed = gzip.compress("\n".join(ROWS).encode())
    exact = np.array([[float(cell) for cell in row.split(",")] for row in ROWS])
    saved = tmp_path / "s.npy"
    np.save(saved, exact)
    forms = [(compressed, LABELS), (saved.read_bytes(), LABELS), (gzip.compress(saved.read_bytes()), LABELS)]
    forms += [(exact, Y), (exact, Y[:, None]), (exact, Y.astype(np.uint8)), (exact, Y.astype(float))]
    forms += [(np.asfortranarray(exact), gzip.compress("\n".join(LABELS).encode()))]
    for predictions, outcomes in forms:
        status, out, _ = run(predictions, outcomes, names=("p.npy", "y.npy"))
        assert (status, json.loads(out)["pvalue"]) == (0, expected())
    for names in (NAMES[Y], NAMES[Y].astype("S")):
        status, out, _ = run(["cat,dog,eel", *ROWS], names, names=("p.csv", "y.npy"))
        assert (status, json.loads(out)["pvalue"]) == (0, expected())


def test_files_are_read_by_chunks(run, monkeypatch):
    """Their size changes nothing, and cells are never kept for longer than a chunk."""
    sizes = []
    monkeypatch.setattr(rows_of_files, "CHUNK", 7)
    read = rows_of_files.decimals
    monkeypatch.setattr(
        rows_of_files, "decimals", lambda name, cells, lines: sizes.append(len(cells)) or read(name, cells, lines)
    )
    rows = ["cat;dog;eel", *semicolons(ROWS)]
    assert json.loads(run(rows, NAMED)[1])["pvalue"] == expected()
    assert sizes[:5] == [7, 7, 7, 7, 2]
    _, _, err = run([*rows[:20], "0,5;x;0,5"], NAMED)
    assert "line 21: got 'x' in column 'dog'" in err


def test_parts_of_text_know_their_rows_and_lines():
    text = io.TextIOWrapper(io.BytesIO(b"# seen\na,b\n" + 8 * b"1,2\n"))
    parts = list(rows_of_files.rows_of_text("p", text, rows_of_files.numbers, lambda _: None, 6))
    assert [part.rows.tolist() for part in parts] == [[0, 1, 2], [3, 4, 5], [6, 7]]
    assert [part.lines.tolist() for part in parts] == [[3, 4, 5], [6, 7, 8], [9, 10]]
    assert [part.head for part in parts] == [["a", "b"], None, None]


def test_any_number_of_comments_comes_first(run):
    status, out, err = run([*300 * ["# seen", ""], *ROWS], [*rows_of_files.LINES * ["#"], *LABELS])
    assert (status, err, json.loads(out)["pvalue"]) == (0, "", expected())


# Missing outcomes.


@pytest.mark.every(9)
@pytest.mark.parametrize("mark", ["", '""', "NA", "NaN", "nan", "None", "null", "<NA>"])
@pytest.mark.parametrize("header", [[], ["y"]])
def test_missing_outcomes(mark, header, run):
    for predictions, outcomes in ((ROWS, LABELS), (["cat,dog,eel", *ROWS], NAMED), (ROWS, [f"{y}.0" for y in Y])):
        lacking = [mark if i in (4, 9) else outcome for i, outcome in enumerate(outcomes)]
        status, _, err = run(predictions, [*header, *lacking])
        assert status == 2
        assert "missing drop" in err
        status, out, _ = run(predictions, [*header, *lacking], "--missing", "drop")
        found = json.loads(out)
        assert (status, found["n"]) == (0, N - 2)
        assert found["notes"][0].startswith("2 of 30 outcomes were missing and left out, with their predictions")


def test_missing_outcomes_of_every_command(tmp_path, capsys):
    write(tmp_path / "p.csv", ["cat,dog,eel", *ROWS])
    write(tmp_path / "q.csv", ["cat,dog,eel", *ROWS[::-1]])
    write(tmp_path / "y.csv", ["y", "NA", *NAMED[1:]])
    p, q, y = (str(tmp_path / name) for name in ("p.csv", "q.csv", "y.csv"))
    for arguments in (
        ["compare", p, q, y, "--n-resamples", "9"],
        ["recalibrate", p, y],
        ["test", p, y, "--test", "ece-top-label"],
    ):
        assert main(arguments) == 2
        assert "pass --missing drop" in capsys.readouterr().err
        assert main([*arguments, "--missing", "drop", "--seed", "1"]) == 0
    assert "1 of 30 outcomes was missing" in capsys.readouterr().out


def test_words_for_an_event(run):
    """Alone or with columns of their names, in any order; numbers of columns are not guessed."""
    binary, event = [f"{p:.3f}" for p in BINARY], Y == 1
    pairs = [f"{p},{1 - float(p):.3f}" for p in binary]
    found = [
        run(["risk", *binary], ["died", *np.where(event, "yes", "no")]),
        run(["risk", *binary], list(np.where(event, "Yes", "No"))),
        run(binary, ["died", *np.where(event, "1", "0")]),
        run(["true,false", *pairs], ["died", *np.where(event, "true", "false")]),
        run(["true,false", *pairs], ["died", *np.where(event, "True", "False")]),
    ]
    assert [status for status, *_ in found] == [0] * 5
    alone, *others = (json.loads(out)["pvalue"] for _, out, _ in found)
    assert others[:2] == [alone, alone]
    rows = np.array([[float(cell) for cell in row.split(",")] for row in pairs])
    assert others[2] == others[3] == ct.calibration_test(rows, np.where(event, 0, 1), rng=1).pvalue
    status, _, err = run(["true,false", *pairs], ["died", *np.where(event, "1", "0")])
    assert status == 2
    advice = "wanted these names, or the columns in the order of 0 and 1, --columns false,true"
    assert f"so that 1 can mean true or the second column; {advice}" in err


def test_a_class_may_be_called_none(run):
    names = np.array(["None", "NA", "some"])
    status, out, _ = run([",".join(names), *ROWS], list(names[Y]))
    assert (status, json.loads(out)["pvalue"]) == (0, expected())


# Which files.


def test_files_that_cannot_be_read(tmp_path, capsys):
    write(tmp_path / "p.csv", ROWS)
    (tmp_path / "link.csv").symlink_to(tmp_path / "p.csv")
    p = str(tmp_path / "p.csv")
    for other, message in (
        (str(tmp_path), f"{tmp_path}: is a directory, wanted a file"),
        (str(tmp_path / "none.csv"), "none.csv: no such file"),
        (p, "got this file 2 times"),
        (str(tmp_path / "link.csv"), "got this file 2 times"),
    ):
        for arguments in (["test", p, other], ["compare", p, other], ["recalibrate", p, other]):
            assert main(arguments) == 2
            err = capsys.readouterr().err
            assert message in err
            assert err.count("\n") == 1
    assert main(["test", "-", "-"]) == 2
    assert "standard input: got this file 2 times" in capsys.readouterr().err


def caltest(*arguments, **options):
    command = [sys.executable, "-m", "caltest", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, check=False, env=os.environ, **options)


def test_standard_input(tmp_path, monkeypatch, capsys):
    write(tmp_path / "p.csv", ROWS)
    write(tmp_path / "y.csv", LABELS)
    given = gzip.compress((tmp_path / "p.csv").read_bytes())
    found = caltest("test", "-", tmp_path / "y.csv", "--seed", "1", "--json", input=given)
    assert json.loads(found.stdout)["pvalue"] == expected()
    monkeypatch.setattr(
        sys, "stdin", types.SimpleNamespace(buffer=io.BufferedReader(io.BytesIO(b"0\nx\n")), isatty=lambda: False)
    )
    assert main(["test", str(tmp_path / "p.csv"), "-", "--seed", "1"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("caltest: error: standard input")


@pytest.mark.full
def test_output_that_nobody_reads(tmp_path):
    write(tmp_path / "p.csv", ROWS)
    write(tmp_path / "y.csv", LABELS)
    shell = f"{sys.executable} -m caltest"
    files = f"{tmp_path / 'p.csv'} {tmp_path / 'y.csv'}"
    for command in (
        f"({shell} test {files} --seed 1; echo $? >&2) | true",
        f"{shell} test {files} --seed 1 >&-; echo $? >&2",
    ):
        found = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
        assert found.stderr.split() == ["0"], found.stderr
    full = subprocess.run(f"{shell} test {files} >/dev/full", shell=True, capture_output=True, text=True, check=False)
    assert (full.returncode, full.stderr.count("\n")) == (2, 1), full.stderr


def test_interruption(monkeypatch, capsys):
    def stop(options):
        raise KeyboardInterrupt

    monkeypatch.setattr("caltest.cli.demo.run", stop)
    assert main(["demo"]) == 130
    assert capsys.readouterr().err == "caltest: interrupted\n"


def test_unexpected_errors_are_one_line(monkeypatch, capsys):
    def fail(options):
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr("caltest.cli.demo.run", fail)
    assert main(["demo"]) == 2
    assert capsys.readouterr().err.startswith("caltest: error: ZeroDivisionError: division by zero (a fault of caltest")


# What is written.


@pytest.fixture
def folder(tmp_path):
    write(tmp_path / "p.csv", ['"cat, big",dog,"eel ""E"""', *ROWS])
    write(tmp_path / "y.csv", ["y", *LABELS])
    write(tmp_path / "new.csv", ['"cat, big",dog,"eel ""E"""', *ROWS[:5]])
    (tmp_path / "link.csv").symlink_to(tmp_path / "y.csv")
    os.link(tmp_path / "new.csv", tmp_path / "hard.csv")
    return tmp_path


def recalibrate(folder, *options):
    return main(["recalibrate", str(folder / "p.csv"), str(folder / "y.csv"), "--seed", "1", *map(str, options)])


@pytest.mark.parametrize("name", ["p.csv", "y.csv", "new.csv", "link.csv", "hard.csv", "../{}/p.csv"])
@pytest.mark.parametrize("option", ["--output", "--save"])
def test_inputs_are_never_overwritten(option, name, folder, capsys):
    before = {path: path.read_bytes() for path in folder.iterdir()}
    path = folder / name.format(folder.name)
    others = ["--apply", folder / "new.csv", "--output", path if option == "--output" else folder / "o.csv"]
    status = recalibrate(folder, *others, *(["--save", path] if option == "--save" else []), "--force")
    assert status == 2
    assert f"{option}: got {path}, which is a file that is read" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_files_that_exist_are_overwritten_if_asked_for(folder, capsys):
    new, output = ["--apply", folder / "new.csv"], folder / "o.csv"
    output.write_text("precious")
    assert recalibrate(folder, *new, "--output", output) == 2
    assert "--output: got" in capsys.readouterr().err
    assert output.read_text() == "precious"
    assert recalibrate(folder, *new, "--output", output, "--force") == 0
    assert output.read_text().startswith('"cat, big",dog,"eel ""E"""\n')
    assert recalibrate(folder, "--apply", output, "--output", folder / "again.csv.gz") == 0
    assert len(gzip.decompress((folder / "again.csv.gz").read_bytes()).splitlines()) == 6
    for path, message in (
        (folder / "none" / "o.csv", "a folder that exists"),
        (folder, "wanted a file"),
        (folder / "o.parquet", "ends in one of"),
        (folder / "map.npy", "another option names too"),
    ):
        assert recalibrate(folder, "--save", folder / "map.npy", *new, "--output", path) == 2 or path.name == "map.npy"
        found = capsys.readouterr().err
        assert message in found or path.name == "map.npy"


ANNOUNCED = """
import signal
import sys
from functools import cache
import types
import caltest.cli


class Waiting:
    '''Standard input that says when it is read first.'''

    def __init__(self, file):
        self.file, self.said = file, False

    def __getattr__(self, name):
        if not self.said:
            self.said = True
            print("ready", file=sys.stderr, flush=True)
        return getattr(self.file, name)


# Programs that are started in the background ignore interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.stdin = types.SimpleNamespace(buffer=Waiting(sys.stdin.buffer), isatty=lambda: False)
sys.exit(caltest.cli.main())
"""


@pytest.mark.full
def test_interruption_of_a_process(tmp_path):
    """While it waits for what comes through standard input."""
    (tmp_path / "y.csv").write_text("0\n1\n")
    command = [sys.executable, "-c", ANNOUNCED, "test", "-", tmp_path / "y.csv"]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    process = subprocess.Popen(command, text=True, **pipes)
    assert process.stderr.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, "caltest: interrupted\n")


@pytest.mark.parametrize(
    ("text", "got"),
    [
        ("y\n1\n", "only the column 'y' among y"),
        ("a,y,y\n0.5,1,1\n", "2 columns 'y' among a, y, y"),
        ("a,b\n0.5,1\n", "no column 'y' among a, b"),
    ],
)
def test_a_named_column_is_there_once_beside_others(text, got, tmp_path):
    (tmp_path / "p.csv").write_text(text)
    with pytest.raises(ValueError, match=rf"p.csv: got {got}, wanted it once, and columns of predictions$"):
        read_with_columns(tmp_path / "p.csv", ["y"])


@pytest.mark.parametrize("kind", ["feather", "parquet"])
def test_tables_are_read_in_parts(kind, tmp_path):
    """No row twice, whatever the batches of the file."""
    pytest.importorskip("pyarrow")
    path, table = tmp_path / f"p.{kind}", pd.DataFrame(P[:11], columns=["a", "b", "c"])
    table.to_feather(path) if kind == "feather" else table.to_parquet(path)
    with path.open("rb") as file:
        parts = list(files._tables_in("p", file, 12))
    assert [len(part) for part in parts] == [4, 4, 3]
    np.testing.assert_array_equal(np.concatenate([part.values for part in parts]), P[:11])


@pytest.mark.parametrize(
    ("arrays", "names"),
    [
        ({"p": P}, None),
        ({"p": P[:, 0], "q": P[:, 1:]}, ["p", "q0", "q1"]),
        ({"q": P[:, :2], "p": P[:, 2:]}, ["q0", "q1", "p"]),
    ],
)
def test_arrays_of_an_archive_are_columns_where_there_are_several(arrays, names):
    file = io.BytesIO()
    np.savez(file, **arrays)
    file.seek(0)
    rows = files._archive("p", file)
    assert rows.names == names
    np.testing.assert_array_equal(rows.values, P)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ([], "p: got no rows, wanted one for each observation"),
        ([np.empty(0), np.empty(0)], "p: got no rows, wanted one for each observation"),
        ([np.ones(3), np.ones(2)], "p: got arrays of different shapes, a0 (3,), a1 (2,), wanted as many rows in each"),
        (
            [np.ones((3, 2)), np.ones((2, 1)), np.ones(2)],
            "p: got arrays of different shapes, a0 (3, 2), a1 (2, 1), a2 (2,), wanted as many rows in each",
        ),
        ([np.ones(3), np.ones(())], "p: got arrays of different shapes, a0 (3,), a1 (), wanted as many rows in each"),
        (
            [np.ones((2, 2, 1))] * 2,
            "p: got arrays of different shapes, a0 (2, 2, 1), a1 (2, 2, 1), wanted as many rows in each",
        ),
    ],
)
def test_archives_that_are_no_rows(arrays, message):
    file = io.BytesIO()
    np.savez(file, **{f"a{i}": one for i, one in enumerate(arrays)})
    file.seek(0)
    with pytest.raises(ValueError, match=re.escape(message)):
        files._archive("p", file)


@pytest.mark.parametrize(
    ("number", "is_text"), [(2**53, False), (2**53 + 1, True), (-(2**53), False), (-(2**60), True)]
)
def test_whole_numbers_that_fractions_cannot_tell_apart_are_text(number, is_text):
    """Only beside fractions: arrays of whole numbers keep their digits."""
    columns = {"id": np.array([0, number]), "p": np.array([0.5, 1.0])}
    values = files._of_columns("p", columns).values
    assert values.tolist() == ([["0", "0.5"], [str(number), "1.0"]] if is_text else [[0, 0.5], [number, 1.0]])
    assert files._of_columns("p", {"id": columns["id"], "other": columns["id"]}).values.tolist()[1] == [number, number]
