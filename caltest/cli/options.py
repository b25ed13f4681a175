"""Options that several commands share, and how results are printed."""

import argparse
import csv
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast, get_args

from caltest._basics.calls import printable
from caltest._results.measures import matters
from caltest._results.tables import Table, latex, markdown
from caltest.cli.named import TESTS
from caltest.predictions.inputs.convert import Missing

N = TypeVar("N", int, float)

FORMATS = ("table", "json", "markdown", "latex")


def _number(kind: Callable[[str], N], is_right: Callable[[N], bool], wanted: str) -> Callable[[str], N]:
    def number_of(text: str) -> N:
        try:
            number = kind(text)
        except ValueError:
            number = None
        if number is None or not is_right(number):
            raise argparse.ArgumentTypeError(f"got {text!r}, wanted {wanted}")
        return number

    return number_of


level = _number(float, lambda number: 0.0 < number < 1.0, "a number between 0 and 1")
whole = _number(int, lambda number: number >= 1, "a whole number of at least 1")
seed = _number(int, lambda number: number >= 0, "a whole number of at least 0")


def comma_separated(text: str) -> list[str]:
    """Names of columns with commas between them; those that have commas are in quotes, as in CSV files."""
    return [name.strip() for name in next(csv.reader([text], skipinitialspace=True), [""])]


def _family(name: str, what: str) -> dict[str, Any]:
    return {"action": "store_const", "const": name, "dest": "family", "default": "", "help": what}


OPTIONS: dict[str, dict[str, Any]] = {
    "predictions": {
        "type": Path,
        "help": "a file, - for stdin: a column per class, or one, the probability of class 1",
    },
    "outcomes": {"type": Path, "nargs": "?", "help": "a file, - for stdin: labels 0..k-1, or column names"},
    "--outcome-column": {"metavar": "NAME", "help": "column of PREDICTIONS, in place of OUTCOMES"},
    "--columns": {
        "type": comma_separated,
        "default": [],
        "metavar": "NAMES",
        "help": "columns of predictions: a,b (default: all others)",
    },
    "--classes": {
        "type": comma_separated,
        "default": [],
        "metavar": "NAMES",
        "help": "of the outcomes 0, 1, ...: survived,died",
    },
    "--clusters": {
        "metavar": "NAME",
        "type": comma_separated,
        "help": "the same, or two, a,b: rows of one cluster depend on each other",
    },
    "--lag": {
        "type": whole,
        "default": 1,
        "metavar": "H",
        "help": "for forecasts H rows ahead, as ordered (default: 1)",
    },
    "--test": {"choices": TESTS, "default": "omnibus", "metavar": "NAME", "help": "one of those below"},
    "--n-resamples": {"type": whole, "metavar": "B", "default": 999, "help": "redraws of each test (default: 999)"},
    "--missing": {
        "choices": get_args(Missing),
        "default": "refuse",
        "metavar": "M",
        "help": "refuse (default) | drop missing outcomes",
    },
    "--normal": _family("normal", "the two columns are mean and standard deviation"),
    "--members": _family("members", "the columns are members of an ensemble, or draws"),
    "--format": {"choices": FORMATS, "default": "table", "metavar": "F", "help": " | ".join(FORMATS)},
    "--alpha": {"type": level, "default": 0.05, "metavar": "A", "help": "level of the test (default: 0.05)"},
    "--seed": {"type": seed, "metavar": "S", "help": "of the random numbers, to reproduce a result"},
    "--fail-on": {
        "choices": ("never", "reject", "matters"),
        "default": "never",
        "metavar": "F",
        "help": "exit with 1 if calibration is rejected: never (default) | reject | matters: unless the error is too "
        "small to matter",
    },
    "--fail-on-reject": {"action": "store_const", "const": "reject", "dest": "fail_on", "help": argparse.SUPPRESS},
    "--json": {"action": "store_const", "const": "json", "dest": "format", "help": argparse.SUPPRESS},
}
"""Arguments of several commands; those without help are short for ``--fail-on reject`` and ``--format json``."""

JUDGED = "--n-resamples", "--alpha", "--seed", "--fail-on", "--fail-on-reject", "--format", "--json"
"""Those of all commands that test."""


def add(parser: argparse.ArgumentParser, *names: str, **changes: Any) -> None:
    """Add some of these arguments, possibly changed."""
    for name in names:
        parser.add_argument(name, **{**OPTIONS[name], **changes})


LONGEST = 2000
"""Characters of a message; longer ones lose their middle."""


def message(text: str) -> str:
    """Printable text for standard error, not longer than a screen."""
    text = printable(text)
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]} [...] {text[-LONGEST // 2 :]}"


def show(given: argparse.Namespace, result: Any, table: Table | None = None, **more: Any) -> int:
    """Print a result in the format that was asked for, and return the exit status.

    JSON has, beside what the result has, the level, the verdict there, whether calibration is rejected, the names for
    which it is where there are several, the p-value and the seed, and ``more``.
    """
    level, pvalue = given.alpha, getattr(result, "pvalue", None)
    judged = {"alpha": level, "verdict": result.sentence() if pvalue is None else result.verdict(level)}
    if pvalue is not None:
        judged |= {"pvalue": pvalue, "rejected": bool(pvalue <= level)}
    if hasattr(result, "rejected"):
        judged["rejected_names"] = list(result.rejected(level))
    entries = {"seed": None} | result.to_dict() | judged | more
    shown = (result.table(), result.remarks()) if table is None else (table, ())
    made: dict[str, Callable[[], str]] = {
        "table": lambda: (result.summary() if pvalue is None else result.summary(level)).narrow(),
        "json": lambda: json.dumps(entries, indent=2),
        "markdown": lambda: markdown(*shown),
        "latex": lambda: latex(*shown),
    }
    try:
        print(printable(made[given.format]()), flush=True)
    except BrokenPipeError:
        # The reader has gone, which does not change what the status has to say.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    fail_on = getattr(given, "fail_on", "never")
    is_small = fail_on == "matters" and matters(getattr(result, "measures", ())) is False
    return int(fail_on != "never" and bool(entries["rejected"]) and not is_small)


class Narrow(argparse.RawDescriptionHelpFormatter):
    """Help in lines of at most 80 characters."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=26, width=80)


def outcomes_of(options: argparse.Namespace) -> Path | str:
    """Where outcomes are: a file, or the name of a column of the predictions; anything else is an error of usage."""
    if (options.outcomes is None) == (options.outcome_column is None):
        options.error("wanted OUTCOMES or --outcome-column NAME, one of both")
    return cast("Path | str", options.outcomes if options.outcome_column is None else options.outcome_column)


def command(
    commands: Any,
    run: Any,
    name: str,
    summary: str,
    examples: Sequence[str],
    description: str,
    epilog: str | None = None,
) -> Any:
    """A parser of a command, whose help begins with examples, and what it runs."""
    shown = "".join(f"  caltest {name} {example}".rstrip() + "\n" for example in examples)
    text = f"examples:\n{shown}\n{description}"
    parser = commands.add_parser(name, help=summary, description=text, epilog=epilog, formatter_class=Narrow)
    parser.set_defaults(run=run, error=parser.error)
    return parser
