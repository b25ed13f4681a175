"""``caltest demo``."""

import argparse
from typing import Any

import caltest as ct
from caltest._results.report import format_pvalue, holm, pvalue_phrase
from caltest.cli.options import add, command


def add_to(commands: Any) -> None:
    """Add the command to the parser."""
    parser = command(
        commands,
        run,
        "demo",
        "test three models of handwritten digits",
        ("", "--seed 2"),
        "Test three models of handwritten digits that come with caltest.",
    )
    add(parser, "--seed", default=1, help="of the random numbers (default: 1)")


def run(options: argparse.Namespace) -> int:
    """Test the models and print a table."""
    models = ct.datasets.load_digits_predictions()
    print("Three classifiers of handwritten digits, judged on 899 images they have not seen.")
    print("p-values of the hypothesis that the predicted probabilities are calibrated:\n")
    print(f"{'':<16}{'accuracy':>9}{'confidence':>12}{'default':>15}{'SKCE':>11}{'ECE':>12}")
    print(f"{'model':<16}{'':>9}{'':>12}{'test':>15}{'bootstrap':>11}{'top label':>12}")
    results = []
    for name, (predictions, labels) in models.items():
        confidence, correct = ct.top_label(predictions, labels)
        exact = ct.calibration_test(predictions, labels, rng=options.seed)
        bootstrap = ct.AsymptoticSKCETest(predictions.default_kernel())(predictions, labels, rng=options.seed)
        binned = ct.MonteCarloTest(ct.ECE())(confidence, correct, rng=options.seed)
        accuracy, claimed = correct.mean(), confidence.probability.mean()
        tests = [format_pvalue(one.pvalue, one.pvalue_otherwise) for one in (exact, bootstrap, binned)]
        print(f"{name:<16}{accuracy:>9.3f}{claimed:>12.3f}{tests[0]:>15}{tests[1]:>11}{tests[2]:>12}")
        results.append(exact)
    print("\nVerdict at the 5 % level (default test, p-values adjusted for three models by Holm's method):")
    adjusted = holm([result.pvalue for result in results])
    for name, pvalue, result in zip(models, adjusted, results, strict=True):
        rejected = pvalue <= 0.05
        verdict = "not calibrated" if rejected else "calibration is not rejected"
        p = pvalue_phrase(pvalue, otherwise=result.pvalue_otherwise)
        print(f"  {name:<16}{verdict} ({p}){': ' + str(result.finding) if rejected else ''}")
    print("p-values of 0.001 are the smallest possible with 999 redraws.")
    print("\nYour own model: caltest test PREDICTIONS.csv OUTCOMES.csv")
    return 0
