"""Distributions of torch.distributions as families of this package; torch is never imported here."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy

from caltest._basics.numerics import Array, to_array
from caltest.predictions.foreign.described import Described


def _negative_binomial(distribution: Any) -> tuple[Array, ...]:
    """Torch counts successes until some failures, so that the probability to stop is that of a failure."""
    size = _array(distribution.total_count)
    if "probs" in vars(distribution):
        return size, 1.0 - _array(distribution.probs)
    return size, scipy.special.expit(-_array(distribution.logits))


def _full_normal(distribution: Any) -> tuple[Array, ...]:
    """The product of the triangular root in double precision is symmetric, that in single precision is not."""
    root = _array(distribution.scale_tril)
    return _array(distribution.loc), root @ root.swapaxes(-1, -2)


def _attributes(*names: str) -> Callable[[Any], tuple[Array, ...]]:
    return lambda distribution: tuple(_array(getattr(distribution, name)) for name in names)


def _gamma(distribution: Any) -> tuple[Array, ...]:
    return _array(distribution.concentration), 1.0 / _array(distribution.rate)


def _exponential(distribution: Any) -> tuple[Array, ...]:
    rate = _array(distribution.rate)
    return np.ones_like(rate), 1.0 / rate


RULES: dict[str, tuple[str, Callable[[Any], tuple[Array, ...]]]] = {
    "Normal": ("Normal", _attributes("loc", "scale")),
    "MultivariateNormal": ("MvNormal", _full_normal),
    "Laplace": ("Laplace", _attributes("loc", "scale")),
    "Categorical": ("Categorical", _attributes("probs")),
    "Bernoulli": ("Bernoulli", _attributes("probs")),
    "Poisson": ("Poisson", _attributes("rate")),
    "NegativeBinomial": ("NegativeBinomial", _negative_binomial),
    "StudentT": ("StudentT", _attributes("df", "loc", "scale")),
    "Gamma": ("Gamma", _gamma),
    "Exponential": ("Gamma", _exponential),
    "LogNormal": ("LogNormal", _attributes("loc", "scale")),
    "Beta": ("Beta", _attributes("concentration1", "concentration0")),
}
"""Families, and the arguments of their constructors, by the names of distributions."""

KNOWN = ", ".join(("Independent(Normal, 1)", "MixtureSameFamily", *RULES))


def described(data: Any) -> Described:
    """What a distribution of torch is here; ``TypeError`` if it is nothing known."""
    name = type(data).__name__ if type(data).__module__.startswith("torch.distributions") else repr(type(data))
    batch = tuple(data.batch_shape)
    if name in RULES:
        family, arguments = RULES[name]
        return Described(name, family, arguments(data), batch)
    if name == "Independent" and data.reinterpreted_batch_ndims == 0:
        return described(data.base_dist)
    if name == "Independent":
        inner = described(data.base_dist)
        if inner.family == "Normal" and data.reinterpreted_batch_ndims == 1:
            mean, scale = inner.arguments
            return Described("Independent(Normal, 1)", "MvNormal", (mean, scale**2), batch)
        name = f"Independent({inner.name}, {data.reinterpreted_batch_ndims})"
    if name == "MixtureSameFamily":
        weights, components = data.mixture_distribution.probs, described(data.component_distribution)
        return Described(f"{name} of {components.name}", "Mixture", (_array(weights),), batch, components)
    raise TypeError(
        f"predictions: got {name} of torch.distributions, wanted one of {KNOWN}; for other distributions pass m draws "
        "from each: Ensemble(distribution.sample((m,)).T)"
    )


def _array(tensor: Any) -> Array:
    return to_array(tensor, "predictions")
