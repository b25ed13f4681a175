"""Errors in the middle of a call."""

import linecache
import sys
from pathlib import Path

import caltest

PACKAGE = str(Path(caltest.__file__).parent)
"""Errors in lines of other packages, such as those of an environment of that name, can leave Python in a bad state."""


def broken_at(function, line, error, *arguments):
    """Call a function and raise an error at the line-th line of caltest that it reaches; whether it was reached.

    Lines that begin a ``with`` block do not count: Python traces them when the block is left too, where an error would
    keep it from being closed. Signals are not taken there.
    """
    reached = 0

    def trace(frame, event, _):
        nonlocal reached
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        if event == "line":
            if linecache.getline(frame.f_code.co_filename, frame.f_lineno).lstrip().startswith("with "):
                return trace
            reached += 1
            if reached == line:
                raise error
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        function(*arguments)
    except error:
        pass
    finally:
        sys.settrace(before)
    return reached >= line
