"""Choice among error functions by cross-validation of their risk, and what to know of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from caltest._basics.numerics import Array, FloatArray, check_finite
from caltest._basics.threads import threaded
from caltest.hstatistics.variances.jackknife import jackknife_error
from caltest.risk.base import BilinearForm, ErrorFunction, Fits, risk_terms
from caltest.risk.data import CalibrationData
from caltest.risk.error_estimate import CandidateRisk, ErrorSelection


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """Functions fitted to all folds but one, for each fold, and the terms of their risks on that fold.

    ``terms`` has an array (1 + c, m) for each fold: a row for h = 0 and one for each setting of each function, with a
    column for each observation.
    """

    functions: tuple[ErrorFunction, ...]
    dimension: int
    fits: tuple[tuple[Fits, ...], ...]
    terms: tuple[FloatArray, ...]

    @property
    def settings(self) -> list[tuple[int, int]]:
        """Numbers of the function and of its setting, for each candidate."""
        grids = [function.grid(self.dimension) for function in self.functions]
        return [(f, s) for f, grid in enumerate(grids) for s in range(len(grid))]

    def risks(self) -> FloatArray:
        """Risks of h = 0 and of all candidates on each fold, (K, 1 + c)."""
        return np.array([terms.mean(axis=1) for terms in self.terms])

    def standard_errors(self, less: int | None = None) -> FloatArray:
        """Standard errors of the risks, (1 + c,), or of their excess over the one of a row.

        From the jackknife in each fold, whose observations are different ones.
        """
        folds = [terms if less is None else terms - terms[less] for terms in self.terms]
        errors = [[jackknife_error(candidate) for candidate in fold] for fold in folds]
        return np.asarray(np.sqrt(np.sum(np.square(errors), axis=0)) / len(folds))

    def notes(self) -> list[str]:
        """What the reader of a result should know of the fitted functions."""
        return [note for fits in self.fits for one in fits for note in one.notes]

    def values(self, candidate: int, points: FloatArray) -> FloatArray:
        """``h(x, x)`` at points (m, d) for the functions of all folds, (K, m)."""
        f, s = self.settings[candidate]
        return np.array([next(fits[f].forms(points, [s])).diagonal() for fits in self.fits])


def cross_validate(
    functions: Sequence[ErrorFunction], data: CalibrationData, folds: Sequence[Array]
) -> CrossValidation:
    """Fit to the data without each of the folds, whose indices are given, and estimate the risk on the fold."""

    def fold(index: Array) -> tuple[tuple[Fits, ...], FloatArray]:
        training, validation = data.take(np.setdiff1d(np.arange(len(data)), index)), data.take(index)
        fits = tuple(function.fits(training) for function in functions)
        grids = [range(len(function.grid(data.dimension))) for function in functions]
        families = [one.forms(validation.points, grid) for one, grid in zip(fits, grids, strict=True)]
        zero = BilinearForm(np.zeros((len(validation), 1)))
        return fits, np.array([risk_terms(form, validation.deviations) for form in chain([zero], *families)])

    made = list(threaded(fold, folds, len(folds), "folds", products=True))
    return CrossValidation(tuple(functions), data.dimension, tuple(m[0] for m in made), tuple(m[1] for m in made))


NAMED = 3
"""Problems that a note names."""


def choose(problem: str, validation: CrossValidation, points: FloatArray) -> tuple[ErrorSelection, FloatArray]:
    """The choice, and h(x, x) of the selected function at the points held out, (K, m)."""
    of_folds, settings = validation.risks(), validation.settings
    risks = of_folds.mean(axis=0)
    check_finite(*risks)
    selected = int(np.argmin(risks[1:]))
    errors, excess_errors = validation.standard_errors(), validation.standard_errors(1 + selected)
    best: dict[int, int] = {}
    for number, (f, _) in enumerate(settings):
        if f not in best or risks[1 + number] < risks[1 + best[f]]:
            best[f] = number
    values = {number: validation.values(number, points) for number in best.values()}

    def candidate(row: int, name: str, parameter: str, value: float, held_out: FloatArray | None) -> CandidateRisk:
        excess = float(risks[row] - risks[1 + selected])
        numbers = (float(risks[row]), float(errors[row]), excess, float(excess_errors[row]))
        squared_error = None if held_out is None else float(held_out.mean())
        estimates = None if held_out is None else tuple(held_out.mean(axis=1).tolist())
        return CandidateRisk(
            name, parameter, value, *numbers, squared_error, tuple(of_folds[:, row].tolist()), estimates
        )

    candidates = []
    for number, (f, s) in enumerate(settings):
        function = validation.functions[f]
        value = float(function.grid(validation.dimension)[s])
        candidates.append(candidate(1 + number, function.describe(), function.parameter, value, values.get(number)))
    zero = candidate(0, "no error, h = 0", "", 0.0, np.zeros((len(validation.terms), 1)))
    squared_error = float(values[selected].mean())
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
