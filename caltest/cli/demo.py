"""``caltest demo``."""

import argparse
from typing import Any

import caltest as ct
from caltest._results.report import at_level, format_pvalue, holm, pvalue_phrase
from caltest._results.tables import Grid, Page
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
    add(parser, "--alpha")
    add(parser, "--seed", default=1, help="of the random numbers (default: 1)")


def run(options: argparse.Namespace) -> int:
    """Test the models and print a table."""
    models = ct.datasets.load_digits_predictions()
    rows, results = [["model", "accuracy", "confidence", "default test", "SKCE", "ECE top label"]], []
    for name, (predictions, labels) in models.items():
        confidence, correct = ct.top_label(predictions, labels)
        exact = ct.calibration_test(predictions, labels, rng=options.seed)
        bootstrap = ct.AsymptoticSKCETest(predictions.default_kernel())(predictions, labels, rng=options.seed)
        binned = ct.MonteCarloTest(ct.ECE())(confidence, correct, rng=options.seed)
        tests = [format_pvalue(one.pvalue, one.pvalue_otherwise) for one in (exact, bootstrap, binned)]
        rows.append([name, f"{correct.mean():.3f}", f"{confidence.probability.mean():.3f}", *tests])
        results.append(exact)
    adjusted, verdicts = holm([result.pvalue for result in results]), {}
    for name, pvalue, result in zip(models, adjusted, results, strict=True):
        verdict = "not calibrated" if pvalue <= options.alpha else "calibration is not rejected"
        found = f": {result.finding}" if pvalue <= options.alpha else ""
        verdicts[name] = f"{verdict} ({pvalue_phrase(pvalue, otherwise=result.pvalue_otherwise)}){found}"
    what = "Three classifiers of handwritten digits, on 899 images they have not seen."
    table = "P-values of the hypothesis that the predicted probabilities are calibrated:"
    said = f"Verdict {at_level(options.alpha)}, default test, p-values adjusted by Holm's method:"
    smallest = "P-values of 0.001 are the smallest possible with 999 redraws."
    own = "Your own model: caltest test PREDICTIONS.csv OUTCOMES.csv"
    page = Page("caltest demo", [what, table, ""], Grid(rows), ["", said], verdicts, ["", smallest, own])
    print(page.narrow())
    return 0
