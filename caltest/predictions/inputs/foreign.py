"""Distributions of scipy.stats and torch as families of this package, neither of which is ever imported here."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, Self

import numpy as np
import scipy

from caltest._basics.arrays import index_of, to_array
from caltest._basics.numerics import Array, FloatArray
from caltest._validation import real_array, refuse_rows


def is_foreign(data: object) -> bool:
    """Whether it is a distribution of another package, or a list that begins with one."""
    if isinstance(data, (list, tuple)):
        return len(data) > 0 and is_foreign(data[0])
    return is_of_scipy(data) or is_of_torch(data)


def is_of_scipy(data: object) -> bool:
    """Whether it is an object of scipy.stats, without importing it."""
    return type(data).__module__.startswith("scipy.stats")


def is_of_torch(data: object) -> bool:
    """Whether it is a distribution of torch, without importing it."""
    distributions = sys.modules.get("torch.distributions")
    return distributions is not None and isinstance(data, distributions.Distribution)


def from_foreign(data: Any) -> Any:
    """The predictions of a distribution with array parameters, or of a list: of one family, or all continuous."""
    each = data if isinstance(data, (list, tuple)) else [data]
    if are_of_no_family(each):
        predictions = _family("Continuous")(data)
    else:
        predictions = joined([_rows(one, i) for i, one in enumerate(each)]).predictions()
    return predictions._labelled(index_of_parameters(data))


def _family(name: str) -> Any:
    return getattr(import_module("caltest.predictions"), name)


def _rows(data: Any, position: int) -> "Described":
    if is_of_scipy(data):
        with single_ones_at(position):
            return described_by_scipy(data).as_rows()
    if is_of_torch(data):
        return described_by_torch(data).as_rows()
    raise TypeError(f"predictions: got a {type(data).__name__} at position {position}, wanted distributions only")


@dataclass(frozen=True, eq=False)
class Described:
    """Distributions by name.

    ``arguments`` are those of the constructor of ``family``, a class in ``caltest.predictions``, each with the leading
    dimensions ``batch``: (n,) for n distributions, () for a single one. ``name`` is that of the other package. A
    mixture has the weights (..., m), and then the arguments (..., m) of its components, of the family ``components``.
    """

    name: str
    family: str
    arguments: tuple[Array, ...]
    batch: tuple[int, ...]
    components: str = ""

    def as_rows(self) -> Self:
        """The same with a batch (n,); ``ValueError`` for more dimensions."""
        if len(self.batch) > 1:
            advice = "for targets that are vectors pass multivariate distributions, or MvNormal(mean, variances)"
            raise ValueError(
                f"predictions: got {self.name} with parameters of shape {self.batch}, wanted one dimension, one "
                f"distribution for each target; {'remove the last dimension' if self.batch[-1] == 1 else advice}"
            )
        return self if self.batch else replace(self, arguments=tuple(one[None] for one in self.arguments), batch=(1,))

    def predictions(self) -> Any:
        """What they are here, for a batch (n,)."""
        if not self.components:
            return _family(self.family)(*self.arguments)
        weights, *others = self.arguments
        if self.components == "Mixture":
            raise TypeError(f"predictions: got {self.name}, wanted a single mixture of all components")
        kind = _family(self.components)
        return _family("Mixture")([kind(*(one[:, a] for one in others)) for a in range(weights.shape[1])], weights)


@contextmanager
def single_ones_at(position: int) -> Iterator[None]:
    """Errors of a single distribution name its place among others as the row."""
    try:
        yield
    except ValueError as error:
        raise ValueError(str(error).replace("at row 0 (1 in all)", f"at row {position}")) from None


def joined(parts: Sequence[Described]) -> Described:
    """Distributions of one family one after the other, from parts with batches (n,)."""
    first = parts[0]
    for i, part in enumerate(parts):
        if (part.family, part.name) != (first.family, first.name):
            raise TypeError(
                f"predictions: got {first.name} at position 0 and {part.name} at position {i}, wanted distributions of "
                "one family"
            )
        if [argument.shape[1:] for argument in part.arguments] != [argument.shape[1:] for argument in first.arguments]:
            raise ValueError(
                f"predictions: got {first.name} of different dimensions at position 0 and {i}, wanted the same"
            )
    arguments = tuple(np.concatenate(arrays) for arrays in zip(*(part.arguments for part in parts), strict=True))
    return replace(first, arguments=arguments, batch=(len(arguments[0]),))


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


OF_SCIPY: dict[str, Rule] = {
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


KNOWN_OF_SCIPY = (
    f"frozen {', '.join(OF_SCIPY)}, other frozen continuous ones, multivariate_normal, and Normal and Mixture of Normal"
)


def are_of_no_family(items: Sequence[Any]) -> bool:
    """Whether frozen continuous distributions are among them that no family here has, or all are such of several."""
    stats: Any = sys.modules.get("scipy.stats")
    laws = [one.dist for one in items if stats is not None and isinstance(one, stats.distributions.rv_frozen)]
    names = [law.name for law in laws if isinstance(law, stats.rv_continuous)]
    return any(name not in OF_SCIPY for name in names) or (len(names) == len(items) and len(set(names)) > 1)


def index_of_parameters(data: Any) -> Any:
    """Labels of the rows of a frozen distribution of pandas objects; ``ValueError`` if these are labelled differently.

    scipy takes parameters by their position.
    """
    given = (*getattr(data, "args", ()), *getattr(data, "kwds", {}).values())
    indices = [index for index in map(index_of, given) if index is not None]
    if any(not index.equals(indices[0]) for index in indices):
        raise ValueError("predictions: got parameters with different indices, wanted the same index for all of them")
    return indices[0] if indices else None


def described_by_scipy(data: Any) -> Described:
    """What an object of scipy.stats is here; ``TypeError`` if it is nothing known."""
    stats = sys.modules["scipy.stats"]
    if isinstance(data, stats.distributions.rv_frozen):
        for name, (family, arguments) in OF_SCIPY.items():
            if type(data.dist) is type(getattr(stats, name)):
                is_continuous = isinstance(data.dist, stats.rv_continuous)
                parameters = parameters_of_frozen(data, is_continuous)
                # Families without a fixed origin.
                if name not in ("norm", "laplace", "t"):
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
        inner = joined([described_by_scipy(component).as_rows() for component in data.components])
        return Described("Mixture", "Mixture", (np.asarray(data.weights), *inner.arguments), (), inner.family)
    if isinstance(data, stats.rv_histogram):
        raise TypeError("predictions: got an rv_histogram, wanted it frozen: pass histogram()")
    if isinstance(data, (stats.rv_continuous, stats.rv_discrete)):
        raise TypeError(f"predictions: got {data.name} without parameters, wanted {data.name}(...) with arrays of them")
    raise unknown(str(data) if hasattr(data, "support") else type(data).__name__)


def unknown(name: str) -> TypeError:
    """What to raise for other distributions."""
    return TypeError(
        f"predictions: got {name} of scipy.stats, wanted one of {KNOWN_OF_SCIPY}; for other distributions pass m draws "
        "from each: Ensemble(distribution.rvs((m, n)).T), or Ensemble(distribution.sample(m).T) for new ones"
    )


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


OF_TORCH: dict[str, tuple[str, Callable[[Any], tuple[Array, ...]]]] = {
    "Normal": ("Normal", _attributes("loc", "scale")),
    "MultivariateNormal": ("MvNormal", _full_normal),
    "Laplace": ("Laplace", _attributes("loc", "scale")),
    "Categorical": ("Categorical", _attributes("probs")),
    "Bernoulli": ("Bernoulli", _attributes("probs")),
    "Poisson": ("Poisson", _attributes("rate")),
    "NegativeBinomial": ("NegativeBinomial", _negative_binomial),
    "StudentT": ("StudentT", _attributes("df", "loc", "scale")),
    "Gamma": ("Gamma", lambda one: (_array(one.concentration), 1.0 / _array(one.rate))),
    "Exponential": ("Gamma", lambda one: (np.ones_like(_array(one.rate)), 1.0 / _array(one.rate))),
    "LogNormal": ("LogNormal", _attributes("loc", "scale")),
    "Beta": ("Beta", _attributes("concentration1", "concentration0")),
}
"""Families, and the arguments of their constructors, by the names of distributions."""

KNOWN_OF_TORCH = ", ".join(("Independent(Normal, 1)", "MixtureSameFamily", *OF_TORCH))


def described_by_torch(data: Any) -> Described:
    """What a distribution of torch is here; ``TypeError`` if it is nothing known."""
    name = type(data).__name__ if type(data).__module__.startswith("torch.distributions") else repr(type(data))
    batch = tuple(data.batch_shape)
    if name in OF_TORCH:
        family, arguments = OF_TORCH[name]
        return Described(name, family, arguments(data), batch)
    if name == "Independent" and data.reinterpreted_batch_ndims == 0:
        return described_by_torch(data.base_dist)
    if name == "Independent":
        inner = described_by_torch(data.base_dist)
        if inner.family == "Normal" and data.reinterpreted_batch_ndims == 1:
            mean, scale = inner.arguments
            return Described("Independent(Normal, 1)", "MvNormal", (mean, scale**2), batch)
        name = f"Independent({inner.name}, {data.reinterpreted_batch_ndims})"
    if name == "MixtureSameFamily":
        weights, inner = _array(data.mixture_distribution.probs), described_by_torch(data.component_distribution)
        return Described(f"{name} of {inner.name}", "Mixture", (weights, *inner.arguments), batch, inner.family)
    raise TypeError(
        f"predictions: got {name} of torch.distributions, wanted one of {KNOWN_OF_TORCH}; for other distributions pass "
        "m draws from each: Ensemble(distribution.sample((m,)).T)"
    )


def _array(tensor: Any) -> Array:
    return to_array(tensor, "predictions")
