"""Kernels: of predicted distributions, of targets, and their product."""

from caltest.kernels.base import KernelWarning, PredictionKernel, TargetKernel
from caltest.kernels.metrics import Cityblock, Euclidean, Metric, SquaredEuclidean, TotalVariation, Wasserstein
from caltest.kernels.product import ProductKernel
from caltest.kernels.radial import ExponentialKernel, GaussianKernel, RadialKernel
from caltest.kernels.targets import DeltaKernel

__all__ = [
    "Cityblock",
    "DeltaKernel",
    "Euclidean",
    "ExponentialKernel",
    "GaussianKernel",
    "KernelWarning",
    "Metric",
    "PredictionKernel",
    "ProductKernel",
    "RadialKernel",
    "SquaredEuclidean",
    "TargetKernel",
    "TotalVariation",
    "Wasserstein",
]
