"""Sums of kernels over pairs of observations."""
