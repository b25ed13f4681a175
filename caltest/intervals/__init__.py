"""Confidence intervals for kernel and binned calibration errors.

Of the SKCE ``jackknife`` is approximate and short, ``distribution_free`` holds for every n and is wide. ``binned`` is
for the squared binned error, ``ece`` for binned errors of any order.
"""
