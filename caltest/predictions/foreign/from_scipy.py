"""Distributions of scipy.stats as families of this package; scipy.stats is never imported here."""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from caltest._basics.numerics import Array, FloatArray, index_of, to_array
from caltest._validation import real_array, refuse_rows
from caltest.predictions.foreign.described import Described, joined

Rule = tuple[str, Callable[..., tuple[Array, ...]]]
"""A family, and the arguments of its constructor from the parameters of scipy."""


def _lognormal(s: FloatArray, scale: FloatArray) -> tuple[Array, ...]:
    refuse_rows(scale <= 0.0, scale, "scale", "positive numbers")
    return np.log(scale), s


def _beta(a: FloatArray, b: FloatArray, scale: FloatArray) -> tuple[Array, ...]:
    refuse_rows(scale != 1.0, scale, "scale", "1: the family lives on [0, 1]; divide the targets by scale")
    return a, b


def _same(*parameters: FloatArray) -> tuple[Array, ...]:
    return parameters


RULES: dict[str, Rule] = {
    "norm": ("Normal", _same),
    "laplace": ("Laplace", _same),
    "t": ("StudentT", _same),
    "gamma": ("Gamma", _same),
    "expon": ("Gamma", lambda scale: (np.ones_like(scale), scale)),
    "lognorm": ("LogNormal", _lognormal),
    "beta": ("Beta", _beta),
    "poisson": ("Poisson", _same),
    "nbinom": ("NegativeBinomial", _same),
    "bernoulli": ("Bernoulli", _same),
}
"""Rules by the names of univariate distributions, for their shape parameters in order, loc if it moves, and scale."""

MOVED = ("norm", "laplace", "t")
"""Those of families without a fixed origin."""

KNOWN = (
    f"frozen {', '.join(RULES)}, other frozen continuous ones, multivariate_normal, and Normal and Mixture of Normal"
)


def is_continuous_of_no_family(data: object) -> bool:
    """Whether it is a frozen continuous distribution, but of no family here."""
    stats: Any = sys.modules.get("scipy.stats")
    if stats is None or not isinstance(data, stats.distributions.rv_frozen):
        return False
    return isinstance(data.dist, stats.rv_continuous) and data.dist.name not in RULES


def index_of_parameters(data: Any) -> Any:
    """Labels of the rows of a frozen distribution of pandas objects; ``ValueError`` if these are labelled differently.

    scipy takes parameters by their position.
    """
    given = (*getattr(data, "args", ()), *getattr(data, "kwds", {}).values())
    indices = [index for index in map(index_of, given) if index is not None]
    if any(not index.equals(indices[0]) for index in indices):
        raise ValueError("predictions: got parameters with different indices, wanted the same index for all of them")
    return indices[0] if indices else None


def described(data: Any) -> Described:
    """What an object of scipy.stats is here; ``TypeError`` if it is nothing known."""
    stats = sys.modules["scipy.stats"]
    if isinstance(data, stats.distributions.rv_frozen):
        for name, (family, arguments) in RULES.items():
            if type(data.dist) is type(getattr(stats, name)):
                is_continuous = isinstance(data.dist, stats.rv_continuous)
                parameters = parameters_of_frozen(data, is_continuous)
                if name not in MOVED:
                    loc = parameters.pop(-2 if is_continuous else -1)
                    wanted = "0: the family has a fixed origin; subtract loc from the targets"
                    refuse_rows(loc != 0.0, loc, "loc", wanted)
                return Described(name, family, arguments(*parameters), parameters[0].shape)
        raise unknown(data.dist.name)
    if isinstance(data, type(stats.multivariate_normal([0.0]))):
        return Described("multivariate_normal", "MvNormal", (np.asarray(data.mean), np.asarray(data.cov)), ())
    return _described_object(data, stats)


def parameters_of_frozen(frozen: Any, is_continuous: bool) -> list[FloatArray]:
    """Shape parameters, loc and, if continuous, scale, as arrays of the same shape."""
    shapes = [name.strip() for name in (frozen.dist.shapes or "").split(",") if name]
    names = [*shapes, "loc", "scale"] if is_continuous else [*shapes, "loc"]
    given = {"loc": 0.0, "scale": 1.0, **dict(zip(names, frozen.args, strict=False)), **frozen.kwds}
    arrays = [to_array(given[name], name) for name in names]
    shape = np.broadcast_shapes(*(array.shape for array in arrays))
    return [
        real_array(np.broadcast_to(array, shape).ravel(), name, ndim=1).reshape(shape)
        for name, array in zip(names, arrays, strict=True)
    ]


def _described_object(data: Any, stats: Any) -> Described:
    """A distribution of the infrastructure that came with scipy 1.15."""
    if hasattr(stats, "Normal") and isinstance(data, stats.Normal):
        mean, scale = np.broadcast_arrays(np.asarray(data.mu), np.asarray(data.sigma))
        return Described("Normal", "Normal", (mean, scale), mean.shape)
    if hasattr(stats, "Mixture") and isinstance(data, stats.Mixture):
        components = [described(component).as_rows() for component in data.components]
        return Described("Mixture", "Mixture", (np.asarray(data.weights),), (), joined(components))
    if isinstance(data, (stats.rv_continuous, stats.rv_discrete)):
        raise TypeError(f"predictions: got {data.name} without parameters, wanted {data.name}(...) with arrays of them")
    raise unknown(str(data) if hasattr(data, "support") else type(data).__name__)


def unknown(name: str) -> TypeError:
    """What to raise for other distributions."""
    return TypeError(
        f"predictions: got {name} of scipy.stats, wanted one of {KNOWN}; for other distributions pass m draws from "
        "each: Ensemble(distribution.rvs((m, n)).T), or Ensemble(distribution.sample(m).T) for new ones"
    )
