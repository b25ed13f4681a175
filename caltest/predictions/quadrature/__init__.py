"""Expectations of kernels under densities of a real target that have no closed form, by piecewise polynomials."""
