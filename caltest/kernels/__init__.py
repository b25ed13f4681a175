"""Kernels: of predicted distributions, of targets, and their product."""

from caltest.kernels.base import KernelWarning, PredictionKernel, TargetKernel
from caltest.kernels.discrepancies import MMD, EnergyDistance
from caltest.kernels.exponential import ExponentialKernel, LaplacianKernel
from caltest.kernels.gaussian import GaussianKernel
from caltest.kernels.matern import MaternKernel
from caltest.kernels.matrix import DeltaKernel, MatrixKernel
from caltest.kernels.metrics import (
    Cityblock,
    Euclidean,
    Metric,
    SquaredEuclidean,
    TotalVariation,
    VectorMetric,
    Wasserstein,
    Wasserstein1,
)
from caltest.kernels.mixture_wasserstein import MixtureWasserstein
from caltest.kernels.product import PairKernel, ProductKernel, SumOfProducts
from caltest.kernels.radial import RadialKernel
from caltest.kernels.rational_quadratic import RationalQuadraticKernel
from caltest.kernels.sums import SumKernel

__all__ = [
    "MMD",
    "Cityblock",
    "DeltaKernel",
    "EnergyDistance",
    "Euclidean",
    "ExponentialKernel",
    "GaussianKernel",
    "KernelWarning",
    "LaplacianKernel",
    "MaternKernel",
    "MatrixKernel",
    "Metric",
    "MixtureWasserstein",
    "PairKernel",
    "PredictionKernel",
    "ProductKernel",
    "RadialKernel",
    "RationalQuadraticKernel",
    "SquaredEuclidean",
    "SumKernel",
    "SumOfProducts",
    "TargetKernel",
    "TotalVariation",
    "VectorMetric",
    "Wasserstein",
    "Wasserstein1",
]
