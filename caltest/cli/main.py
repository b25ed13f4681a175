"""Commands, their arguments, and exit statuses."""

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any, cast

from caltest.cli import audit, compare, demo, options, power, recalibrate, test

STATUSES = "exit status: 0 done, 1 rejected (--fail-on), 2 bad input, 130 interrupted"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status: 0 if all went well, 2 for bad input, 130 if interrupted.

    With ``--fail-on`` it is 1 if calibration is rejected.
    """
    try:
        with warnings.catch_warnings():
            warnings.showwarning = cast("Any", _show_warning)
            return _run(arguments)
    except BrokenPipeError:
        # The reader of the output has gone.
        _write_no_more()
        return 0
    except KeyboardInterrupt:
        return _failed("interrupted", 130)
    except (OSError, ValueError, TypeError, MemoryError) as error:
        return _failed(f"error: {error or 'out of memory'}", 2)
    except Exception as error:
        return _failed(f"error: {type(error).__name__}: {error} (a fault of caltest: please report the command)", 2)


def _run(arguments: Sequence[str] | None) -> int:
    try:
        given = _parser().parse_args(arguments)
        return int(given.run(given))
    finally:
        if sys.stdout is not None:
            sys.stdout.flush()


def _failed(text: str, status: int) -> int:
    if sys.stderr is not None:
        print(f"caltest: {options.message(text)}".replace("\n", "\\n"), file=sys.stderr)
    _write_no_more()
    return status


def _write_no_more() -> None:
    """Keep the interpreter from writing what is left, where that fails."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except (OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _show_warning(warning: Warning | str, *_: Any) -> None:
    if sys.stderr is not None:
        print(f"caltest: warning: {options.message(str(warning))}", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    import caltest

    parser = argparse.ArgumentParser(
        prog="caltest",
        description="Test whether predicted probabilities are calibrated.",
        epilog=STATUSES,
        formatter_class=options.Narrow,
    )
    parser.add_argument("--version", action="version", version=f"caltest {caltest.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in (test, audit, compare, power, recalibrate, demo):
        command.add_to(commands)
    return parser
