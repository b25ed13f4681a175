"""What recalibration maps share: settings that are fitted to data, and maps of predictions to predictions."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from caltest._types import ArrayLike, FloatArray, IntArray
from caltest.predictions.convert import in_order_of_targets
from caltest.recalibration._scores import SCALES, Scores, labels_of, read_scores
from caltest.recalibration._storage import nested, plain, read_npz, restored, write_npz

SHOWN = 4
"""Entries of arrays and tuples up to which maps show them."""


@dataclass(frozen=True)
class Calibrator(ABC):
    """Settings of a recalibration method; ``fit`` estimates the map that makes predictions agree with targets."""

    @abstractmethod
    def fit(
        self, predictions: ArrayLike, targets: ArrayLike, *, classes: Sequence[Any] | None = None
    ) -> "CalibrationMap":
        """The map that is estimated from predictions (n observations) and their targets, which the model has not seen.

        Parameters
        ----------
        predictions
            ``Predictions`` or what becomes some.
        targets
            Outcomes (n,).
        classes
            Names of the classes in the order of the columns, if the targets are names.

        Raises
        ------
        ValueError
            For bad data.
        TypeError
            For predictions of a kind that the method does not know.
        """


@dataclass(frozen=True, eq=False, repr=False)
class CalibrationMap(ABC):
    """A fitted map of predictions to predictions of the same kind: arrays to arrays, ``Categorical`` to the same."""

    _known: ClassVar[dict[str, type["CalibrationMap"]]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        CalibrationMap._known[cls.__name__] = cls

    @abstractmethod
    def __call__(self, predictions: ArrayLike) -> Any:
        """Recalibrated predictions, of the kind that is given."""

    def __repr__(self) -> str:
        settings = [f"{item.name}={_short(getattr(self, item.name))}" for item in fields(self)]
        return f"{type(self).__name__}({', '.join(settings)})"

    def to_dict(self) -> dict[str, Any]:
        """Name of the map, settings and arrays; maps inside maps are dictionaries too."""
        return {"map": type(self).__name__, **{item.name: plain(getattr(self, item.name)) for item in fields(self)}}

    @staticmethod
    def from_dict(entries: dict[str, Any]) -> "CalibrationMap":
        """The map that ``to_dict`` describes; ``ValueError`` if it describes none."""
        name = str(entries.get("map"))
        if name not in CalibrationMap._known:
            raise ValueError(f"entries: got the map {name!r}, wanted one of {', '.join(sorted(CalibrationMap._known))}")
        kind = CalibrationMap._known[name]
        names = [item.name for item in fields(kind)]
        missing = [field for field in names if field not in entries]
        if missing:
            raise ValueError(f"entries: got a {name} without {', '.join(missing)}, wanted what to_dict() gives")
        return kind(**{field: restored(entries[field], CalibrationMap.from_dict) for field in names})

    def save(self, path: str | Path) -> None:
        """Write the map to a file, in the format .npz of numpy, without pickled objects."""
        write_npz(path, self.to_dict())

    @staticmethod
    def load(path: str | Path) -> "CalibrationMap":
        """The map that ``save`` wrote to a file. Nothing in the file is executed."""
        return CalibrationMap.from_dict(nested(read_npz(path)))


def _short(value: Any) -> str:
    """Numbers to four digits, long arrays by their shape, maps by their number."""
    if isinstance(value, np.ndarray):
        return np.array2string(value, precision=4, separator=", ") if value.size <= SHOWN else f"<{value.shape} array>"
    if isinstance(value, tuple) and len(value) > SHOWN:
        return f"<{len(value)} of {type(value[0]).__name__}>"
    return f"{value:.4g}" if isinstance(value, float) else repr(value)


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

    def __post_init__(self) -> None:
        if self.input not in SCALES:
            raise ValueError(f"input: got {self.input!r}, wanted 'probabilities' or 'logits'")

    def fit(
        self, predictions: ArrayLike, targets: ArrayLike, *, classes: Sequence[Any] | None = None
    ) -> "ProbabilityMap":
        """The map that is estimated from predictions and their labels, which the model has not seen."""
        predictions, classes = in_order_of_targets(predictions, targets, classes)
        scores = read_scores(predictions, self.input, classes, fitting=True)
        self._check(scores)
        labels = labels_of(scores, targets, classes)
        return self._fit(scores.column() if self.binary else scores.matrix(), labels)

    def _check(self, scores: Scores) -> None:
        if self.binary and scores.n_columns > 1:
            raise TypeError(
                f"predictions: got {scores.n_columns} columns for {type(self).__name__}, wanted numbers (n,) of one, "
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
    """

    input: str
    n_classes: int

    binary: ClassVar[bool] = False
    """As that of the method."""

    def __call__(self, predictions: ArrayLike) -> Any:
        """Recalibrated probabilities: of ``Predictions`` the same family, of arrays an array of the same shape.

        ``ValueError`` for another number of classes than that of the fit, or the wrong scale.
        """
        scores = read_scores(predictions, self.input)
        if scores.n_classes != self.n_classes or (self.binary and scores.n_columns > 1):
            wanted = "(n,) numbers of class 1" if self.binary else f"{self.n_classes}"
            raise ValueError(f"predictions: got {scores.n_classes} classes, wanted {wanted} as in the fit")
        return scores.answer(self._apply(scores.column() if self.binary else scores.matrix()))

    @abstractmethod
    def _apply(self, scores: FloatArray) -> FloatArray:
        """Probabilities of checked numbers on the scale of ``input``: (n,) of (n,) if binary, else (n, k) of (n, k)."""
