"""``caltest recalibrate PREDICTIONS OUTCOMES``."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from caltest._basics.files import is_stdin
from caltest._basics.threads import in_terminal
from caltest.cli.inputs.answers import is_of_answers
from caltest.cli.inputs.prediction_files import read_predictions, sample_of
from caltest.cli.options import JUDGED, add, command, show
from caltest.cli.outputs import check_outputs, write_predictions
from caltest.predictions import Predictions

if TYPE_CHECKING:
    from caltest.recalibration import Calibrator

METHODS = {  # Names of classes: the module takes as long to import as all other commands.
    "temperature": ("TemperatureScaling", "one number for all classes; of numbers, a factor of the variance"),
    "shift": ("ShiftAndScale", "of numbers and ensembles: a shift, and a factor of the spread"),
    "gp": ("GPCalibrator", "Gaussian process shared by all classes"),
    "vector": ("VectorScaling", "a weight and an intercept for each class"),
    "dirichlet": ("DirichletCalibration", "weights of all pairs of classes, regularised"),
    "platt": ("Platt", "logistic curve, of each class"),
    "isotonic": ("Isotonic", "increasing steps, of each class"),
    "beta": ("BetaCalibration", "beta calibration, of each class"),
    "bbq": ("BBQ", "Bayesian binning into quantiles, of each class"),
}


def add_to(commands: Any) -> None:
    """Add the command to the parser."""
    names = "\n".join(f"  {name:<12} {text}" for name, (_, text) in METHODS.items())
    parser = command(
        commands,
        run,
        "recalibrate",
        "repair predictions and show what that changes",
        ("network.csv labels.csv", "network.csv labels.csv --apply new.csv --output better.csv"),
        "Fit a map from predictions to better ones. Half of the rows show what it\n"
        "changes; the map that is saved or applied is fitted to all rows.",
        f"methods:\n{names}",
    )
    add(parser, "predictions", "outcomes", "--outcome-column")
    add(parser, "--columns", help="columns of predictions, of NEW too: a,b (default: all others)")
    add(parser, "--classes")
    which = "one of those below (default: temperature, or shift)"
    parser.add_argument("--method", choices=METHODS, metavar="M", help=which)
    parser.add_argument("--apply", type=Path, metavar="NEW", help="other predictions, to be recalibrated")
    parser.add_argument("--output", type=Path, metavar="FILE", help="CSV or .npy for the recalibrated NEW")
    parser.add_argument("--save", type=Path, metavar="MAP", help="the map, .npz, for CalibrationMap.load")
    parser.add_argument("--force", action="store_true", help="replace FILE and MAP if they exist")
    add(parser, "--missing", "--normal", "--members", *JUDGED)


def run(options: argparse.Namespace) -> int:
    """Show what recalibration changes; save the map, and apply it, if that is asked for; return the status."""
    if (options.apply is None) != (options.output is None):
        raise ValueError("--apply, --output: got one of them, wanted both: what is recalibrated, and where it goes")
    inputs = [path for path in (options.predictions, options.outcomes, options.apply) if path is not None]
    check_outputs({"--output": options.output, "--save": options.save}, inputs, options.force)
    if is_of_answers(options) and not is_stdin(options.predictions):
        raise ValueError(f"{options.predictions}: got answers of language models, which take test and audit only")
    sample, _, _ = sample_of(options)
    from caltest import recalibration as maps

    law, targets = sample.predictions.without(sample.targets), sample.as_given
    method = method_for(options.method, law)
    others = None if options.apply is None else read_predictions(options.apply, options.family, options.columns)
    report = maps.report(
        law, targets, method, n_resamples=options.n_resamples, rng=options.seed, progress=in_terminal()
    )
    if others is not None or options.save is not None:
        fitted = method.fit(law, targets)
        if others is not None:
            new, names = others
            write_predictions(options.output, fitted(new), names)
        if options.save is not None:
            fitted.save(options.save)
    return show(options, report)


def method_for(name: str | None, predictions: Predictions) -> "Calibrator":
    """The method of a name for predictions of a family; ``ValueError`` if there is none."""
    from caltest import recalibration as maps

    of_numbers = predictions.of_classes is None
    if of_numbers and name not in (None, "temperature", "shift"):
        raise ValueError(f"--method: got {name} for predictions of numbers, wanted shift or temperature")
    if not of_numbers and name == "shift":
        raise ValueError("--method: got shift for predictions of classes, wanted one of the others, such as vector")
    if of_numbers:
        return maps.FamilyTemperatureScaling() if name == "temperature" else maps.ShiftAndScale()
    method = getattr(maps, METHODS[name or "temperature"][0])()
    return maps.OneVsRest(method) if method.binary and predictions.to_array().ndim == 2 else method
