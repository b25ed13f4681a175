"""``caltest test PREDICTIONS OUTCOMES``."""

import argparse
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import caltest as ct
from caltest._basics.numerics import Array, FloatArray
from caltest._basics.threads import in_terminal
from caltest._results.calibration_test_result import CalibrationTestResult
from caltest._results.measures import cells_of, widest
from caltest._results.report import once, pvalues_of
from caltest._results.tables import ASKED, Table, asked_in
from caltest._validation import at_least, observation_weights
from caltest._validation.groups import groups_of_any_size
from caltest.cli.inputs.answers import ece_notes, is_of_answers, read_samples
from caltest.cli.inputs.prediction_files import (
    check_clusters,
    cluster_columns,
    kept_rows,
    read_columns,
    read_weights,
    sample_of,
)
from caltest.cli.large_files import Files, tested_in_parts
from caltest.cli.named import TESTS, WEIGHTED, kernel_of, names_help, prepared
from caltest.cli.options import JUDGED, add, comma_separated, command, outcomes_of, show
from caltest.cli.outputs import check_different
from caltest.default_test import cluster_test_for, weighted
from caltest.estimators.kernel_errors.cluster_skce import as_clusters
from caltest.group_test import groups_in_clusters
from caltest.predictions import Sample


def add_to(commands: Any) -> None:
    """Add the command to the parser."""
    parser = command(
        commands,
        run,
        "test",
        "test predictions in a file",
        ("network.csv labels.csv --test ece --format json --seed 1", "samples_arc_easy.jsonl --clusters prompt_hash"),
        "Test whether the predictions in a file are calibrated. Answers of language\n"
        "models, as lm-evaluation-harness logs them, are one file of JSON lines.",
        f"tests:\n{names_help()}",
    )
    add(parser, "predictions", "outcomes", "--outcome-column", "--columns", "--classes", "--test")
    parser.add_argument("--bandwidth", type=float, metavar="B", help="of the kernel (default: median distance)")
    weights = "a column not made from outcomes, or one of PREDICTIONS; for " + ", ".join(WEIGHTED)
    parser.add_argument("--weights", type=Path, metavar="FILE", help=weights)
    features = "columns with names, or names of some in PREDICTIONS: a,b; are predictions right given these?"
    parser.add_argument("--features", type=Path, metavar="FILE", help=features)
    parser.add_argument("--groups", metavar="NAME", help="a field of answers, or a column: test each group")
    add(parser, "--clusters", "--lag", "--missing", "--normal", "--members", *JUDGED)
    parser.set_defaults(n_resamples=None)


def run(options: argparse.Namespace) -> int:
    """Test, print, and return 1 if calibration is rejected and that is asked for, else 0."""
    if (found := _in_parts(options)) is not None:
        return _judged(options, *found)
    sample, weights, said, fields = _read(options)
    sample = prepared(options.test, sample.pooled())
    at_least(len(sample), 2, "a test")
    kernel, notes = kernel_of(options.test, options.bandwidth, sample)
    chosen = None if options.bandwidth is None else kernel
    redraws: dict[str, Any] = {} if options.n_resamples is None else {"n_resamples": options.n_resamples}
    if redraws and not TESTS[options.test].redraws:
        raise ValueError(f"--n-resamples: got {options.n_resamples} for the test {options.test}, which takes none")
    how: dict[str, Any] = {"rng": options.seed, "progress": in_terminal()}
    if options.lag > 1:
        return _judged(options, _with_lag(options, sample, chosen, redraws | how), (*said, *notes))
    clusters = None
    if options.clusters is not None:
        clusters = as_clusters(cluster_columns(fields, options.clusters))
    if options.groups is not None:
        members = groups_of_any_size(fields[options.groups])
        if clusters is not None:
            groups = groups_in_clusters(sample, members, clusters, chosen, **redraws, **how)
        else:
            default = chosen is None and weights is None
            estimator = None if default else ct.estimators.Omnibus(chosen, weights=weights)
            groups = ct.GroupCalibrationTest(estimator, **redraws).on(sample, members, **how)
        return show(options, replace(groups, notes=(*groups.notes, *said)))
    if clusters is not None:
        test: ct.CalibrationTest = cluster_test_for(clusters, sample, chosen, **redraws)
    else:
        of = TESTS[options.test].of if weights is None else partial(WEIGHTED[options.test], weights=weights)
        test = of(kernel, **redraws)
    if options.features is not None:
        test = ct.OmnibusTest(kernel, **redraws, features=fields)
    result = test.on(sample, **how)
    return _judged(options, result, (*said, *notes))


def _with_lag(options: argparse.Namespace, sample: Sample, kernel: Any, settings: dict[str, Any]) -> Any:
    """The default test, or that of a kernel, of rows in the order of time; what was done to rows is said of it."""
    others = options.groups, options.clusters, options.weights, options.features
    if options.test != "omnibus" or any(one is not None for one in others):
        raise ValueError(
            f"--lag: got {options.lag} with --test, --groups, --clusters, --weights or --features, wanted it alone; "
            "ct.calibration_test(lag=) takes weights and features too"
        )
    result = ct.calibration_test(sample.predictions, sample.as_given, kernel=kernel, lag=options.lag, **settings)
    return replace(result, notes=tuple(once(*sample.matched, *result.notes)))


def _in_parts(options: argparse.Namespace) -> tuple[CalibrationTestResult, tuple[str, ...]] | None:
    """The default test of files that are too large to be read whole."""
    others = options.weights, options.groups, options.clusters, options.features
    without_outcomes = options.outcomes is options.outcome_column is None
    alone = options.lag == 1 and all(one is None for one in others)
    if options.test != "omnibus" or not alone or without_outcomes:
        return None
    files = Files(
        options.predictions, outcomes_of(options), options.columns, options.family, options.missing, options.classes
    )
    return tested_in_parts(files, options.bandwidth, options.n_resamples, options.seed, in_terminal())


def _judged(options: argparse.Namespace, result: CalibrationTestResult, notes: tuple[str, ...]) -> int:
    result = replace(result, notes=(*result.notes, *notes))
    return show(options, result, table(result, options.alpha), why=result.why(options.alpha))


def _read(options: argparse.Namespace) -> tuple[Sample, FloatArray | None, tuple[str, ...], dict[str, Array]]:
    """The sample, its weights if there are some, notes, and features, or fields of answers."""
    if options.weights is not None and options.test not in WEIGHTED:
        raise ValueError(
            f"--weights: got a file for the test {options.test}, which takes none; wanted {' or '.join(WEIGHTED)}"
        )
    alone = options.weights is options.groups is options.clusters is None and options.test == "omnibus"
    if options.features is not None and not alone:
        raise ValueError("--features: got it with --test, --weights, --groups or --clusters, wanted it alone")
    paths = (options.predictions, options.outcomes, options.weights, options.features)
    check_different([path for path in paths if path is not None])
    in_one_file = options.outcome_column is not None
    weights_column = in_one_file and options.weights is not None and not options.weights.exists()
    of_answers = is_of_answers(options)
    features_column = (in_one_file or of_answers) and options.features is not None and not options.features.exists()
    named = comma_separated(str(options.features)) if features_column else []
    asked = [*([] if options.groups is None else [options.groups]), *(options.clusters or [])]
    if asked and options.test != "omnibus":
        raise ValueError("--groups, --clusters: got one with --test, wanted it without it")
    if options.clusters is not None and options.weights is not None:
        raise ValueError("--clusters: got it with --weights, wanted one of the two")
    notes: tuple[str, ...] = ()
    if of_answers:
        sample, n, fields = read_samples(options.predictions, options.missing, asked, named)
        groups = None if options.groups is None else groups_of_any_size(fields[options.groups])
        notes = ece_notes(sample, options.seed, groups)
    elif asked and not in_one_file:
        raise ValueError(
            "--groups, --clusters: got a file of outcomes, wanted --outcome-column and columns of the file of "
            "predictions, or JSON lines of answers of language models"
        )
    else:
        columns = [*asked, *named, *([str(options.weights)] if weights_column else [])]
        checks: dict[str, Any] = dict.fromkeys(options.clusters or [], check_clusters)
        if weights_column:
            checks[str(options.weights)] = observation_weights
        sample, n, fields = sample_of(options, columns, checks)
        fields |= {name: kept_rows(fields[name], sample) for name in (*asked, *named)}
    if options.features is not None and not features_column:
        fields = read_columns(options.features, n, sample)
    if options.weights is None:
        return sample, None, notes, fields
    given = fields[str(options.weights)] if weights_column else read_weights(options.weights, n)
    some, weights, left_out = weighted(sample, given, n)
    if options.groups is not None and some.rows is not None:
        # Groups are those of the rows that have outcomes.
        rows = np.arange(n) if sample.rows is None else sample.rows
        fields[options.groups] = fields[options.groups][np.isin(rows, some.rows)]
    return some, weights, (*notes, *left_out), fields


def table(result: CalibrationTestResult, alpha: float) -> Table:
    """The most important entries of a result, in the order of its report: the verdict at a level first."""
    found = {"verdict": result.verdict(alpha), ASKED.lower(): asked_in(result.notes)[0], "why": result.why(alpha)}
    found["how much"] = widest(result.measures)
    found |= {name.replace("O", "o"): text for name, text in pvalues_of(result, result.pvalue_kind).items()}
    cells = ((one.name, *cells_of(one)) for one in result.measures)
    found |= {name: f"{observed or '-'} (claimed {claimed})" for name, claimed, observed, _ in cells}
    found |= {"n": str(result.n), "test": result.test, "estimate": f"{result.estimate:.6g}"}
    found["effect size"] = None if result.effect_size is None else str(result.effect_size)
    found["statistic"] = f"{result.statistic:.6g} ({result.statistic_name})"
    return [["quantity", "value"], *([name, text] for name, text in found.items() if text is not None)]
