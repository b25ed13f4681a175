"""Confidence intervals for kernel and binned calibration errors.

Of the SKCE ``jackknife`` is approximate and short, ``distribution_free`` holds for every n and is wide. ``binned`` is
for the squared binned error, ``ece`` for binned errors of any order.
"""

from caltest.intervals.binned import binned_error_interval
from caltest.intervals.distribution_free import distribution_free_interval
from caltest.intervals.ece import ece_interval
from caltest.intervals.jackknife import skce_interval

__all__ = ["binned_error_interval", "distribution_free_interval", "ece_interval", "skce_interval"]
