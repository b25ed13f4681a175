"""Kernels of pairs of a prediction and a target: a product of two kernels, or a sum of such products."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Self

from caltest._basics.calls import OwnErrstate
from caltest._basics.numerics import FloatArray
from caltest._loops.formulas.kernels import EXPONENTIAL
from caltest._validation import instance_of
from caltest.kernels.base import Predicted, PredictionKernel, TargetKernel
from caltest.kernels.matrix import MatrixKernel, rank_on_residuals
from caltest.kernels.metrics.vector_metrics import Euclidean, TotalVariation
from caltest.kernels.radial import RadialKernel


class PairKernel(OwnErrstate, ABC):
    """A positive semi-definite function k((p, y), (p', y')): a sum of products of two kernels."""

    @property
    @abstractmethod
    def products(self) -> "tuple[ProductKernel, ...]":
        """The products whose sum it is."""

    def sum_of(self, function: "Callable[[ProductKernel], FloatArray]") -> FloatArray:
        """The sum over the products of a function of each, which is written over."""
        total = function(self.products[0])
        for one in self.products[1:]:
            total += function(one)
        return total

    @property
    def is_product(self) -> bool:
        """Whether it is a single product, and no sum of several."""
        return len(self.products) == 1

    @property
    def single(self) -> "ProductKernel | None":
        """The product, if it is only one."""
        return self.products[0] if self.is_product else None

    @abstractmethod
    def resolve(self, predictions: Predicted) -> Self:
        """The same kernel with its ``"median"`` bandwidths replaced by numbers computed from the predictions."""

    def resolve_with_notes(self, predictions: Predicted) -> "tuple[PairKernel, tuple[str, ...]]":
        """``resolve``, and what readers should know of the bandwidths that were chosen."""
        return self.resolve(predictions), ()

    @property
    def bound(self) -> float:
        """Supremum of ``|k|``, or more for sums."""
        return sum(one.prediction_kernel.bound * one.target_kernel.bound for one in self.products)

    @property
    def uses_median(self) -> bool:
        """Whether a bandwidth of predictions is still ``"median"``."""
        return any(one.prediction_kernel.uses_median for one in self.products)

    @property
    def notes(self) -> tuple[str, ...]:
        """A note where the matrices of a kernel of classes leave some miscalibration unseen (Lemma D.3)."""
        terms = [term for one in self.products for term in one.target_kernel.weighted_terms]
        matrices = [weight * kernel.matrix for weight, kernel in terms if isinstance(kernel, MatrixKernel)]
        if len(matrices) < len(terms) or len({matrix.shape for matrix in matrices}) > 1:
            return ()
        rank, full = rank_on_residuals(sum(matrices)), len(matrices[0]) - 1
        if rank == full:
            return ()
        return (
            f"the matrix of the target kernel has rank {rank} on residuals, less than {full}: "
            "miscalibration in the other directions goes unseen",
        )

    def check_resolved(self) -> None:
        """Raise ``ValueError`` if a bandwidth is still ``"median"``."""
        if self.uses_median or any(one.target_kernel.uses_median for one in self.products):
            raise ValueError(
                'bandwidth: got "median", which depends on all predictions, for data that come in chunks; wanted a '
                "number: kernel.resolve(predictions) with some of the predictions, or median_bandwidth of them"
            )

    def describe(self) -> str:
        """Formula in one line."""
        formulas = []
        for one in self.products:
            formula, is_sum = one.target_kernel.describe_for_targets(), len(one.target_kernel.weighted_terms) > 1
            formulas.append(f"{one.prediction_kernel.describe()} x {f'({formula})' if is_sum else formula}")
        return " + ".join(formulas)

    def __add__(self, other: "PairKernel") -> "SumOfProducts":
        a_pair_kernel("kernel", other)
        return SumOfProducts((*self.products, *other.products))


a_pair_kernel = instance_of(
    PairKernel,
    "a ProductKernel(prediction_kernel, target_kernel), e.g. "
    "ProductKernel(ExponentialKernel(TotalVariation()), DeltaKernel())",
)


@dataclass(frozen=True)
class ProductKernel(PairKernel):
    """``k((p, y), (p', y')) = k_P(p, p') k_Y(y, y')`` (Widmann et al. 2021, section 3.1).

    Parameters
    ----------
    prediction_kernel
        Kernel of two predicted distributions.
    target_kernel
        Kernel of two targets.

    Raises
    ------
    TypeError
        If a factor is not a kernel of that kind, for example when the two are swapped.

    Examples
    --------
    >>> import caltest as ct
    >>> kernel = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), bandwidth=0.5), ct.DeltaKernel())
    >>> print(kernel.describe())
    exp(-TV / 0.5) x [y = y']
    """

    prediction_kernel: PredictionKernel
    target_kernel: TargetKernel

    def __post_init__(self) -> None:
        if not isinstance(self.prediction_kernel, PredictionKernel):
            raise TypeError(
                f"prediction_kernel: got {self.prediction_kernel!r}, wanted a kernel of predictions, "
                "e.g. ExponentialKernel(TotalVariation()); the prediction kernel comes first"
            )
        if isinstance(self.prediction_kernel, RadialKernel) and isinstance(self.prediction_kernel.bandwidth, tuple):
            raise TypeError(
                f"prediction_kernel: got bandwidths {self.prediction_kernel.bandwidth}, wanted one number: only "
                "vector targets have one for each dimension"
            )
        if not isinstance(self.target_kernel, TargetKernel):
            raise TypeError(
                f"target_kernel: got {self.target_kernel!r}, wanted a kernel of targets, "
                "e.g. DeltaKernel() for classes or GaussianKernel(bandwidth=1.0) for real targets"
            )
        for _, term in self.target_kernel.weighted_terms:
            if isinstance(term, RadialKernel) and not isinstance(term.metric, Euclidean):
                raise TypeError(
                    f"target_kernel: got a kernel of the {term.metric.label} distance, which compares "
                    "predicted distributions; leave out the metric for a kernel of targets"
                )

    @property
    def products(self) -> "tuple[ProductKernel, ...]":
        return (self,)

    @property
    def total_variation_bandwidth(self) -> float | None:
        """b, if the kernel is ``exp(-TV / b) [y = y']``."""
        form = self.prediction_kernel.distance_form
        if form is None or not self.target_kernel.is_identity or not isinstance(form.metric, TotalVariation):
            return None
        is_exponential = form.function.kind == EXPONENTIAL and form.function.exponent == 1.0
        return 1.0 / (form.function.stretch * form.inverse_width) if is_exponential else None

    def resolve(self, predictions: Predicted) -> Self:
        return type(self)(
            self.prediction_kernel.resolve(predictions), self.target_kernel.resolve_for_targets(predictions)
        )


@dataclass(frozen=True)
class SumOfProducts(PairKernel):
    """``sum_i k_i(p, p') l_i(y, y')``, made by adding product kernels.

    With ``MatrixKernel`` as l_i it is the general matrix-valued kernel ``sum_i k_i(p, p') A_i`` of Widmann et al. 2019,
    Example D.1. Costs as much as its terms together.

    Parameters
    ----------
    terms
        The product kernels.

    Examples
    --------
    >>> import caltest as ct
    >>> sharp = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), 0.1), ct.DeltaKernel())
    >>> similarity = ct.kernels.MatrixKernel([[2, 1], [1, 2]])
    >>> wide = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), 1.0), similarity)
    >>> print((sharp + wide).describe())
    exp(-TV / 0.1) x [y = y'] + exp(-TV / 1) x A[y, y'] (2 x 2)
    """

    terms: tuple[ProductKernel, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.terms, Iterable) or getattr(self.terms, "ndim", 1) == 0:
            raise TypeError(f"terms: got {self.terms!r}, wanted a sequence of product kernels")
        object.__setattr__(self, "terms", tuple(self.terms))
        if not self.terms:
            raise ValueError("terms: got none, wanted product kernels")
        for term in self.terms:
            if not isinstance(term, ProductKernel):
                raise TypeError(
                    f"kernel: got {term!r} in a sum, wanted ProductKernel(prediction_kernel, target_kernel)"
                )

    @property
    def products(self) -> tuple[ProductKernel, ...]:
        return self.terms

    def resolve(self, predictions: Predicted) -> Self:
        return type(self)(tuple(term.resolve(predictions) for term in self.terms))


def a_product_kernel(name: str, kernel: Any) -> ProductKernel:
    """A single one, no sum."""
    kernel = a_pair_kernel(name, kernel)
    if not isinstance(kernel, ProductKernel):
        got = "a sum of product kernels" if isinstance(kernel, SumOfProducts) else repr(kernel)
        raise TypeError(f"{name}: got {got}, wanted a single ProductKernel, such as predictions.default_kernel()")
    return kernel
