"""Kernels summed over pairs of finite sums of weighted points, such as the members of ensembles."""

from caltest.predictions.measures.measures import Measures
from caltest.predictions.measures.sums import distance_sums, kernel_sums, mixture_sums

__all__ = ["Measures", "distance_sums", "kernel_sums", "mixture_sums"]
