"""``caltest test PREDICTIONS OUTCOMES``."""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

from caltest._basics.numerics import FloatArray
from caltest._basics.threads import in_terminal
from caltest._results.calibration_test_result import CalibrationTestResult
from caltest._results.report import EXCLUDED, format_pvalue, in_brackets
from caltest._results.tables import Table
from caltest.cli.named import TESTS, WEIGHTED, kernel_of, names_help, prepared
from caltest.cli.options import add, command, outcomes_of, show
from caltest.cli.prediction_files import check_different, read_sample, read_weights
from caltest.default_test import weighted
from caltest.predictions import Sample


def add_to(commands: Any) -> None:
    """Add the command to the parser."""
    parser = command(
        commands,
        run,
        "test",
        "test predictions in a file",
        ("network.csv labels.csv", "network.csv labels.csv --test ece --format json --seed 1"),
        "Test whether the predictions in a file are calibrated.",
        f"tests:\n{names_help()}",
    )
    add(parser, "predictions")
    add(parser, "outcomes", nargs="?")
    add(parser, "--outcome-column")
    add(parser, "--test")
    parser.add_argument("--bandwidth", type=float, metavar="B", help="of the kernel (default: median distance)")
    weights = "one column of numbers of at least 0 that do not depend on outcomes; for the tests " + ", ".join(WEIGHTED)
    parser.add_argument("--weights", type=Path, metavar="FILE", help=weights)
    add(parser, "--missing", "--normal", "--format", "--alpha", "--seed", "--fail-on-reject")
    parser.add_argument("--json", action="store_const", const="json", dest="format", help="the same as --format json")


def run(options: argparse.Namespace) -> int:
    """Test, print, and return 1 if calibration is rejected and that is asked for, else 0."""
    sample, weights, left_out = _read(options)
    sample = prepared(options.test, sample)
    kernel, notes = kernel_of(options.test, options.bandwidth, sample)
    test = TESTS[options.test].of(kernel) if weights is None else WEIGHTED[options.test](kernel, weights)
    result = test.on(sample, rng=options.seed, progress=in_terminal())
    result = replace(result, notes=(*result.notes, *left_out, *notes))
    rejected = result.pvalue <= options.alpha
    judged = {
        "alpha": options.alpha,
        "rejected": bool(rejected),
        "verdict": result.verdict(options.alpha),
        "why": result.why(options.alpha),
    }
    show(options.format, lambda: result.summary(options.alpha), result.to_dict() | judged, table(result, options.alpha))
    return int(options.fail_on_reject and rejected)


def _read(options: argparse.Namespace) -> tuple[Sample, FloatArray | None, tuple[str, ...]]:
    """The sample, its weights if there are some, and a note on rows without weight."""
    if options.weights is not None and options.test not in WEIGHTED:
        raise ValueError(
            f"--weights: got a file for the test {options.test}, which takes none; wanted {' or '.join(WEIGHTED)}"
        )
    paths = (options.predictions, options.outcomes, options.weights)
    check_different([path for path in paths if path is not None])
    outcomes = outcomes_of(options)
    sample, n = read_sample(options.predictions, outcomes, options.normal, options.missing)
    if options.weights is None:
        return sample, None, ()
    return weighted(sample, read_weights(options.weights, n), n)


def table(result: CalibrationTestResult, alpha: float) -> Table:
    """The most important entries of a result, with its verdict at a level."""
    rows = [["quantity", "value"], ["test", result.test], ["n", str(result.n)], ["estimate", f"{result.estimate:.6g}"]]
    if result.effect_size is not None:
        rows.append(["effect size", str(result.effect_size)])
    rows.append(["statistic", f"{result.statistic:.6g} ({result.statistic_name})"])
    p = result.pvalue if result.pvalue_otherwise is None else result.pvalue_otherwise
    text = format_pvalue(p) + in_brackets(p, result.n_resamples, result.pvalue_kind)
    rows += [["p-value", text]] if result.pvalue_otherwise is None else [["p-value", f"0 ({EXCLUDED})"]]
    rows += [] if result.pvalue_otherwise is None else [["other rows", text]]
    why = result.why(alpha)
    return [*rows, ["verdict", result.verdict(alpha)], *([] if why is None else [["why", why]])]
