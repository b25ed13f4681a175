"""Sums and multiples of kernels of targets."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from caltest._basics.types import Array, FloatArray
from caltest._validation import positive_number
from caltest.kernels.base import PredictedDistributions, TargetKernel


@dataclass(frozen=True)
class SumKernel(TargetKernel):
    """``sum_i w_i k_i(y, y')`` with positive weights: kernels that look at several scales at once.

    Made by adding kernels of targets and multiplying them by positive numbers.

    Parameters
    ----------
    weighted
        Pairs (weight, kernel of targets); those of sums are taken apart.

    Examples
    --------
    >>> import caltest as ct
    >>> kernel = ct.GaussianKernel(bandwidth=0.5) + 2.0 * ct.GaussianKernel(bandwidth=3.0)
    >>> print(kernel.describe_for_targets(), kernel.bound)
    exp(-|y - y'|^2 / (2 0.5^2)) + 2 exp(-|y - y'|^2 / (2 3^2)) 3.0
    """

    weighted: tuple[tuple[float, TargetKernel], ...]

    def __post_init__(self) -> None:
        if not isinstance(self.weighted, (tuple, list)) or not self.weighted:
            raise ValueError(f"weighted: got {self.weighted!r}, wanted pairs (weight, kernel of targets)")
        for pair in self.weighted:
            if not isinstance(pair, (tuple, list)) or len(pair) != 2:
                raise ValueError(f"weighted: got {pair!r} among the terms, wanted pairs (weight, kernel of targets)")
            if not isinstance(pair[1], TargetKernel):
                raise TypeError(f"target_kernel: got {pair[1]!r} in a sum, wanted a kernel of targets")
        weighted = ((positive_number("weight", weight), kernel) for weight, kernel in self.weighted)
        terms = tuple((weight * inner, term) for weight, kernel in weighted for inner, term in kernel.weighted_terms)
        object.__setattr__(self, "weighted", terms)

    @classmethod
    def of(cls, *kernels: TargetKernel) -> "SumKernel":
        """The sum of kernels, some of which can be sums."""
        return cls(tuple((1.0, kernel) for kernel in kernels))

    @property
    def weighted_terms(self) -> tuple[tuple[float, TargetKernel], ...]:
        return self.weighted

    @property
    def bound(self) -> float:
        """Sum of the bounds, which is the supremum for kernels that are largest at y = y'."""
        return sum(weight * kernel.bound for weight, kernel in self.weighted)

    @property
    def squared_diameter(self) -> float:
        return sum(weight * kernel.squared_diameter for weight, kernel in self.weighted)

    def target_tile(self, rows: Array, columns: Array) -> FloatArray:
        return np.asarray(
            np.sum([weight * kernel.target_tile(rows, columns) for weight, kernel in self.weighted], axis=0)
        )

    def vector_target_tile(self, rows: Array, columns: Array) -> FloatArray:
        return np.asarray(
            np.sum([weight * kernel.vector_target_tile(rows, columns) for weight, kernel in self.weighted], axis=0)
        )

    def resolve_for_targets(self, predictions: PredictedDistributions) -> Self:
        terms = ((weight, kernel.resolve_for_targets(predictions)) for weight, kernel in self.weighted)
        return type(self)(tuple(terms))

    @property
    def uses_median(self) -> bool:
        return any(kernel.uses_median for _, kernel in self.weighted)

    def describe_for_targets(self) -> str:
        parts = []
        for weight, kernel in self.weighted:
            factor = "" if weight == 1.0 else f"{weight:.4g} "
            parts.append(factor + kernel.describe_for_targets())
        return " + ".join(parts)
