"""Smaller problems inside of predictions: the top label, residuals, coverage of intervals."""
