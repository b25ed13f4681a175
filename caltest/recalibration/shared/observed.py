"""Predictions or logits with their targets, that can be divided, mapped and scored."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Self

import numpy as np

from caltest._basics.arrays import Table, to_array
from caltest._basics.numerics import Array, ArrayLike, IntArray
from caltest._validation import at_least
from caltest.predictions import Bernoulli, Categorical, Predictions, Sample
from caltest.predictions.inputs.convert import as_predictions, as_sample, columns_given, in_order_of_targets
from caltest.recalibration.base import CalibrationMap, Calibrator
from caltest.recalibration.shared.inputs import class_numbers, probabilities_of, read_scores
from caltest.recalibration.shared.seen import seen_note


@dataclass(frozen=True, eq=False)
class Observed:
    """What a method takes, predictions or logits, with its targets as the method takes them and as checked numbers."""

    inputs: Predictions | Table
    targets: Array
    checked: Array
    classes: tuple[Any, ...] | None = None
    """Names of the classes of logits; predictions have their own."""

    @classmethod
    def of(cls, predictions: ArrayLike, targets: ArrayLike, scale: str, classes: Sequence[Any] | None = None) -> Self:
        """Checked data, for methods whose ``input`` is the scale."""
        if scale != "logits":
            sample = as_sample(predictions, targets, classes, copy=True, pooled=False)
            return cls(sample.predictions, to_array(targets, "targets"), sample.targets)
        predictions, classes = in_order_of_targets(predictions, targets, classes)
        scores = read_scores(predictions, scale, classes, fitting=True)
        labels = class_numbers(scores, targets, classes)
        names = scores.classes
        inputs = Table(scores.values, columns_given(predictions) or None)
        return cls(inputs, labels if names is None else np.array(names, dtype=object)[labels], labels, names)

    def __len__(self) -> int:
        return len(self.checked)

    def take(self, index: IntArray) -> "Observed":
        """The observations at some places."""
        return Observed(self.inputs.take(index), self.targets[index], self.checked[index], self.classes)

    def split(
        self, method: Calibrator | CalibrationMap, share: float, rng: np.random.Generator
    ) -> tuple[IntArray, IntArray]:
        """Places of a random share of the data, to judge a method on, and of the others to fit it to; all for a map."""
        if isinstance(method, CalibrationMap):
            at_least(len(self), 3, "a report")
            return np.arange(len(self)), np.arange(0)
        at_least(len(self), 4, "a report of a method")
        order = rng.permutation(len(self))
        rest, others = np.split(order, [min(max(round(share * len(self)), 3), len(self) - 1)])
        return np.sort(rest), np.sort(others)

    def fit(self, calibrator: Calibrator) -> CalibrationMap:
        """The map of a method fitted to these."""
        return calibrator.fit(self.inputs, self.targets, classes=self.classes)

    def before(self) -> Sample:
        """The predictions as they are."""
        if isinstance(self.inputs, Predictions):
            return self._with(self.inputs)
        p = probabilities_of(self.inputs.values, "logits")
        return Sample(Bernoulli(p) if p.ndim == 1 else Categorical(p), self.checked)

    def after(self, fitted: CalibrationMap) -> Sample:
        """The recalibrated predictions."""
        return self._with(as_predictions(fitted(self.inputs, **self.names)))

    def _with(self, law: Predictions) -> Sample:
        """Predictions in the place of these, with the targets as tests take them."""
        if law.levels is None:
            return Sample(law, self.checked).pooled()
        return Sample(law, law.check_targets(self.targets), values=law.as_read(self.targets, self.checked))

    def in_folds(self, calibrator: Calibrator, folds: IntArray, groups: IntArray | None = None) -> Sample:
        """Recalibrated predictions of all, each by the map that is fitted to the other folds (n,) of its group (n,)."""
        same = np.zeros(folds.size, dtype=np.intp) if groups is None else groups
        cells = np.unique(np.stack([folds, same], axis=1), axis=0)
        parts = [np.flatnonzero((folds == fold) & (same == group)) for fold, group in cells]
        others = (np.flatnonzero((folds != fold) & (same == group)) for fold, group in cells)
        maps = (self.take(rows).fit(calibrator) for rows in others)
        inputs = (self.take(part).inputs for part in parts)
        found = (as_predictions(one(some, **self.names)) for one, some in zip(maps, inputs, strict=True))
        return self._with(reduce(Predictions.followed_by, found).take(np.argsort(np.concatenate(parts))))

    def notes(self, fitted: CalibrationMap) -> tuple[str, ...]:
        """Whether the map was fitted to these."""
        return seen_note(fitted.share_seen(self.inputs, **self.names))

    @property
    def names(self) -> dict[str, Any]:
        """The argument ``classes`` of maps, for logits of classes with names."""
        return {} if self.classes is None else {"classes": self.classes}


def scale_of(method: Calibrator | CalibrationMap) -> str:
    """The scale of the input of a method or map."""
    return str(getattr(method, "input", "probabilities"))
