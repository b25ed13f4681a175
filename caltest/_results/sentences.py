"""What a test asks and its answers, in words, and results as sentences of a paper."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from caltest._results.pvalues import EXCLUDED, in_brackets, is_smallest, pvalue_phrase, undecided

KIND_WORDS = {
    "exact": "exact Monte Carlo p-value",
    "bound": "upper bound of the p-value for every n",
    "asymptotic": "asymptotic p-value",
    "resampling": "p-value by resampling",
}


def sentence_of(result: Any, alpha: float) -> str:
    """One sentence on a test, with its decision at a level."""
    used = "" if result.n_used == result.n else f" ({result.n_used} used)"
    kind = KIND_WORDS[result.pvalue_kind]
    if result.pvalue_kind == "exact" and result.n_resamples is None:
        kind = "exact p-value"
    p = result.pvalue if result.pvalue_otherwise is None else result.pvalue_otherwise
    if result.n_resamples is not None and not is_smallest(p, result.n_resamples):
        kind += f" from {result.n_resamples} draws"
    found = pvalue_phrase(p, result.pvalue_kind == "bound") + in_brackets(p, result.n_resamples, kind)
    if result.pvalue_otherwise is not None:
        found = f"p = 0, because {EXCLUDED}; the other rows: {found}"
    finding = result.finding
    if result.pvalue <= alpha and finding is not None and finding.estimate is not None:
        found += f"; the fault that explains the outcomes best: {finding.words}"
    return (
        f"The hypothesis that {QUESTIONS[result.question].null} ({result.hypothesis}) was tested with {result.test} on "
        f"n = {result.n} observations{used} ({result.estimator}) and {_decision(result, alpha)}: estimate = "
        f"{result.estimate:.3g}, statistic = {result.statistic:.3g} ({result.statistic_name}), {found}."
    )


def _decision(result: Any, alpha: float) -> str:
    level = f"at the {100 * alpha:g} % level"
    if undecided(result.pvalue, result.n_resamples, alpha):
        return f"could not have been rejected {level} with so few redraws"
    return f"{'' if result.pvalue <= alpha else 'not '}rejected {level}"


def listed(parts: Sequence[str]) -> str:
    """``a, b and c``."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


@dataclass(frozen=True)
class Question:
    """A null hypothesis, and what is said if it is rejected and if it is not; levels stand for ``{level}``."""

    null: str
    rejected: str
    kept: str


QUESTIONS = {
    "calibration": Question(
        "the predictions are calibrated",
        "reject calibration {level}: the predictions cannot be taken at face value",
        "no evidence against calibration {level}",
    ),
    "tolerance": Question(
        "the calibration error is at most the margin",
        "the calibration error is above the margin, {level}",
        "no evidence that the calibration error is above the margin, {level}",
    ),
    "equivalence": Question(
        "the calibration error is at least the margin",
        "the calibration error is below the margin, {level}",
        "no evidence that the calibration error is below the margin, {level}",
    ),
    "difference": Question(
        "both models have the same calibration error",
        "the calibration errors of the models differ, {level}",
        "no evidence that the calibration errors of the models differ, {level}",
    ),
}
