"""Answers of language models as JSON lines: what is read, how it is tested, what is refused."""

import gzip
import io
import json
import re

import numpy as np
import pytest

import caltest as ct
from caltest.cli.inputs.answers import NoChoices, Question, _likelihood, _short, _table
from caltest.cli.main import main

RNG = np.random.default_rng(1)
LOGS = RNG.normal(-9.0, 2.0, (60, 4))
P = np.exp(LOGS) / np.exp(LOGS).sum(axis=1, keepdims=True)
Y = np.array([RNG.choice(4, p=row) for row in P])


def harness(i, **changes):
    """A line as ``--log_samples`` writes it: numbers and the place of the right choice are text."""
    resps = [[str(value), "False"] for value in LOGS[i]]
    line = {
        "doc_id": i,
        "doc": {"question": f"question {i}", "subject": ["law", "maths"][i % 2], "choices": ["w", "x", "y", "z"]},
        "target": str(Y[i]),
        "arguments": {f"gen_args_{j}": {"arg_0": f"question {i}", "arg_1": f" {'wxyz'[j]}"} for j in range(4)},
        "resps": [[one] for one in resps],
        "filtered_resps": resps,
        "filter": "none",
        "prompt_hash": f"hash {i // 3}",
        "acc": 1.0,
    }
    return line | changes


LINES = [harness(i) for i in range(60)]


def caltest(path, capsys, *options):
    status = main(["test", str(path), "--seed", "1", *options])
    return status, *capsys.readouterr()


def run(tmp_path, capsys, lines, *options):
    path = tmp_path / "samples_task.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return caltest(path, capsys, *options)


def found(tmp_path, capsys, lines, *options):
    status, out, err = run(tmp_path, capsys, lines, "--json", *options)
    assert (status, err) == (0, "")
    return json.loads(out)


FORMS = {
    "harness": LINES,
    "numbers": [harness(i, filtered_resps=[[x, True] for x in LOGS[i]], target=int(Y[i])) for i in range(60)],
    "pairs": [{"resps": [[[x, False]] for x in LOGS[i]], "target": str(Y[i])} for i in range(60)],
    "texts": [harness(i, target="wxyz"[Y[i]]) for i in range(60)],
    "probabilities": [{"probs": P[i].tolist(), "answer": int(Y[i])} for i in range(60)],
    "whole floats": [{"probs": P[i].tolist(), "answer": float(Y[i])} for i in range(60)],
    "letters": [{"probabilities": P[i].tolist(), "label": "ABCD"[Y[i]]} for i in range(60)],
    "names": [{"logprobs": dict(zip("ABCD", LOGS[i], strict=True)), "answer": "ABCD"[Y[i]]} for i in range(60)],
    "other orders": [
        {"logprobs": {"ABCD"[j]: LOGS[i, j] for j in np.roll(range(4), i % 60)}, "answer": "ABCD"[Y[i]]}
        for i in range(60)
    ],
    "choices": [
        {"choices": list("wxyz"), "loglikelihoods": LOGS[i].tolist(), "answer": "wxyz"[Y[i]]} for i in range(60)
    ],
    "long choices": [{"logprobs": (LOGS[i] - 2000.0).tolist(), "answer": int(Y[i])} for i in range(60)],
    "logits": [{"logits": (LOGS[i] + 20.0).tolist(), "answer": int(Y[i])} for i in range(60)],
}


@pytest.mark.every(5)
@pytest.mark.parametrize("name", FORMS)
def test_all_forms_give_the_same(name, tmp_path, capsys):
    result = found(tmp_path, capsys, FORMS[name])
    assert result["pvalue"] == ct.calibration_test(P, Y, rng=1).pvalue
    softmax = "prob" not in "".join(FORMS[name][0])[:4]
    assert any("softmax of their log-likelihoods" in note for note in result["notes"]) == softmax
    assert not any("questions have" in note for note in result["notes"])


def test_the_ece_is_printed_beside_its_noise_floor(tmp_path, capsys):
    note = next(note for note in found(tmp_path, capsys, LINES)["notes"] if "ECE" in note)
    confidence, correct = ct.top_label(P, Y)
    floor = ct.noise_floor(confidence, ct.ECE(), n_resamples=199, rng=1)
    assert note == (
        f"the ECE of the top label is {ct.ECE()(confidence, correct):.3g}; 60 calibrated and independent answers have "
        f"{floor.mean:.3g} on average, and above {floor.quantile:.3g} in one of 20 data sets"
    )


def test_fewer_choices_are_filled_up_with_zeros(tmp_path, capsys):
    lines, padded, answers = [], np.zeros((60, 5)), []
    for i in range(60):
        k = 2 + i % 4
        padded[i, :k] = RNG.dirichlet(np.ones(k))
        answers.append(int(RNG.choice(5, p=padded[i])))
        lines.append({"probs": padded[i, :k].tolist(), "answer": answers[-1]})
    result = found(tmp_path, capsys, lines)
    assert result["pvalue"] == ct.calibration_test(padded, answers, rng=1).pvalue
    assert "questions have 2 to 5 choices; those that a question does not have get probability 0" in result["notes"]


@pytest.mark.parametrize(
    ("choices", "names", "row"),
    [("ca", tuple("abc"), [0.3, 0.0, 0.7]), ("ad", None, [0.7, 0.3, 0.0]), (None, None, [0.7, 0.3, 0.0])],
)
def test_choices_are_columns_by_their_names_where_those_of_one_question_are_all(choices, names, row):
    asked = [([0.2, 0.3, 0.5], tuple("abc")), ([0.7, 0.3], choices and tuple(choices))]
    for order in (asked, asked[::-1]):
        table, found = _table([Question("", p, of_question, 0, False, "", ()) for p, of_question in order])
        assert found == names
        assert table.tolist() == [[0.2, 0.3, 0.5] if len(p) == 3 else row for p, _ in order]


def test_questions_about_the_data_name_the_choices(tmp_path, capsys):
    lines = [{"probs": dict(zip("210", (0.2, 0.3, 0.5), strict=True)), "answer": "2"} for _ in range(60)]
    asked = [note for note in found(tmp_path, capsys, lines)["notes"] if "right column" in note]
    assert asked == ["all outcomes are class 2: were they read from the right column?"]


def test_audits_read_them_too(tmp_path, capsys):
    path = tmp_path / "answers.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in LINES))
    options = ["--groups", "doc.subject", "--n-resamples", "99", "--seed", "1", "--json"]
    assert main(["audit", str(path), *options]) == 0
    found = json.loads(capsys.readouterr().out)
    subjects = np.array([line["doc"]["subject"] for line in LINES])
    alike = ct.audit(P, Y, groups=subjects, n_resamples=99, rng=1)
    assert found["pvalue"] == alike.models[0].result.pvalue
    said = found["models"][0]["sections"]["groups"]["answer"]
    assert said == alike.models[0].sections["groups"].answer != ""


WITH_LENGTHS = [
    line | {"doc": line["doc"] | ({"length": 1000 - 7 * i} if i % 9 else {})} | {"sent": 1_700_000_000 - 60 * i}
    for i, line in enumerate(LINES)
]


def test_features_are_fields_which_some_lines_may_lack(tmp_path, capsys):
    result = found(tmp_path, capsys, WITH_LENGTHS, "--features", "doc.subject,doc.length")
    subjects = [line["doc"]["subject"] for line in LINES]
    lengths = [1000.0 - 7.0 * i if i % 9 else np.nan for i in range(60)]
    expected = ct.calibration_test(P, Y, features={"doc.subject": subjects, "doc.length": lengths}, rng=1)
    assert result["pvalue"] == expected.pvalue
    assert [one["name"] for one in result["features"]] == [one.name for one in expected.features]
    assert "got no text or number as doc.size in any line" in run(tmp_path, capsys, LINES, "--features", "doc.size")[2]


def test_audits_take_features_and_numbers_of_times_from_fields(tmp_path, capsys):
    path = tmp_path / "answers.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in WITH_LENGTHS))
    options = ["--features", "doc.length,sent", "--time", "sent", "--n-resamples", "19", "--seed", "1", "--json"]
    assert main(["audit", str(path), *options]) == 0
    read = json.loads(capsys.readouterr().out)["models"][0]["sections"]
    lengths = [1000.0 - 7.0 * i if i % 9 else np.nan for i in range(60)]
    times = 1_700_000_000 - 60 * np.arange(60)
    alike = ct.audit(P, Y, features={"doc.length": lengths, "sent": times}, time=times, n_resamples=19, rng=1)
    for name in ("slices", "time"):
        assert read[name]["answer"] == alike.models[0].sections[name].answer


def test_groups(tmp_path, capsys):
    result = found(tmp_path, capsys, LINES, "--groups", "doc.subject")
    subjects = [line["doc"]["subject"] for line in LINES]
    expected = ct.calibration_by_group(P, Y, subjects, rng=1)
    assert {one["name"]: one["adjusted"] for one in result["groups"]} == {
        one.name: one.adjusted for one in expected.groups
    }
    status, out, _ = run(tmp_path, capsys, LINES, "--groups", "doc.subject", "--format", "markdown")
    assert status == 0
    assert out.startswith("| group | n |")


def test_files_of_a_folder_are_tasks(tmp_path, capsys):
    folder = tmp_path / "model"
    folder.mkdir()
    for j, name in enumerate(["samples_arc_easy_2026-01-02T03-04-05.678.jsonl", "samples_boolq.jsonl"]):
        (folder / name).write_text("".join(json.dumps(line) + "\n" for line in LINES[j::2]))
    (folder / "results.json").write_text("{}")
    status, out, err = caltest(folder, capsys, "--groups", "task", "--json")
    assert (status, err) == (0, "")
    rows = np.r_[np.arange(60)[::2], np.arange(60)[1::2]]
    expected = ct.calibration_by_group(P[rows], Y[rows], np.repeat(["arc_easy", "boolq"], 30), rng=1)
    assert {one["name"]: one["adjusted"] for one in json.loads(out)["groups"]} == {
        one.name: one.adjusted for one in expected.groups
    }
    (folder / "samples_boolq_2026-01-02T03-04-05.jsonl").write_text("{}")
    assert "wanted one file for each task" in caltest(folder, capsys)[2]
    assert "got a folder without files samples_TASK_DATE.jsonl" in caltest(tmp_path, capsys)[2]


def test_clusters(tmp_path, capsys):
    result = found(tmp_path, capsys, LINES, "--clusters", "prompt_hash")
    clusters = [line["prompt_hash"] for line in LINES]
    assert result["pvalue"] == ct.calibration_test(P, Y, clusters=clusters, rng=1).pvalue


def test_missing_answers_are_dropped_with_their_fields(tmp_path, capsys):
    lines = [harness(i, **({"target": None} if i in (2, 7) else {})) for i in range(60)]
    kept = np.delete(np.arange(60), [2, 7])
    result = found(tmp_path, capsys, lines, "--missing", "drop", "--groups", "doc.subject")
    expected = ct.calibration_by_group(P[kept], Y[kept], kept % 2, rng=1)
    assert [one["n"] for one in result["groups"]] == [one.n for one in expected.groups]
    assert run(tmp_path, capsys, lines)[0] == 2


def test_weights_and_other_tests(tmp_path, capsys):
    np.savetxt(tmp_path / "w.csv", 1.0 + np.arange(60) % 2)
    result = found(tmp_path, capsys, LINES, "--weights", str(tmp_path / "w.csv"))
    assert result["pvalue"] == ct.calibration_test(P, Y, weights=1.0 + np.arange(60) % 2, rng=1).pvalue
    result = found(tmp_path, capsys, LINES, "--test", "ece-top-label")
    assert result["pvalue"] == ct.MonteCarloTest(ct.ECE())(*ct.top_label(P, Y), rng=1).pvalue


def test_compressed_and_from_standard_input(tmp_path, capsys, monkeypatch):
    data = "".join(json.dumps(line) + "\n" for line in LINES).encode()
    path = tmp_path / "samples.jsonl.gz"
    path.write_bytes(gzip.compress(data))
    expected = ct.calibration_test(P, Y, rng=1).pvalue
    assert json.loads(caltest(path, capsys, "--json")[1])["pvalue"] == expected
    for sent in (data, gzip.compress(data)):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(sent))))
        assert json.loads(caltest("-", capsys, "--json")[1])["pvalue"] == expected


def test_marks_of_the_order_of_bytes_and_empty_lines_are_passed_over(tmp_path, capsys):
    path, data = tmp_path / "samples.jsonl", "".join(json.dumps(line) + "\n" for line in LINES)
    expected = ct.calibration_test(P, Y, rng=1).pvalue
    for text in ("\ufeff" + data, "\n\n" + data):
        path.write_text(text, encoding="utf-8")
        assert json.loads(caltest(path, capsys, "--json")[1])["pvalue"] == expected


def test_groups_have_their_ece_beside_that_of_calibrated_answers(tmp_path, capsys):
    said = {}
    for name, lines in (("arc", LINES[::2]), ("boolq", LINES[1::2]), ("one", LINES[:1]), ("", [])):
        path = tmp_path / f"samples_{name}.jsonl" if name else tmp_path
        if name:
            path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        if len(lines) != 1:
            status, out, err = caltest(path, capsys, "--json", *([] if name else ["--groups", "task"]))
            assert (status, err) == (0, "")
            said[name] = "\n".join(json.loads(out)["notes"])
    pattern = r"label is (\S+); .* have (\S+) on .* above (\S+) in"
    of = {name: re.search(pattern, said[name]).groups() for name in ("arc", "boolq")}
    each = ", ".join(f"{name} {ece} ({mean}, {most})" for name, (ece, mean, most) in of.items())
    assert f"and exceed in one of 20 data sets): {each}" in said[""]
    assert f"{each}, one" not in said[""]


def test_tasks_of_a_folder_whose_answers_are_texts_are_left_out(tmp_path, capsys):
    right = {"target": "1", "filtered_resps": [["-1.0", "False"], ["-2.0", "False"]]}
    text = {"target": "42", "resps": [["so 41"]], "filtered_resps": ["41"]}
    one = {"target": " word", "filtered_resps": [["-1.0", "False"]]}
    for name, lines in {"arc": [right] * 20, "gsm8k": [text] * 3, "lambada": [one] * 3}.items():
        (tmp_path / f"samples_{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    status, out, err = caltest(tmp_path, capsys)
    assert (status, err) == (0, "")
    assert "Note: left out, as answers are no choices: gsm8k, lambada" in out
    assert "n = 20" in out
    with (tmp_path / "samples_arc.jsonl").open("a") as file:
        file.write(json.dumps(text) + "\n")
    assert "samples_arc.jsonl, line 21: got ['41'] as filtered_resps" in caltest(tmp_path, capsys)[2]
    (tmp_path / "samples_arc.jsonl").unlink()
    assert "got no task with choices (gsm8k, lambada)" in caltest(tmp_path, capsys)[2]


@pytest.mark.parametrize("name", ["p.csv", "p.csv.gz", "p.npy", "p.parquet", "folder", "-"])
def test_empty_files_of_each_kind_are_said_to_be_empty(name, tmp_path, capsys, monkeypatch):
    path = tmp_path / name
    if name == "folder":
        path.mkdir()
        (path / "samples_a.jsonl").write_text("")
    elif name == "-":
        path = name
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO())))
    else:
        path.write_bytes(gzip.compress(b"") if name.endswith("gz") else b"")
    status, _, err = caltest(path, capsys)
    assert status == 2
    assert "got an empty file, wanted a row or a line of JSON for each observation" in err


PLAIN = {"probs": [0.2, 0.8], "answer": 1}
BAD = {
    "sum": ({"probs": [0.2, 0.3], "answer": 1}, "line 2: got probs that sum to 0.5, wanted 1; if other answers"),
    "above 1": ({"probs": [1.2, -0.2], "answer": 1}, "line 2: got 1.2 in probs, wanted probabilities between 0 and 1"),
    "positive": ({"logprobs": [0.2, -3], "answer": 1}, "line 2: got 0.2 in logprobs, wanted logarithms"),
    "impossible": ({"logprobs": [-np.inf, -np.inf], "answer": 1}, "got -inf for all choices in logprobs"),
    "nan": ({"probs": [np.nan, 0.5], "answer": 1}, "got nan in probs, wanted a number for each choice"),
    "text": ({"probs": ["a", 0.5], "answer": 1}, "got 'a' in probs, wanted a number for each choice"),
    "true": ({"probs": [True, 0.5], "answer": 1}, "got True in probs, wanted a number for each choice"),
    "one choice": ({"probs": [1.0], "answer": 0}, "got [1.0] as probs, wanted a number for each of at least 2 choices"),
    "a number": ({"probs": 0.3, "answer": 0}, "got 0.3 as probs, wanted a number for each of at least 2 choices"),
    "large answer": (
        {"probs": [0.2, 0.8], "answer": 2},
        "got the answer 2, wanted one of the choices: 0 to 1; places count from 0",
    ),
    "letter": ({"probs": [0.2, 0.8], "answer": "C"}, "got the answer 'C', wanted one of the choices: 0 to 1"),
    "negative": ({"probs": [0.2, 0.8], "answer": -1}, "got the answer -1, wanted one of the choices"),
    "fraction": ({"probs": [0.2, 0.8], "answer": 0.5}, "got the answer 0.5, wanted one of the choices"),
    "name": ({"probs": {"A": 0.2, "B": 0.8}, "answer": "C"}, "got the answer 'C', wanted one of the choices A, B"),
    "boolean": ({"probs": [0.2, 0.3, 0.5], "answer": True}, "got the answer True, wanted one of the choices"),
    "more choices": ({"probs": [0.2, 0.8], "choices": ["a", "b", "c"], "answer": 1}, "got 2 numbers for 3 choices"),
    "number or text": ({"probs": [0.2, 0.8], "choices": ["1", "0"], "answer": "0"}, "choice 1 by its text and 0 by"),
    "abstention": (
        {"probs": None, "answer": 0},
        "leave questions out that the model does not answer, or make no answer",
    ),
    "no answer": ({"probs": [0.2, 0.8]}, "line 2: got probs, wanted probs or logprobs and answer, or a line that lm-"),
    "nothing": ({}, "line 2: got nothing, wanted probs or logprobs and answer"),
    "generated": ({"resps": [["Paris"]], "target": "Paris"}, "wanted a number for each of at least 2 choices"),
    "generated twice": ({"resps": [["Paris"], ["Rome"]], "target": "Paris"}, "wanted [log-likelihood, is_greedy]"),
    "mutual": (harness(0, filtered_resps=[["-1", "False"]] * 8), "got 8 numbers for 4 choices, wanted one for each"),
    "filters": ({**PLAIN, "filter": "other"}, "got answers of the filters , other"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_lines(name, tmp_path, capsys):
    line, message = BAD[name]
    status, out, err = run(tmp_path, capsys, [PLAIN, line, PLAIN])
    assert (status, out) == (2, "")
    assert message in err
    assert "fault of caltest" not in err


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (
            '{"probs": [0.2, 0.8], "answer": 1}\n{"probs": [0.2, 0',
            [],
            "line 2: got text that is no JSON (Expecting ',' delimiter, column 18)",
        ),
        ('{"probs": [0.2, 0.8], "answer": 1}\n[1, 2]\n', [], "line 2: got [1, 2], wanted an object"),
        ('{"probs": [0.2, 0.8], "answer": 1}\n', [], "got 1 observation, wanted at least 2 for a test"),
        ("", [], "a.jsonl: got an empty file, wanted a row or a line of JSON for each observation"),
        (" \n\n", [], "a.jsonl: got an empty file"),
        ('[{"probs": [0.2, 0.8], "answer": 1}]', [], "a.jsonl: got one list of JSON, wanted JSON lines"),
        ('{"probs": [0.2, 0.8], "answer": 1}\n' * 3, ["--groups", "doc.x"], "line 1: got no text or number as doc.x"),
        (
            '{"probs": [0.2, 0.8], "answer": 1, "t": {}}\n' * 3,
            ["--groups", "t"],
            "wanted one of the fields task, probs",
        ),
        ('{"probs": [0.2, 0.8], "answer": 1}\n', ["--groups", "a", "--test", "ece"], "got one with --test"),
        ('{"probs": [0.2, 0.8], "answer": 1}\n', ["--outcome-column", "answer"], "without OUTCOMES"),
    ],
)
def test_bad_files(text, options, message, tmp_path, capsys):
    path = tmp_path / "a.jsonl"
    path.write_text(text)
    status, _, err = caltest(path, capsys, *options)
    assert status == 2
    assert message in err


def test_groups_are_fields_of_answers(tmp_path, capsys):
    np.savetxt(tmp_path / "p.csv", P, delimiter=",")
    np.savetxt(tmp_path / "y.csv", Y, fmt="%d")
    assert main(["test", str(tmp_path / "p.csv"), str(tmp_path / "y.csv"), "--groups", "task"]) == 2
    err = capsys.readouterr().err
    assert "got a file of outcomes, wanted --outcome-column" in err


def test_missing_answers_say_what_to_do(tmp_path, capsys):
    err = run(tmp_path, capsys, [PLAIN, {"probs": [0.2, 0.8], "answer": None}, PLAIN])[2]
    assert "line 2" in err
    assert "--missing drop" in err


@pytest.mark.parametrize("length", [60, 61])
def test_long_values_are_cut_in_messages(length):
    """Sixty characters are shown, with the quotation marks."""
    text = repr("a" * (length - 2))
    assert _short("a" * (length - 2)) == (text if length == 60 else f"{text[:60]}...")


@pytest.mark.parametrize("response", [[-1.5, False], ["-1.5", "False"], [[[-1.5, True]]], [["-1.5", "x"]]])
def test_likelihoods_are_numbers_or_their_text_beside_whether_they_are_greedy(response):
    assert _likelihood("line 1", "resps", response) == -1.5


@pytest.mark.parametrize("response", [[True, False], [-1.5], [-1.5, 1, 2], ["x", "False"], -1.5, []])
def test_other_responses_are_no_likelihoods(response):
    with pytest.raises(NoChoices, match=r"^line 1: got .* in resps, wanted \[log-likelihood, is_greedy\] for each"):
        _likelihood("line 1", "resps", response)
