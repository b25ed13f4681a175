"""Choice among calibration estimation functions by cross-validation of their risk."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from caltest._threads import threaded
from caltest._types import Array, FloatArray
from caltest.hstatistics.jackknife import jackknife_error
from caltest.risk.base import ErrorFunction, Fits
from caltest.risk.data import CalibrationData
from caltest.risk.form import BilinearForm
from caltest.risk.pair_risk import risk_terms


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
        """Mean over the folds of the risks of h = 0 and of all candidates, (1 + c,)."""
        return np.asarray(np.mean([terms.mean(axis=1) for terms in self.terms], axis=0))

    def standard_errors(self, less: int | None = None) -> FloatArray:
        """Standard errors of the risks, (1 + c,), or of their excess over the one of a row.

        From the jackknife in each fold, whose observations are different ones.
        """
        folds = [terms if less is None else terms - terms[less] for terms in self.terms]
        errors = [[jackknife_error(candidate) for candidate in fold] for fold in folds]
        return np.asarray(np.sqrt(np.sum(np.square(errors), axis=0)) / len(folds))

    def notes(self) -> list[str]:
        """What the reader of a result should know of the fitted functions."""
        return [note for fits in self.fits for one in fits for note in one.notes()]

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
