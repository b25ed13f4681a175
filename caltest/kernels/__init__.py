"""Kernels of predicted distributions and of targets, and the distances they are made of.

A kernel of pairs is a ``ProductKernel`` of a kernel of predictions and one of targets, or a ``SumOfProducts``.
Kernels of a distance: ``ExponentialKernel``, ``GaussianKernel``, ``LaplacianKernel``, ``MaternKernel``,
``RationalQuadraticKernel``; of what predictions have in common ``OverlapKernel``. Of classes: ``DeltaKernel``,
``MatrixKernel``. Sums: ``SumKernel``. Distances of predictions: ``TotalVariation``, ``Euclidean``,
``SquaredEuclidean``, ``Cityblock``, ``Wasserstein``, ``Wasserstein1``, ``MixtureWasserstein``, ``EnergyDistance``,
``MMD``.

Kernels and distances of your own derive from ``PredictionKernel``, ``TargetKernel``, ``PairKernel``, ``RadialKernel``,
``Metric`` or ``VectorMetric``. ``KernelWarning`` warns of kernels that are not positive definite.
"""

from caltest._basics import offered as _offered
from caltest.kernels.base import (
    KernelWarning as KernelWarning,
    PredictionKernel as PredictionKernel,
    SumKernel as SumKernel,
    TargetKernel as TargetKernel,
)
from caltest.kernels.functions import (
    ExponentialKernel as ExponentialKernel,
    GaussianKernel as GaussianKernel,
    LaplacianKernel as LaplacianKernel,
    MaternKernel as MaternKernel,
    OverlapKernel as OverlapKernel,
    RationalQuadraticKernel as RationalQuadraticKernel,
)
from caltest.kernels.matrix import DeltaKernel as DeltaKernel, MatrixKernel as MatrixKernel
from caltest.kernels.metrics.discrepancies import (
    MMD as MMD,
    EnergyDistance as EnergyDistance,
    MixtureWasserstein as MixtureWasserstein,
)
from caltest.kernels.metrics.vector_metrics import (
    Cityblock as Cityblock,
    Euclidean as Euclidean,
    Metric as Metric,
    SquaredEuclidean as SquaredEuclidean,
    TotalVariation as TotalVariation,
    VectorMetric as VectorMetric,
    Wasserstein as Wasserstein,
    Wasserstein1 as Wasserstein1,
)
from caltest.kernels.product import (
    PairKernel as PairKernel,
    ProductKernel as ProductKernel,
    SumOfProducts as SumOfProducts,
)
from caltest.kernels.radial import RadialKernel as RadialKernel

__all__ = _offered(globals())
