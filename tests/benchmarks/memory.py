"""Peak memory of this process since a mark."""

import resource
import sys
from pathlib import Path

STATUS = Path("/proc/self/status")
CLEAR = Path("/proc/self/clear_refs")
FORGET_PEAK = "5"
"""What Linux wants to be told to make the present size the peak."""


def mark():
    """Forget the peak so far where the system can, and return the peak in MB: later ones are compared with it."""
    try:
        CLEAR.write_text(FORGET_PEAK)
    except OSError:
        return _largest_ever()
    return peak()


def peak():
    """Largest resident set in MB: since the mark on Linux, ever elsewhere."""
    if not STATUS.exists():
        return _largest_ever()
    lines = STATUS.read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def _largest_ever():
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size / 2**20 if sys.platform == "darwin" else size / 2**10
