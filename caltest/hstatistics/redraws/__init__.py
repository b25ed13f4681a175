"""Sums of h for many redraws of the targets."""
