"""Commands, their arguments, and exit statuses."""

import argparse
import os
import sys
from collections.abc import Sequence

from caltest.cli import compare, demo, power, recalibrate, test

STATUSES = "exit status: 0 done, 1 rejected (--fail-on-reject), 2 bad input"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status: 0 if all went well, 2 for bad input.

    With ``--fail-on-reject`` it is 1 if calibration is rejected.
    """
    options = _parser().parse_args(arguments)
    try:
        status = int(options.run(options))
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        # The reader of the output has gone; the interpreter must not try to write what is left.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (OSError, ValueError, TypeError, MemoryError) as error:
        print(f"caltest: error: {error}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    import caltest

    parser = argparse.ArgumentParser(
        prog="caltest", description="Test whether predicted probabilities are calibrated.", epilog=STATUSES
    )
    parser.add_argument("--version", action="version", version=f"caltest {caltest.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in (test, compare, power, recalibrate, demo):
        command.add_to(commands)
    return parser
