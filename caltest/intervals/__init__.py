"""Confidence intervals for kernel and binned calibration errors."""
