"""Predictions that are distributions of scipy.stats or torch.distributions, without importing either."""

from collections.abc import Sequence
from typing import Any

from caltest.predictions import described_scipy, described_torch
from caltest.predictions.base import Predictions
from caltest.predictions.described import Described, joined


def is_foreign(data: object) -> bool:
    """Whether it is a distribution of another package, or a list that begins with one."""
    if isinstance(data, (list, tuple)):
        return len(data) > 0 and is_foreign(data[0])
    return described_scipy.is_of_scipy(data) or described_torch.is_of_torch(data)


def from_foreign(data: Any, classes: Sequence[Any] | None = None) -> Predictions:
    """The predictions of a distribution with array parameters, or of a list of distributions of one family."""
    rows = joined([_rows(one, i) for i, one in enumerate(data)]) if isinstance(data, (list, tuple)) else _rows(data)
    return _predictions(rows, {} if classes is None else {"classes": classes})


def _rows(data: Any, position: int = 0) -> Described:
    if described_scipy.is_of_scipy(data):
        return described_scipy.described(data).as_rows()
    if described_torch.is_of_torch(data):
        return described_torch.described(data).as_rows()
    raise TypeError(f"predictions: got a {type(data).__name__} at position {position}, wanted distributions only")


def _predictions(described: Described, options: dict[str, Any]) -> Predictions:
    import caltest.predictions as families

    if options and described.family not in ("Bernoulli", "Categorical"):
        raise TypeError(f"classes: got names for {described.name} predictions, which have no classes")
    if described.components is not None:
        (weights,) = described.arguments
        components = [_predictions(described.components.component(a), {}) for a in range(weights.shape[1])]
        return families.Mixture(components, weights)
    predictions: Predictions = getattr(families, described.family)(*described.arguments, **options)
    return predictions
