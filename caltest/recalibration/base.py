"""What recalibration maps share: settings that are fitted to data, and maps of predictions to predictions."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np

from caltest._basics.arrays import to_array
from caltest._basics.calls import OwnErrstate
from caltest._basics.numerics import ArrayLike, FloatArray, IntArray
from caltest._validation import Settings, choice, class_order, real_array
from caltest._validation.labels import classes_of
from caltest.predictions import Predictions
from caltest.predictions.inputs.convert import as_predictions, columns_given, in_order_of_targets
from caltest.recalibration.shared import storage
from caltest.recalibration.shared.inputs import (
    SCALES,
    Scores,
    class_numbers,
    labelled_like,
    log_probabilities,
    read_scores,
)
from caltest.recalibration.shared.seen import digest, moment_rows, seen_note, share_seen

M = TypeVar("M", bound="ProbabilityMap")

SHOWN = 4
"""Entries of arrays and tuples up to which maps show them."""


@dataclass(frozen=True)
class Calibrator(Settings, ABC):
    """Settings of a recalibration method; ``fit`` estimates the map that makes predictions agree with targets."""

    citations: ClassVar[tuple[str, ...]] = ()
    """Sources, keys of ``caltest/_results/citations.bib``."""

    @abstractmethod
    def fit(
        self, predictions: ArrayLike, targets: ArrayLike, *, classes: Sequence[Any] | None = None
    ) -> "CalibrationMap":
        """The map that is estimated from predictions (n observations) and their targets, which the model has not seen.

        Parameters
        ----------
        predictions
            ``Predictions`` or what becomes some.
        targets, classes
            As in ``calibration_test``.

        Raises
        ------
        ValueError
            For bad data, and for logits in the place of probabilities and the reverse.
        TypeError
            For predictions of a kind that the method does not know; of several columns for methods of one number,
            for which there is ``OneVsRest(method)``.
        """


@dataclass(frozen=True, eq=False, repr=False)
class CalibrationMap(OwnErrstate, ABC):
    """A fitted map of predictions to predictions of the same kind: arrays to arrays, tables to tables (pandas, polars).

    By the numbers ``fitted_rows`` it recognises predictions of its fit; there are none if these were rounded.
    ``ValueError`` for settings that are not finite numbers in their range, or do not fit together.
    """

    fitted_rows: FloatArray = field(default_factory=lambda: np.empty(0), kw_only=True)

    ranges: ClassVar[dict[str, tuple[float, float]]] = {}
    """Between which numbers those of settings are."""

    _known: ClassVar[dict[str, type["CalibrationMap"]]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        CalibrationMap._known[cls.__name__] = cls

    def __post_init__(self) -> None:
        for item in fields(self):
            object.__setattr__(self, item.name, storage.as_kind(item.name, getattr(self, item.name), item.type))
        storage.require_increasing("fitted_rows", self.fitted_rows, 0.0, 1.0)
        self._check()
        for name, (low, high) in self.ranges.items():
            storage.require_range(name, getattr(self, name), low, high)

    def _check(self) -> None:
        """Raise ``ValueError`` unless settings, which have their types, fit together."""

    @abstractmethod
    def __call__(self, predictions: ArrayLike) -> Any:
        """Recalibrated predictions, of the kind that is given."""

    @abstractmethod
    def share_seen(self, predictions: ArrayLike) -> float:
        """Share of the predictions that are among those of the fit, whatever their order.

        0 where equal predictions can be others: less than about five, or those of a fit to rounded ones.
        """

    def __repr__(self) -> str:
        shown = [item for item in fields(self) if item.default is MISSING and item.default_factory is MISSING]
        settings = [f"{item.name}={_short(getattr(self, item.name))}" for item in shown]
        return f"{type(self).__name__}({', '.join(settings)})"

    def to_dict(self) -> dict[str, Any]:
        """Name of the map, settings and arrays, as lists; maps inside maps are dictionaries too.

        Without names, and numbers that recognise predictions, if there are none.
        """
        entries = {item.name: storage.as_entries(getattr(self, item.name)) for item in fields(self)}
        left_out = [name for name in ("classes", "column_names", "fitted_rows") if not entries.get(name)]
        return {"map": type(self).__name__, **{name: entries[name] for name in entries if name not in left_out}}

    @staticmethod
    def from_dict(entries: dict[str, Any]) -> "CalibrationMap":
        """The map that ``to_dict`` describes; ``ValueError`` if it describes none."""
        storage.require(isinstance(entries, dict), "entries", entries, "a dictionary such as to_dict() gives")
        name = str(entries.get("map"))
        if name not in CalibrationMap._known or CalibrationMap._known[name].__abstractmethods__:
            known = sorted(name for name, kind in CalibrationMap._known.items() if not kind.__abstractmethods__)
            raise ValueError(f"entries: got the map {name[:200]!r}, wanted one of {', '.join(known)}")
        kind = CalibrationMap._known[name]
        items = {item.name: item for item in fields(kind)}
        optional = {name for name, item in items.items() if item.default is None or item.default_factory is not MISSING}
        missing, unknown = items.keys() - entries.keys() - optional, entries.keys() - items.keys() - {"map"}
        for names, what in ((missing, "without"), (unknown, "with")):
            if names:
                shown = ", ".join(sorted(map(str, names)))[:200]
                raise ValueError(f"entries: got a {name} {what} {shown}, wanted what to_dict() gives")
        return kind(
            **{
                key: storage.from_entries(value, CalibrationMap.from_dict)
                for key, value in entries.items()
                if key != "map"
            }
        )

    def save(self, path: str | Path) -> None:
        """Write the map to a file, in the format .npz of numpy, without pickled objects."""
        storage.write_npz(path, self.to_dict())

    @staticmethod
    def load(path: str | Path) -> "CalibrationMap":
        """The map that ``save`` wrote to a file. Nothing in the file is executed.

        ``ValueError`` for a file that is damaged, or holds settings that no map has.
        """
        entries = storage.read_npz(path)
        try:
            return CalibrationMap.from_dict(storage.nested(entries))
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None


def _short(value: Any) -> str:
    """Numbers to four digits, long arrays by their shape, maps by their number."""
    if isinstance(value, np.ndarray):
        return np.array2string(value, precision=4, separator=", ") if value.size <= SHOWN else f"<{value.shape} array>"
    if isinstance(value, tuple) and len(value) > SHOWN:
        return f"<{len(value)} of {type(value[0]).__name__}>"
    return f"{value:.4g}" if isinstance(value, float) else repr(value)


@dataclass(frozen=True, eq=False, repr=False)
class FamilyMap(CalibrationMap):
    """A map of distributions of one family."""

    family: str

    def share_seen(self, predictions: ArrayLike) -> float:
        return share_seen(self.fitted_rows, moment_rows(as_predictions(predictions)))

    def __call__(self, predictions: ArrayLike) -> Any:
        """Recalibrated predictions; ``ValueError`` for another family than that of the fit."""
        given = as_predictions(predictions)
        if given.family != self.family:
            raise ValueError(f"predictions: got {given.family} predictions, wanted {self.family} ones as in the fit")
        answer = self._apply(given)._labelled(given.index)
        answer.notes = (*answer.notes, *seen_note(self.share_seen(given)))
        return answer

    @abstractmethod
    def _apply(self, predictions: Predictions) -> Predictions:
        """Recalibrated predictions of the family."""


@dataclass(frozen=True, kw_only=True)
class ProbabilityCalibrator(Calibrator):
    """A method for probabilities of classes, or the logits that they come from.

    Parameters
    ----------
    input
        ``"probabilities"``, of which ``Categorical`` and ``Bernoulli`` predictions consist, or ``"logits"``: arrays of
        real numbers (n, k), the softmax of which are probabilities, or log-odds (n,).
    """

    input: str = "probabilities"

    binary: ClassVar[bool] = False
    """Whether the method works on numbers (n,) of class 1 only; else on (n, k), with binary predictions as k = 2."""
    _checks = {"input": choice(SCALES)}

    def fit(
        self, predictions: ArrayLike, targets: ArrayLike, *, classes: Sequence[Any] | None = None
    ) -> "ProbabilityMap":
        return self._fitted(predictions, targets, classes, self._fit)

    def _fitted(
        self,
        predictions: ArrayLike,
        targets: ArrayLike,
        classes: Sequence[Any] | None,
        fit: Callable[[FloatArray, IntArray], M],
    ) -> M:
        """The map that a function makes of checked numbers and labels."""
        predictions, classes = in_order_of_targets(predictions, targets, classes)
        scores = read_scores(predictions, self.input, classes, fitting=True)
        self._check(scores)
        labels = class_numbers(scores, targets, classes)
        try:
            with np.errstate(all="ignore"):
                fitted = fit(scores.values if self.binary else scores.matrix(), labels)
        except ValueError as error:
            if str(error).startswith("features"):
                raise
            raise ValueError(
                f"predictions: got numbers from {scores.values.min():.3g} to {scores.values.max():.3g}, for which "
                f"{type(self).__name__} finds no map ({error}), wanted numbers that double precision tells apart; "
                "rescale them"
            ) from error
        columns = columns_given(predictions)
        return replace(fitted, classes=scores.classes, column_names=columns or None, fitted_rows=digest(scores.rows))

    def _check(self, scores: Scores) -> None:
        if self.binary and scores.n_columns > 1:
            one = "the second one, (n,)" if scores.n_columns == 2 else "numbers (n,) of one"
            raise TypeError(
                f"predictions: got {scores.n_columns} columns for {type(self).__name__}, wanted {one}, "
                f"or OneVsRest({type(self).__name__}())"
            )

    @abstractmethod
    def _fit(self, scores: FloatArray, labels: IntArray) -> "ProbabilityMap":
        """The map estimated from checked numbers on the scale of ``input`` and labels (n,).

        The numbers are (n,) if the method is binary, else (n, k).
        """


@dataclass(frozen=True, eq=False, repr=False)
class ProbabilityMap(CalibrationMap):
    """A map of probabilities, or logits, to probabilities.

    Attributes
    ----------
    input
        ``"probabilities"`` or ``"logits"``.
    n_classes
        Number k of classes that it was fitted for.
    classes
        Names of the classes in the order of the columns, if the fit had some.
    column_names
        Names of the columns of the fit. Data with columns of these names, or of those of the classes, are matched by
        them; with others by their position.
    """

    input: str
    n_classes: int
    classes: tuple[Any, ...] | None = field(default=None, kw_only=True)
    column_names: tuple[str, ...] | None = field(default=None, kw_only=True)

    binary: ClassVar[bool] = False
    """As that of the method."""

    def _check(self) -> None:
        storage.require(self.input in SCALES, "input", self.input, "'probabilities' or 'logits'")
        least = "2" if self.binary else "at least 2"
        storage.require(
            self.n_classes >= 2 and not (self.binary and self.n_classes > 2), "n_classes", self.n_classes, least
        )
        for name in ("classes", "column_names"):
            names = getattr(self, name)
            if names is None:
                continue
            names = names.tolist() if isinstance(names, np.ndarray) else names
            listed = isinstance(names, (list, tuple)) and all(isinstance(one, Hashable) and one == one for one in names)
            wanted = f"{self.n_classes} names that are all different"
            storage.require(listed and len(names) == len(set(names)) == self.n_classes, name, names, wanted)
            object.__setattr__(self, name, tuple(names))

    def __call__(self, predictions: ArrayLike, *, classes: Sequence[Any] | None = None) -> Any:
        """Recalibrated probabilities: of ``Predictions`` the same family, of arrays an array of the same shape.

        Of tables and columns of pandas the same with their labels.

        Classes with names, of the predictions or ``classes`` in the order of the columns of an array, are matched to
        those of the fit by name, in any order. ``ValueError`` for other names or another number of classes than in the
        fit, the wrong scale, and logits beyond double precision.
        """
        return self._mapped(predictions, classes, self._apply)

    def latent_function(self, inputs: ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The function g of ``softmax(g(z_1)..g(z_k))``, or ``sigmoid(g(z))`` of binary maps, at inputs z (g,).

        Returns the g that changes nothing, g, and its standard deviation, which is 0 but for ``GPMap``, (g,) each.
        ``TypeError`` for maps that are not of this form, such as ``OneVsRest``; ``ValueError`` for other numbers.
        """
        numbers = real_array(inputs, "inputs", ndim=1)
        if self.input == "probabilities" and not (numbers.min() >= 0.0 and numbers.max() <= 1.0):
            raise ValueError(f"inputs: got {numbers.min():g} to {numbers.max():g}, wanted probabilities from 0 to 1")
        prior = log_probabilities(numbers, self.input)
        if self.binary and self.input == "probabilities":
            prior = prior - log_probabilities(1.0 - numbers, self.input)
        return prior, *self._latent(numbers, prior)

    def _latent(self, inputs: FloatArray, prior: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The latent function and its standard deviation, from what changes nothing."""
        if not self.binary:
            raise TypeError(
                f"map: got {type(self).__name__}, wanted one that has the same function for all classes, such as those "
                "of GPCalibrator and TemperatureScaling, or a binary one"
            )
        p = self._apply(inputs)
        logs = log_probabilities(np.stack([p, 1.0 - p]), "probabilities")
        return logs[0] - logs[1], np.zeros_like(p)

    def share_seen(self, predictions: ArrayLike, *, classes: Sequence[Any] | None = None) -> float:
        return share_seen(self.fitted_rows, self._read(predictions, classes)[1].rows)

    def _read(self, predictions: ArrayLike, classes: Sequence[Any] | None) -> tuple[Scores, Scores, IntArray | None]:
        """Scores as they are given and in the order of the classes of the fit, and that order."""
        columns, given = columns_given(predictions), classes
        if given is not None or (self.classes is not None and set(columns).isdisjoint(self.column_names or ())):
            classes = classes_of(columns, to_array(list(self.classes or ()), "classes"), classes)
        scores = read_scores(predictions, self.input, classes)
        if scores.n_classes != self.n_classes or (self.binary and scores.n_columns > 1):
            wanted = "(n,) numbers of class 1" if self.binary else f"{self.n_classes}"
            raise ValueError(f"predictions: got {scores.n_classes} classes, wanted {wanted} as in the fit")
        names = columns or tuple(map(str, scores.classes or ()))
        if given is not None or set(names).isdisjoint(self.column_names or ()):
            order = class_order(scores.classes, self.classes, "predictions")
        else:
            order = class_order(names, self.column_names, "predictions")
        return scores, scores.reordered(order), order

    def _mapped(
        self, predictions: ArrayLike, classes: Sequence[Any] | None, function: Callable[[FloatArray], FloatArray]
    ) -> Any:
        """Probabilities that a function makes of numbers in the order of the fit, in the order and form given."""
        given, scores, order = self._read(predictions, classes)
        with np.errstate(all="ignore"):
            probabilities = function(scores.values if self.binary else scores.matrix())
        if not np.isfinite(probabilities).all():
            raise ValueError(
                f"predictions: got numbers up to {np.abs(given.values).max():.3g}, for which the recalibrated "
                "probabilities are beyond double precision, wanted smaller ones; rescale them"
            )
        if order is not None:
            probabilities = 1.0 - probabilities if probabilities.ndim == 1 else probabilities[:, np.argsort(order)]
        answer = given.answer(probabilities)
        if given.source is None:
            return labelled_like(predictions, answer)
        answer.notes = (*answer.notes, *seen_note(share_seen(self.fitted_rows, scores.rows)))
        return answer

    @abstractmethod
    def _apply(self, scores: FloatArray) -> FloatArray:
        """Probabilities of checked numbers on the scale of ``input``: (n,) of (n,) if binary, else (n, k) of (n, k)."""
