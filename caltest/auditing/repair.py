"""What recalibration gives, on rows that no map is fitted to."""

from math import sqrt
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from caltest._basics.numerics import FloatArray, IntArray
from caltest._results.calibration_test_result import CalibrationTestResult
from caltest._results.measures import matters
from caltest._results.report import format_pvalue, pvalue_phrase
from caltest._validation import at_least
from caltest._validation.groups import Groups
from caltest.auditing.section import LEVEL, Data, Section
from caltest.estimators.combined.measures import measures_of
from caltest.hstatistics.redraws.within_clusters import Clusters
from caltest.predictions import Sample
from caltest.predictions.classes.finite import at_labels, outcome_scores

if TYPE_CHECKING:
    from caltest.recalibration import Calibrator, RecalibrationReport

SCALED = 100
"""Classes up to which vector scaling is tried where temperature scaling leaves an error."""

FOLDS = 5
"""Parts of the rows, each of which is mapped by what is fitted to the others."""

CLEAR = 1.645
"""Standard errors above which a gain is clear, which is so by chance in 5 % of cases."""


class _Tried(NamedTuple):
    """A map: whether it is enough, the gain, words, the report, gains of held-out rows, and these after it.

    Of maps for groups also how many there are, and in which groups one map for all leaves an error that matters.
    """

    suffices: bool
    gain: float
    words: str
    report: "RecalibrationReport"
    gains: list[FloatArray]
    mapped: Sample
    n_maps: int = 1
    left: tuple[str, ...] = ()


def of_recalibration(data: Data, result: CalibrationTestResult) -> Section:
    """What a map makes of rows that it is not fitted to."""
    from caltest import recalibration

    law = data.sample.predictions.of_classes
    if law is not None and (data.sample.targets == data.sample.targets[0]).all():
        only = law.outcome_in_words(int(data.sample.targets[0]))
        raise ValueError(f"all outcomes are {only}, which every map would make certain; wait for others")
    if data.survival is not None:
        raise ValueError("there is no map of predicted times that are censored; refit the model to newer data")
    other = "caltest.recalibration.fit_best compares them"
    methods: list[tuple[Calibrator, str]]
    if law is None:
        methods = [(recalibration.ShiftAndScale(), "shifting and scaling the distributions")]
        # Of counts and vectors it is not.
        continuous = data.sample.predictions.is_continuous
        other = "caltest.recalibration.QuantileRecalibration corrects other shapes too" if continuous else ""
    elif law.to_array().ndim == 1:
        methods = [(recalibration.BetaCalibration(), "beta calibration")]
    else:
        methods = [(recalibration.TemperatureScaling(), "temperature scaling")]
        if law.n_classes <= SCALED:
            methods.append((recalibration.VectorScaling(), "vector scaling"))
    tried: list[_Tried] = []
    for method, words in methods:
        tried.append(_tried(data, result, method, words))
        if _suffices(tried[-1].report):
            break
    best = max(tried, key=lambda one: one[:2])
    for method, words in methods:
        each = _each(data, result, method, words, best)
        if each is not None:
            best = each
            break
    suffices, gain, words, found, gained, mapped, n_maps, left = best
    before, after = (format_pvalue(one.pvalue, one.pvalue_otherwise) for one in found.rows)
    clusters = data.of_all[1]
    changed = _changed(gain, gained[0], data.sample.predictions.loss_name, clusters)
    answer = (
        f"{words[0].upper()}{words[1:]} {changed}. There it "
        f"changes the p-value of the test of {found.n} rows from {before} to {after}."
    )
    # A single outcome that was impossible makes the gain of the log loss infinite; the Brier score tells if it helps.
    told = gained if np.isfinite(gain) else gained[-1:]
    helps = gain > 0.0 and any(float(one.mean()) > CLEAR * _error(one, clusters) for one in told)
    is_left = helps and not suffices
    if is_left:
        another = f"another map ({other}) or " if other else ""
        answer += f" What is left needs {another}another model."
    elif not helps and not suffices and other and result.pvalue <= LEVEL:
        answer += f" Perhaps another map does better ({other})."
    rows = "rows kept for it" if n_maps == 1 else "the rows of each group that are kept for it"
    how = f"caltest.recalibration.{found.method.partition('(')[0]}().fit(predictions, targets), on {rows}"
    facts = {"How": how} if helps else {"Tried": words}
    others = [
        f"{one.words}, {pvalue_phrase(one.report.after.pvalue)} after it" for one in tried if one.report is not found
    ]
    if others:
        facts["Tried too"] = others[0]
    where = f"on held-out rows after {words}, too" if is_left and result.pvalue <= LEVEL else ""
    table = tuple(zip(*found.table(), strict=True))
    return Section(
        answer,
        facts,
        table,
        gain=gain,
        rejected=where,
        helps=helps,
        mapped=mapped,
        n_maps=n_maps,
        left=left,
        citations=found.citations,
    )


def _suffices(found: "RecalibrationReport") -> bool:
    """Whether held-out rows show no error after recalibration, or one that is too small to matter."""
    assert found.samples is not None
    if found.after.pvalue > LEVEL:
        return True
    return found.after.pvalue_otherwise is None and matters(measures_of(found.samples[1], found.after.finding)) is False


FEWEST_MAPPED, MOST_MAPPED = 50, 12
"""Rows of the smallest group that gets a map of its own, and the largest number of such groups."""


def _parts_of(groups: Groups | str | None) -> IntArray | None:
    """The group (n,) of each row, if each is in one of a few large groups."""
    if not isinstance(groups, Groups) or not 1 < len(groups) <= MOST_MAPPED or groups.sizes.min() < FEWEST_MAPPED:
        return None
    codes = groups.codes
    return codes if groups.sizes.sum() == groups.n and codes.min() >= 0 else None


def _each(data: Data, result: CalibrationTestResult, method: "Calibrator", words: str, one: _Tried) -> _Tried | None:
    """A map for each group, if that is enough and clearly better, and one map for all leaves errors that matter."""
    from caltest.auditing.sections import grave_in

    groups, (_, clusters, known) = _parts_of(data.groups), data.of_all
    if groups is None or not isinstance(known, Groups):
        return None
    left = grave_in(one.mapped, dict(zip(known.names, known.rows, strict=True)), clusters)
    if one.suffices and not left:
        return None
    named = f"{words} in each of the {len(known)} groups"
    try:
        each = _tried(data, result, method, named, groups, _parts_of(known))
    except (ValueError, TypeError):
        # Such as a group of which all outcomes are the same.
        return None
    better = each.gains[-1] - one.gains[-1]
    is_clear = float(better.mean()) > CLEAR * _error(better, clusters)
    return each._replace(left=tuple(left)) if each.suffices and is_clear else None


def _tried(
    data: Data,
    result: CalibrationTestResult,
    method: "Calibrator",
    words: str,
    groups: IntArray | None = None,
    of_all: IntArray | None = None,
) -> _Tried:
    """What a method makes of held-out rows, with a map for all of them or for each group (n,)."""
    samples = _mapped(data.sample, None, method, data.seed, groups)
    found = _report(data, method, samples, result if data.dependent is None else None)
    all_rows = samples if data.dependent is None else _mapped(*data.of_all[:2], method, data.seed, of_all)
    gained = _gains(*all_rows)
    gain, n_maps = float(gained[0].mean()), 1 if groups is None else len(np.unique(groups))
    return _Tried(gain > 0.0 and _suffices(found), gain, words, found, gained, all_rows[1], n_maps)


def _changed(gain: float, gains: FloatArray, name: str, clusters: Clusters | None = None) -> str:
    """What a map does to the loss of a name, in words."""
    how = f"in {min(FOLDS, gains.size)}-fold cross-validation"
    if np.isnan(gain):
        return f"leaves the {name} infinite {how}, because impossible outcomes stay impossible"
    if np.isinf(gain):
        rows = int(np.isinf(gains).sum())
        made = f"makes {rows} {'im' if gain > 0 else ''}possible outcome{'' if rows == 1 else 's'}"
        return f"{made} {'possible' if gain > 0 else 'impossible'} {how}"
    error = f"(standard error {_error(gains, clusters):.2g})"
    chance = ", which can be chance" if abs(gain) <= CLEAR * _error(gains, clusters) else ""
    return f"{'lowers' if gain > 0 else 'raises'} the {name} {how} by {abs(gain):.3g} {error}{chance}"


def _mapped(
    sample: Sample, clusters: Clusters | None, method: "Calibrator", seed: int, groups: IntArray | None = None
) -> tuple[Sample, Sample]:
    """All rows before and after recalibration.

    Each part of the rows is mapped by what is fitted to the others, of its group (n,) if there are some, which share no
    cluster with them.
    """
    from caltest.recalibration.fit_best import folds_of
    from caltest.recalibration.shared.observed import Observed

    law, rng = sample.predictions.without(sample.targets), np.random.default_rng([seed, 2])
    observed = Observed.of(law, sample.as_given, "probabilities")
    at_least(len(observed), 4, "recalibration of held-out rows")
    if clusters is None:
        folds = folds_of(observed, min(FOLDS, len(observed)), rng)
    else:
        one = clusters.partitions[0]
        folds = (rng.permutation(one.n_parts) % FOLDS)[one.codes]
    return observed.before(), observed.in_folds(method, folds, groups)


def _report(
    data: Data, method: "Calibrator", samples: tuple[Sample, Sample], result: CalibrationTestResult | None
) -> "RecalibrationReport":
    """Scores and tests of these rows, before recalibration their result, if there is one."""
    from caltest.recalibration.report import RecalibrationReport, cited, report_rows

    n, number = len(data.sample), data.n_resamples
    before, after = report_rows(samples, number, None, np.random.SeedSequence(data.seed).spawn(2), result)
    name = data.sample.predictions.loss_name
    return RecalibrationReport(
        before,
        after,
        repr(method),
        n,
        None,
        1.0 - LEVEL,
        data.seed,
        number,
        name,
        None,
        samples,
        citations=cited(method),
    )


def _gains(before: Sample, after: Sample) -> list[FloatArray]:
    """By how much the losses (n,) of all rows fall, and their Brier scores, which few rows do not dominate."""
    with np.errstate(invalid="ignore"):
        return [one - other for one, other in zip(_scores(before), _scores(after), strict=True)]


def _scores(sample: Sample) -> list[FloatArray]:
    """Losses (n,), and Brier scores of classes."""
    law, scores = sample.predictions.law.of_classes, [sample.losses]
    if law is not None:
        scores.append(at_labels(outcome_scores(law.probabilities, "brier"), sample.targets))
    return scores


def _error(gains: FloatArray, clusters: Clusters | None = None) -> float:
    """The standard error of their mean; 0 where outcomes were impossible before or after, and the mean is infinite."""
    with np.errstate(invalid="ignore"):
        sums = gains - gains.mean()
        if clusters is not None:
            sums = np.bincount(clusters.partitions[0].codes, sums)
        error = sqrt(float(sums @ sums) * sums.size / (sums.size - 1.0)) / gains.size
    return error if np.isfinite(error) else 0.0
