"""``caltest audit PREDICTIONS OUTCOMES``."""

import argparse
from pathlib import Path
from typing import Any

from caltest._basics.numerics import Array
from caltest._basics.threads import in_terminal
from caltest.auditing.audit import audit
from caltest.auditing.fields import FIELDS
from caltest.cli.options import add, command, outcomes_of, show
from caltest.cli.prediction_files import check_outputs, read_columns, read_sample


def add_to(commands: Any) -> None:
    """Add the command to the parser."""
    parser = command(
        commands,
        run,
        "audit",
        "one report: is it calibrated, how wrong is it, for whom, what to do",
        (
            "network.csv labels.csv --output audit.html",
            "network.csv labels.csv --features patients.csv --output audit.xml --fail-on matters",
        ),
        "Test, measure and explain the calibration of a model, for whoever has to decide about it.",
    )
    add(parser, "predictions")
    add(parser, "outcomes", nargs="?")
    add(parser, "--outcome-column", "--columns")
    outputs = "report to write: .html (needs caltest[report]), .json, .xml (JUnit) or .txt"
    parser.add_argument("--output", type=Path, metavar="FILE", help=outputs)
    parser.add_argument("--features", type=Path, metavar="FILE", help="CSV with a header: columns that make groups")
    parser.add_argument("--time", metavar="NAME", help="column of the features by which rows are ordered")
    parser.add_argument("--clusters", metavar="NAME", help="column of the features: rows of a cluster are dependent")
    parser.add_argument("--field", metavar="NAME", help=f"adds what a field expects: {' | '.join(FIELDS)}")
    parser.add_argument("--title", default="Calibration audit", help="of the report")
    choices = ("never", "reject", "matters")
    failing = "exit with 1 if calibration is rejected, or if the error may matter, too (default: never)"
    parser.add_argument(
        "--fail-on", choices=choices, default="never", metavar="F", help=f"{' | '.join(choices)}: {failing}"
    )
    parser.add_argument("--force", action="store_true", help="replace FILE if it exists")
    add(parser, "--n-resamples", default=999, help="redraws of each test (default: 999)")
    add(parser, "--missing", "--normal", "--format", "--seed")


def run(options: argparse.Namespace) -> int:
    """Audit, write and print the report; return 1 if the model fails and that is asked for, else 0."""
    inputs = [path for path in (options.predictions, options.outcomes, options.features) if path is not None]
    check_outputs({"--output": options.output}, inputs, options.force, (".html", ".json", ".xml", ".txt"))
    outcomes = outcomes_of(options)
    sample, n = read_sample(options.predictions, outcomes, options.normal, options.missing, options.columns)
    columns = {} if options.features is None else read_columns(options.features, n, sample)
    time, clusters = (_taken(columns, option, getattr(options, option)) for option in ("time", "clusters"))
    found = audit(
        sample.predictions,
        sample.as_given,
        clusters=clusters,
        features=columns or None,
        time=time,
        field=options.field,
        n_resamples=options.n_resamples,
        title=options.title,
        rng=options.seed,
        progress=in_terminal(),
    )
    if options.output is not None:
        found.save(options.output, force=options.force, fail_on=_criterion(options.fail_on))
    show(options.format, found.summary, found.to_dict(), found.table())
    return int(not found.passed(options.fail_on))


def _taken(columns: dict[str, Array], option: str, name: str | None) -> Array | None:
    """The column that an option names, which is no feature then."""
    if name is not None and name not in columns:
        raise ValueError(f"--{option}: got {name!r}, wanted a column of --features: {', '.join(columns) or 'none'}")
    return None if name is None else columns.pop(name)


def _criterion(fail_on: str) -> str:
    """What fails in a file for continuous integration, where a suite that cannot fail is of no use."""
    return "reject" if fail_on == "never" else fail_on
