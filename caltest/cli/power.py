"""``caltest power PREDICTIONS --deviation NAME --strength S``."""

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np

from caltest import generators
from caltest._basics.threads import in_terminal
from caltest._results.calibration_test_result import CalibrationTestResult
from caltest._results.tables import Table
from caltest.cli.inputs.prediction_files import read_predictions
from caltest.cli.named import TESTS, kernel_of, names_help, prepared
from caltest.cli.options import add, command, show, whole
from caltest.generators import Distortion
from caltest.predictions import Predictions, Sample
from caltest.predictions.inputs.convert import as_sample
from caltest.studies.power import PowerResult, power as simulated_power

DEVIATIONS: dict[str, tuple[str, Callable[[float], Distortion]]] = {
    "tempering": ("targets from p^(1 + S): S < 0 for overconfident predictions", generators.Tempering),
    "label-noise": ("a share S of the labels is uniform", generators.LabelNoise),
    "rotation": ("a share S of each class carries the next label", generators.Rotation),
    "wave": ("two classes: probability p + S sin(4 pi p)", generators.Wave),
    "bias": ("numbers: outcomes S predicted standard deviations higher", generators.Bias),
    "scaling": ("numbers: outcomes spread 1 + S times as far", generators.Scaling),
}


def add_to(commands: Any) -> None:
    """Add the command to the parser."""
    deviations = "\n".join(f"  {name:<16} {text}" for name, (text, _) in DEVIATIONS.items())
    parser = command(
        commands,
        run,
        "power",
        "what a test would find in predictions like these",
        ("network.csv --strength 0.1", "network.csv --deviation label-noise --strength 0.1 --n 500"),
        "Simulate how often a test rejects if outcomes deviate from the predictions in\na given way.",
        f"deviations:\n{deviations}\n\ntests:\n{names_help()}",
    )
    add(parser, "predictions", "--columns")
    parser.add_argument(
        "--deviation", choices=DEVIATIONS, default="tempering", metavar="NAME", help="one of those below"
    )
    parser.add_argument("--strength", type=float, required=True, metavar="S", help="of the deviation; 0 gives the size")
    parser.add_argument("--n", type=whole, metavar="N", help="observations (default: as many as predictions)")
    add(parser, "--test")
    parser.add_argument("--n-simulations", type=whole, default=200, metavar="M", help="data sets (default: 200)")
    add(parser, "--n-resamples", default=199, help="redraws of each test (default: 199)")
    add(parser, "--normal", "--alpha", "--seed", "--format", "--json")


def run(options: argparse.Namespace) -> int:
    """Simulate and print."""
    predictions, _ = read_predictions(options.predictions, options.family, options.columns)
    generator = generators.Resampled(predictions, DEVIATIONS[options.deviation][1](options.strength))
    result = simulated_power(
        simulated(options.test, options.n_resamples, predictions),
        generator,
        options.n or len(predictions),
        n_simulations=options.n_simulations,
        alpha=options.alpha,
        rng=options.seed,
        progress=in_terminal(),
    )
    return show(options, result, table(result))


def simulated(name: str, n_resamples: int, predictions: Predictions) -> Callable[..., CalibrationTestResult]:
    """A named test with the bandwidth of the predictions in a file and a number of redraws."""
    how = {"n_resamples": n_resamples} if TESTS[name].redraws else {}
    # The targets do not matter for the kernel.
    sample = prepared(name, Sample(predictions, np.zeros(len(predictions), dtype=np.intp)))
    test = TESTS[name].of(kernel_of(name, None, sample)[0], **how)

    def tested(predictions: Any, targets: Any, *, rng: Any) -> CalibrationTestResult:
        return test.on(prepared(name, as_sample(predictions, targets)), rng=rng)

    tested.__name__ = f"{name}, {n_resamples} redraws" if how else name
    return tested


def table(result: PowerResult) -> Table:
    """The settings and the rate."""
    low, high = result.interval
    cells = {"test": result.test, "data": result.generator, "n": str(result.n)}
    cells |= {"simulations": str(result.n_simulations), "level": f"{100 * result.alphas[0]:g} %"}
    cells |= {result.quantity: f"{result.rate:.3f}", "95 % interval": f"[{low:.3f}, {high:.3f}]"}
    return [list(cells), list(cells.values())]
