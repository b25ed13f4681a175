"""Warnings that point at the line of the user."""

import sys
import warnings

INSIDE = {"caltest", "contextlib", "numpy"}
"""The package, and what decorates its functions."""


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the innermost line outside the package."""
    level = 2
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in INSIDE:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
