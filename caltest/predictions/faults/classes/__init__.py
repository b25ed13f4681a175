"""Faults of predicted probabilities: of several classes, of two, of ordered ones, and of intervals of quantiles."""
