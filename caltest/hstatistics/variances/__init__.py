"""Variances of sums of h, from the data or from the predictions."""
