"""Distributions of other packages: what are some, and their description by a family and its constructor's arguments."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from caltest._basics.numerics import Array


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


@dataclass(frozen=True, eq=False)
class Described:
    """Distributions by name.

    ``arguments`` are those of the constructor of ``family``, a class in ``caltest.predictions``, each with the leading
    dimensions ``batch``: (n,) for n distributions, () for a single one. ``name`` is that of the other package. A
    mixture has the weights (..., m) as its argument, and ``components`` with the batch (..., m).
    """

    name: str
    family: str
    arguments: tuple[Array, ...]
    batch: tuple[int, ...]
    components: "Described | None" = None

    def as_rows(self) -> Self:
        """The same with a batch (n,); ``ValueError`` for more dimensions."""
        if len(self.batch) > 1:
            advice = "for targets that are vectors pass multivariate distributions, or MvNormal(mean, variances)"
            raise ValueError(
                f"predictions: got {self.name} with parameters of shape {self.batch}, wanted one dimension, one "
                f"distribution for each target; {'remove the last dimension' if self.batch[-1] == 1 else advice}"
            )
        return self if self.batch else self._with_leading_dimension()

    def _with_leading_dimension(self) -> Self:
        arguments = tuple(argument[None] for argument in self.arguments)
        components = None if self.components is None else self.components._with_leading_dimension()
        return replace(self, arguments=arguments, batch=(1, *self.batch), components=components)

    def component(self, a: int) -> "Described":
        """The distributions at a place of the second dimension of the batch (n, m)."""
        return replace(self, arguments=tuple(argument[:, a] for argument in self.arguments), batch=self.batch[:1])


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
    inner = [part.components for part in parts if part.components is not None]
    batch = (sum(part.batch[0] for part in parts), *first.batch[1:])
    return replace(first, arguments=arguments, batch=batch, components=joined(inner) if inner else None)
