"""``caltest compare PREDICTIONS PREDICTIONS ... OUTCOMES``."""

import argparse
from pathlib import Path
from typing import Any

from caltest._basics.files import is_stdin, name_of
from caltest._basics.threads import in_terminal
from caltest.cli.inputs.prediction_files import read_models, read_outcomes, read_sample
from caltest.cli.options import JUDGED, add, command, show
from caltest.cli.outputs import check_different
from caltest.comparisons.models import compared
from caltest.comparisons.pairs import pairs_of_samples
from caltest.predictions import Sample


def add_to(commands: Any) -> None:
    """Add the command to the parser."""
    parser = command(
        commands,
        run,
        "compare",
        "compare models with the same outcomes",
        ("network.csv forest.csv labels.csv", "risks.csv --outcome-column died --columns old,new --pairs"),
        "Compare the calibration of several models: estimates, intervals, and p-values\n"
        "that are adjusted for the number of models.",
    )
    models = "files of predictions, and last of outcomes; or one file with a column for each model of binary outcomes"
    add(parser, "predictions", nargs="+", help=models)
    add(parser, "--outcome-column", "--columns", "--classes")
    parser.add_argument("--pairs", action="store_true", help="test which models differ from each other instead")
    add(parser, "--missing", "--normal", "--members", *JUDGED)


def run(options: argparse.Namespace) -> int:
    """Compare, print, and return 1 if a model is rejected, or a pair differs, and that is asked for, else 0."""
    samples = _read(options)
    if options.pairs:
        return show(options, pairs_of_samples(samples, None, 0.95))
    return show(options, compared(samples, "model", options.n_resamples, options.seed, in_terminal()))


def _read(options: argparse.Namespace) -> dict[str, Sample]:
    *paths, last = options.predictions
    if options.outcome_column is not None:
        if paths or options.family:
            raise ValueError("--outcome-column: got several files or numbers, wanted one with a column for each model")
        return read_models(last, options.outcome_column, options.missing, options.columns, options.classes)
    if options.columns:
        raise ValueError("--columns: got it without --outcome-column, wanted both, with one file")
    if not paths:
        options.error("wanted PREDICTIONS and OUTCOMES, or --outcome-column NAME")
    check_different(options.predictions)
    outcomes = read_outcomes(last)
    pairs = zip(model_names(paths), paths, strict=True)
    how = options.family, options.missing, (), (), options.classes
    return {name: read_sample(path, outcomes, *how)[0].pooled() for name, path in pairs}


def model_names(paths: list[Path]) -> list[str]:
    """Names of files without folders and suffixes; whole paths where these are not all different."""
    names = [name_of(path) if is_stdin(path) else path.name.split(".")[0] for path in paths]
    return names if len(set(names)) == len(names) else list(map(str, paths))
