"""Answers of language models: JSON lines with probabilities, or log-likelihoods, of choices and the right answer."""

import argparse
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import exp, inf
from pathlib import Path
from typing import Any

import numpy as np

import caltest as ct
from caltest._basics.files import holds_objects, name_of, read_objects
from caltest._basics.numerics import Array, FloatArray
from caltest._basics.rows import is_number
from caltest._results.report import first_of
from caltest._validation import RENORMALISED_TOLERANCE, SUM_TOLERANCE
from caltest._validation.groups import Groups
from caltest.cli.named import prepared
from caltest.predictions import Sample
from caltest.predictions.inputs.convert import Missing, as_sample

PROBABILITIES = ("probs", "probabilities")
LOGARITHMS = ("logprobs", "loglikelihoods", "logits")
RESPONSES = ("filtered_resps", "resps")
"""Of lm-evaluation-harness: a log-likelihood, and whether the choice is the most probable text, for each choice."""
ANSWERS = ("answer", "target", "label")

SOFTMAX = (
    "probabilities are those of the choices among each other: the softmax of their log-likelihoods, whatever the "
    "length of the choices"
)
SHOWN = 20
"""Groups whose ECE is said."""

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class NoChoices(ValueError):
    """A line without a number for each of several choices, as tasks whose answers are texts have."""


@dataclass(frozen=True)
class Question:
    """Which line, and what it says: probabilities of choices, their names, if they have some, and the right one."""

    where: str
    probabilities: list[float]
    names: tuple[str, ...] | None
    answer: int | None
    is_softmax: bool
    filter: str
    fields: tuple[Any, ...]


def is_of_answers(options: argparse.Namespace) -> bool:
    """Whether these options name one file, or a folder of files, of JSON lines with predictions and answers."""
    if options.outcomes is not None or options.outcome_column is not None or options.family:
        return False
    found = options.predictions.is_dir() or holds_objects(options.predictions)
    option = next((one for one in ("columns", "classes") if found and getattr(options, one)), None)
    if option is not None:
        raise ValueError(f"--{option}: got it for answers, whose lines name the choices, wanted it without them")
    return found


def read_samples(
    path: Path, missing: Missing, fields: Sequence[str] = (), features: Sequence[str] = ()
) -> tuple[Sample, int, dict[str, Array]]:
    """Predictions and answers in a file of JSON lines, how many there are, and fields of each line by their names.

    Features are fields that some lines may lack.

    A line has ``probs`` or ``logprobs``, a list or an object with names of choices, and ``answer``, a place from 0, a
    name or a letter; or it is one that lm-evaluation-harness writes with ``--log_samples``. In a folder all files
    ``samples_TASK_DATE.jsonl`` are read but those of other tasks than such with choices, and the task is a field of
    each line. Errors name the line.
    """
    questions: list[Question] = []
    others: list[str] = []
    for task, file in _files(path).items():
        try:
            questions += read_objects(file, partial(_question, fields=fields, features=features, task=task))
        except NoChoices as error:
            if not path.is_dir() or not str(error).startswith(f"{name_of(file)}, line 1:"):
                raise
            others.append(task)
    if not questions:
        raise ValueError(
            f"{path}: got no task with choices ({', '.join(others)}), wanted one of the type multiple_choice"
        )
    filters = sorted({one.filter for one in questions})
    if len(filters) > 1:
        raise ValueError(
            f"{name_of(path)}: got answers of the filters {', '.join(filters)}, wanted one of them; others are "
            "the same questions again"
        )
    lacking = [one.where for one in questions if one.answer is None]
    if lacking and missing == "refuse":
        raise ValueError(
            f"{lacking[0]}: got no answer ({len(lacking)} in all), wanted one, or pass --missing drop if those that "
            "are missing are like the others with the same predictions"
        )
    probabilities, names = _table(questions)
    places = [None if one.answer is None else _columns(one, names)[one.answer] for one in questions]
    answers = [None if place is None else names[place] if names is not None else place for place in places]
    sample = as_sample(probabilities, np.array(answers, dtype=object), names, missing=missing, copy=True)
    rows = slice(None) if sample.rows is None else sample.rows
    columns = zip((*fields, *features), zip(*(one.fields for one in questions), strict=True), strict=True)
    found = {name: _column(path, name, values)[rows] for name, values in columns}
    left_out = (f"left out, as answers are no choices: {', '.join(others)}",) if others else ()
    return replace(sample, matched=(*sample.matched, *_remarks(questions), *left_out)), len(questions), found


def _column(path: Path, name: str, values: Sequence[Any]) -> Array:
    """Values (n,) of a field: numbers if all are, and objects if some are missing."""
    lacking = [value is None for value in values]
    if all(lacking):
        raise ValueError(f"{name_of(path)}: got no text or number as {name} in any line, wanted a field of some")
    return np.array(values, dtype=object if any(lacking) else None)


def _files(path: Path) -> dict[str, Path]:
    """Files by their tasks, which lm-evaluation-harness writes into their names: ``samples_TASK_DATE.jsonl``."""
    if not path.is_dir():
        return {_task(path): path}
    files: dict[str, Path] = {}
    for file in sorted(path.glob("samples_*.jsonl")):
        if _task(file) in files:
            raise ValueError(f"{path}: got {files[_task(file)].name} and {file.name}, wanted one file for each task")
        files[_task(file)] = file
    if not files:
        raise ValueError(f"{path}: got a folder without files samples_TASK_DATE.jsonl, wanted some, or a file")
    return files


def _task(path: Path) -> str:
    return re.sub(r"^samples_|(_\d{4}-\d\d-\d\dT[^_]*)?\.jsonl.*$", "", path.name)


def ece_notes(sample: Sample, seed: int | None, groups: Groups | None) -> tuple[str, ...]:
    """The ECE of the top label beside what calibrated predictions have, of all answers and in groups of them."""
    top = prepared("ece-top-label", sample)

    def of(part: Sample) -> tuple[str, str, str]:
        floor = ct.noise_floor(part.predictions, ct.ECE(), n_resamples=199, rng=seed)
        some = ct.ECE()(part.predictions, part.targets), floor.mean, floor.quantile
        return tuple(f"{one:.3g}" for one in some)  # type: ignore[return-value]

    found, mean, most = of(top)
    said = (
        f"the ECE of the top label is {found}; {len(sample)} calibrated and "
        f"independent answers have {mean} on average, and above {most} in one of 20 data sets"
    )
    if groups is None:
        return (said,)
    large = [(name, rows) for name, rows in zip(groups.names, groups.rows, strict=True) if rows.size > 1]
    each = [f"{name} {one[0]} ({one[1]}, {one[2]})" for name, rows in large[:SHOWN] for one in [of(top.part(rows))]]
    listed = first_of([*each, *(name for name, _ in large[SHOWN:])], SHOWN, ", ")
    brackets = "in brackets what as many calibrated answers have on average, and exceed in one of 20 data sets"
    return said, f"the ECE of groups ({brackets}): {listed}"


def _remarks(questions: Sequence[Question]) -> tuple[str, ...]:
    numbers = [len(one.probabilities) for one in questions]
    least, most = min(numbers), max(numbers)
    filled = f"questions have {least} to {most} choices; those that a question does not have get probability 0"
    softmax = (SOFTMAX,) if any(one.is_softmax for one in questions) else ()
    return (*softmax, filled) if least < most else softmax


def _table(questions: Sequence[Question]) -> tuple[FloatArray, tuple[str, ...] | None]:
    """Probabilities (n, k), 0 for choices that a question lacks, and names if all choices are among those of one."""
    longest = max(questions, key=lambda one: len(one.probabilities))
    names, k = longest.names, len(longest.probabilities)
    if names is not None and not all(one.names is not None and set(one.names) <= set(names) for one in questions):
        names = None
    table = np.zeros((len(questions), k))
    for i, one in enumerate(questions):
        table[i, _columns(one, names)] = one.probabilities
    return table, names


def _columns(question: Question, names: tuple[str, ...] | None) -> list[int]:
    if names is None or question.names is None:
        return list(range(len(question.probabilities)))
    return [names.index(name) for name in question.names]


def _question(where: str, row: dict[str, Any], fields: Sequence[str], features: Sequence[str], task: str) -> Question:
    key = next((one for one in (*PROBABILITIES, *LOGARITHMS, *RESPONSES) if one in row), None)
    answer = next((one for one in ANSWERS if one in row), None)
    if key is None or answer is None:
        raise ValueError(
            f"{where}: got {', '.join(row) or 'nothing'}, wanted {PROBABILITIES[0]} or {LOGARITHMS[0]} and "
            f"{ANSWERS[0]}, or a line that lm-evaluation-harness writes with --log_samples; a column of probabilities "
            "for each choice takes --outcome-column NAME"
        )
    values, names = _values(where, key, row[key])
    texts = _texts(where, row, len(values)) if names is None else None
    is_softmax = key not in PROBABILITIES
    numbers = _softmax(where, key, values) if is_softmax else _checked(where, key, values)
    right = _answer(where, row[answer], len(values), names, texts)
    named = {"task": task} | row
    found = (*(_field(where, named, name) for name in fields), *(_value(named, name) for name in features))
    return Question(where, numbers, names or texts, right, is_softmax, str(row.get("filter", "")), found)


def _values(where: str, key: str, given: Any) -> tuple[list[float], tuple[str, ...] | None]:
    """Numbers of choices, and their names if an object has them."""
    names = tuple(given) if isinstance(given, Mapping) else None
    values = list(given.values()) if isinstance(given, Mapping) else given
    if not isinstance(values, list) or len(values) < 2:
        error = NoChoices if key in RESPONSES else ValueError
        advice = "; leave questions out that the model does not answer, or make no answer a choice" * (given is None)
        raise error(f"{where}: got {_short(given)} as {key}, wanted a number for each of at least 2 choices{advice}")
    if key in RESPONSES:
        values = [_likelihood(where, key, one) for one in values]
    for value in values:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value or value == inf:
            raise ValueError(f"{where}: got {_short(value)} in {key}, wanted a number for each choice")
    return [float(value) for value in values], names


def _likelihood(where: str, key: str, response: Any) -> float:
    """The log-likelihood in a response, [log-likelihood, is greedy], which can be in a list and written as text."""
    while isinstance(response, list) and response and isinstance(response[0], list):
        response = response[0]
    first = response[0] if isinstance(response, list) and len(response) == 2 else None
    if isinstance(first, str) and is_number(first):
        return float(first)
    if isinstance(first, (int, float)) and not isinstance(first, bool):
        return float(first)
    raise NoChoices(
        f"{where}: got {_short(response)} in {key}, wanted [log-likelihood, is_greedy] for each choice, as tasks of "
        "the type multiple_choice have"
    )


def _softmax(where: str, key: str, values: list[float]) -> list[float]:
    largest = max(values)
    if largest == -inf:
        raise ValueError(f"{where}: got -inf for all choices in {key}, wanted one that is possible")
    if largest > SUM_TOLERANCE and key != "logits":
        raise ValueError(
            f"{where}: got {largest:.6g} in {key}, wanted logarithms of probabilities, which are at most 0; other "
            "numbers whose softmax is meant are called logits"
        )
    powers = [exp(value - largest) for value in values]
    return [power / sum(powers) for power in powers]


def _checked(where: str, key: str, values: list[float]) -> list[float]:
    wrong = next((value for value in values if not 0.0 <= value <= 1.0 + SUM_TOLERANCE), None)
    if wrong is not None:
        raise ValueError(f"{where}: got {wrong:.6g} in {key}, wanted probabilities between 0 and 1")
    if abs(sum(values) - 1.0) > RENORMALISED_TOLERANCE:
        raise ValueError(
            f"{where}: got {key} that sum to {sum(values):.6g}, wanted 1; if other answers have the rest, give it to a "
            "choice of its own, or pass logprobs, whose softmax over the choices is taken"
        )
    return values


def _texts(where: str, row: dict[str, Any], k: int) -> tuple[str, ...] | None:
    """Texts of the choices, all different, from wherever a line has them."""
    for choices in _lists_of_choices(row):
        if not isinstance(choices, list) or not all(isinstance(one, (str, int, float)) for one in choices):
            continue
        if len(choices) != k:
            raise ValueError(f"{where}: got {k} numbers for {len(choices)} choices, wanted one for each")
        texts = tuple(str(one).strip() for one in choices)
        return texts if len(set(texts)) == k else None
    return None


def _lists_of_choices(row: dict[str, Any]) -> list[Any]:
    doc, arguments = row.get("doc"), row.get("arguments")
    choices = doc.get("choices") if isinstance(doc, dict) else None
    if isinstance(choices, dict):
        choices = choices.get("text")
    if isinstance(arguments, dict):
        arguments = [list(one.values()) for one in arguments.values() if isinstance(one, dict)]
    pairs = isinstance(arguments, list) and all(isinstance(one, list) and len(one) == 2 for one in arguments)
    return [row.get("choices"), [one[1] for one in arguments] if pairs and arguments else None, choices]


def _answer(where: str, given: Any, k: int, names: tuple[str, ...] | None, texts: tuple[str, ...] | None) -> int | None:
    """The place of the right choice, None if it is missing."""
    if given is None or given != given:
        return None
    text = str(given).strip()
    known = names or texts or ()
    by_name = known.index(text) if text in known else None
    if names is not None:
        if by_name is None:
            raise ValueError(f"{where}: got the answer {_short(given)}, wanted one of the choices {', '.join(names)}")
        return by_name
    by_place = int(float(text)) if is_number(text) and float(text) in range(k) else None
    if isinstance(given, bool):
        by_place = int(given) if k == 2 else None
    elif isinstance(given, (int, float)):
        by_name = None
    if None not in (by_name, by_place) and by_name != by_place:
        raise ValueError(
            f"{where}: got the answer {given!r}, which is choice {by_name} by its text and {by_place} by its number; "
            "write places without quotes, as numbers"
        )
    by_letter = LETTERS.index(text) if text in LETTERS[:k] and len(text) == 1 else None
    found = next((one for one in (by_name, by_place, by_letter) if one is not None), None)
    if found is None:
        choices = f"{', '.join(_short(one) for one in known)}, " if known else ""
        from_one = "; places count from 0" if text == str(k) else ""
        raise ValueError(
            f"{where}: got the answer {_short(given)}, wanted one of the choices: {choices}0 to {k - 1}{from_one}"
        )
    return found


def _field(where: str, row: dict[str, Any], name: str) -> Any:
    """What is in a field, which can be in others: ``doc.subject``."""
    value = _value(row, name)
    if value is None:
        raise ValueError(f"{where}: got no text or number as {name}, wanted one of the fields {', '.join(row)}")
    return value


def _value(row: dict[str, Any], name: str) -> Any:
    """The text or number in a field, None if there is none."""
    value: Any = row
    for part in [name] if name in row else name.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return None if isinstance(value, (dict, list)) else value


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."
