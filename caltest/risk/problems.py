"""Notions of calibration: the problems that a squared calibration error is taken of."""

from typing import Any

import numpy as np

from caltest.predictions import Predictions, Sample, classwise, top_label
from caltest.risk.data import points_of

NOTIONS = ("canonical", "top_label", "classwise")


def problems_of(sample: Sample, notion: str) -> list[tuple[str, Sample]]:
    """Names and data of the problems that a notion consists of."""
    predictions, labels = sample.predictions, sample.targets
    is_binary = predictions.to_array().ndim == 1
    if notion == "canonical":
        return [("binary outcome" if is_binary else "all classes", sample)]
    if is_binary:
        raise TypeError(
            f"notion: got {notion!r} for binary predictions, wanted 'canonical'; they need no reduction to one outcome"
        )
    if notion == "top_label":
        return [("top label", Sample(*top_label(predictions, names_of(predictions, labels))))]
    names = predictions.classes or range(points_of(predictions.take(slice(1))).shape[1])
    reduced = classwise(predictions, names_of(predictions, labels))
    return [(f"class {name} against the rest", Sample(*one)) for name, one in zip(names, reduced, strict=True)]


def names_of(predictions: Predictions, labels: Any) -> Any:
    """Labels as the predictions name them."""
    return labels if predictions.classes is None else np.array(predictions.classes)[labels]
