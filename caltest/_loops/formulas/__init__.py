"""Kernels, and their expectations under single distributions, as compiled functions."""
