"""What recalibration gives, on rows that no map is fitted to."""

from collections.abc import Sequence
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
    """A map: whether it leaves nothing, the gain, words, the report, gains of held-out rows, and these after it.

    Of maps for groups also how many there are, and in which groups one map for all leaves an error that matters.
    """

    is_enough: bool
    gain: float
    words: str
    report: "RecalibrationReport"
    gains: list[FloatArray]
    mapped: Sample
    n_maps: int = 1
    left: tuple[str, ...] = ()

    @property
    def suffices(self) -> bool:
        """Whether it is enough and better than none."""
        return self.gain > 0.0 and self.is_enough

    def helps(self, clusters: Clusters | None) -> bool:
        """Whether it is clearly better than none."""
        # One outcome that was impossible makes the gain of the log loss infinite; the Brier score tells if it helps.
        told = self.gains if np.isfinite(self.gain) else self.gains[-1:]
        return self.gain > 0.0 and any(float(one.mean()) > CLEAR * _error(one, clusters) for one in told)


def of_recalibration(data: Data, result: CalibrationTestResult) -> Section:
    """What a map makes of rows that it is not fitted to."""
    from caltest.recalibration.report import ALL_PAIRS

    methods, other = _methods(data)
    tried: list[_Tried] = []
    for method, words in methods:
        tried.append(_tried(data, result, method, words))
        if tried[-1].is_enough:
            break
    one = max(tried, key=lambda one: (one.suffices, one.gain))
    best = _for_each_group(data, result, methods, one)
    clusters, found, words = data.of_all[1], best.report, best.words
    before, after = (format_pvalue(row.pvalue, row.pvalue_otherwise) for row in found.rows)
    changed = _changed(best.gain, best.gains[0], data.sample.predictions.loss_name, clusters)
    answer = (
        f"{words[0].upper()}{words[1:]} {changed}. The "
        f"p-value of the test of {found.n} rows is {before} before it and {after} after it."
    )
    helps = best.helps(clusters)
    is_left = helps and not best.suffices
    if is_left:
        another = f"another recalibration ({other}) or " if other else ""
        answer += f" What is left needs {another}another model."
    elif not helps and not best.suffices and other and result.pvalue <= LEVEL:
        answer += f" Perhaps another recalibration does better ({other})."
    rows = "rows kept for it" if best.n_maps == 1 else "the rows of each group that are kept for it"
    how = f"caltest.recalibration.{found.method.partition('(')[0]}().fit(predictions, targets), on {rows}"
    facts = {"How": how} if helps else {"Tried": words}
    if found.before.ece_noise is not None:
        facts["If calibrated"] = "the mean of the ECE if the predictions are calibrated"
    if found.n > ALL_PAIRS:
        facts["SKCE"] = f"of {ALL_PAIRS} rows, evenly spaced among all"
    if others := [some for some in tried if some.report is not found]:
        facts["Tried too"] = f"{others[0].words}, {pvalue_phrase(others[0].report.after.pvalue)} after it"
    return Section(
        answer,
        facts,
        tuple(zip(*found.table(), strict=True)),
        gain=best.gain,
        rejected=f"on held-out rows after {words}, too" if is_left and result.pvalue <= LEVEL else "",
        citations=found.citations,
        helps=helps,
        mapped=best.mapped,
        n_maps=best.n_maps,
        left=best.left,
    )


def _methods(data: Data) -> tuple[list[tuple["Calibrator", str]], str]:
    """Methods that are tried, in words too, until one is enough; and what else there is, or empty."""
    from caltest import recalibration

    law, first = data.sample.predictions.of_classes, data.sample.targets[0]
    if (law is not None or data.sample.predictions.discrete) and (data.sample.targets == first).all():
        only = first if law is None else law.outcome_in_words(int(first))
        raise ValueError(f"all outcomes are {only}, which every map would make certain; wait for others")
    if data.survival is not None:
        raise ValueError("there is no map of predicted times that are censored; refit the model to newer data")
    if law is None:
        # Of counts and vectors it does not.
        continuous = data.sample.predictions.is_continuous
        other = "caltest.recalibration.QuantileRecalibration corrects other shapes too" if continuous else ""
        return [(recalibration.ShiftAndScale(), "shifting and scaling the distributions")], other
    other = "caltest.recalibration.fit_best compares them"
    if law.to_array().ndim == 1:
        return [(recalibration.BetaCalibration(), "beta calibration")], other
    methods: list[tuple[Calibrator, str]] = [(recalibration.TemperatureScaling(), "temperature scaling")]
    if law.n_classes <= SCALED:
        methods.append((recalibration.VectorScaling(), "vector scaling"))
    return methods, other


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


def _for_each_group(
    data: Data, result: CalibrationTestResult, methods: Sequence[tuple["Calibrator", str]], one: _Tried
) -> _Tried:
    """Maps for the groups, if one for all leaves errors in some and they are enough and clearly better; or this."""
    from caltest.auditing.groups import grave_in
    from caltest.group_test import calibration_by_group

    groups, (_, clusters, known) = _parts_of(data.groups), data.of_all
    if groups is None or not isinstance(known, Groups):
        return one
    left = grave_in(one.mapped, dict(zip(known.names, known.rows, strict=True)), clusters)
    if one.suffices and not left:
        mapped = one.mapped.predictions, one.mapped.as_given
        if result.pvalue > LEVEL:
            return one
        if not calibration_by_group(*mapped, known, clusters=clusters, **data.settings).rejected(LEVEL):
            return one
    for method, words in methods:
        named = f"{words} in each of the {len(known)} groups"
        try:
            each = _tried(data, result, method, named, groups, _parts_of(known))
        except (ValueError, TypeError):
            # Such as a group of which all outcomes are the same.
            continue
        better = each.gains[-1] - one.gains[-1]
        if each.suffices and float(better.mean()) > CLEAR * _error(better, clusters):
            return each._replace(left=tuple(left))
    return one


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
    found = _report(data, method, samples, None if data.are_some else result)
    all_rows = samples if data.dependent is None else _mapped(*data.of_all[:2], method, data.seed, of_all)
    gained = _gains(*all_rows)
    gain, n_maps = float(gained[0].mean()), 1 if groups is None else len(np.unique(groups))
    return _Tried(_suffices(found), gain, words, found, gained, all_rows[1], n_maps)


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
