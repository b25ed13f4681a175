"""Which of several labels are predicted with wrong probabilities."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np

from caltest._basics.calls import are_pvalues_enough
from caltest._basics.numerics import ArrayLike, FloatArray, generator_apart, resampling_pvalue, seed_of, step_down
from caltest._basics.threads import progress_bars, tracked
from caltest._results.calibration_test_result import PValueKind
from caltest._results.multi_label_result import LabelResult, MultiLabelTestResult
from caltest._results.report import EXCLUDED, holm
from caltest._results.values import EffectSize, impossible, share_interval
from caltest._validation import one_of, switch, whole_number
from caltest.estimators import LogLikelihoodRatio, Omnibus
from caltest.estimators.combined.findings import findings_of, named
from caltest.estimators.dependence import cautions_on
from caltest.nulls import ConditionalMonteCarlo, ImportanceSampling
from caltest.predictions import MultiLabel, Sample
from caltest.predictions.inputs.convert import Missing
from caltest.predictions.questions.classes import of_labels

Streams = list[np.random.Generator]
"""Random numbers for each label; each use takes new ones."""

SMALL = 0.01
"""P-values up to which a label has more redraws, or the smallest one, for small ones after the adjustment for all."""

LABELS, MORE = 5, 20
"""Labels for which the redraws of one test are enough, and how many times as many there are next where p is small."""

FROM_ALTERNATIVES = 99
"""Draws from alternatives, for p-values of likelihood ratios."""

LEVEL = 0.05
"""Adjusted p-values up to which it is said what is wrong with a label."""


@dataclass(frozen=True)
class OneLabel:
    """The test of one label: the rows whose outcomes are possible, the estimator and what it gave for these."""

    sample: Sample
    rest: Sample
    estimator: Omnibus | None
    estimate: float
    statistics: FloatArray
    """Of the outcomes, and of redraws, (B + 1,)."""

    @property
    def is_excluded(self) -> bool:
        """Whether an outcome occurred to which probability 0 was given."""
        return len(self.rest) < len(self.sample)

    @property
    def pvalue(self) -> float:
        """By the rank among the redraws; 1 where there was too little to test."""
        return resampling_pvalue(float(self.statistics[0]), self.statistics[1:])


def labels_tested(
    predictions: MultiLabel, targets: ArrayLike, n_resamples: int, missing: Missing, rng: Any, progress: bool
) -> MultiLabelTestResult:
    """The default test of each label, with p-values that are adjusted for all."""
    number, seed = whole_number("n_resamples", n_resamples, 1), seed_of(rng)
    predictions, observed, remarks = predictions.with_targets(targets)
    samples, left_out = samples_of(predictions, observed, missing)
    asked = of_labels(predictions.probabilities, observed, predictions.texts, [one.questions for one in samples])
    method = StepDown(number) if predictions.independent else Holm(number, len(samples))
    with progress_bars(switch("progress", progress)):
        tested, alone = of_each(samples, np.random.default_rng(seed).spawn(len(samples)), method)
    excluded = np.array([one.is_excluded for one in tested])
    otherwise, pvalues = method.adjusted(tested, alone), np.where(excluded, 0.0, alone)
    adjusted = np.where(excluded, 0.0, method.adjusted(tested, pvalues))
    order = np.lexsort(([-one.statistics[0] for one in tested], pvalues, adjusted))
    texts, worst = predictions.texts, tested[order[0]]
    if excluded.any():
        names = ", ".join(f"label {texts[j]}" for j in np.flatnonzero(excluded))
        left_out = (*left_out, f"p = 0 for {names}, because {EXCLUDED}")
    labels = tuple(_label(texts[j], samples[j], float(pvalues[j]), float(adjusted[j])) for j in order)
    first = labels[0]
    return MultiLabelTestResult(
        test="OmnibusTest of each label",
        hypothesis="P(Y_l = 1 | p_l) = p_l for every label l",
        predictions=predictions.describe(),
        estimator=(worst.estimator or Omnibus()).describe(worst.rest.predictions),
        null=f"{method.null.describe_for(worst.sample.predictions)}{method.words}",
        n=len(predictions),
        n_used=len(predictions),
        estimate=worst.estimate,
        statistic=float(worst.statistics[0]),
        statistic_name=f"of label {texts[order[0]]}: {Omnibus.statistic_name}",
        pvalue=float(adjusted.min()),
        pvalue_kind="exact" if len(labels) == 1 else method.kind,
        n_resamples=number,
        seed=seed,
        notes=(*predictions.notes, *remarks, *asked, *_on_dependence(samples, predictions.texts), *left_out),
        findings=tuple(replace(one.finding, words=f"{one} ({one.finding})") for one in labels if one.finding),
        effect_size=EffectSize(first.observed - first.claimed, f"observed minus claimed rate of label {first.name}"),
        citations=(*Omnibus.citations, *method.null.citations, *method.citations),
        assumes=f"rows independent given all predictions{method.assumes}, not used to fit the model (were they?)",
        pvalue_otherwise=float(otherwise.min()) if excluded.any() else None,
        labels=labels,
        smallest=method.smallest,
    )


class Holm:
    """P-values ``p1`` from B redraws, and of more where they are small, adjusted by Holm's method.

    Where ``p1 <= c1 = max(0.01, 1 / (B + 1))`` there are 1.1 N new redraws with N = 20 (B + 1), and
    ``p2 = (1 + count) / N``; the p-value is ``min(p2, c1)``: at most alpha with probability at most alpha, for
    alpha < c1 because p2 is, else because p1 is. Where p2 is at most a twentieth of c1 there are 20 times as many
    again, and so on up to N = ceil(L / 5) (B + 1). With this N, likelihood ratios whose own p-values, from draws from
    the alternatives, are at most 1 / (11 N) give p-values of 1 / N without redraws: that is what the tenth of redraws
    that N does not count is for, as ``1 / (1.1 N) + 1 / (11 N) = 1 / N``.
    """

    kind: PValueKind = "bound"
    citations = ("holm1979", "harrison2012")
    assumes = ""

    def __init__(self, n_resamples: int, n_labels: int) -> None:
        self.null, self.more = ConditionalMonteCarlo(n_resamples), list[tuple[int, ConditionalMonteCarlo]]()
        self.small = max(SMALL, 1.0 / (n_resamples + 1.0))
        number = n_resamples + 1
        most = number * -(-n_labels // LABELS)
        while number < most:
            number = min(MORE * number, most)
            self.more.append((number, ConditionalMonteCarlo(number + number // 10)))
        self.smallest = n_labels / number

    @property
    def words(self) -> str:
        """How p-values were made."""
        numbers = " to ".join(dict.fromkeys(str(null.n_resamples) for _, null in (self.more[:1] + self.more[-1:])))
        more = f"; {numbers} others where p <= {self.small:.3g}" if numbers else ""
        return f"{more}; adjusted by Holm's method, for labels that depend on each other in any way"

    def refined(self, pvalue: float, sample: Sample, rng: np.random.Generator) -> float:
        """A p-value of B redraws, or of more if it is small."""
        if not self.more or pvalue > self.small:
            return pvalue
        most, small = self.more[-1][0], self.small
        # Of the likelihood ratio, from so few draws that they take less time than redraws.
        ratio = ImportanceSampling(FROM_ALTERNATIVES)
        if ratio.pvalue(LogLikelihoodRatio(), _possible(sample), generator_apart(rng))[1] <= 1.0 / (11 * most):
            return 1.0 / most
        for number, null in self.more:
            again = _tested(sample, rng, null).pvalue * (null.n_resamples + 1)
            pvalue, small = min(round(again) / number, small), self.small * (self.null.n_resamples + 1) / number
            if pvalue > small:
                break
        return pvalue

    def adjusted(self, tested: list[OneLabel], pvalues: FloatArray) -> FloatArray:
        """P-values adjusted for the number of labels."""
        return np.array(holm(pvalues.tolist()))


class StepDown:
    """The step-down maximum of the statistics of labels that are independent, so that their redraws are joint ones."""

    kind: PValueKind = "exact"
    citations = ("westfall1993",)
    assumes = ", and so are the labels of a row"
    words = "; adjusted by the step-down maximum, for labels that are independent given the predictions"

    def __init__(self, n_resamples: int) -> None:
        self.null = ConditionalMonteCarlo(n_resamples)
        self.smallest = 1.0 / (n_resamples + 1.0)

    def refined(self, pvalue: float, sample: Sample, rng: np.random.Generator) -> float:
        """The p-value itself: statistics of redraws are compared together."""
        return pvalue

    def adjusted(self, tested: list[OneLabel], pvalues: FloatArray) -> FloatArray:
        """P-values by the maximum of all labels that are not yet rejected."""
        return step_down(np.stack([one.statistics for one in tested]))


def of_each(samples: list[Sample], streams: Streams, method: Holm | StepDown) -> tuple[list[OneLabel], FloatArray]:
    """The tests of labels, each with random numbers of its own, and their own p-values."""
    tested, pvalues = [], []
    for sample, rng in tracked(zip(samples, streams, strict=True), len(samples), "labels"):
        tested.append(_tested(sample, rng, method.null))
        pvalues.append(method.refined(tested[-1].pvalue, sample, rng))
    return tested, np.array(pvalues)


def samples_of(predictions: MultiLabel, observed: FloatArray, missing: Missing) -> tuple[list[Sample], tuple[str, ...]]:
    """The rows of each label with an outcome, and a note on the others."""
    lacking = np.isnan(observed)
    count = int(lacking.sum())
    one_of("missing", missing, get_args(Missing))
    if count and missing == "refuse":
        i, j = (int(place) for place in np.argwhere(lacking)[0])
        raise ValueError(
            f"targets: got a missing value at row {i}, column {j} ({count} in all), wanted 0 or 1; to test each label "
            'on the rows where it is known pass missing="drop", if the other rows are like them given the predictions'
        )
    samples = []
    for j in range(observed.shape[1]):
        rows = np.flatnonzero(~lacking[:, j])
        if rows.size < 2:
            name = predictions.texts[j]
            raise ValueError(
                f"targets: got {rows.size} known outcomes of label {name}, wanted at least 2; leave the label out"
            )
        samples.append(Sample(predictions.column(j).take(rows), observed[rows, j].astype(np.intp), rows))
    note = (
        f"{count} of {observed.size} outcomes of labels were missing and left out; this assumes that whether one is "
        "missing does not depend on it, given the prediction"
    )
    return samples, (note,) if count else ()


def _on_dependence(samples: list[Sample], names: Sequence[str]) -> tuple[str, ...]:
    """A sign that rows depend on each other, of one of the labels whose outcomes vary most."""
    if are_pvalues_enough():
        return ()
    for j in np.argsort([-float(one.targets.var()) for one in samples], kind="stable")[:LABELS]:
        for found in cautions_on(samples[j]):
            return (f"label {names[j]}, whose p is p.label(name): {found}",)
    return ()


def _possible(sample: Sample) -> Sample:
    return sample.without(sample.predictions.impossible(sample.targets))


def _tested(sample: Sample, rng: np.random.Generator, null: ConditionalMonteCarlo) -> OneLabel:
    rest = _possible(sample)
    if len(rest) < 2:
        return OneLabel(sample, rest, None, 0.0, np.zeros(null.n_resamples + 1))
    resolving, drawing = rng.spawn(2)
    estimator = Omnibus().resolve(rest.predictions, resolving)
    estimate, statistic, draws = null.resample(estimator, rest, drawing)
    return OneLabel(sample, rest, estimator, estimate, np.concatenate([[statistic], draws]))


def _label(name: str, sample: Sample, pvalue: float, adjusted: float) -> LabelResult:
    n, count = len(sample), int(sample.targets.sum())
    finding = None
    if sample.exclusion is not None:
        finding = impossible(sample.exclusion)
    elif adjusted <= LEVEL:
        finding = next(iter(named(findings_of(sample, None, adjusted), adjusted)), None)
    claimed = float(sample.predictions.to_array().mean())
    return LabelResult(name, n, claimed, count / n, share_interval(count, n, 0.95), pvalue, adjusted, finding)
