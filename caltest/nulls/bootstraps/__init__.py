"""Resamples of the data in place of redraws from the predictions."""
