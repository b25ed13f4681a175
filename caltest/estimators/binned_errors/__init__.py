"""Calibration errors of claims that are close to each other: in bins, in soft bins, and smoothed."""
