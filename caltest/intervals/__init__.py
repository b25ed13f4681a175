"""Confidence intervals for the squared kernel calibration error.

``jackknife`` is approximate and short, ``distribution_free`` holds for every n and is wide.
"""

from caltest.intervals.binned import binned_error_interval
from caltest.intervals.distribution_free import distribution_free_interval
from caltest.intervals.jackknife import skce_interval

__all__ = ["binned_error_interval", "distribution_free_interval", "skce_interval"]
