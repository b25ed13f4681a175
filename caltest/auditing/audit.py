"""One call that answers whether models are calibrated, how wrong they are, for whom, and what to do."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from caltest._basics.arrays import labelled_as, order_of
from caltest._basics.calls import own_errstate
from caltest._basics.numerics import ArrayLike, generator_apart, seed_of
from caltest._basics.threads import progress_bars
from caltest._results.calibration_test_result import CalibrationTestResult
from caltest._results.citations import reference
from caltest._results.report import TOO_SMALL
from caltest._results.tables import asked_in
from caltest._validation import one_of, switch, whole_number
from caltest._validation.columns import columns_for, plain_column
from caltest._validation.groups import Groups, rows_of
from caltest.auditing.audit_result import Audit, ModelAudit
from caltest.auditing.decision import decide
from caltest.auditing.fields import FIELDS
from caltest.auditing.rows import groups_of, in_order, one_per_cluster, one_per_lag
from caltest.auditing.section import LEVEL, Data, Section
from caltest.auditing.sections import SECTIONS
from caltest.default_test import calibration_test, cluster_test_for
from caltest.estimators.dependence import caution_on_groups, caution_on_times, cautions_on
from caltest.estimators.kernel_errors.cluster_skce import as_clusters
from caltest.predictions.censored import Censored, as_times, censored_pit_values, in_order_of_times
from caltest.predictions.inputs.convert import LABELS, are_certain, as_sample
from caltest.predictions.own_errors import refuse_errors
from caltest.predictions.questions.misread import misread
from caltest.predictions.questions.stretches import NOWHERE


@own_errstate
def audit(
    predictions: ArrayLike | Mapping[str, ArrayLike],
    targets: ArrayLike,
    groups: Any = None,
    clusters: ArrayLike = None,
    *,
    features: Any = None,
    time: ArrayLike = None,
    lag: int = 1,
    field: str | None = None,
    classes: Sequence[Any] | None = None,
    n_resamples: int = 999,
    title: str = "Calibration audit",
    rng: Any = None,
    progress: bool = False,
) -> Audit:
    """Test, measure and explain the calibration of a model, or of several, for whoever has to decide about it.

    The default test alone decides whether there is evidence against calibration. The sections that follow describe: how
    large the error is in units that the reader knows, what it looks like, which groups it concerns, how evidence grew
    with time, what recalibration gives on held-out data, and what could have been missed. Each section that tests has a
    familywise error rate of at most 5 % of its own. A section that cannot be computed says why in its place.

    Parameters
    ----------
    predictions
        As in ``calibration_test``, or a dictionary from names of models to such predictions.
    targets, classes, rng, progress
        As in ``calibration_test``.
    groups
        As in ``calibration_by_group``: labels (n,), or a dictionary from names to labels or booleans. Without them, if
        there are three or more classes, rows with the same most probable class.
    clusters
        (n,) labels of rows that depend on each other, or two for each row, as in ``calibration_test``. Where that test
        combines all statistics, the test, groups and the size of the error use all rows, and the other sections one row
        of each cluster; elsewhere all sections use one row of each, or rows that share neither of two labels.
    features
        A data frame or a dictionary of columns (n,), in whose slices wrong predictions are searched: ``find_slices``.
    time
        (n,) numbers, dates, or text as in ISO 8601, by which the rows are ordered. Those of the same time stay in the
        order that they have, which must not depend on their outcomes.
    field
        Adds what readers of a field expect: ``"clinical"``, the measures of ``fields.clinical.validate``, O:E of the
        groups and a decision curve; ``"weather"``, the rank histogram of an ``Ensemble`` and the parts of its CRPS;
        ``"bayesian"``, ranks among posterior draws; ``"survival"``, which ``ct.Censored`` targets have anyway, risks at
        the median time, D- and A-calibration.
    n_resamples
        Redraws of each test.
    title
        Of the report.

    Returns
    -------
    Audit
        ``print(audit)``, ``audit.save("audit.html")`` for one file without anything from outside, ``.json``, or
        ``.xml`` for continuous integration.

    Raises
    ------
    ValueError
        For bad data, fewer than 20 clusters or rows a lag apart, a lag without times of their own, or features, groups,
        times or clusters of another length.
    TypeError
        For a lag beside clusters.

    Notes
    -----
    The decision is

    - "use as it is" if the error is too small to matter, or if calibration is not rejected and an error that matters
      would have been found with a probability of 0.8;
    - "recalibrate" if calibration is rejected, a map is clearly better than none, and it is enough;
    - "do not use as it is" if a map is clearly better but not enough, or not clearly better and the error matters;
    - "not enough data to tell" otherwise.

    Maps are judged in cross-validation: each of five parts of the rows is mapped by what is fitted to the others. A map
    is clearly better if the log loss (CRPS, quantile loss) falls, and this or the Brier score by more than 1.645
    standard errors. It is enough if calibration of all mapped rows is not rejected at the 5 % level, or the error that
    is left is too small to matter. Errors of the five fits nearly cancel in sums over all rows, so that a map that is
    enough is rejected in mostly fewer than 5 % of data sets.

    The decision becomes "do not use as it is" if calibration is rejected, and the error matters, in one of the given
    groups, the slices or the quarters of the time, and still does there after a map that is advised. The reason names
    these parts, and says what is left in them after the map. "Use as it is" becomes "not enough data to tell" if such a
    part is off by more than the margin, as observed, and it is not known whether that is chance.

    Errors of the same size are found in some groups and not in others, by chance: so groups and quarters are tested
    again after one map for all rows. Where the default test does not reject, the reason names groups, slices and times
    in which calibration is rejected, each section with its own level: that on time has two tests, of the quarters and
    of an alarm, at 2.5 % each. The error of a group or quarter matters, too, where the interval of its table, which
    holds for all of them together, is beyond the margin.

    Where rows look as if they depended on each other, the reason asks for it, and all sections say that they hold if
    they do not: rows that follow each other, as they are given and in the order of time, rows of the same time, and of
    the same group where ten groups or more are given and many are wrong as a whole.

    If one map is not enough, or leaves errors in a group, a map is fitted to each group, and advised if that is enough
    and clearly better. This takes two to twelve given groups of 50 or more rows each, which together have all rows.

    Assumes what the sections say, independent outcomes above all. Cost: about five runs of ``calibration_test``,
    five fits of a map, and two kernel errors of at most 20 000 rows.

    How often each decision is made is in ``docs/validity.md``, "Decisions of audits".

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["neural network"]
    >>> audit = ct.audit(p, y, n_resamples=99, rng=1)
    >>> audit.models[0].sections["size"].answer
    'These observations do not tell whether the error is large enough to matter.'
    """
    models = predictions if isinstance(predictions, Mapping) else {"model": predictions}
    if not models:
        raise ValueError("predictions: got an empty dictionary, wanted predictions of at least one model")
    number, shown = whole_number("n_resamples", n_resamples, 1), switch("progress", progress)
    seed = seed_of(rng)
    given = {"groups": groups, "clusters": clusters, "features": features, "time": time, "classes": classes}
    names = [f"{name}={name}" for name, value in given.items() if value is not None]
    if whole_number("lag", lag, 1) > 1:
        names.append(f"lag={lag}")
        if clusters is not None:
            raise TypeError("lag: got one with clusters, wanted one of the two")
        if time is None:
            raise ValueError("lag: got one without time, wanted time= too, which says the order of the rows")
    if field is not None:
        one_of("field", field, list(FIELDS))
        names.append(f'field="{field}"')
    elif isinstance(targets, Censored):
        field = "survival"
    audits = []
    if not isinstance(targets, Censored):
        targets = labelled_as(targets, models.values())
    with progress_bars(shown):
        for name, one in models.items():
            survival, times = None, as_times(one, targets)
            if isinstance(times, Censored):
                survival = in_order_of_times(times, one), times
                sample = as_sample(*censored_pit_values(*survival, rng=generator_apart(seed)))
            else:
                sample = as_sample(one, targets, classes)
            order, n = order_of(targets, one), len(sample)
            known = None if groups is None else groups_of(groups, order, n)
            columns = None if features is None else dict(columns_for(features, order, n, sample.targets))
            refuse_errors((columns or {}).items(), sample)
            times = None if time is None else rows_of(time, "time", order).values
            when = None if times is None else in_order(times, n)
            data = Data(sample, known, columns, when, None, n, number, seed, names, survival, times=times)
            if clusters is not None:
                data = one_per_cluster(data, as_clusters(clusters, order))
            if lag > 1:
                data = one_per_lag(data, lag)
            audits.append(_audited(str(name), data, field))
    return Audit(tuple(audits), seed, str(title))


IF_INDEPENDENT = " This holds if rows are independent, which is doubtful here: see the decision."
"""What all sections say of rows that look dependent."""


def _asked(result: CalibrationTestResult, questions: Sequence[str], data: Data) -> str | None:
    """What has to be known of how rows depend on each other, if they look as if they did."""
    asked, _ = asked_in([note for note in result.notes if note not in questions])
    if data.clusters is not None or TOO_SMALL in (asked or ""):
        return asked
    further: str | None = None
    if data.order is not None and (np.diff(data.order) != 1).any():
        # The test asked about rows that follow each other as they are given.
        further = " ".join(cautions_on(data.sample.take(data.order))) or None
    if further is None and data.times is not None:
        further = caution_on_times(data.sample, np.unique(plain_column(data.times), return_inverse=True)[1])
    if further is None and isinstance(data.groups, Groups):
        (rows,), sizes = np.nonzero(data.groups.codes >= 0), data.groups.sizes
        if sizes.sum() == rows.size:  # They do not overlap.
            of_rows = np.unique(data.groups.codes[rows], return_inverse=True)[1]
            further = caution_on_groups(data.sample.take(rows), of_rows)
    return " ".join(one for one in (asked, further) if one is not None) or None


def _unexplained(questions: tuple[str, ...], data: Data) -> tuple[str, ...]:
    """Without that about a stretch of rows, where there is none in any group: files are sorted by groups."""
    (sample, _, groups), read = data.of_all, data.tested.as_read
    if not isinstance(groups, Groups) or read is None or len(read[1]) != len(sample) or data.overlapping is not None:
        return questions
    if any(NOWHERE in one for one in questions):
        laws, y, _ = read
        asked = (one for rows in groups.rows for one in misread(laws.take(rows), y[rows], rows))
        questions = (
            questions if any(NOWHERE in one for one in asked) else tuple(one for one in questions if NOWHERE not in one)
        )
    return questions


def _audited(name: str, data: Data, field: str | None) -> ModelAudit:
    result, judged = _tested(data)
    questions = (*data.tested.questions, *(one for one in data.sample.predictions.notes if one.endswith("?")))
    if data.tested.impossible.size and are_certain(data.tested.predictions):
        questions = (*questions, LABELS)
    asked, questions = _asked(result, questions, data), _unexplained(questions, data)
    sections = _sections_of(data, result, judged, field, "" if asked is None else IF_INDEPENDENT)
    decided = decide(data, result, judged, sections, questions, asked)
    model = ModelAudit(name, decided.decision, decided.reason, result, sections, decided.advice)
    if (methods := sections.get("methods")) is not None:
        sections["methods"] = _with_sources(methods, model, decided.places)
    return model


def _sections_of(
    data: Data, result: CalibrationTestResult, judged: CalibrationTestResult, field: str | None, condition: str
) -> dict[str, Section]:
    """Each under a condition, but for the data; one that cannot be computed says why in its place."""
    makers, sections = dict(SECTIONS), dict[str, Section]()
    if field is not None:
        last = makers.popitem()
        makers = makers | {field: FIELDS[field]} | dict([last])
    for key, (_, make) in makers.items():
        try:
            sections[key] = make(data, judged if key == "power" else result)
            if key != "data":
                sections[key] = replace(sections[key], answer=sections[key].answer + condition)
        except (ValueError, TypeError, ImportError, MemoryError) as error:
            sections[key] = Section(f"Not computed: {error}.", failed=True)
    return sections


def _with_sources(methods: Section, model: ModelAudit, places: Sequence[str]) -> Section:
    """With where calibration was rejected, and the sources of all sections."""
    alone = "each section alone is tested at the 5 % level"
    told = f" Calibration was rejected {', and '.join(places)}; {alone}." if places else ""
    facts = {**methods.facts, "Sources": "; ".join(map(reference, model.citations))}
    return replace(methods, answer=methods.answer + told, facts=facts)


def _tested(data: Data) -> tuple[CalibrationTestResult, CalibrationTestResult]:
    """The result of the default test, and with the power of independent rows, which those of dependent ones lack."""
    sample, clusters, _ = data.of_all
    if data.overlapping is not None:
        every = data.overlapping
        result = calibration_test(every.predictions, every.as_given, lag=data.lag, **data.settings)
    elif clusters is None:
        result = calibration_test(*data.pair, **data.settings)
        return result, result
    else:
        result = cluster_test_for(clusters, sample, None, data.n_resamples).on(sample, rng=data.seed)
    if result.pvalue <= LEVEL:
        return result, result
    alone = calibration_test(*data.pair, **data.settings)
    return result, replace(result, n=alone.n, detectable=alone.detectable)
