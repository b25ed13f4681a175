"""The command line with files of all kinds: an answer, or one line that says what to do; no traceback.

Three of seven commands for each file by default, all with ``--full``.
"""

import gzip
import json

import numpy as np
import pytest

from caltest.cli.main import main

ROWS = "0.2,0.8\n0.7,0.3\n0.6,0.4\n0.1,0.9\n0.5,0.5\n0.3,0.7\n"
LABELS = "1\n0\n0\n1\n1\n0\n"


def packed(text):
    return gzip.compress(text.encode())


def array(values):
    def write(path):
        np.save(path, values, allow_pickle=True)

    return write


FILES = {
    "as wanted.csv": ROWS,
    "header.csv": "no,yes\n" + ROWS,
    "windows lines.csv": ROWS.replace("\n", "\r\n"),
    "byte order mark.csv": b"\xef\xbb\xbf" + ROWS.encode(),
    "semicolons.csv": ROWS.replace(",", ";"),
    "tabs.csv": ROWS.replace(",", "\t"),
    "decimal commas.csv": ROWS.replace(",", ";").replace(".", ","),
    "quoted.csv": '"a, b","c"\n' + ROWS,
    "open quote.csv": '"a,b\n' + ROWS,
    "blank lines.csv": ROWS.replace("\n", "\n\n"),
    "blank line inside.csv": ROWS[:16] + "\n" + ROWS[16:],
    "blanks.csv": ROWS.replace(",", " , "),
    "trailing commas.csv": ROWS.replace("\n", ",\n"),
    "no end of line.csv": ROWS[:-1],
    "one row.csv": "0.2,0.8\n",
    "empty.csv": "",
    "only a header.csv": "no,yes\n",
    "ragged.csv": "0.2,0.8\n0.5\n" + ROWS,
    "words.csv": "a,b\nc,d\n",
    "NaN.csv": ROWS.replace("0.7", "nan"),
    "infinite.csv": ROWS.replace("0.7", "inf"),
    "missing.csv": ROWS.replace("0.7", ""),
    "zeros in the file.csv": b"\x00" * 100,
    "other bytes.csv": bytes(range(256)),
    "answers.jsonl": '{"probs": [0.2, 0.8], "answer": 1}\n{"probs": [0.5, 0.3, 0.2], "answer": 0}\n',
    "answers that end early.jsonl": '{"probs": [0.2, 0.8], "answer": 1}\n{"probs": [0.5, 0.3',
    "comments.csv": "# made by hand\n" + ROWS,
    "labels.csv": LABELS,
    "names.csv": LABELS.replace("1", "yes").replace("0", "no"),
    "labels of 1.csv": LABELS.replace("1", "2").replace("0", "1"),
    "negative.csv": ROWS.replace("0.7", "-0.7"),
    "huge.csv": ROWS.replace("0.7", "1e400"),
    "same names.csv": "a,a\n" + ROWS,
    "rows.csv.gz": packed(ROWS),
    "truncated.csv.gz": packed(ROWS)[:-12],
    "not packed.csv.gz": ROWS,
    "empty.csv.gz": b"",
    "rows.npy": array(np.tile([0.2, 0.8], (6, 1))),
    "one number.npy": array(np.float64(0.5)),
    "empty.npy": b"",
    "half.npy": b"\x93NUMPY\x01\x00",
    "no rows.npy": array(np.empty((0, 2))),
    "three dimensions.npy": array(np.full((2, 2, 2), 0.5)),
    "objects.npy": array(np.array([{}, None, "a"], dtype=object)),
    "complex.npy": array(np.full((6, 2), 0.5 + 0.5j)),
    "text.npy": array(np.array(["a", "b"])),
    "csv.npy": ROWS,
    "rows.parquet": ROWS,
    "without ending": ROWS,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("files")
    for name, content in FILES.items():
        if callable(content):
            content(place / name)
        else:
            (place / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    (place / "a folder.csv").mkdir()
    return place


NAMES = [*FILES, "a folder.csv", "nowhere.csv"]
OPTIONS = ["--seed", "1"]


def commands(name):
    """Commands in which a file stands for the predictions, the outcomes, or another model."""
    good, labels = "as wanted.csv", "labels.csv"
    yield ["test", name, labels, "--test", "skce", "--format", "json"]
    yield ["test", good, name, "--test", "skce", "--format", "json"]
    yield ["test", name, labels, "--normal", "--test", "pit", "--format", "json"]
    yield ["compare", good, name, labels, "--n-resamples", "9", "--format", "json"]
    yield [
        "power",
        name,
        "--deviation",
        "label-noise",
        "--strength",
        "0.1",
        "--n-simulations",
        "2",
        "--n-resamples",
        "9",
    ]
    yield ["recalibrate", name, labels, "--method", "temperature"]
    yield ["recalibrate", good, labels, "--method", "temperature", "--apply", name, "--output", "out.npy"]


def numbers(value):
    """All numbers of what was printed."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from ((key, number) for _, number in numbers(part)) if key == "pvalue" else numbers(part)
    elif isinstance(value, list):
        for part in value:
            yield from numbers(part)
    elif isinstance(value, float):
        yield "", value


def some(name, everything):
    """All commands, or the first two and in turn one of the others."""
    found = list(commands(name))
    return found if everything else [*found[:2], found[2 + NAMES.index(name) % (len(found) - 2)]]


@pytest.mark.every(5)
@pytest.mark.parametrize("name", NAMES)
def test_files(name, folder, tmp_path, capsys, replications):
    files = {one: (folder / one).read_bytes() for one in FILES}
    for command in some(name, replications(False, True)):
        words = [str(folder / word) if word in NAMES else word for word in command]
        words = [str(tmp_path / word) if word == "out.npy" else word for word in words]
        try:
            status = main([*words, *OPTIONS])
        except SystemExit as stop:
            raise AssertionError(f"{words}: {capsys.readouterr().err}") from stop
        out, err = capsys.readouterr()
        assert status in (0, 2), words
        if status == 2:
            assert out == "", words
            assert err.startswith("caltest: error: "), words
            assert err.count("\n") == 1, err
        elif "json" in command:
            for key, number in numbers(json.loads(out)):
                assert np.isfinite(number), (words, out)
                assert key != "pvalue" or 0.0 <= number <= 1.0
    assert files == {one: (folder / one).read_bytes() for one in FILES}
