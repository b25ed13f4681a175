"""The command line: ``caltest test PREDICTIONS OUTCOMES`` and ``caltest demo``."""

import argparse
import gzip
import json
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

import caltest as ct
from caltest._types import Array
from caltest.predictions import Sample, as_sample, reduce_to_top_label, top_label_outcomes
from caltest.result import format_pvalue

TestMaker = Callable[[Sample], ct.CalibrationTest]

TESTS: dict[str, tuple[str, TestMaker]] = {
    "skce": (
        "kernel error, exact Monte Carlo (default)",
        lambda s: ct.MonteCarloTest(ct.SKCE(s.predictions.default_kernel())),
    ),
    "skce-bootstrap": ("kernel error, bootstrap", lambda s: ct.AsymptoticSKCETest(s.predictions.default_kernel())),
    "skce-blocks": (
        "kernel error of pairs, normal limit; fast for millions of rows",
        lambda s: ct.AsymptoticBlockSKCETest(s.predictions.default_kernel()),
    ),
    "skce-bound": (
        "kernel error, distribution-free bound",
        lambda s: ct.DistributionFreeSKCETest(ct.SKCE(s.predictions.default_kernel())),
    ),
    "mmce": ("kernel error of the top label, exact Monte Carlo", lambda s: ct.MonteCarloTest(ct.MMCE())),
    "ece": (
        "binned error of the whole simplex, 10 bins a class, exact Monte Carlo",
        lambda s: ct.MonteCarloTest(ct.ECE(ct.UniformBinning(10))),
    ),
    "ece-top-label": (
        "binned error of the top label, 15 bins, exact Monte Carlo",
        lambda s: ct.MonteCarloTest(ct.ECE()),
    ),
    "ece-consistency": (
        "binned error of the whole simplex, consistency resampling (to reproduce papers)",
        lambda s: ct.ConsistencyTest(ct.ECE(ct.UniformBinning(10))),
    ),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status: 0 if all went well, 2 for bad input."""
    options = _parser().parse_args(arguments)
    try:
        status = int(options.run(options))
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        # The reader of the output has gone; the interpreter must not try to write what is left.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (OSError, ValueError, TypeError) as error:
        print(f"caltest: error: {error}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="caltest", description="Test whether predicted probabilities are calibrated.")
    parser.add_argument("--version", action="version", version=f"caltest {ct.__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    names = "\n".join(f"  {name:<16} {text}" for name, (text, _) in TESTS.items())
    test = commands.add_parser(
        "test",
        help="test predictions in a file",
        description="Test whether the predictions in a file are calibrated.",
        epilog=f"tests:\n{names}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    test.add_argument(
        "predictions",
        type=Path,
        help="CSV (also .gz) or .npy: a column per class, or one column with the probability of class 1; "
        "a header is optional",
    )
    test.add_argument(
        "outcomes", type=Path, help="CSV (also .gz) or .npy, one column: labels 0..k-1, or names as in the header"
    )
    test.add_argument("--test", choices=TESTS, default="skce", metavar="NAME", help="one of those below")
    test.add_argument("--normal", action="store_true", help="the two columns are mean and standard deviation")
    test.add_argument("--json", action="store_true", help="print the result as JSON")
    test.add_argument("--seed", type=int, help="seed of the random numbers, to reproduce a result")
    test.set_defaults(run=_test)
    demo = commands.add_parser("demo", help="test three models of handwritten digits")
    demo.add_argument("--seed", type=int, default=1, help="seed of the random numbers")
    demo.set_defaults(run=_demo)
    return parser


def _test(options: argparse.Namespace) -> int:
    sample = read_sample(options.predictions, options.outcomes, normal=options.normal)
    if options.test == "ece-top-label" and isinstance(sample.predictions, ct.Categorical):
        sample = Sample(reduce_to_top_label(sample.predictions), top_label_outcomes(sample.predictions, sample.targets))
    result = TESTS[options.test][1](sample).on(sample, rng=options.seed)
    print(json.dumps(result.to_dict(), indent=2) if options.json else result)
    return 0


def read_sample(predictions: Path, outcomes: Path, normal: bool = False) -> Sample:
    """Predictions and outcomes from files."""
    columns, table = _read_numbers(predictions)
    targets = _read_outcomes(outcomes, columns)
    if table.shape[0] != targets.shape[0]:
        raise ValueError(
            f"{outcomes}: got {targets.shape[0]} outcomes, wanted {table.shape[0]}, one per row of {predictions}; "
            "a header must not be a number"
        )
    if normal:
        if table.shape[1] != 2:
            raise ValueError(f"{predictions}: got {table.shape[1]} columns, wanted 2: mean and standard deviation")
        return as_sample(ct.Normal(table[:, 0], table[:, 1]), targets)
    names = columns if targets.dtype.kind == "U" else None
    return as_sample(table[:, 0] if table.shape[1] == 1 else table, targets, names)


def _read_numbers(path: Path) -> tuple[list[str] | None, Array]:
    """Column names, if there are any, and the table of numbers."""
    if path.suffix == ".npy":
        array = np.load(path, allow_pickle=False)
        return None, array[:, None] if array.ndim == 1 else array
    lines, delimiter = _lines(path)
    first = _cells(lines[0], delimiter)
    header = not all(_is_number(cell) for cell in first) or _counts_up(first)
    if header and first[0] == "":
        raise ValueError(f"{path}: the first column has no name and looks like row numbers; save without the index")
    body = lines[1:] if header else lines
    if not body:
        raise ValueError(f"{path}: got no rows after the header, wanted one per observation")
    try:
        return first if header else None, np.loadtxt(body, delimiter=delimiter, ndmin=2, quotechar='"', comments=None)
    except ValueError as error:
        raise ValueError(f"{path}: {error} (rows are counted without the header)") from None


def _read_outcomes(path: Path, columns: list[str] | None) -> Array:
    """Outcomes as numbers, or as text where they are names."""
    if path.suffix == ".npy":
        return np.asarray(np.load(path, allow_pickle=False))
    lines, delimiter = _lines(path)
    rows = [_cells(line, delimiter) for line in lines]
    if any(len(row) != 1 for row in rows):
        raise ValueError(f"{path}: got {len(rows[0])} columns, wanted 1: the outcome (save without the index)")
    values = [row[0] for row in rows]
    if not _is_number(values[0]) and values[0] not in (columns or []) and values[0].lower() not in ("true", "false"):
        values = values[1:]
    if not values:
        raise ValueError(f"{path}: got no outcomes")
    if all(_is_number(value) for value in values):
        return np.array(values, dtype=float)
    if all(value.lower() in ("true", "false") for value in values):
        return np.array([value.lower() == "true" for value in values])
    if columns is None:
        raise ValueError(
            f"{path}: got names such as {values[-1]!r}, wanted labels 0..k-1, or a header with the names in the "
            "file of predictions"
        )
    return np.array(values)


def _lines(path: Path) -> tuple[list[str], str]:
    """Lines that are not empty, and the delimiter of their cells."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8-sig") as file:
        lines = [line.rstrip("\r\n") for line in file if line.strip()]
    if not lines:
        raise ValueError(f"{path}: got an empty file")
    return lines, max(",;\t", key=lines[0].count)


def _cells(line: str, delimiter: str) -> list[str]:
    return [cell.strip().strip('"') for cell in line.split(delimiter)]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _counts_up(cells: list[str]) -> bool:
    """Whether a row of at least three columns is 0, 1, 2, ..., the header of unnamed columns."""
    return len(cells) > 2 and cells == [str(i) for i in range(len(cells))]


def _demo(options: argparse.Namespace) -> int:
    from statsmodels.stats.multitest import multipletests

    models = ct.load_digits_predictions()
    print("Three classifiers of handwritten digits, judged on 899 images they have not seen.")
    print("p-values of the hypothesis that the predicted probabilities are calibrated:\n")
    print(f"{'':<16}{'accuracy':>9}{'confidence':>12}{'SKCE':>10}{'SKCE':>11}{'ECE':>12}")
    print(f"{'model':<16}{'':>9}{'':>12}{'exact':>10}{'bootstrap':>11}{'top label':>12}")
    pvalues, gaps = [], []
    for name, (predictions, labels) in models.items():
        confidence, correct = ct.top_label(predictions, labels)
        exact = ct.calibration_test(predictions, labels, rng=options.seed)
        bootstrap = ct.AsymptoticSKCETest(predictions.default_kernel())(predictions, labels, rng=options.seed)
        binned = ct.MonteCarloTest(ct.ECE())(confidence, correct, rng=options.seed)
        accuracy, claimed = float(correct.mean()), float(confidence.probability.mean())
        tests = [format_pvalue(result.pvalue) for result in (exact, bootstrap, binned)]
        print(f"{name:<16}{accuracy:>9.3f}{claimed:>12.3f}{tests[0]:>10}{tests[1]:>11}{tests[2]:>12}")
        pvalues.append(exact.pvalue)
        gaps.append(claimed - accuracy)
    print("\nVerdict at the 5 % level (exact test, p-values adjusted for three models by Holm's method):")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reject, adjusted, _, _ = multipletests(pvalues, alpha=0.05, method="holm")
    for name, rejected, pvalue, gap in zip(models, reject, adjusted, gaps, strict=True):
        print(f"  {name:<16}{_verdict(bool(rejected), gap)} (p = {format_pvalue(pvalue)})")
    print("\nYour own model: caltest test PREDICTIONS.csv OUTCOMES.csv")
    return 0


def _verdict(rejected: bool, gap: float) -> str:
    if not rejected:
        return "no evidence against calibration"
    return f"not calibrated: {'over' if gap > 0 else 'under'}confident"
