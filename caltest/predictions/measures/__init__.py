"""Kernels summed over pairs of finite sums of weighted points, such as the members of ensembles."""
