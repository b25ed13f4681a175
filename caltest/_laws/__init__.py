"""Distributions: tails of sums of chi-squared variables, Pearson type III, functionals of Brownian motion."""
