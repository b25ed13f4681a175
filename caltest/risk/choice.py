"""The estimation function of least risk, and what a reader should know of it."""

import numpy as np

from caltest._numerics import check_finite
from caltest._types import FloatArray
from caltest.risk.data import CalibrationData
from caltest.risk.error_estimate import CandidateRisk, ErrorSelection
from caltest.risk.selection import CrossValidation

NAMED = 3
"""Problems that a note names."""


def choose(problem: str, validation: CrossValidation, points: FloatArray) -> tuple[ErrorSelection, FloatArray]:
    """The choice, and h(x, x) of the selected function at the points held out, (K, m)."""
    risks, settings = validation.risks(), validation.settings
    check_finite(*risks)
    selected = int(np.argmin(risks[1:]))
    errors, excess_errors = validation.standard_errors(), validation.standard_errors(1 + selected)
    best: dict[int, int] = {}
    for number, (f, _) in enumerate(settings):
        if f not in best or risks[1 + number] < risks[1 + best[f]]:
            best[f] = number
    values = {number: validation.values(number, points) for number in best.values()}

    def candidate(row: int, name: str, parameter: str, value: float, squared_error: float | None) -> CandidateRisk:
        excess = float(risks[row] - risks[1 + selected])
        numbers = (float(risks[row]), float(errors[row]), excess, float(excess_errors[row]))
        return CandidateRisk(name, parameter, value, *numbers, squared_error)

    candidates = []
    for number, (f, s) in enumerate(settings):
        function = validation.functions[f]
        squared_error = float(values[number].mean()) if number in values else None
        value = float(function.grid(validation.dimension)[s])
        candidates.append(candidate(1 + number, function.describe(), function.parameter, value, squared_error))
    squared_error = float(values[selected].mean())
    zero = candidate(0, "no error, h = 0", "", 0.0, 0.0)
    return ErrorSelection(problem, tuple(candidates), candidates[selected], zero, squared_error), values[selected]


def notes_on(selection: ErrorSelection, data: CalibrationData) -> list[str]:
    """Classes that do not occur, and estimates that mean little."""
    notes = []
    present = np.unique(data.outcomes).size
    if present == 1:
        notes.append("all outcomes are the same")
    elif present < data.dimension:
        notes.append(f"{data.dimension - present} of {data.dimension} classes never occur")
    if selection.zero.excess <= 2.0 * selection.zero.excess_error:
        notes.append(
            "the risk, not two standard errors below that of h = 0, does not show that the estimate is better than 0; "
            "its standard error says little, and calibration_test is sharper"
        )
    if selection.squared_error < 0.0:
        notes.append("the squared error is negative, not to be told from 0")
    return notes


def grouped(notes: list[tuple[str, str]]) -> list[str]:
    """Pairs of a problem and a note as one line for each note, which names its first problems."""
    problems: dict[str, list[str]] = {}
    for problem, note in notes:
        problems.setdefault(note, []).append(problem)
    lines = []
    for note, named in problems.items():
        others = f" and {len(named) - NAMED} others" if len(named) > NAMED else ""
        lines.append(f"{', '.join(named[:NAMED])}{others}: {note}")
    return lines
