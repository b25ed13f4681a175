"""The command line: ``caltest test PREDICTIONS OUTCOMES`` and ``caltest demo``."""

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import caltest as ct
from caltest._tables import read_sample
from caltest.default_test import default_kernel
from caltest.kernels import RadialKernel
from caltest.predictions import Sample, reduce_to_top_label
from caltest.result import format_pvalue

TestMaker = Callable[[ct.ProductKernel], ct.CalibrationTest]

TESTS: dict[str, tuple[str, TestMaker]] = {
    "omnibus": ("kernel errors, scores and likelihood ratios together, exact (default)", ct.OmnibusTest),
    "likelihood-ratio": (
        "likelihood ratio of common errors, importance sampling; for tiny p-values",
        lambda _: ct.LikelihoodRatioTest(),
    ),
    "skce": ("kernel error, exact Monte Carlo", lambda kernel: ct.MonteCarloTest(ct.SKCE(kernel))),
    "skce-bootstrap": ("kernel error, bootstrap", ct.AsymptoticSKCETest),
    "skce-blocks": ("kernel error of pairs, normal limit; for millions of rows", ct.AsymptoticBlockSKCETest),
    "skce-bound": (
        "kernel error, distribution-free bound",
        lambda kernel: ct.DistributionFreeSKCETest(ct.SKCE(kernel)),
    ),
    "mmce": ("kernel error of the top label, exact Monte Carlo", lambda _: ct.MonteCarloTest(ct.MMCE())),
    "ece": (
        "binned error of the whole simplex, 10 bins a class, exact Monte Carlo",
        lambda _: ct.MonteCarloTest(ct.ECE(ct.UniformBinning(10))),
    ),
    "ece-top-label": (
        "binned error of the top label, 15 bins, exact Monte Carlo",
        lambda _: ct.MonteCarloTest(ct.ECE()),
    ),
    "ece-consistency": (
        "binned error of the whole simplex, consistency resampling (to reproduce papers)",
        lambda _: ct.ConsistencyTest(ct.ECE(ct.UniformBinning(10))),
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
    except (OSError, ValueError, TypeError, MemoryError) as error:
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
    test.add_argument("--test", choices=TESTS, default="omnibus", metavar="NAME", help="one of those below")
    test.add_argument("--bandwidth", type=float, help="of the kernel; default: the median distance of predictions")
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
        confidence, top = reduce_to_top_label(sample.predictions)
        sample = Sample(confidence, (top == sample.targets).astype(int))
    kernel, notes = _kernel(options, sample)
    result = TESTS[options.test][1](kernel).on(sample, rng=options.seed, progress=sys.stderr.isatty())
    result = replace(result, notes=(*result.notes, *notes))
    print(json.dumps(result.to_dict(), indent=2) if options.json else result)
    return 0


def _kernel(options: argparse.Namespace, sample: Sample) -> tuple[ct.ProductKernel, tuple[str, ...]]:
    """The kernel of the family, with the bandwidth that was asked for or its default."""
    kernel = sample.predictions.default_kernel()
    if not options.test.startswith(("skce", "omnibus")):
        if options.bandwidth is not None:
            raise ValueError(f"--bandwidth: got {options.bandwidth:g} for the test {options.test}, which takes none")
        return kernel, ()
    if options.bandwidth is None:
        return default_kernel(sample.predictions)
    assert isinstance(kernel.prediction_kernel, RadialKernel)
    metric_kernel = kernel.prediction_kernel.with_bandwidth(options.bandwidth)
    return ct.ProductKernel(metric_kernel, kernel.target_kernel), ()


def _demo(options: argparse.Namespace) -> int:
    from statsmodels.stats.multitest import multipletests

    models = ct.load_digits_predictions()
    print("Three classifiers of handwritten digits, judged on 899 images they have not seen.")
    print("p-values of the hypothesis that the predicted probabilities are calibrated:\n")
    print(f"{'':<16}{'accuracy':>9}{'confidence':>12}{'default':>10}{'SKCE':>11}{'ECE':>12}")
    print(f"{'model':<16}{'':>9}{'':>12}{'test':>10}{'bootstrap':>11}{'top label':>12}")
    results = []
    for name, (predictions, labels) in models.items():
        confidence, correct = ct.top_label(predictions, labels)
        exact = ct.calibration_test(predictions, labels, rng=options.seed)
        bootstrap = ct.AsymptoticSKCETest(predictions.default_kernel())(predictions, labels, rng=options.seed)
        binned = ct.MonteCarloTest(ct.ECE())(confidence, correct, rng=options.seed)
        accuracy, claimed = float(correct.mean()), float(confidence.probability.mean())
        tests = [format_pvalue(result.pvalue) for result in (exact, bootstrap, binned)]
        print(f"{name:<16}{accuracy:>9.3f}{claimed:>12.3f}{tests[0]:>10}{tests[1]:>11}{tests[2]:>12}")
        results.append(exact)
    print("\nVerdict at the 5 % level (default test, p-values adjusted for three models by Holm's method):")
    reject, adjusted, _, _ = multipletests([result.pvalue for result in results], alpha=0.05, method="holm")
    for name, rejected, pvalue, result in zip(models, reject, adjusted, results, strict=True):
        verdict = "not calibrated" if rejected else "no evidence against calibration"
        print(f"  {name:<16}{verdict} (p = {format_pvalue(pvalue)}){': ' + str(result.finding) if rejected else ''}")
    print("\nYour own model: caltest test PREDICTIONS.csv OUTCOMES.csv")
    return 0
