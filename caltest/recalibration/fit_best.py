"""The method with the smallest log loss in cross-validation."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from caltest._basics.calls import own_errstate
from caltest._basics.numerics import ArrayLike, FloatArray, IntArray, seed_of
from caltest._results.tables import Bar, Table, in_decimals
from caltest._results.values import Stored
from caltest._validation import at_least, instance_of, whole_number
from caltest.predictions import Sample
from caltest.recalibration.base import CalibrationMap, Calibrator
from caltest.recalibration.classes.one_vs_rest import OneVsRest
from caltest.recalibration.shared.observed import Observed, scale_of


@dataclass(frozen=True, eq=False)
class BestFit(Stored):
    """The method that was best in cross-validation, fitted to all data.

    Attributes
    ----------
    map, name
        Its map, None in results that ``from_dict`` read, and its name.
    scores, standard_errors
        Mean log loss of each method on observations that it was not fitted to, and its standard error, by name.
        Infinite if an outcome had probability 0.
    score_name
        What the scores are, as in ``RecalibrationReport``.
    accuracies
        Share of those observations whose most probable class occurred, by name, where there are classes: a method can
        have the best log loss and lose accuracy.
    n, n_folds
        Observations, and parts of the cross-validation, which ``rng=seed`` reproduces.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> best = ct.recalibration.fit_best(p, y, [ct.recalibration.TemperatureScaling()], rng=1)
    >>> best.map(p)
    <Categorical, n = 899, 10 classes>
    """

    map: CalibrationMap | None = field(repr=False)
    name: str
    scores: Mapping[str, float]
    standard_errors: Mapping[str, float]
    accuracies: Mapping[str, float]
    n: int
    n_folds: int
    seed: int
    score_name: str
    citations: tuple[str, ...] = ()

    not_stored = ("map",)
    picture = "forest"

    def row_entries(self) -> list[dict[str, Any]]:
        """The scores of each method, the best one first."""
        kinds = {self.score_name: self.scores, "standard error": self.standard_errors, "accuracy": self.accuracies}
        names = sorted(self.scores, key=lambda name: self.scores[name])
        return [{"name": name} | {kind: some[name] for kind, some in kinds.items() if some} for name in names]

    def table(self) -> Table:
        header, *_ = rows = self.row_entries()
        names, *columns = zip(*map(dict.values, rows), strict=True)
        return [["method", *list(header)[1:]], *map(list, zip(names, *map(in_decimals, columns), strict=True))]

    def remarks(self) -> list[str]:
        return [f"n = {self.n}, {self.n_folds} folds"]

    def bars(self) -> list[Bar]:
        """The log loss of each method, for ``plots.forest``."""
        rows = self.row_entries()
        return [Bar(one["name"], one[self.score_name], None, None, "", self.score_name, False) for one in rows]

    def sentence(self) -> str:
        return (
            f"Of {len(self.scores)} methods {self.name} had the smallest {self.score_name}, "
            f"{self.scores[self.name]:.4g}, in {self.n_folds}-fold cross-validation on n = {self.n} observations."
        )

    def summary(self) -> str:
        return self._page("Methods of recalibration", {"Best": self.name}, {"Reproduce": f"rng={self.seed}"})


@own_errstate
def fit_best(
    predictions: ArrayLike,
    targets: ArrayLike,
    calibrators: Sequence[Calibrator] | Mapping[str, Calibrator],
    *,
    n_folds: int = 5,
    classes: Sequence[Any] | None = None,
    rng: Any = None,
) -> BestFit:
    """The method with the smallest mean log loss ``-log p(y)`` in cross-validation, fitted to all data.

    Of ensembles it is the fair CRPS or energy score, of quantile forecasts the mean quantile loss.

    Parameters
    ----------
    predictions
        Predictions, or logits for methods with ``input="logits"``.
    calibrators
        Methods of one ``input`` scale, in a list or by name; ``Identity()`` stands for no recalibration.
    n_folds
        Parts, from 2 to n; labels are spread over them evenly.
    targets, classes, rng
        As in ``calibration_test``; random numbers divide the data.

    Raises
    ------
    ValueError
        For bad data, no methods, methods of different scales.
    TypeError
        For anything other than methods, or predictions that one of them does not know.

    Notes
    -----
    Assumes independent observations. The score of the best method is too small on average, since it is the smallest of
    several: use ``report`` with other data. Equal scores go to the first method. Cost: ``n_folds + 1`` fits of each.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> methods = ct.recalibration.Identity(), ct.recalibration.TemperatureScaling()
    >>> ct.recalibration.fit_best(p, y, methods, rng=1).name
    'TemperatureScaling'
    """
    methods = _named(calibrators)
    scale = scale_of(next(iter(methods.values())))
    observed = Observed.of(predictions, targets, scale, classes)
    at_least(len(observed), 2, "cross-validation")
    number = whole_number("n_folds", n_folds, 2, 10_000)
    if number > len(observed):
        raise ValueError(f"n_folds: got {number}, wanted at most {len(observed)}, the number of observations")
    seed = seed_of(rng)
    folds = folds_of(observed, number, np.random.default_rng(seed))
    samples = {name: observed.in_folds(method, folds) for name, method in methods.items()}
    _check_losses(samples)
    losses = {name: sample.losses for name, sample in samples.items()}
    scores = {name: float(values.mean()) for name, values in losses.items()}
    best = min(scores, key=lambda name: scores[name])
    laws = {name: (one.predictions.law.of_classes, one.targets) for name, one in samples.items()}
    return BestFit(
        map=observed.fit(methods[best]),
        name=best,
        scores=scores,
        standard_errors={name: _standard_error(values) for name, values in losses.items()},
        accuracies={name: float(law.hits(y).mean()) for name, (law, y) in laws.items() if law is not None},
        n=len(observed),
        n_folds=number,
        seed=seed,
        score_name=samples[best].predictions.loss_name,
        citations=tuple(sorted({key for method in methods.values() for key in method.citations})),
    )


def _named(calibrators: Sequence[Calibrator] | Mapping[str, Calibrator]) -> dict[str, Calibrator]:
    """Methods by name: that of the class, or their settings where several have one class."""
    if isinstance(calibrators, Calibrator):
        raise TypeError(f"calibrators: got one method, {calibrators!r}, wanted a list of several or a dictionary")
    instance_of(Iterable, "a list of several or a dictionary")("calibrators", calibrators)
    if isinstance(calibrators, Mapping):
        methods = dict(calibrators)
    else:
        given = list(calibrators)
        kinds = [_kind(method) for method in given]
        names = [kind if kinds.count(kind) == 1 else repr(method) for kind, method in zip(kinds, given, strict=True)]
        methods = dict(zip(names, given, strict=True))
    if not methods:
        raise ValueError("calibrators: got none, wanted at least one such as ct.recalibration.TemperatureScaling()")
    for method in methods.values():
        instance_of(Calibrator, "methods such as ct.recalibration.TemperatureScaling()")("calibrators", method)
    if len({scale_of(method) for method in methods.values()}) > 1:
        raise ValueError("calibrators: got some for probabilities and some for logits, wanted one kind of input")
    return methods


def _kind(method: Any) -> str:
    """The name of the class, and that of the method inside, as in ``OneVsRest(Platt)``."""
    inner = f"({type(method.calibrator).__name__})" if isinstance(method, OneVsRest) else ""
    return type(method).__name__ + inner


def folds_of(observed: Observed, n_folds: int, rng: np.random.Generator) -> IntArray:
    """Numbers of the folds (n,), equal targets spread over them evenly."""
    order = rng.permutation(len(observed))
    if observed.checked.ndim == 1:
        order = order[np.argsort(observed.checked[order], kind="stable")]
    folds = np.empty(order.size, dtype=np.intp)
    folds[order] = np.arange(order.size) % n_folds
    return folds


def _check_losses(samples: Mapping[str, Sample]) -> None:
    """Raise ``TypeError`` for predictions that have no score in common."""
    losses = {name: sample.predictions.loss_name for name, sample in samples.items()}
    if len(set(losses.values())) > 1:
        which = " and ".join(f"{name}, of which there is the {loss}" for name, loss in losses.items())
        raise TypeError(f"calibrators: got {which}, wanted methods whose predictions have one score")


def _standard_error(losses: FloatArray) -> float:
    return float(losses.std(ddof=1) / np.sqrt(losses.size)) if np.isfinite(losses).all() else float("inf")
