"""A calibration error in one call: notion, split, choice of the estimator by its risk, evaluation on data held out."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, count
from typing import Any

import numpy as np

from caltest._basics.calls import own_errstate
from caltest._basics.numerics import Array, ArrayLike, FloatArray, IntArray, check_finite, seed_of
from caltest._basics.threads import progress_bars, threaded
from caltest._results.report import counted
from caltest._validation import at_least, fraction, one_of, switch, whole_number
from caltest.hstatistics.variances.jackknife import jackknife_error
from caltest.predictions import Sample, classwise, top_label
from caltest.predictions.inputs.convert import as_sample
from caltest.risk.base import SMALLEST, BilinearForm, CalibrationData, ErrorFunction, Fits, points_of, risk_terms
from caltest.risk.error_estimate import CalibrationErrorEstimate, CandidateRisk, ErrorSelection
from caltest.risk.functions import (
    BinnedErrorFunction,
    DebiasedBinnedErrorFunction,
    DirichletErrorFunction,
    KroneckerRidgeErrorFunction,
    TwoStepRidgeErrorFunction,
)

GAMMAS = (1.0, 4.0)
"""Kernels of the ridge regressions tried by default: that of the paper's software, and one of half its width."""


@own_errstate
def estimate_calibration_error(
    predictions: ArrayLike,
    targets: ArrayLike,
    notion: str = "canonical",
    *,
    classes: Sequence[Any] | None = None,
    error_functions: Sequence[ErrorFunction] | None = None,
    over_classes: str = "sum",
    n_folds: int = 5,
    held_out: float = 0.2,
    rng: Any = None,
    progress: bool = False,
) -> CalibrationErrorEstimate:
    """Estimate a squared L2 calibration error with the estimator that has the least estimated risk.

    A random part of the data is held out. On the rest the risk of every error function h(p, p') with every setting is
    cross-validated, and the function of least risk is selected. The estimate is the mean of h(p, p) over the
    predictions held out and over the functions of all folds.

    Parameters
    ----------
    predictions
        (n, k) array-like of probabilities, or ``Categorical``; (n,) probabilities or ``Bernoulli`` for binary outcomes,
        with the notion ``"canonical"``: ``E (p - P(Y = 1 | p))**2``.
    targets
        (n,) labels 0..k-1, or outcomes 0/1.
    notion
        ``"canonical"``: ``E |p - P(Y | p)|**2``. ``"top_label"``: ``E (c - P(Y is the top label | c))**2`` for the
        confidence c. ``"classwise"``: ``E (p_k - P(Y = k | p_k))**2`` of all classes, each with its own choice.
    error_functions
        ``ErrorFunction`` to choose from. Default: binning, debiased binning, Dirichlet density, Kronecker and two-step
        ridge regression with two kernels, with the settings of Gruber and Bach 2024; for canonical errors of classes
        without the first two.
    over_classes
        ``"sum"`` or ``"mean"`` of class-wise squared errors: Gruber and Bach sum them, Kumar et al. 2019 average.
    n_folds
        Number K >= 2 of folds.
    held_out
        Share of the data held out.
    classes, rng, progress
        As in ``calibration_test``; random numbers split the data.

    Returns
    -------
    CalibrationErrorEstimate
        ``print`` it for a report; ``table()`` has the risks of all candidates.

    Raises
    ------
    ValueError
        For bad data or settings, or too few observations for three in each fold.
    TypeError
        For predictions or error functions of another kind.

    Notes
    -----
    The choice uses neither predictions nor targets held out. Where two candidates have the same risk, the first is
    taken. The squared error can be negative, as Kronecker ridge regression and debiased binning can be; ``error`` is
    then None. The standard error adds the variance of the mean of h(x, x) over the data held out, and the jackknife
    variance ``(K - 1) / K sum_f (e_f - e)**2`` of the estimates e_f of the functions of the folds, each of which leaves
    out one; it does not account for bias or for the choice. How far estimates are off, and how often the standard error
    says so, stands in ``docs/validity.md``, "Squared errors"; intervals that cover are those of
    ``risk.squared_error_interval``.

    Where the risk of the selected function is not two standard errors below that of h = 0, the function of calibrated
    predictions, a note says so: with too few data the strongest regularisation is best, and the estimate is close to 0
    whatever the error. To tell errors from 0, ``calibration_test`` is sharper. The canonical error is at least that of
    the top label: for three classes or more both are estimated, and a note says where the estimates contradict this.

    The risk tells bad estimators from good ones, not good ones from each other: see the excess and its standard error.
    Classes that do not occur, single classes, and predictions that are all equal are no errors: h is estimated as for
    other data. Time O(n**2 k) for densities, O(n r**2) for ridge regressions with r <= ``max_rank``; memory
    O(n (k + r)) for each thread.

    Source: Gruber and Bach 2024, section 3.2.2. Differs from their software in that bins, densities and
    eigenvalues are computed in double precision and no observation is dropped.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["naive Bayes"]
    >>> print(ct.estimate_calibration_error(p, y, "top_label", rng=1))
    Squared calibration error, top label
    ------------------------------------
    Predictions    Categorical, n = 899, 10 classes
    Split          719 to fit and choose in 5 folds, 180 to evaluate
    <BLANKLINE>
      top label                                          risk   (s.e.)   excess    (s.e.)  squared error
      * debiased binning, bins 35                      0.0284  0.00423        0         0        0.03578
        Dirichlet density, bandwidth 0.001             0.0296  0.00455  0.00116  0.000534        0.03257
        Kronecker ridge, gamma 1, regularisation       0.0296  0.00454  0.00117  0.000533        0.02989
          1e-05
        Kronecker ridge, gamma 4, regularisation       0.0296  0.00455  0.00118   0.00054        0.02985
          0.001
        two-step ridge, gamma 4, regularisation 0.01   0.0296  0.00458  0.00119  0.000566        0.03033
        two-step ridge, gamma 1, regularisation 0.001  0.0296  0.00458   0.0012  0.000567        0.03013
        binning, bins 5                                0.0297  0.00459  0.00131  0.000589        0.03024
        no error, h = 0                                0.0305  0.00489  0.00216  0.000828              0
    <BLANKLINE>
    Squared error  0.03578 (standard error 0.0117, without the bias of the
                   estimator and of its choice)
    Error          0.1892
    Interval       that of risk.squared_error_interval, which estimates squared
                   errors with less bias
    Reproduce      rng=1
    """
    sample = as_sample(predictions, targets, classes)
    one_of("notion", notion, ("canonical", "top_label", "classwise"))
    one_of("over_classes", over_classes, ("sum", "mean"))
    dimension = points_of(sample.predictions.take(slice(1))).shape[1]
    folds_wanted, share = whole_number("n_folds", n_folds, 2, 10_000), fraction("held_out", held_out)
    seed = seed_of(rng)
    tuning, evaluation = _split(len(sample), folds_wanted, share, np.random.default_rng(seed))
    folds = np.array_split(np.arange(tuning.size), folds_wanted)

    selections, values = [], np.zeros((folds_wanted, evaluation.size))
    notes: list[tuple[str, str]] = []
    of_functions: list[str] = []
    with progress_bars(switch("progress", progress)):
        for problem, reduced in problems_of(sample, notion):
            data = CalibrationData.of(reduced)
            functions = _functions(error_functions, data.dimension)
            validated = cross_validate(functions, data.take(tuning), folds)
            selection, held_out_values = choose(problem, functions, validated, data.points[evaluation])
            selections.append(selection)
            values += held_out_values
            notes += [(problem, note) for note in notes_on(selection, data)]
            of_functions += [note for fits, _ in validated for one in fits for note in one.notes]
    if notion == "classwise" and over_classes == "mean":
        values /= len(selections)
    squared_error, standard_error = float(values.mean()), _standard_error(values)
    check_finite(squared_error, standard_error)
    found = CalibrationErrorEstimate(
        notion=notion,
        over_classes=over_classes if notion == "classwise" else None,
        predictions=sample.predictions.describe(),
        n=len(sample),
        n_tuning=tuning.size,
        n_held_out=evaluation.size,
        n_folds=folds_wanted,
        squared_error=squared_error,
        standard_error=standard_error,
        selections=tuple(selections),
        seed=seed,
        notes=(*sample.predictions.notes, *grouped(notes), *dict.fromkeys(of_functions)),
    )
    if notion != "canonical" or dimension <= 2:
        return found
    settings: dict[str, Any] = {"error_functions": error_functions, "n_folds": folds_wanted, "held_out": share}
    settings |= {"classes": classes, "rng": seed, "progress": progress}
    top = estimate_calibration_error(predictions, targets, "top_label", **settings)
    if found.squared_error >= top.squared_error:
        return found
    numbers = f"{top.squared_error:.4g} (standard error {top.standard_error:.3g})"
    note = (
        f"this contradicts the squared error of the top label, which is estimated as {numbers} with the same settings "
        "and cannot be larger than the canonical one: an error of many dimensions takes more data; rely on the larger"
    )
    return replace(found, notes=(*found.notes, note))


def _split(n: int, n_folds: int, share: float, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Indices of the observations to choose with, at least three for each fold, and of those held out, at least one."""
    few = SMALLEST * n_folds
    fewest = next(m for m in count(few + 1) if m - max(1, round(share * m)) >= few)
    at_least(n, fewest, f"three in each of {n_folds} folds and {100 * share:g} % held out")
    order, n_held_out = rng.permutation(n), max(1, round(share * n))
    return order[n_held_out:], order[:n_held_out]


def _functions(given: Sequence[ErrorFunction] | None, dimension: int) -> tuple[ErrorFunction, ...]:
    if given is None:
        kinds = (KroneckerRidgeErrorFunction, TwoStepRidgeErrorFunction)
        smooth = (DirichletErrorFunction(), *(kind(gamma=gamma) for gamma in GAMMAS for kind in kinds))
        return (BinnedErrorFunction(), DebiasedBinnedErrorFunction(), *smooth) if dimension == 1 else smooth
    functions = tuple(given) if isinstance(given, Sequence) else (given,)
    for function in functions:
        if not isinstance(function, ErrorFunction):
            raise TypeError(
                f"error_functions: got {function!r}, wanted functions such as ct.risk.TwoStepRidgeErrorFunction()"
            )
    if not functions:
        raise ValueError("error_functions: got none, wanted at least one such as ct.risk.TwoStepRidgeErrorFunction()")
    return functions


def _standard_error(values: FloatArray) -> float:
    """From h(x, x) of the functions of K folds at m points, (K, m)."""
    k, m = values.shape
    means = values.mean(axis=1)
    of_functions = (k - 1) / k * np.sum((means - means.mean()) ** 2)
    of_points = values.mean(axis=0).var(ddof=1) / m if m > 1 else 0.0
    return float(np.sqrt(of_functions + of_points))


def problems_of(sample: Sample, notion: str) -> list[tuple[str, Sample]]:
    """Names and data of the problems that a notion consists of."""
    predictions = sample.predictions
    is_binary = predictions.to_array().ndim == 1
    if notion == "canonical":
        return [("binary outcome" if is_binary else "all classes", sample)]
    if is_binary:
        raise TypeError(
            f"notion: got {notion!r} for binary predictions, wanted 'canonical'; they need no reduction to one outcome"
        )
    if notion == "top_label":
        return [("top label", Sample(*top_label(predictions, sample.as_given)))]
    return [(law.notion, Sample(law, y)) for law, y in classwise(predictions, sample.as_given)]


CrossValidated = Sequence[tuple[tuple[Fits, ...], FloatArray]]
"""For each fold the functions fitted to all others, and the terms of their risks on it.

These are (1 + c, m): a row for h = 0 and one for each setting of each function, with a column for each observation.
"""


def cross_validate(functions: Sequence[ErrorFunction], data: CalibrationData, folds: Sequence[Array]) -> CrossValidated:
    """Fit to the data without each of the folds, whose indices are given, and estimate the risk on the fold."""
    grids = [range(len(function.grid(data.dimension))) for function in functions]

    def fold(index: Array) -> tuple[tuple[Fits, ...], FloatArray]:
        training, validation = data.take(np.setdiff1d(np.arange(len(data)), index)), data.take(index)
        fits = tuple(function.fits(training) for function in functions)
        families = [one.forms(validation.points, grid) for one, grid in zip(fits, grids, strict=True)]
        zero = BilinearForm(np.zeros((len(validation), 1)))
        return fits, np.array([risk_terms(form, validation.deviations) for form in chain([zero], *families)])

    return list(threaded(fold, folds, len(folds), "folds", products=True))


def risk_errors(terms: Sequence[FloatArray]) -> FloatArray:
    """Standard errors of risks from their terms (c, m) on each fold: from the jackknife, as folds share no rows."""
    errors = [[jackknife_error(candidate) for candidate in fold] for fold in terms]
    return np.asarray(np.sqrt(np.sum(np.square(errors), axis=0)) / len(errors))


NAMED = 3
"""Problems that a note names."""


def choose(
    problem: str, functions: Sequence[ErrorFunction], found: CrossValidated, points: FloatArray
) -> tuple[ErrorSelection, FloatArray]:
    """The choice, and h(x, x) of the selected function of each fold at the points held out, (K, m)."""
    fits, terms = zip(*found, strict=True)
    of_folds = np.array([fold.mean(axis=1) for fold in terms])
    risks = of_folds.mean(axis=0)
    check_finite(*risks)
    selected = int(np.argmin(risks[1:]))
    errors, excess_errors = risk_errors(terms), risk_errors([fold - fold[1 + selected] for fold in terms])
    grids = [function.grid(points.shape[1]) for function in functions]
    settings = [(f, s) for f, grid in enumerate(grids) for s in range(len(grid))]
    best: dict[int, int] = {}
    for number, (f, _) in enumerate(settings):
        if f not in best or risks[1 + number] < risks[1 + best[f]]:
            best[f] = number
    values = {
        number: np.array([next(of_fold[f].forms(points, [settings[number][1]])).diagonal() for of_fold in fits])
        for f, number in best.items()
    }

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
        named = functions[f].describe(), functions[f].parameter, float(grids[f][s])
        candidates.append(candidate(1 + number, *named, values.get(number)))
    zero = candidate(0, "no error, h = 0", "", 0.0, np.zeros((len(terms), 1)))
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
        others = f" and {counted(len(named) - NAMED, 'other')}" if len(named) > NAMED else ""
        lines.append(f"{', '.join(named[:NAMED])}{others}: {note}")
    return lines
