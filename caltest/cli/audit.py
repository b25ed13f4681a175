"""``caltest audit PREDICTIONS OUTCOMES``."""

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from caltest._basics.files import read_rows
from caltest._basics.numerics import Array
from caltest._basics.rows import texts
from caltest._basics.threads import in_terminal
from caltest._results.report import once
from caltest._validation.labels import said_to_occur
from caltest.auditing.audit import audit
from caltest.auditing.fields import FIELDS
from caltest.auditing.rows import in_order
from caltest.auditing.section import LEVEL
from caltest.cli.inputs.answers import is_of_answers, read_samples
from caltest.cli.inputs.headers import MISSING
from caltest.cli.inputs.prediction_files import check_clusters, cluster_columns, kept_rows, read_columns, sample_of
from caltest.cli.options import JUDGED, add, comma_separated, command, show
from caltest.cli.outputs import check_outputs
from caltest.predictions import Sample
from caltest.predictions.censored import Censored


def add_to(commands: Any) -> None:
    """Add the command to the parser."""
    parser = command(
        commands,
        run,
        "audit",
        "one report: is it calibrated, how wrong is it, for whom, what to do",
        (
            "network.csv labels.csv --output audit.html",
            "risks.csv --outcome-column died --groups site --fail-on matters",
            "curves.csv --outcome-column months --event-column died",
        ),
        "Test, measure and explain the calibration of a model, for whoever has to\ndecide about it.",
    )
    add(parser, "predictions", "outcomes", "--outcome-column", "--columns", "--classes")
    outputs = "report to write: .html (needs caltest[report]), .json, .xml (JUnit) or .txt"
    parser.add_argument("--output", type=Path, metavar="FILE", help=outputs)
    features = "CSV with a header, or names of columns in PREDICTIONS, a,b, in which errors are searched"
    parser.add_argument("--features", type=Path, metavar="FILE", help=features)
    parser.add_argument("--groups", metavar="NAME", help="column of FILE or PREDICTIONS: test each group")
    parser.add_argument("--time", metavar="NAME", help="the same: rows are ordered by it")
    add(parser, "--clusters")
    add(parser, "--lag", help="for forecasts H rows ahead, with --time (default: 1)")
    events = (
        "for survival times: 1 where the outcome is the time of the event, 0 where it is censored; predictions are "
        "curves, a column of P(no event) up to the time in its name, unless --normal or --members"
    )
    parser.add_argument("--event-column", metavar="NAME", help=events)
    parser.add_argument("--field", metavar="NAME", help=f"adds what a field expects: {' | '.join(FIELDS)}")
    parser.add_argument("--title", default="Calibration audit", help="of the report")
    parser.add_argument("--force", action="store_true", help="replace FILE if it exists")
    add(parser, "--missing", "--normal", "--members", *(one for one in JUDGED if one != "--alpha"))
    # All sections decide at this level.
    parser.set_defaults(alpha=LEVEL)


def run(options: argparse.Namespace) -> int:
    """Audit, write and print the report; return 1 if the model fails and that is asked for, else 0."""
    inputs = [path for path in (options.predictions, options.outcomes, options.features) if path is not None]
    check_outputs({"--output": options.output}, inputs, options.force, (".html", ".json", ".xml", ".txt"))
    if (options.field == "survival") > (options.event_column is not None):
        raise ValueError("--field: got survival, wanted --event-column NAME with it: which outcomes are events")
    if options.lag > 1 and (options.time is None or options.clusters is not None):
        wanted = "--time NAME with it, which orders the rows, and no --clusters"
        raise ValueError(f"--lag: got {options.lag}, wanted {wanted}")
    if options.event_column is not None:
        options.family = options.family or "curves"
    sample, features, roles = _read(options)
    # What was done to the rows of the files.
    sample.predictions.notes = once(*sample.predictions.notes, *sample.matched)
    targets: Any = sample.targets if options.family == "curves" else sample.as_given
    if options.event_column is not None:
        targets = Censored(targets, _events(roles.pop("event_column")))
    found = audit(
        sample.predictions,
        targets,
        features=features or None,
        **roles,
        lag=options.lag,
        field=options.field,
        n_resamples=options.n_resamples,
        title=options.title,
        rng=options.seed,
        progress=in_terminal(),
    )
    if options.output is not None:
        # A suite that cannot fail is of no use for continuous integration.
        criterion = "reject" if options.fail_on == "never" else options.fail_on
        found.save(options.output, force=options.force, fail_on=criterion)
    pvalue = min(one.result.pvalue for one in found.models)
    show(options, found, pvalue=pvalue, rejected=pvalue <= LEVEL)
    return int(not found.passed(options.fail_on))


def _read(options: argparse.Namespace) -> tuple[Sample, dict[str, Array], dict[str, Any]]:
    """The sample, features, and the columns that options name, by these options."""
    given = {option: getattr(options, option) for option in ("groups", "time", "clusters", "event_column")}
    asked = {option: name if option == "clusters" else [name] for option, name in given.items() if name is not None}
    taken = [name for names in asked.values() for name in names]
    path, named = options.features, []
    of_answers = is_of_answers(options)
    if path is not None and (of_answers or options.outcome_column is not None) and not path.exists():
        path, named = None, comma_separated(str(path))
    known = () if path is None else read_rows(path, texts).with_head(True).names or ()
    beside = [name for name in dict.fromkeys([*taken, *named]) if name not in known]
    if beside and options.outcome_column is None and not of_answers:
        option = next(option for option, names in asked.items() if beside[0] in names)
        raise ValueError(
            f"--{option.replace('_', '-')}: got {beside[0]!r}, wanted a column of --features: "
            f"{', '.join(known) or 'none'}; or of PREDICTIONS with --outcome-column"
        )
    checks: dict[str, Any] = dict.fromkeys(options.clusters or [], check_clusters)
    if options.event_column is not None:
        checks[options.event_column] = _events
    if options.time is not None:
        checks[options.time] = lambda column: in_order(column, len(column))
    if of_answers:
        roles_only = [name for name in beside if name in taken]
        others = [name for name in beside if name not in taken]
        sample, n, fields = read_samples(options.predictions, options.missing, roles_only, others)
    else:
        sample, n, fields = sample_of(options, beside, checks)
        fields = {name: kept_rows(column, sample) for name, column in fields.items()}
    features = {name: fields[name] for name in named} if path is None else read_columns(path, n, sample, checks)
    columns = features | fields
    roles: dict[str, Any] = {
        option: cluster_columns(columns, names) if option == "clusters" else columns[names[0]]
        for option, names in asked.items()
    }
    used = {name: column for name, column in features.items() if name in named or name not in taken}
    return sample, used, roles


def _events(column: Array) -> Array:
    """Whether each time is that of an event; ``ValueError`` for other values than 0 and 1, or words for them."""
    written = [str(one).strip() for one in column.tolist()]
    said = said_to_occur(written)
    if said is not None:
        return np.array(said)
    values = {"0": False, "0.0": False, "1": True, "1.0": True}
    wrong = next((i for i, one in enumerate(written) if one not in values), None)
    if wrong is not None:
        advice = ""
        if written[wrong].lower() in MISSING:
            advice = "; leave rows out of which it is not known whether the event occurred"
        raise ValueError(f"--event-column: got {column[wrong]} at row {wrong}, wanted 0 or 1, or no or yes{advice}")
    return np.array([values[one] for one in written])
