"""Predictions that are distributions of scipy.stats or torch.distributions, without importing either."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from caltest.predictions.base import Predictions
from caltest.predictions.foreign import from_scipy, from_torch
from caltest.predictions.foreign.described import Described, is_of_scipy, is_of_torch, joined
from caltest.predictions.mixture import Mixture
from caltest.predictions.numbers.continuous import Continuous


def from_foreign(data: Any, classes: Sequence[Any] | None = None) -> Predictions:
    """The predictions of a distribution with array parameters, or of a list of distributions of one family."""
    if from_scipy.is_continuous_of_no_family(data[0] if isinstance(data, (list, tuple)) else data):
        return Continuous(data)
    rows = joined([_rows(one, i) for i, one in enumerate(data)]) if isinstance(data, (list, tuple)) else _rows(data)
    return _predictions(rows, {} if classes is None else {"classes": classes})


def _rows(data: Any, position: int = 0) -> Described:
    if is_of_scipy(data):
        return from_scipy.described(data).as_rows()
    if is_of_torch(data):
        return from_torch.described(data).as_rows()
    raise TypeError(f"predictions: got a {type(data).__name__} at position {position}, wanted distributions only")


def _predictions(described: Described, options: dict[str, Any]) -> Predictions:
    if options and described.family not in ("Bernoulli", "Categorical"):
        raise TypeError(f"classes: got names for {described.name} predictions, which have no classes")
    if described.components is not None:
        (weights,) = described.arguments
        components = [_predictions(described.components.component(a), {}) for a in range(weights.shape[1])]
        return Mixture(components, weights)
    predictions: Predictions = getattr(import_module("caltest.predictions"), described.family)(
        *described.arguments, **options
    )
    return predictions
