"""Distributions: limit laws of quadratic statistics, Pearson type III, functionals of Brownian motion."""
