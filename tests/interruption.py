"""Errors in the middle of a call."""

import sys


def broken_at(function, line, error, *arguments):
    """Call a function and raise an error at the line-th line of caltest that it reaches; whether it was reached."""
    reached = 0

    def trace(frame, event, _):
        nonlocal reached
        if "caltest" not in frame.f_code.co_filename:
            return None
        if event == "line":
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
